//! Which model does which job: the list of models, and what is chosen.

use crossterm::event::KeyEvent;

use crate::protocol::{
    Command, JobName, Mode, ModelCommand, ModelRequest, ModelUpdate, ModelWish, NoticeLevel,
    OFFLINE_HAS_NO_MODELS,
};

use super::ask;
use super::keymap::Action;
use super::message::Effect;
use super::model::{Model, Overlay};
use super::model_list::{ModelList, ModelRow};

/// Opens the list, or chooses what is named behind the command.
pub fn typed(model: &mut Model, argument: &str) -> Vec<Effect> {
    match ModelRequest::parse(argument) {
        ModelRequest::List(job) => open(model, job),
        ModelRequest::Choose(wish) => choose(model, wish),
    }
}

/// Opens the list, to choose for this job or for all.
pub fn open(model: &mut Model, job: Option<JobName>) -> Vec<Effect> {
    if is_offline(model) {
        return Vec::new();
    }
    model.overlay = Some(Overlay::Models(Box::new(ModelList::for_job(job))));
    vec![Effect::Send(Command::Model(ModelCommand::List))]
}

fn choose(model: &mut Model, wish: ModelWish) -> Vec<Effect> {
    if is_offline(model) {
        return Vec::new();
    }
    if model.choosing.is_some() {
        model.notify(NoticeLevel::Info, "The last choice is still being checked.");
        return Vec::new();
    }
    model.choosing = Some(wish.clone());
    model.notify(NoticeLevel::Info, "Asking the server for that model …");
    vec![Effect::Send(Command::Model(ModelCommand::Choose(wish)))]
}

/// Whether there is nothing to choose, which is said then.
fn is_offline(model: &mut Model) -> bool {
    let is_offline = model.mode == Mode::Offline;
    if is_offline {
        model.notify(NoticeLevel::Info, OFFLINE_HAS_NO_MODELS);
    }
    is_offline
}

/// What the engine sends of models.
pub fn arrived(model: &mut Model, update: ModelUpdate) -> Vec<Effect> {
    match update {
        ModelUpdate::Listed(listing) => {
            if let Ok(listing) = &listing {
                model.models.clone_from(&listing.in_use);
            }
            // Else the list was closed before it came.
            if let Some(list) = list_mut(&mut model.overlay).or(list_mut(&mut model.beneath)) {
                list.take(listing, &model.models);
            }
            return Vec::new();
        }
        ModelUpdate::Chosen(models) => {
            let words = format!("From the next question on: {}.", models.in_words());
            model.models = models;
            model.notify(NoticeLevel::Info, &words);
        }
        ModelUpdate::NotChosen(why) => model.notify(NoticeLevel::Warning, &why),
    }
    model.choosing = None;
    ask::next_queued(model)
}

/// The engine did not take a command, or is gone.
pub fn refused(model: &mut Model, why: &str) -> Vec<Effect> {
    arrived(model, ModelUpdate::Listed(Err(why.to_owned())));
    arrived(model, ModelUpdate::NotChosen(why.to_owned()))
}

/// A key while the list is open; `None` for one that means the same everywhere.
pub fn key(model: &mut Model, event: KeyEvent, action: Option<Action>) -> Option<Vec<Effect>> {
    let list = list_mut(&mut model.overlay)?;
    let Some(action) = action else {
        let is_changed = list.narrowed.key(event);
        if is_changed {
            list.narrow();
        }
        return is_changed.then(Vec::new);
    };
    let rows = &mut list.narrowed.list;
    match action {
        Action::Up => rows.step(-1),
        Action::Down => rows.step(1),
        Action::PageUp => rows.page(-1),
        Action::PageDown => rows.page(1),
        Action::First => rows.first(),
        Action::Last => rows.last(usize::MAX),
        Action::NextJob => list.step_job(1, &model.models),
        Action::PreviousJob => list.step_job(-1, &model.models),
        Action::Cancel if !list.narrowed.typed().is_empty() => {
            list.narrowed.set("");
            list.narrow();
        }
        Action::Cancel => model.overlay = None,
        Action::Open => {
            if let Some(selected) = list.selected() {
                let wish = ModelWish {
                    job: list.job,
                    model: match selected {
                        ModelRow::AsSet => None,
                        ModelRow::Offer(offer) => Some(offer.name.clone()),
                    },
                };
                model.overlay = None;
                return Some(choose(model, wish));
            }
        }
        _ => return None,
    }
    Some(Vec::new())
}

/// Pasted text, where it is typed into; says whether it was.
pub fn paste(model: &mut Model, text: &str) -> bool {
    let Some(list) = list_mut(&mut model.overlay) else {
        return false;
    };
    list.narrowed.paste(text);
    list.narrow();
    true
}

fn list_mut(overlay: &mut Option<Overlay>) -> Option<&mut ModelList> {
    match overlay {
        Some(Overlay::Models(list)) => Some(list),
        _ => None,
    }
}
