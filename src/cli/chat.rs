use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::interruption::{interruptible_screen, unless_cancelled};
use super::labels::read_labels;
use super::output::{CommandFailure, print_json};
use super::resumable::{EndedConversation, StartOptions, name_of, take_up};
use super::runs::{LogArgs, with_log};
use super::{plain, runs};
use crate::audit::Lookup;
use crate::config::Settings;
use crate::engine::{
    Conversation, EngineChannels, EngineError, Opening, Resume, SAMPLES, channels,
};
use crate::files::{read_text_bounded, write_atomic};
use crate::protocol::{JobModels, Mode, RecordedRun, RunSummary};
use crate::report::markdown;
use crate::text::one_line;
use crate::tui::{OwnFiles, Sample, Setup, Split, ThemeName, WalkStep, replay, run as run_screen};

/// Opens the screen, with a recorded conversation or without, and stays until the user leaves it;
/// `walk` asks itself first. At the end one line says how to go on with it.
pub(super) fn run(
    settings: &Settings,
    resume: Option<Resume>,
    walk: Vec<WalkStep>,
    start: &StartOptions,
) -> Result<(), CommandFailure> {
    interruptible_screen(async |cancel| {
        let left = Box::pin(converse(settings, resume, walk, start, cancel)).await?;
        start.print_resume_command(&settings.audit_log, &left);
        Ok(())
    })
}

async fn converse(
    settings: &Settings,
    resume: Option<Resume>,
    walk: Vec<WalkStep>,
    start: &StartOptions,
    cancel: CancellationToken,
) -> Result<EndedConversation, CommandFailure> {
    let opening = unless_cancelled(&cancel, Opening::begin(settings)).await??;
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
            let mut engine = unless_cancelled(&cancel, opening.finish()).await??;
            let resumed = take_up(&mut engine, Some(which), None).await?;
            engine.notices().clone_into(&mut notices);
            let begun = Conversation::start(ends, engine);
            (resumed, tokio::spawn(std::future::ready(begun)))
        }
    };
    let setup = Setup {
        endpoint: profile.endpoint,
        samples: samples
            .iter()
            .map(|(route, text)| Sample {
                route,
                text: (*text).to_owned(),
            })
            .collect(),
        notices: start.notices.iter().cloned().chain(notices).collect(),
        is_opening: resumed.is_none(),
        resumed,
        walk,
        ..setup(identity.mode, models, settings)
    };
    let split = setup.split.clone();
    let before = *split.borrow();
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
    let left = match begun.await {
        Ok(Ok(conversation)) => EndedConversation::close(conversation).await,
        Err(error) if error.is_panic() => return Err(CommandFailure::failed("the engine stopped")),
        // The person left before the index was open, and nobody waits for it any more.
        Ok(Err(EngineError::Cancelled)) | Err(_) => EndedConversation::default(),
        Ok(Err(error)) => return Err(error.into()),
    };
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

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Lines instead of the screen
    #[arg(long)]
    plain: bool,
}

/// What each sample shows, by the way it goes.
const ABOUT: [(&str, &str); 7] = [
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
        "few_context",
        "One or two passages need no grading either. The fourth rule, high_vector_score, needs a model: \
         offline no search is one by meaning alone.",
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
pub(super) fn run_demo(
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
    run(&settings, None, steps.collect(), start)
}

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    #[command(flatten)]
    log: LogArgs,
    /// Another log than KB_AGENT_AUDIT_LOG, and a run: its id (any unique prefix or suffix)
    /// or 'last' [default: last]
    #[arg(value_name = "LOG|RUN", num_args = 0..=2)]
    names: Vec<String>,
    /// Print the runs, newest first
    #[arg(long, conflicts_with = "json")]
    list: bool,
    /// Print the events of this run, one JSON object a line
    #[arg(long, value_name = "RUN")]
    json: Option<String>,
}

/// Opens a recorded run in the screen, step by step; no call is made.
pub(super) fn run_replay(wanted: &ReplayArgs, settings: &Settings) -> Result<(), CommandFailure> {
    let (log, run) = wanted.log_and_run()?;
    let settings = &with_log(log, &wanted.log.settings(settings)?)?;
    let log = &settings.audit_log;
    if wanted.list {
        return runs::list(log, None, false);
    }
    let lookup = Lookup::open(log)?;
    if lookup.runs().is_empty() {
        let log = log.display();
        return Err(CommandFailure::failed(format!(
            "no runs are recorded in {log}"
        )));
    }
    let events = lookup.events(&[lookup.run(run)?])?;
    if wanted.json.is_some() {
        for event in events {
            print_json(&event)?;
        }
        return Ok(());
    }
    if plain::is_needed() {
        return Err(CommandFailure::usage(
            "the screen needs a terminal that can be drawn on; 'kb-agent replay --json RUN' prints a run's events",
        ));
    }
    let summary = lookup.run(run)?;
    let labels = read_labels(log).of_run(&summary.id);
    show_run(RecordedRun { events, labels }, summary, settings)
}

impl ReplayArgs {
    /// The log that stands before the run, and what the run is called.
    fn log_and_run(&self) -> Result<(Option<&Path>, &str), CommandFailure> {
        let (log, named) = match self.names.as_slice() {
            [] => (None, None),
            [one] if is_file_name(one) => (Some(Path::new(one)), None),
            [one] => (None, Some(one)),
            [log, run, ..] => (Some(Path::new(log)), Some(run)),
        };
        if let (Some(named), Some(_)) = (named, &self.json) {
            let why = format!("--json names the run already; what is '{named}'?");
            return Err(CommandFailure::usage(why));
        }
        let run = named.or(self.json.as_ref());
        Ok((log, run.map_or("last", String::as_str)))
    }
}

/// Whether this names a log and no run: a file that is there, or what looks like one.
fn is_file_name(name: &str) -> bool {
    let path = Path::new(name);
    path.is_file() || path.components().count() > 1 || path.extension().is_some()
}

/// What every screen is set up by.
fn setup(mode: Mode, models: JobModels, settings: &Settings) -> Setup {
    Setup {
        theme: ThemeName::parse(&settings.theme).unwrap_or_default(),
        no_color: settings.no_color,
        mode,
        models,
        limits: settings.limits,
        own: own_files(settings),
        mouse: settings.mouse,
        split: watch::Sender::new(read_split(settings)),
        markdown,
        ..Setup::default()
    }
}

/// What a screen that shows one run is set up by.
pub(super) fn setup_of_run(run: &RunSummary, settings: &Settings) -> Setup {
    setup(run.mode, JobModels::same_for_all(&run.model), settings)
}

fn show_run(
    recorded: RecordedRun,
    run: &RunSummary,
    settings: &Settings,
) -> Result<(), CommandFailure> {
    let setup = setup_of_run(run, settings);
    interruptible_screen(async |cancel| {
        let ((commands, updates), ends) = channels();
        let reading = tokio::spawn(ends.read_documents(settings.clone()));
        let shown = replay(setup, recorded, commands, updates, cancel.clone()).await;
        reading.abort();
        if cancel.is_cancelled() {
            return Err(CommandFailure::interrupted());
        }
        shown.map_err(CommandFailure::failed)
    })
}

// What the screen is set up by: the user's own themes and keys, in the configuration folder, and where the borders
// between panes stood the last time, in the data folder.

/// The folder of themes, and the file of keys.
const THEMES: &str = "themes";
const KEYMAP: &str = "keymap.toml";
/// How large a file may be, and how many themes are looked at.
const LARGEST: u64 = 256 * 1024;
const MOST_THEMES: usize = 200;
/// How large the file of the borders may be.
const LARGEST_SPLIT: u64 = 4096;

/// The user's themes and keys; what cannot be read is reported, and nothing else is missed.
pub(super) fn own_files(settings: &Settings) -> OwnFiles {
    let mut own = OwnFiles {
        theme: ThemeName::parse(&settings.theme)
            .is_none()
            .then(|| settings.theme.clone()),
        ..OwnFiles::default()
    };
    let Some(folder) = &settings.config_dir else {
        return own;
    };
    own.keymap = read(&folder.join(KEYMAP), KEYMAP, &mut own.unreadable);
    for name in names(&folder.join(THEMES)) {
        let shown = format!("{THEMES}/{name}.toml");
        let source = read(&folder.join(&shown), &shown, &mut own.unreadable);
        own.themes.extend(source.map(|source| (name, source)));
    }
    own
}

fn read(path: &Path, shown: &str, unreadable: &mut Vec<String>) -> Option<String> {
    match read_text_bounded(path, LARGEST) {
        Ok(text) => Some(text),
        Err(error) if error.is_missing() => None,
        Err(error) => {
            unreadable.push(format!("{shown}: {}", one_line(&error.to_string(), 200)));
            None
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(name.strip_suffix(".toml")?.to_owned())
        })
        .filter(|name| crate::config::is_theme_name(name))
        .take(MOST_THEMES)
        .collect();
    names.sort();
    names
}

fn split_path(settings: &Settings) -> PathBuf {
    settings.data_dir.join("screen.json")
}

/// Where the borders between panes stood the last time; where they stand at first if the file cannot be read, which is no
/// reason not to start.
pub(super) fn read_split(settings: &Settings) -> Split {
    let text = read_text_bounded(&split_path(settings), LARGEST_SPLIT).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Remembers where the borders between panes stand.
pub(super) fn remember_split(settings: &Settings, split: Split) {
    let written = serde_json::to_vec(&split)
        .map_err(std::io::Error::from)
        .and_then(|json| write_atomic(&split_path(settings), &json));
    if let Err(error) = written {
        tracing::warn!("where the panes stand is not remembered: {error}");
    }
}
