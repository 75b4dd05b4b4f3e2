//! Where the next key is looked up: what lies uppermost, which pane has the keys, what is chosen there.

use super::keymap::KeyContext;
use super::menu;
use super::model::Model;
use super::pane::Pane;
use super::pane_state::AnswerFocus;

impl Model {
    /// Where the next key is looked up.
    pub fn places(&self) -> &'static [KeyContext] {
        if let Some(shown) = self.shown_overlay() {
            return shown.places();
        }
        if self.reading.is_some() {
            return &[KeyContext::Source, KeyContext::Overlay];
        }
        if self.replay.is_some() {
            return self.places_of_replay();
        }
        match self.focus {
            Pane::Chat if self.find.is_some() => &[KeyContext::Find],
            Pane::Chat if !self.prompt.is_empty() => {
                if menu::is_open(self) {
                    &[KeyContext::Menu, KeyContext::Prompt, KeyContext::Global]
                } else {
                    &[KeyContext::Prompt, KeyContext::Global]
                }
            }
            Pane::Chat => self.places_of_empty_prompt(),
            Pane::Path => &[KeyContext::Path, KeyContext::List, KeyContext::Global],
            Pane::Evidence => &[KeyContext::Evidence, KeyContext::List, KeyContext::Global],
            Pane::Audit => &[KeyContext::Audit, KeyContext::List, KeyContext::Global],
        }
    }

    /// The contexts of [`Model::places`] while the prompt is empty.
    fn places_of_empty_prompt(&self) -> &'static [KeyContext] {
        let is_on_citation = self.chat.citation.is_some();
        match (self.chat.chosen, self.cites(), is_on_citation) {
            (AnswerFocus::ActedOn, true, true) => &[
                KeyContext::Acting,
                KeyContext::Citation,
                KeyContext::Answer,
                KeyContext::Prompt,
                KeyContext::Global,
            ],
            (AnswerFocus::ActedOn, true, false) => &[
                KeyContext::Acting,
                KeyContext::Answer,
                KeyContext::Prompt,
                KeyContext::Global,
            ],
            (AnswerFocus::ActedOn, false, _) => {
                &[KeyContext::Acting, KeyContext::Prompt, KeyContext::Global]
            }
            (_, true, true) => &[
                KeyContext::Citation,
                KeyContext::Answer,
                KeyContext::Prompt,
                KeyContext::Global,
            ],
            (AnswerFocus::Yes, true, false) => &[
                KeyContext::Chosen,
                KeyContext::Answer,
                KeyContext::Prompt,
                KeyContext::Global,
            ],
            (AnswerFocus::Yes, false, _) => {
                &[KeyContext::Chosen, KeyContext::Prompt, KeyContext::Global]
            }
            (AnswerFocus::No, true, false) => {
                &[KeyContext::Answer, KeyContext::Prompt, KeyContext::Global]
            }
            (AnswerFocus::No, false, _) => &[KeyContext::Prompt, KeyContext::Global],
        }
    }

    /// Whether letters act on the answer that is chosen.
    pub fn is_acting(&self) -> bool {
        self.focus == Pane::Chat
            && self.chat.chosen == AnswerFocus::ActedOn
            && self.replay.is_none()
    }

    /// The contexts of [`Model::places`] while a run is replayed: nothing is typed then.
    fn places_of_replay(&self) -> &'static [KeyContext] {
        match self.focus {
            Pane::Chat if self.chat.citation.is_some() => &[
                KeyContext::Replay,
                KeyContext::Citation,
                KeyContext::Answer,
                KeyContext::Global,
            ],
            Pane::Chat if self.cites() => {
                &[KeyContext::Replay, KeyContext::Answer, KeyContext::Global]
            }
            Pane::Chat => &[KeyContext::Replay, KeyContext::Global],
            Pane::Path => &[
                KeyContext::Replay,
                KeyContext::Path,
                KeyContext::List,
                KeyContext::Global,
            ],
            Pane::Evidence => &[
                KeyContext::Replay,
                KeyContext::Evidence,
                KeyContext::List,
                KeyContext::Global,
            ],
            Pane::Audit => &[
                KeyContext::Replay,
                KeyContext::Audit,
                KeyContext::List,
                KeyContext::Global,
            ],
        }
    }

    /// Whether the answer that the panes show refers to passages.
    fn cites(&self) -> bool {
        self.shown_run()
            .is_some_and(|run| !run.citations.is_empty())
    }
}
