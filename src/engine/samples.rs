//! Questions to try, made from the headings of the user's own documents.
//!
//! What was made is asked before it is offered, by the embedded engine and beside any conversation: only what gets a
//! sure answer becomes a sample. They are spread over the documents. Headings are other people's text: only plain, short
//! ones are used.

use std::collections::HashSet;
use std::sync::Arc;
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
    dyn Fn(&KnowledgeBase, &CancellationToken) -> Result<Samples, KbError> + Send + Sync;

/// Questions to try, and the documents that they are about.
#[derive(Default)]
pub(super) struct Samples {
    pub(super) questions: Vec<SampleQuestion>,
    documents: Vec<Arc<Document>>,
    /// Whether passages were found by their words only when the questions were asked.
    was_pending: bool,
}

impl Samples {
    /// Whether they may stay: the documents say what they said. Where there is no question, or one is lacking
    /// that may be found now, they are made anew.
    pub(super) fn are_current(&self, base: &KnowledgeBase) -> Result<bool, KbError> {
        let may_be_more =
            self.questions.len() < MOST && self.was_pending && base.status().pending == 0;
        // While passages are found by their words only, no more would come of it.
        if may_be_more || self.questions.is_empty() && !self.was_pending {
            return Ok(false);
        }
        for then in &self.documents {
            let now = base.document(&then.source)?;
            if now.is_none_or(|now| now.hash != then.hash) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Makes them by the embedded engine over this base, with these limits and on this runtime.
pub(super) fn sample_maker(
    runtime: Handle,
    base: CurrentBase,
    limits: RoutingLimits,
) -> Arc<MakeSamples> {
    let agent = Agent {
        ports: Ports {
            reasoner: StepRunner::embedded().reasoner.clone(),
            tools: Arc::new(CurrentTools(base)),
        },
        limits,
        session: String::new(),
    };
    Arc::new(move |base, cancel| {
        make_samples(base, cancel, |question| {
            runtime.block_on(route_of_sure(&agent, question))
        })
    })
}

/// Looks for headings and asks what can be made of them, until there are enough. `ask` tells the way that a
/// question goes, where it gets a sure answer. Blocks.
fn make_samples(
    base: &KnowledgeBase,
    cancel: &CancellationToken,
    ask: impl Fn(&str) -> Option<Complexity>,
) -> Result<Samples, KbError> {
    let mut samples = Samples {
        was_pending: base.status().pending > 0,
        ..Samples::default()
    };
    let headings = headings(base, cancel)?;
    let texts = headings.iter().map(|heading| heading.text.as_str());
    let language: Vec<&str> = texts.filter(|text| !is_chinese(text)).collect();
    let language = language.join(". ");
    let until = Instant::now() + PATIENCE;
    for heading in headings.iter().take(MOST_ASKED) {
        go_on(cancel)?;
        if samples.questions.len() == MOST || Instant::now() >= until {
            break;
        }
        let text = match &heading.text {
            text if !heading.worth.0 => text.clone(),
            text if is_chinese(text) => question_about(text, text),
            text => question_about(text, &language),
        };
        if let Some(route) = ask(&text) {
            samples.questions.push(SampleQuestion { route, text });
            samples.documents.push(Arc::clone(&heading.document));
        }
    }
    Ok(samples)
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
    let mut way = None;
    let reading = async {
        while let Some(event) = received.recv().await {
            if let EventBody::RunFinished { complexity, .. } = event.body {
                way = complexity;
            }
        }
    };
    let (answer, ()) = tokio::join!(answering, reading);
    let is_sure = answer.is_some_and(|answer| {
        let level = answer.confidence.map(Confidence::level);
        answer.outcome == Outcome::Answered && level == Some(ConfidenceLevel::Sure)
    });
    way.filter(|_| is_sure)
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
const GENERIC: &str =
    "introduction overview contents summary conclusion references notes changelog 目录 简介";

/// A heading fit for a question.
struct SampleHeading {
    text: String,
    document: Arc<Document>,
    /// Whether it is no question, and whether it is the document's first: the least is asked first.
    worth: (bool, bool),
}

/// Headings that a question can be made of, each once, in the order in which they are asked about: the best of each
/// document, then the next of each. One that is a question says best what its section answers, a section more than a
/// whole document.
fn headings(
    base: &KnowledgeBase,
    cancel: &CancellationToken,
) -> Result<Vec<SampleHeading>, KbError> {
    let mut documents = Vec::new();
    base.for_each_document(cancel, |one| {
        // Rows and code have names of sheets and files in their place.
        let has_headings = matches!(
            kind(&one.source).as_str(),
            "Markdown" | "Word" | "slides" | "web page" | "book" | "reStructuredText" | "Org"
        );
        documents.extend(has_headings.then(|| Arc::clone(one)));
    })?;
    let every = documents.len().div_ceil(DOCUMENTS).max(1);
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    for document in documents.iter().step_by(every) {
        go_on(cancel)?;
        let headings = base.headings(&document.source, PASSAGES, cancel)?;
        let mut own = Vec::new();
        for (at, heading) in headings.iter().enumerate() {
            let text = usable(heading).filter(|text| known.insert(text.to_lowercase()));
            own.extend(text.map(|text| SampleHeading {
                worth: (!text.ends_with(['?', '？']), at == 0),
                text,
                document: Arc::clone(document),
            }));
        }
        own.sort_by_key(|heading| heading.worth);
        found.extend(own.into_iter().enumerate());
    }
    found.sort_by_key(|(turn, heading)| (*turn, heading.worth));
    Ok(found.into_iter().map(|(_, heading)| heading).collect())
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
        && !GENERIC.split(' ').any(|word| word == folded);
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

/// An error once it is cancelled.
fn go_on(cancel: &CancellationToken) -> Result<(), KbError> {
    if cancel.is_cancelled() {
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

    use parking_lot::Mutex;

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
        let made = tokio::task::spawn_blocking(move || {
            let base = KnowledgeBase::open(&roots, home.path(), Arc::new(NoMeaning)).unwrap();
            let cancel = CancellationToken::new();
            update_words(&base, &|_| (), &cancel).unwrap();
            let samples = make_samples(&base, &cancel, |text| {
                noted.lock().push(text.to_owned());
                is_answered(text).then_some(Complexity::Simple)
            });
            samples.unwrap().questions
        });
        let made = made.await.unwrap();
        let asked = asked.lock().clone();
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
