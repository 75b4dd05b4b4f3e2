//! Questions to try, made from the headings of the user's own documents.
//!
//! The router decides which question is of which route: of several ways to ask, the first is taken
//! that it sends there. What was made is asked before it is offered, by the embedded engine and beside
//! any conversation: only what gets a sure answer becomes a sample. Headings are other people's text:
//! only plain, short ones are used.

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
use crate::text::{is_chinese, one_line};

/// How many there are to try: one of each.
const ROUTES: usize = 3;
/// So many headings, or pairs of them, are tried for a route.
const TRIES: usize = 24;
/// So many questions are asked for a route.
const MOST_ASKED: usize = 8;
/// Later no more are asked.
const PATIENCE: Duration = Duration::from_secs(20);
/// Events that may wait while a sample is asked.
const EVENTS_IN_FLIGHT: usize = 64;
const GREETINGS: [&str; 2] = ["hello", "你好"];
const ABOUT: [&[&str]; 2] = [
    &["What is said about {}?", "What is {}?", "Tell me about {}."],
    &["{}是什么？", "关于{}有什么说明？"],
];
const BOTH: [&[&str]; 2] = [
    &[
        "Compare {} with {}",
        "How does {} differ from {}?",
        "What is said about {}, and what is said about {}?",
    ],
    &["比较{}和{}", "{}和{}有什么区别？"],
];

/// Makes the questions to try.
pub(super) type MakeSamples =
    dyn Fn(&KnowledgeBase, &AtomicBool) -> Result<Basis, KbError> + Send + Sync;

/// Asks a question: whether it goes that way and gets a sure answer.
type AskSample = dyn Fn(&str, Complexity) -> bool + Send + Sync;

/// Makes questions to try.
pub(super) struct Samples {
    router: StepRunner,
    runtime: Handle,
    is_answered: Box<AskSample>,
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
        if self.questions.len() < ROUTES {
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
    /// Made by what the embedded router says, and asked of the embedded engine over this base, by these
    /// limits and on this runtime.
    pub(super) fn new(runtime: Handle, base: CurrentBase, limits: RoutingLimits) -> Self {
        let router = StepRunner::embedded();
        let agent = Agent {
            ports: Ports {
                reasoner: router.reasoner.clone(),
                tools: Arc::new(CurrentTools(base)),
            },
            limits,
            session: String::new(),
        };
        let on = runtime.clone();
        let is_answered =
            move |question: &str, route| on.block_on(is_sure(&agent, question, route));
        Self {
            router,
            runtime,
            is_answered: Box::new(is_answered),
        }
    }

    /// What makes them.
    pub(super) fn maker(self) -> Arc<MakeSamples> {
        Arc::new(move |base, stop| self.make(base, stop))
    }

    /// Looks for headings and makes what can be made of them. Blocks.
    fn make(&self, base: &KnowledgeBase, stop: &AtomicBool) -> Result<Basis, KbError> {
        let was_pending = base.status().pending > 0;
        let headings = headings(base, stop)?;
        let until = Instant::now() + PATIENCE;
        let about = self.simple(&headings, until, stop)?;
        let both = self.complex(&headings, until, stop)?;
        if about.is_none() && both.is_none() {
            return Basis::none_of(base, stop);
        }
        let mut basis = Basis {
            questions: Vec::new(),
            documents: Vec::new(),
            was_pending,
        };
        let greetings = if headings.are_chinese {
            [GREETINGS[1], GREETINGS[0]]
        } else {
            GREETINGS
        };
        let greeting = greetings
            .into_iter()
            .find(|text| self.goes(text, Complexity::Chitchat));
        let mut take = |route, text: &str, from: &[&SampleHeading]| {
            let text = text.to_owned();
            basis.questions.push(SampleQuestion { route, text });
            for heading in from {
                basis.documents.push((heading.source.clone(), heading.hash));
            }
        };
        if let Some(greeting) = greeting {
            take(Complexity::Chitchat, greeting, &[]);
        }
        if let Some((from, text)) = &about {
            take(Complexity::Simple, text, &[from]);
        }
        if let Some((from, text)) = &both {
            take(Complexity::Complex, text, from);
        }
        if basis.questions.len() < ROUTES {
            basis.documents = Basis::none_of(base, stop)?.documents;
        }
        Ok(basis)
    }

    fn simple<'a>(
        &self,
        headings: &'a SampleHeadings,
        until: Instant,
        stop: &AtomicBool,
    ) -> Result<Option<(&'a SampleHeading, String)>, KbError> {
        let all = &headings.all;
        let asks = |heading: &&SampleHeading| heading.text.ends_with(['?', '？']);
        // A heading that is a question says best what its section answers, a section more than a
        // whole document.
        let questions = all.iter().filter(asks);
        let sections = all.iter().filter(|h| !asks(h) && !h.is_title);
        let titles = all.iter().filter(|h| !asks(h) && h.is_title);
        let mut in_order: Vec<&SampleHeading> = questions.chain(sections).chain(titles).collect();
        in_order.sort_by_key(|heading| headings.is_foreign(heading));
        let asked = in_order.into_iter().take(TRIES).map(|heading| {
            let ways: &[&str] = if asks(&heading) {
                &["{}"]
            } else {
                ABOUT[usize::from(is_chinese(&heading.text))]
            };
            let ask = |way: &&str| filled(way, &[heading.text.as_str()]);
            (heading, ways.iter().map(ask).collect())
        });
        self.first_answered(asked, Complexity::Simple, until, stop)
    }

    fn complex<'a>(
        &self,
        headings: &'a SampleHeadings,
        until: Instant,
        stop: &AtomicBool,
    ) -> Result<Option<([&'a SampleHeading; 2], String)>, KbError> {
        let names = headings
            .all
            .iter()
            .filter(|h| !h.text.ends_with(['?', '？']));
        let (titles, sections): (Vec<&SampleHeading>, Vec<&SampleHeading>) =
            names.partition(|heading| heading.is_title);
        // Two documents are compared, else two sections of one.
        let pairs = titles.windows(2).chain(sections.windows(2));
        let pairs = pairs.filter_map(|pair| match pair {
            [a, b] if is_chinese(&a.text) == is_chinese(&b.text) => Some([*a, *b]),
            _ => None,
        });
        let mut in_order: Vec<[&SampleHeading; 2]> = pairs.collect();
        in_order.sort_by_key(|[heading, _]| headings.is_foreign(heading));
        let asked = in_order.into_iter().take(TRIES).map(|[a, b]| {
            let ways = BOTH[usize::from(is_chinese(&a.text))].iter();
            let ask = |way: &&str| filled(way, &[a.text.as_str(), b.text.as_str()]);
            ([a, b], ways.map(ask).collect())
        });
        self.first_answered(asked, Complexity::Complex, until, stop)
    }

    /// The first that is of this route in one of its ways and gets a sure answer.
    fn first_answered<T>(
        &self,
        asked: impl Iterator<Item = (T, Vec<String>)>,
        route: Complexity,
        until: Instant,
        stop: &AtomicBool,
    ) -> Result<Option<(T, String)>, KbError> {
        let mut tries = 0;
        for (about, ways) in asked {
            go_on(stop)?;
            let Some(text) = ways.into_iter().find(|text| self.goes(text, route)) else {
                continue;
            };
            if tries == MOST_ASKED || Instant::now() >= until {
                break;
            }
            tries += 1;
            if (self.is_answered)(&text, route) {
                return Ok(Some((about, text)));
            }
        }
        Ok(None)
    }

    fn goes(&self, question: &str, route: Complexity) -> bool {
        let routed = self.runtime.block_on(self.router.route(question));
        routed.is_ok_and(|routed| routed.plan.complexity == route)
    }
}

/// Asks beside any conversation: nothing of it reaches the audit log or the screen.
async fn is_sure(agent: &Agent, question: &str, route: Complexity) -> bool {
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
    is_sure && went == Some(route)
}

fn filled(way: &str, with: &[&str]) -> String {
    let fill = |text: String, word: &&str| text.replacen("{}", word, 1);
    with.iter().fold(way.to_owned(), fill)
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

/// Headings fit for questions.
pub(super) struct SampleHeadings {
    /// All headings in the order of their documents, each once.
    pub(super) all: Vec<SampleHeading>,
    /// Whether most documents have most of theirs in Chinese.
    pub(super) are_chinese: bool,
}

impl SampleHeadings {
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
        is_answered: impl Fn(&str, Complexity) -> bool + Send + Sync + 'static,
    ) -> (Vec<SampleQuestion>, Vec<String>) {
        let (docs, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (name, text) in files {
            fs::write(docs.path().join(name), text).unwrap();
        }
        let roots = [docs.path().to_owned()];
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&asked);
        let samples = Samples {
            router: StepRunner::embedded(),
            runtime: Handle::current(),
            is_answered: Box::new(move |text, route| {
                noted.lock().unwrap().push(text.to_owned());
                is_answered(text, route)
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
        let (made, asked) = samples(&[LEASE, GARDEN], |_, _| true).await;
        let routes: Vec<Complexity> = made.iter().map(|sample| sample.route).collect();
        let each = [
            Complexity::Chitchat,
            Complexity::Simple,
            Complexity::Complex,
        ];
        assert_eq!(routes, each, "{made:?}");
        let texts: Vec<&String> = made[1..].iter().map(|sample| &sample.text).collect();
        assert_eq!(texts, asked.iter().collect::<Vec<_>>());

        let (made, _) = samples(&[LEASE, GARDEN], |text, _| text.contains("Notice")).await;
        assert!(made[1].text.contains("Notice period"), "{made:?}");

        let (made, asked) = samples(&[LEASE, GARDEN], |_, _| false).await;
        assert_eq!(made, []);
        assert!((2..=2 * MOST_ASKED).contains(&asked.len()), "{asked:?}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn ui_most_documents_decide_the_language_of_the_samples() {
        // Its heading is a question, which is asked before any other.
        let one = ("a.md", "# 租金是多少？\n\n每月九百元。\n");
        let asked = (
            "d.md",
            "# What does the alarm code do?\n\nIt opens the door.\n",
        );
        for (files, are_chinese) in [
            (vec![one, LEASE, GARDEN], false),
            (vec![one, FLOWERS, DEPOSIT, asked], true),
        ] {
            let (made, _) = samples(&files, |_, _| true).await;
            assert_eq!(made.len(), ROUTES, "{made:?}");
            for sample in &made {
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
