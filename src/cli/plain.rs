//! Plain mode: one column, a line for each thing that happens, everything asked by typed lines.
//!
//! For terminals that cannot move a cursor, for screen readers, for pipes. It reads the same
//! stream of events as the screen.

mod command;
mod conversation;
mod conversation_info;
mod input;
mod listing;
mod narrator;
mod samples;

use std::io::{IsTerminal, stdin, stdout};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::engine::{Conversation, Engine, Resume};
use crate::tui::WalkStep;

use super::catch_up::{SearchNeeds, bring_up_to_date_showing};
use super::chat::{name_of, take_up};
use super::interruption::interruptible_lines;
use super::output::{CommandFailure, print_notice, print_text};
use super::progress::ProgressForm;
use super::resumable::{EndedConversation, StartOptions};
use conversation::{PendingReply, Plain};
use conversation_info::ConversationInfo;
use input::StandardInput;
use listing::{greeting, runs_of};
use samples::NumberedSamples;

/// Answers what is typed, line by line, until the lines end; `walk` is asked before the first.
pub(super) fn run(
    settings: &Settings,
    resume: Option<Resume>,
    walk: Vec<WalkStep>,
    start: &StartOptions,
) -> Result<(), CommandFailure> {
    interruptible_lines(async |cancel, interrupts| {
        let left = converse(settings, resume, walk, cancel, interrupts).await?;
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
    let names = [
        "",
        "dumb",
        "unknown",
        "emacs",
        "glasstty",
        "lpr",
        "printer",
        "network",
        "ethernet",
        "dialup",
        "plugboard",
        "switch",
    ];
    names.contains(&term.as_str()) || term.starts_with("dumb-")
}

async fn converse(
    settings: &Settings,
    resume: Option<Resume>,
    walk: Vec<WalkStep>,
    cancel: CancellationToken,
    mut interrupts: mpsc::Receiver<()>,
) -> Result<EndedConversation, CommandFailure> {
    let opened = async {
        let mut engine = Engine::open(settings).await?;
        let resumed = take_up(&mut engine, resume, name_of(&walk)).await?;
        for notice in engine.notices() {
            print_notice(notice);
        }
        let shows = ProgressForm::Lines;
        let knowledge = engine.knowledge();
        let embedding =
            bring_up_to_date_showing(&knowledge, SearchNeeds::Dense, shows, &cancel).await?;
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
    let samples = NumberedSamples::for_base(engine.profile().is_demo);
    let greeting = greeting(&engine);
    let about = ConversationInfo::from_engine(&engine, settings.limits);
    let (conversation, commands, mut updates) = Conversation::begin(engine)?;
    let mut plain = Plain {
        commands,
        is_typed,
        samples,
        about,
        walk: walk.into(),
        route: None,
        runs: resumed.map_or_else(Vec::new, |recorded| runs_of(&recorded.events)),
        doing: PendingReply::Nothing,
    };
    if is_typed {
        print_text(&greeting)?;
    }
    let mut input = StandardInput::begin()?;
    let result = plain
        .answer_lines(&mut input, &mut updates, &mut interrupts, &cancel)
        .await;
    drop((plain, updates));
    let left = EndedConversation::close(conversation).await;
    result.map(|()| left)
}
