use clap::Args;

use super::output::CommandFailure;
use super::resumable::StartOptions;
use super::{chat, plain};
use crate::config::Settings;
use crate::engine::SAMPLES;
use crate::protocol::Mode;
use crate::tui::WalkStep;

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Lines instead of the screen
    #[arg(long)]
    plain: bool,
}

/// What each sample shows, by the way it goes.
const ABOUT: [(&str, &str); 6] = [
    (
        "chitchat",
        "Small talk goes straight to the answer: one {call} instead of four, and no search.",
    ),
    (
        "simple",
        "A question with one intent is searched once and answered; grading is skipped.",
    ),
    (
        "complex · rule",
        "A comparison takes the whole path, but whole files that it names need no grading: a rule \
         approves them.",
    ),
    (
        "complex · graded",
        "Here every passage gets a grade: below 0.30 it is dropped, and from an average of 0.70 on \
         the answer is written.",
    ),
    (
        "refine",
        "The evidence is too weak at first (below 0.70): REFINE goes back to plan, which searches \
         with other words.",
    ),
    (
        "not found",
        "Nothing in the base speaks of this: after the last round the answer says so instead of \
         making something up.",
    ),
];

/// Shows every route on the demo knowledge base, one question after the other.
pub(super) fn run(
    demo: &Demo,
    settings: &Settings,
    start: &StartOptions,
) -> Result<(), CommandFailure> {
    let settings = Settings {
        sources: Vec::new(),
        ..settings.clone()
    };
    let mode = match &settings.llm {
        Some(_) => Mode::Llm,
        None => Mode::Offline,
    };
    let steps = ABOUT.into_iter().filter_map(|(route, about)| {
        let (_, question) = SAMPLES.iter().find(|(name, _)| *name == route)?;
        Some(WalkStep {
            question: (*question).to_owned(),
            about: about.replace("{call}", mode.call()),
        })
    });
    if demo.plain || plain::is_needed() {
        return plain::run(&settings, None, steps.collect(), start);
    }
    chat::run(&settings, None, steps.collect(), start)
}
