//! What kind of thing a question asks for, and which units hold one.
//!
//! "How much", "when", "where", "who" and "why" say little about the subject, but much about what an
//! answer looks like: an amount of money, a date, a place, a name, a reason. Expected answer types
//! are as old as question answering itself (Hovy et al. 2001, "Toward semantics-based answer
//! pinpointing"); here they only choose among what speaks of the subject anyway.

use super::literals::Literals;
use super::sought_words::{
    CHINESE, CHOOSING, DATES, ENGLISH, MONEY_COLUMNS, MONEY_UNITS, MONEY_WORDS, NUMBERS, ORDERS,
    PEOPLE, PERSON_COLUMNS, PLACE_COLUMNS, PLACES, REASONS, TIME_COLUMNS, TIME_UNITS, WAY_COLUMNS,
};
use super::units::{Kind, Unit};
use super::words::plain_words;
use crate::text::is_chinese;

/// What stands behind "when" where it asks.
#[rustfmt::skip]
const AUXILIARY: [&str; 21] = [
    "am", "may", "might", "shall", "is", "are", "was", "were", "do", "does", "did", "will", "would", "can", "could", "should", "must", "has", "have", "had", "to",
];

/// What asks for a date.
#[rustfmt::skip]
const DATES_ASKED: [&str; 6] = ["which day", "what day", "which date", "what date", "which year", "what year"];
const DATES_ASKED_ZH: [&str; 6] = ["哪一天", "哪天", "几月几号", "哪一年", "哪年", "什么日期"];

/// What may stand between the two.
const ADVERBS: [&str; 4] = ["exactly", "roughly", "else", "about"];

/// What stands before a "when" that asks, in the middle of a question.
const LEADING: [&str; 8] = [
    "know", "me", "us", "remember", "say", "and", "since", "until",
];

/// A kind of thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sought {
    Money,
    Amount,
    Time,
    Place,
    Person,
    Reason,
    /// How something is done: steps, a command, a key.
    Way,
    /// What there is to choose from.
    Options,
}

impl Sought {
    /// Of a question; none where its form does not tell.
    pub(super) fn of(question: &str) -> Option<Self> {
        if is_chinese(question) {
            let kinds = CHINESE.iter();
            let mut found = kinds.filter(|(_, cues)| cues.iter().any(|cue| question.contains(cue)));
            return found.next().map(|(kind, _)| *kind);
        }
        let mut words = plain_words(question);
        // "When I paste text, does it …" tells the occasion and asks something else.
        let tells = |at: usize, word: &str| {
            let mut after = words[at + 1..].iter().map(String::as_str);
            let next = after.find(|word| !ADVERBS.contains(word));
            let leads = at.checked_sub(1).map(|before| words[before].as_str());
            word == "when"
                && leads.is_none_or(|before| !LEADING.contains(&before))
                && next.is_some_and(|next| !AUXILIARY.contains(&next))
                && words.iter().enumerate().any(|(other, word)| {
                    let asks = AUXILIARY.contains(&word.as_str()) && word != "to";
                    other != at && (asks || word == "how")
                })
        };
        let told = (0..words.len()).find(|at| tells(*at, &words[*at]));
        if let Some(at) = told {
            words.remove(at);
        }
        let line = format!(" {} ", words.join(" "));
        let says = |cues: &[&str]| cues.iter().any(|cue| line.contains(&format!(" {cue} ")));
        let much = says(&["how much", "wie viel", "wieviel", "was", "what", "how"]);
        if much && says(MONEY_WORDS) || says(&["wie teuer", "how expensive"]) {
            return Some(Self::Money);
        }
        let leads = matches!(
            words.first().map(String::as_str),
            Some("which" | "what" | "welche")
        );
        if leads && says(CHOOSING) {
            return Some(Self::Options);
        }
        let kinds = ENGLISH.iter().find(|(_, cues)| says(cues));
        kinds.map(|(kind, _)| *kind)
    }

    /// Whether the unit holds such a thing.
    pub(super) fn is_in(self, unit: &Unit) -> bool {
        let in_column = |names: &[&str]| {
            unit.row.as_ref().is_some_and(|row| {
                row.columns.iter().zip(&row.cells).any(|(column, cell)| {
                    let words = column_words(column);
                    !cell.is_empty() && words.iter().any(|word| names.contains(&word.as_str()))
                })
            })
        };
        let text = &unit.text;
        let words = || plain_words(text);
        let any = |list: &[&str]| words().iter().any(|word| list.contains(&word.as_str()));
        let has = |list: &[&str]| list.iter().any(|part| text.contains(part));
        let digit = text.contains(|c: char| c.is_ascii_digit());
        match self {
            Self::Money => {
                digit && (has(&["€", "$", "£", "¥", "元", "块"]) || any(MONEY_UNITS))
                    || in_column(MONEY_COLUMNS)
                    || counts_in_chinese(text, "元角块")
            }
            Self::Amount => digit || any(NUMBERS) || has_chinese_number(text),
            Self::Time => {
                digit && (has_clock(text) || any(TIME_UNITS) || has(&["年", "月", "天"]))
                    || counts_in_chinese(text, "点天周月年日时分")
                    || any(DATES)
                    || in_column(TIME_COLUMNS)
                    || has(&[
                        "每天", "每周", "每月", "每年", "星期", "月底", "小时", "分钟",
                    ])
            }
            Self::Place => {
                has_path(text)
                    || any(PLACES)
                    || in_column(PLACE_COLUMNS)
                    || has(&[
                        "位于",
                        "放在",
                        "存在",
                        "保存在",
                        "里面",
                        "旁边",
                        "下面",
                        "地点",
                    ])
            }
            Self::Person => has_name(text) || any(PEOPLE) || in_column(PERSON_COLUMNS),
            Self::Options => {
                let joints = text.matches(", ").count() + text.matches('、').count();
                let or = has(&[" or ", " and ", " oder ", "或"]);
                unit.kind != Kind::Code
                    && unit.kind != Kind::Sentence
                    && (joints > 1 || joints > 0 && or)
            }
            Self::Reason => {
                let line = format!(" {} ", words().join(" "));
                REASONS.iter().any(|cue| line.contains(&format!(" {cue} ")))
                    || has(&[
                        "因为", "由于", "为了", "以免", "否则", "原因", "所以", "以便", "导致",
                    ])
            }
            Self::Way => {
                unit.kind == Kind::Code
                    || unit.number.is_some()
                    || text.contains('`')
                    || ["Ctrl+", "Alt+", "Shift+", "Strg+"]
                        .iter()
                        .any(|key| text.contains(key))
                    || in_column(WAY_COLUMNS)
                    || ["How to ", "怎样", "如何", "怎么"]
                        .iter()
                        .any(|how| unit.heading.starts_with(how))
                    || is_order(text)
                    || has(&["按", "点击", "打开", "运行", "设置", "输入"])
            }
        }
    }

    /// Whether a date is asked for in so many words: "when" may be told by an occasion, "on which
    /// day" may not.
    pub(super) fn is_date(question: &str) -> bool {
        let line = format!(" {} ", plain_words(question).join(" "));
        // A "date format" is none.
        let asks = |cue: &str| {
            let behind = line.split_once(&format!(" {cue} "));
            let next = behind.map(|(_, rest)| rest.split(' ').next().unwrap_or_default());
            next.is_some_and(|next| next.is_empty() || AUXILIARY.contains(&next))
        };
        DATES_ASKED.iter().any(|cue| asks(cue))
            || DATES_ASKED_ZH.iter().any(|cue| question.contains(cue))
    }

    /// Whether what holds none cannot be the answer, however it is worded.
    pub(super) fn is_plain(self) -> bool {
        matches!(self, Self::Money | Self::Amount | Self::Time)
    }

    /// How much it counts to hold one, beside a share of the question's words between 0 and 1.
    pub(super) fn worth(self) -> f64 {
        match self {
            Self::Reason => 0.3,
            Self::Options => 0.25,
            Self::Money | Self::Time => 0.2,
            Self::Amount | Self::Place | Self::Person | Self::Way => 0.15,
        }
    }
}

/// `price_eur` is "price" and "eur".
fn column_words(column: &str) -> Vec<String> {
    let words = super::words::spelt_out(column);
    words
        .split(|c: char| !c.is_alphanumeric())
        .map(str::to_owned)
        .collect()
}

/// "17:52", "2024-05-01", "3.5.2024"; no "3.50".
fn has_clock(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    let joined = |marks: &'static [char]| {
        let joins = |three: &&[char]| {
            three[0].is_ascii_digit() && marks.contains(&three[1]) && three[2].is_ascii_digit()
        };
        chars.windows(3).filter(joins).count()
    };
    joined(&[':', '-', '/']) > 0 || joined(&['.']) > 1
}

/// Whether a Chinese or other number stands before one of these characters.
fn counts_in_chinese(text: &str, units: &str) -> bool {
    let chars: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    chars.windows(2).any(|pair| {
        let number =
            pair[0].is_ascii_digit() || "一二两三四五六七八九十百千万半几".contains(pair[0]);
        number && units.contains(pair[1])
    })
}

/// A folder or a file.
fn has_path(text: &str) -> bool {
    let files = || Literals::of(&text.replace('`', " ")).files;
    text.contains('.') && !files().is_empty()
        || text.split_whitespace().any(|word| {
            let word = word.trim_matches(['`', '.', ',', ';', ')', '(']);
            word.len() > 2
                && word.contains('/')
                && !word.contains("//")
                && !word.starts_with(|c: char| c.is_ascii_digit())
        })
}

/// Two capitalised words in a row that begin no sentence, or an address.
fn has_name(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let named = |word: &str| {
        let mut chars = word.trim_matches(|c: char| !c.is_alphanumeric()).chars();
        chars.next().is_some_and(char::is_uppercase) && chars.next().is_some_and(char::is_lowercase)
    };
    text.contains('@')
        || words
            .windows(3)
            .any(|three| named(three[1]) && named(three[2]))
}

fn has_chinese_number(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    chars.windows(2).any(|pair| {
        "一二两三四五六七八九十百千万半".contains(pair[0])
            && "个条种类步项次天周月年人元本杯升克秒分小档把位份".contains(pair[1])
    })
}

/// Whether a sentence tells to do something: it begins with a verb of doing.
fn is_order(text: &str) -> bool {
    let words = plain_words(&text.chars().take(60).collect::<String>());
    let first = words.first().map_or("", String::as_str);
    let second = words.get(1).map_or("", String::as_str);
    ORDERS.contains(&first) || matches!((first, second), ("you", "can") | ("by" | "to" | "with", _))
}

#[cfg(test)]
mod tests {
    use super::super::units::tests::units_of as units;
    use super::*;

    #[test]
    fn r23_a_question_says_what_kind_of_thing_it_asks_for() {
        for (question, kind) in [
            ("What did the hose cost?", Some(Sought::Money)),
            ("How much is the ticket price?", Some(Sought::Money)),
            ("How much flour goes in?", Some(Sought::Amount)),
            ("Why is it closed?", Some(Sought::Reason)),
            ("Since when is it closed?", Some(Sought::Time)),
            ("When I paste text, does it send?", None),
            ("When exactly is the release?", Some(Sought::Time)),
            ("When may I come to the lab?", Some(Sought::Time)),
            ("When the club meets", Some(Sought::Time)),
            ("Will it be saved when I close the lid?", None),
            ("Do you know when it opens?", Some(Sought::Time)),
            ("Wo liegt der Schlüssel?", Some(Sought::Place)),
            ("Wer hat Dienst?", Some(Sought::Person)),
            ("how to fold the map", Some(Sought::Way)),
            ("一杯咖啡多少钱？", Some(Sought::Money)),
            ("什么时候开会？", Some(Sought::Time)),
            ("What is a span?", None),
        ] {
            assert_eq!(Sought::of(question), kind, "{question}");
        }
    }

    #[test]
    fn r23_a_date_is_asked_for_in_so_many_words() {
        for (question, asks) in [
            ("On what date was it closed?", true),
            ("Which date format does it use?", false),
            ("When was it closed?", false),
            ("哪一天关的？", true),
            ("几号楼？", false),
        ] {
            assert_eq!(Sought::is_date(question), asks, "{question}");
        }
    }

    #[test]
    fn r23_a_thing_is_known_by_its_form() {
        for (kind, source, text, held) in [
            (Sought::Money, "a.md", "The label costs 3.50 €.", true),
            (Sought::Money, "a.md", "The label is free of charge.", false),
            (Sought::Money, "a.csv", "item: hose; price_eur: 39.90", true),
            (Sought::Money, "a.csv", "item: hose; length: 20", false),
            (Sought::Time, "a.md", "The last bus leaves at 17:52.", true),
            (
                Sought::Time,
                "a.md",
                "The bus leaves from the square.",
                false,
            ),
            (
                Sought::Reason,
                "a.md",
                "It is shut, so that nobody falls.",
                true,
            ),
            (Sought::Reason, "a.md", "It is shut.", false),
            (Sought::Way, "a.md", "Press both buttons.", true),
            (Sought::Way, "a.md", "Both buttons are red.", false),
            (Sought::Person, "a.md", "It was drawn by Ada Stone.", true),
            (Sought::Place, "a.md", "Logs go to `var/log`.", true),
        ] {
            let units = units(source, text);
            assert_eq!(kind.is_in(&units[0]), held, "{kind:?} {text}");
        }
    }
}
