//! What the documents of the base are: kinds, newest, size, and questions to try.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::mention_of;
use crate::kb::{Document, Documents, KbError, KnowledgeBase, Skipped, SourceStatus};
use crate::protocol::{KnowledgeContents, LeftOut, SourceContents, Timestamp};
use crate::text::{one_line, sanitize};

use super::adding::Adding;
use super::kinds::kind;
use super::samples::{Basis, Samples};

/// So many files that were left out are named.
const MOST_LEFT_OUT: usize = 500;
/// So many documents and folders can be completed; others can be typed.
const MOST_NAMES: usize = 50_000;
/// So many of the newest files are named.
const NEWEST: usize = 3;
/// A path up to this length, in characters.
const LONGEST_PATH: usize = 400;
/// A file's name up to this length, in characters.
const LONGEST_NAME: usize = 120;
/// Looks into the base, and not again before something has changed.
pub(super) struct Contents {
    adding: Arc<Adding>,
    samples: Option<Samples>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    revision: Option<u64>,
    made: Option<Basis>,
    left_out: LeftOut,
}

impl Contents {
    /// `samples` makes the questions to try; without it there are none.
    pub(super) fn new(adding: Arc<Adding>, samples: Option<Samples>) -> Self {
        Self {
            adding,
            samples,
            known: Mutex::default(),
        }
    }

    /// Files are not in the index now, which is to be told with what is.
    pub(super) fn leave_out(&self, skipped: &[Skipped]) {
        let told = |skipped: &Skipped| {
            let reason = skipped.reason.to_string();
            let path = one_line(&skipped.path, LONGEST_PATH);
            (path, one_line(&reason, LONGEST_PATH))
        };
        let left_out = LeftOut {
            count: skipped.len(),
            files: skipped.iter().take(MOST_LEFT_OUT).map(told).collect(),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.left_out != left_out {
            known.left_out = left_out;
            known.revision = None;
        }
    }

    /// Another base is looked into from now on.
    pub(super) fn look_again(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.revision = None;
    }

    /// What the documents are; `None` where they are what they were. Blocks.
    pub(super) fn changed(
        &self,
        base: &KnowledgeBase,
    ) -> Result<Option<KnowledgeContents>, KbError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = base.revision();
        if known.revision == Some(revision) {
            return Ok(None);
        }
        let documents = base.documents()?;
        // What is shown stays as long as it is true, so that no digit means another question.
        let stands = |made: &Basis| made.stands(&documents);
        if let Some(samples) = &self.samples
            && !known.made.as_ref().is_some_and(stands)
        {
            known.made = Some(samples.make(base, &documents)?);
        }
        known.revision = Some(revision);
        let samples = known.made.as_ref().map(|made| made.questions.clone());
        Ok(Some(KnowledgeContents {
            kinds: kinds(&documents),
            newest: newest(&documents),
            names: names(&documents),
            sources: self.sources(base)?,
            setting: self.adding.setting(base),
            left_out: known.left_out.clone(),
            bytes: documents.iter().map(Document::bytes).sum(),
            samples,
        }))
    }

    fn sources(&self, base: &KnowledgeBase) -> Result<Vec<SourceContents>, KbError> {
        let added = self.adding.added();
        let told = |source: SourceStatus| SourceContents {
            path: one_line(&source.path.to_string_lossy(), LONGEST_PATH),
            documents: source.documents,
            chunks: source.chunks,
            is_added: added.contains(&source.path),
        };
        Ok(base.sources()?.into_iter().map(told).collect())
    }
}

fn kinds(documents: &Documents) -> Vec<(String, usize)> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for document in documents.iter() {
        *counts.entry(kind(&document.source)).or_default() += 1;
    }
    let mut kinds: Vec<(String, usize)> = counts.into_iter().collect();
    kinds.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    kinds
}

/// The highest first, folders before documents.
fn names(documents: &Documents) -> Arc<[String]> {
    let mut names: BTreeSet<(usize, bool, &str)> = BTreeSet::new();
    for document in documents.iter() {
        let source = document.source.as_str();
        let folders = source.match_indices('/').enumerate();
        names.extend(folders.map(|(depth, (at, _))| (depth, false, &source[..=at])));
        names.insert((source.matches('/').count(), true, source));
    }
    let names = names.into_iter().map(|(_, _, name)| name);
    let names = names.filter(|name| mention_of(name).is_some() && sanitize(name) == *name);
    names.take(MOST_NAMES).map(str::to_owned).collect()
}

fn newest(documents: &Documents) -> Vec<(String, Timestamp)> {
    let mut newest: Vec<&Document> = Vec::new();
    for document in documents.iter() {
        let moment = document.modified();
        let place = newest.partition_point(|known| known.modified() >= moment);
        if place < NEWEST {
            newest.insert(place, document);
            newest.truncate(NEWEST);
        }
    }
    let told = |document: &Document| {
        let name = one_line(&document.source, LONGEST_NAME);
        (name, Timestamp::at(document.modified()))
    };
    newest.into_iter().map(told).collect()
}
