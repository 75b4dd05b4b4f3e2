//! Questions that say only part of what they ask: "and its default?", "what about X?", 那换行呢.
//!
//! Which part is missing is told by the words that are there; [`super::resolve`] puts it in.

use super::literals::Literals;
use super::resolve::{GENERIC, asks_only_why};
use super::words::{is_stop, plain_words, terms};
use crate::text::is_chinese;

/// What a question lacks.
pub(super) enum Elliptic {
    /// A pronoun stands where the topic belongs.
    Pronoun,
    /// "What about X?": the same question about something else.
    Instead(String),
    /// "And the default?": something of the topic.
    Fragment(String),
}

/// What the question lacks; nothing where it stands alone.
pub(super) fn kind_of(query: &str) -> Option<Elliptic> {
    if is_chinese(query) {
        return chinese_kind(query);
    }
    let words = plain_words(query);
    let lead = words
        .iter()
        .take_while(|word| matches!(word.as_str(), "and" | "but" | "so" | "ok" | "okay" | "then"))
        .count();
    let rest = &words[lead..];
    let literal = !Literals::of(query).keywords().is_empty();
    let pronoun = rest
        .iter()
        .enumerate()
        .any(|(at, word)| match word.as_str() {
            "it" | "its" | "they" | "them" | "their" | "itself" => !refers_inside(rest, at),
            "this" | "that" | "these" | "those" => {
                !refers_inside(rest, at)
                    && rest
                        .get(at + 1)
                        .is_none_or(|next| is_stop(next) || GENERIC.contains(&next.as_str()))
                    && !matches!(
                        rest.get(at.wrapping_sub(1)).map(String::as_str),
                        Some("so" | "such")
                    )
            }
            _ => false,
        });
    if pronoun {
        return Some(Elliptic::Pronoun);
    }
    if rest.len() > 2 && matches!(rest[0].as_str(), "what" | "how") && rest[1] == "about" {
        let other: Vec<&str> = query.split_whitespace().skip(lead + 2).collect();
        let other = other.join(" ");
        let other = other.trim_end_matches(['?', '.', '!', ' ']);
        return Some(Elliptic::Instead(
            other.strip_prefix("the ").unwrap_or(other).to_owned(),
        ));
    }
    let says = |word: &&String| !is_stop(word) && !MORE.contains(&word.as_str());
    let says = rest.iter().filter(says).count();
    if says == 0 && rest.iter().any(|word| MORE.contains(&word.as_str())) {
        return Some(Elliptic::Fragment(String::new()));
    }
    let asks = rest.iter().any(|word| is_question_word(word));
    if says == 0 && asks && rest.len() <= 2 || asks_only_why(query) {
        return Some(Elliptic::Fragment(String::new()));
    }
    let clause = rest.iter().any(|word| {
        is_question_word(word) || matches!(word.as_str(), "is" | "are" | "does" | "do" | "can")
    });
    (lead > 0 && !clause && !literal && says <= 4).then(|| Elliptic::Fragment(rest.join(" ")))
}

/// Whether a pronoun has something to refer to in its own question: "what is X and how is it set".
fn refers_inside(words: &[String], at: usize) -> bool {
    words[..at]
        .iter()
        .filter(|word| !is_stop(word) && !GENERIC.contains(&word.as_str()))
        .count()
        >= 1
        && words[..at].iter().enumerate().any(|(place, word)| {
            // "Which ticket does it …" begins with a question word, no clause.
            let asks = place == 0 && matches!(word.as_str(), "which" | "that");
            !asks
                && matches!(
                    word.as_str(),
                    "and" | "if" | "when" | "or" | "that" | "which"
                )
        })
}

fn is_question_word(word: &str) -> bool {
    matches!(
        word,
        "what" | "which" | "who" | "whose" | "when" | "where" | "why" | "how"
    )
}

/// "And the complex one?" after "what does the simple route do?" is the same question about the
/// complex route, and 那换行呢 after 怎样退出 asks how as well.
pub(super) fn another_of_its_kind(kind: Elliptic, topic: &str, previous: &str) -> Elliptic {
    let Elliptic::Fragment(rest) = kind else {
        return kind;
    };
    if is_chinese(&rest) {
        let how = ["怎样", "怎么", "如何"]
            .iter()
            .any(|how| previous.starts_with(how));
        return if how && !rest.is_empty() && previous.contains(topic) {
            Elliptic::Instead(rest)
        } else {
            Elliptic::Fragment(rest)
        };
    }
    let noun = topic.split(' ').next_back().unwrap_or_default();
    let words: Vec<&str> = rest.split(' ').filter(|word| *word != "the").collect();
    match words.as_slice() {
        [others @ .., last] if !others.is_empty() && topic.contains(' ') => {
            if matches!(*last, "one" | "ones") || last.eq_ignore_ascii_case(noun) {
                Elliptic::Instead(format!("{} {noun}", others.join(" ")))
            } else {
                Elliptic::Fragment(rest)
            }
        }
        _ => Elliptic::Fragment(rest),
    }
}

/// What stands in Chinese for what was spoken of.
pub(super) const CHINESE_PRONOUNS: &[&str] =
    &["它们", "他们", "这个", "那个", "这些", "那些", "它", "其"];

fn chinese_kind(query: &str) -> Option<Elliptic> {
    let bare = query.trim_end_matches(['?', '？', '。', '！', '!', ' ']);
    // Words that only hold the sign of a pronoun.
    let words = [
        "其他", "其它", "其中", "其实", "其余", "尤其", "极其", "与其",
    ];
    let without = words
        .iter()
        .fold(bare.to_owned(), |rest, word| rest.replace(word, ""));
    if CHINESE_PRONOUNS
        .iter()
        .any(|pronoun| without.contains(pronoun))
    {
        let rest = bare.trim_start_matches(['那', '么']).trim_end_matches('呢');
        let only = CHINESE_PRONOUNS.contains(&rest);
        return Some(if only {
            Elliptic::Fragment(String::new())
        } else {
            Elliptic::Pronoun
        });
    }
    let rest = bare
        .trim_start_matches("那么")
        .trim_start_matches(['那', '还', '和'])
        .trim_start_matches('，');
    let short = rest.chars().count() <= 8;
    if short && let Some(rest) = rest.strip_suffix('呢') {
        return Some(Elliptic::Fragment(rest.to_owned()));
    }
    let asks = [
        "默认值",
        "为什么",
        "怎么做",
        "怎么用",
        "有哪些",
        "什么时候",
        "怎么设置",
        "举个例子",
        "详细说说",
        "还有吗",
    ];
    // A question form without a word of its own, such as 有几种.
    let bare_form = short && terms(rest).is_empty() && !rest.is_empty();
    (asks.contains(&rest) || bare_form || lacks_its_object(rest))
        .then(|| Elliptic::Fragment(rest.to_owned()))
}

/// Whether a short Chinese question begins with what should be done to something it does not name:
/// 可以换个位置吗, 怎么改.
fn lacks_its_object(rest: &str) -> bool {
    let may = ["可以", "可不可以", "能不能", "能", "怎么", "怎样", "如何"];
    let deed = may.iter().find_map(|may| rest.strip_prefix(may));
    let deed = deed.map(|deed| deed.trim_start_matches(['被', '再', '自', '己']));
    rest.chars().count() <= 10
        && Literals::of(rest).keywords().is_empty()
        && deed.is_some_and(|deed| {
            let mut verbs = DONE_TO.iter();
            verbs.any(|verb| deed.strip_prefix(verb).is_some_and(names_nothing))
        })
}

/// Whether nothing but words for any thing stands behind a deed.
fn names_nothing(rest: &str) -> bool {
    let mut rest = rest.to_owned();
    for word in ANYTHING {
        rest = rest.replace(word, "");
    }
    rest.is_empty()
}

/// Longest first.
#[rustfmt::skip]
const ANYTHING: &[&str] = &["其他", "别的", "位置", "地方", "一个", "到", "成", "为", "个", "值", "吗", "呢", "么", "的"];

/// What is done to a thing that was spoken of.
#[rustfmt::skip]
const DONE_TO: &[&str] = &[
    "换", "改", "修改", "更改", "关掉", "关闭", "调", "设成", "设为", "设置成", "指定", "取消", "移到", "删掉", "禁用",
];

/// Words that ask for more of the same.
const MORE: &[&str] = &[
    "more",
    "else",
    "elaborate",
    "continue",
    "further",
    "example",
    "examples",
    "details",
    "detail",
];
