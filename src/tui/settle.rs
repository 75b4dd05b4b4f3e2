//! What depends on the size of the screen, worked out before drawing, so that drawing only reads.

use super::ink::Row;
use super::layout::Arrangement;
use super::menu;
use super::model::Model;
use super::pane_state::Pane;
use super::panes::{audit, chat, evidence, path};
use super::window_view::WindowView;

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
    if let Some(area) = places.pane(Pane::Audit) {
        audit::settle(model, area.as_size());
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
    let view = model
        .overlay
        .as_ref()
        .map(|window| WindowView::new(model, window, places));
    if let (Some(window), Some(view)) = (&mut model.overlay, view) {
        let height = view.area.height.into();
        if window.shown.is_choice() {
            window.list.settle(view.count, height);
        } else {
            window.list.settle_view(view.count, height);
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
pub fn pane_rows(model: &Model, pane: Pane) -> &[Row] {
    match pane {
        Pane::Chat => &model.chat.visible,
        Pane::Path => &model.path.drawn.rows,
        Pane::Evidence => &model.evidence.drawn.rows,
        Pane::Audit => &model.audit.drawn.rows,
    }
}
