//! Whether a model's queries are about the question: a question that was written anew, and planned searches.

use std::collections::HashSet;

use super::json::is_longer;
use super::prompt::Prompts;
use crate::agent::ports::{Caveat, PlanJob, PlannedCalls};
use crate::domain::{Language, PlannedCall, ToolCall, Turn};
use crate::reasoner::offline;
use crate::text::{is_cjk, one_line};

/// Characters of a question that is searched at most.
const LONGEST_REWRITING: usize = 300;
/// Letters by which words are compared.
const STEM: usize = 5;

/// The rewritten question in a reply that was asked for nothing else; `None` where the reply is no rewriting: it adds
/// nothing, repeats what was said, says what nobody said, drops what is asked for, or is in another language.
pub fn read_rewriting(reply: &str, query: &str, history: &[Turn]) -> Option<String> {
    let line = reply.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.trim_matches(['"', '“', '”', '`', '*', ' ']);
    if line.is_empty() || is_longer(line, LONGEST_REWRITING) {
        return None;
    }
    let said = || {
        history
            .iter()
            .flat_map(|turn| [turn.question.as_str(), &turn.answer])
    };
    let known: HashSet<String> = said().chain([query]).flat_map(words_of).collect();
    let words: Vec<String> = words_of(line).collect();
    let held = words.iter().filter(|word| known.contains(*word)).count();
    let adds = words
        .iter()
        .any(|word| words_of(query).all(|known| known != *word));
    let repeats = said().any(|text| text.to_lowercase().contains(&line.to_lowercase()));
    let [asked, new] = [query, line].map(|text| offline::read(text, &[]));
    let keeps = asked.terms.is_empty() || asked.terms.iter().any(|term| new.terms.contains(term));
    let is_rewriting = adds && !repeats && keeps && asked.language == new.language;
    (is_rewriting && 2 * held > words.len()).then(|| one_line(line, LONGEST_REWRITING))
}

/// Puts the question in the place of a query that the model copied from its prompt, or that has no word of the question,
/// its parts, the conversation or the evidence kept: small models copy and make up. Of a model that is not small only
/// identifiers are looked at so.
pub fn replace_stray_queries(
    planned: &mut PlannedCalls,
    job: &PlanJob<'_>,
    prompts: &Prompts,
    is_small: bool,
) {
    let known = known_words(job);
    let asked = job.query.to_lowercase();
    let is_translated = job.question.language != Language::EN;
    // A large model knows other words for the same, but no identifier that nobody has named.
    let is_identifier =
        |query: &str| !query.contains(' ') && query.contains(|c: char| c.is_ascii_digit());
    let is_copied = |query: &str| {
        // A single word of the prompt may well be the model's own.
        (query.contains(' ') || is_identifier(query))
            && prompts.holds_in_plan(query)
            && !asked.contains(&query.to_lowercase())
    };
    let is_made_up = |query: &str| {
        let is_known = words_of(query).any(|word| known.contains(&word));
        !is_known && (is_identifier(query) || is_small && !is_translated)
    };
    let (mut copied, mut made_up) = (Vec::new(), Vec::new());
    for PlannedCall { call, .. } in &mut planned.calls {
        let query = match call {
            ToolCall::VectorSearch { query, .. }
            | ToolCall::GrepSearch { query }
            | ToolCall::LocalFileQa { query, .. } => query,
            ToolCall::HybridSearch {
                semantic_query,
                exact_keywords,
            } => {
                exact_keywords.retain(|keyword| !is_copied(keyword) && !is_made_up(keyword));
                semantic_query
            }
            ToolCall::ReadFile { .. } | ToolCall::GraphRelated { .. } => continue,
        };
        let stray = if is_copied(query) {
            &mut copied
        } else if is_made_up(query) {
            &mut made_up
        } else {
            continue;
        };
        stray.push(one_line(query, 60));
        job.query.clone_into(query);
    }
    for (code, queries, what) in [
        ("query_copied", copied, "which stands in its prompt"),
        ("query_replaced", made_up, "which is none of the question"),
    ] {
        if !queries.is_empty() {
            let queries = queries.join("', '");
            let message = format!(
                "the model planned a search for '{queries}', {what}: the question is searched instead"
            );
            planned.warnings.push(Caveat::new(code, message));
        }
    }
}

fn known_words(job: &PlanJob<'_>) -> HashSet<String> {
    let turns = job
        .history
        .iter()
        .flat_map(|turn| [&turn.question, &turn.answer]);
    let evidence = job.context.iter().map(|item| &item.text);
    let texts = turns.chain(evidence).chain(&job.routing.sub_questions);
    let words = texts.flat_map(|text| words_of(text));
    words_of(job.query).chain(words).collect()
}

/// The words of a text in lower case, by their first letters, so that forms of one word are one; of scripts without
/// spaces the characters.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    let runs = text.split(|c: char| !c.is_alphanumeric());
    runs.flat_map(|run| {
        if run.chars().any(is_cjk) {
            run.chars().map(String::from).collect()
        } else {
            let start: String = run.to_lowercase().chars().take(STEM).collect();
            vec![start]
        }
    })
    .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::ports::CallOrigin;
    use crate::domain::{NodeName, RoutingPlan};
    use crate::protocol::RunId;

    #[test]
    fn r05_a_rewriting_keeps_what_is_asked_and_says_only_what_was_said() {
        let turn = Turn {
            question: "What is the threshold of the gate?".to_owned(),
            answer: "Its threshold is seven.".to_owned(),
        };
        let query = "And which colour has it?";
        let read = |reply: &str| read_rewriting(reply, query, std::slice::from_ref(&turn));
        for (reply, rewritten) in [
            (
                "Which colour has the gate?",
                Some("Which colour has the gate?"),
            ),
            (
                "\n \"Which colour has the gate?\"\nNote: …",
                Some("Which colour has the gate?"),
            ),
            // It adds nothing, repeats what was said, drops what is asked for, makes it up, or translates it.
            (query, None),
            ("What is the threshold of the gate?", None),
            ("Its threshold is seven.", None),
            ("What is the gate and its threshold?", None),
            (
                "Which colour do dragons on the old tower of Babel have?",
                None,
            ),
            ("Welche colour hat das Tor und der Turm?", None),
            ("", None),
        ] {
            assert_eq!(read(reply).as_deref(), rewritten, "{reply}");
        }
    }

    #[test]
    fn r11_a_query_that_is_none_of_the_question_gives_way_to_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("prompts")).unwrap();
        let own = "Such as: how are documents cut, PROJ-123\n=== user ===\n{{tools}} {{question}}";
        std::fs::write(folder.path().join("prompts/plan.md"), own).unwrap();
        let prompts = Prompts::read(Some(folder.path())).unwrap();
        let query = "How often is the boiler serviced?";
        let (run, question) = (RunId::generate(), offline::read(query, &[]));
        let job = PlanJob {
            origin: CallOrigin {
                run: &run,
                node: NodeName::Plan,
                calls: None,
                waits: None,
                instruction: None,
            },
            query,
            question: &question,
            history: &[],
            routing: &RoutingPlan::default(),
            tool_history: &[],
            context: &[],
            scores: &[],
            refine: false,
        };
        for (planned, is_small, code) in [
            ("boiler service", true, None),
            ("how are documents cut", false, Some("query_copied")),
            ("PROJ-123", false, Some("query_copied")),
            ("ABC-9", false, Some("query_replaced")),
            ("dragons", true, Some("query_replaced")),
            ("furnace upkeep", false, None),
        ] {
            let call = ToolCall::GrepSearch {
                query: planned.to_owned(),
            };
            let mut calls = PlannedCalls {
                calls: vec![call.into()],
                ..PlannedCalls::default()
            };
            replace_stray_queries(&mut calls, &job, &prompts, is_small);
            let warned = calls.warnings.first().map(|warning| warning.code);
            let searched = if code.is_some() { query } else { planned };
            let call = ToolCall::GrepSearch {
                query: searched.to_owned(),
            };
            assert_eq!((&calls.calls[0].call, warned), (&call, code), "{planned}");
        }
    }
}
