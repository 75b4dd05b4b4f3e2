//! The results as JUnit XML, for a CI. What it holds of questions and answers is masked as the log is.

use std::path::Path;

use quick_xml::escape::escape;

use super::figures::{AskedQuestion, RunReport, Verdict};
use super::print::run_summary;
use super::trial::Trial;
use crate::audit::Mask;
use crate::cli::output::CommandFailure;
use crate::files::write_atomic;
use crate::text::{OrTrouble, one_line};

/// Longer texts are cut, in characters.
const LONGEST: usize = 400;

/// What writes the file, and what masks it: the secrets of all settings.
pub(super) struct JunitFile<'r> {
    pub(super) report: &'r RunReport,
    pub(super) masks: Vec<Mask>,
}

/// Fails when the file's folder does not exist.
pub(super) fn check_folder(file: Option<&Path>) -> Result<(), CommandFailure> {
    let folder = file.and_then(Path::parent);
    match folder.filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        None => Ok(()),
        Some(folder) => Err(CommandFailure::usage(format!(
            "there is no folder {}",
            folder.display()
        ))),
    }
}

impl JunitFile<'_> {
    /// Writes the file whole, or not at all.
    pub(super) fn write(&self, path: &Path) -> Result<(), CommandFailure> {
        write_atomic(path, self.text().as_bytes())
            .trouble(format_args!("{} cannot be written", path.display()))?;
        Ok(())
    }

    fn line(&self, text: &str) -> String {
        let masks = self.masks.iter();
        let masked = masks.fold(text.to_owned(), |text, mask| {
            mask.mask_text(&text).into_owned()
        });
        one_line(&masked, LONGEST)
    }

    /// One line without what XML forbids.
    fn attribute(&self, text: &str) -> String {
        let line = self.line(text).replace(['\u{fffe}', '\u{ffff}'], "");
        escape(line).into_owned()
    }

    /// One suite for each of the settings, one case for each question and each limit. A run that failed
    /// is an error, what else is not as expected a failure.
    fn text(&self) -> String {
        let mut text =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"kb-agent eval run\">\n"
                .to_owned();
        for (at, figures) in self.report.summary.iter().enumerate() {
            let trials = self.report.questions.iter();
            let trials = trials.filter_map(|asked| Some((asked, &asked.results.get(at)?.trial)));
            let cases: Vec<(&AskedQuestion, &Trial)> = trials.collect();
            let errors = cases.iter().filter(|(_, trial)| trial.trouble().is_some());
            let wrong = |trial: &Trial| trial.trouble().is_none() && !trial.failures.is_empty();
            let wrong = cases.iter().filter(|(_, trial)| wrong(trial)).count();
            let verdicts = &figures.verdicts;
            let broken = verdicts.iter().filter(|of| of.broken.is_some()).count();
            let seconds: f64 = cases.iter().map(|(_, trial)| trial.cost.ms / 1000.0).sum();
            let name = self.attribute(&figures.settings);
            text.push_str(&format!(
                "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{seconds:.3}\">\n",
                cases.len() + verdicts.len(),
                wrong + broken,
                errors.count()
            ));
            for (asked, trial) in cases {
                text.push_str(&self.case(&name, asked, trial));
            }
            for Verdict { limit, broken } in verdicts {
                let head = format!("    <testcase classname=\"{name}\" name=\"{limit}\"");
                text.push_str(&match broken.as_ref().map(|line| self.attribute(line)) {
                    None => format!("{head}/>\n"),
                    Some(line) => {
                        format!("{head}>\n      <failure message=\"{line}\"/>\n    </testcase>\n")
                    }
                });
            }
            text.push_str("  </testsuite>\n");
        }
        text + "</testsuites>\n"
    }

    fn case(&self, suite: &str, asked: &AskedQuestion, trial: &Trial) -> String {
        let title = format!("{}: {}", asked.expected.id, asked.expected.query);
        let head = format!(
            "    <testcase classname=\"{suite}\" name=\"{}\" time=\"{:.3}\"",
            self.attribute(&title),
            trial.cost.ms / 1000.0
        );
        let (tag, message) = match (trial.trouble(), trial.failures.as_slice()) {
            (Some(why), _) => ("error", format!("the run failed: {why}")),
            (None, []) => return format!("{head}/>\n"),
            (None, failures) => ("failure", failures.join("; ")),
        };
        let lines: Vec<String> = trial
            .failures
            .iter()
            .map(|line| self.attribute(line))
            .collect();
        let about = self.attribute(&run_summary(trial));
        let run = trial.run.as_ref().map_or("none", |run| &run.0);
        format!(
            "{head}>\n      <{tag} message=\"{}\">{}\n{about}\nrun {}</{tag}>\n    </testcase>\n",
            self.attribute(&message),
            lines.join("\n"),
            self.attribute(run)
        )
    }
}
