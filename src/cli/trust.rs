//! `trust`, and the question that a folder's `.env` raises: may it set what only the user may?

use std::io::{self, BufRead, IsTerminal, Write, stderr, stdin};
use std::path::{Path, PathBuf};

use clap::Args;

use super::output::{CommandFailure, print_notice, print_text};
use crate::config::{
    Environment, Overrides, SettingError, TrustAnswer, TrustRequest, admit, distrust,
};
use crate::text::one_line;

/// Arguments of `trust`.
#[derive(Debug, Args)]
pub(super) struct Trust {
    /// Take it back
    #[arg(long)]
    remove: bool,
    /// The folder [default: the one you are in]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Paths and addresses are shown up to this length.
const SHOWN: usize = 300;

/// Trusts a folder, or no longer.
pub(super) fn run(
    trust: &Trust,
    env_file: Option<&Path>,
    overrides: &Overrides,
) -> Result<(), CommandFailure> {
    let named = trust.folder.as_deref().unwrap_or(Path::new("."));
    if trust.remove {
        let environment = Environment::read(env_file, None)?;
        // Also one that is gone may come back.
        let gone = || std::path::absolute(named).unwrap_or_else(|_| named.to_owned());
        let folder = named.canonicalize().unwrap_or_else(|_| gone());
        let how = if distrust(&environment, overrides, &folder)? {
            "is not trusted any more"
        } else {
            "was not trusted"
        };
        return Ok(print_text(format!("{} {how}\n", on_one_line(&folder)))?);
    }
    let folder = named.canonicalize().map_err(|error| {
        CommandFailure::usage(format!(
            "the folder {} cannot be trusted: {error}",
            named.display()
        ))
    })?;
    let mut environment = Environment::read(env_file, Some(&folder))?;
    if environment.folder_file().is_none() {
        return Err(CommandFailure::failed(format!(
            "there is no .env in {}",
            on_one_line(&folder)
        )));
    }
    let mut report = String::new();
    let mut decide = |request: &TrustRequest| {
        report.push_str(&described(request));
        TrustAnswer::Yes
    };
    let refused = admit(&mut environment, overrides, &mut decide);
    if let Some(error) = refused.into_iter().next() {
        return Err(error.into());
    }
    if report.is_empty() {
        report = format!(
            "nothing in {} needs more trust than it has\n",
            on_one_line(&folder.join(".env"))
        );
    } else {
        report.push_str(&format!(
            "Trusted; 'kb-agent trust --remove' in {} takes it back.\n",
            on_one_line(&folder)
        ));
    }
    Ok(print_text(report)?)
}

/// Lets in what the folder's `.env` may set; asks on a terminal, and says what to do elsewhere.
pub(super) fn ask(
    environment: &mut Environment,
    overrides: &Overrides,
) -> Result<(), CommandFailure> {
    let can_ask = stdin().is_terminal() && stderr().is_terminal();
    let mut decide = |request: &TrustRequest| {
        if can_ask {
            answer(request).unwrap_or(TrustAnswer::Unasked)
        } else {
            TrustAnswer::Unasked
        }
    };
    let refused = admit(environment, overrides, &mut decide);
    refused
        .into_iter()
        .next()
        .map_or(Ok(()), |error: SettingError| Err(error.into()))
}

/// The user's word; nothing where the terminal ends.
fn answer(request: &TrustRequest) -> io::Result<TrustAnswer> {
    let question = match request {
        TrustRequest::Folder { .. } => "Trust this folder with that, now and later? [y/N] ",
        TrustRequest::Transfer { .. } => "Send it there, now and later? [y/N] ",
    };
    let mut screen = stderr().lock();
    write!(screen, "{}{question}", described(request))?;
    screen.flush()?;
    let mut line = String::new();
    if stdin().lock().read_line(&mut line)? == 0 {
        writeln!(screen)?;
        return Ok(TrustAnswer::Unasked);
    }
    if ["y", "yes"].contains(&line.trim().to_ascii_lowercase().as_str()) {
        return Ok(TrustAnswer::Yes);
    }
    drop(screen);
    print_notice("going on without it");
    Ok(TrustAnswer::Without)
}

/// What is asked for, in lines that end.
fn described(request: &TrustRequest) -> String {
    match request {
        TrustRequest::Folder { file, settings } => {
            let mut text = format!(
                "{} sets what a folder may set only once you trust it:\n",
                on_one_line(file)
            );
            for (name, value) in settings {
                text.push_str(&format!("  {name}={value}\n"));
            }
            text
        }
        TrustRequest::Transfer { file, what, to } => format!(
            "{} would be sent to {}, as {} says: not both are of its folder.\n",
            one_line(what, SHOWN),
            one_line(to, SHOWN),
            on_one_line(file)
        ),
    }
}

fn on_one_line(path: &Path) -> String {
    one_line(&path.to_string_lossy(), SHOWN)
}
