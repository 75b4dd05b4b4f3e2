//! The stream itself: one event a row, events of one kind folded.
//!
//! Zoomed it is a table with a head: place in the run, moment, what passed since the event before.

use ratatui::layout::Size;

use crate::protocol::{EventBody, Timestamp};
use crate::text::duration;
use crate::tui::fold::{AuditLine, AuditRow, Level, group_summary};
use crate::tui::ink::{Ink, Row, pad};
use crate::tui::model::Model;
use crate::tui::pane_state::{DrawnRows, Pane};

/// What stands beside the title.
pub fn status(model: &Model) -> Row {
    let warnings = model.shown_run().map_or(0, |run| run.warnings.count());
    let mut row = Row::default();
    if warnings > 0 {
        row.push(Ink::Warning, format!("⚠ {warnings}  "));
    }
    let is_paused = model.audit.left_end;
    row.add(Ink::Dim, if is_paused { "paused" } else { "follow" })
}

/// Lays out what is seen: the filter, the head of a table, and the lines, the last of them while they
/// are followed.
pub fn settle(model: &mut Model, size: Size) {
    let count = model.audit_lines().count();
    let head = head(model, size.width.into(), count);
    let seen = usize::from(size.height).saturating_sub(head.len());
    let list = &mut model.audit.list;
    if !model.audit.left_end {
        list.last(count);
    }
    list.settle(count, seen);
    model.audit.drawn = lay_out(model, head, seen, size.width.into());
}

/// What stands above the lines.
fn head(model: &Model, width: usize, count: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let is_filtered = model.audit.typing || !model.audit.filter.is_empty();
    if is_filtered {
        let mut filter = Row::new(Ink::Key, " / ").add(Ink::Text, model.audit.filter.clone());
        if model.audit.typing {
            filter.push(Ink::Focus, "▏");
        }
        let found = Row::new(Ink::Dim, format!("{} found ", model.audit_rows().len()));
        rows.push(filter.and_right(found, width));
    }
    if is_table(model) {
        let (time, node, event) = (pad("time", 12), pad("node", NAME), pad("event", NAME));
        let words = format!("   # {time} {:>8} {:>8}   {node} {event}", "start", "gap");
        rows.push(Row::new(Ink::Dim, words).fit(width));
    }
    if !is_filtered && count == 0 {
        rows.push(Row::new(Ink::Dim, " every event of a run, as it happens").fit(width));
    }
    rows
}

fn is_table(model: &Model) -> bool {
    model.zoomed && model.size.width >= WIDE && model.shown_run().is_some()
}

fn lay_out(model: &Model, head: Vec<Row>, seen: usize, width: usize) -> DrawnRows {
    let list = &model.audit.list;
    let mut lines = model.audit_lines();
    let above = list.top.checked_sub(1).and_then(|above| lines.nth(above));
    let mut before = above.and_then(|line| Some(line.rows().last()?.ts));
    let lines: Vec<_> = lines.take(seen).collect();
    let table = RowLayout {
        model,
        width,
        started: model.shown_run().map_or(Timestamp(0), |run| run.started),
        is_zoomed: is_table(model),
        bars: None,
    }
    .with_bars(&lines);
    let above = head.len();
    let has_selection = model.focus == Pane::Audit && !lines.is_empty();
    let mut drawn = DrawnRows {
        items: vec![None; above],
        rows: head,
        selected: has_selection.then(|| list.selected.saturating_sub(list.top) + above),
    };
    for (at, line) in lines.into_iter().enumerate() {
        drawn.rows.push(table.row(line, before));
        drawn.items.push(Some(list.top + at));
        before = line.rows().last().map(|row| row.ts);
    }
    drawn
}

/// `+0.412`: seconds since the run began.
pub fn since(started: Timestamp, moment: Timestamp) -> String {
    let ms = moment.0.saturating_sub(started.0);
    format!("+{}.{:03}", ms / 1000, ms % 1000)
}

/// The least width at which a zoomed pane is a table.
const WIDE: u16 = 90;
/// The longest name of an event.
const NAME: usize = 17;

/// How a line becomes a row.
struct RowLayout<'a> {
    model: &'a Model,
    width: usize,
    started: Timestamp,
    is_zoomed: bool,
    bars: Option<usize>,
}

impl RowLayout<'_> {
    fn row(&self, line: AuditLine<'_>, before: Option<Timestamp>) -> Row {
        let Some(first) = line.first() else {
            return Row::default();
        };
        let mut row = Row::default();
        if self.is_zoomed {
            let seq = format!("{:>4} ", first.seq());
            row.push(Ink::Dim, format!("{seq}{} ", first.ts.clock()));
        }
        row.push(Ink::Dim, format!("{:>8} ", since(self.started, first.ts)));
        if self.is_zoomed {
            let gap = before.map(|before| first.ts.0.saturating_sub(before.0));
            let gap = gap.filter(|gap| *gap > 0).map(|gap| duration(gap as f64));
            row.push(Ink::Dim, format!("{:>8} ", gap.unwrap_or_default()));
        }
        let (sign, ink) = sign(line, first);
        row.push(ink, format!("{sign} "));
        if self.is_zoomed {
            let node = first.node.map_or("", |node| node.as_str());
            row.push(Ink::Dim, format!("{} ", pad(node, NAME)));
        }
        let (name, summary) = match line {
            AuditLine::Group { rows, .. } => {
                let name = format!("{} {}", rows.len(), first.name);
                (name, group_summary(rows))
            }
            AuditLine::Event { .. } => (first.name.to_owned(), first.summary.clone()),
        };
        row.push(ink, pad(&name, NAME));
        let plain = if ink == Ink::Text { Ink::Dim } else { ink };
        row.push(plain, format!(" {summary}"));
        let bars = self.bars.filter(|_| line.rows().len() == 1);
        match bars.and_then(|width| bar(self.model, first, width)) {
            Some(bar) => row.and_right(bar.add(Ink::Text, " "), self.width),
            None => row.fit(self.width),
        }
    }

    /// Bars are as wide as the longest row of a node that is seen lets them, all alike: they are
    /// compared.
    fn with_bars(mut self, lines: &[AuditLine<'_>]) -> Self {
        let of_nodes = lines.iter().filter(|line| {
            let first = line.first().map(AuditRow::body);
            matches!(first, Some(EventBody::NodeFinished { .. }))
        });
        let longest = of_nodes.map(|line| self.row(*line, None).width()).max();
        let room = longest.map(|longest| self.width.saturating_sub(longest + 3));
        self.bars = room
            .filter(|room| *room >= LEAST)
            .map(|room| room.min(MOST));
        self
    }
}

fn sign(line: AuditLine<'_>, row: &AuditRow) -> (&'static str, Ink) {
    match (line, row.level) {
        (AuditLine::Group { unfolded: true, .. }, _) => ("▾", Ink::Text),
        (AuditLine::Group { .. }, _) => ("▸", Ink::Text),
        (AuditLine::Event { in_group: true, .. }, Level::Plain) => ("│", Ink::Text),
        (_, Level::Plain) => (" ", Ink::Text),
        (_, Level::Decision) => ("◆", Ink::Complex),
        (_, Level::Warning) => ("⚠", Ink::Warning),
        (_, Level::Error) => ("×", Ink::Failed),
    }
}

/// What stands above an event's JSON: its place among the events, and when it was.
pub fn about(model: &Model, row: &AuditRow, at: usize, count: usize) -> String {
    let started = model.shown_run().map_or(row.ts, |run| run.started);
    let (since, clock) = (since(started, row.ts), row.ts.clock());
    let node = row
        .node
        .map_or_else(String::new, |node| format!(" · {node}"));
    format!("{} of {count} · {since} · {clock}{node}", at + 1)
}

/// The least width of a bar that can be read.
const LEAST: usize = 6;
/// The largest width of a bar; a longer one shows no more.
const MOST: usize = 24;

/// The bar of an event that ends a node, or begins the one at work, in so many cells.
pub fn bar(model: &Model, row: &AuditRow, width: usize) -> Option<Row> {
    let run = model.shown_run()?;
    let since_start = row.ts.0.saturating_sub(run.started.0) as f64;
    let whole = run.elapsed(model.now.max(row.ts)).max(since_start);
    let (from, to, ink) = match row.body() {
        EventBody::NodeFinished { ms, .. } => (since_start - ms, since_start, Ink::Done),
        EventBody::NodeEntered { node, .. } if run.node(*node).since == Some(row.ts) => {
            (since_start, whole, Ink::Running)
        }
        _ => return None,
    };
    let cell = |ms: f64| (ms.max(0.0) / whole.max(1.0) * width as f64).min(width as f64);
    let first = (cell(from).floor() as usize).min(width - 1);
    let last = (cell(to).ceil() as usize).clamp(first + 1, width);
    let row = Row::new(Ink::Border, "·".repeat(first)).add(ink, "━".repeat(last - first));
    Some(row.add(Ink::Border, "·".repeat(width - last)))
}
