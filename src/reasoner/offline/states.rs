//! "Which tickets are open?": the documents whose head says so.

use crate::text::is_chinese;

use super::choose::Choice;
use super::literals::Literals;
use super::passage::Passage;
use super::quoting::quoted;
use super::relations::row;
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
    "ticket", "tickets", "issue", "issues", "task", "tasks", "story", "stories", "bug", "bugs", "epic", "epics",
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

/// The pattern that finds the lines in which documents tell their state.
pub(super) const STATE_LINES: &str = r"^\W*(status|state|状态)\W*[:：]";

/// Whether the documents in some state are asked for.
pub(super) fn asks_for_state(question: &str) -> bool {
    state(question).is_some()
}

/// A line for each document in the state that is asked for, with what was used; nothing where no
/// state is asked for or no document tells one.
pub(super) fn in_state(question: &str, passages: &[Passage]) -> Option<(String, Vec<Choice>)> {
    let state = state(question)?;
    let kind = kind(question);
    let mut found: Vec<Choice> = Vec::new();
    for (item, passage) in passages.iter().enumerate() {
        let known = found
            .iter()
            .any(|known| passages[known.item].source() == passage.source());
        let holds =
            |text: &str| row(text).is_some_and(|(label, value)| state.holds(&label, &value));
        let other_kind = |text: &str| {
            row(text).is_some_and(|(label, value)| {
                KINDS.contains(&label.as_str()) && kind.is_some_and(|kind| value.trim() != kind)
            })
        };
        if passage.units.iter().any(|unit| other_kind(&unit.text)) {
            continue;
        }
        let unit = passage.units.iter().position(|unit| holds(&unit.text));
        if let Some(unit) = unit.filter(|_| !known) {
            found.push(Choice { item, unit });
        }
    }
    found.sort_by(|a, b| passages[a.item].source().cmp(passages[b.item].source()));
    let lines: Vec<String> = found
        .iter()
        .map(|choice| {
            let passage = &passages[choice.item];
            let said = &passage.units[choice.unit].text;
            let title = passage.title.name();
            let joint = if title.is_empty() { "" } else { " – " };
            let line = quoted(&format!("{title}{joint}{said}"), choice.item + 1);
            format!("- `{}`: {line}", passage.source())
        })
        .collect();
    let more = match (found.len() >= ONE_SEARCH, is_chinese(question)) {
        (false, _) => "",
        (true, true) => "\n\n（一次检索最多十处，可能不止这些。）",
        (true, false) => "\n\n(One search brings ten at most; there may be more.)",
    };
    (!lines.is_empty()).then(|| (lines.join("\n") + more, found))
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
        let done = &STATES[3];
        assert!(done.holds("status", " closed as duplicate") && !done.holds("status", " open"));
        assert!(STATES[0].holds("status", " in progress") && !STATES[0].holds("type", " bug"));
    }
}
