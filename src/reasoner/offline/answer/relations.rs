//! "Which tickets depend on PROJ-103?": what documents tell of their relations in fields of their heads.
//!
//! A document tells its own relations: "Depends on: PROJ-103" stands in the one that depends. So the
//! answer is in the fields of others, and the other way round in its own.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::domain::Question;

use super::super::language::says_name;
use super::found::Found;
use super::quoting::quoted;

static RELATIONS: LazyLock<BTreeMap<String, Relation>> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../../assets/language/relations.toml")).unwrap_or_default()
});

/// How a relation is asked for and written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Relation {
    /// The relation that the other end has.
    inverse: String,
    /// Labels of fields; questions use the same words.
    labels: Vec<String>,
    /// How else it is asked for.
    #[serde(default)]
    asked: Vec<String>,
    /// What stands directly behind the name of what others do it to, in front of the other words.
    #[serde(default)]
    passive: Vec<String>,
}

/// A line for each document that stands in the relation asked for to the thing that the question names;
/// nothing where no such relation is asked for or told.
pub(super) fn related(question: &Question, found: Found<'_>) -> Option<Vec<String>> {
    let [name] = &question.literals.keywords()[..] else {
        return None;
    };
    let (relation, inverse) = asked_of_others(question, name)?;
    let mut lines: Vec<(bool, &str, String, usize)> = Vec::new();
    for (at, passage) in found.passages.iter().enumerate() {
        let file = passage.source.rsplit('/').next().unwrap_or_default();
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let own = stem.eq_ignore_ascii_case(name);
        let labels = if own {
            &inverse.labels
        } else {
            &relation.labels
        };
        for line in fields(&passage.text) {
            let tells = field(&line).is_some_and(|(label, targets)| {
                labels.contains(&label) && (own && says(&targets) || says_name(&targets, name))
            });
            // Two passages of one file may begin with its head.
            let known =
                |known: &(bool, &str, String, usize)| known.1 == passage.source && known.2 == line;
            if tells && !lines.iter().any(known) {
                lines.push((own, &passage.source, line, at + 1));
            }
        }
    }
    lines.sort();
    let told = lines
        .into_iter()
        .map(|(_, source, line, number)| format!("- `{source}`: {}", quoted(&line, number)));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then_some(told)
}

/// The lines of a text, each label without targets joined with the items below it:
///
/// ```yaml
/// depends_on:
///   - PROJ-1
///   - PROJ-2
/// ```
fn fields(text: &str) -> Vec<String> {
    let mut fields: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            continue;
        }
        let item = ["- ", "* ", "+ "]
            .iter()
            .find_map(|mark| line.strip_prefix(mark));
        let item = item.filter(|_| open);
        if let (Some(item), Some(last)) = (item, fields.last_mut()) {
            let joint = if last.ends_with(':') { " " } else { ", " };
            last.push_str(joint);
            last.push_str(item.trim());
            continue;
        }
        open = line.ends_with(':');
        fields.push(line.to_owned());
    }
    fields
}

/// The relation asked for to what is named, and its inverse: where the relation is said in front of the
/// name, others have it.
fn asked_of_others(
    question: &Question,
    name: &str,
) -> Option<(&'static Relation, &'static Relation)> {
    let text = question.asked.to_lowercase();
    let (before, behind) = text.split_once(&name.to_lowercase())?;
    let before = before.trim_end_matches(|c: char| !c.is_alphanumeric());
    let ends = |relation: &&Relation| {
        let mut asked = relation.labels.iter().chain(&relation.asked);
        asked.any(|asked| {
            before.strip_suffix(asked.as_str()).is_some_and(|rest| {
                let apart = |c: char| !c.is_alphanumeric() || crate::text::is_cjk(c);
                rest.chars().next_back().is_none_or(apart)
            })
        })
    };
    let suffers = |relation: &&Relation| {
        let behind = behind.trim_start();
        let mut words = relation.labels.iter().chain(&relation.asked);
        relation
            .passive
            .iter()
            .any(|word| behind.starts_with(word.as_str()))
            && words.any(|word| behind.contains(word.as_str()))
    };
    let relation = RELATIONS
        .values()
        .find(ends)
        .or_else(|| RELATIONS.values().find(suffers))?;
    let inverse = RELATIONS.get(&relation.inverse)?;
    Some((relation, inverse))
}

/// Whether a field holds anything.
fn says(targets: &str) -> bool {
    targets.chars().any(char::is_alphanumeric)
}

/// A field as its label in lower case and what follows.
fn field(line: &str) -> Option<(String, String)> {
    let (label, targets) = line.split_once([':', '：'])?;
    let label = label.trim_matches(|c: char| !c.is_alphanumeric());
    Some((
        label.to_lowercase().replace(['_', '-'], " "),
        targets.to_lowercase(),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::super::question::read;
    use super::super::samples::{Sample, passage};
    use super::*;

    #[test]
    fn r12_a_relation_is_told_by_the_fields_of_either_end() {
        let sample = Sample::of(&[
            passage(
                "TK-1.md",
                "# TK-1\n\n**Depends on:** TK-2, TK-30\n**Blocked by:** TK-4",
            ),
            passage(
                "TK-2.md",
                "---\ntitle: Two\ndepends_on:\n  - TK-3\n  - TK-4\n---\n\nText: TK-2 depends on TK-9.",
            ),
            passage("TK-4.md", "# TK-4\n\nDepends on:\n\n- TK-30"),
        ]);
        for (question, told) in [
            (
                "What depends on TK-2?",
                vec!["- `TK-1.md`: **Depends on:** TK-2, TK-30 [1]"],
            ),
            (
                "Which tickets depend on TK-4?",
                vec![
                    "- `TK-1.md`: **Blocked by:** TK-4 [1]",
                    "- `TK-2.md`: depends_on: TK-3, TK-4 [2]",
                ],
            ),
            (
                "Which tickets depend on TK-3?",
                vec!["- `TK-2.md`: depends_on: TK-3, TK-4 [2]"],
            ),
            (
                "TK-4 被哪些工单阻塞？",
                vec!["- `TK-4.md`: Depends on: TK-30 [3]"],
            ),
            ("What is TK-2 about?", vec![]),
        ] {
            let lines = related(&read(question, &[]), sample.found());
            assert_eq!(lines.unwrap_or_default(), told, "{question}");
        }
        // The other end is asked for: what the document's own fields say.
        let lines = related(&read("What blocks TK-1?", &[]), sample.found());
        assert_eq!(
            lines.unwrap_or_default(),
            [
                "- `TK-1.md`: **Blocked by:** TK-4 [1]",
                "- `TK-1.md`: **Depends on:** TK-2, TK-30 [1]"
            ]
        );
    }
}
