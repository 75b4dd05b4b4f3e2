//! A question and its answer as rows, kept for as long as their turn is seen.

use crate::domain::{Complexity, Outcome, dollars};
use crate::protocol::Mode;
use crate::text::duration;
use crate::tui::fold::Exchange;
use crate::tui::ink::{Ink, Row, cut, cut_path, grouped};
use crate::tui::model::{Retry, TurnView};
use crate::tui::turn_cache::GrowingAnswer;
use crate::tui::wrap::{wrap, wrap_plain};

use super::wording::{certainty, route_ink};

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
            answer.extend(citations(run, body));
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
        answer.extend(wrap_plain(&footer(run), body));
        answer.extend(warnings(run, body));
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

/// Columns before the text of a turn.
pub const GUTTER: usize = 7;

/// Lines of a question that are shown.
const MOST_LINES: usize = 200;

/// The question, or only which way it goes where it is asked once more, and what it was kept within.
pub fn question_rows(
    query: &str,
    within: &[String],
    route: Option<Complexity>,
    retry: Option<Retry>,
    width: usize,
) -> Vec<Row> {
    let mut rows = match retry {
        Some(retry) => vec![once_more(query, route, retry, width)],
        None => question(query, width),
    };
    if !within.is_empty() {
        let indent = Row::new(Ink::Text, " ".repeat(GUTTER));
        let line = Row::new(Ink::Dim, "within ").add(Ink::Text, within.join(", "));
        rows.extend(wrap(&line, &indent, &indent, width.saturating_sub(1)));
    }
    rows.push(Row::default());
    rows
}

fn question(query: &str, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let rest = Row::new(Ink::Text, " ".repeat(GUTTER));
    for (at, line) in query.lines().take(MOST_LINES).enumerate() {
        let first = if at == 0 {
            Row::new(Ink::You, " you   ")
        } else {
            rest.clone()
        };
        let line = Row::new(Ink::Text, line.replace('\t', "    ")).bold();
        rows.extend(wrap(&line, &first, &rest, width.saturating_sub(1)));
    }
    rows
}

/// `retried: simple`, and of which question where that stands further up.
fn once_more(query: &str, route: Option<Complexity>, retry: Retry, width: usize) -> Row {
    let row = Row::new(Ink::You, " retried").add(Ink::Dim, ": ");
    let row = match route {
        Some(route) => row.add(route_ink(route), route.as_str()),
        None => row.add(Ink::Text, "auto"),
    };
    if retry == Retry::Below {
        return row.fit(width);
    }
    let line = crate::text::one_line(query, 200);
    let room = width.saturating_sub(row.width() + 4);
    row.add(Ink::Dim, format!(" · {}", cut(&line, room)))
        .fit(width)
}

/// `[1] routing.md:10-42  [2] …`, as many on a line as fit.
pub fn citations(run: &Exchange, width: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for citation in &run.citations {
        let mark = format!("[{}]", citation.n);
        let place = format!("{}:{}", citation.source, citation.location());
        let place = cut_path(&place, width.saturating_sub(mark.len() + 1));
        let entry = Row::new(Ink::Citation, mark).add(Ink::Dim, format!(" {place}"));
        match rows.last_mut() {
            Some(last) if last.width() + 3 + entry.width() <= width => {
                *last = std::mem::take(last).add(Ink::Text, "   ").join(entry);
            }
            _ => rows.push(entry.fit(width)),
        }
    }
    rows
}

/// Kinds of warnings that are written out beneath an answer.
const MOST_WRITTEN_OUT: usize = 4;

/// What went wrong with this answer, each kind in a line of its own; of what did not touch it the first, and how many
/// kinds there are besides.
pub fn warnings(run: &Exchange, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |ink, line: String| {
        let row = Row::new(ink, format!("⚠ {line}"));
        rows.extend(wrap(
            &row,
            &Row::default(),
            &Row::new(Ink::Text, "  "),
            width,
        ));
    };
    for kind in run.warnings.at_the_answer().take(MOST_WRITTEN_OUT) {
        add(Ink::Warning, kind.line());
    }
    let rest = run.warnings.at_the_answer().skip(MOST_WRITTEN_OUT);
    let mut rest = rest.chain(run.warnings.on_the_way());
    if let Some(first) = rest.next() {
        let others = match rest.count() {
            0 => String::new(),
            others => format!(" ({others} more in the audit)"),
        };
        add(Ink::Dim, first.line() + &others);
    }
    rows
}

/// How sure it is, route, calls, saved, time, warnings, and that an offline engine thought.
pub fn footer(run: &Exchange) -> Row {
    let mut row = Row::default();
    let Some(finish) = &run.finish else {
        return row;
    };
    if let Some(confidence) = run.confidence {
        row = row.join(certainty(confidence.level()));
        row.push(Ink::Dim, " · ");
    }
    if let Some(complexity) = run.complexity() {
        row.push(route_ink(complexity), complexity.as_str());
        if run.forced.is_some() {
            row.push(Ink::Dim, " (chosen)");
        }
        row.push(Ink::Dim, " · ");
    }
    let whole = finish.calls.saturating_add(finish.saved);
    let calls = match whole {
        0 => format!("no {}", run.mode.call()),
        _ if finish.broke_off() => run.mode.calls(finish.calls),
        _ => format!(
            "{} of {} · saved {}",
            finish.calls,
            run.mode.calls(whole),
            finish.saved
        ),
    };
    row.push(Ink::Dim, format!("{calls} · {}", duration(finish.ms)));
    let warnings = run.warnings.count();
    if warnings > 0 {
        row.push(Ink::Dim, " · ");
        row.push(Ink::Warning, format!("⚠ {}", grouped(warnings as u64)));
    }
    if finish.tokens > 0 {
        let about = if finish.spent.estimated { "~" } else { "" };
        row.push(
            Ink::Dim,
            format!(" · {about}{} tok", grouped(finish.tokens)),
        );
        if let Some(cost) = finish.spent.cost_usd {
            row.push(Ink::Dim, format!(" · {about}{}", dollars(cost)));
        } else if run.mode == Mode::Llm {
            row.push(Ink::Dim, " · cost unknown");
        }
    }
    if run.mode == Mode::Offline {
        row.push(Ink::Dim, " · ");
        row.push(Ink::Unmeasured, "extractive, offline");
    }
    row
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
