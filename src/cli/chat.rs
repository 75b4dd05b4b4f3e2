use std::io::{Write, stderr};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::engine::{Conversation, Engine, Resume, SAMPLES};
use crate::report::markdown;
use crate::tui::{Sample, Setup, ThemeName, WalkStep, run as run_screen};

use super::interruption::interruptible_screen;
use super::output::Failure;
use super::own_files::own_files;
use super::resumable::name_to_resume;
use super::split_file;

/// Opens the screen, with a recorded conversation or without, and stays until the user leaves it;
/// `walk` asks itself first.
pub(super) fn run(
    settings: &Settings,
    resume: Option<Resume>,
    walk: Vec<WalkStep>,
) -> Result<(), Failure> {
    interruptible_screen(async |cancel| converse(settings, resume, walk, cancel).await)
}

async fn converse(
    settings: &Settings,
    resume: Option<Resume>,
    walk: Vec<WalkStep>,
    cancel: CancellationToken,
) -> Result<(), Failure> {
    let mut engine = tokio::select! {
        engine = Engine::open(settings) => engine?,
        () = cancel.cancelled() => return Err(Failure::interrupted()),
    };
    let resumed = match resume {
        Some(which) => Some(engine.resume(which).await?),
        None => None,
    };
    let identity = engine.identity();
    let samples = if engine.is_demo() { SAMPLES } else { &[] };
    let before = split_file::split(settings);
    let split = watch::Sender::new(before);
    let setup = Setup {
        theme: ThemeName::parse(&settings.theme).unwrap_or_default(),
        no_color: settings.no_color,
        mode: identity.mode,
        model: identity.model,
        endpoint: engine.endpoint().map(str::to_owned),
        limits: settings.limits,
        samples: samples
            .iter()
            .map(|(route, text)| Sample {
                route,
                text: (*text).to_owned(),
            })
            .collect(),
        notices: engine.notices().to_vec(),
        resumed,
        own: own_files(settings),
        mouse: settings.mouse,
        split: split.clone(),
        markdown,
        walk,
    };
    let (conversation, commands, updates) = Conversation::begin(engine)?;
    let result = run_screen(setup, commands, updates, cancel.clone()).await;
    let after = *split.borrow();
    if after != before {
        split_file::remember(settings, after);
    }
    let session = conversation.end().await;
    if cancel.is_cancelled() {
        // A terminal that went has nobody to be told of it.
        return Err(Failure::interrupted());
    }
    result.map_err(Failure::failed)?;
    if let Some(name) = name_to_resume(&settings.audit_log, &session) {
        let _ = writeln!(stderr(), "resume: kb-agent -c {name}");
    }
    Ok(())
}
