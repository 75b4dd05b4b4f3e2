//! "Which tickets are open?": the documents whose head says so.

use crate::text::is_chinese;

use super::choose::Choice;
use super::literals::Literals;
use super::markup::{OPEN_BOX, TICKED_BOX};
use super::passage::Passage;
use super::quoting::quoted;
use super::relations::{related, row};
use super::sentences::{Kind, Unit};
use super::words::{is_stop, plain_words};

/// A state as it is asked for and as documents write it.
struct State {
    asks: &'static [&'static str],
    asks_zh: &'static [&'static str],
    /// What the head says.
    says: &'static [&'static str],
    /// Whether it is meant that the head says anything else.
    not: bool,
}

#[rustfmt::skip]
const STATES: &[State] = &[
    State {
        asks: &["not done", "unfinished", "not finished", "still open", "outstanding", "not closed", "unresolved"],
        asks_zh: &["未完成", "没完成", "没有完成", "没做完", "还没做", "未解决", "没解决"],
        says: DONE,
        not: true,
    },
    State {
        asks: &["open"],
        asks_zh: &["打开", "未关闭", "开着"],
        says: &["open", "new", "todo", "to do", "reopened", "打开", "未开始"],
        not: false,
    },
    State {
        asks: &["in progress", "ongoing", "being worked on", "started"],
        asks_zh: &["进行中", "正在进行", "正在做", "处理中"],
        says: &["in progress", "ongoing", "started", "doing", "进行中", "处理中"],
        not: false,
    },
    State {
        asks: &["done", "finished", "completed", "complete", "closed", "resolved"],
        asks_zh: &["完成", "做完", "关闭", "解决"],
        says: DONE,
        not: false,
    },
];
#[rustfmt::skip]
const DONE: &[&str] = &[
    "done", "finished", "completed", "complete", "closed", "resolved", "fixed", "rejected", "cancelled", "完成", "已完成", "已关闭",
    "关闭", "已解决",
];
/// So many places one search brings at most.
const ONE_SEARCH: usize = 10;
/// How the line begins.
const LABELS: &[&str] = &["status", "state", "状态"];
/// What has a state.
#[rustfmt::skip]
const HOLDERS: &[&str] = &[
    "ticket", "tickets", "issue", "issues", "task", "tasks", "story", "stories", "bug", "bugs", "epic", "epics", "todos",
];
/// How the line begins that tells the kind, and the kinds as they are asked for and told.
const KINDS: &[&str] = &["type", "kind", "类型"];
#[rustfmt::skip]
const KIND_NAMES: &[(&str, &str)] = &[
    ("story", "story"), ("stories", "story"), ("bug", "bug"), ("bugs", "bug"), ("epic", "epic"), ("epics", "epic"), ("缺陷", "bug"),
];
const HOLDERS_ZH: &[&str] = &["工单", "任务", "缺陷", "需求"];
#[rustfmt::skip]
const FRAME: &[&str] = &["status", "currently", "still", "now", "list", "show", "already", "today", "find", "all", "right"];
const FRAME_ZH: &[&str] = &[
    "所有",
    "现在",
    "目前",
    "当前",
    "哪些",
    "哪几个",
    "列出",
    "有",
    "是",
    "还",
    "已经",
    "已",
    "的",
    "了",
    "都",
    "在",
    "着",
    "状态",
    "请",
];

/// The pattern that finds the lines in which documents tell their state, and the boxes of task lists; without
/// capitals, which would make it exact.
pub(super) const STATE_LINES: &str = r"^\W*(status|state|状态)\W*[:：]|^\s*[-*+]\s+\[[ x]\]\s";

/// Whether the documents in some state are asked for.
pub(super) fn asks_for_state(question: &str) -> bool {
    state(question).is_some()
}

/// Whether heads of documents answer, which say what is asked in so many words.
pub(super) fn from_heads(question: &str, passages: &[Passage]) -> bool {
    !related(question, passages).is_empty() || in_state(question, passages).is_some()
}

/// "And which are done?" after "which tickets are open?": the question before about another state.
pub(super) fn in_another_state(query: &str, previous: &str) -> Option<String> {
    let previous = previous.to_lowercase();
    let before = state(&previous).and(said_in(&previous))?;
    let now = said_in(&query.to_lowercase())?;
    let rest = query.to_lowercase().replacen(now, " ", 1);
    let elliptic = if is_chinese(query) {
        let mut rest: String = rest.chars().filter(|c| c.is_alphanumeric()).collect();
        for word in [FRAME_ZH, &["那", "呢", "么", "几个"]].concat() {
            rest = rest.replace(word, "");
        }
        rest.is_empty()
    } else {
        plain_words(&rest).iter().all(|word| {
            let word = word.as_str();
            is_stop(word) || FRAME.contains(&word) || matches!(word, "one" | "ones" | "many")
        })
    };
    (elliptic && state(query).is_none()).then(|| previous.replacen(before, now, 1))
}

/// The words by which a state is asked for.
fn said_in(question: &str) -> Option<&'static str> {
    let line = format!(" {} ", plain_words(question).join(" "));
    let said = |state: &'static State| {
        let english = state
            .asks
            .iter()
            .find(|asks| line.contains(&format!(" {asks} ")));
        let chinese = || state.asks_zh.iter().find(|asks| question.contains(**asks));
        english.or_else(chinese).copied()
    };
    STATES.iter().find_map(said)
}

/// A line for each document, task or row in the state that is asked for, with what was used; nothing
/// where no state is asked for or none is told.
pub(super) fn in_state(question: &str, passages: &[Passage]) -> Option<(String, Vec<Choice>)> {
    let state = state(question)?;
    let kind = kind(question);
    let mut found: Vec<(Choice, String)> = Vec::new();
    for (item, passage) in passages.iter().enumerate() {
        let fields = || passage.text.lines().filter_map(row);
        let other_kind = |(label, value): (String, String)| {
            KINDS.contains(&label.as_str()) && kind.is_some_and(|kind| value.trim() != kind)
        };
        // Where a heading is all there is, nothing can be quoted.
        if passage.units.is_empty() || fields().any(other_kind) {
            continue;
        }
        let head = passage
            .text
            .lines()
            .find(|line| row(line).is_some_and(|(label, value)| state.holds(&label, &value)));
        if let Some(line) = head {
            let unit = passage
                .units
                .iter()
                .position(|unit| unit.text.contains(line));
            let unit = unit.unwrap_or_default();
            found.push((Choice { item, unit }, line.trim().to_owned()));
        }
        for (unit, said) in passage.units.iter().enumerate() {
            if state.is_of(said) {
                found.push((Choice { item, unit }, said.words()));
            }
        }
    }
    found.sort_by(|(a, said), (b, other)| {
        let source = |choice: &Choice| passages[choice.item].source();
        source(a)
            .cmp(source(b))
            .then_with(|| said.cmp(other))
            .then(a.item.cmp(&b.item))
    });
    found.dedup_by(|(a, said), (b, other)| {
        passages[a.item].source() == passages[b.item].source() && said == other
    });
    let lines: Vec<String> = found
        .iter()
        .map(|(choice, said)| {
            let passage = &passages[choice.item];
            let title = passage.title.name();
            let joint = if title.is_empty() { "" } else { " – " };
            let line = quoted(&format!("{title}{joint}{said}"), choice.item + 1);
            format!("- `{}`: {line}", passage.source())
        })
        .collect();
    let telling = passages
        .iter()
        .filter(|passage| tells_state(passage))
        .count();
    let more = match (telling >= ONE_SEARCH, is_chinese(question)) {
        (false, _) => "",
        (true, true) => "\n\n（一次检索最多十处，可能不止这些。）",
        (true, false) => "\n\n(One search brings ten places at most; there may be more.)",
    };
    let used = found.into_iter().map(|(choice, _)| choice).collect();
    (!lines.is_empty()).then(|| (lines.join("\n") + more, used))
}

/// Whether a passage is one that [`STATE_LINES`] finds.
fn tells_state(passage: &Passage) -> bool {
    let in_head = |line: &str| row(line).is_some_and(|(label, _)| LABELS.contains(&label.as_str()));
    let boxed = |text: &str| text.starts_with([OPEN_BOX, TICKED_BOX]);
    passage.text.lines().any(in_head) || passage.units.iter().any(|unit| boxed(&unit.text))
}

/// The kind of document that is asked for, as the head of one tells it; a ticket is of any.
fn kind(question: &str) -> Option<&'static str> {
    let words = plain_words(question);
    let named = |(asks, _): &&(&str, &str)| {
        question.contains(asks) && !asks.is_ascii() || words.iter().any(|word| word == asks)
    };
    KIND_NAMES.iter().find(named).map(|(_, kind)| *kind)
}

impl State {
    fn holds(&self, label: &str, value: &str) -> bool {
        let value = value.trim();
        // "closed as duplicate" is closed.
        let says = self.says.iter().any(|says| {
            value
                .strip_prefix(says)
                .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        });
        LABELS.contains(&label) && !value.is_empty() && says != self.not
    }

    /// Whether a task of a list or a row of a table is in this state.
    fn is_of(&self, unit: &Unit) -> bool {
        let done = std::ptr::eq(self.says, DONE) && !self.not;
        let open = self.not || self.asks.contains(&"open");
        if let Some(row) = &unit.row {
            let mut cells = row.columns.iter().zip(&row.cells);
            return cells.any(|(column, cell)| {
                self.holds(&column.trim().to_lowercase(), &cell.to_lowercase())
            });
        }
        unit.kind == Kind::Item
            && (done && unit.text.starts_with(TICKED_BOX)
                || open && unit.text.starts_with(OPEN_BOX))
    }
}

fn state(question: &str) -> Option<&'static State> {
    if !Literals::of(question).keywords().is_empty() {
        return None;
    }
    if is_chinese(question) {
        let state = STATES
            .iter()
            .find(|state| state.asks_zh.iter().any(|asks| question.contains(asks)))?;
        let mut rest: String = question.chars().filter(|c| c.is_alphanumeric()).collect();
        let asks = ["哪", "列出", "有"].iter().any(|word| rest.contains(word));
        let holder = HOLDERS_ZH.iter().any(|word| rest.contains(word));
        for word in [state.asks_zh, HOLDERS_ZH, FRAME_ZH].concat() {
            rest = rest.replace(word, "");
        }
        return (asks && holder && rest.is_empty()).then_some(state);
    }
    let words = plain_words(question);
    let asks = ["which", "what", "list", "show", "find"];
    if !asks.contains(&words.first()?.as_str()) {
        return None;
    }
    let line = format!(" {} ", words.join(" "));
    let (state, said) = STATES.iter().find_map(|state| {
        let mut asks = state.asks.iter();
        let said = asks.find(|asks| line.contains(&format!(" {asks} ")))?;
        Some((state, said))
    })?;
    let holder = words.iter().any(|word| HOLDERS.contains(&word.as_str()));
    let own = |word: &String| {
        let word = word.as_str();
        is_stop(word)
            || HOLDERS.contains(&word)
            || FRAME.contains(&word)
            || said.split(' ').any(|said| said == word)
    };
    (holder && words.iter().all(own)).then_some(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r11_a_state_is_asked_of_what_has_one() {
        for question in [
            "Which tickets are open?",
            "list all open tickets",
            "which bugs are still open",
            "What tickets are in progress right now?",
            "哪些工单还没完成？",
            "列出所有进行中的任务",
        ] {
            assert!(asks_for_state(question), "{question}");
        }
        for question in [
            "Which tickets about the audit log are open?",
            "Which files are open?",
            "Is PROJ-104 open?",
            "When are the offices open?",
            "How is a ticket closed?",
            "哪些工单提到了审计日志？",
            "任务怎么完成？",
        ] {
            assert!(!asks_for_state(question), "{question}");
        }
        for (query, resolved) in [
            ("and which are done?", Some("which tickets are done?")),
            (
                "what about the closed ones?",
                Some("which tickets are closed?"),
            ),
            ("what is a ticket?", None),
            ("which files are open?", None),
        ] {
            let found = in_another_state(query, "Which tickets are open?");
            assert_eq!(found.as_deref(), resolved, "{query}");
        }
        let zh = in_another_state("那未完成的呢？", "哪些工单已完成？");
        assert_eq!(zh.as_deref(), Some("哪些工单已未完成？"));
        let done = &STATES[3];
        assert!(done.holds("status", " closed as duplicate") && !done.holds("status", " open"));
        assert!(STATES[0].holds("status", " in progress") && !STATES[0].holds("type", " bug"));
    }
}
