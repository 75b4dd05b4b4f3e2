//! The diagnostics: a file a day (UTC), for its owner alone, of which the last few are kept.
//!
//! The folder may hold files of others: only what is named exactly as a day of ours is removed, and
//! no link is followed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{panic, thread};

use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::EnvFilter;

use crate::config::Settings;
use crate::engine::prepare_data_folder;
use crate::files::{create_private_dir, private, refuse_link, regular, unlinked};
use crate::protocol::Timestamp;
use crate::tui::give_back_terminal;

/// Days that are kept.
const KEPT: usize = 7;

/// Starts the diagnostics log. A folder that cannot be written costs the diagnostics and nothing
/// else: the command itself says what is wrong with the folder when it needs it.
pub(super) fn start(settings: &Settings) -> Option<WorkerGuard> {
    let folder = settings.log_dir();
    prepare_data_folder(&settings.data_dir).ok()?;
    create_private_dir(&folder).ok()?;
    // The library's calendar ends with the year 9999, and it stops the program there.
    if !Timestamp::is_in_calendar(SystemTime::now()) {
        return None;
    }
    // It would write whole messages, questions and answers in them, unmasked.
    let quiet = "rmcp=error".parse().ok()?;
    let filter = EnvFilter::new(&settings.log_filter).add_directive(quiet);
    let (writer, guard) = tracing_appender::non_blocking(Daily::open(folder).ok()?);
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(writer)
        .try_init()
        .ok()?;
    Some(guard)
}

/// Makes only a panic of the thread that calls this, the one that draws, give the terminal back
/// and print its message. Any other is caught where its thread was started, becomes an error or a
/// warning there, and leaves its message in the diagnostics.
pub fn install_panic_hook() {
    let print = panic::take_hook();
    let drawing = thread::current().id();
    panic::set_hook(Box::new(move |panicked| {
        let current = thread::current();
        if current.id() == drawing {
            give_back_terminal();
            print(panicked);
        } else {
            let thread = current.name().unwrap_or("unnamed");
            tracing::error!("the thread '{thread}' broke off: {panicked}");
        }
    }));
}

/// The file of the day.
struct Daily {
    folder: PathBuf,
    day: String,
    file: File,
}

impl Daily {
    fn open(folder: PathBuf) -> io::Result<Self> {
        let day = today();
        let file = open(&folder.join(name(&day)))?;
        remove_old(&folder);
        Ok(Self { folder, day, file })
    }
}

impl Write for Daily {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Where the next day's cannot be opened, yesterday's goes on.
        if self.day != today()
            && let Ok(next) = Self::open(self.folder.clone())
        {
            *self = next;
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn open(path: &Path) -> io::Result<File> {
    refuse_link(path)?;
    let file = private(unlinked().append(true).create(true)).open(path)?;
    let file = regular(file)?;
    // Earlier versions let others read them.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            let _ = file.set_permissions(fs::Permissions::from_mode(0o600));
        }
    }
    Ok(file)
}

fn remove_old(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let mut days: Vec<String> = names.filter(|name| is_day(name)).collect();
    days.sort_unstable();
    let old = days.len().saturating_sub(KEPT);
    for day in &days[..old] {
        let _ = fs::remove_file(folder.join(day));
    }
}

/// `2025-11-21`.
fn today() -> String {
    Timestamp::from_system_time(SystemTime::now()).date()
}

fn name(day: &str) -> String {
    format!("kb-agent.{day}.log")
}

fn is_day(file: &str) -> bool {
    let day = file.strip_prefix("kb-agent.");
    let day = day.and_then(|rest| rest.strip_suffix(".log"));
    day.is_some_and(|day| {
        day.len() == "2025-11-21".len()
            && day.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            })
    })
}
