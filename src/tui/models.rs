//! Which model does which job: the list of models, and what is chosen.
//!
//! Offline there may be servers on this machine that no setting names; the engine looks for them whenever the
//! list is opened.

use crate::protocol::{
    Command, JobModels, JobName, Mode, ModelCommand, ModelListing, ModelRequest, ModelUpdate,
    ModelWish,
};
use crate::text::one_line;

use super::ask;
use super::model::{Effect, Model, Overlay};
use super::window::{ModelList, Window, jobs};

/// What is looked into for the first row, which goes back to the settings.
const AS_SET: &str = "default: as the settings say";

/// Opens the list, or chooses what is named behind the command.
pub fn typed(model: &mut Model, argument: &str) -> Option<Effect> {
    match ModelRequest::parse(argument) {
        ModelRequest::List(job) => Some(open(model, job)),
        ModelRequest::Choose(wish) => choose(model, wish),
    }
}

/// Opens the list, to choose for this job or for all.
pub fn open(model: &mut Model, job: Option<JobName>) -> Effect {
    model.open(Overlay::Models(ModelList { listing: None, job }));
    Effect::Send(Command::Model(ModelCommand::List))
}

fn choose(model: &mut Model, wish: ModelWish) -> Option<Effect> {
    if model.choosing.is_some() {
        model.inform("The last choice is still being checked.");
        return None;
    }
    model.choosing = Some(wish.clone());
    model.inform("Asking the server for that model …");
    Some(Effect::Send(Command::Model(ModelCommand::Choose(wish))))
}

/// What the engine sends of models.
pub fn arrived(model: &mut Model, update: ModelUpdate) -> Option<Effect> {
    match update {
        ModelUpdate::Listed(listing) => {
            listed(model, listing);
            return None;
        }
        ModelUpdate::Engine { mode, endpoint } => {
            (model.mode, model.endpoint) = (mode, endpoint);
            return None;
        }
        ModelUpdate::Chosen(models) => {
            let words = format!("From the next question on: {}.", models.in_words());
            model.models = models;
            model.inform(&words);
        }
        ModelUpdate::NotChosen(why) => model.warn(&why),
    }
    model.choosing = None;
    ask::next_queued(model)
}

/// Takes the list, where it was not closed before it came, and selects the model that does the job.
fn listed(model: &mut Model, listing: Result<ModelListing, String>) {
    if let Ok(listing) = &listing {
        model.models.clone_from(&listing.in_use);
    }
    let is_offline = model.mode == Mode::Offline;
    let is_open = |window: &Option<Window>| {
        let shown = window.as_ref().map(|window| &window.shown);
        matches!(shown, Some(Overlay::Models(_)))
    };
    // Where there is no server at all, one line says more than a window.
    if let (Err(why), true, true) = (&listing, is_offline, is_open(&model.overlay)) {
        model.overlay = None;
        model.inform(why);
        return;
    }
    let windows = [&mut model.overlay, &mut model.beneath];
    for window in windows.into_iter().flatten() {
        if let Overlay::Models(list) = &mut window.shown {
            list.listing = Some(listing.map_err(|why| one_line(&why, 400)));
            let names = list.names().map(|name| one_line(name, 120));
            let texts = [AS_SET.to_owned()].into_iter().chain(names).collect();
            window.set_texts(texts);
            select_used(window, &model.models, is_offline);
            return;
        }
    }
}

/// The engine did not take a command, or is gone.
pub fn refused(model: &mut Model, why: &str) -> Option<Effect> {
    listed(model, Err(why.to_owned()));
    arrived(model, ModelUpdate::NotChosen(why.to_owned()))
}

/// Takes the selected row, for the next start too where it is to be kept, and closes the list; nothing
/// where none is left or the models are not known.
pub fn choose_selected(model: &mut Model, is_kept: bool) -> Option<Effect> {
    let window = model.overlay.as_ref()?;
    let Overlay::Models(list) = &window.shown else {
        return None;
    };
    let (Some(place), Some(Ok(listing))) = (window.selected(), &list.listing) else {
        return None;
    };
    let offer = place.checked_sub(1).and_then(|at| listing.models.get(at));
    if is_kept && offer.is_none() {
        model.inform("The settings say this already; choose a model.");
        return None;
    }
    let wish = ModelWish {
        job: list.job,
        model: offer.map(|offer| offer.name.clone()),
        server: offer.and_then(|offer| offer.server.clone()),
        is_kept,
    };
    model.overlay = None;
    choose(model, wish)
}

/// The next job, or the one before; all of them come first.
pub fn step_job(model: &mut Model, by: isize) {
    let Some(window) = &mut model.overlay else {
        return;
    };
    if let Overlay::Models(list) = &mut window.shown {
        let all: Vec<_> = jobs().collect();
        let at = all.iter().position(|job| *job == list.job).unwrap_or(0);
        let at = (at.cast_signed() + by).rem_euclid(all.len().cast_signed());
        list.job = all[at.cast_unsigned()];
        if window.typed.is_empty() {
            select_used(window, &model.models, model.mode == Mode::Offline);
        }
    }
}

/// Selects the model that does the job; offline the first.
fn select_used(window: &mut Window, in_use: &JobModels, is_offline: bool) {
    if let Overlay::Models(list) = &window.shown {
        let used = in_use.model(list.job.unwrap_or(JobName::Answer));
        let place = list.names().position(|name| name == used);
        let place = place.or(is_offline.then_some(0));
        window.select(place.map_or(0, |place| place + 1));
    }
}
