//! What keys do alike in the panes, in windows and where a document is read.

use crate::protocol::NoticeLevel;

use super::keymap::Action;
use super::message::Effect;
use super::model::Model;

/// Clears the question; the second time in a row it leaves.
pub fn quit(model: &mut Model) -> Vec<Effect> {
    if std::mem::replace(&mut model.leaving, true) {
        return vec![Effect::Quit];
    }
    let key = model.keymap.name_of(Action::Quit).unwrap_or_default();
    if model.prompt.is_empty() {
        model.notify(NoticeLevel::Info, &format!("{key} again leaves."));
    } else {
        let typed = model.prompt.text();
        model.prompt.remember(&typed);
        model.prompt.set("");
        model.notify(
            NoticeLevel::Info,
            &format!("Question cleared; ↑ brings it back. {key} again leaves."),
        );
    }
    Vec::new()
}

/// Has the terminal report the mouse, or leaves it to select text by itself.
pub fn report(model: &mut Model, wanted: bool) -> Vec<Effect> {
    model.mouse = wanted;
    let key = model.keymap.name_of(Action::Mouse).unwrap_or_default();
    let words = if wanted {
        "The mouse works here again.".to_owned()
    } else {
        format!("The mouse is the terminal's: select text with it. {key} takes it back.")
    };
    model.notify(NoticeLevel::Info, &words);
    vec![Effect::ReportMouse(wanted)]
}
