//! Answers that list documents rather than quote them: what the whole base holds, what is in some state, and what
//! stands in some relation to a ticket.

use super::super::language::{filled, table, terms, tokens};
use super::super::passage::Passage;
use super::super::question::state_values;
use super::choose::label_terms;
use super::quote::cleaned;
use crate::domain::{Evidence, MOST_LISTED, Question, QuestionKind, Score, ToolName};
use crate::text::one_line;

/// Characters of a line.
const LONGEST_LINE: usize = 200;
/// Characters of a heading.
const LONGEST_HEADING: usize = 80;

/// The list that a question for all documents, for a state or for a relation asks for; `None` for any other question.
pub fn listing(question: &Question, items: &[Evidence], passages: &[Passage]) -> Option<String> {
    match question.kind {
        QuestionKind::Overview => documents(question, items, passages),
        QuestionKind::State => in_state(question, items, passages),
        QuestionKind::Relation => related(question, passages),
        _ => None,
    }
}

/// `[3] guide.md § Setup`: a passage by the heading of a section, or by its title where that is empty.
pub fn place(passage: &Passage, heading: &str, number: usize) -> String {
    let name = if heading.is_empty() {
        &passage.title
    } else {
        heading
    };
    // Without signs that would be taken for the answer's own.
    let name = name.replace(['[', ']', '`', '|', '*', '<', '>'], " ");
    let name = one_line(&name, LONGEST_HEADING);
    let source = &passage.source;
    if name.is_empty() || source.ends_with(&name) {
        format!("- [{number}] {source}")
    } else {
        format!("- [{number}] {source} § {name}")
    }
}

/// The documents, a line each.
fn documents(question: &Question, items: &[Evidence], passages: &[Passage]) -> Option<String> {
    let begins = |item: &Evidence| item.tool == ToolName::LocalFileQa && item.score == Score::ZERO;
    if items.is_empty() || !items.iter().all(begins) {
        return None;
    }
    let frames = &table(question.language).frames;
    let heading = match items.len() {
        1 => frames.one_document.clone(),
        count if count <= MOST_LISTED => filled(&frames.documents, count),
        _ => filled(&frames.first_documents, MOST_LISTED),
    };
    let lines = (1..=MOST_LISTED).zip(passages);
    let lines = lines.map(|(n, passage)| place(passage, "", n));
    let lines: Vec<String> = std::iter::once(heading).chain(lines).collect();
    Some(lines.join("\n"))
}

/// The fields, rows and tasks with the value that is asked for, a line each.
fn in_state(question: &Question, items: &[Evidence], passages: &[Passage]) -> Option<String> {
    let values = state_values(question);
    let is_of_files = |at: &usize| items[*at].tool == ToolName::LocalFileQa;
    let found: Vec<usize> = (0..items.len()).filter(is_of_files).collect();
    let (kept, others) = found.split_at(found.len().min(MOST_LISTED));
    let listed = listed(passages, |at, passage| {
        let readable = passage.readable();
        let lines = passage.text.lines().zip(readable.lines());
        let is_listed = kept.contains(&at);
        let said = lines.filter(|(line, _)| is_listed && has_value(line, &values));
        let said = said.map(|(_, shown)| shown.trim_start_matches(['-', '*', '+', '#', ' ']));
        said.map(|said| one_line(said, LONGEST_LINE)).collect()
    })?;
    let and_more = &table(question.language).frames.and_more;
    Some(if others.is_empty() {
        listed
    } else {
        format!("{listed}\n\n{and_more}")
    })
}

/// What each document says, a line each, with its title and number.
fn listed(
    passages: &[Passage],
    said_in: impl Fn(usize, &Passage) -> Vec<String>,
) -> Option<String> {
    let mut listed: Vec<String> = Vec::new();
    for (at, passage) in passages.iter().enumerate() {
        for said in said_in(at, passage) {
            let said = cleaned(said.trim());
            listed.push(format!("- {} – {said} [{}]", passage.title, at + 1));
        }
    }
    listed.dedup();
    (!listed.is_empty()).then(|| listed.join("\n"))
}

/// Words of a question or field that turn a relation round: "blocked by".
const PASSIVE: [&str; 3] = ["by", "von", "被"];

/// The fields that tell the relation that is asked for, a line each. A document tells its own relations, so who depends
/// on a ticket is told by the fields of others, and on whom it depends by its own.
fn related(question: &Question, passages: &[Passage]) -> Option<String> {
    let [id] = &question.literals.ids[..] else {
        return None;
    };
    let relations = &table(question.language).relations;
    let asked = question.asked.to_uppercase();
    let (before, behind) = asked.split_once(id.as_str())?;
    let [before, behind] = [before, behind].map(|text| terms(text, question.language));
    let is_passive = |text: &str| tokens(text).iter().any(|it| PASSIVE.contains(&&*it.word));
    listed(passages, |_, passage| {
        let is_own = names(&passage.source, id);
        let is_asked = |(label, value): &(&str, &str)| {
            let spaced = label.replace('_', " ");
            let label_terms = label_terms(label, question);
            let is_in = |said: &[String]| label_terms.iter().any(|term| said.contains(term));
            let is_turned = is_passive(&asked) != is_passive(&spaced);
            relations.is_in(&tokens(&spaced))
                && (is_in(&before) || is_in(&behind))
                && is_own == (is_in(&behind) != is_turned)
                && (is_own || names(value, id))
        };
        // A field may hold a list.
        let text = passage.readable().replace("\n  - ", " ");
        let text = text.replace("\n- ", " ");
        let lines = text.lines().map(|line| line.trim_start_matches(['*', ' ']));
        let fields = lines.filter_map(|line| line.split_once([':', '：']));
        let said = fields.filter(is_asked);
        let said = said.map(|(label, value)| format!("{label}:{value}"));
        said.collect()
    })
}

/// Whether a text holds an id, as a word or in front of a hyphen.
fn names(text: &str, id: &str) -> bool {
    let text = text.to_uppercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '-');
    let is_id = |rest: &str| rest.is_empty() || rest.starts_with('-');
    words.any(|word| word.strip_prefix(id).is_some_and(is_id))
}

/// Whether a line is a task with such a box, or has a field or cell with such a value.
fn has_value(line: &str, values: &[String]) -> bool {
    let line = line.to_lowercase();
    let task = line.trim_start_matches(['-', '*', '+', ' ']);
    let is_box = |value: &String| value.starts_with('[') && task.starts_with(value.as_str());
    let is_value = |cell: &str| {
        let field = cell.split_once([':', '：']);
        let value = field.map_or(cell, |(_, value)| value);
        let bare = value.trim_matches(|c: char| !c.is_alphanumeric());
        values.contains(&bare.replace(['_', '-'], " "))
    };
    let mut cells = line.split(['|', ';', '；']);
    values.iter().any(is_box) || line.contains([':', '：', '|']) && cells.any(is_value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reasoner::offline::question::read;

    #[test]
    fn r12_a_list_of_states_that_goes_on_says_so() {
        let item = |n: usize| Evidence {
            source: format!("t/{n}.md"),
            tool: ToolName::LocalFileQa,
            ..Evidence::without_file(n, "status: open\n")
        };
        let question = Question {
            kind: QuestionKind::State,
            ..read("Which tickets are open?", &[])
        };
        for (count, ends) in [
            (MOST_LISTED, "[40]"),
            (MOST_LISTED + 1, "[40]\n\n… and more"),
        ] {
            let items: Vec<Evidence> = (1..=count).map(item).collect();
            let passages: Vec<Passage> = items.iter().map(Passage::read).collect();
            let listed = listing(&question, &items, &passages).unwrap();
            assert_eq!(listed.matches("open").count(), MOST_LISTED);
            assert!(listed.ends_with(ends), "{listed}");
        }
    }

    #[test]
    fn r12_only_the_relation_that_is_asked_for_is_listed() {
        let documents = [
            (
                "t/KB-12.md",
                "---\nblocks: [KB-14]\nblocked_by:\n  - KB-3\nparent: KB-1\n---\nText on KB-7: see it.\n",
            ),
            (
                "t/KB-14.md",
                "# KB-14: Paint\n\n**Depends on:** KB-12, KB-9\nRelates to: KB-120\n",
            ),
            ("t/KB-3.md", "# KB-3: Glue\n\nStatus: done\nBlocks: KB-12\n"),
            (
                "t/KB-120.md",
                "Blocks: KB-5\n\n- Depends on: KB-121\n- other\n",
            ),
        ];
        let read_passage = |(source, text): &(&str, &str)| {
            Passage::read(&Evidence {
                source: (*source).to_owned(),
                ..Evidence::without_file(1, text)
            })
        };
        let passages: Vec<Passage> = documents.iter().map(read_passage).collect();
        let ask = |text: &str| {
            let question = Question {
                kind: QuestionKind::Relation,
                ..read(text, &[])
            };
            listing(&question, &[], &passages).unwrap_or_default()
        };
        for (question, listed) in [
            (
                "What blocks KB-12?",
                "- KB-12 – blocked_by: KB-3 [1]\n- KB-3: Glue – Blocks: KB-12 [3]",
            ),
            ("What does KB-12 block?", "- KB-12 – blocks: [KB-14] [1]"),
            (
                "What is KB-12 blocked by?",
                "- KB-12 – blocked_by: KB-3 [1]\n- KB-3: Glue – Blocks: KB-12 [3]",
            ),
            (
                "Which tickets are blocked by KB-12?",
                "- KB-12 – blocks: [KB-14] [1]",
            ),
            (
                "Which tickets depend on KB-12?",
                "- KB-14: Paint – Depends on: KB-12, KB-9 [2]",
            ),
            (
                "What does KB-14 depend on?",
                "- KB-14: Paint – Depends on: KB-12, KB-9 [2]",
            ),
            (
                "What depends on KB-9?",
                "- KB-14: Paint – Depends on: KB-12, KB-9 [2]",
            ),
            ("What depends on KB-1?", ""),
        ] {
            assert_eq!(ask(question), listed, "{question}");
        }
    }
}
