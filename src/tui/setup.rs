//! What the screen needs to know before the first event.

use tokio::sync::watch;

use crate::domain::RoutingLimits;
use crate::protocol::{JobModels, Mode, RecordedSession, RunRecord};

use super::pane_state::Split;
use super::theme::ThemeName;

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
