//! Where the next key is looked up: what lies uppermost, which pane has the keys, what is chosen there.

use super::keymap::Place;
use super::menu;
use super::model::{Model, Overlay};
use super::pane::Pane;
use super::pane_state::Chosen;

impl Model {
    /// Where the next key is looked up.
    pub fn places(&self) -> &'static [Place] {
        match &self.overlay {
            Some(Overlay::Detail(_)) => return &[Place::Detail, Place::Overlay],
            Some(Overlay::Json { .. }) => return &[Place::Event, Place::Overlay],
            Some(Overlay::Sessions(_)) => return &[Place::Sessions, Place::Menu],
            Some(Overlay::Recall(_)) => return &[Place::Recall, Place::Menu],
            Some(Overlay::Palette(_)) => return &[Place::Menu],
            Some(Overlay::WhatIf(_)) => return &[Place::WhatIf, Place::Overlay],
            Some(_) => return &[Place::Overlay],
            None => {}
        }
        if self.reading.is_some() {
            return &[Place::Source, Place::Overlay];
        }
        if self.replay.is_some() {
            return self.places_of_replay();
        }
        match self.focus {
            Pane::Chat if self.find.is_some() => &[Place::Find],
            Pane::Chat if !self.prompt.is_empty() => {
                if menu::is_open(self) {
                    &[Place::Menu, Place::Prompt, Place::Global]
                } else {
                    &[Place::Prompt, Place::Global]
                }
            }
            Pane::Chat => self.places_of_empty_prompt(),
            Pane::Path => &[Place::Path, Place::List, Place::Global],
            Pane::Evidence => &[Place::Evidence, Place::List, Place::Global],
            Pane::Audit => &[Place::Audit, Place::List, Place::Global],
        }
    }

    /// As [`Model::places`], while nothing is typed into the prompt.
    fn places_of_empty_prompt(&self) -> &'static [Place] {
        let is_on_citation = self.chat.citation.is_some();
        match (self.chat.chosen, self.cites(), is_on_citation) {
            (Chosen::ActedOn, true, true) => &[
                Place::Acting,
                Place::Citation,
                Place::Answer,
                Place::Prompt,
                Place::Global,
            ],
            (Chosen::ActedOn, true, false) => {
                &[Place::Acting, Place::Answer, Place::Prompt, Place::Global]
            }
            (Chosen::ActedOn, false, _) => &[Place::Acting, Place::Prompt, Place::Global],
            (_, true, true) => &[Place::Citation, Place::Answer, Place::Prompt, Place::Global],
            (Chosen::Yes, true, false) => {
                &[Place::Chosen, Place::Answer, Place::Prompt, Place::Global]
            }
            (Chosen::Yes, false, _) => &[Place::Chosen, Place::Prompt, Place::Global],
            (Chosen::No, true, false) => &[Place::Answer, Place::Prompt, Place::Global],
            (Chosen::No, false, _) => &[Place::Prompt, Place::Global],
        }
    }

    /// Whether letters act on the answer that is chosen.
    pub fn is_acting(&self) -> bool {
        self.focus == Pane::Chat && self.chat.chosen == Chosen::ActedOn && self.replay.is_none()
    }

    /// As [`Model::places`], while a run is replayed: nothing is typed then.
    fn places_of_replay(&self) -> &'static [Place] {
        match self.focus {
            Pane::Chat if self.chat.citation.is_some() => {
                &[Place::Replay, Place::Citation, Place::Answer, Place::Global]
            }
            Pane::Chat if self.cites() => &[Place::Replay, Place::Answer, Place::Global],
            Pane::Chat => &[Place::Replay, Place::Global],
            Pane::Path => &[Place::Replay, Place::Path, Place::List, Place::Global],
            Pane::Evidence => &[Place::Replay, Place::Evidence, Place::List, Place::Global],
            Pane::Audit => &[Place::Replay, Place::Audit, Place::List, Place::Global],
        }
    }

    /// Whether the answer that the panes show refers to passages.
    fn cites(&self) -> bool {
        self.shown_run()
            .is_some_and(|run| !run.citations.is_empty())
    }
}
