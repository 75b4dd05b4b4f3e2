use std::io::{IsTerminal, Write, stderr, stdin, stdout};
use std::path::Path;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::audit::Lookup;
use crate::config::Settings;
use crate::engine::{Conversation, Engine, Resume, SAMPLES};
use crate::report::markdown;
use crate::tui::{Sample, Setup, ThemeName, run as run_screen};

use super::interruption::interruptible_screen;
use super::output::Failure;
use super::own_files::own_files;
use super::split_file;

/// Opens the screen, with a recorded conversation or without, and stays until the user leaves it.
pub(super) fn run(settings: &Settings, resume: Option<Resume>) -> Result<(), Failure> {
    if !(stdin().is_terminal() && stdout().is_terminal()) {
        return Err(Failure::usage(
            "the screen needs a terminal; in a script use 'kb-agent ask QUESTION'",
        ));
    }
    interruptible_screen(async |cancel| converse(settings, resume, cancel).await)
}

async fn converse(
    settings: &Settings,
    resume: Option<Resume>,
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

/// The shortest name of a conversation in which something was asked.
fn name_to_resume(log: &Path, session: &str) -> Option<String> {
    Lookup::of(log).ok()?.short_name(session)
}
