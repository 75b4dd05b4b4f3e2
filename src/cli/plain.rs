//! Plain mode: one column, a line for each thing that happens, everything asked by typed lines.
//!
//! For terminals that cannot move a cursor, for screen readers, for pipes. It reads the same
//! stream of events as the screen.

mod conversation;
mod input;
mod listing;

use std::io::{IsTerminal, stdin, stdout};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use conversation::Plain;
use input::StandardInput;

use super::catch_up::{ProgressForm, SearchNeeds, bring_up_to_date};
use super::interruption::interruptible_lines;
use super::narrator::Detail;
use super::output::{CommandFailure, print_notices, print_text};
use super::resumable::{EndedConversation, StartOptions, name_of, take_up};
use crate::config::Settings;
use crate::engine::{Conversation, Engine, Resume};
use crate::protocol::{Event, Mode, RunRecord};
use crate::text::{one_line, plural};
use crate::tui::WalkStep;

/// Answers what is typed, line by line, until the lines end; `walk` is asked before the first.
pub(super) fn run(
    settings: &Settings,
    resume: Option<Resume>,
    walk: Vec<WalkStep>,
    start: &StartOptions,
) -> Result<(), CommandFailure> {
    let detail = if start.is_quiet {
        Detail::Answer
    } else {
        Detail::Nodes
    };
    interruptible_lines(async |cancel, interrupts| {
        let talk = converse(settings, resume, walk, detail, cancel, interrupts);
        let left = Box::pin(talk).await?;
        if stdin().is_terminal() {
            start
                .in_lines()
                .print_resume_command(&settings.audit_log, &left);
        }
        Ok(())
    })
}

/// Whether a terminal is no place for the screen, so that plain mode takes its place.
pub(super) fn is_needed() -> bool {
    let has_terminal = stdin().is_terminal() && stdout().is_terminal();
    !has_terminal || cfg!(unix) && is_dumb()
}

/// Whether the terminal cannot move its cursor, by what it says.
fn is_dumb() -> bool {
    let term = std::env::var("TERM").unwrap_or_default();
    // The names that terminfo knows without an address for the cursor.
    let names = "dumb unknown emacs glasstty lpr printer network ethernet dialup plugboard switch";
    term.is_empty() || names.split(' ').any(|name| name == term) || term.starts_with("dumb-")
}

async fn converse(
    settings: &Settings,
    resume: Option<Resume>,
    walk: Vec<WalkStep>,
    detail: Detail,
    cancel: CancellationToken,
    mut interrupts: mpsc::Receiver<()>,
) -> Result<EndedConversation, CommandFailure> {
    let opened = async {
        let mut engine = Engine::open(settings).await?;
        let resumed = take_up(&mut engine, resume, name_of(&walk)).await?;
        print_notices(engine.notices());
        let (knowledge, form) = (engine.knowledge(), ProgressForm::Lines);
        let embedding = bring_up_to_date(&knowledge, SearchNeeds::Dense, form, &cancel).await?;
        // What is left of it goes on behind the conversation.
        embedding.end().await;
        Ok::<_, CommandFailure>((engine, resumed))
    };
    let (engine, resumed) = tokio::select! {
        opened = opened => opened?,
        () = cancel.cancelled() => return Err(CommandFailure::interrupted()),
        _ = interrupts.recv() => return Err(CommandFailure::interrupted()),
    };
    let is_typed = stdin().is_terminal();
    if is_typed && detail == Detail::Nodes {
        print_text(greeting(&engine))?;
    }
    let (conversation, commands, updates) = Conversation::begin(engine)?;
    let mut plain = Plain {
        commands,
        updates,
        interrupts,
        input: StandardInput::begin()?,
        is_typed,
        is_interrupted: false,
        detail,
        walk: walk.into(),
        route: None,
        last: resumed.and_then(|recorded| last_run(&recorded.events)),
    };
    let end = tokio::select! {
        biased;
        () = cancel.cancelled() => CommandFailure::interrupted(),
        end = plain.answer_lines() => end,
    };
    drop(plain);
    let left = EndedConversation::close(conversation).await;
    if end.is_finished() {
        Ok(left)
    } else {
        Err(end)
    }
}

/// What is said at the beginning.
fn greeting(engine: &Engine) -> String {
    let knowledge = engine.knowledge().status();
    let mode = match engine.identity().mode {
        Mode::Offline => "offline, extractive".to_owned(),
        Mode::Llm => engine.models().in_words(),
    };
    format!(
        "kb-agent in plain mode over {}: {} in {}; {mode}.\n\
         Type a question; /help lists the commands, Ctrl+D leaves.\n",
        one_line(&knowledge.name, 60),
        plural(knowledge.documents, "document"),
        plural(knowledge.chunks, "passage"),
    )
}

/// The run that began last among these events.
fn last_run(events: &[Event]) -> Option<RunRecord> {
    let mut last_first = events.iter().enumerate().rev();
    let begun = last_first.find_map(|(at, event)| Some((at, RunRecord::begin(event)?)));
    let (at, mut run) = begun?;
    for event in &events[at + 1..] {
        if event.run == run.summary.id {
            run.apply(event);
        }
    }
    Some(run)
}
