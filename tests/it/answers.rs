//! Whole answers over three knowledge bases: what the offline engine says, and what it cites.
//!
//! `fixtures/answers.jsonl` asks of the demo base, `answers-home.jsonl` and `answers-office.jsonl` of
//! documents of quite other subjects. The questions were written from the documents, without sight
//! of the engine. Those `held_out` were held back and counted before what they showed was
//! repaired in part; the others were worked with. Right means: a document that answers is cited,
//! and the answer holds every phrase (one of each group). An unanswerable question is right only
//! when it ends as not found. Each base is embedded once. `ANSWERS_SHOW=1` prints what was said
//! wrong, `ANSWERS_SHOW=all` everything. The floors lie a little below what was measured, because
//! another processor rounds the embedding in another way.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kb_agent::agent::ports::Toolbox;
use kb_agent::agent::{Question, without_marks};
use kb_agent::domain::{Outcome, RoutingLimits, Turn};
use kb_agent::kb::KnowledgeBase;
use kb_agent::kb::embed::{Remembering, SentenceEmbedding};
use kb_agent::reasoner::offline::OfflineReasoner;
use kb_agent::tools::KbToolbox;
use serde::Deserialize;

use crate::support::{Finished, run};

/// Measured: .905 over all, .882 over those worked with, .936 over those held out.
///
/// At least this share of the answerable questions is answered with the right source.
const RIGHT: f64 = 0.88;
/// Measured: .836 over all, .853 over those worked with, .818 over those held out.
///
/// The same of those about a house, a shop and a garden.
const HOME_RIGHT: f64 = 0.80;
/// Measured: .902, all held out.
///
/// The same of those about a team and a club.
const OFFICE_RIGHT: f64 = 0.86;
/// Measured: .011 over the demo base (one of 87), none of 13 and one of 9 over the others.
///
/// At most this share of the unanswerable ones is answered at all.
const INVENTED: f64 = 0.05;
/// The same of the other bases, of which one question is more than that share.
const INVENTED_ELSEWHERE: f64 = 0.12;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    kind: String,
    language: String,
    question: String,
    /// The questions before it, which are asked too.
    #[serde(default)]
    history: Vec<String>,
    /// Documents that answer; none where nothing does.
    sources: Vec<String>,
    /// What the answer must hold: one phrase of each group.
    says: Vec<Vec<String>>,
    #[serde(default)]
    held_out: bool,
}

struct Bench {
    tools: Arc<dyn Toolbox>,
    embedder: Arc<Remembering>,
}

impl Bench {
    async fn ask(&self, query: &str, history: &[Turn]) -> Finished {
        let question = Question {
            query: query.to_owned(),
            history: history.to_vec(),
            ..Question::default()
        };
        let reasoner = Arc::new(OfflineReasoner::new(self.embedder.clone()));
        run(
            reasoner,
            self.tools.clone(),
            RoutingLimits::default(),
            question,
        )
        .await
    }

    async fn converse(&self, asked: &Asked) -> Finished {
        let mut history = Vec::new();
        for question in &asked.history {
            let answer = without_marks(self.ask(question, &history).await.text());
            history.push(Turn {
                question: question.clone(),
                answer,
            });
        }
        self.ask(&asked.question, &history).await
    }
}

impl Asked {
    fn is_right(&self, finished: &Finished) -> bool {
        if self.sources.is_empty() {
            return finished.outcome() == Outcome::NotFound;
        }
        let answer = finished.answer.as_ref().unwrap();
        let said = plain(&answer.text);
        let mut cited = answer.citations.iter();
        finished.outcome() == Outcome::Answered
            && cited.any(|citation| self.sources.contains(&citation.source))
            && self
                .says
                .iter()
                .all(|group| group.iter().any(|phrase| said.contains(&plain(phrase))))
    }

    fn told(&self, finished: &Finished) -> String {
        let history = self.history.join(" → ");
        let cited = &finished.answer.as_ref().unwrap().citations;
        let cited: Vec<String> = cited
            .iter()
            .map(|c| format!("[{}] {}", c.n, c.source))
            .collect();
        format!(
            "── {} {}: {history} » {}\nexpected {:?} {:?}\n{}\n{}\n",
            self.kind,
            self.language,
            self.question,
            self.sources,
            self.says,
            finished.text(),
            cited.join(", ")
        )
    }
}

/// In lower case, without the marks of code and with single spaces.
fn plain(text: &str) -> String {
    let text = text.to_lowercase().replace("```", "\u{1}").replace('`', "");
    let text = text.replace('\u{1}', "```");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn questions(file: &Path) -> Vec<Asked> {
    let lines = fs::read_to_string(file).unwrap();
    let mut asked = Vec::new();
    for (at, line) in lines.lines().enumerate() {
        let read = serde_json::from_str(line);
        asked.push(read.unwrap_or_else(|e| panic!("{}:{}: {e}", file.display(), at + 1)));
    }
    asked
}

/// Right ones and all, by set and kind.
#[derive(Default)]
struct Tally(BTreeMap<(bool, String), (usize, usize)>);

impl Tally {
    fn count(&mut self, asked: &Asked, right: bool) {
        let kind = format!("{} {}", asked.kind, asked.language);
        let entry = self.0.entry((asked.held_out, kind)).or_default();
        entry.0 += usize::from(right);
        entry.1 += 1;
    }

    fn share(&self, of: impl Fn(bool, &str) -> bool) -> f64 {
        let found = self.0.iter().filter(|((held, kind), _)| of(*held, kind));
        let (right, all) = found.fold((0, 0), |sum, (_, n)| (sum.0 + n.0, sum.1 + n.1));
        right as f64 / all as f64
    }

    /// The share of the answerable questions answered rightly.
    fn right(&self) -> f64 {
        self.share(|_, kind| !kind.starts_with(NONE))
    }

    /// The share of the unanswerable questions answered at all.
    fn invented(&self) -> f64 {
        1.0 - self.share(|_, kind| kind.starts_with(NONE))
    }

    fn table(&self) -> String {
        let mut table = String::new();
        for ((held, kind), (right, all)) in &self.0 {
            let set = if *held { "held out" } else { "tuned" };
            writeln!(table, "{set:9} {kind:20} {right:2} of {all:2}").unwrap();
        }
        for (set, held) in [
            ("tuned", Some(false)),
            ("held out", Some(true)),
            ("all", None),
        ] {
            let within = |h: bool| held.is_none_or(|held| held == h);
            writeln!(
                table,
                "{set:9} right {:.3}  invented {:.3}",
                self.share(|h, kind| within(h) && !kind.starts_with(NONE)),
                1.0 - self.share(|h, kind| within(h) && kind.starts_with(NONE)),
            )
            .unwrap();
        }
        table
    }
}

const NONE: &str = "unanswerable";

/// A knowledge base and the questions asked of it.
struct Set {
    base: PathBuf,
    questions: PathBuf,
}

impl Set {
    fn demo() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self {
            base: root.join("assets/demo-kb"),
            questions: root.join("tests/it/fixtures/answers.jsonl"),
        }
    }

    /// Documents of quite other subjects: of a house, a shop, a garden; prose, tables and programs'
    /// files, in English, German and Chinese.
    fn home() -> Self {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures");
        Self {
            base: fixtures.join("home"),
            questions: fixtures.join("answers-home.jsonl"),
        }
    }

    /// Documents of a team and a sports club.
    fn office() -> Self {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures");
        Self {
            base: fixtures.join("office"),
            questions: fixtures.join("answers-office.jsonl"),
        }
    }

    /// What `ANSWERS_BASE` and `ANSWERS_FILE` name, and for what they leave out the demo's.
    fn named() -> Self {
        let demo = Self::demo();
        let named = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
        Self {
            base: named("ANSWERS_BASE").unwrap_or(demo.base),
            questions: named("ANSWERS_FILE").unwrap_or(demo.questions),
        }
    }

    /// Asks every question; the ones held out are never shown, and left out when others are,
    /// unless `ANSWERS_HELD` is set.
    #[expect(clippy::print_stderr, reason = "what was measured, for people")]
    async fn tally(&self) -> Tally {
        let home = tempfile::tempdir().unwrap();
        let embedder = Arc::new(Remembering::new(Arc::new(SentenceEmbedding::new())));
        let bases = [self.base.clone()];
        let base = KnowledgeBase::open(&bases, home.path(), embedder.clone()).unwrap();
        base.update(&|_| {}, &AtomicBool::new(false)).unwrap();
        let bench = Bench {
            tools: Arc::new(KbToolbox::new(Arc::new(base))),
            embedder,
        };
        let show = shown();
        let held_too = std::env::var("ANSWERS_HELD").is_ok();
        let mut tally = Tally::default();
        for asked in questions(&self.questions) {
            if asked.held_out && !held_too && !show.is_empty() {
                continue;
            }
            let finished = bench.converse(&asked).await;
            let right = asked.is_right(&finished);
            tally.count(&asked, right);
            if show == "all" || !show.is_empty() && !right {
                let mark = if right { "+" } else { "-" };
                eprintln!("{mark} {}", asked.told(&finished));
            }
        }
        eprintln!("{}", tally.table());
        tally
    }
}

/// Which answers to print: `""` none, `"all"`, and by anything else the wrong ones.
fn shown() -> String {
    std::env::var("ANSWERS_SHOW").unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_golden_questions_are_answered_with_their_sources() {
    let tally = Set::demo().tally().await;
    assert!(shown().is_empty(), "shown, not judged");
    let table = tally.table();
    assert!(tally.right() >= RIGHT, "{table}");
    assert!(tally.invented() <= INVENTED, "{table}");
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_about_other_subjects_are_answered_with_their_sources() {
    for (set, right, invented) in [
        (Set::home(), HOME_RIGHT, INVENTED_ELSEWHERE),
        (Set::office(), OFFICE_RIGHT, INVENTED_ELSEWHERE),
    ] {
        let tally = set.tally().await;
        assert!(shown().is_empty(), "shown, not judged");
        let table = tally.table();
        assert!(tally.right() >= right, "{table}");
        assert!(tally.invented() <= invented, "{table}");
    }
}

/// For measuring by hand: any questions over any base, counted and not judged.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures what ANSWERS_BASE and ANSWERS_FILE name"]
async fn any_questions_are_counted_over_any_base() {
    let set = Set::named();
    let tally = set.tally().await;
    assert!(
        !tally.0.is_empty(),
        "no questions in {}",
        set.questions.display()
    );
}
