//! What stands above a document: which passage, how it was judged, which part is seen.

use crate::tui::fold::{EvidenceFold, EvidenceRow};
use crate::tui::ink::{Ink, Row, cut_path};
use crate::tui::model::Model;
use crate::tui::source_view::SourceView;

use super::evidence::score_row;
use super::score::ScoreDetail;
use super::wording::short_tool;

/// The title, and what is to be said of the document.
pub fn head(model: &Model, view: &SourceView, width: usize) -> Vec<Row> {
    let mut rows = vec![title(model, view, width)];
    let remarks = view.remarks().into_iter();
    rows.extend(remarks.map(|remark| Row::new(Ink::Warning, format!(" ⚠ {remark}")).fit(width)));
    rows
}

fn title(model: &Model, view: &SourceView, width: usize) -> Row {
    let turn = model.turns.opened(&view.run);
    let Some((run, item)) =
        turn.and_then(|turn| Some((&turn.run, turn.run.evidence.get(&view.item)?)))
    else {
        return Row::new(Ink::Focus, " Source");
    };
    let mut right = Row::default();
    match view.range() {
        Some((first, last, total)) if width >= ROOMY => {
            right.push(Ink::Dim, format!("lines {first}–{last} of {total} · "));
        }
        Some((first, last, _)) => right.push(Ink::Dim, format!("{first}–{last} · ")),
        None => {}
    }
    if let Some((at, count)) = place_among(&run.evidence, item) {
        right.push(Ink::Dim, format!("{at} of {count} "));
    }
    let head = Row::new(Ink::Focus, " ▸ Source ");
    let room = width.saturating_sub(right.width() + head.width() + 1);
    let mut left = head.add(Ink::Text, cut_path(&item.place(), room));
    let number = run.evidence.number(item);
    let number = number.map(|number| Row::new(Ink::Citation, format!("  [{number}]")));
    let judged = Row::new(Ink::Dim, format!("  {} ", short_tool(item.tool))).join(score_row(
        run,
        item,
        ScoreDetail::Words,
    ));
    // What has no room whole says nothing.
    for more in number.into_iter().chain([judged]) {
        if left.width() + more.width() + right.width() < width {
            left = left.join(more);
        }
    }
    left.and_right(right, width)
}

/// The least width at which the title tells the number of lines.
const ROOMY: usize = 80;

/// The item's place in the pane, from 1, and how many stand there.
fn place_among(evidence: &EvidenceFold, item: &EvidenceRow) -> Option<(usize, usize)> {
    let at = evidence.rows().position(|row| row.id == item.id)?;
    Some((at + 1, evidence.len()))
}
