//! The data folder, the audit log, the room on the disk, and which files can be read.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use std::{env, fs, process, thread};

use super::check::{Check, Report, Status, off_thread};
use crate::audit::{AuditError, check_is_log};
use crate::config::Settings;
use crate::domain::FILE_FORMATS;
use crate::engine::{EngineError, prepare_data_folder};
use crate::files::unlinked;
use crate::kb::RECOGNITION_PROGRAMS;
use crate::text::Trouble;

const MEGABYTE: u64 = 1 << 20;
/// How long a disk or a program may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where things are kept.
pub(super) async fn check(settings: &Settings, report: &mut Report<'_>) {
    let (data, log) = (settings.data_dir.clone(), settings.audit_log.clone());
    let looking = off_thread(move |_| {
        let folder = folder(&data);
        let is_there = folder.status != Status::Broken;
        let disk = is_there.then(|| disk(&data)).flatten();
        Ok([Some(folder), Some(audit_log(&log)), disk])
    });
    let checks = looking.await.unwrap_or_else(|trouble| {
        let broken = Check::broken("data folder", trouble);
        [Some(broken), None, None]
    });
    for check in checks.into_iter().flatten() {
        report.add(check);
    }
}

fn folder(path: &Path) -> Check {
    const NAME: &str = "data folder";
    if let Err(source) = prepare_data_folder(path).and_then(|()| try_writing(path)) {
        let path = path.to_owned();
        return Check::broken(NAME, EngineError::DataDir { path, source }.trouble());
    }
    let shown = path.display();
    match mode(path) {
        mode if mode & 0o002 == 0 => Check::ok(NAME, format!("{shown} can be written")),
        mode => {
            let line = format!("{shown} can be written by everybody (mode {mode:o})");
            Check::note(NAME, line, format!("chmod o-w '{shown}'"))
        }
    }
}

/// Checks the audit log as a question would open it, without changing the file.
fn audit_log(path: &Path) -> Check {
    const NAME: &str = "audit log";
    let shown = path.display();
    let found = check_is_log(path).and_then(|meta| {
        let tried = match &meta {
            Some(_) => unlinked().append(true).open(path).map(|_| meta),
            None => try_writing(&existing(path)).map(|()| meta),
        };
        tried.map_err(AuditError::open(path))
    });
    let mode = mode(path) & 0o777;
    match found {
        Err(error) => Check::broken(NAME, error.trouble()),
        Ok(None) => Check::ok(NAME, format!("{shown} is made by the first question")),
        Ok(Some(meta)) if mode & !0o700 == 0 => {
            let size = megabytes(meta.len());
            Check::ok(NAME, format!("{shown} can be written ({size} so far)"))
        }
        Ok(Some(_)) => {
            let line = format!("{shown} can be read by others (mode {mode:o})");
            let next = format!("chmod 600 '{shown}'; the next question does it too");
            Check::note(NAME, line, next)
        }
    }
}

/// The room that is left; nothing where the system does not tell.
fn disk(path: &Path) -> Option<Check> {
    const NAME: &str = "disk";
    let free = free(path)?;
    let line = format!("{} free", megabytes(free));
    let next = "make room on that disk, or set KB_AGENT_DATA_DIR to a folder on another";
    Some(match free / MEGABYTE {
        // Too little for an index.
        0..50 => Check::broken(NAME, Trouble::new(line, next)),
        50..500 => Check::note(NAME, line, next),
        _ => Check::ok(NAME, line),
    })
}

/// Writes a file that vanishes with its handle.
fn try_writing(folder: &Path) -> io::Result<()> {
    tempfile::tempfile_in(folder)?.write_all(b"kb-agent")
}

/// The nearest folder above that is there.
fn existing(path: &Path) -> PathBuf {
    let above = path.ancestors().skip(1).find(|folder| folder.exists());
    above.unwrap_or(Path::new(".")).to_owned()
}

/// Who may do what; nobody anything where there is no file, or no such rights.
fn mode(path: &Path) -> u32 {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(path).map_or(0, |meta| meta.permissions().mode() & 0o7777)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        0
    }
}

/// Bytes that users may fill. A network disk that is away never answers, and is not waited for.
#[cfg(unix)]
fn free(path: &Path) -> Option<u64> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let path = path.to_owned();
    thread::spawn(move || sender.send(rustix::fs::statvfs(&path)));
    let disk = receiver.recv_timeout(PATIENCE).ok()?.ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<u64> {
    None
}

pub(super) fn megabytes(bytes: u64) -> String {
    match bytes {
        bytes if bytes < MEGABYTE => format!("{} kB", bytes.div_ceil(1024)),
        bytes if bytes < 10 * 1024 * MEGABYTE => format!("{} MB", bytes / MEGABYTE),
        bytes => format!("{} GB", bytes / (1024 * MEGABYTE)),
    }
}

/// Which files are read, and whether the text of scans and pictures is recognised.
pub(super) async fn check_formats(settings: &Settings, report: &mut Report<'_>) {
    const SCANS: &str = "text of scans and pictures";
    let read = FILE_FORMATS.iter().filter(|format| format.is_read());
    let names: Vec<&str> = read.map(|format| format.name).collect();
    report.add(Check::ok("read", names.join(", ")));
    let missing = RECOGNITION_PROGRAMS.into_iter();
    let missing: Vec<&str> = missing.filter(|program| !is_installed(program)).collect();
    report.add(match (&settings.ocr, missing.as_slice()) {
        (None, []) => Check::ok(SCANS, "not recognised: KB_AGENT_OCR=1 turns it on"),
        (None, _) => Check::ok(SCANS, "not recognised"),
        (Some(languages), []) => {
            let languages = languages.clone();
            let looking = off_thread(move |_| Ok(missing_languages(&languages)));
            match looking.await.unwrap_or_default().as_slice() {
                [] => Check::ok(SCANS, "recognised"),
                missing => Check::note(
                    SCANS,
                    format!("tesseract has no data of {}", missing.join(" and ")),
                    "install the language, or leave it out of KB_AGENT_OCR; 'tesseract --list-langs' lists those there are",
                ),
            }
        }
        (Some(_), missing) => Check::note(
            SCANS,
            format!("{} is not installed", missing.join(" and ")),
            "install it, or leave KB_AGENT_OCR out",
        ),
    });
}

/// Which of the languages, written as `deu+eng`, tesseract does not list; none where it lists nothing in time.
fn missing_languages(languages: &str) -> Vec<String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    // A program that hangs is not waited for.
    thread::spawn(move || {
        let listed = process::Command::new("tesseract")
            .arg("--list-langs")
            .output();
        sender.send(listed)
    });
    let Ok(Ok(listed)) = receiver.recv_timeout(PATIENCE) else {
        return Vec::new();
    };
    let listed = String::from_utf8_lossy(&listed.stdout);
    let is_missing = |name: &&str| !name.is_empty() && !listed.lines().any(|line| line == *name);
    let wanted = languages.split('+').filter(|_| !listed.is_empty());
    wanted.filter(is_missing).map(str::to_owned).collect()
}

/// Whether a folder of `PATH` holds a file of that name.
fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let name = format!("{program}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&path).any(|folder| folder.join(&name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_log_is_not_made_by_being_looked_for_and_reported_where_others_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        assert!(free(home.path()).is_some());
        assert_eq!(free(&home.path().join("nowhere")), None);
        let path = home.path().join("audit.jsonl");
        assert_eq!(audit_log(&path).status, Status::Ok);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let check = audit_log(&path);
        assert_eq!(check.status, Status::Note);
        assert!(check.detail.contains("mode 644"), "{}", check.detail);
    }
}
