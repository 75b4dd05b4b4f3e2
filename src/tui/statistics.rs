//! The window over the statistics of all recorded runs: opened, filled, closed.

use crate::protocol::{Command, NoticeLevel, RunHistory};
use crate::text::one_line;

use super::list::List;
use super::message::Effect;
use super::model::{Model, Overlay};
use super::overlay::StatisticsWindow;

/// Opens the window, and asks for what it shows.
pub fn open(model: &mut Model) -> Vec<Effect> {
    model.overlay = Some(Overlay::Statistics(StatisticsWindow {
        read: None,
        list: List::default(),
    }));
    vec![Effect::Send(Command::ReadStatistics)]
}

/// Takes what was read, where it is still waited for.
pub fn arrived(model: &mut Model, read: Result<Box<RunHistory>, String>) {
    if let Some(window) = window_mut(model) {
        window.read = Some(read.map_err(|why| one_line(&why, 400)));
    }
}

/// The engine did not take the request.
pub fn refused(model: &mut Model) {
    if is_awaited(model) {
        model.overlay = model.beneath.take();
    }
    model.notify(
        NoticeLevel::Warning,
        "The engine is busy and did not read the log; try again.",
    );
}

/// The engine is gone, and with it what is awaited.
pub fn abandon(model: &mut Model) {
    if is_awaited(model) {
        arrived(model, Err("the engine stopped".to_owned()));
    }
}

/// Whether the window is open, itself or under help.
pub fn is_open(model: &Model) -> bool {
    window(model).is_some()
}

/// Whether the window is open and still empty.
pub fn is_awaited(model: &Model) -> bool {
    window(model).is_some_and(|window| window.read.is_none())
}

fn window(model: &Model) -> Option<&StatisticsWindow> {
    let shown = [&model.overlay, &model.beneath];
    shown.into_iter().flatten().find_map(|shown| match shown {
        Overlay::Statistics(window) => Some(window),
        _ => None,
    })
}

fn window_mut(model: &mut Model) -> Option<&mut StatisticsWindow> {
    let shown = [&mut model.overlay, &mut model.beneath];
    shown.into_iter().flatten().find_map(|shown| match shown {
        Overlay::Statistics(window) => Some(window),
        _ => None,
    })
}
