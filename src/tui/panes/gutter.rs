//! Loops of the graph, drawn as lines that return at its left.

use crate::domain::{EDGES, Edge};
use crate::tui::fold::RunView;
use crate::tui::ink::{Ink, Row};
use crate::tui::path_line::{PathItem, PathLine};

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
