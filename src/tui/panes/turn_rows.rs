//! A question and its answer as rows, kept for as long as their turn is seen.

use crate::domain::Outcome;
use crate::tui::fold::Exchange;
use crate::tui::growing_answer::GrowingAnswer;
use crate::tui::ink::{Ink, Row};
use crate::tui::model::{Retry, TurnView};
use crate::tui::wrap::wrap;

use super::asked::{GUTTER, asked};
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
    let question = asked(&run.query, &run.within, (run.forced, retry), width);
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
            answer.push(Row::of(Ink::Dim, words));
        }
        if !run.citations.is_empty() {
            answer.push(Row::default());
            answer.extend(foot::citations(run, body));
        }
        answer.push(Row::default());
        match finish.outcome {
            Outcome::Answered => {}
            Outcome::NotFound => {
                answer.push(Row::of(Ink::Warning, "◌ not found in the knowledge base"));
            }
            Outcome::Cancelled => answer.push(Row::of(Ink::Warning, "◼ cancelled")),
            Outcome::Failed => answer.extend(wrap(
                &Row::of(
                    Ink::Failed,
                    format!(
                        "× failed: {}",
                        finish.error.as_deref().unwrap_or("no reason given")
                    ),
                ),
                &Row::default(),
                &Row::of(Ink::Text, "  "),
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
        rows.push(Row::of(Ink::Kb, label).join(line));
    }
    if run.finish.is_some() {
        rows.push(Row::default());
    }
}
