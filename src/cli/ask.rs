use std::io::{IsTerminal, Read};

use clap::{Args, ValueEnum};
use tokio_util::sync::CancellationToken;

use super::catch_up::{SearchNeeds, bring_up_to_date};
use super::interruption::interruptible;
use super::output::{CommandFailure, print_json, print_notice, print_text};
use crate::config::Settings;
use crate::domain::{Citation, Complexity, Confidence, Wait, WarningKind, Warnings, dollars};
use crate::engine::{Engine, RunRequest};
use crate::protocol::{EventBody, Mode, RunEnd};
use crate::text::{plural, sanitize};

/// A question longer than this is a document.
const LONGEST_QUESTION: usize = 64 << 10;

/// Arguments of `ask`.
#[derive(Debug, Args)]
pub(super) struct Ask {
    /// Print the run's events, one JSON object a line
    #[arg(long)]
    json: bool,
    /// Take this route instead of the one the analysis chooses
    #[arg(long, value_enum, default_value_t = RouteOption::Auto)]
    route: RouteOption,
    /// The question; '-' reads it from standard input
    #[arg(value_name = "QUESTION", required = true)]
    question: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RouteOption {
    Auto,
    Chitchat,
    Simple,
    Complex,
}

impl RouteOption {
    fn forced(self) -> Option<Complexity> {
        match self {
            Self::Auto => None,
            Self::Chitchat => Some(Complexity::Chitchat),
            Self::Simple => Some(Complexity::Simple),
            Self::Complex => Some(Complexity::Complex),
        }
    }
}

/// Answers one question and ends.
pub(super) fn run(ask: &Ask, settings: &Settings) -> Result<(), CommandFailure> {
    let request = RunRequest {
        query: read_question(&ask.question)?,
        route: ask.route.forced(),
        ..RunRequest::default()
    };
    interruptible(async |cancel| answer(request, ask.json, settings, cancel).await)
}

async fn answer(
    request: RunRequest,
    json: bool,
    settings: &Settings,
    cancel: CancellationToken,
) -> Result<(), CommandFailure> {
    let engine = tokio::select! {
        engine = Engine::open(settings) => engine?,
        () = cancel.cancelled() => return Err(CommandFailure::interrupted()),
    };
    for notice in engine.notices() {
        print_notice(notice);
    }
    let embedding = bring_up_to_date(&engine.knowledge(), SearchNeeds::Dense, &cancel).await?;
    let mut run = engine.stream(request, cancel.clone()).await?;
    // Who looks at the terminal sees no answer come, and wants to know why.
    let tells_waits = !json && std::io::stderr().is_terminal();
    while let Some(wait) = run.next_wait().await {
        if tells_waits && matches!(wait, Wait::Retry { .. }) {
            print_notice(&wait.line_of(None, 0.0));
        }
    }
    // A program gets the answer whole: what a model thinks aloud may be taken back until then.
    let is_watched = std::io::stdout().is_terminal();
    let mut end = None;
    let mut shown = String::new();
    let mut mode = None;
    let (mut citations, mut confidence) = (Vec::new(), None);
    let mut warnings = Warnings::default();
    // A reader that goes away stops the run, and the run still ends as every run does.
    let mut written = Ok(());
    while let Some(event) = run.next_event().await {
        let event = engine.published(event);
        let printed = match (&event.body, json) {
            _ if written.is_err() => Ok(()),
            (_, true) => print_json(&event),
            (EventBody::AnswerDelta { text }, _) if is_watched => {
                shown.push_str(text);
                print_text(text)
            }
            (EventBody::AnswerFinished { text, .. }, _) if !is_watched => {
                shown.clone_from(text);
                print_text(text)
            }
            // Some of what was shown turned out to be no answer.
            (EventBody::AnswerFinished { text, .. }, _) if !text.starts_with(shown.trim_end()) => {
                print_text("\n\n").and_then(|()| print_text(text))
            }
            // What follows begins on a line of its own, also after an answer that was cut off.
            (EventBody::RunFinished { .. }, _) if !shown.is_empty() => print_text("\n"),
            _ => Ok(()),
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
            EventBody::RunStarted { mode: started, .. } => mode = Some(started),
            EventBody::AnswerFinished {
                citations: all,
                confidence: measured,
                ..
            } => (citations, confidence) = (all, measured),
            EventBody::Warning { code, message } if !json => {
                tracing::warn!("{message}");
                warnings.add(&code, &message);
            }
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
    let lines = warnings.at_the_answer().filter(|kind| !said(&kind.code));
    let lines: Vec<_> = lines.map(WarningKind::line).collect();
    embedding.end().await;
    written?;
    for line in &lines {
        print_notice(line);
    }
    if let Some(line) = run.complaint() {
        print_notice(line);
    }
    if let (Some(end), false) = (&end, json) {
        let about = (mode, confidence);
        print_text(footer(end, about, &citations, warnings.count()))?;
    }
    run.answer(end).await?;
    Ok(())
}

fn read_question(words: &[String]) -> Result<String, CommandFailure> {
    let question = if words == ["-"] {
        let mut bytes = Vec::new();
        std::io::stdin()
            .take(LONGEST_QUESTION as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| {
                CommandFailure::failed(format!("standard input cannot be read: {error}"))
            })?;
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

/// The sources, and one line that says how the answer came about.
fn footer(
    end: &EventBody,
    (mode, confidence): (Option<Mode>, Option<Confidence>),
    citations: &[Citation],
    warnings: usize,
) -> String {
    let Some(end) = RunEnd::from_body(end).filter(|end| end.outcome.is_complete()) else {
        return String::new();
    };
    let mut text = String::new();
    if !citations.is_empty() {
        text.push('\n');
    }
    for citation in citations {
        text.push_str(&format!(
            "[{}] {}:{}\n",
            citation.n,
            sanitize(&citation.source),
            citation.location()
        ));
    }
    let engine = match mode {
        Some(Mode::Offline) => "offline, extractive · ",
        _ => "",
    };
    let route = end.route.map_or("unknown", Complexity::as_str);
    let about = if end.spent.estimated { "~" } else { "" };
    let tokens = match end.tokens() {
        0 => String::new(),
        tokens => format!(" · {about}{}", plural(tokens as usize, "token")),
    };
    let warnings = match warnings {
        0 => String::new(),
        warnings => format!(" · {}", plural(warnings, "warning")),
    };
    let cost = match (end.spent.cost_usd, mode) {
        (Some(cost), _) => format!(" · {about}{}", dollars(cost)),
        (None, Some(Mode::Llm)) => " · cost unknown".to_owned(),
        (None, _) => String::new(),
    };
    let calls = mode.unwrap_or(Mode::Llm).calls(end.calls);
    let confidence = confidence.map_or_else(String::new, |confidence| {
        format!("{} · ", confidence.level().advice())
    });
    text.push_str(&format!(
        "\n— {confidence}{engine}{route} · {calls}, {} saved{tokens}{cost}{warnings} · {:.1} s\n",
        end.saved,
        end.ms / 1000.0
    ));
    text
}
