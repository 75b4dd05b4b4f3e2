//! Answers over a folder of documentation, by questions whose places in it are known.
//!
//! An answer is right if it repeats words of a line that answers and that it cites, or holds one of the phrases that
//! show a right answer: a citation alone may cover far more than what is quoted. A question without both is one that
//! the folder does not answer, and is to be refused. Index and audit log are kept apart from those of the user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::Args;
use regex::Regex;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::records::{listed, progress_bar, read, record};
use crate::cli::catch_up::update_wholly;
use crate::cli::interruption::{interruptible, unless_cancelled};
use crate::cli::output::{CommandFailure, or_nothing, print_notice, print_result, table};
use crate::config::Settings;
use crate::domain::{Answer, Citation, Outcome};
use crate::engine::{Engine, EngineError};
use crate::files::read_text_bounded;
use crate::text::{is_chinese, one_line, sanitize};

/// What a line looks like, for who wrote another one.
const FORM: &str = r#"{"id": "q1", "question": "…", "kind": "how-to", "gold": [{"source": "a.md", "start_line": 1, "end_line": 2}], "contains": ["…"]}"#;
/// A documentation page is not nearly as long.
const LONGEST_PAGE: u64 = 64 << 20;
/// Characters of a line that an answer has to repeat, and of one in Chinese.
const REPEATED: usize = 24;
const REPEATED_IN_CHINESE: usize = 10;
/// A line of fewer characters says too little to be recognised.
const SHORTEST_LINE: usize = 8;

/// Arguments of `eval docs`.
#[derive(Debug, Args)]
pub(super) struct DocsArgs {
    /// Folder of the documentation
    #[arg(value_name = "CORPUS")]
    pub corpus: PathBuf,
    /// One JSON object a line: {"id", "question", "kind", "gold": [{"source", "start_line",
    /// "end_line"}], "contains"}; source is a path in the folder, contains are phrases of which any
    /// one shows a right answer; both are empty where the folder does not answer
    #[arg(value_name = "QUESTIONS.jsonl")]
    questions: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// One line of the file.
#[derive(Debug, Deserialize)]
struct DocsQuestion {
    id: String,
    question: String,
    kind: String,
    gold: Vec<GoldSpan>,
    contains: Vec<String>,
}

/// Lines that answer.
#[derive(Debug, Deserialize)]
struct GoldSpan {
    /// Path in the folder.
    source: String,
    /// The first line, from 1.
    start_line: usize,
    end_line: usize,
    /// The lines as text without layout.
    #[serde(skip)]
    lines: Vec<String>,
}

/// What is printed; the names are fixed.
#[derive(Debug, Default, Serialize)]
struct DocsReport {
    /// The questions that the folder answers, by kind.
    kinds: BTreeMap<String, AnswerCounts>,
    /// The same of all kinds together.
    answerable: AnswerCounts,
    unanswerable: RefusalCounts,
    wrong: Vec<WrongAnswer>,
    #[serde(skip)]
    engine: String,
}

/// Answers to questions that the folder answers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
struct AnswerCounts {
    n: usize,
    right: usize,
    /// Answers that cite a passage with lines that answer, whatever they quote of it.
    cited: usize,
    refused: usize,
}

/// Answers to questions that the folder does not answer.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
struct RefusalCounts {
    n: usize,
    refused: usize,
}

/// A question that was not answered rightly.
#[derive(Debug, Serialize)]
struct WrongAnswer {
    id: String,
    kind: String,
    outcome: Outcome,
    cited: bool,
    question: String,
}

/// Measures and prints the figures.
pub(super) fn run(docs: &DocsArgs, settings: &Settings) -> Result<(), CommandFailure> {
    let mut questions = read(&docs.questions, question)?;
    for question in &mut questions {
        for gold in &mut question.gold {
            gold.read_lines(&docs.corpus).map_err(|what| {
                let what = format!("question {}: {what}", question.id);
                CommandFailure::of_file(&docs.questions, what)
            })?;
        }
    }
    let settings = settings_over(&docs.corpus, settings)?;
    let report = interruptible(async |cancel| {
        unless_cancelled(&cancel, measure(&questions, &settings, &cancel)).await?
    })?;
    Ok(print_result(docs.json, &report, || report.as_text())?)
}

fn question(line: &str) -> Result<DocsQuestion, String> {
    let question: DocsQuestion = record(line, FORM)?;
    if question.question.trim().is_empty() {
        return Err("the question is empty".to_owned());
    }
    let bare = question.contains.iter().find_map(|it| without_letters(it));
    match bare {
        Some(what) => Err(format!("contains: {what}")),
        None => Ok(question),
    }
}

/// The settings as they are, over that folder alone; index and audit log are those of the folder.
fn settings_over(corpus: &Path, settings: &Settings) -> Result<Settings, CommandFailure> {
    let cannot = |error| CommandFailure::of_file(corpus, error);
    let corpus = corpus.canonicalize().map_err(cannot)?;
    let hash = blake3::hash(corpus.as_os_str().as_encoded_bytes()).to_hex();
    let data_dir = settings.data_dir.join("eval").join(&hash[..16]);
    Ok(Settings {
        sources: vec![corpus],
        store: None,
        audit_log: data_dir.join("audit.jsonl"),
        data_dir,
        ..settings.clone()
    })
}

async fn measure(
    questions: &[DocsQuestion],
    settings: &Settings,
    cancel: &CancellationToken,
) -> Result<DocsReport, CommandFailure> {
    let engine = Engine::open(settings).await?;
    update_wholly(&engine.knowledge(), cancel).await?;
    let mut report = DocsReport {
        engine: engine.identity().model,
        ..DocsReport::default()
    };
    let bar = progress_bar(questions.len());
    for question in questions {
        let answer = match engine.answer_query(&question.question).await {
            Err(EngineError::Run(why)) => {
                print_notice(&format!("{}: {why}", question.id));
                None
            }
            answer => Some(answer?),
        };
        report.add(question, answer.as_ref());
        bar.inc(1);
    }
    bar.finish_and_clear();
    engine.end().await;
    Ok(report)
}

impl DocsReport {
    /// Counts one answer; `None` is a run that failed.
    fn add(&mut self, question: &DocsQuestion, answer: Option<&Answer>) {
        let outcome = answer.map_or(Outcome::Failed, |answer| answer.outcome);
        let is_refused = outcome == Outcome::NotFound;
        let answer = answer.filter(|_| outcome == Outcome::Answered);
        let is_cited = answer.is_some_and(|answer| question.is_cited_by(answer));
        let is_right = if question.is_answerable() {
            let is_right = answer.is_some_and(|answer| question.is_answered_by(answer));
            let kind = self.kinds.entry(question.kind.clone()).or_default();
            for counts in [kind, &mut self.answerable] {
                counts.n += 1;
                counts.right += usize::from(is_right);
                counts.cited += usize::from(is_cited);
                counts.refused += usize::from(is_refused);
            }
            is_right
        } else {
            self.unanswerable.n += 1;
            self.unanswerable.refused += usize::from(is_refused);
            is_refused
        };
        if !is_right {
            self.wrong.push(WrongAnswer {
                id: question.id.clone(),
                kind: question.kind.clone(),
                outcome,
                cited: is_cited,
                question: question.question.clone(),
            });
        }
    }

    fn as_text(&self) -> String {
        let row = |kind: &str, counts: [Option<usize>; 4]| -> Vec<String> {
            let kind = [one_line(kind, 40)].into_iter();
            kind.chain(counts.map(or_nothing)).collect()
        };
        let kinds = self.kinds.iter();
        let kinds = kinds.map(|(kind, counts)| (kind.as_str(), *counts));
        let kinds = kinds.chain([("all answerable", self.answerable)]);
        let rows = kinds.map(|(kind, of)| {
            let counts = [of.n, of.right, of.cited, of.refused];
            row(kind, counts.map(Some))
        });
        let RefusalCounts { n, refused } = self.unanswerable;
        let last = row("unanswerable", [Some(n), None, None, Some(refused)]);
        let rows: Vec<Vec<String>> = rows.chain([last]).collect();
        let wrong = self.wrong.iter().map(|wrong| {
            let cited = if wrong.cited { ", cites the place" } else { "" };
            format!(
                "{}\t{}\t{}{cited}\t{}\n",
                one_line(&wrong.id, 40),
                one_line(&wrong.kind, 40),
                wrong.outcome.as_str(),
                one_line(&wrong.question, 200)
            )
        });
        format!(
            "answers, engine {}\n\n{}\n{}",
            sanitize(&self.engine),
            table("kind|n|right|cited|refused", &rows),
            listed("wrong\tkind\toutcome\tquestion", &wrong.collect::<Vec<_>>())
        )
    }
}

impl DocsQuestion {
    fn is_answerable(&self) -> bool {
        !self.gold.is_empty() || !self.contains.is_empty()
    }

    fn is_cited_by(&self, answer: &Answer) -> bool {
        self.gold.iter().any(|gold| gold.is_cited_by(answer))
    }

    fn is_answered_by(&self, answer: &Answer) -> bool {
        let text = without_layout(&answer.text);
        let has_phrase = |phrase: &String| text.contains(&without_layout(phrase));
        let is_quoted = |gold: &GoldSpan| gold.is_cited_by(answer) && gold.is_repeated_in(&text);
        self.contains.iter().any(has_phrase) || self.gold.iter().any(is_quoted)
    }
}

impl GoldSpan {
    /// Reads its lines; the error says what is wrong with the place.
    fn read_lines(&mut self, corpus: &Path) -> Result<(), String> {
        let text = read_text_bounded(&corpus.join(&self.source), LONGEST_PAGE)
            .map_err(|error| format!("{}: {error}", self.source))?;
        let count = (self.end_line + 1).saturating_sub(self.start_line);
        let lines = text.lines().skip(self.start_line.saturating_sub(1));
        self.lines = lines.take(count).map(without_layout).collect();
        if self.lines.is_empty() {
            let (start, end) = (self.start_line, self.end_line);
            return Err(format!("{} has no lines {start} to {end}", self.source));
        }
        Ok(())
    }

    /// Whether a cited passage overlaps the lines. Its source may begin with the folder's name.
    fn is_cited_by(&self, answer: &Answer) -> bool {
        let overlaps = |citation: &Citation| {
            let source = format!("/{}", citation.source.replace('\\', "/"));
            source.ends_with(&format!("/{}", self.source))
                && citation.lines.start <= self.end_line
                && citation.lines.end >= self.start_line
        };
        answer.citations.iter().any(overlaps)
    }

    /// Whether the text holds enough of one of the lines.
    fn is_repeated_in(&self, text: &str) -> bool {
        let is_repeated = |line: &String| {
            let repeated = if is_chinese(line) {
                REPEATED_IN_CHINESE
            } else {
                REPEATED
            };
            let chars: Vec<char> = line.chars().collect();
            let mut parts = chars.windows(repeated.min(chars.len()).max(1));
            chars.len() >= SHORTEST_LINE
                && parts.any(|part| text.contains(&part.iter().collect::<String>()))
        };
        self.lines.iter().any(is_repeated)
    }
}

/// What is wrong with a phrase of which nothing is left without layout: every answer holds that.
pub(super) fn without_letters(phrase: &str) -> Option<String> {
    let is_bare = without_layout(phrase).is_empty();
    is_bare.then(|| {
        format!(
            "'{}' holds nothing that can be compared",
            one_line(phrase, 80)
        )
    })
}

/// A text as it reads: without Markdown marks, links, tags and citation numbers, in lower case and on one line.
pub(super) fn without_layout(text: &str) -> String {
    static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            (r"\[\[(?:[^\]|]*\\?\|)?([^\]]*)\]\]", "$1"),
            (r"\[([^\]]*)\]\([^)]*\)", "$1"),
            (r"\s*\[\d+\]\B|[`*_]|(?m:^\s*>\s?)|==", ""),
            (
                r"</?(?:sup|sub|span|br|abbr|dfn|p|strong|small|u|font)\b[^>\n]*>",
                "",
            ),
            ("’", "'"),
            ("[“”]", "\""),
            (r"\s+", " "),
        ]
        .into_iter()
        .filter_map(|(pattern, by)| Some((Regex::new(pattern).ok()?, by)))
        .collect()
    });
    let mut text = text.to_owned();
    for (pattern, by) in PATTERNS.iter() {
        text = pattern.replace_all(&text, *by).into_owned();
    }
    text.to_lowercase().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{EvidenceId, LineRange};

    #[test]
    fn a_text_is_compared_as_it_reads() {
        for (text, expected) in [
            ("See [the  *guide*](g.md) [1].", "see the guide."),
            ("a[0] and x [12]y", "a and x [12]y"),
            ("> It’s “`so`”<br />\n> here", "it's \"so\" here"),
            ("[[page|The page]], [[other]]", "the page, other"),
        ] {
            assert_eq!(without_layout(text), expected, "{text}");
        }
    }

    fn answer(text: &str, start: usize, end: usize) -> Answer {
        Answer {
            text: text.to_owned(),
            citations: vec![Citation {
                n: 1,
                id: EvidenceId("e1".to_owned()),
                source: "docs/guide/pump.md".to_owned(),
                lines: LineRange { start, end },
                place: None,
                quoted: Vec::new(),
            }],
            outcome: Outcome::Answered,
            confidence: None,
            quotation_from: None,
        }
    }

    #[test]
    fn an_answer_is_right_that_quotes_a_cited_gold_line_or_holds_a_phrase() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("guide")).unwrap();
        let page = "# Pump\n\nThe pump is **primed** by opening the red valve first.\nThen wait.\n";
        std::fs::write(folder.path().join("guide/pump.md"), page).unwrap();
        let gold = r#"{"source": "guide/pump.md", "start_line": 3, "end_line": 4}"#;
        let line = format!(
            r#"{{"id": "q", "question": "How?", "kind": "how-to", "gold": [{gold}], "contains": ["Red valve first, then"]}}"#
        );
        let bare = line.replace("Red valve first, then", "[1]");
        assert!(question(&bare).is_err());
        let mut question = question(&line).unwrap();
        question.gold[0].read_lines(folder.path()).unwrap();
        let quoted = "is primed by opening the *red valve*";
        for (answer, is_cited, is_right) in [
            (answer(quoted, 1, 3), true, true),
            // Quoted, and nobody says from where.
            (answer(quoted, 5, 6), false, false),
            // Cited, and something else of the passage is quoted.
            (answer("The pump is red.", 1, 9), true, false),
            (answer("red valve first, then pump [1]", 5, 6), false, true),
        ] {
            assert_eq!(question.is_cited_by(&answer), is_cited, "{}", answer.text);
            assert_eq!(
                question.is_answered_by(&answer),
                is_right,
                "{}",
                answer.text
            );
        }
    }
}
