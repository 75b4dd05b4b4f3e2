//! A walk through the routes: questions that ask themselves, their events at a person's pace.
//!
//! Events are held back and let through one by one, so that each can be seen; any key lets all of
//! them through and leaves the person in the ordinary screen.

use std::collections::VecDeque;

use crate::domain::NodeName;
use crate::protocol::{Event, EventBody, Timestamp, Update};

use super::ask;
use super::focus::focus;
use super::layout::{Arrangement, LayoutWidth};
use super::message::{Effect, Msg};
use super::model::{AskedBy, Model, TurnQuestion};
use super::pane_state::Pane;
use super::setup::WalkStep;
use super::update::update;

/// How long an answer stands before the next question, milliseconds.
const REST: u64 = 5_000;
/// How long a first index is waited for, where what it holds already can be asked, milliseconds.
const PATIENCE: u64 = 5_000;

/// What is said when all is shown.
const OVER: &str = "That was the demo. Now you: type a question, / lists the commands, ? the keys, \
                    Ctrl+C twice leaves.";
/// What is said when a key ended it.
const LEFT: &str = "The demo is left. Type a question, / lists the commands, ? the keys.";

/// A walk that goes on.
#[derive(Debug)]
pub struct Walk {
    steps: VecDeque<WalkStep>,
    about: Option<String>,
    held: VecDeque<Event>,
    begun: Option<Timestamp>,
    /// Nothing happens before this moment.
    due: Timestamp,
    /// Whether the answer that is shown has been given its time.
    rested: bool,
}

impl Walk {
    /// A walk over these steps; `None` where there are none.
    pub fn new(steps: Vec<WalkStep>) -> Option<Self> {
        (!steps.is_empty()).then(|| Self {
            steps: steps.into(),
            about: None,
            held: VecDeque::new(),
            begun: None,
            due: Timestamp(0),
            rested: true,
        })
    }

    /// Keeps an event until its time comes.
    pub fn hold(&mut self, event: Event) {
        self.held.push_back(event);
    }

    /// A key was pressed: everything that was held back is shown at once.
    pub fn leave(self, model: &mut Model) {
        self.let_all_through(model);
        end(model);
        model.inform(LEFT);
    }

    /// Time has passed. `None` once all is shown.
    pub fn tick(&mut self, model: &mut Model, now: Timestamp) -> Option<Vec<Effect>> {
        let begun = *self.begun.get_or_insert(now);
        while self.due <= now
            && let Some(event) = self.held.pop_front()
        {
            self.due = Timestamp(now.0 + pause_after(&event.body));
            if let Some(pane) = pane_of(&event.body) {
                show(model, pane);
            }
            update(model, Msg::Update(Update::Event(event)));
        }
        let is_idle = self.held.is_empty() && !model.is_busy() && self.due <= now;
        let mut effects = Vec::new();
        if is_idle && !std::mem::replace(&mut self.rested, true) {
            self.due = Timestamp(now.0 + REST);
        } else if is_idle && is_ready(model, now.0.saturating_sub(begun.0)) {
            let Some(step) = self.steps.pop_front() else {
                end(model);
                model.inform(OVER);
                return None;
            };
            self.rested = false;
            self.about = Some(step.about);
            effects = ask::ask(model, TurnQuestion::new(step.question, None)).1;
        }
        // A warning stays, and so does what this step is about.
        if let (Some(about), None) = (&self.about, &model.notice) {
            model.inform(about);
        }
        Some(effects)
    }

    fn let_all_through(self, model: &mut Model) {
        for event in self.held {
            update(model, Msg::Update(Update::Event(event)));
        }
    }
}

/// The person takes over.
fn end(model: &mut Model) {
    model.asked_by = AskedBy::Person;
    show(model, Pane::Chat);
}

/// Where not all panes have room, the one in which something happens is shown.
fn show(model: &mut Model, pane: Pane) {
    match Arrangement::new(model).breadth {
        LayoutWidth::Narrow => focus(model, pane),
        LayoutWidth::Medium if pane != Pane::Chat => model.side = pane,
        LayoutWidth::Medium | LayoutWidth::Wide | LayoutWidth::Tiny => {}
    }
}

/// Where an event is seen best.
fn pane_of(body: &EventBody) -> Option<Pane> {
    match body {
        // The answer that is written there is what is seen of it.
        EventBody::NodeEntered { node, .. } | EventBody::NodeFinished { node, .. }
            if *node == NodeName::Synthesize =>
        {
            None
        }
        EventBody::RunStarted { .. }
        | EventBody::NodeEntered { .. }
        | EventBody::NodeFinished { .. }
        | EventBody::RoutingPlan { .. }
        | EventBody::RouteDecided { .. } => Some(Pane::Path),
        EventBody::EvidenceAdded { .. } | EventBody::EvidenceGraded { .. } => Some(Pane::Evidence),
        EventBody::AnswerDelta { .. }
        | EventBody::AnswerFinished { .. }
        | EventBody::RunFinished { .. } => Some(Pane::Chat),
        _ => None,
    }
}

/// Whether the words of the base can be searched.
fn is_ready(model: &Model, waited: u64) -> bool {
    let knowledge = &model.knowledge;
    knowledge.documents > 0 && (!knowledge.indexing || waited >= PATIENCE)
}

/// How long a person looks at what an event changes, milliseconds.
fn pause_after(body: &EventBody) -> u64 {
    match body {
        EventBody::AnswerDelta { .. } | EventBody::RunStarted { .. } => 40,
        EventBody::NodeEntered { .. } | EventBody::NodeFinished { .. } => 400,
        EventBody::ToolFinished { .. } | EventBody::EvidenceAdded { .. } => 500,
        EventBody::RoutingPlan { .. } | EventBody::RouteDecided { .. } => 800,
        EventBody::EvidenceGraded { .. } => 1_000,
        _ => 120,
    }
}
