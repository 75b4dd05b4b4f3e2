//! Where the next key is looked up: what lies uppermost, which pane has the keys, what is chosen there.

use super::keymap::KeyContext;
use super::menu;
use super::model::Model;
use super::pane_state::{AnswerFocus, Pane};

impl Model {
    /// Where the next key is looked up.
    pub fn places(&self) -> Vec<KeyContext> {
        if let Some(shown) = self.shown_overlay() {
            return shown.places().to_vec();
        }
        if self.reading.is_some() {
            return vec![KeyContext::Source, KeyContext::Overlay];
        }
        // Nothing is typed while a run is replayed.
        let is_replay = self.replay.is_some();
        let mut places = Vec::new();
        places.extend(is_replay.then_some(KeyContext::Replay));
        match self.focus {
            Pane::Chat if self.find.is_some() && !is_replay => return vec![KeyContext::Find],
            Pane::Chat => {
                if is_replay || self.prompt.is_empty() {
                    self.add_places_of_answer(&mut places);
                } else if menu::is_open(self) {
                    places.push(KeyContext::Menu);
                }
                places.extend((!is_replay).then_some(KeyContext::Prompt));
            }
            Pane::Path => places.extend([KeyContext::Path, KeyContext::List]),
            Pane::Evidence => places.extend([KeyContext::Evidence, KeyContext::List]),
            Pane::Audit => places.extend([KeyContext::Audit, KeyContext::List]),
        }
        places.push(KeyContext::Global);
        places
    }

    /// What keys mean while nothing is typed.
    fn add_places_of_answer(&self, places: &mut Vec<KeyContext>) {
        let run = self.shown_run();
        let cites = run.is_some_and(|run| !run.citations.is_empty());
        let is_on_citation = cites && self.chat.citation.is_some();
        let is_chosen = self.chat.chosen == AnswerFocus::Yes && self.replay.is_none();
        places.extend(self.is_acting().then_some(KeyContext::Acting));
        places.extend(is_on_citation.then_some(KeyContext::Citation));
        places.extend((is_chosen && !is_on_citation).then_some(KeyContext::Chosen));
        places.extend(cites.then_some(KeyContext::Answer));
    }

    /// Whether letters act on the answer that is chosen.
    pub fn is_acting(&self) -> bool {
        self.focus == Pane::Chat
            && self.chat.chosen == AnswerFocus::ActedOn
            && self.replay.is_none()
    }
}
