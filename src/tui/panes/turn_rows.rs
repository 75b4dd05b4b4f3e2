//! A question and its answer as rows, kept for as long as their turn is seen.

use ratatui::style::Modifier;

use crate::domain::{Complexity, LabelTarget, NodeName, Outcome, dollars};
use crate::protocol::{Fork, Mode, Rerun, RunLabels};
use crate::text::duration;
use crate::tui::fold::{Exchange, RunResult, RunView};
use crate::tui::ink::{Ink, Row, cells, cut, cut_path, grouped, grouped_count, wrap, wrap_plain};
use crate::tui::keymap::{Action, KeyContext, Keymap};
use crate::tui::labels::{judged_row, route_mark};
use crate::tui::markdown;
use crate::tui::markdown::CodeCache;
use crate::tui::model::{AskedBy, Model, Retry, TurnView};
use crate::tui::turns::{GUTTER, TurnCache};

use super::wording::{certainty, route_ink, spinner};

/// The rows of a turn as text, one a line.
pub fn text_of(turn: &TurnView, width: usize, branch_keys: &str) -> String {
    let known = turn.cache.rows(turn.exchange(), width).map(<[Row]>::to_vec);
    let mut code = CodeCache::default();
    let anew = || lay_out(turn, width, branch_keys, &mut code);
    let rows = known.unwrap_or_else(anew);
    let lines = rows.iter().map(Row::text);
    lines
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

/// The rows of a turn, laid out anew where they are not those of this text at this width.
pub fn turn_rows<'t>(turn: &'t mut TurnView, width: usize, branch_keys: &str) -> &'t [Row] {
    if turn.cache.rows(turn.exchange(), width).is_none() {
        let mut code = std::mem::take(&mut turn.cache.code);
        let rows = lay_out(turn, width, branch_keys, &mut code);
        let exchange = turn.exchange();
        if exchange.finish.is_some() {
            code = CodeCache::default();
        }
        turn.cache = TurnCache {
            width,
            revision: exchange.revision,
            rows,
            code,
        };
    }
    &turn.cache.rows
}

/// Lays a turn out; `code` holds what was read of the answer's code before.
fn lay_out(turn: &TurnView, width: usize, branch_keys: &str, code: &mut CodeCache) -> Vec<Row> {
    let run = turn.exchange();
    let mut rows = match &run.rerun {
        Some(rerun) => rerun_rows(rerun, turn.retry, &run.query, width),
        None => question_rows(&run.query, &run.within, run.forced, turn.retry, width),
    };
    if let Some(fork) = turn.fork {
        rows.insert(rows.len() - 1, fork_row(fork, branch_keys, width));
    }
    let body = width.saturating_sub(GUTTER + 1).max(1);
    let mut answer = markdown::render_growing(&run.answer, &run.support, body, code);
    if let Some(finish) = &run.finish {
        if answer.is_empty() {
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
            Outcome::Failed => {
                let why = finish.error.as_deref().unwrap_or("no reason given");
                let row = Row::new(Ink::Failed, format!("× failed: {why}"));
                let indent = Row::new(Ink::Text, "  ");
                answer.extend(wrap(&row, &Row::default(), &indent, body));
            }
        }
        answer.extend(wrap_plain(&footer(run, turn.labels()), body));
        answer.extend(warnings(run, body));
    }
    for (at, line) in answer.into_iter().enumerate() {
        let label = if at == 0 { " kb    " } else { "       " };
        rows.push(Row::new(Ink::Kb, label).join(line));
    }
    if run.finish.is_some() {
        rows.push(Row::default());
    }
    rows
}

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

/// Where a run begins again, what of its state was changed, and of which question where that stands
/// further up.
fn rerun_rows(rerun: &Rerun, retry: Option<Retry>, query: &str, width: usize) -> Vec<Row> {
    let changes = rerun.changes_in_words();
    let changes = changes.as_deref().unwrap_or("as recorded");
    let row = Row::new(Ink::You, format!("again from {}", rerun.from));
    let row = row.add(Ink::Dim, format!(" · {changes}"));
    let (first, rest) = (Row::new(Ink::Text, " "), " ".repeat(GUTTER));
    let rest = Row::new(Ink::Text, rest);
    let mut rows = wrap(&row, &first, &rest, width.saturating_sub(1));
    if retry != Some(Retry::Below) {
        let line = crate::text::one_line(query, 200);
        rows.push(rest.add(Ink::Dim, line).fit(width));
    }
    rows.push(Row::default());
    rows
}

/// Which of the branches that part at a question is shown.
fn fork_row(fork: Fork, branch_keys: &str, width: usize) -> Row {
    let row = Row::new(Ink::Text, " ".repeat(GUTTER))
        .add(Ink::Focus, format!("branch {} of {}", fork.at, fork.of));
    let row = match branch_keys {
        "" => row,
        keys => row.add(Ink::Dim, format!(" · {keys} show another")),
    };
    row.fit(width)
}

/// The keys that show the branch before and after, as the keymap names them.
pub fn branch_keys(keymap: &Keymap) -> String {
    let actions = [Action::PreviousBranch, Action::NextBranch].into_iter();
    let names = actions.filter_map(|action| keymap.name_in(action, KeyContext::Global));
    names.collect::<Vec<_>>().join(" ")
}

fn question(query: &str, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let rest = Row::new(Ink::Text, " ".repeat(GUTTER));
    for (at, line) in query.lines().take(MOST_LINES).enumerate() {
        let you = Row::new(Ink::You, " you   ");
        let first = if at == 0 { &you } else { &rest };
        let line = Row::new(Ink::Text, line.replace('\t', "    ")).bold();
        rows.extend(wrap(&line, first, &rest, width.saturating_sub(1)));
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
        let indent = Row::new(Ink::Text, "  ");
        rows.extend(wrap(&row, &Row::default(), &indent, width));
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

/// What a person said of it, how sure it is, route, calls, saved, time, warnings, and that an offline engine thought.
pub fn footer(run: &Exchange, labels: &RunLabels) -> Row {
    let mut row = Row::default();
    let Some(finish) = &run.finish else {
        return row;
    };
    if labels.get(&LabelTarget::Answer).is_some() {
        row = row.join(judged_row(labels, &LabelTarget::Answer));
        row.push(Ink::Dim, " · ");
    }
    if let Some(confidence) = run.confidence {
        row = row.join(certainty(confidence.level()));
        row.push(Ink::Dim, " · ");
    }
    if run.support.iter().any(|sentence| !sentence.supported) {
        let emphasis = Modifier::DIM | Modifier::UNDERLINED;
        row.push_emphatic(Ink::Text, emphasis, "underlined");
        row.push(Ink::Warning, ": no source says it");
        row.push(Ink::Dim, " · ");
    }
    if let Some(complexity) = run.complexity() {
        row.push(route_ink(complexity), complexity.as_str());
        if run.forced.is_some() {
            row.push(Ink::Dim, " (chosen)");
        }
        row = row.join(route_mark(labels));
        row.push(Ink::Dim, " · ");
    }
    let whole = finish.calls.saturating_add(finish.saved);
    let calls = match whole {
        0 => format!("no {}", run.mode.call()),
        _ if finish.broke_off() => run.mode.calls(finish.calls),
        _ => {
            let whole = run.mode.calls(whole);
            format!("{} of {whole} · saved {}", finish.calls, finish.saved)
        }
    };
    row.push(Ink::Dim, format!("{calls} · {}", duration(finish.ms)));
    let warnings = run.warnings.count();
    if warnings > 0 {
        row.push(Ink::Dim, " · ");
        row.push(Ink::Warning, format!("⚠ {}", grouped(warnings as u64)));
    }
    if finish.tokens > 0 {
        let about = if finish.spent.estimated { "~" } else { "" };
        let tokens = grouped(finish.tokens);
        row.push(Ink::Dim, format!(" · {about}{tokens} tok"));
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

// What comes after the finished turns: a question on its way, what is being done, what waits.

/// More of what a tool looks for says no more, characters.
const LONGEST_SUBJECT: usize = 40;

/// The rows below the last turn.
pub fn tail(model: &Model, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let has_failed = |finish: &RunResult| finish.outcome == Outcome::Failed;
    let last_turn = model.turns.current().last().map(TurnView::exchange);
    let failed = last_turn.filter(|last| last.finish.as_ref().is_some_and(has_failed));
    if let Some(question) = &model.pending {
        let text = crate::text::sanitize(&question.text);
        let first = question.place.retry_of.as_ref();
        let retry = first.map(|first| Retry::placement(model.turns.current(), first));
        rows.extend(match &question.rerun {
            Some(plan) => rerun_rows(&plan.rerun(), retry, &text, width),
            None => question_rows(&text, &[], question.route, retry, width),
        });
        let waited = model.starting.map(|waited| waited.line(model.now));
        let doing = waited.as_deref().unwrap_or("starting");
        rows.push(working(model, doing, true, width));
    } else if let Some((last, others)) = at_work(model).split_last() {
        let is_last_turn = last_turn.is_some_and(|exchange| exchange.id == last.id);
        let is_race = !others.is_empty() || !is_last_turn;
        for run in others.iter().chain([last]) {
            let doing = match run.complexity().filter(|_| is_race) {
                Some(route) => format!("{}: {}", route.as_str(), doing(model, run)),
                None => doing(model, run),
            };
            rows.push(working(model, &doing, run.id == last.id, width));
        }
    } else if let Some(last) = failed {
        let mut row = Row::new(Ink::Dim, "       /retry asks again");
        if last.mode == Mode::Llm {
            row.push(Ink::Dim, " · kb-agent doctor says why");
        }
        rows.push(row.fit(width));
    }
    rows.extend(queued(model, width));
    rows
}

/// `queued: …`, one row a question.
fn queued(model: &Model, width: usize) -> Vec<Row> {
    let room = width.saturating_sub(GUTTER + 9);
    let rows = model.queue.iter().enumerate().map(|(at, question)| {
        let label = if at == 0 { "queued: " } else { "        " };
        let mut row = Row::new(Ink::Text, " ".repeat(GUTTER)).add(Ink::Dim, label);
        if let Some(route) = question.route {
            row.push(route_ink(route), format!("{} ", route.as_str()));
        }
        let line = crate::text::one_line(&question.text, 300);
        row.add(Ink::Text, cut(&line, room)).fit(width)
    });
    let mut rows: Vec<Row> = rows.collect();
    if !rows.is_empty() {
        let help = format!("{}Esc takes the last one back", " ".repeat(GUTTER));
        rows.push(Row::new(Ink::Dim, help).fit(width));
    }
    rows
}

/// The runs that go on: one, or those of a race.
fn at_work(model: &Model) -> Vec<&RunView> {
    let last = model.turns.current().len().saturating_sub(1);
    let goes_on = |(at, run): &(usize, &RunView)| {
        let is_beside = model.replay.is_none() && !run.is_recorded;
        run.finish.is_none() && (*at == last || is_beside)
    };
    let turns = model.turns.current().iter().enumerate();
    let open = turns.filter_map(|(at, turn)| Some((at, &turn.opened()?.run)));
    open.filter(goes_on).map(|(_, run)| run).collect()
}

/// What is being done, or waited for.
fn doing(model: &Model, run: &RunView) -> String {
    if let Some(waited) = &run.waited {
        return waited.line(model.now);
    }
    let kept = run.evidence.kept_count();
    match run.active() {
        Some(NodeName::ToolExec) if run.round < run.tools.len() => searching(run),
        Some(NodeName::GradeEvidence) if kept > 0 => format!("grading {kept}"),
        node => {
            let node = node.map_or("…", |node| node.as_str());
            match kept as u64 {
                0 => node.to_owned(),
                kept => format!("{node} · {}", grouped_count(kept, "passage", "passages")),
            }
        }
    }
}

/// The call of this round that is not answered yet, or the last one, and what all of them found.
fn searching(run: &RunView) -> String {
    let round = &run.tools[run.round..];
    let mut open = round.iter().filter(|used| used.items.is_none());
    let Some(shown) = open.next().or(round.last()) else {
        return String::new();
    };
    let verb = shown.call.tool().descriptor().doing;
    let subject = crate::text::one_line(shown.call.subject(), LONGEST_SUBJECT);
    let mut doing = format!("{verb} '{subject}'");
    match open.count() {
        0 => {}
        more => doing.push_str(&format!(" +{more}")),
    }
    if round.iter().any(|used| used.items.is_some()) {
        let found = round.iter().filter_map(|used| used.items);
        let found = found.fold(0, usize::saturating_add);
        doing.push_str(&format!(" · {found} found"));
    }
    doing
}

/// A line of what goes on; the last of them says what Esc does.
fn working(model: &Model, doing: &str, is_last: bool, width: usize) -> Row {
    let mut row = Row::new(Ink::Running, format!("       {} ", spinner(model.frame)));
    let words = match (&model.replay, model.asked_by) {
        (Some(_), _) => " · Esc leaves",
        (None, AskedBy::Person) if model.queue.is_empty() && !model.is_acting() => " · Esc stops",
        _ => "",
    };
    let words = if is_last { words } else { "" };
    row.push(Ink::Dim, doing);
    // The key that stops it matters more than the last of what is told.
    let room = width.saturating_sub(cells(words));
    row.fit_parts(room).add(Ink::Dim, words).fit(width)
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
                supported: None,
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
                    let rows = turn_rows(&mut growing, width, "");
                    assert_eq!(
                        rows,
                        turn_rows(&mut anew, width, ""),
                        "event {at}, {outcome:?}"
                    );
                }
            }
        }
    }
}
