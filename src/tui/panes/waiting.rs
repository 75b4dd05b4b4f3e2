//! What comes after the finished turns: a question on its way, what is being done, what waits.

use crate::domain::{NodeName, Outcome};
use crate::protocol::Mode;
use crate::tui::fold::RunView;
use crate::tui::ink::{Ink, Row, cut, grouped_count};
use crate::tui::model::{AskedBy, Model, Retry, TurnQuestion, TurnView};

use super::turn_rows::{GUTTER, question_rows};
use super::wording::{route_ink, spinner};

/// More of what a tool looks for says no more, characters.
const LONGEST_SUBJECT: usize = 40;

/// The rows below the last turn.
pub fn tail(model: &Model, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(TurnQuestion {
        text,
        route,
        retry_of,
    }) = &model.pending
    {
        let text = crate::text::sanitize(text);
        let first = retry_of.as_ref();
        let retry = first.map(|first| Retry::placement(&model.turns, first));
        rows.extend(question_rows(&text, &[], *route, retry, width));
        let waited = model.starting.map(|waited| waited.line(model.now));
        let doing = waited.as_deref().unwrap_or("starting");
        rows.push(working(model, doing, true, width));
    } else if let Some((last, others)) = at_work(model).split_last() {
        let is_last_turn = model
            .turns
            .last()
            .is_some_and(|turn| turn.exchange().id == last.id);
        let is_race = !others.is_empty() || !is_last_turn;
        for run in others.iter().chain([last]) {
            let doing = match run.complexity().filter(|_| is_race) {
                Some(route) => format!("{}: {}", route.as_str(), doing(model, run)),
                None => doing(model, run),
            };
            rows.push(working(model, &doing, run.id == last.id, width));
        }
    } else if ended_with(model, Outcome::Failed) {
        let mut row = Row::new(Ink::Dim, "       /retry asks again");
        if model.turns.last().map(|turn| turn.exchange().mode) == Some(Mode::Llm) {
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

fn ended_with(model: &Model, outcome: Outcome) -> bool {
    let last = model.turns.last().map(TurnView::exchange);
    let last = last.and_then(|exchange| exchange.finish.as_ref());
    last.is_some_and(|finish| finish.outcome == outcome)
}

/// The runs that go on: one, or those of a race.
fn at_work(model: &Model) -> Vec<&RunView> {
    let last = model.turns.len().saturating_sub(1);
    let goes_on = |(at, run): &(usize, &RunView)| {
        let is_beside = model.replay.is_none() && !run.is_recorded;
        run.finish.is_none() && (*at == last || is_beside)
    };
    let turns = model.turns.iter().enumerate();
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
    row.push(Ink::Dim, doing);
    let words = match (&model.replay, model.asked_by) {
        (Some(_), _) => " · Esc leaves",
        (None, AskedBy::Person) if model.queue.is_empty() && !model.is_acting() => " · Esc stops",
        _ => "",
    };
    if is_last {
        row.push(Ink::Dim, words);
    }
    row.fit(width)
}
