//! The graph, line by line: nodes, the edges between them, and the loops in the gutter.
//!
//! All of it is made from the topology's data. What does not fit goes by rank, and the loops are
//! drawn last, around the lines that are left.

use crate::domain::{EDGES, Edge, NodeName, RouteReason};
use crate::tui::fold::{NodeState, RunView, TakenEdge};
use crate::tui::ink::{Ink, Row};
use crate::tui::model::Model;
use crate::tui::pane_state::{Pane, PathItem, PathLine, Rank};

use super::node::{compact_row, node_row, sign, why_rows};
use super::trace::meter;
use super::wording::{reason_ink, route_ink};

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
    let mut lines = vec![PathLine::head(
        PathItem::Node(node),
        strip_row(run, current, model).fit(width),
    )];
    let reasons = run.map_or_else(Vec::new, |run| {
        why_rows(run, NodeName::AnalyzeAndRoute, width)
    });
    if let Some((rank, row)) = reasons.into_iter().next() {
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
    let mut lines: Vec<PathLine> = NodeName::ALL
        .into_iter()
        .map(|name| {
            let row = compact_row(run, name, model, width);
            PathLine::head(PathItem::Node(name), row.fit(width))
        })
        .collect();
    if height > lines.len() || run.is_none_or(|run| run.finish.is_some()) {
        lines.push(PathLine::head(PathItem::Meter, meter(run, model, width)));
    }
    lines
}

fn all_lines(run: Option<&RunView>, model: &Model, width: usize) -> Vec<PathLine> {
    let mut lines = Vec::new();
    for (at, &name) in NodeName::ALL.iter().enumerate() {
        let next = NodeName::ALL.get(at + 1).copied();
        lines.push(PathLine::head(
            PathItem::Node(name),
            node_row(run, name, model, width),
        ));
        let spine = spine(run, name, next);
        if let Some(run) = run {
            let reasons = why_rows(run, name, width.saturating_sub(2));
            lines.extend(reasons.into_iter().map(|(rank, row)| {
                let row = Row::new(spine.0, format!("{} ", spine.1)).join(row);
                PathLine::below(name, rank, row)
            }));
        }
        let mut edges: Vec<&'static Edge> = EDGES
            .iter()
            .filter(|edge| edge.from == name && edge.to.is_some())
            .collect();
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
    run.active() == Some(last.node)
        && edge.to == Some(last.node)
        && before.node == edge.from
        && before
            .left
            .as_ref()
            .is_some_and(|(reason, _)| edge.when.contains(reason))
}
