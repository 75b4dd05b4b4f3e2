//! What can lie above the panes, and how far it is scrolled.

use std::collections::BTreeSet;

use crate::protocol::{RunHistory, RunId, Timestamp};

use super::list::List;
use super::model_list::ModelList;
use super::path_line::PathItem;
use super::question_search::QuestionSearch;
use super::session_list::SessionList;
use super::sliders::Sliders;

/// What lies above the panes.
#[derive(Debug, Clone, PartialEq)]
pub enum Overlay {
    /// Help with all keys.
    Help(List),
    /// An event as the log holds it.
    Json {
        /// Key of the event: its time and its number.
        key: (Timestamp, u64),
        /// Its place among the events, and when it was.
        about: String,
        /// Lines of its JSON.
        lines: Vec<String>,
        /// How far it is scrolled.
        list: List,
    },
    /// Which route to ask again by.
    Retry(List),
    /// Recorded conversations.
    Sessions(Box<SessionList>),
    /// Models to choose from.
    Models(Box<ModelList>),
    /// Earlier questions.
    Recall(Box<QuestionSearch>),
    /// Which sample question to ask.
    Samples(List),
    /// What to do, of all that can be done.
    Palette(Palette),
    /// A page of text.
    Page(Page, List),
    /// What all recorded runs came to.
    Statistics(StatisticsWindow),
    /// What went on in a node.
    Detail(Detail),
    /// Two runs side by side.
    Compare(Comparison),
    /// What a run would have done within other limits.
    WhatIf(Sliders),
}

/// What went on in a node, or where the calls of the meter come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// The item that the window is about.
    pub item: PathItem,
    /// The parts that are unfolded.
    pub unfolded: BTreeSet<usize>,
    /// The selected row.
    pub list: List,
}

/// Two runs side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The run on the left.
    pub left: RunId,
    /// The run on the right.
    pub right: RunId,
    /// How far it is scrolled.
    pub list: List,
}

/// What all recorded runs came to.
#[derive(Debug, Clone, PartialEq)]
pub struct StatisticsWindow {
    /// Why it is not known, in one clean line, where it is not; nothing while it is being read.
    pub read: Option<Result<Box<RunHistory>, String>>,
    /// How far it is scrolled.
    pub list: List,
}

/// All that can be done, narrowed by what is typed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Palette {
    /// What is typed.
    pub typed: String,
    /// The selected row.
    pub list: List,
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
    /// Whether one of its rows is selected; else it is only scrolled.
    pub fn is_choice(&self) -> bool {
        match self {
            Self::Retry(_) | Self::Samples(_) | Self::Palette(_) | Self::Detail(_) => true,
            // The lists of sessions, of models and of questions draw and settle themselves.
            Self::Help(_)
            | Self::Json { .. }
            | Self::Page(..)
            | Self::Statistics(_)
            | Self::Compare(_)
            | Self::Sessions(_)
            | Self::Models(_)
            | Self::Recall(_)
            | Self::WhatIf(_) => false,
        }
    }

    /// How far it is scrolled, and what is selected.
    pub fn list(&self) -> &List {
        match self {
            Self::Help(list)
            | Self::Json { list, .. }
            | Self::Retry(list)
            | Self::Samples(list)
            | Self::Page(_, list) => list,
            Self::Palette(palette) => &palette.list,
            Self::Sessions(sessions) => &sessions.narrowed.list,
            Self::Models(models) => &models.narrowed.list,
            Self::Recall(recalled) => &recalled.narrowed.list,
            Self::Detail(detail) => &detail.list,
            Self::Compare(comparison) => &comparison.list,
            Self::WhatIf(sliders) => &sliders.list,
            Self::Statistics(window) => &window.list,
        }
    }

    /// The same, to be changed.
    pub fn list_mut(&mut self) -> &mut List {
        match self {
            Self::Help(list)
            | Self::Json { list, .. }
            | Self::Retry(list)
            | Self::Samples(list)
            | Self::Page(_, list) => list,
            Self::Palette(palette) => &mut palette.list,
            Self::Sessions(sessions) => &mut sessions.narrowed.list,
            Self::Models(models) => &mut models.narrowed.list,
            Self::Recall(recalled) => &mut recalled.narrowed.list,
            Self::Detail(detail) => &mut detail.list,
            Self::Compare(comparison) => &mut comparison.list,
            Self::WhatIf(sliders) => &mut sliders.list,
            Self::Statistics(window) => &mut window.list,
        }
    }
}
