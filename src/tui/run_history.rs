//! The window over the statistics of all recorded runs: opened, filled, closed.

use crate::protocol::{Command, RunHistory};
use crate::text::one_line;

use super::message::Effect;
use super::model::{Model, Overlay};

/// Opens the window, and asks for what it shows.
pub fn open(model: &mut Model) -> Vec<Effect> {
    model.open(Overlay::Statistics(None));
    vec![Effect::Send(Command::ReadStatistics)]
}

/// Takes what was read, where it is still waited for.
pub fn arrived(model: &mut Model, read: Result<Box<RunHistory>, String>) {
    let windows = [&mut model.overlay, &mut model.beneath];
    let mut shown = windows
        .into_iter()
        .flatten()
        .map(|window| &mut window.shown);
    if let Some(Overlay::Statistics(known)) =
        shown.find(|shown| matches!(shown, Overlay::Statistics(_)))
    {
        *known = Some(read.map_err(|why| one_line(&why, 400)));
    }
}

/// The engine did not take the request.
pub fn refused(model: &mut Model) {
    if is_awaited(model) {
        model.overlay = model.beneath.take();
    }
    model.warn("The engine is busy and did not read the log; try again.");
}

/// The engine is gone, and with it what is awaited.
pub fn abandon(model: &mut Model) {
    if is_awaited(model) {
        arrived(model, Err("the engine stopped".to_owned()));
    }
}

/// Whether the window is open, itself or under help.
pub fn is_open(model: &Model) -> bool {
    awaited_or_read(model).is_some()
}

/// Whether the window is open and still empty.
pub fn is_awaited(model: &Model) -> bool {
    awaited_or_read(model).is_some_and(Option::is_none)
}

fn awaited_or_read(model: &Model) -> Option<&Option<Result<Box<RunHistory>, String>>> {
    let windows = [&model.overlay, &model.beneath];
    let mut windows = windows.into_iter().flatten();
    windows.find_map(|window| match &window.shown {
        Overlay::Statistics(read) => Some(read),
        _ => None,
    })
}
