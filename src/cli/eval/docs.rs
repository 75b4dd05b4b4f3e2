//! Answers over a folder of documentation, by questions whose places in it are known.
//!
//! An answer is right if it repeats words of a line that answers and that it cites, or holds one of the
//! phrases that show a right answer: a citation alone may cover far more than what is quoted. A question
//! without both is one that the folder does not answer, and is to be refused. Index and audit log are kept
//! apart from those of the user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::Args;
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::frame::{Measure, load_lines, print_measured, refuse_blank};
use crate::cli::catch_up::update_wholly;
use crate::cli::interruption::unless_cancelled;
use crate::cli::output::{CommandFailure, print_notice};
use crate::config::Settings;
use crate::domain::{Answer, Citation, Outcome};
use crate::engine::{Engine, EngineError};
use crate::files::read_text_bounded;
use crate::text::{is_chinese, one_line};

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

/// Measures and prints the figures.
pub(super) fn run(docs: &DocsArgs, settings: &Settings) -> Result<(), CommandFailure> {
    let read = |question| read_question(question, &docs.corpus);
    let questions = load_lines(&docs.questions, FORM, read)?;
    let settings = settings_over(&docs.corpus, settings)?;
    print_measured(&questions, docs.json, async |cancel| {
        let engine = unless_cancelled(cancel, Engine::open(&settings)).await??;
        update_wholly(&engine.knowledge(), cancel).await?;
        let report = DocsReport {
            engine: engine.identity().model,
            ..DocsReport::default()
        };
        Ok(DocsMeasure { engine, report })
    })
}

fn read_question(mut question: DocsQuestion, corpus: &Path) -> Result<DocsQuestion, String> {
    refuse_blank("question", &question.question)?;
    for phrase in &question.contains {
        refuse_bare(phrase).map_err(|why| format!("contains: {why}"))?;
    }
    for gold in &mut question.gold {
        let lines = gold.read_lines(corpus);
        gold.lines = lines.map_err(|why| format!("question {}: {why}", question.id))?;
    }
    Ok(question)
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

struct DocsMeasure {
    engine: Engine,
    report: DocsReport,
}

impl Measure for DocsMeasure {
    type Line = DocsQuestion;

    async fn add(
        &mut self,
        question: &DocsQuestion,
        cancel: &CancellationToken,
    ) -> Result<(), CommandFailure> {
        let asked = self.engine.answer_query(&question.question);
        let answer = match unless_cancelled(cancel, asked).await? {
            Err(EngineError::Run(why)) => {
                print_notice(&format!("{}: {why}", question.id));
                None
            }
            answer => Some(answer?),
        };
        self.report.add(question, answer.as_ref());
        Ok(())
    }

    async fn figures(self) -> Result<Value, CommandFailure> {
        self.engine.end().await;
        Ok(json!(self.report))
    }
}

/// What is printed; the names are fixed.
#[derive(Debug, Default, Serialize)]
struct DocsReport {
    engine: String,
    /// The questions that the folder answers, by kind.
    kinds: BTreeMap<String, AnswerCounts>,
    answerable: AnswerCounts,
    unanswerable: RefusalCounts,
    wrong: Vec<Value>,
}

/// Answers to questions that the folder answers.
#[derive(Debug, Default, Serialize)]
struct AnswerCounts {
    n: usize,
    right: usize,
    /// Answers that cite a passage with lines that answer, whatever they quote of it.
    cited: usize,
    refused: usize,
}

/// Answers to questions that the folder does not answer.
#[derive(Debug, Default, Serialize)]
struct RefusalCounts {
    n: usize,
    refused: usize,
}

impl DocsReport {
    /// Counts one answer; `None` is a run that failed.
    fn add(&mut self, question: &DocsQuestion, answer: Option<&Answer>) {
        let outcome = answer.map_or(Outcome::Failed, |answer| answer.outcome);
        let is_refused = outcome == Outcome::NotFound;
        let answer = answer.filter(|_| outcome == Outcome::Answered);
        let cited = answer.is_some_and(|answer| question.is_cited_by(answer));
        let is_right = if question.is_answerable() {
            let is_right = answer.is_some_and(|answer| question.is_answered_by(answer));
            let kind = self.kinds.entry(question.kind.clone()).or_default();
            for counts in [kind, &mut self.answerable] {
                counts.n += 1;
                counts.right += usize::from(is_right);
                counts.cited += usize::from(cited);
                counts.refused += usize::from(is_refused);
            }
            is_right
        } else {
            self.unanswerable.n += 1;
            self.unanswerable.refused += usize::from(is_refused);
            is_refused
        };
        if !is_right {
            self.wrong.push(json!({
                "id": question.id, "kind": question.kind, "outcome": outcome, "cited": cited,
                "question": question.question,
            }));
        }
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
        let text = strip_layout(&answer.text);
        let has_phrase = |phrase: &String| text.contains(&strip_layout(phrase));
        let is_quoted = |gold: &GoldSpan| gold.is_cited_by(answer) && gold.is_repeated_in(&text);
        self.contains.iter().any(has_phrase) || self.gold.iter().any(is_quoted)
    }
}

impl GoldSpan {
    /// Its lines without layout; the error says what is wrong with the place.
    fn read_lines(&self, corpus: &Path) -> Result<Vec<String>, String> {
        let (source, start, end) = (&self.source, self.start_line, self.end_line);
        let text = read_text_bounded(&corpus.join(source), LONGEST_PAGE)
            .map_err(|error| format!("{source}: {error}"))?;
        let count = end.saturating_add(1).saturating_sub(start);
        let lines = text.lines().skip(start.saturating_sub(1)).take(count);
        let lines: Vec<String> = lines.map(strip_layout).collect();
        if lines.is_empty() {
            return Err(format!("{source} has no lines {start} to {end}"));
        }
        Ok(lines)
    }

    /// Whether a cited passage overlaps the lines. Its source may begin with the folder's name.
    fn is_cited_by(&self, answer: &Answer) -> bool {
        let overlaps = |citation: &Citation| {
            ends_with_path(&citation.source, &self.source)
                && citation.lines.start <= self.end_line
                && citation.lines.end >= self.start_line
        };
        answer.citations.iter().any(overlaps)
    }

    /// Whether the text holds enough of one of the lines.
    fn is_repeated_in(&self, text: &str) -> bool {
        self.lines.iter().any(|line| {
            let repeated = if is_chinese(line) {
                REPEATED_IN_CHINESE
            } else {
                REPEATED
            };
            let chars: Vec<char> = line.chars().collect();
            let mut parts = chars.windows(repeated.min(chars.len()).max(1));
            chars.len() >= SHORTEST_LINE
                && parts.any(|part| text.contains(&part.iter().collect::<String>()))
        })
    }
}

/// Whether a document is meant by a path that may leave out the first folders.
pub(super) fn ends_with_path(source: &str, path: &str) -> bool {
    let slashed = |path: &str| format!("/{}", path.replace('\\', "/"));
    slashed(source).ends_with(&slashed(path))
}

/// Refuses a phrase of which nothing is left without layout: every answer holds that.
pub(super) fn refuse_bare(phrase: &str) -> Result<(), String> {
    if strip_layout(phrase).is_empty() {
        let phrase = one_line(phrase, 80);
        return Err(format!("'{phrase}' holds nothing that can be compared"));
    }
    Ok(())
}

/// A text as it reads: without Markdown marks, links, tags and citation numbers, in lower case and on one
/// line.
pub(super) fn strip_layout(text: &str) -> String {
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
    let stripped = PATTERNS
        .iter()
        .fold(text.to_owned(), |text, (pattern, by)| {
            pattern.replace_all(&text, *by).into_owned()
        });
    stripped.to_lowercase().trim().to_owned()
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
            assert_eq!(strip_layout(text), expected, "{text}");
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
        let read = |line: &str| {
            let question = serde_json::from_str(line).unwrap();
            read_question(question, folder.path())
        };
        let bare = line.replace("Red valve first, then", "[1]");
        assert!(read(&bare).is_err());
        let question = read(&line).unwrap();
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
