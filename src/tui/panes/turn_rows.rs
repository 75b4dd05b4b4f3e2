//! A question and its answer as rows, kept for as long as their turn is seen.

use crate::domain::Outcome;
use crate::tui::fold::Exchange;
use crate::tui::ink::{Ink, Row};
use crate::tui::model::{Retry, TurnView};
use crate::tui::turn_cache::GrowingAnswer;
use crate::tui::wrap::wrap;

use super::asked::{GUTTER, question_rows};
use super::foot;

/// The rows of a turn as text, one a line.
pub fn text_of(turn: &TurnView, width: usize) -> String {
    let lines = |rows: &[Row]| {
        let lines = rows.iter().map(Row::text);
        lines
            .map(|line| line.trim_end().to_owned() + "\n")
            .collect()
    };
    if let Some(rows) = turn.cache.rows(turn.exchange(), width) {
        return lines(rows);
    }
    let (mut rows, mut answer) = (Vec::new(), GrowingAnswer::default());
    lay_out(&mut rows, turn.exchange(), turn.retry, width, &mut answer);
    lines(&rows)
}

/// The rows of a turn, laid out anew where they are not those of this text at this width.
pub fn turn_rows(turn: &mut TurnView, width: usize) -> &[Row] {
    if turn.cache.rows(turn.exchange(), width).is_none() {
        let mut cache = std::mem::take(&mut turn.cache);
        let exchange = turn.exchange();
        lay_out(
            &mut cache.rows,
            exchange,
            turn.retry,
            width,
            &mut cache.answer,
        );
        if exchange.finish.is_some() {
            cache.answer = GrowingAnswer::default();
        }
        cache.width = width;
        cache.revision = exchange.revision;
        turn.cache = cache;
    }
    &turn.cache.rows
}

/// Makes `rows` those of the turn; of the answer that `known` is of, those that stay are kept.
fn lay_out(
    rows: &mut Vec<Row>,
    run: &Exchange,
    retry: Option<Retry>,
    width: usize,
    known: &mut GrowingAnswer,
) {
    let question = question_rows(&run.query, &run.within, run.forced, retry, width);
    let body = width.saturating_sub(GUTTER + 1).max(1);
    let (above, mut answer) = known.render(&run.answer, body);
    if above > 0 {
        rows.truncate(question.len() + above);
    } else {
        *rows = question;
    }
    if let Some(finish) = &run.finish {
        if answer.is_empty() && above == 0 {
            let words = match finish.outcome {
                Outcome::Cancelled | Outcome::Failed if run.is_recorded && run.was_writing => {
                    "what came of the answer is not in the log"
                }
                Outcome::Cancelled => "stopped before an answer came",
                Outcome::Failed => "no answer",
                _ => "an empty answer",
            };
            answer.push(Row::new(Ink::Dim, words));
        }
        if !run.citations.is_empty() {
            answer.push(Row::default());
            answer.extend(foot::citations(run, body));
        }
        answer.push(Row::default());
        match finish.outcome {
            Outcome::Answered => {}
            Outcome::NotFound => {
                answer.push(Row::new(Ink::Warning, "◌ not found in the knowledge base"));
            }
            Outcome::Cancelled => answer.push(Row::new(Ink::Warning, "◼ cancelled")),
            Outcome::Failed => answer.extend(wrap(
                &Row::new(
                    Ink::Failed,
                    format!(
                        "× failed: {}",
                        finish.error.as_deref().unwrap_or("no reason given")
                    ),
                ),
                &Row::default(),
                &Row::new(Ink::Text, "  "),
                body,
            )),
        }
        answer.extend(wrap(
            &foot::footer(run),
            &Row::default(),
            &Row::default(),
            body,
        ));
        answer.extend(foot::warnings(run, body));
    }
    for (at, line) in answer.into_iter().enumerate() {
        let label = if above + at == 0 {
            " kb    "
        } else {
            "       "
        };
        rows.push(Row::new(Ink::Kb, label).join(line));
    }
    if run.finish.is_some() {
        rows.push(Row::default());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::protocol::{Event, EventBody};

    const ANSWER: &str = "# Bread\n\nBaked at **230 °C** [1], for\nas long as it takes.\n\n```rust\nlet a = 1;\n```\n\n\
                          - one\n\n- two\n\nSee [it][it].\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd.\n\n";

    /// A recorded run whose answer comes in these pieces, and is `whole` in the end.
    fn run(pieces: &[&str], whole: &str, outcome: Outcome) -> Vec<Arc<Event>> {
        let lines = include_str!("../../../tests/it/fixtures/picture.jsonl").lines();
        let recorded: Vec<Event> = lines.map(|l| serde_json::from_str(l).unwrap()).collect();
        let is_delta = |event: &Event| matches!(event.body, EventBody::AnswerDelta { .. });
        let first = recorded.iter().position(is_delta).unwrap();
        let delta = |text: &&str| Event {
            body: EventBody::AnswerDelta {
                text: (*text).to_owned(),
            },
            ..recorded[first].clone()
        };
        let mut events = recorded[..first].to_vec();
        events.extend(pieces.iter().map(delta));
        for mut event in recorded.iter().skip(first).cloned() {
            match &mut event.body {
                EventBody::AnswerDelta { .. } => continue,
                EventBody::AnswerFinished { .. } if outcome != Outcome::Answered => continue,
                EventBody::AnswerFinished { text, .. } => whole.clone_into(text),
                EventBody::RunFinished { outcome: end, .. } => *end = outcome,
                _ => {}
            }
            events.push(event);
        }
        events.into_iter().map(Arc::new).collect()
    }

    #[test]
    fn ui_a_turn_that_grows_has_the_rows_of_one_that_is_laid_out_at_once() {
        let words: Vec<&str> = ANSWER.split_inclusive(' ').collect();
        let defined = format!("{ANSWER}[it]: https://example.org\n");
        let with_definition: Vec<&str> = defined.split_inclusive('\n').collect();
        for (pieces, whole, outcome) in [
            (&words[..], ANSWER, Outcome::Answered),
            (&words[..], "Otherwise.", Outcome::Answered),
            (&with_definition[..], &*defined, Outcome::Answered),
            (&words[..12], "", Outcome::Cancelled),
            (&words[..20], "", Outcome::Failed),
            (&[], "", Outcome::Cancelled),
        ] {
            let events = run(pieces, whole, outcome);
            for change in [usize::MAX, 40] {
                let mut growing = TurnView::begin(&events[0]).unwrap();
                for (at, event) in events.iter().enumerate() {
                    if at > 0 {
                        growing.take(event);
                    }
                    let width = if at < change { 44 } else { 31 };
                    let mut anew = TurnView::from_events(&events[..=at]).unwrap();
                    let rows = turn_rows(&mut growing, width);
                    assert_eq!(rows, turn_rows(&mut anew, width), "event {at}, {outcome:?}");
                }
            }
        }
    }
}
