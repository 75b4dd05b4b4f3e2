use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::engine::{
    Conversation, Engine, EngineChannels, EngineError, Opening, Resume, SAMPLES, channels,
};
use crate::protocol::RecordedSession;
use crate::report::markdown;
use crate::tui::{Sample, Setup, ThemeName, WalkStep, run as run_screen};

use super::interruption::interruptible_screen;
use super::output::CommandFailure;
use super::resumable::{EndedConversation, StartOptions};
use super::screen_files::{own_files, read_split, remember_split};

/// What a conversation that begins with these questions is called in lists, where it is not called
/// by its first: those are the demo's.
pub(super) fn name_of(walk: &[WalkStep]) -> Option<&'static str> {
    (!walk.is_empty()).then_some("demo")
}

/// Has the engine go on with a recorded conversation, or begin one of that name.
pub(super) async fn take_up(
    engine: &mut Engine,
    resume: Option<Resume>,
    name: Option<&'static str>,
) -> Result<Option<RecordedSession>, EngineError> {
    if let Some(name) = name {
        engine.name_conversation(name).await;
    }
    match resume {
        Some(which) => engine.resume(which).await.map(Some),
        None => Ok(None),
    }
}

/// Opens the screen, with a recorded conversation or without, and stays until the user leaves it;
/// `walk` asks itself first. At the end one line says how to go on with it.
pub(super) fn run(
    settings: &Settings,
    resume: Option<Resume>,
    walk: Vec<WalkStep>,
    start: &StartOptions,
) -> Result<(), CommandFailure> {
    interruptible_screen(async |cancel| {
        let left = converse(settings, resume, walk, cancel).await?;
        start.print_resume_command(&settings.audit_log, &left);
        Ok(())
    })
}

async fn converse(
    settings: &Settings,
    resume: Option<Resume>,
    walk: Vec<WalkStep>,
    cancel: CancellationToken,
) -> Result<EndedConversation, CommandFailure> {
    let opening = tokio::select! {
        opening = Opening::begin(settings) => opening?,
        () = cancel.cancelled() => return Err(CommandFailure::interrupted()),
    };
    let (identity, models) = (opening.identity(), opening.models());
    let profile = opening.profile().clone();
    let samples = if profile.is_demo { SAMPLES } else { &[] };
    let mut notices = opening.notices().to_vec();
    let ((commands, updates), ends) = channels();
    let leave = cancel.child_token();
    let name = name_of(&walk);
    // A conversation that goes on is shown from its first picture.
    let (resumed, begun) = match resume {
        None => (
            None,
            tokio::spawn(begin(opening, name, ends, leave.clone())),
        ),
        Some(which) => {
            let mut engine = tokio::select! {
                engine = opening.finish() => engine?,
                () = cancel.cancelled() => return Err(CommandFailure::interrupted()),
            };
            let resumed = take_up(&mut engine, Some(which), None).await?;
            engine.notices().clone_into(&mut notices);
            let begun = Conversation::start(ends, engine);
            (resumed, tokio::spawn(std::future::ready(begun)))
        }
    };
    let before = read_split(settings);
    let split = watch::Sender::new(before);
    let setup = Setup {
        theme: ThemeName::parse(&settings.theme).unwrap_or_default(),
        no_color: settings.no_color,
        mode: identity.mode,
        models,
        endpoint: profile.endpoint,
        limits: settings.limits,
        samples: samples
            .iter()
            .map(|(route, text)| Sample {
                route,
                text: (*text).to_owned(),
            })
            .collect(),
        notices,
        is_opening: resumed.is_none(),
        resumed,
        own: own_files(settings),
        mouse: settings.mouse,
        split: split.clone(),
        markdown,
        walk,
    };
    let result = run_screen(setup, commands, updates, leave.clone()).await;
    let after = *split.borrow();
    if after != before {
        remember_split(settings, after);
    }
    // Only the task itself ends the screen without the program being interrupted.
    let has_failed = leave.is_cancelled() && !cancel.is_cancelled();
    if !has_failed && !begun.is_finished() {
        begun.abort();
    }
    let conversation = match begun.await {
        // What was being opened notices that nobody waits for it any more.
        Ok(Err(EngineError::Cancelled)) => None,
        Ok(begun) => Some(begun),
        Err(error) if error.is_panic() => return Err(CommandFailure::failed("the engine stopped")),
        Err(_) => None,
    };
    let Some(conversation) = conversation else {
        // The person left before the index was open.
        return match result {
            Ok(()) if !cancel.is_cancelled() => Ok(EndedConversation::default()),
            Ok(()) => Err(CommandFailure::interrupted()),
            Err(error) => Err(CommandFailure::failed(error)),
        };
    };
    let left = EndedConversation::close(conversation?).await;
    if cancel.is_cancelled() {
        // A terminal that went cannot show it.
        return Err(CommandFailure::interrupted());
    }
    result.map_err(CommandFailure::failed)?;
    Ok(left)
}

/// Opens the index and starts the conversation behind the screen, which is closed if that fails.
async fn begin(
    opening: Opening,
    name: Option<&'static str>,
    ends: EngineChannels,
    leave: CancellationToken,
) -> Result<Conversation, EngineError> {
    let starting = async {
        let mut engine = opening.finish().await?;
        take_up(&mut engine, None, name).await?;
        Conversation::start(ends, engine)
    };
    let begun = starting.await;
    if begun.is_err() {
        leave.cancel();
    }
    begun
}
