//! The results as files for other programs: JUnit XML for a CI, Markdown for a page or a comment.
//!
//! What they hold of questions and answers is masked as the log is.

use std::path::Path;

use quick_xml::escape::escape;

use super::figures::{AskedQuestion, RunReport};
use super::print::{columns, differences, row, run_summary};
use super::trial::Trial;
use crate::audit::Mask;
use crate::cli::output::{CommandFailure, Side};
use crate::files::write_atomic;
use crate::report::markdown_text;
use crate::text::one_line;

/// Longer texts are cut, in characters.
const LONGEST: usize = 400;

/// What writes the files, and what masks them: the secrets of all settings.
pub(super) struct ReportFiles<'r> {
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

impl ReportFiles<'_> {
    /// Writes the files that are wanted, each whole.
    pub(super) fn write(
        &self,
        junit: Option<&Path>,
        markdown: Option<&Path>,
    ) -> Result<(), CommandFailure> {
        let junit = junit.map(|path| (path, self.junit()));
        let markdown = markdown.map(|path| (path, self.markdown()));
        for (path, text) in junit.into_iter().chain(markdown) {
            write_atomic(path, text.as_bytes()).map_err(|error| {
                CommandFailure::failed(format!("{} cannot be written: {error}", path.display()))
            })?;
        }
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

    fn cell(&self, text: &str) -> String {
        markdown_text(&self.line(text))
    }

    /// One suite for each of the settings, one case for each question. A run that failed is an error,
    /// another one that is not as expected a failure.
    fn junit(&self) -> String {
        let mut text =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"kb-agent eval run\">\n"
                .to_owned();
        for (at, figures) in self.report.summary.iter().enumerate() {
            let trials = self.report.questions.iter();
            let trials = trials.filter_map(|asked| Some((asked, &asked.results.get(at)?.trial)));
            let cases: Vec<(&AskedQuestion, &Trial)> = trials.collect();
            let errors = cases
                .iter()
                .filter(|(_, trial)| trial.trouble().is_some())
                .count();
            let wrong = |trial: &Trial| trial.trouble().is_none() && !trial.failures.is_empty();
            let failures = cases.iter().filter(|(_, trial)| wrong(trial)).count();
            let seconds: f64 = cases.iter().map(|(_, trial)| trial.cost.ms / 1000.0).sum();
            let name = self.attribute(&figures.settings);
            text.push_str(&format!(
                "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" time=\"{seconds:.3}\">\n",
                cases.len()
            ));
            for (asked, trial) in cases {
                text.push_str(&self.case(&name, asked, trial));
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

    /// The summary as a table, then the questions that are not as expected or differ.
    fn markdown(&self) -> String {
        let mut text = "# kb-agent eval run\n\n".to_owned();
        let columns = columns();
        let titles = columns.iter().map(|one| one.title.to_owned());
        text.push_str(&line(titles));
        let sides = columns.iter().map(|one| match one.side {
            Side::Left => ":--".to_owned(),
            Side::Right => "--:".to_owned(),
        });
        text.push_str(&line(sides));
        for figures in &self.report.summary {
            text.push_str(&line(row(figures).iter().map(|cell| markdown_text(cell))));
        }
        if !self.report.broken.is_empty() {
            text.push_str("\n## Broken limits\n\n");
            let lines = self.report.broken.iter();
            lines.for_each(|line| text.push_str(&format!("- {}\n", self.cell(line))));
        }
        let shown: Vec<String> = self
            .report
            .questions
            .iter()
            .filter_map(|asked| self.question(asked))
            .collect();
        if !shown.is_empty() {
            text.push_str("\n## Questions that are not as expected, or differ\n");
            text.push_str(&shown.concat());
        }
        text
    }

    fn question(&self, asked: &AskedQuestion) -> Option<String> {
        let first = asked.results.first().map(|of| &of.trial)?;
        let notes = |trial: &Trial| {
            let mut notes = trial.failures.clone();
            notes.extend(differences(first, trial));
            notes
        };
        let same_route =
            |trial: &Trial| (trial.route, trial.outcome) == (first.route, first.outcome);
        let is_plain = |trial: &Trial| {
            same_route(trial) && notes(trial).is_empty() && trial.trouble().is_none()
        };
        if asked.results.iter().all(|of| is_plain(&of.trial)) {
            return None;
        }
        let id = self.cell(&asked.expected.id);
        let mut text = format!("\n**{id}** {}\n\n", self.cell(&asked.expected.query));
        for of in &asked.results {
            let (name, summary) = (self.cell(&of.settings), self.cell(&run_summary(&of.trial)));
            text.push_str(&format!("- {name}: {summary}\n"));
            for note in notes(&of.trial) {
                text.push_str(&format!("  - {}\n", self.cell(&note)));
            }
        }
        Some(text)
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}
