use std::io::{IsTerminal, stdin, stdout};

use crate::config::Settings;
use crate::engine::{Conversation, Engine, SAMPLES};
use crate::tui::{Sample, Setup, ThemeName, run as run_screen};

use super::output::Failure;

/// Opens the screen and stays until the user leaves it.
pub(super) fn run(settings: &Settings) -> Result<(), Failure> {
    if !(stdin().is_terminal() && stdout().is_terminal()) {
        return Err(Failure::usage(
            "the screen needs a terminal; in a script use 'kb-agent ask QUESTION'",
        ));
    }
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::failed)?;
    let result = runtime.block_on(converse(settings));
    // Nothing is left to wait for but a tool call whose run is gone.
    runtime.shutdown_background();
    result
}

async fn converse(settings: &Settings) -> Result<(), Failure> {
    let engine = Engine::open(settings).await?;
    let identity = engine.identity();
    let samples = if engine.is_demo() { SAMPLES } else { &[] };
    let setup = Setup {
        theme: ThemeName::parse(&settings.theme).unwrap_or_default(),
        no_color: settings.no_color,
        mode: identity.mode,
        model: identity.model,
        limits: settings.limits,
        samples: samples
            .iter()
            .map(|(route, text)| Sample {
                route,
                text: (*text).to_owned(),
            })
            .collect(),
        notices: engine.notices().to_vec(),
    };
    let (conversation, commands, updates) = Conversation::begin(engine)?;
    let result = run_screen(setup, commands, updates).await;
    conversation.end().await;
    result.map_err(Failure::failed)
}
