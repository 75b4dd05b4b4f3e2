//! Earlier questions, looked for by their words, to be asked again or changed.

use crossterm::event::KeyEvent;

use super::keymap::Action;
use super::linked_rows;
use super::model::{Model, Overlay};
use super::pane::Pane;
use super::question_search::QuestionSearch;

/// Opens the search, beginning with what is typed.
pub fn open(model: &mut Model) {
    let typed = model.prompt.text();
    let is_looked_for = model.prompt.slash().is_none() && !typed.contains('\n');
    let typed = if is_looked_for { typed.as_str() } else { "" };
    let recalled = QuestionSearch::new(model.prompt.earlier(), typed);
    model.overlay = Some(Overlay::Recall(Box::new(recalled)));
}

/// A key while the search is open; says whether it had a use there.
pub fn key(model: &mut Model, event: KeyEvent, action: Option<Action>) -> bool {
    let Some(Overlay::Recall(recalled)) = &mut model.overlay else {
        return false;
    };
    let rows = &mut recalled.narrowed.list;
    match action {
        Some(Action::Up) => rows.step(-1),
        Some(Action::Down) => rows.step(1),
        Some(Action::PageUp) => rows.page(-1),
        Some(Action::PageDown) => rows.page(1),
        Some(Action::First) => rows.first(),
        Some(Action::Last) => rows.last(usize::MAX),
        // What was typed in the prompt stays as it was.
        Some(Action::Cancel) => model.overlay = None,
        Some(Action::Open) => {
            let question = recalled.selected().map(str::to_owned);
            model.overlay = None;
            if let Some(question) = question {
                model.prompt.set(&question);
                model.focus = Pane::Chat;
                linked_rows::end(model);
            }
        }
        None if recalled.narrowed.key(event) => recalled.narrow(),
        _ => return false,
    }
    true
}

/// Pasted text, where it is looked for; says whether it was.
pub fn paste(model: &mut Model, text: &str) -> bool {
    let Some(Overlay::Recall(recalled)) = &mut model.overlay else {
        return false;
    };
    recalled.narrowed.paste(text);
    recalled.narrow();
    true
}
