//! A run again, event by event.
//!
//! A replay is a screen of its own over the first events of a run: the same folds, panes and keys
//! as live, with a clock of its own. Nothing is asked of the engine, and what goes on live goes on
//! behind it.

use std::sync::Arc;

use crossterm::event::{KeyEvent, KeyEventKind};
use ratatui::layout::Size;

use crate::protocol::{
    Command, Event, EventBody, JobModels, RecordedRun, SessionCommand, Timestamp, Update,
};

use super::keymap::Action;
use super::model::{AuditState, Effect, EvidenceState, Model, Msg, PathState, TurnView};
use super::pane_state::{ChatScroll, Pane};
use super::prompt::Prompt;
use super::timeline::{MissingPart, Playhead, Timeline};
use super::update::update;
use super::view;

/// How fast it can play.
const SPEEDS: [f64; 7] = [0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0];
/// Index of the speed at which the run was recorded.
const AS_RECORDED: usize = 3;
/// A run with less time for an event is too fast to be followed, milliseconds.
const TOO_FAST: f64 = 100.0;

/// A run that is replayed.
#[derive(Debug)]
pub struct Replay {
    events: Vec<Arc<Event>>,
    timeline: Timeline,
    /// Events that have happened.
    at: usize,
    /// Milliseconds played.
    played: f64,
    speed: usize,
    is_slow: bool,
    /// Since when it plays, or the last tick since; `None` while it is paused.
    playing_since: Option<PlayClock>,
    /// Whether nothing lies behind it.
    pub is_all: bool,
    missing: Option<MissingPart>,
    run: Option<(usize, usize)>,
    /// What is drawn.
    pub model: Model,
}

#[derive(Debug, Clone, Copy)]
enum PlayClock {
    /// Until the clock ticks it is not known since when.
    FromNextTick,
    Since(Timestamp),
}

/// What a message to a replay leads to.
#[derive(Debug)]
pub enum ReplayOutcome {
    /// The replay goes on, with these effects.
    GoesOn(Vec<Effect>),
    /// The replay is closed.
    Left,
}

impl Replay {
    /// A replay of the turn that the panes of `screen` show, at its first event; else why there is
    /// none.
    pub fn of_shown(screen: &Model) -> Result<Self, &'static str> {
        let at = screen.shown_at().ok_or("Nothing to replay yet.")?;
        let turn = screen.shown_turn().ok_or("Nothing to replay yet.")?;
        if turn.run.finish.is_none() {
            return Err("This run is still going on; it can be replayed when it has ended.");
        }
        let events = turn.events.clone();
        Self::new(screen, at, events, turn.run.is_recorded).ok_or("This run was not recorded.")
    }

    /// A replay of these events, with nothing behind it; `None` where they begin no run.
    pub fn of_recorded(screen: &Model, recorded: RecordedRun) -> Option<Self> {
        let events = recorded.events.into_iter().map(Arc::new).collect();
        let mut replay = Self::new(screen, 0, events, true)?;
        if let Some(turn) = replay.model.turns.current_mut().last_mut() {
            turn.put_labels(recorded.labels);
        }
        Some(Self {
            is_all: true,
            ..replay
        })
    }

    /// Plays from here on, slowly enough to be followed.
    pub fn play_slowly(&mut self) {
        self.set_slow(true);
        self.play();
        self.follow();
    }

    fn new(
        screen: &Model,
        turn: usize,
        events: Vec<Arc<Event>>,
        is_recorded: bool,
    ) -> Option<Self> {
        let mut first = TurnView::begin(events.first()?)?;
        if is_recorded {
            first.record();
        }
        let shown = screen.turns.current().get(turn);
        first.fork = shown.and_then(|turn| turn.fork);
        if let Some(shown) = shown {
            first.put_labels(shown.labels().clone());
        }
        let mut turns = screen.turns.current()[..turn].to_vec();
        turns.push(first);
        let is_piece = |event: &&Arc<Event>| matches!(event.body, EventBody::AnswerDelta { .. });
        let counted = events.len() - events.iter().filter(is_piece).count();
        let recorded = Timeline::from_events(&events, false).recorded();
        let is_slow = recorded < TOO_FAST * counted as f64;
        let models = match &events.first()?.body {
            EventBody::RunStarted { model, .. } => JobModels::same_for_all(model),
            _ => screen.models.clone(),
        };
        let model = Model {
            turns: turns.into(),
            models,
            pending: None,
            shown: None,
            overlay: None,
            beneath: None,
            reading: None,
            notice: None,
            prompt: Prompt::default(),
            editing: None,
            leaving: false,
            chat: ChatScroll::default(),
            path: PathState {
                unrolled: screen.path.unrolled,
                ..PathState::default()
            },
            evidence: EvidenceState::default(),
            audit: AuditState::default(),
            frame: 0,
            ..screen.clone()
        };
        let mut replay = Self {
            timeline: Timeline::from_events(&events, is_slow),
            missing: missing(&events),
            events,
            at: 1,
            played: 0.0,
            speed: AS_RECORDED,
            is_slow,
            playing_since: None,
            is_all: false,
            run: screen.shown_among(),
            model,
        };
        replay.follow();
        Some(replay)
    }

    /// Makes what is drawn fit the terminal.
    pub fn settle(&mut self, size: Size) {
        self.model.size = size;
        view::settle(&mut self.model);
    }

    /// Whether it goes on by itself.
    pub fn is_playing(&self) -> bool {
        self.playing_since.is_some()
    }

    /// Whether this message is about the replay, and not about what goes on behind it.
    pub fn concerns(&self, msg: &Msg) -> bool {
        match msg {
            Msg::Key(_)
            | Msg::Paste(_)
            | Msg::Mouse(_)
            | Msg::Select(..)
            | Msg::NotSuspended
            | Msg::Edited(_) => true,
            Msg::Update(Update::Document(_) | Update::Explained { .. })
            | Msg::Refused(Command::ReadDocument { .. } | Command::Explain { .. }) => {
                self.model.reading.is_some()
            }
            _ => false,
        }
    }

    /// What goes on behind the replay and is seen in it.
    pub fn handle_background(&mut self, msg: &Msg) {
        match msg {
            Msg::Tick(now) => self.tick(*now),
            Msg::Update(Update::Knowledge(_) | Update::Notice { .. }) => {
                update(&mut self.model, msg.clone());
            }
            _ => {}
        }
    }

    /// Takes a message that concerns it.
    pub fn handle(&mut self, msg: Msg) -> ReplayOutcome {
        match msg {
            // Nothing is typed here, and the question goes on where it was.
            Msg::Paste(_) => {
                self.model.inform("Esc leaves the replay; paste then.");
                return ReplayOutcome::GoesOn(Vec::new());
            }
            Msg::Key(event) if event.kind != KeyEventKind::Release && self.has_the_keys() => {
                let action = self.model.keymap.action(event, &self.model.places());
                self.model.clear_notice();
                return self.act(action, event);
            }
            _ => {}
        }
        ReplayOutcome::GoesOn(self.pass_on(msg))
    }

    /// Whether keys step through the run: no window, document or filter has them.
    fn has_the_keys(&self) -> bool {
        let model = &self.model;
        let is_filtering = model.audit.typing && model.focus == Pane::Audit;
        model.overlay.is_none() && model.reading.is_none() && !is_filtering
    }

    fn act(&mut self, action: Option<Action>, event: KeyEvent) -> ReplayOutcome {
        match action {
            Some(Action::Cancel) => return ReplayOutcome::Left,
            Some(Action::Play) if self.is_playing() => self.playing_since = None,
            Some(Action::Play) => self.play(),
            Some(Action::StepForward) => self.step_to(self.at + 1),
            Some(Action::StepBack) => self.step_to(self.at.saturating_sub(1)),
            Some(Action::NextNode) => self.step_to(self.next_node()),
            Some(Action::PreviousNode) => self.step_to(self.previous_node()),
            Some(Action::ToStart) => self.step_to(1),
            Some(Action::ToEnd) => self.step_to(self.events.len()),
            Some(Action::Faster) => self.set_speed(self.speed + 1),
            Some(Action::Slower) => self.set_speed(self.speed.saturating_sub(1)),
            Some(Action::Slow) => self.set_slow(!self.is_slow),
            // What has no use here begins no question.
            None => {}
            Some(action) if is_for_panes(action) => {
                return ReplayOutcome::GoesOn(self.pass_on(Msg::Key(event)));
            }
            Some(_) => self.model.inform("Esc leaves the replay first."),
        }
        self.follow();
        ReplayOutcome::GoesOn(Vec::new())
    }

    /// The panes do with it what they do live; what would change anything but the screen is left out.
    fn pass_on(&mut self, msg: Msg) -> Vec<Effect> {
        let mut effects = update(&mut self.model, msg);
        // The panes show the run that is replayed and no other.
        self.model.shown = None;
        effects.retain(|effect| match effect {
            Effect::Send(command) => is_for_reading(command),
            _ => true,
        });
        effects
    }

    /// Plays from here on, from the first event where the last one is shown.
    pub fn play(&mut self) {
        if self.at == self.events.len() {
            self.show(1);
            self.played = 0.0;
        }
        self.playing_since = Some(PlayClock::FromNextTick);
    }

    fn tick(&mut self, now: Timestamp) {
        let Some(playing) = self.playing_since else {
            return;
        };
        self.model.frame = self.model.frame.wrapping_add(1);
        if let PlayClock::Since(last) = playing {
            let passed = now.0.saturating_sub(last.0) as f64;
            self.played += passed * SPEEDS[self.speed];
            self.show(self.timeline.events_at(self.played));
        }
        self.playing_since = (self.at < self.events.len()).then_some(PlayClock::Since(now));
        self.follow();
    }

    /// Stops, and shows the state after so many events.
    fn step_to(&mut self, at: usize) {
        self.playing_since = None;
        self.show(at);
        self.played = self.timeline.played_at(self.at);
    }

    fn show(&mut self, at: usize) {
        let at = at.clamp(1, self.events.len());
        let Some(turn) = self.model.turns.current_mut().last_mut() else {
            return;
        };
        if at >= self.at {
            self.events[self.at..at]
                .iter()
                .for_each(|event| turn.take(event));
        } else if let Some(mut earlier) = TurnView::from_events(&self.events[..at]) {
            if turn.exchange().is_recorded {
                earlier.record();
            }
            (earlier.retry, earlier.fork) = (turn.retry, turn.fork);
            earlier.put_labels(turn.labels().clone());
            *turn = earlier;
        }
        self.at = at;
    }

    /// What the panes get besides the events: the time, and whether the run goes on.
    fn follow(&mut self) {
        let now = self.timeline.stamp_at(self.at, self.played);
        let exchange = self.model.turns.current().last().map(TurnView::exchange);
        self.model.current = exchange
            .filter(|exchange| exchange.finish.is_none())
            .map(|exchange| exchange.id.clone());
        self.model.now = now;
        self.model.replay = Some(Playhead {
            at: self.at,
            of: self.events.len(),
            elapsed: self.timeline.since_start(now),
            whole: self.timeline.recorded(),
            speed: SPEEDS[self.speed],
            is_playing: self.is_playing(),
            is_slow: self.is_slow,
            pause: self.timeline.shortened_after(self.at),
            missing: self.missing,
            run: self.run,
        });
    }

    fn set_speed(&mut self, speed: usize) {
        self.speed = speed.min(SPEEDS.len() - 1);
    }

    fn set_slow(&mut self, is_slow: bool) {
        self.is_slow = is_slow;
        self.timeline = Timeline::from_events(&self.events, is_slow);
        self.played = self.timeline.played_at(self.at);
    }

    /// After the event that enters the next node, or the last.
    fn next_node(&self) -> usize {
        let next = (self.at..self.events.len()).find(|at| self.enters(*at));
        next.map_or(self.events.len(), |at| at + 1)
    }

    /// After the event that entered this node, or the one before where it stands there already.
    fn previous_node(&self) -> usize {
        let before = (0..self.at - 1).rev().find(|at| self.enters(*at));
        before.map_or(1, |at| at + 1)
    }

    fn enters(&self, at: usize) -> bool {
        matches!(self.events[at].body, EventBody::NodeEntered { .. })
    }
}

/// Whether a command reads what a pane shows, or keeps the answer that is replayed.
fn is_for_reading(command: &Command) -> bool {
    matches!(
        command,
        Command::ReadDocument { .. }
            | Command::Explain { .. }
            | Command::Session(SessionCommand::SaveAnswer { .. })
    )
}

/// Whether the panes of a replay do with this action what they do live.
fn is_for_panes(action: Action) -> bool {
    matches!(
        action,
        Action::Up
            | Action::Down
            | Action::PageUp
            | Action::PageDown
            | Action::First
            | Action::Last
            | Action::Open
            | Action::Unfold
            | Action::Unroll
            | Action::Filter
            | Action::NextWarning
            | Action::PreviousWarning
            | Action::Zoom
            | Action::Help
            | Action::NextPane
            | Action::PreviousPane
            | Action::FocusChat
            | Action::FocusPath
            | Action::FocusEvidence
            | Action::FocusAudit
            | Action::ShowIndex
            | Action::ShowSources
            | Action::ShowEngine
            | Action::NextCitation
            | Action::PreviousCitation
            | Action::Copy
            | Action::CopyRun
            | Action::Save
            | Action::Mouse
            | Action::Documents
            | Action::WhatIf
            | Action::JudgeGood
            | Action::JudgeBad
            | Action::Quit
            | Action::Leave
            | Action::Suspend
    )
}

fn missing(events: &[Arc<Event>]) -> Option<MissingPart> {
    let holds = |name: &str| events.iter().any(|event| event.body.name() == name);
    if !holds("run_finished") {
        return Some(MissingPart::End);
    }
    (holds("answer_finished") && !holds("answer_delta")).then_some(MissingPart::Pieces)
}
