//! "Which tickets depend on PROJ-103?": what other documents say of it in their heads.
//!
//! A document tells its own relations: "Depends on: PROJ-103" stands in the one that depends. So the
//! answer is in the rows of others, and the other way round in its own.

use crate::text::is_chinese;

use super::choose::Choice;
use super::literals::Literals;
use super::passage::Passage;
use super::quoting::quoted;
use super::words::plain_words;

/// How a relation is asked for, and how documents write it.
struct Relation {
    /// Before the name: "depends on PROJ-103".
    asks: &'static [&'static str],
    asks_zh: &'static [&'static str],
    /// Behind the name: PROJ-105 被哪些工单阻塞.
    passive_zh: &'static [&'static str],
    /// What the document says that has it.
    labels: &'static [&'static str],
    /// What the named document says of it.
    inverse: &'static [&'static str],
}

#[rustfmt::skip]
const RELATIONS: &[Relation] = &[
    Relation {
        asks: &["depends on", "depend on", "waits for", "wait for", "waiting for", "blocked by", "requires", "require"],
        asks_zh: &["依赖于", "依赖", "等待", "取决于"],
        passive_zh: &[],
        labels: DEPENDS,
        inverse: BLOCKS,
    },
    Relation {
        asks: &["blocks", "block", "blocking", "hold up", "holds up"],
        asks_zh: &["阻塞了", "阻塞", "卡住了", "卡住"],
        passive_zh: &["阻塞", "卡住", "挡住"],
        labels: BLOCKS,
        inverse: DEPENDS,
    },
    Relation {
        asks: &["relate to", "relates to", "related to", "linked to"],
        asks_zh: &["关联", "关联到"],
        passive_zh: &[],
        labels: RELATES,
        inverse: RELATES,
    },
    Relation {
        asks: &["children of", "child of", "belongs to", "belong to", "part of", "subtasks of"],
        asks_zh: &["属于"],
        passive_zh: &[],
        labels: &["parent", "epic", "父任务"],
        inverse: &["children", "subtasks", "子任务"],
    },
];
#[rustfmt::skip]
const FRAME: &[&str] = &[
    "which", "what", "other", "ticket", "tickets", "issue", "issues", "task", "tasks", "documents", "stories", "bugs", "is", "are",
    "does", "do", "all", "the", "else", "currently", "things", "work",
];
const RELATES: &[&str] = &["relates to", "related to", "related", "see also", "关联"];
const DEPENDS: &[&str] = &[
    "depends on",
    "depends-on",
    "depends_on",
    "blocked by",
    "requires",
    "依赖",
];
const BLOCKS: &[&str] = &["blocks", "blocking", "required by", "阻塞"];

/// The rows that answer a question for what stands in a relation to a named thing, the other
/// documents' before its own; empty where nothing such is asked or said.
pub(super) fn related(question: &str, passages: &[Passage]) -> Vec<(Choice, String)> {
    let Some((relation, name)) = asked(question) else {
        return Vec::new();
    };
    let mut found: Vec<(Choice, String)> = Vec::new();
    let mut own = None;
    for (item, passage) in passages.iter().enumerate() {
        let home = passage.is_home_of(std::slice::from_ref(&name));
        let labels = if home {
            relation.inverse
        } else {
            relation.labels
        };
        let line = passage
            .text
            .lines()
            .filter(|_| !passage.units.is_empty())
            .find(|line| {
                row(line).is_some_and(|(label, targets)| {
                    labels.contains(&label.as_str()) && (home || names(&targets, &name))
                })
            });
        let Some(line) = line.map(str::trim) else {
            continue;
        };
        let unit = passage
            .units
            .iter()
            .position(|unit| unit.text.contains(line));
        let unit = unit.unwrap_or_default();
        let known = found
            .iter()
            .any(|(known, _)| passages[known.item].source() == passage.source());
        let told = (Choice { item, unit }, line.to_owned());
        if home {
            own = own.or(Some(told));
        } else if !known {
            found.push(told);
        }
    }
    found.sort_by(|(a, _), (b, _)| passages[a.item].source().cmp(passages[b.item].source()));
    found.extend(own);
    found
}

/// A line for each of them, and what was used.
pub(super) fn told(question: &str, passages: &[Passage]) -> Option<(String, Vec<Choice>)> {
    let rows = related(question, passages);
    let lines: Vec<String> = rows
        .iter()
        .map(|(choice, line)| {
            let source = passages[choice.item].source();
            format!("- `{source}`: {}", quoted(line, choice.item + 1))
        })
        .collect();
    let used = rows.into_iter().map(|(choice, _)| choice).collect();
    (!lines.is_empty()).then(|| (lines.join("\n"), used))
}

/// Whether it is asked what stands in a relation to a named thing: its own head, which may tell the
/// opposite, is then no answer.
pub(super) fn asks_from_the_end(question: &str) -> bool {
    asked(question).is_some()
}

/// Whether a document tells its relations in its head.
pub(super) fn tells_relations(passage: &Passage) -> bool {
    passage.text.lines().any(|line| {
        row(line).is_some_and(|(label, _)| {
            RELATIONS
                .iter()
                .any(|relation| relation.labels.contains(&label.as_str()))
        })
    })
}

/// The relation that is asked for, and to what.
fn asked(question: &str) -> Option<(&'static Relation, String)> {
    let literals = Literals::of(question).keywords();
    let [name] = literals.as_slice() else {
        return None;
    };
    let not = ["不", "没", "未"];
    if is_chinese(question) && not.iter().any(|not| question.contains(not)) {
        return None;
    }
    let relation = if is_chinese(question) {
        let line: String = question.chars().filter(|c| !c.is_whitespace()).collect();
        let (before, behind) = line.split_once(name.as_str())?;
        let open = |text: &str| ["哪", "什么", "谁"].iter().any(|word| text.contains(word));
        let passive = behind.starts_with('被') && open(behind);
        // What a thing is blocked by depends on nothing of its own.
        let by_it = before.ends_with('被') && open(before);
        RELATIONS.iter().find(|relation| {
            let says = |words: &[&str]| words.iter().any(|word| behind.contains(word));
            let ends = |words: &[&str]| words.iter().any(|word| before.ends_with(word));
            passive && says(relation.passive_zh)
                || open(before) && ends(relation.asks_zh)
                || by_it && relation.labels == DEPENDS && says(&["阻塞", "卡住", "挡住"])
        })
    } else {
        let words = plain_words(question);
        if !matches!(words.first().map(String::as_str), Some("which" | "what")) {
            return None;
        }
        let name = name.to_lowercase();
        RELATIONS.iter().find(|relation| {
            let mut asks = relation.asks.iter();
            asks.any(|asks| {
                [" ", " ticket ", " the ticket "]
                    .iter()
                    .any(|joint| ends_so(&words, &format!("{asks}{joint}{name}")))
            })
        })
    };
    relation.map(|relation| (relation, name.clone()))
}

/// Whether a question ends with this, and says nothing before it that would narrow the answer: "which
/// open tickets" are fewer, and "not" turns it round.
fn ends_so(words: &[String], end: &str) -> bool {
    let line = words.join(" ");
    let Some(before) = line.strip_suffix(end) else {
        return false;
    };
    before.ends_with(' ') && before.split_whitespace().all(|word| FRAME.contains(&word))
}

/// A row of a document's head as its label in lower case and what follows.
pub(super) fn row(text: &str) -> Option<(String, String)> {
    let (label, targets) = text.split_once([':', '：'])?;
    let label = label.trim_matches(|c: char| !c.is_alphanumeric());
    Some((label.to_lowercase(), targets.to_lowercase()))
}

/// Whether the name stands among the targets, and not as the beginning of a longer one.
fn names(targets: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    targets
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_')))
        .any(|target| target == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r12_relations_are_asked_for_from_their_end() {
        for (question, labels) in [
            ("Which ticket depends on PROJ-103?", Some(DEPENDS)),
            ("which tickets are blocked by PROJ-103", Some(DEPENDS)),
            ("What is waiting for the ticket PROJ-103?", Some(DEPENDS)),
            ("Which tickets block PROJ-105?", Some(BLOCKS)),
            ("哪些工单依赖 PROJ-103？", Some(DEPENDS)),
            ("哪些工单阻塞 PROJ-105？", Some(BLOCKS)),
            ("PROJ-105 被哪几个工单卡住了？", Some(BLOCKS)),
            ("哪些工单被 PROJ-103 阻塞？", Some(DEPENDS)),
            ("What does PROJ-103 depend on?", None),
            ("PROJ-103 依赖哪些工单？", None),
            ("Which tickets depend on PROJ-103 or PROJ-104?", None),
            ("Which tickets are not blocked by PROJ-103?", None),
            ("Which open tickets depend on PROJ-103?", None),
            ("哪些工单不依赖 PROJ-103？", None),
            ("Does PROJ-104 depend on PROJ-103?", None),
        ] {
            let found = asked(question).map(|(relation, _)| relation.labels);
            assert_eq!(found, labels, "{question}");
        }
        assert!(names("proj-101, proj-103", "PROJ-103"));
        assert!(!names("proj-1031", "PROJ-103"));
    }
}
