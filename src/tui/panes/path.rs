//! The way the question goes through the graph: as the graph, or as it ran.

use ratatui::layout::Size;

use crate::domain::{EDGES, Edge, NodeName, Outcome, RouteReason};
use crate::text::duration;
use crate::tui::fold::{NodeState, RunView, TakenEdge, outcome_word};
use crate::tui::ink::{Ink, Row, grouped_plural, pad};
use crate::tui::labels::route_mark;
use crate::tui::model::Model;
use crate::tui::pane_state::{DrawnRows, Pane, PathItem, PathLine, Rank};

use super::node::{compact_row, node_row, sign, why_rows};
use super::wording::{broken_off, reason_ink, route_ink, spinner};

/// What stands beside the title: route, round, time.
pub fn status(model: &Model) -> Row {
    let Some(run) = model.shown_run() else {
        let words = match model.pending {
            Some(_) => "starting",
            None => "the ways a question can go",
        };
        return Row::new(Ink::Dim, words);
    };
    // What matters most comes first, because a narrow title is cut at its end.
    let mut row = Row::default();
    let ended = run.finish.as_ref().map(|finish| finish.outcome);
    match (run.complexity(), ended) {
        (Some(complexity), _) => row.push(route_ink(complexity), complexity.as_str()),
        (None, Some(Outcome::Answered)) => row.push(Ink::Dim, "undecided"),
        (None, Some(_)) => {}
        (None, None) => row.push(Ink::Dim, "deciding"),
    }
    if run.forced.is_some() {
        row.push(Ink::Dim, " (chosen)");
    }
    row = row.join(model.shown_labels().map(route_mark).unwrap_or_default());
    if let Some(outcome) = ended.filter(|outcome| *outcome != Outcome::Answered) {
        let ink = match outcome {
            Outcome::Failed => Ink::Failed,
            _ => Ink::Warning,
        };
        row.push(Ink::Dim, if row.pieces.is_empty() { "" } else { " · " });
        row.push(ink, outcome_word(outcome));
    }
    let round = run.rounds();
    if round > 1 {
        row.push(Ink::Dim, format!(" · {} round", ordinal(round)));
    }
    row.push(Ink::Dim, format!(" · {}", duration(run.elapsed(model.now))));
    row
}

/// Lays out what is seen, and keeps what is selected in sight, or else the node at work.
pub fn settle(model: &mut Model, size: Size) {
    let (width, height) = (usize::from(size.width), usize::from(size.height));
    let is_unrolled = model.path.unrolled;
    let mut list = model.path.list;
    let mut drawn = DrawnRows::default();
    if let Some(run) = model.shown_run().filter(|_| is_unrolled) {
        let rows = unrolled(run, model, width);
        list.settle_view(rows.len(), height);
        drawn.rows = rows.into_iter().skip(list.top).take(height).collect();
    } else {
        let lines = lines(model.shown_run(), model, width, height);
        let current = current(model);
        let is_current = |line: &PathLine| line.is_head && line.item == current;
        list.selected = lines.iter().position(is_current).unwrap_or(0);
        list.settle(lines.len(), height);
        let is_focused = model.focus == Pane::Path;
        drawn.selected = is_focused.then(|| list.selected.saturating_sub(list.top));
        for line in lines.into_iter().skip(list.top).take(height) {
            drawn.items.push(Some(line.item.place()));
            drawn.rows.push(line.row);
        }
    }
    model.path.list = list;
    model.path.drawn = drawn;
}

fn ordinal(n: u32) -> String {
    let suffix = match (n % 10, n % 100) {
        (1, tens) if tens != 11 => "st",
        (2, tens) if tens != 12 => "nd",
        (3, tens) if tens != 13 => "rd",
        _ => "th",
    };
    format!("{n}{suffix}")
}

// The graph, line by line: nodes, the edges between them, and the loops in the gutter.
//
// All of it is made from the topology's data. What does not fit goes by rank, and the loops are
// drawn last, around the lines that are left.

/// What the keys are on: what was selected, else the node at work, else the first.
pub fn current(model: &Model) -> PathItem {
    let active = model.shown_run().and_then(RunView::active);
    let node = active.unwrap_or(NodeName::AnalyzeAndRoute);
    model.path.selected.unwrap_or(PathItem::Node(node))
}

/// The lines for a pane of this size. More than fit only where the nodes alone do not.
pub fn lines(run: Option<&RunView>, model: &Model, width: usize, height: usize) -> Vec<PathLine> {
    let gutter = Gutter::for_width(width);
    let all = all_lines(run, model, width.saturating_sub(gutter.width()));
    let fitting = Rank::FROM_ALL.into_iter().find_map(|most| {
        let kept = all.iter().filter(|line| line.rank <= most);
        (kept.clone().count() <= height).then(|| kept.cloned().collect())
    });
    match fitting {
        None if height < NodeName::ALL.len() => folded(run, model, width, height),
        Some(lines) => gutter.draw_beside(lines, run, model.frame, width),
        None => compact(run, model, width, height),
    }
}

/// All nodes on one line, why the route is what it is, the node that the keys are on, and the meter.
fn folded(run: Option<&RunView>, model: &Model, width: usize, height: usize) -> Vec<PathLine> {
    let current = current(model);
    let node = match current {
        PathItem::Node(node) => node,
        PathItem::Meter => NodeName::Synthesize,
    };
    let strip = strip_row(run, current, model).fit(width);
    let mut lines = vec![PathLine::head(PathItem::Node(node), strip)];
    let reasons = run.map(|run| why_rows(run, NodeName::AnalyzeAndRoute, width));
    if let Some((rank, row)) = reasons.into_iter().flatten().next() {
        lines.push(PathLine::below(node, rank, row));
    }
    let row = compact_row(run, node, model, width);
    lines.push(PathLine::below(node, Rank::Needed, row.fit(width)));
    let row = meter(run, model, width);
    lines.truncate(height.saturating_sub(1).max(1));
    lines.push(PathLine::head(PathItem::Meter, row));
    lines
}

/// The nodes one behind the other, each with the sign of its state.
fn strip_row(run: Option<&RunView>, current: PathItem, model: &Model) -> Row {
    let mut row = Row::default();
    for name in NodeName::ALL {
        if name != NodeName::ALL[0] {
            row.push(Ink::Border, " ▸ ");
        }
        let state = run.map_or(NodeState::Waiting, |run| run.node(name).state);
        let (sign, ink) = sign(state, model.frame);
        row.push(ink, format!("{sign} "));
        let is_chosen = model.focus == Pane::Path && current == PathItem::Node(name);
        let ink = match state {
            _ if is_chosen => Ink::Focus,
            NodeState::Done => Ink::Text,
            _ => ink,
        };
        row.push(ink, name.as_str());
    }
    row
}

/// A line a node, with what it decided.
fn compact(run: Option<&RunView>, model: &Model, width: usize, height: usize) -> Vec<PathLine> {
    let line = |name| {
        let row = compact_row(run, name, model, width);
        PathLine::head(PathItem::Node(name), row.fit(width))
    };
    let mut lines: Vec<PathLine> = NodeName::ALL.map(line).into();
    if height > lines.len() || run.is_none_or(|run| run.finish.is_some()) {
        lines.push(PathLine::head(PathItem::Meter, meter(run, model, width)));
    }
    lines
}

fn all_lines(run: Option<&RunView>, model: &Model, width: usize) -> Vec<PathLine> {
    let mut lines = Vec::new();
    for (at, &name) in NodeName::ALL.iter().enumerate() {
        let next = NodeName::ALL.get(at + 1).copied();
        let row = node_row(run, name, model, width);
        lines.push(PathLine::head(PathItem::Node(name), row));
        let spine = spine(run, name, next);
        if let Some(run) = run {
            let reasons = why_rows(run, name, width.saturating_sub(2));
            lines.extend(reasons.into_iter().map(|(rank, row)| {
                let row = Row::new(spine.0, format!("{} ", spine.1)).join(row);
                PathLine::below(name, rank, row)
            }));
        }
        let leaves = |edge: &&Edge| edge.from == name && edge.to.is_some();
        let mut edges: Vec<&'static Edge> = EDGES.iter().filter(leaves).collect();
        // Short cuts, then loops from the inside out, then the way to the node below.
        edges.sort_by_key(|edge| {
            let to = edge.to.map_or(0, |to| to as usize);
            (edge.to == next, is_loop(edge), usize::MAX - to)
        });
        for edge in edges {
            lines.push(edge_line(edge, next, run, spine.0));
        }
    }
    lines.push(PathLine::head(PathItem::Meter, meter(run, model, width)));
    lines
}

/// The ink and the sign of the line between a node and the one below.
fn spine(run: Option<&RunView>, name: NodeName, next: Option<NodeName>) -> (Ink, &'static str) {
    let passed = run.is_some_and(|run| {
        next.is_some_and(|next| !run.edges_taken(name, next).is_empty())
            || run.node(name).state == NodeState::Running
    });
    if passed {
        (Ink::Done, "│")
    } else {
        (Ink::Border, "┊")
    }
}

fn edge_line(
    edge: &'static Edge,
    next: Option<NodeName>,
    run: Option<&RunView>,
    spine: Ink,
) -> PathLine {
    let taken = match (run, edge.to) {
        (Some(run), Some(to)) => run.edges_taken(edge.from, to),
        _ => Vec::new(),
    };
    let words = words(edge, &taken, run);
    let is_taken = !taken.is_empty();
    let target = edge.to.map_or("end", NodeName::as_str);
    let waiting = |before: &str| {
        let row = Row::new(Ink::Border, before).join(words.clone());
        row.add(Ink::Border, " ┄▷ ").add(Ink::Waiting, target)
    };
    let (rank, row) = match (edge.to == next, is_loop(edge), is_taken) {
        (true, _, true) if words.pieces.is_empty() => (Rank::Connector, Row::new(Ink::Done, "▼ ")),
        (true, _, true) => (Rank::Needed, Row::new(Ink::Done, "▼ ").join(words)),
        (true, _, false) => {
            let words = if run.is_none() { words } else { Row::default() };
            (Rank::Connector, Row::new(spine, "┊ ").join(words))
        }
        (_, true, true) => (Rank::Needed, Row::new(Ink::Weak, "┤ ").join(words)),
        (_, true, false) => (Rank::Loop, waiting("┤ ")),
        (_, false, true) => {
            let row = Row::new(Ink::Done, "├─ ").join(words);
            let row = row.add(Ink::Done, " ─▶ ").add(Ink::Text, target);
            (Rank::Needed, row)
        }
        (_, false, false) => (Rank::ShortCut, waiting("├┄ ")),
    };
    let mut line = PathLine::below(edge.from, rank, row);
    line.edge = Some(edge);
    line
}

/// Why the edge was taken, with its arithmetic; else what would have to be decided.
fn words(edge: &Edge, taken: &[&TakenEdge], run: Option<&RunView>) -> Row {
    let mut row = Row::default();
    if taken.is_empty() {
        for (at, reason) in edge.when.iter().enumerate() {
            row.push(Ink::Waiting, if at > 0 { " / " } else { "" });
            // The map of an empty screen shows the routes in their colours; a run dims what it left.
            let ink = match run {
                None => map_ink(*reason),
                Some(_) => Ink::Waiting,
            };
            row.push(ink, reason.as_str());
        }
        return row;
    }
    for (at, edge) in taken.iter().enumerate() {
        row.push(Ink::Dim, if at > 0 { ", " } else { "" });
        let forced = run.and_then(|run| run.complexity());
        match (edge.reason, forced) {
            (Some(RouteReason::Forced), Some(complexity)) => {
                row.push(route_ink(complexity), complexity.as_str());
                row.push(Ink::Dim, ", forced");
            }
            (reason, _) => row.push(reason_ink(reason), edge.why.clone()),
        }
        if edge.count > 1 && edge.reason.is_some() {
            row.push(Ink::Running, format!(" ↺ {}", edge.count));
        }
    }
    if edge.from == NodeName::AnalyzeAndRoute
        && let Some(plan) = run.and_then(|run| run.plan.as_ref())
        && plan.sub_questions.len() > 1
    {
        row.push(Ink::Dim, format!(" · {} parts", plan.sub_questions.len()));
    }
    row
}

fn map_ink(reason: RouteReason) -> Ink {
    match reason_ink(Some(reason)) {
        route @ (Ink::Chitchat | Ink::Simple | Ink::Complex) => route,
        _ => Ink::Dim,
    }
}

/// Whether an edge leads back.
pub fn is_loop(edge: &Edge) -> bool {
    edge.to
        .is_some_and(|to| (to as usize) <= edge.from as usize)
}

/// The columns left of the nodes, one for each loop, the widest loop outermost.
pub struct Gutter {
    lanes: Vec<&'static Edge>,
    step: usize,
    lead: usize,
}

/// The least width at which the loops stand apart.
const ROOMY: usize = 56;

impl Gutter {
    /// For a pane of this width.
    pub fn for_width(width: usize) -> Self {
        let mut lanes: Vec<&'static Edge> = EDGES.iter().filter(|edge| is_loop(edge)).collect();
        lanes.sort_by_key(|edge| edge.to.map_or(0, |to| to as usize));
        let roomy = width >= ROOMY;
        Self {
            lanes,
            step: if roomy { 2 } else { 1 },
            lead: usize::from(roomy),
        }
    }

    /// Width in cells; the last cell holds the arrow.
    pub fn width(&self) -> usize {
        self.lead + self.lanes.len() * self.step + usize::from(self.step == 1)
    }

    /// The lines with the loops at their left.
    pub fn draw_beside(
        &self,
        mut lines: Vec<PathLine>,
        run: Option<&RunView>,
        frame: usize,
        width: usize,
    ) -> Vec<PathLine> {
        let mut cells = vec![vec![(Ink::Border, " "); self.width()]; lines.len()];
        for (at, edge) in self.lanes.iter().enumerate() {
            self.draw(at, edge, &lines, run, frame, &mut cells);
        }
        for (line, cells) in lines.iter_mut().zip(cells) {
            let mut row = Row::default();
            for (ink, sign) in cells {
                row.push(ink, sign);
            }
            line.row = row.join(std::mem::take(&mut line.row)).fit(width);
        }
        lines
    }

    fn draw(
        &self,
        lane: usize,
        edge: &'static Edge,
        lines: &[PathLine],
        run: Option<&RunView>,
        frame: usize,
        cells: &mut [Vec<(Ink, &'static str)>],
    ) {
        let enters =
            |line: &PathLine| line.is_head && edge.to.map(PathItem::Node) == Some(line.item);
        let Some(top) = lines.iter().position(enters) else {
            return;
        };
        let leaves = |line: &PathLine| line.edge == Some(edge);
        let Some(bottom) = lines.iter().position(leaves) else {
            return;
        };
        let taken = run.is_some_and(|run| {
            edge.to
                .is_some_and(|to| !run.edges_taken(edge.from, to).is_empty())
        });
        let (ink, down, across, arrow) = if taken {
            (Ink::Weak, "│", "─", "▶")
        } else {
            (Ink::Border, "┊", "┄", "▷")
        };
        let column = self.lead + lane * self.step;
        for (y, row) in cells.iter_mut().enumerate().take(bottom + 1).skip(top) {
            row[column] = match y {
                _ if y == top => (ink, "╭"),
                _ if y == bottom => (ink, "╰"),
                _ => (ink, down),
            };
            if y == top || y == bottom {
                for cell in &mut row[column + 1..] {
                    *cell = (ink, across);
                }
            }
            if y == top
                && let Some(last) = row.last_mut()
            {
                *last = (ink, arrow);
            }
        }
        if run.is_some_and(|run| is_under_way(run, edge)) {
            let step = frame % (bottom - top + 1);
            cells[bottom - step][column] = (Ink::Running, "•");
        }
    }
}

/// Whether the node at work was entered along this edge.
fn is_under_way(run: &RunView, edge: &Edge) -> bool {
    let [.., before, last] = &run.visits[..] else {
        return false;
    };
    let is_at_work = run.active() == Some(last.node) && edge.to == Some(last.node);
    let reason = before.left.as_ref().map(|(reason, _)| reason);
    let is_taken = reason.is_some_and(|reason| edge.when.contains(reason));
    is_at_work && before.node == edge.from && is_taken
}

// The path as it ran, loops unrolled, and what it cost.

/// Calls made of those the full pipeline would have made.
pub fn meter(run: Option<&RunView>, model: &Model, width: usize) -> Row {
    let Some(run) = run else {
        let limits = &model.limits;
        let most = grouped_plural(limits.max_iterations as usize, "grading");
        let (items, vector) = (limits.auto_approve_max_items, limits.vector_score_threshold);
        let words = format!("at most {most}; none for ≤ {items} items or vector ≥ {vector:.2}");
        return Row::new(Ink::Dim, words).fit(width);
    };
    let made = run.calls() as usize;
    let Some(finish) = &run.finish else {
        return Row::new(Ink::Text, run.mode.calls(run.calls())).add(Ink::Dim, " so far");
    };
    let whole = made + finish.saved as usize;
    if run.visits.is_empty() {
        let line = format!("{} before the first node", outcome_word(finish.outcome));
        return Row::new(Ink::Dim, line).fit(width);
    }
    if whole == 0 {
        return Row::new(Ink::Dim, format!("no {} was made", run.mode.call())).fit(width);
    }
    if finish.broke_off() {
        // Nothing was saved by not arriving.
        return Row::new(Ink::Text, run.mode.calls(run.calls()))
            .add(Ink::Dim, format!(" · {}", outcome_word(finish.outcome)))
            .fit(width);
    }
    let mut row = Row::default();
    if whole <= 16 {
        row.push(Ink::Text, "▰".repeat(made));
        row.push(Ink::Strong, "▱".repeat(finish.saved as usize));
        row.push(Ink::Text, " ");
    }
    let calls = run.mode.calls(whole as u32);
    row.push(Ink::Text, format!("{made} of {calls}"));
    row.push(Ink::Dim, " · ");
    let is_saved = finish.saved > 0;
    let ink = if is_saved { Ink::Strong } else { Ink::Dim };
    row.add(ink, format!("saved {}", finish.saved)).fit(width)
}

/// The path as it ran, one visit a row.
pub fn unrolled(run: &RunView, model: &Model, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, visit) in run.visits.iter().enumerate() {
        let last = at + 1 == run.visits.len();
        let state = run.node(visit.node).state;
        let (sign, ink) = match state {
            NodeState::Running if last => (spinner(model.frame), Ink::Running),
            NodeState::Failed if last => ("×", Ink::Failed),
            NodeState::Stopped if last => ("◼", Ink::Warning),
            _ => ("●", Ink::Done),
        };
        let mut row = Row::new(Ink::Dim, format!("{:>3} ", at + 1))
            .add(ink, format!("{sign} "))
            .add(Ink::Text, pad(visit.node.as_str(), 18));
        match visit.ms {
            Some(ms) if ink == Ink::Failed || ink == Ink::Warning => {
                row.push(ink, format!(" {}", broken_off(state, ms)));
            }
            Some(ms) => row.push(Ink::Text, format!("{:>8}", duration(ms))),
            None => {}
        }
        if visit.calls > 0 {
            row.push(Ink::Dim, format!("  {}", run.mode.calls(visit.calls)));
        }
        rows.push(row.fit(width));
        if let Some((reason, why)) = &visit.left {
            let row = Row::new(Ink::Done, "    │ ").add(reason_ink(Some(*reason)), why.clone());
            rows.push(row.fit(width));
        }
    }
    let meter = meter(Some(run), model, width.saturating_sub(1));
    rows.push(Row::new(Ink::Dim, " ").join(meter));
    rows
}
