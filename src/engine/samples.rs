//! Questions to try, made from the headings of the user's own documents.
//!
//! What was made is asked before it is offered, by the embedded engine and beside any conversation: only what gets a
//! sure answer becomes a sample. They are spread over the documents. Headings are other people's text: only plain, short
//! ones are used.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::adding::{CurrentBase, CurrentTools};
use super::steps::StepRunner;
use crate::agent::ports::Ports;
use crate::agent::{Agent, RunRequest};
use crate::domain::{
    Complexity, Confidence, ConfidenceLevel, FileFormat, FileKind, Outcome, RoutingLimits,
};
use crate::kb::{Document, KbError, KnowledgeBase};
use crate::protocol::{Event, EventBody, SampleQuestion};
use crate::reasoner::offline::question_about;
use crate::text::{is_chinese, one_line};

/// How many there are to try.
const MOST: usize = 5;
/// So many questions are asked for them.
const MOST_ASKED: usize = 32;
/// Later no more are asked.
const PATIENCE: Duration = Duration::from_secs(20);
/// Events that may wait while a sample is asked.
const EVENTS_IN_FLIGHT: usize = 64;

/// Makes the questions to try.
pub(super) type MakeSamples =
    dyn Fn(&KnowledgeBase, &AtomicBool) -> Result<Basis, KbError> + Send + Sync;

/// Asks a question: the way it goes, where it gets a sure answer.
type AskSample = dyn Fn(&str) -> Option<Complexity> + Send + Sync;

/// Makes questions to try.
pub(super) struct Samples {
    ask: Box<AskSample>,
}

/// Questions, and what they were made from.
pub(super) struct Basis {
    pub(super) questions: Vec<SampleQuestion>,
    /// Documents and the hashes of what they said: those that the questions are about, and where a
    /// question is lacking all that were looked into.
    documents: Vec<(String, [u8; 32])>,
    /// Whether passages were found by their words only when they were asked.
    was_pending: bool,
}

impl Basis {
    /// No question, which is all that these documents come to.
    pub(super) fn none_of(base: &KnowledgeBase, stop: &AtomicBool) -> Result<Self, KbError> {
        Ok(Self {
            questions: Vec::new(),
            documents: chosen(base, stop)?.iter().map(as_it_is).collect(),
            was_pending: base.status().pending > 0,
        })
    }

    /// Whether making them again would come to no more: the documents say what they said, and
    /// where a question is lacking there is no other to look into.
    pub(super) fn is_current(
        &self,
        base: &KnowledgeBase,
        stop: &AtomicBool,
    ) -> Result<bool, KbError> {
        if self.questions.len() < MOST {
            if self.was_pending && base.status().pending == 0 {
                return Ok(false);
            }
            let chosen = chosen(base, stop)?;
            return Ok(self
                .documents
                .iter()
                .eq(&chosen.iter().map(as_it_is).collect::<Vec<_>>()));
        }
        for (source, hash) in &self.documents {
            if base.document(source)?.is_none_or(|now| now.hash != *hash) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn as_it_is(document: &Arc<Document>) -> (String, [u8; 32]) {
    (document.source.clone(), document.hash)
}

impl Samples {
    /// Asked of the embedded engine over this base, by these limits and on this runtime.
    pub(super) fn new(runtime: Handle, base: CurrentBase, limits: RoutingLimits) -> Self {
        let agent = Agent {
            ports: Ports {
                reasoner: StepRunner::embedded().reasoner.clone(),
                tools: Arc::new(CurrentTools(base)),
            },
            limits,
            session: String::new(),
        };
        Self {
            ask: Box::new(move |question: &str| runtime.block_on(route_of_sure(&agent, question))),
        }
    }

    /// What makes them.
    pub(super) fn maker(self) -> Arc<MakeSamples> {
        Arc::new(move |base, stop| self.make(base, stop))
    }

    /// Looks for headings and asks what can be made of them, one of each document before a second of any. Blocks.
    fn make(&self, base: &KnowledgeBase, stop: &AtomicBool) -> Result<Basis, KbError> {
        let was_pending = base.status().pending > 0;
        let headings = headings(base, stop)?;
        let until = Instant::now() + PATIENCE;
        let mut basis = Basis {
            questions: Vec::new(),
            documents: Vec::new(),
            was_pending,
        };
        for heading in headings.in_turn().into_iter().take(MOST_ASKED) {
            go_on(stop)?;
            if basis.questions.len() == MOST || Instant::now() >= until {
                break;
            }
            let text = headings.question(heading);
            if let Some(route) = (self.ask)(&text) {
                basis.questions.push(SampleQuestion { route, text });
                let document = (heading.source.clone(), heading.hash);
                basis.documents.push(document);
            }
        }
        if basis.questions.len() < MOST {
            basis.documents = Basis::none_of(base, stop)?.documents;
        }
        Ok(basis)
    }
}

/// The way a question goes that gets a sure answer. It is asked beside any conversation: nothing of it reaches the audit
/// log or the screen.
async fn route_of_sure(agent: &Agent, question: &str) -> Option<Complexity> {
    let (events, mut received) = mpsc::channel::<Event>(EVENTS_IN_FLIGHT);
    let request = RunRequest {
        query: question.to_owned(),
        ..RunRequest::default()
    };
    let answering = agent.answer(request, events, CancellationToken::new());
    let went = async {
        let mut went = None;
        while let Some(event) = received.recv().await {
            if let EventBody::RunFinished { complexity, .. } = event.body {
                went = complexity;
            }
        }
        went
    };
    let (answer, went) = tokio::join!(answering, went);
    let is_sure = answer.is_some_and(|answer| {
        let level = answer.confidence.map(Confidence::level);
        answer.outcome == Outcome::Answered && level == Some(ConfidenceLevel::Sure)
    });
    went.filter(|_| is_sure)
}

// Headings of the user's documents that a question can be made of.

/// So many documents are looked into, spread over the base.
const DOCUMENTS: usize = 40;
/// So many passages of each.
const PASSAGES: usize = 6;
/// The longest heading that is used, in characters.
const LONGEST: usize = 48;
/// The most words of one.
const MOST_WORDS: usize = 7;

/// Headings that say nothing about their document.
const GENERIC: &[&str] = &[
    "introduction",
    "overview",
    "contents",
    "table of contents",
    "index",
    "summary",
    "conclusion",
    "conclusions",
    "references",
    "appendix",
    "notes",
    "readme",
    "changelog",
    "license",
    "todo",
    "faq",
    "abstract",
    "background",
    "untitled",
    "unreleased",
    "added",
    "changed",
    "fixed",
    "目录",
    "简介",
    "概述",
    "总结",
    "前言",
    "附录",
];

/// A heading fit for a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SampleHeading {
    pub(super) text: String,
    pub(super) source: String,
    /// Hash of the document's text.
    pub(super) hash: [u8; 32],
    /// Whether it is the document's first.
    pub(super) is_title: bool,
}

impl SampleHeading {
    /// Whether it is a question itself.
    fn asks(&self) -> bool {
        self.text.ends_with(['?', '？'])
    }
}

/// Headings fit for questions.
pub(super) struct SampleHeadings {
    /// All headings in the order of their documents, each once.
    pub(super) all: Vec<SampleHeading>,
    /// Whether most documents have most of theirs in Chinese.
    pub(super) are_chinese: bool,
}

impl SampleHeadings {
    /// The headings in the order in which they are asked about: the best of each document, then the next of each. One
    /// that is a question says best what its section answers, a section more than a whole document; those in another
    /// language than most documents come last.
    fn in_turn(&self) -> Vec<&SampleHeading> {
        let mut best_first: Vec<&SampleHeading> = self.all.iter().collect();
        best_first
            .sort_by_key(|heading| (self.is_foreign(heading), !heading.asks(), heading.is_title));
        let mut taken: HashMap<&str, usize> = HashMap::new();
        let turns = best_first.into_iter().map(|heading| {
            let turn = taken.entry(heading.source.as_str()).or_default();
            *turn += 1;
            (*turn, heading)
        });
        let mut turns: Vec<(usize, &SampleHeading)> = turns.collect();
        turns.sort_by_key(|(turn, heading)| (*turn, self.is_foreign(heading)));
        turns.into_iter().map(|(_, heading)| heading).collect()
    }

    /// The question about a heading, in the language of the documents.
    fn question(&self, heading: &SampleHeading) -> String {
        if heading.asks() {
            heading.text.clone()
        } else if self.is_foreign(heading) {
            question_about(&heading.text, &heading.text)
        } else {
            question_about(&heading.text, &self.some_text())
        }
    }

    /// Enough of the headings to tell their language.
    fn some_text(&self) -> String {
        let own = self.all.iter().filter(|heading| !self.is_foreign(heading));
        let texts: Vec<&str> = own.map(|it| it.text.as_str()).take(DOCUMENTS).collect();
        texts.join(". ")
    }

    /// Whether it is in another language than most documents are: it is used where nothing else is.
    pub(super) fn is_foreign(&self, heading: &SampleHeading) -> bool {
        is_chinese(&heading.text) != self.are_chinese
    }
}

/// The documents that are looked into.
pub(super) fn chosen(
    base: &KnowledgeBase,
    stop: &AtomicBool,
) -> Result<Vec<Arc<Document>>, KbError> {
    // Rows and code have names of sheets and files in their place.
    let has_headings = |source: &str| {
        matches!(
            kind(source).as_str(),
            "Markdown" | "Word" | "slides" | "web page" | "book" | "reStructuredText" | "Org"
        )
    };
    let mut fit = 0_usize;
    base.for_each_document(stop, |one| fit += usize::from(has_headings(&one.source)))?;
    let every = fit.div_ceil(DOCUMENTS).max(1);
    let (mut at, mut chosen) = (0_usize, Vec::new());
    base.for_each_document(stop, |one| {
        if has_headings(&one.source) {
            if at.is_multiple_of(every) {
                chosen.push(Arc::clone(one));
            }
            at += 1;
        }
    })?;
    Ok(chosen)
}

/// Headings that a question can be made of.
pub(super) fn headings(base: &KnowledgeBase, stop: &AtomicBool) -> Result<SampleHeadings, KbError> {
    let mut found: Vec<SampleHeading> = Vec::new();
    let (mut chinese, mut others) = (0, 0);
    for document in chosen(base, stop)? {
        go_on(stop)?;
        let source = &document.source;
        let headings = base.headings(source, PASSAGES, stop)?;
        let in_chinese = headings.iter().filter(|text| is_chinese(text)).count();
        match headings.len() {
            0 => {}
            all if 2 * in_chinese > all => chinese += 1,
            _ => others += 1,
        }
        for (at, heading) in headings.iter().enumerate() {
            let Some(text) = usable(heading) else {
                continue;
            };
            let folded = text.to_lowercase();
            if found
                .iter()
                .all(|known| known.text.to_lowercase() != folded)
            {
                found.push(SampleHeading {
                    text,
                    source: source.clone(),
                    hash: document.hash,
                    is_title: at == 0,
                });
            }
        }
    }
    Ok(SampleHeadings {
        all: found,
        are_chinese: chinese > others,
    })
}

/// The heading without its number and marks; `None` where no question can be made of it.
fn usable(heading: &str) -> Option<String> {
    let line = one_line(heading, LONGEST + 16);
    let bare = without_number(&line).trim_end_matches(['.', ':', '：', '。', '!', ' ', '-']);
    let folded = bare.to_lowercase();
    let letters = bare.chars().filter(|c| c.is_alphabetic()).count();
    let least = if is_chinese(bare) { 2 } else { 3 };
    // Marks of a language, a link or a command.
    let is_plain = |c: char| {
        c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '\'' | '’' | '?' | '？' | '、')
    };
    let is_fit = letters >= least
        && bare.chars().count() <= LONGEST
        && bare.split_whitespace().count() <= MOST_WORDS
        && bare.chars().all(is_plain)
        && !GENERIC.contains(&folded.as_str());
    is_fit.then(|| bare.to_owned())
}

/// `2.1 Opening hours` and `3) Tools` without what counts them; a year stays.
fn without_number(line: &str) -> &str {
    let counts = |first: &str| {
        first.starts_with(|c: char| c.is_ascii_digit())
            && first
                .chars()
                .all(|c| c.is_ascii_digit() || ".)".contains(c))
            && (first.len() < 3 || first.contains(['.', ')']))
    };
    match line.split_once(' ') {
        Some((first, rest)) if counts(first) => rest,
        _ => line,
    }
}

/// An error once it is to stop.
pub(super) fn go_on(stop: &AtomicBool) -> Result<(), KbError> {
    if stop.load(Ordering::Relaxed) {
        return Err(KbError::Stopped);
    }
    Ok(())
}

/// An ending longer than this is no kind of file.
const LONGEST_ENDING: usize = 8;

/// What a file is by its ending.
pub(super) fn kind(source: &str) -> String {
    let file = source.rsplit('/').next().unwrap_or(source);
    let ending = match file.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => ending.to_lowercase(),
        _ => String::new(),
    };
    let known = FileFormat::by_ending(&ending)
        .filter(|format| format.is_read() && format.kind != FileKind::Code);
    let is_word = |ending: &str| {
        (1..=LONGEST_ENDING).contains(&ending.len())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
    };
    match known {
        Some(format) => format.short_name.to_owned(),
        None if is_word(&ending) => ending,
        None => "other".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;

    use super::*;
    use crate::agent::ports::{EmbedError, Embedder};
    use crate::engine::update_words;

    /// Words only.
    struct NoMeaning;

    impl Embedder for NoMeaning {
        fn model_id(&self) -> &'static str {
            "none"
        }

        fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            Err(EmbedError("none".into()))
        }
    }

    /// The samples over these documents, where this says which answers are sure, and what was asked.
    async fn samples(
        files: &[(&str, &str)],
        is_answered: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> (Vec<SampleQuestion>, Vec<String>) {
        let (docs, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (name, text) in files {
            fs::write(docs.path().join(name), text).unwrap();
        }
        let roots = [docs.path().to_owned()];
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&asked);
        let samples = Samples {
            ask: Box::new(move |text| {
                noted.lock().unwrap().push(text.to_owned());
                is_answered(text).then_some(Complexity::Simple)
            }),
        };
        let made = tokio::task::spawn_blocking(move || {
            let base = KnowledgeBase::open(&roots, home.path(), Arc::new(NoMeaning)).unwrap();
            let go_on = AtomicBool::new(false);
            update_words(&base, &|_| (), &go_on).unwrap();
            samples.make(&base, &go_on).unwrap().questions
        });
        let made = made.await.unwrap();
        let asked = asked.lock().unwrap().clone();
        (made, asked)
    }

    const LEASE: (&str, &str) = (
        "lease.md",
        "# Lease of the flat\n\n## Monthly rent\n\nThe rent is 900.\n\n## Notice period\n\nThree months.\n",
    );
    const GARDEN: (&str, &str) = (
        "garden.md",
        "# Garden plan\n\n## Watering the rhubarb\n\nAt dawn.\n",
    );
    const FLOWERS: (&str, &str) = ("b.md", "# 花园计划\n\n## 浇水时间\n\n清晨浇水。\n");
    const DEPOSIT: (&str, &str) = ("c.md", "# 房屋租约\n\n## 押金\n\n两个月租金。\n");

    #[tokio::test(flavor = "multi_thread")]
    async fn ui_only_questions_with_a_sure_answer_become_samples() {
        let (made, asked) = samples(&[LEASE, GARDEN], |_| true).await;
        let texts: Vec<&str> = made.iter().map(|sample| sample.text.as_str()).collect();
        assert_eq!(texts, asked);
        assert_eq!(
            texts,
            [
                "What is Watering the rhubarb?",
                "What is Monthly rent?",
                "What is Notice period?",
                "What is Garden plan?",
                "What is Lease of the flat?",
            ]
        );
        let (made, _) = samples(&[LEASE, GARDEN], |text| text.contains("Notice")).await;
        assert_eq!(made.len(), 1, "{made:?}");
        let (made, asked) = samples(&[LEASE, GARDEN], |_| false).await;
        assert_eq!((made, asked.len()), (Vec::new(), 5));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn ui_most_documents_decide_the_language_of_the_samples() {
        // Its heading is a question, which is asked before any other of its document.
        let one = ("a.md", "# 租金是多少？\n\n每月九百元。\n");
        let asked = (
            "d.md",
            "# What does the alarm code do?\n\nIt opens the door.\n",
        );
        for (files, are_chinese) in [
            (vec![one, LEASE, GARDEN], false),
            (vec![one, FLOWERS, DEPOSIT, asked], true),
        ] {
            let (made, _) = samples(&files, |_| true).await;
            let first = made.iter().take(2);
            for sample in first {
                assert_eq!(is_chinese(&sample.text), are_chinese, "{made:?}");
            }
        }
    }
}

#[cfg(test)]
mod sample_headings_tests {
    use super::*;

    #[test]
    fn only_plain_short_headings_become_questions() {
        for (heading, used) in [
            ("Opening hours", Some("Opening hours")),
            ("2.1 Opening hours:", Some("Opening hours")),
            ("3D printing", Some("3D printing")),
            ("2024 budget", Some("2024 budget")),
            ("租金", Some("租金")),
            ("Introduction", None),
            ("2024", None),
            ("`rm -rf /`", None),
            ("<script>alert</script>", None),
            ("See [here](http://example.org)", None),
            ("a heading that goes on and on and never ends", None),
            ("x\u{1b}[2Jyz", Some("xyz")),
        ] {
            assert_eq!(usable(heading).as_deref(), used, "{heading}");
        }
        let endless = "word".repeat(1000);
        assert_eq!(usable(&endless), None);
    }
}
