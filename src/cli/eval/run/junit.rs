//! The results as JUnit XML, for a CI. What it holds of questions and answers is masked as the log is.

use std::path::Path;

use quick_xml::escape::escape;

use super::report::RunReport;
use super::trial::Trial;
use crate::audit::Mask;
use crate::cli::output::CommandFailure;
use crate::files::{folder_of, write_atomic};
use crate::text::{OrTrouble, one_line};

/// Characters of a text.
const LONGEST: usize = 400;

/// Refuses a file whose folder does not exist.
pub(super) fn check_folder(file: Option<&Path>) -> Result<(), CommandFailure> {
    match file.map(folder_of).filter(|folder| !folder.is_dir()) {
        None => Ok(()),
        Some(folder) => Err(CommandFailure::usage(format!(
            "there is no folder {}",
            folder.display()
        ))),
    }
}

/// Writes the file whole, or not at all. `masks` mask the secrets of all settings.
pub(super) fn write_junit(
    path: &Path,
    report: &RunReport,
    masks: &[Mask],
) -> Result<(), CommandFailure> {
    write_atomic(path, text_of(report, masks).as_bytes())
        .trouble(format_args!("{} cannot be written", path.display()))?;
    Ok(())
}

/// One suite for each of the settings, one case for each question and each limit. A run that failed is
/// an error, what else is not as expected a failure.
fn text_of(report: &RunReport, masks: &[Mask]) -> String {
    let quote = |text: &str| {
        let masked = masks.iter().fold(text.to_owned(), |text, mask| {
            mask.mask_text(&text).into_owned()
        });
        // What XML forbids besides control characters, which no line has.
        let line = one_line(&masked, LONGEST).replace(['\u{fffe}', '\u{ffff}'], "");
        escape(line).into_owned()
    };
    let mut text =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"kb-agent eval run\">\n"
            .to_owned();
    for (at, (figures, verdicts)) in report.summary.iter().zip(&report.verdicts).enumerate() {
        let suite = quote(figures["settings"].as_str().unwrap_or_default());
        let (mut cases, mut failures, mut errors, mut seconds) = (String::new(), 0, 0, 0.0);
        for asked in &report.questions {
            let trial = &asked.results[at];
            let title = quote(&format!("{}: {}", asked.expected.id, asked.expected.query));
            let time = trial.cost.ms / 1000.0;
            seconds += time;
            cases +=
                &format!("    <testcase classname=\"{suite}\" name=\"{title}\" time=\"{time:.3}\"");
            let Some((tag, message)) = problem_of(trial) else {
                cases += "/>\n";
                continue;
            };
            *(if tag == "error" {
                &mut errors
            } else {
                &mut failures
            }) += 1;
            let mut lines: Vec<String> = trial.failures.iter().map(|it| quote(it)).collect();
            lines.push(quote(&trial.as_text()));
            let run = trial.run.as_ref().map_or("none", |run| &run.0);
            lines.push(format!("run {}", quote(run)));
            cases += &format!(
                ">\n      <{tag} message=\"{}\">{}</{tag}>\n    </testcase>\n",
                quote(&message),
                lines.join("\n")
            );
        }
        for verdict in verdicts {
            let limit = quote(&verdict.limit);
            cases += &format!("    <testcase classname=\"{suite}\" name=\"{limit}\"");
            cases += &match &verdict.broken {
                None => "/>\n".to_owned(),
                Some(line) => {
                    failures += 1;
                    let line = quote(line);
                    format!(">\n      <failure message=\"{line}\"/>\n    </testcase>\n")
                }
            };
        }
        let tests = report.questions.len() + verdicts.len();
        text += &format!(
            "  <testsuite name=\"{suite}\" tests=\"{tests}\" failures=\"{failures}\" \
             errors=\"{errors}\" time=\"{seconds:.3}\">\n{cases}  </testsuite>\n"
        );
    }
    text + "</testsuites>\n"
}

fn problem_of(trial: &Trial) -> Option<(&'static str, String)> {
    if let Some(why) = trial.trouble() {
        return Some(("error", format!("the run failed: {why}")));
    }
    let has_failures = !trial.failures.is_empty();
    has_failures.then(|| ("failure", trial.failures.join("; ")))
}
