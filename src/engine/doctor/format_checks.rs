//! Which files are read, and whether the text of scans and pictures is recognised.

use std::env;
use std::path::Path;

use super::check::Check;
use super::examination::Examination;
use crate::config::Settings;
use crate::domain::FILE_FORMATS;
use crate::kb::RECOGNITION_PROGRAMS;

const NAME: &str = "text of scans and pictures";

/// What of the files can be read.
pub(super) fn check(settings: &Settings, examination: &mut Examination<'_>) {
    examination.area = "files";
    let read = FILE_FORMATS.iter().filter(|format| format.is_read());
    let names: Vec<&str> = read.map(|format| format.name).collect();
    examination.add(Check::ok("read", names.join(", ")));
    let missing: Vec<&str> = RECOGNITION_PROGRAMS
        .into_iter()
        .filter(|program| !is_installed(program))
        .collect();
    let check = match (&settings.ocr, missing.as_slice()) {
        (None, []) => Check::ok(NAME, "not recognised: KB_AGENT_OCR=1 turns it on"),
        (None, _) => Check::ok(NAME, "not recognised"),
        (Some(_), []) => Check::ok(NAME, "recognised"),
        (Some(_), missing) => Check::note(
            NAME,
            format!("{} is not installed", missing.join(" and ")),
            "install it, or leave KB_AGENT_OCR out",
        ),
    };
    examination.add(check);
}

/// Whether a folder of `PATH` holds a file of that name.
fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let name = format!("{program}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&path).any(|folder| Path::new(&folder).join(&name).is_file())
}
