//! What depends on the size of the screen, worked out before drawing, so that drawing only reads.

use std::borrow::Cow;

use ratatui::layout::Size;

use super::ink::Row;
use super::layout::Arrangement;
use super::model::{Model, Overlay};
use super::pane::Pane;
use super::panes::{audit, chat, evidence, path};
use super::{menu, overlays, sheet};

/// Settles the panes, the list above the prompt and the window that lies above them.
pub fn settle(model: &mut Model) {
    let places = Arrangement::new(model);
    if let (Some(view), Some(area)) = (&mut model.reading, places.reading) {
        view.settle(area.as_size());
    }
    if let Some(area) = places.pane(Pane::Chat) {
        chat::settle(model, area.as_size());
    }
    menu::settle(model);
    let audit_rows = model.audit_lines().count();
    if let Some(area) = places.pane(Pane::Audit) {
        let height = usize::from(area.height).saturating_sub(audit::reserved(model));
        if !model.audit.left_end {
            model.audit.list.last(audit_rows);
        }
        model.audit.list.settle(audit_rows, height);
    }
    if let Some(area) = places.pane(Pane::Evidence) {
        evidence::settle(model, area.as_size());
    }
    if let Some(area) = places.pane(Pane::Path) {
        path::settle(model, area.as_size());
    }
    settle_window(model, &places);
}

fn settle_window(model: &mut Model, places: &Arrangement) {
    let height = sheet::height(model.overlay.as_ref(), places);
    match &mut model.overlay {
        Some(Overlay::Sessions(list)) => return list.narrowed.settle(height),
        Some(Overlay::Models(models)) => return models.narrowed.settle(height),
        Some(Overlay::Recall(recalled)) => return recalled.narrowed.settle(height),
        _ => {}
    }
    let Some(shown) = &model.overlay else {
        return;
    };
    let room = match shown {
        Overlay::Compare(_) => places.wide_overlay_room(),
        _ => places.overlay_room(),
    };
    let (_, rows) = overlays::rows(model, shown, room.width.into());
    let is_choice = shown.is_choice();
    if let Some(shown) = &mut model.overlay {
        let (count, height) = (rows.len(), room.height.into());
        if is_choice {
            shown.list_mut().settle(count, height);
        } else {
            shown.list_mut().settle_view(count, height);
        }
    }
}

/// Lays out what may be seen next, once a frame is out.
pub fn lay_out_ahead(model: &mut Model) {
    if let Some(area) = Arrangement::new(model).pane(Pane::Chat) {
        chat::lay_out_neighbours(model, area.as_size());
    }
}

/// The rows of a pane, as settled.
pub fn pane_rows(model: &Model, pane: Pane, size: Size) -> Cow<'_, [Row]> {
    match pane {
        Pane::Chat => Cow::Borrowed(&model.chat.visible),
        Pane::Path => Cow::Owned(path::rows(model, size)),
        Pane::Evidence => Cow::Owned(evidence::rows(model, size)),
        Pane::Audit => Cow::Owned(audit::rows(model, size)),
    }
}
