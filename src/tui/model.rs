//! All that the screen knows.
//!
//! Nothing outside `update` changes it. What depends on the size of the screen (wrapped rows,
//! scroll positions) is settled before drawing, so that drawing only reads.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Size;
use tokio::sync::watch;

use crate::domain::{Complexity, RoutingLimits};
use crate::protocol::{
    Command, JobModels, KnowledgeContents, KnowledgeStatus, Mode, ModelWish, NoticeLevel,
    RecordedSession, RunId, RunLabels, RunRecord, Timestamp, Update,
};
use crate::text::one_line;

use super::background::Background;
use super::error::TuiError;
use super::find::{Find, SearchedText};
use super::fold::{AuditLine, AuditRow, PendingCall, RunView, audit_lines};
use super::ink::Row;
use super::keymap::{KeyNames, Keymap};
use super::pace::Pace;
use super::pane_state::{ChatScroll, ClickUnit, List, Menu, Pane, Pointer, Split};
use super::prompt::Prompt;
use super::source_view::SourceView;
use super::theme::ThemeName;
use super::timeline::Playhead;
use super::turns::{QuestionEdit, Turns};
use super::window::Window;

pub use super::pane_state::{AuditState, EvidenceState, Notice, PathState};
pub use super::turns::{OpenRun, Retry, TurnQuestion, TurnView};
pub use super::window::Overlay;

/// Between two frames of the animation.
pub const FRAME: Duration = Duration::from_millis(120);

/// Who asks the questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AskedBy {
    /// The person in front of the screen.
    #[default]
    Person,
    /// The demo, until a key is pressed.
    Demo,
}

/// The state of the screen.
#[derive(Debug, Clone, Default)]
pub struct Model {
    /// What keys do.
    pub keymap: Keymap,
    /// Which engine thinks.
    pub mode: Mode,
    /// Which model does which job from the next question on.
    pub models: JobModels,
    /// The choice that is being checked; questions wait for that.
    pub choosing: Option<ModelWish>,
    /// Where it is asked; nothing where the embedded engine thinks.
    pub endpoint: Option<String>,
    /// The settings that route, until a run tells its own.
    pub limits: RoutingLimits,
    /// One question for each route.
    pub samples: Vec<Sample>,
    /// What was to be said before the screen opened.
    pub greetings: Vec<String>,
    /// What the knowledge base holds.
    pub knowledge: KnowledgeStatus,
    /// What its documents are.
    pub contents: KnowledgeContents,
    /// How fast that grows.
    pub pace: Pace,
    /// The conversation.
    pub turns: Turns,
    /// A question that was sent and whose run has not begun.
    pub pending: Option<TurnQuestion>,
    /// What its run waits for to begin.
    pub starting: Option<PendingCall>,
    /// Questions that are sent when the run that is going on has ended, the first one first.
    pub queue: VecDeque<TurnQuestion>,
    /// The run that is going on; of a race, the last that began.
    pub current: Option<RunId>,
    /// The runs of a race that have begun, until both have.
    pub racing: Option<Vec<RunId>>,
    /// Which turn the panes show; `None`: the last.
    pub shown: Option<usize>,
    /// Which pane has the keys.
    pub focus: Pane,
    /// Which pane is shown beside or below the chat where there is room for one.
    pub side: Pane,
    /// Whether the focused pane has the screen for itself.
    pub zoomed: bool,
    /// What lies above the panes.
    pub overlay: Option<Window>,
    /// A document that has the screen for itself; overlays lie above it.
    pub reading: Option<SourceView>,
    /// What help lies above, and gives back.
    pub beneath: Option<Window>,
    /// One line for the person.
    pub notice: Option<Notice>,
    /// What is being typed.
    pub prompt: Prompt,
    /// The earlier question that it takes the place of; `None` while a new one is typed.
    pub editing: Option<QuestionEdit>,
    /// The list above the prompt.
    pub menu: Menu,
    /// The search in the conversation.
    pub find: Option<Find>,
    /// How the last line calls keys.
    pub key_names: KeyNames,
    /// Colours that were chosen and are not in use yet.
    pub theme: Option<String>,
    /// The themes that there are, the user's among them.
    pub themes: Vec<String>,
    /// The route of the questions to come.
    pub route: Option<Complexity>,
    /// Whether the next Ctrl+C leaves.
    pub leaving: bool,
    /// The conversation on the screen.
    pub chat: ChatScroll,
    /// The path pane.
    pub path: PathState,
    /// The evidence pane.
    pub evidence: EvidenceState,
    /// The audit pane.
    pub audit: AuditState,
    /// Whether the terminal reports the mouse.
    pub mouse: bool,
    /// What the mouse holds.
    pub pointer: Pointer,
    /// Where the borders between panes stand.
    pub split: Split,
    /// How runs are written as Markdown.
    pub markdown: Option<fn(&[RunRecord]) -> String>,
    /// The moment of the last message that gave the time.
    pub now: Timestamp,
    /// Frames of the animation.
    pub frame: usize,
    /// Size of the terminal.
    pub size: Size,
    /// Who asks the questions.
    pub asked_by: AskedBy,
    /// How far the replay is that this is the state of; keys step through it, and nothing is typed.
    pub replay: Option<Playhead>,
}

impl Model {
    /// The state at the start.
    pub fn new(setup: Setup) -> Result<Self, TuiError> {
        Ok(Self {
            keymap: Keymap::load()?,
            mode: setup.mode,
            models: setup.models,
            endpoint: setup.endpoint.map(|address| one_line(&address, 200)),
            limits: setup.limits,
            samples: setup.samples,
            greetings: setup.notices.iter().map(|n| one_line(n, 400)).collect(),
            knowledge: KnowledgeStatus {
                indexing: setup.is_opening,
                ..KnowledgeStatus::default()
            },
            side: Pane::Path,
            themes: ThemeName::all().map(|theme| theme.to_string()).collect(),
            mouse: setup.mouse,
            split: *setup.split.borrow(),
            markdown: Some(setup.markdown),
            size: Size::new(80, 24),
            ..Self::default()
        })
    }

    /// The conversation is another one, and was not searched.
    pub fn begin_find_again(&mut self) {
        if let Some(find) = &mut self.find {
            find.searched = SearchedText::default();
            find.matches.clear();
        }
    }

    /// Opens a window above all.
    pub fn open(&mut self, shown: Overlay) {
        self.overlay = Some(Window::new(shown));
    }

    /// The windows that are open: the one above all, and the one that help lies above.
    pub fn windows_mut(&mut self) -> impl Iterator<Item = &mut Window> {
        [&mut self.overlay, &mut self.beneath].into_iter().flatten()
    }

    /// Closes the windows for which this holds; help above one of them stays.
    pub fn close_windows(&mut self, is_closed: impl Fn(&Overlay) -> bool) {
        let is_closed = |window: &mut Window| is_closed(&window.shown);
        self.beneath.take_if(is_closed);
        if self.overlay.take_if(is_closed).is_some() {
            self.overlay = self.beneath.take();
        }
    }

    /// What lies above all.
    pub fn shown_overlay(&self) -> Option<&Overlay> {
        self.overlay.as_ref().map(|window| &window.shown)
    }

    /// The panes show another run, from its beginning or as it goes on.
    pub fn reset_panes(&mut self) {
        self.chat.citation = None;
        self.evidence = EvidenceState::default();
        self.path.list = List::default();
        self.path.selected = None;
        self.audit.left_end = false;
    }

    /// Whether a question is being answered.
    pub fn is_busy(&self) -> bool {
        self.current.is_some() || self.pending.is_some()
    }

    /// Whether nothing has been asked yet.
    pub fn is_empty(&self) -> bool {
        self.turns.current().is_empty() && self.pending.is_none()
    }

    /// Which turn the panes show.
    pub fn shown_at(&self) -> Option<usize> {
        match self.shown {
            None if self.pending.is_some() => None,
            None => self.turns.current().len().checked_sub(1),
            at => at,
        }
    }

    /// The run that the panes show, with its events.
    pub fn shown_turn(&self) -> Option<&OpenRun> {
        self.turns.current().get(self.shown_at()?)?.opened()
    }

    /// Which run of the conversation the panes show, counted from 1, and how many there are; in a
    /// replay as it was before.
    pub fn shown_among(&self) -> Option<(usize, usize)> {
        match &self.replay {
            Some(playhead) => playhead.run,
            None => Some((self.shown_at()? + 1, self.turns.current().len())),
        }
    }

    /// What people said of the run that the panes show.
    pub fn shown_labels(&self) -> Option<&RunLabels> {
        Some(self.turns.current().get(self.shown_at()?)?.labels())
    }

    /// The run that the panes show.
    pub fn shown_run(&self) -> Option<&RunView> {
        self.shown_turn().map(|turn| &turn.run)
    }

    /// Opens the runs that panes and windows draw, and packs the others.
    pub fn keep_open(&mut self) {
        let turns = &self.turns;
        let place = |run: &RunId| turns.place_of_open(run);
        let compared = |window: &Option<Window>| match window.as_ref().map(|window| &window.shown) {
            Some(Overlay::Compare { left, right }) => (place(left), place(right)),
            _ => (None, None),
        };
        let (left, right) = compared(&self.overlay);
        let (left_beneath, right_beneath) = compared(&self.beneath);
        let read = self.reading.as_ref().and_then(|view| view.found.as_ref());
        let read = read.and_then(|(run, _)| place(run));
        let last = turns.current().len().checked_sub(1);
        let shown = self.shown_at();
        let needed = [last, shown, left, right, left_beneath, right_beneath, read];
        self.turns.keep_open(&needed);
    }

    /// The rows of a pane, as settled.
    pub fn pane_rows(&self, pane: Pane) -> &[Row] {
        match pane {
            Pane::Chat => &self.chat.visible,
            Pane::Path => &self.path.drawn.rows,
            Pane::Evidence => &self.evidence.drawn.rows,
            Pane::Audit => &self.audit.drawn.rows,
        }
    }

    /// Audit rows that pass the filter.
    pub fn audit_rows(&self) -> Vec<&AuditRow> {
        self.narrowed_trail().collect()
    }

    fn narrowed_trail(&self) -> impl Iterator<Item = &AuditRow> {
        let wanted = self.audit.filter.to_lowercase();
        let turn = self.shown_turn().map(|turn| turn.trail.iter());
        turn.into_iter().flatten().filter(move |row| {
            let is_named = row.name.contains(&wanted);
            is_named || row.summary.to_lowercase().contains(&wanted)
        })
    }

    /// The same as the audit pane lists them. Where they are narrowed, each one stands by itself.
    pub fn audit_lines(&self) -> impl Iterator<Item = AuditLine<'_>> {
        let is_narrowed = !self.audit.filter.is_empty();
        let whole = self.shown_turn().filter(|_| !is_narrowed);
        let whole = whole.map(|turn| audit_lines(&turn.trail, &self.audit.unfolded));
        let narrowed = is_narrowed.then(|| self.narrowed_trail());
        let alone = |row| AuditLine::Event {
            row,
            in_group: false,
        };
        let narrowed = narrowed.into_iter().flatten().map(alone);
        whole.into_iter().flatten().chain(narrowed)
    }

    /// One line that is good to know.
    pub fn inform(&mut self, message: &str) {
        self.notify(NoticeLevel::Info, message);
    }

    /// One line about what is not as it should be.
    pub fn warn(&mut self, message: &str) {
        self.notify(NoticeLevel::Warning, message);
    }

    /// One line for the person.
    pub fn notify(&mut self, level: NoticeLevel, message: &str) {
        let message = one_line(message, 400);
        self.notice = Some(Notice { level, message });
    }

    /// What the engine tells unasked; it does not take the place of a warning.
    pub fn notify_unless_warned(&mut self, level: NoticeLevel, message: &str) {
        let warned = matches!(&self.notice, Some(notice) if notice.level == NoticeLevel::Warning);
        if level == NoticeLevel::Warning || !warned {
            self.notify(level, message);
        }
    }

    /// Takes back a line that was only good to know; warnings stay until they are closed.
    pub fn clear_notice(&mut self) {
        self.notice
            .take_if(|notice| notice.level == NoticeLevel::Info);
    }
}

// What reaches the screen, and what must happen outside of it.

/// What can reach the screen.
#[derive(Debug, Clone)]
pub enum Msg {
    /// A key.
    Key(KeyEvent),
    /// Pasted text, whole.
    Paste(String),
    /// The mouse.
    Mouse(MouseEvent),
    /// Clicks in quick succession select what is under that column and row.
    Select(ClickUnit, u16, u16),
    /// The terminal's background is known now.
    Background(Background),
    /// The terminal has this size now.
    Resize(u16, u16),
    /// What the engine tells.
    Update(Update),
    /// The next frame of the animation, at this moment.
    Tick(Timestamp),
    /// A command could not be delivered.
    Refused(Command),
    /// The engine is gone.
    EngineGone,
    /// The editor is closed, or could not be opened: one line says why.
    Edited(Result<(), String>),
    /// The question as it was written in the editor, or why it stays as it was, in one line.
    Written(Result<String, String>),
    /// There is no shell to go back to.
    NotSuspended,
}

/// What must happen outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Tell the engine.
    Send(Command),
    /// Leave the program.
    Quit,
    /// Put this on the clipboard, if the terminal lets us.
    Copy(String),
    /// Open the person's editor.
    Edit {
        /// The file.
        path: PathBuf,
        /// The line to open, counted from 1.
        line: usize,
    },
    /// Have the person write the question, which is this so far, in their editor.
    Write(String),
    /// Remember where the borders between panes stand.
    KeepSplit(Split),
    /// Have the terminal report the mouse, or not.
    ReportMouse(bool),
    /// Stop, until the shell says to go on.
    Suspend,
    /// Replay the run that the panes show.
    Replay {
        /// Whether it plays at once, and slowly enough to be followed.
        slow: bool,
    },
}

// What the screen needs to know before the first event.

/// What the screen needs to know before the first event.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The theme.
    pub theme: ThemeName,
    /// The user's own themes and keys.
    pub own: OwnFiles,
    /// Whether colour is unwanted, whatever the theme.
    pub no_color: bool,
    /// Which engine thinks.
    pub mode: Mode,
    /// Which model does which job.
    pub models: JobModels,
    /// Where it is asked, without what is secret; nothing where the embedded engine thinks.
    pub endpoint: Option<String>,
    /// The settings that route.
    pub limits: RoutingLimits,
    /// Questions to try, one for each route; where there are none they are made from what the
    /// knowledge base holds.
    pub samples: Vec<Sample>,
    /// What is to be said at the start, one line each.
    pub notices: Vec<String>,
    /// Whether the index is still being opened.
    pub is_opening: bool,
    /// The recorded conversation that goes on.
    pub resumed: Option<RecordedSession>,
    /// Whether the terminal reports the mouse.
    pub mouse: bool,
    /// Where the borders between panes stand, and are kept while the screen is open.
    pub split: watch::Sender<Split>,
    /// How runs are written as Markdown.
    pub markdown: fn(&[RunRecord]) -> String,
    /// Questions that ask themselves first, until a key is pressed.
    pub walk: Vec<WalkStep>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            theme: ThemeName::default(),
            own: OwnFiles::default(),
            no_color: false,
            mode: Mode::Offline,
            models: JobModels::default(),
            endpoint: None,
            limits: RoutingLimits::default(),
            samples: Vec::new(),
            notices: Vec::new(),
            is_opening: false,
            resumed: None,
            mouse: true,
            split: watch::Sender::default(),
            markdown: |_| String::new(),
            walk: Vec::new(),
        }
    }
}

/// A question to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The route it should go: `chitchat`, `simple` or `complex`.
    pub route: &'static str,
    /// The question.
    pub text: String,
}

/// The user's own files, as they were read.
#[derive(Debug, Clone, Default)]
pub struct OwnFiles {
    /// The theme that is wanted, where it is none of ours.
    pub theme: Option<String>,
    /// Themes by name; one with the name of ours takes its place.
    pub themes: Vec<(String, String)>,
    /// The user's keymap file.
    pub keymap: Option<String>,
    /// What could not be read, one line each.
    pub unreadable: Vec<String>,
}

/// A question of the walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkStep {
    /// The question.
    pub question: String,
    /// What it shows, one line.
    pub about: String,
}
