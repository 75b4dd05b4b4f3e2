use std::io::{IsTerminal, Read};

use clap::{Args, ValueEnum};
use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::catch_up::{ProgressForm, SearchNeeds, bring_up_to_date};
use super::interruption::{interruptible, unless_cancelled};
use super::narrator::{Detail, Narrator};
use super::output::{CommandFailure, print_json, print_notice, print_notices, print_text};
use super::rerun::{RerunArgs, refuse_other_base};
use crate::config::Settings;
use crate::domain::{Complexity, Outcome, Wait, WarningKind};
use crate::engine::{Engine, RunRequest};
use crate::protocol::EventBody;
use crate::text::OrTrouble;

/// A question longer than this is a document.
pub(super) const LONGEST_QUESTION: usize = 64 << 10;

/// Arguments of `ask`.
#[derive(Debug, Args)]
pub(super) struct Ask {
    /// Print the run's events, one JSON object a line
    #[arg(long)]
    json: bool,
    /// Take this route instead of the one the analysis chooses
    #[arg(long, value_enum, default_value_t = RouteOption::Auto)]
    route: RouteOption,
    #[command(flatten)]
    rerun: RerunArgs,
    /// The question; '-' reads it from standard input
    #[arg(value_name = "QUESTION", required_unless_present = "from")]
    question: Vec<String>,
}

/// The way that a question is to go.
#[derive(Debug, Clone, Copy, Default, ValueEnum, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(rename_all = "lowercase")]
pub(super) enum RouteOption {
    #[default]
    Auto,
    Chitchat,
    Simple,
    Complex,
}

impl RouteOption {
    /// The route that it forces; `None` leaves it to the analysis.
    pub(super) fn forced(self) -> Option<Complexity> {
        match self {
            Self::Auto => None,
            Self::Chitchat => Some(Complexity::Chitchat),
            Self::Simple => Some(Complexity::Simple),
            Self::Complex => Some(Complexity::Complex),
        }
    }
}

/// Answers one question and ends.
///
/// A base that is named on the command line may be another one than that of a run which begins again.
pub(super) fn run(
    ask: &Ask,
    settings: &Settings,
    is_base_named: bool,
) -> Result<(), CommandFailure> {
    let request = match ask.rerun.request(&settings.audit_log)? {
        Some(request) => request,
        None => RunRequest {
            query: read_question(&ask.question)?,
            route: ask.route.forced(),
            single: true,
            ..RunRequest::default()
        },
    };
    interruptible(async |cancel| answer(request, ask.json, is_base_named, settings, cancel).await)
}

async fn answer(
    request: RunRequest,
    json: bool,
    is_base_named: bool,
    settings: &Settings,
    cancel: CancellationToken,
) -> Result<(), CommandFailure> {
    let engine = unless_cancelled(&cancel, Engine::open(settings)).await??;
    print_notices(engine.notices());
    let (knowledge, form) = (engine.knowledge(), ProgressForm::Bar);
    if let Some(again) = request.rerun.as_deref().filter(|_| !is_base_named) {
        refuse_other_base(again, &knowledge.source_paths())?;
    }
    let embedding = bring_up_to_date(&knowledge, SearchNeeds::Dense, form, &cancel).await?;
    let mut run = engine.stream(request, cancel.clone()).await?;
    // Who looks at the terminal sees no answer come, and wants to know why.
    let tells_waits = !json && std::io::stderr().is_terminal();
    while let Some(wait) = run.next_wait().await {
        if tells_waits && matches!(wait, Wait::Retry { .. }) {
            print_notice(&wait.line_of(None, 0.0));
        }
    }
    let mut end = None;
    let mut narrator: Option<Narrator> = None;
    // A reader that goes away stops the run, and the run still ends as every run does.
    let mut written = Ok(());
    while let Some(event) = run.next_event().await {
        let event = engine.published(event);
        if narrator.is_none() {
            narrator = Narrator::begin(&event, Detail::Answer);
        }
        let text = narrator.as_mut().map(|narrator| narrator.render(&event));
        let printed = match text {
            _ if written.is_err() => Ok(()),
            _ if json => print_json(&event),
            Some(text) => print_text(text),
            None => Ok(()),
        };
        if let Err(error) = printed {
            written = Err(error);
            cancel.cancel();
        }
        match event.body {
            EventBody::Waiting {
                node,
                wait: wait @ Wait::Retry { .. },
            } if tells_waits => print_notice(&wait.line_of(Some(node), 0.0)),
            EventBody::Warning { message, .. } if !json => tracing::warn!("{message}"),
            last @ EventBody::RunFinished { .. } => end = Some(last),
            _ => {}
        }
    }
    // What was said of the index while it was brought up to date is not said again.
    let said = |code: &str| match code {
        "embedding_failed" => embedding.has_failed(),
        "index_incomplete" => embedding.has_warned(),
        _ => false,
    };
    let narrator = narrator.filter(|_| !json);
    let kinds = narrator.iter().flat_map(Narrator::warnings);
    let lines = kinds.filter(|kind| !said(&kind.code));
    let lines: Vec<_> = lines.map(WarningKind::line).collect();
    embedding.end().await;
    written?;
    print_notices(&lines);
    print_notices(run.complaint());
    if let (Some(end), Some(narrator)) = (&end, &narrator)
        && narrator
            .record()
            .summary
            .outcome
            .is_some_and(Outcome::is_complete)
    {
        let sources = narrator.sources();
        let space = if sources.is_empty() { "" } else { "\n" };
        print_text(format!("{space}{sources}\n— {}\n", narrator.cost(end)))?;
    }
    let answer = run.answer(end).await;
    engine.end().await;
    let answer = answer?;
    // That nothing is in the base is said already; small talk needs nothing of it.
    if answer.outcome == Outcome::NotFound && knowledge.status().documents == 0 {
        return Err(CommandFailure::reported());
    }
    Ok(())
}

fn read_question(words: &[String]) -> Result<String, CommandFailure> {
    let question = if words == ["-"] {
        let mut bytes = Vec::new();
        std::io::stdin()
            .take(LONGEST_QUESTION as u64 + 1)
            .read_to_end(&mut bytes)
            .trouble("standard input cannot be read")?;
        String::from_utf8(bytes).map_err(|_| {
            CommandFailure::usage("standard input is not UTF-8 text: give the question as text")
        })?
    } else {
        words.join(" ")
    };
    let question = question.trim();
    if question.is_empty() {
        return Err(CommandFailure::usage(
            "the question is empty: give it as an argument, or '-' and text on standard input",
        ));
    }
    if question.len() > LONGEST_QUESTION {
        return Err(CommandFailure::usage(format!(
            "the question is longer than {} kB: ask about a document with --kb instead",
            LONGEST_QUESTION >> 10
        )));
    }
    Ok(question.to_owned())
}
