//! Questions to try, made from the headings of the user's own documents.
//!
//! The router decides which question is of which route: of several ways to ask, the first is taken
//! that it sends there. Headings are other people's text: only plain, short ones are used.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Handle;

use crate::domain::Complexity;
use crate::kb::{Document, KbError, KnowledgeBase};
use crate::protocol::SampleQuestion;
use crate::text::{is_chinese, one_line};

use super::kinds::kind;
use super::routing::Router;

/// How many there are to try: one of each.
const ROUTES: usize = 3;
/// So many documents are looked into, spread over the base.
const DOCUMENTS: usize = 40;
/// So many passages of each.
const PASSAGES: usize = 6;
/// So many headings, or pairs of them, are tried for a route.
const TRIES: usize = 24;
/// The longest heading that is used, in characters.
const LONGEST: usize = 48;
/// The most words of one.
const MOST_WORDS: usize = 7;

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

/// Makes the questions to try.
pub(super) type MakeSamples =
    dyn Fn(&KnowledgeBase, &AtomicBool) -> Result<Basis, KbError> + Send + Sync;

/// Makes questions to try.
pub(super) struct Samples {
    router: Router,
    runtime: Handle,
}

/// Questions, and what they were made from.
pub(super) struct Basis {
    pub(super) questions: Vec<SampleQuestion>,
    /// Documents and the hashes of what they said: those that the questions are about, and where a
    /// question is lacking all that were looked into.
    documents: Vec<(String, [u8; 32])>,
}

impl Basis {
    /// No question, which is all that these documents come to.
    pub(super) fn none_of(base: &KnowledgeBase, stop: &AtomicBool) -> Result<Self, KbError> {
        Ok(Self {
            questions: Vec::new(),
            documents: chosen(base, stop)?.iter().map(as_it_is).collect(),
        })
    }

    /// Whether making them again would come to no more: the documents say what they said, and
    /// where a question is lacking there is no other to look into.
    pub(super) fn stands(&self, base: &KnowledgeBase, stop: &AtomicBool) -> Result<bool, KbError> {
        if self.questions.len() < ROUTES {
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

/// A heading fit for a question.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SampleHeading {
    text: String,
    source: String,
    /// Of what its document says.
    hash: [u8; 32],
    /// Whether it is the document's first.
    is_title: bool,
}

/// Headings fit for questions.
struct SampleHeadings {
    /// In the order of their documents, each once.
    all: Vec<SampleHeading>,
    /// Whether most documents have most of theirs in Chinese.
    are_chinese: bool,
}

impl SampleHeadings {
    /// Whether it is in another language than most documents are: it is used where nothing else is.
    fn is_foreign(&self, heading: &SampleHeading) -> bool {
        is_chinese(&heading.text) != self.are_chinese
    }
}

impl Samples {
    /// Made by what the embedded router says, on this runtime.
    pub(super) fn new(runtime: Handle) -> Self {
        Self {
            router: Router::embedded(),
            runtime,
        }
    }

    /// What makes them.
    pub(super) fn maker(self) -> Arc<MakeSamples> {
        Arc::new(move |base, stop| self.make(base, stop))
    }

    /// Looks for headings and makes what can be made of them. Blocks.
    fn make(&self, base: &KnowledgeBase, stop: &AtomicBool) -> Result<Basis, KbError> {
        let headings = headings(base, stop)?;
        let Some((about, simple)) = self.simple(&headings, stop)? else {
            return Basis::none_of(base, stop);
        };
        let mut basis = Basis {
            questions: Vec::new(),
            documents: Vec::new(),
        };
        let greetings = if headings.are_chinese {
            [GREETINGS[1], GREETINGS[0]]
        } else {
            GREETINGS
        };
        let greeting = greetings
            .into_iter()
            .find(|text| self.goes(text, Complexity::Chitchat));
        let both = self.complex(&headings, stop)?;
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
        take(Complexity::Simple, &simple, &[about]);
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
        let asked = in_order.into_iter().take(TRIES).flat_map(|heading| {
            let ways: &[&str] = if asks(&heading) {
                &["{}"]
            } else {
                ABOUT[usize::from(is_chinese(&heading.text))]
            };
            let ask = |way: &&str| (heading, filled(way, &[heading.text.as_str()]));
            ways.iter().map(ask).collect::<Vec<_>>()
        });
        self.first_that_goes(asked, Complexity::Simple, stop)
    }

    fn complex<'a>(
        &self,
        headings: &'a SampleHeadings,
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
        let asked = in_order.into_iter().take(TRIES).flat_map(|[a, b]| {
            let ways = BOTH[usize::from(is_chinese(&a.text))].iter();
            ways.map(move |way| ([a, b], filled(way, &[a.text.as_str(), b.text.as_str()])))
        });
        self.first_that_goes(asked, Complexity::Complex, stop)
    }

    fn first_that_goes<T>(
        &self,
        asked: impl Iterator<Item = (T, String)>,
        route: Complexity,
        stop: &AtomicBool,
    ) -> Result<Option<(T, String)>, KbError> {
        for (about, text) in asked {
            go_on(stop)?;
            if self.goes(&text, route) {
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

fn filled(way: &str, with: &[&str]) -> String {
    let fill = |text: String, word: &&str| text.replacen("{}", word, 1);
    with.iter().fold(way.to_owned(), fill)
}

fn go_on(stop: &AtomicBool) -> Result<(), KbError> {
    if stop.load(Ordering::Relaxed) {
        return Err(KbError::Stopped);
    }
    Ok(())
}

/// The documents that are looked into.
fn chosen(base: &KnowledgeBase, stop: &AtomicBool) -> Result<Vec<Arc<Document>>, KbError> {
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
fn headings(base: &KnowledgeBase, stop: &AtomicBool) -> Result<SampleHeadings, KbError> {
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

#[cfg(test)]
mod tests {
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
