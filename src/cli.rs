//! The command line: one subcommand a file.
//!
//! Standard output carries results only; everything else is one line on standard error. Exit
//! codes: 0 done, 1 failed, 2 bad usage or setting, 130 interrupted.

mod ask;
mod catch_up;
mod chat;
mod diagnostics;
mod doctor;
mod eval;
mod export;
mod graph;
mod help;
mod index;
mod interruption;
mod label;
mod labels;
mod mcp;
mod narrator;
mod output;
mod plain;
mod rerun;
mod resumable;
mod runs;
mod search;
mod stats;
mod store;
mod why;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use output::{CommandFailure, print_notices, print_text};
use resumable::StartOptions;

use crate::config::{self, Environment, Overrides, Settings, ignored, unknown_in_one_line};
use crate::engine::{EngineError, Resume};
use crate::files::refuse_link;
use crate::kb::{READER_ARGUMENT, read_documents};
use crate::protocol::use_local_times;
use crate::text::nearest;

pub use diagnostics::install_panic_hook;
pub use help::EXIT_CODES;

/// Chat with a knowledge base in the terminal, and see how each answer came about.
#[derive(Debug, Parser)]
#[command(
    name = "kb-agent",
    version,
    max_term_width = 100,
    disable_help_subcommand = true
)]
struct Cli {
    /// Folders or files to chat with [default: KB_AGENT_SOURCE, else the bundled demo]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Resume a recorded conversation: its id or that of one of its runs (any unique prefix or
    /// suffix)
    #[arg(short = 'c', value_name = "RUN|SESSION", conflicts_with = "go_on")]
    conversation: Option<String>,
    /// Resume the last conversation
    #[arg(long = "continue")]
    go_on: bool,
    /// Plain line output instead of the full screen (screen readers, pipes). Automatic when there
    /// is no terminal or TERM=dumb
    #[arg(long)]
    plain: bool,
    /// Plain lines, answers only
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<CliCommand>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "On every command")]
struct Global {
    /// Folder or file of the knowledge base; may be given several times [default: KB_AGENT_SOURCE,
    /// else the bundled demo]
    #[arg(long = "kb", value_name = "PATH", global = true)]
    kb: Vec<PathBuf>,
    /// Where index, audit log and diagnostics are kept [default: KB_AGENT_DATA_DIR, else the
    /// platform's data folder]
    #[arg(long, value_name = "DIR", global = true)]
    data_dir: Option<PathBuf>,
    /// Read settings from this file instead of .env of the folder you are in
    #[arg(long, value_name = "FILE", global = true)]
    env_file: Option<PathBuf>,
    /// More diagnostics in the log folder than KB_AGENT_LOG asks for; twice for even more
    #[arg(short, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Answer one question on standard output
    Ask(ask::Ask),
    /// Build or update the index
    Index(index::Index),
    /// Print what kb-agent sees of a file: its text with its places, and what is missing
    Read(search::Read),
    /// Search without answering
    Search(search::Search),
    /// Serve the knowledge base to other programs by the Model Context Protocol
    Mcp(mcp::Mcp),
    /// Measure retrieval, routing and grading on judged data
    Eval(eval::Eval),
    /// Show the graph, or the path of one run
    Graph(graph::Graph),
    /// List the recorded runs, newest first
    Runs(runs::Runs),
    /// Explain why a recorded run found a passage or missed it
    Why(why::Why),
    /// Open a recorded run on the screen, step by step
    Replay(chat::ReplayArgs),
    /// Sum up the recorded runs: short cuts, what they saved, tokens, times
    Stats(stats::Stats),
    /// Write a recorded run, or a conversation, as a document
    Export(export::Export),
    /// Judge a recorded run: its route, a passage or its answer
    Label(label::LabelArgs),
    /// List what you judged with + and -, or write it as test sets
    Labels(labels::LabelsArgs),
    /// Check settings, endpoint, index and terminal, and say what to do
    Doctor(doctor::Doctor),
    /// Show every route on the demo knowledge base; any key ends it
    Demo(chat::Demo),
    /// Set up and look after the store that KB_AGENT_STORE_URL names
    Store(store::Store),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Write the manual pages to a folder
    #[command(hide = true)]
    Man(ManArgs),
    /// Print a page of the manual, or the help of a command
    Help(help::Help),
}

/// The command line, with what its help adds.
pub fn command() -> clap::Command {
    let topics = help::examples_and_topics();
    Cli::command()
        .after_long_help(format!("{topics}\n\n{EXIT_CODES}\n\n{}", settings_help()))
        .after_help(topics)
        .mut_subcommand("read", |read| read.after_help(search::formats_help()))
}

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == READER_ARGUMENT) {
        let share = words.next();
        return read_documents(share.as_deref().and_then(OsStr::to_str));
    }
    install_panic_hook();
    use_local_times();
    let parsed = command()
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // Options of a command mean nothing behind a word that is none.
            let first = std::env::args_os().nth(1).filter(|_| error.use_stderr());
            if let Some(failure) = first.as_deref().and_then(misspelt) {
                return failure.report();
            }
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(cli: Cli) -> Result<(), CommandFailure> {
    let Cli {
        global,
        paths,
        conversation,
        go_on,
        plain,
        quiet,
        command,
    } = cli;
    let plain = plain || quiet;
    let last = go_on.then_some(Resume::Last);
    let resume = conversation.map(Resume::Named).or(last);
    if resume.is_some() && command.is_some() {
        return Err(CommandFailure::usage(
            "-c and --continue open the screen: give them without a command",
        ));
    }
    if plain && command.is_some() {
        return Err(CommandFailure::usage(
            "--plain and --quiet are for the conversation: give them without a command",
        ));
    }
    let first = paths.first().filter(|_| command.is_none());
    if let Some(failure) = first.and_then(|first| misspelt(first.as_os_str())) {
        return Err(failure);
    }
    let command = match command {
        Some(CliCommand::Completions(completions)) => return print_completions(&completions),
        Some(CliCommand::Help(help)) => return help::run(&help, self::command()),
        Some(CliCommand::Man(man)) => return write_manual(&man),
        other => other,
    };
    let overrides = Overrides {
        sources: if paths.is_empty() {
            global.kb
        } else {
            [global.kb, paths].concat()
        },
        data_dir: global.data_dir,
        log_filter: verbose_filter(global.verbose),
    };
    if let Some(CliCommand::Doctor(doctor)) = command {
        let given = doctor::CommandLine {
            env_file: global.env_file.as_deref(),
            overrides,
        };
        return doctor::run(&doctor, &given);
    }
    let env_file = global.env_file.as_deref();
    let environment = Environment::read(env_file);
    let ignored = ignored(&environment, &overrides);
    let ignored = ignored.map(|ignored| format!("{}; {}", ignored.line, ignored.next));
    let notices = ignored.into_iter().chain(unknown_in_one_line(&environment));
    let start = StartOptions {
        sources: overrides.sources.clone(),
        data_dir: overrides.data_dir.clone(),
        notices: notices.collect(),
        env_file: global.env_file.clone(),
        is_plain: plain,
        is_quiet: quiet,
    };
    let settings = Settings {
        own_program: Some(own_program()),
        ..Settings::resolve(&environment, overrides.clone())?
    };
    print_notices(&start.notices);
    refuse_link(&settings.data_dir).map_err(|source| {
        let path = settings.data_dir.clone();
        CommandFailure::from(EngineError::DataDir { path, source })
    })?;
    let _diagnostics = diagnostics::start(&settings);
    let ended = match command {
        Some(CliCommand::Demo(demo)) => chat::run_demo(&demo, &settings, &start.over_demo()),
        Some(CliCommand::Eval(eval)) => eval::run(&eval, &settings, env_file, &overrides),
        command => run_with_settings(command, &settings, resume, &start),
    };
    ended.inspect_err(CommandFailure::log_causes)
}

/// Runs a command; without one, opens the screen or the plain conversation.
fn run_with_settings(
    command: Option<CliCommand>,
    settings: &Settings,
    resume: Option<Resume>,
    start: &StartOptions,
) -> Result<(), CommandFailure> {
    match command {
        None if start.is_plain || plain::is_needed() => {
            plain::run(settings, resume, Vec::new(), start)
        }
        None => chat::run(settings, resume, Vec::new(), start),
        Some(CliCommand::Ask(ask)) => ask::run(&ask, settings, !start.sources.is_empty()),
        Some(CliCommand::Index(index)) => index::run(&index, settings),
        Some(CliCommand::Read(read)) => search::run_read(&read, settings),
        Some(CliCommand::Search(search)) => search::run(&search, settings),
        Some(CliCommand::Mcp(mcp)) => mcp::run(&mcp, settings),
        Some(CliCommand::Store(store)) => store::run(&store, settings),
        Some(CliCommand::Graph(graph)) => graph::run(&graph, settings),
        Some(CliCommand::Runs(runs)) => runs::run(&runs, settings),
        Some(CliCommand::Why(why)) => why::run(&why, settings),
        Some(CliCommand::Replay(replay)) => chat::run_replay(&replay, settings),
        Some(CliCommand::Stats(stats)) => stats::run(&stats, settings),
        Some(CliCommand::Export(export)) => export::run(&export, settings),
        Some(CliCommand::Label(label)) => label::run(&label, settings),
        Some(CliCommand::Labels(labels)) => labels::run(&labels, settings),
        Some(
            CliCommand::Completions(_)
            | CliCommand::Demo(_)
            | CliCommand::Doctor(_)
            | CliCommand::Eval(_)
            | CliCommand::Help(_)
            | CliCommand::Man(_),
        ) => Ok(()),
    }
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

fn print_completions(completions: &CompletionsArgs) -> Result<(), CommandFailure> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut command(), "kb-agent", &mut script);
    Ok(print_text(String::from_utf8_lossy(&script))?)
}

/// Arguments of `man`.
#[derive(Debug, Args)]
struct ManArgs {
    /// The folder, which must exist
    dir: PathBuf,
}

fn write_manual(man: &ManArgs) -> Result<(), CommandFailure> {
    clap_mangen::generate_to(command(), &man.dir)
        .map_err(|error| CommandFailure::of_file(&man.dir, error))
}

/// This program, to be started again. One that cannot be found cannot be started either, which is
/// reported at the document that needs it.
fn own_program() -> PathBuf {
    // Also where the file was replaced since by another version.
    let running = Path::new("/proc/self/exe");
    if cfg!(target_os = "linux") && running.exists() {
        return running.to_owned();
    }
    std::env::current_exe().unwrap_or_default()
}

/// Every setting with what it may be and what it is while it is not set.
fn settings_help() -> String {
    let mut text =
        "Settings, in order of precedence: environment, --env-file, .env of the configuration \
                    folder, .env of the current folder (not with --env-file). Only 'folder' \
                    settings count in the last:"
            .to_owned();
    for one in config::settings() {
        text.push_str(&format!(
            "\n  {:<37}{:<7}{} [default: {}]",
            one.name,
            if one.folder { "folder" } else { "" },
            one.allowed(),
            one.while_unset()
        ));
    }
    text + "\n'kb-agent doctor' lists them as they are in effect; 'kb-agent help settings' explains them."
}

/// What to say of a first word that is neither a folder nor a command, and nearly a command.
fn misspelt(first: &OsStr) -> Option<CommandFailure> {
    let word = first.to_str()?;
    // A name with a separator is a path.
    let is_word = word.chars().all(|c| c.is_alphanumeric() || c == '-') && !word.starts_with('-');
    if !is_word || Path::new(word).exists() {
        return None;
    }
    let mut cli = Cli::command();
    cli.build();
    let commands: Vec<&str> = cli.get_subcommands().map(clap::Command::get_name).collect();
    if commands.contains(&word) {
        return None;
    }
    let meant = nearest(word, commands).into_iter().next()?;
    Some(CommandFailure::usage(format!(
        "there is no folder or file '{word}'; did you mean the command 'kb-agent {meant}'?"
    )))
}

/// What so many `-v` ask for; they win over the setting.
fn verbose_filter(verbose: u8) -> Option<&'static str> {
    match verbose {
        0 => None,
        1 => Some("info,kb_agent=debug"),
        _ => Some("debug,kb_agent=trace"),
    }
}
