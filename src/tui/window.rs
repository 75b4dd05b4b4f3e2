//! What can lie above the panes: windows, some to choose from, and some of these narrowed by what is
//! typed.

use std::collections::BTreeSet;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::domain::{DecidedBy, RoutingLimits};
use crate::protocol::{
    JobModels, JobName, ModelListing, RecordedAnswer, RunHistory, RunId, SessionSummary, Timestamp,
    joined,
};
use crate::text::one_line;

use super::fold::outcome_word;
use super::ink::{Ink, Row, grouped, grouped_plural};
use super::keymap::{Action, KeyContext};
use super::pane_state::{List, PathItem};
use super::rerun_plan::RerunPlan;
use super::slash::SlashCommand;

/// The longest text that is looked for, in characters.
const LONGEST: usize = 120;

/// A window above the panes.
#[derive(Debug, Clone)]
pub struct Window {
    /// What it shows.
    pub shown: Overlay,
    /// The selected row, or how far it is scrolled.
    pub list: List,
    /// What is typed, where it is a list that is narrowed.
    pub typed: String,
    /// What is looked into for each item of such a list, clean.
    pub texts: Vec<String>,
    /// The items that match, in the order of their rows.
    pub matches: Vec<usize>,
}

/// What lies above the panes.
#[derive(Debug, Clone)]
pub enum Overlay {
    /// Help with all keys.
    Help,
    /// An event as the log holds it.
    Event {
        /// Key of the event: its time and its number.
        key: (Timestamp, u64),
        /// Its place among the events, and when it was.
        about: String,
        /// Lines of its JSON.
        lines: Vec<String>,
    },
    /// Which route to ask again by.
    Retry,
    /// Which sample question to ask.
    Samples,
    /// What to do, of all that can be done.
    Palette(Vec<PaletteRow>),
    /// Recorded conversations.
    Sessions(SessionList),
    /// Models to choose from.
    Models(ModelList),
    /// Earlier questions, the newest first.
    Recall(Vec<String>),
    /// The answers of all conversations, the newest first; nothing until they are here.
    Answers(Option<Vec<RecordedAnswer>>),
    /// Names of documents.
    Documents(Vec<String>),
    /// A page of text.
    Page(Page),
    /// What all recorded runs came to; nothing while it is being read. Where it is not known, one
    /// clean line says why.
    Statistics(Option<Result<Box<RunHistory>, String>>),
    /// What went on in a node, or where the calls of the meter come from.
    Detail {
        /// The item that the window is about.
        item: PathItem,
        /// The parts that are unfolded.
        unfolded: BTreeSet<usize>,
    },
    /// Two runs side by side.
    Compare {
        /// The run on the left.
        left: RunId,
        /// The run on the right.
        right: RunId,
    },
    /// What a run would have done within other limits.
    WhatIf(Sliders),
    /// What is to be changed before a run begins again at a node.
    Rerun(Box<RerunPlan>),
}

/// A window that only shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// What is indexed and what is not.
    Index,
    /// What the knowledge base is made of.
    Sources,
    /// Which engine answers.
    Engine,
}

impl Overlay {
    /// Whether it is a list that is narrowed by what is typed.
    pub fn is_typed(&self) -> bool {
        matches!(
            self,
            Self::Palette(_)
                | Self::Sessions(_)
                | Self::Models(_)
                | Self::Recall(_)
                | Self::Answers(_)
                | Self::Documents(_)
        )
    }

    /// Whether one of its rows is selected; else it is only scrolled.
    pub fn is_choice(&self) -> bool {
        self.is_typed()
            || matches!(
                self,
                Self::Retry | Self::Samples | Self::Detail { .. } | Self::Rerun(_)
            )
    }

    fn places(&self) -> &'static [KeyContext] {
        match self {
            Self::Detail { .. } => &[KeyContext::Detail, KeyContext::Overlay],
            Self::Event { .. } => &[KeyContext::Event, KeyContext::Overlay],
            Self::WhatIf(_) => &[KeyContext::WhatIf, KeyContext::Overlay],
            Self::Rerun(_) => &[KeyContext::Rerun, KeyContext::Overlay],
            Self::Sessions(_) => &[KeyContext::Sessions, KeyContext::Menu],
            Self::Models(_) => &[KeyContext::Models, KeyContext::Menu],
            Self::Recall(_) => &[KeyContext::Recall, KeyContext::Menu],
            Self::Palette(_) | Self::Answers(_) | Self::Documents(_) => &[KeyContext::Menu],
            _ => &[KeyContext::Overlay],
        }
    }
}

impl Window {
    /// A window at its beginning.
    pub fn new(shown: Overlay) -> Self {
        Self {
            shown,
            list: List::default(),
            typed: String::new(),
            texts: Vec::new(),
            matches: Vec::new(),
        }
    }

    /// Where keys are looked up while it has them.
    pub fn places(&self) -> impl Iterator<Item = KeyContext> {
        let is_found = match &self.shown {
            Overlay::Models(list) => self.typed.is_empty() && list.can_be_kept(),
            _ => false,
        };
        let found = is_found.then_some(KeyContext::Found);
        found.into_iter().chain(self.shown.places().iter().copied())
    }

    /// Gives it the items to look into; what is typed stays, and the row that is selected.
    pub fn set_texts(&mut self, texts: Vec<String>) {
        self.texts = texts;
        self.narrow();
    }

    /// Replaces what is typed.
    pub fn set_typed(&mut self, text: &str) {
        self.typed = one_line(text, LONGEST);
        self.list = List::default();
        self.narrow();
    }

    /// A key that means text; says whether the text is another now.
    pub fn type_key(&mut self, event: KeyEvent) -> bool {
        let is_changed = type_into(&mut self.typed, event);
        if is_changed {
            self.list = List::default();
            self.narrow();
        }
        is_changed
    }

    /// The place of the selected item among all.
    pub fn selected(&self) -> Option<usize> {
        if !self.shown.is_typed() {
            return Some(self.list.selected);
        }
        let last = self.matches.len().checked_sub(1)?;
        self.matches.get(self.list.selected.min(last)).copied()
    }

    /// Selects the item at this place, if it matches.
    pub fn select(&mut self, place: usize) {
        if let Some(row) = self.matches.iter().position(|left| *left == place) {
            self.list.selected = row;
        }
    }

    /// Leaves the items that hold each of the words: earlier questions and answers in their order, all
    /// else the best match first. Where nothing holds them, the letters may have others between them.
    fn narrow(&mut self) {
        let (ignore, smart) = (CaseMatching::Ignore, Normalization::Smart);
        let are_words = matches!(self.shown, Overlay::Recall(_) | Overlay::Answers(_));
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut buffer = Vec::new();
        let mut matching = |pattern: &Pattern| -> Vec<(u32, usize)> {
            let scored = self.texts.iter().enumerate().filter_map(|(place, text)| {
                let score = pattern.score(Utf32Str::new(text, &mut buffer), &mut matcher)?;
                Some((score, place))
            });
            scored.collect()
        };
        let words = Pattern::new(&self.typed, ignore, smart, AtomKind::Substring);
        let mut scored = matching(&words);
        if !are_words {
            // Letters with others between them are in almost any sentence.
            if scored.is_empty() {
                scored = matching(&Pattern::parse(&self.typed, ignore, smart));
            }
            scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        }
        self.matches = scored.into_iter().map(|(_, place)| place).collect();
    }
}

/// Edits one line at its end; says whether it is another now.
pub fn type_into(line: &mut String, event: KeyEvent) -> bool {
    type_up_to(line, event, LONGEST)
}

/// Edits one line at its end, which grows to so many characters; says whether it is another now.
pub fn type_up_to(line: &mut String, event: KeyEvent, most: usize) -> bool {
    let before = line.len();
    let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
    match event.code {
        KeyCode::Backspace if ctrl || event.modifiers.contains(KeyModifiers::ALT) => word_off(line),
        KeyCode::Char('w') if ctrl => word_off(line),
        KeyCode::Char('u') if ctrl => line.clear(),
        KeyCode::Backspace => {
            line.pop();
        }
        KeyCode::Char(c)
            if (event.modifiers - KeyModifiers::SHIFT).is_empty()
                && !c.is_control()
                && line.chars().count() < most =>
        {
            line.push(c);
        }
        _ => {}
    }
    line.len() != before
}

fn word_off(line: &mut String) {
    let end = line.trim_end();
    let begin = end.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    line.truncate(begin);
}

// What lists that are typed into hold, and their rows: conversations, models, all that can be done.

/// What a window shows of recorded conversations.
#[derive(Debug, Clone, Default)]
pub struct SessionList {
    /// `None` until they are here.
    pub sessions: Option<Vec<SessionSummary>>,
    /// What is being done.
    pub doing: SessionTask,
}

/// What is being done with the selected conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SessionTask {
    /// It is being chosen.
    #[default]
    Choosing,
    /// Its new name is being typed.
    Renaming(String),
    /// Whether it is to go is being asked.
    Deleting,
    /// It is being read.
    Resuming,
}

/// What a window shows of models. The first row goes back to the settings.
#[derive(Debug, Clone, Default)]
pub struct ModelList {
    /// `None` until they are here; why they are not known in one line.
    pub listing: Option<Result<ModelListing, String>>,
    /// For which job; `None`: for all.
    pub job: Option<JobName>,
}

/// One thing that can be done.
#[derive(Debug, Clone)]
pub struct PaletteRow {
    /// What is done.
    pub item: PaletteItem,
    /// What is looked into: the command and its purpose, or what the key does.
    pub label: String,
    /// The key that does the same.
    pub keys: String,
}

/// What a row of the palette does.
#[derive(Debug, Clone)]
pub enum PaletteItem {
    /// A command with what follows it.
    Command(&'static SlashCommand, String),
    /// What a key does in a place.
    Key(KeyContext, Action),
}

impl SessionList {
    /// What is said where no conversation is listed, or one is on its way.
    pub fn note(&self) -> Option<&'static str> {
        match (&self.doing, &self.sessions) {
            (SessionTask::Resuming, _) => Some("reading the conversation …"),
            (_, None) => Some("reading the audit log …"),
            (_, Some(sessions)) if sessions.is_empty() => {
                Some("Nothing is recorded yet: the first question begins a session.")
            }
            _ => None,
        }
    }

    /// One conversation: its name or first question, then runs, outcome, calls saved and time, as far
    /// as there is room; or what is being done with it.
    pub fn row(&self, place: usize, is_selected: bool, width: usize) -> Row {
        match &self.doing {
            SessionTask::Renaming(name) if is_selected => {
                let row = Row::new(Ink::Focus, " name: ").add(Ink::Text, name.as_str());
                return row.add(Ink::Focus, "▏");
            }
            SessionTask::Deleting if is_selected => {
                let words = " Delete from the list? The audit log keeps it. y/n";
                return Row::new(Ink::Warning, words);
            }
            _ => {}
        }
        let Some(session) = self.sessions.as_ref().and_then(|all| all.get(place)) else {
            return Row::default();
        };
        let sign = if session.is_current { " ● " } else { "   " };
        let mut left = Row::new(Ink::Done, sign);
        let question = one_line(&session.question, 400);
        match &session.name {
            Some(name) => {
                left.push(Ink::Heading, one_line(name, 80));
                left.push(Ink::Dim, format!("  {question}"));
            }
            None => left.push(Ink::Text, question),
        }
        let runs = grouped_plural(session.runs, "run");
        let outcome = session.outcome.map_or("no end", outcome_word);
        let saved = session.saved.map(|saved| format!("saved {saved}"));
        let (saved, time) = (saved.unwrap_or_default(), session.time.minute());
        let right = match width {
            80.. => format!(" {runs:>7}  {outcome:<9}  {saved:<9}  {time} "),
            64.. => format!(" {runs:>7}  {outcome:<9}  {time} "),
            _ => format!("  {} ", time.get(5..).unwrap_or(&time)),
        };
        left.and_right(Row::new(Ink::Dim, right), width)
    }
}

/// All jobs together, and each by itself.
pub fn jobs() -> impl Iterator<Item = Option<JobName>> {
    [None].into_iter().chain(JobName::ALL.map(Some))
}

impl ModelList {
    /// The names of all.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let known = self.listing.iter().flatten();
        let models = known.flat_map(|listing| &listing.models);
        models.map(|model| model.name.as_str())
    }

    /// Whether what is chosen can be written to the user's own settings: a server on this machine that none
    /// of them names, for all jobs.
    fn can_be_kept(&self) -> bool {
        let mut offers = self.listing.iter().flatten().flat_map(|all| &all.models);
        self.job.is_none() && offers.any(|offer| offer.server.is_some())
    }

    /// For which job one is chosen, and how many are left out.
    pub fn note(&self, width: usize) -> Row {
        let listing = match &self.listing {
            Some(Ok(listing)) => listing,
            Some(Err(_)) => return Row::default(),
            None => return Row::new(Ink::Dim, " asking the server for its models …"),
        };
        let mut row = Row::new(Ink::Dim, " for ");
        for job in jobs() {
            let name = job.map_or("all", JobName::as_str);
            if job == self.job {
                row.push(Ink::Focus, format!("[{name}]"));
            } else {
                row.push(Ink::Dim, format!(" {name} "));
            }
        }
        let left_out = match listing.left_out {
            0 => Row::default(),
            count => Row::new(Ink::Dim, format!("{count} cannot chat ")),
        };
        if row.width() + left_out.width() >= width {
            return row;
        }
        row.and_right(left_out, width)
    }

    /// Why there is nothing to choose from.
    pub fn trouble(&self) -> Option<String> {
        match self.listing.as_ref()? {
            Err(why) => Some(why.clone()),
            Ok(listing) if listing.models.is_empty() => {
                let host = one_line(&listing.host, 80);
                Some(format!("No model that {host} lists can chat."))
            }
            Ok(_) => None,
        }
    }

    /// A model's name, the jobs that it does now, and how much it reads.
    pub fn row(&self, place: usize, in_use: &JobModels, width: usize) -> Row {
        let models = self.listing.iter().flatten().flat_map(|all| &all.models);
        let offer = place.checked_sub(1).and_then(|at| models.clone().nth(at));
        let Some(offer) = offer else {
            return Row::new(Ink::Text, "   default").add(Ink::Dim, "  as the settings say");
        };
        let is_built_in = offer.name == DecidedBy::BuiltIn.as_str();
        let jobs = in_use.jobs_of(&offer.name);
        let sign = if jobs.is_empty() { "   " } else { " ● " };
        let mut name = Row::new(Ink::Done, sign).add(Ink::Text, one_line(&offer.name, 200));
        if is_built_in {
            name.push(Ink::Dim, "  decides without a model, which only answers");
        }
        let mut right = Row::default();
        if jobs.len() == JobName::ALL.len() {
            right.push(Ink::Done, " every job ");
        } else if !jobs.is_empty() {
            right.push(Ink::Done, format!(" {} ", joined(&jobs)));
        }
        if let Some(server) = &offer.server {
            right.push(Ink::Dim, format!(" {} ", one_line(server, 40)));
        }
        if let Some(context) = offer.context.filter(|_| width >= 64) {
            right.push(Ink::Dim, format!(" {:>9} tokens ", grouped(context as u64)));
        }
        name.and_right(right, width)
    }
}

impl PaletteRow {
    /// Its name or what it does, the key at the right edge.
    pub fn row(&self, width: usize) -> Row {
        let label = match (&self.item, self.label.split_once("  ")) {
            (PaletteItem::Command(..), Some((name, help))) => {
                Row::new(Ink::Key, format!(" {name}")).add(Ink::Text, format!("  {help}"))
            }
            _ => Row::new(Ink::Text, format!(" {}", self.label)),
        };
        label.and_right(Row::new(Ink::Dim, format!("{} ", self.keys)), width)
    }
}

// Limits that can be moved, to see what a run would have done within them.

/// A limit that can be moved, as a whole number or in hundredths. Another one is a row of [`SLIDERS`].
#[derive(Debug)]
pub struct Slider {
    /// What it is called.
    pub title: &'static str,
    /// The setting that it stands for.
    pub setting: &'static str,
    ends: (u32, u32),
    is_share: bool,
    value: fn(&RoutingLimits) -> Option<f64>,
    set: fn(&mut RoutingLimits, f64),
}

/// All sliders from top to bottom.
#[rustfmt::skip]
pub static SLIDERS: [Slider; 7] = [
    Slider { title: "small talk from ≥", setting: "KB_AGENT_CHITCHAT_THRESHOLD", ends: (1, 100), is_share: true,
        value: |limits| limits.router.chitchat, set: |limits, value| limits.router.chitchat = Some(value) },
    Slider { title: "complex from ≥", setting: "KB_AGENT_COMPLEX_THRESHOLD", ends: (1, 100), is_share: true,
        value: |limits| limits.router.complex, set: |limits, value| limits.router.complex = Some(value) },
    Slider { title: "keep passages ≥", setting: "KB_AGENT_KEEP_FROM", ends: (0, 100), is_share: true,
        value: |limits| Some(limits.thresholds.keep_from), set: |limits, value| limits.thresholds.keep_from = value },
    Slider { title: "answer if average ≥", setting: "KB_AGENT_SUFFICIENT_FROM", ends: (0, 100), is_share: true,
        value: |limits| Some(limits.thresholds.sufficient_from), set: |limits, value| limits.thresholds.sufficient_from = value },
    Slider { title: "trust vectors ≥", setting: "KB_AGENT_VECTOR_SCORE_THRESHOLD", ends: (0, 100), is_share: true,
        value: |limits| Some(limits.vector_score_threshold), set: |limits, value| limits.vector_score_threshold = value },
    Slider { title: "skip grading up to", setting: "KB_AGENT_AUTO_APPROVE_MAX_ITEMS", ends: (0, 100), is_share: false,
        value: |limits| Some(limits.auto_approve_max_items as f64), set: |limits, value| limits.auto_approve_max_items = value as usize },
    Slider { title: "max gradings", setting: "KB_AGENT_MAX_ITERATIONS", ends: (1, 10), is_share: false,
        value: |limits| Some(f64::from(limits.max_iterations)), set: |limits, value| limits.max_iterations = value as u32 },
];

/// Where the sliders stand, and which of them the keys move.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sliders {
    /// Where each stands; `None` where the run's own limit holds.
    moved: [Option<u32>; SLIDERS.len()],
    /// The one that the keys move.
    pub selected: usize,
}

impl Slider {
    fn unit(&self) -> f64 {
        if self.is_share { 100.0 } else { 1.0 }
    }

    fn step_of(&self, value: f64) -> u32 {
        let step = (value * self.unit()).round().max(0.0);
        (step as u32).clamp(self.ends.0, self.ends.1)
    }

    /// Where it stands within these limits; `None` where that was not recorded.
    pub fn value(&self, limits: &RoutingLimits) -> Option<f64> {
        (self.value)(limits)
    }

    /// A value as a person reads it.
    pub fn value_text(&self, value: f64) -> String {
        let decimals = if self.is_share { 2 } else { 0 };
        format!("{value:.decimals$}")
    }

    /// How far a value stands between the ends, 0–1.
    pub fn share(&self, value: f64) -> f64 {
        let (least, most) = self.ends;
        f64::from(self.step_of(value) - least) / f64::from(most - least)
    }
}

impl Sliders {
    /// The one above or below has the keys.
    pub fn select(&mut self, by: isize) {
        let last = SLIDERS.len() - 1;
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    /// Moves the selected one, from where the run had it; one that was not recorded stays.
    pub fn step(&mut self, by: i64, recorded: &RoutingLimits) {
        let (at, slider) = (self.selected, &SLIDERS[self.selected]);
        let step = |limits: &RoutingLimits| slider.value(limits).map(|value| slider.step_of(value));
        let (Some(was), Some(is)) = (step(recorded), step(&self.limits(recorded))) else {
            return;
        };
        let moved = i64::from(is).saturating_add(by);
        let moved = moved.clamp(slider.ends.0.into(), slider.ends.1.into()) as u32;
        self.moved[at] = Some(moved).filter(|moved| *moved != was);
    }

    /// All as the run had them.
    pub fn reset(&mut self) {
        self.moved = Default::default();
    }

    /// Whether this one was moved.
    pub fn is_moved(&self, at: usize) -> bool {
        self.moved[at].is_some()
    }

    /// The sliders that were moved, each with its value.
    fn moved_sliders(&self) -> impl Iterator<Item = (&'static Slider, f64)> {
        let moved = SLIDERS.iter().zip(self.moved);
        moved.filter_map(|(slider, step)| Some((slider, f64::from(step?) / slider.unit())))
    }

    /// The settings of those that were moved, with their values.
    pub fn settings(&self) -> Vec<(String, String)> {
        let settings = self.moved_sliders();
        settings
            .map(|(slider, value)| (slider.setting.to_owned(), slider.value_text(value)))
            .collect()
    }

    /// The limits that they stand for, over those that the run kept to.
    pub fn limits(&self, recorded: &RoutingLimits) -> RoutingLimits {
        let mut limits = *recorded;
        for (slider, value) in self.moved_sliders() {
            (slider.set)(&mut limits, value);
        }
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(typed: &str, shown: Overlay) -> Vec<usize> {
        let texts = ["two gates", "Compare the gates", "the second one"];
        let mut window = Window::new(shown);
        window.set_texts(texts.map(str::to_owned).to_vec());
        window.set_typed(typed);
        window.matches
    }

    #[test]
    fn letters_find_the_best_and_words_keep_the_order() {
        assert_eq!(left("", Overlay::Palette(Vec::new())), [0, 1, 2]);
        assert_eq!(left("cmpgts", Overlay::Palette(Vec::new())), [1]);
        assert_eq!(left("gates", Overlay::Recall(Vec::new())), [0, 1]);
        assert_eq!(left("gates THE", Overlay::Recall(Vec::new())), [1]);
        assert_eq!(left("cmpgts", Overlay::Recall(Vec::new())), [0; 0]);
    }

    #[test]
    fn a_line_is_edited_at_its_end() {
        let mut line = "two gates".to_owned();
        let press =
            |line: &mut String, code, modifiers| type_into(line, KeyEvent::new(code, modifiers));
        assert!(press(&mut line, KeyCode::Char('w'), KeyModifiers::CONTROL));
        assert_eq!(line, "two ");
        assert!(press(&mut line, KeyCode::Backspace, KeyModifiers::NONE));
        assert!(press(&mut line, KeyCode::Char('É'), KeyModifiers::SHIFT));
        assert_eq!(line, "twoÉ");
        assert!(!press(&mut line, KeyCode::Char('x'), KeyModifiers::CONTROL));
        assert!(press(&mut line, KeyCode::Char('u'), KeyModifiers::CONTROL));
        assert_eq!(line, "");
    }
}

#[cfg(test)]
mod sliders_tests {
    use super::*;

    #[test]
    fn a_slider_moves_within_its_range_and_comes_back_to_the_recorded_value() {
        let recorded = RoutingLimits {
            vector_score_threshold: 0.815,
            ..RoutingLimits::default()
        };
        let mut sliders = Sliders::default();
        assert_eq!(sliders.limits(&recorded), recorded);
        // What was not recorded is not moved.
        sliders.step(5, &recorded);
        assert!(!sliders.is_moved(0));
        sliders.select(2);
        sliders.step(5, &recorded);
        assert!((sliders.limits(&recorded).thresholds.keep_from - 0.35).abs() < 1e-9);
        sliders.step(-5, &recorded);
        assert!(!sliders.is_moved(2));
        sliders.step(-500, &recorded);
        assert!(sliders.limits(&recorded).thresholds.keep_from.abs() < 1e-9);
        sliders.select(9);
        assert_eq!(sliders.selected, SLIDERS.len() - 1);
        sliders.step(-9, &recorded);
        assert_eq!(sliders.limits(&recorded).max_iterations, 1);
        sliders.step(99, &recorded);
        assert_eq!(sliders.limits(&recorded).max_iterations, 10);
        sliders.moved = Default::default();
        // What was recorded between two steps stays what it was.
        assert_eq!(sliders.limits(&recorded), recorded);
    }
}
