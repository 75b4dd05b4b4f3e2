//! Text recognition (OCR) by programs of the machine: `ocrmypdf` for scans, `tesseract` for
//! pictures. Each makes a PDF with a layer of text, which is then read like any other.

use std::fs::File;
use std::io::Seek;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use tokio_util::sync::CancellationToken;

use super::SkipReason;

/// The programs, as they are called.
pub const PROGRAMS: [&str; 2] = ["ocrmypdf", "tesseract"];
/// A scan of a few hundred pages takes this long.
const TIME_LIMIT: Duration = Duration::from_mins(10);
/// How often it is looked whether to go on waiting.
const LOOK_UP: Duration = Duration::from_millis(50);

/// Which languages to recognise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextRecognition {
    /// Languages as the recognition programs name them, such as `deu+eng`; empty for their default.
    pub languages: String,
}

impl TextRecognition {
    /// A PDF with text of a PDF whose pages are pictures. Pages with text stay as they are.
    pub(super) fn of_scan(
        &self,
        scan: &File,
        cancel: &CancellationToken,
    ) -> Result<File, SkipReason> {
        self.run(scan, "scan.pdf", cancel, |command, input, output| {
            command
                .args(["--quiet", "--skip-text", "--optimize", "0"])
                .args(["--output-type", "pdf"])
                .args([input, &output.with_extension("pdf")]);
            PROGRAMS[0]
        })
    }

    /// A PDF with the text of a picture.
    pub(super) fn of_picture(
        &self,
        picture: &File,
        cancel: &CancellationToken,
    ) -> Result<File, SkipReason> {
        self.run(picture, "picture", cancel, |command, input, output| {
            command.args([input, output]).arg("pdf");
            PROGRAMS[1]
        })
    }

    fn run(
        &self,
        mut from: &File,
        name: &str,
        cancel: &CancellationToken,
        arguments: impl FnOnce(&mut Command, &Path, &Path) -> &'static str,
    ) -> Result<File, SkipReason> {
        let folder = tempfile::tempdir()?;
        let (input, output) = (folder.path().join(name), folder.path().join("text"));
        from.rewind()?;
        io::copy(&mut from, &mut File::create(&input)?)?;
        let mut own = Command::new("");
        if !self.languages.is_empty() {
            own.args(["-l", &self.languages]);
        }
        let program = arguments(&mut own, &input, &output);
        let mut child = Command::new(program)
            .args(own.get_args())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| {
                SkipReason::NotNow(format!("text recognition needs {program} ({error})"))
            })?;
        let deadline = Instant::now() + TIME_LIMIT;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            let reason = if cancel.is_cancelled() {
                SkipReason::Stopped
            } else if Instant::now() > deadline {
                SkipReason::TooSlow(TIME_LIMIT.as_secs())
            } else {
                thread::sleep(LOOK_UP);
                continue;
            };
            child.kill()?;
            child.wait()?;
            return Err(reason);
        };
        if !status.success() {
            return Err(SkipReason::NoText(format!(
                "{program} could not recognise any ({status})"
            )));
        }
        Ok(File::open(output.with_extension("pdf"))?)
    }
}
