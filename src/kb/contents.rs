//! The documents of the base: what the index holds of them, and which of them a name means.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::base::KnowledgeBase;
use super::error::KbError;
use super::index::{
    Document, DocumentName, Limits, NameMatches, NameQuery, Passage, Within, for_each_document,
    matching_names,
};
use super::links::{Link, LinkTargets};
use super::search::SearchMode;
use super::source::walk;
use crate::domain::{FileFormat, FileKind};
use crate::text::{extension, stem};

/// The text between a heading and the one above it.
const BELOW: &str = " > ";

/// What the index holds of one folder or file that the base is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceStatus {
    /// The path of the folder or file.
    pub path: PathBuf,
    /// What the names of its documents begin with; empty where it is the only one.
    pub label: String,
    /// Documents indexed.
    pub documents: usize,
    /// Chunks of them.
    pub chunks: usize,
}

impl KnowledgeBase {
    /// The indexed document of that name.
    pub fn document(&self, source: &str) -> Result<Option<Arc<Document>>, KbError> {
        let mut found = self.reader().look_up(&[source], Limits::without_cancel())?;
        Ok(found.pop().and_then(|contents| contents.document))
    }

    /// Does something with each indexed document, in the order of their names. Blocks, and ends soon
    /// after `cancel` is cancelled.
    pub fn for_each_document(
        &self,
        cancel: &CancellationToken,
        each: impl FnMut(&Arc<Document>),
    ) -> Result<(), KbError> {
        for_each_document(self.reader().as_ref(), Limits::of_a_call(cancel), each)
    }

    /// Returns at most `count` documents whose names begin with `prefix`, behind that of `after`, in the order
    /// of their names. Blocks, and ends soon after `cancel` is cancelled.
    pub fn documents_beginning(
        &self,
        prefix: &str,
        after: Option<&str>,
        count: usize,
        cancel: &CancellationToken,
    ) -> Result<Vec<Arc<Document>>, KbError> {
        let behind = after.filter(|after| *after >= prefix);
        // The document of just that name is behind none that begins so.
        let mut found: Vec<Arc<Document>> = match behind {
            None => self.document(prefix)?.into_iter().collect(),
            Some(_) => Vec::new(),
        };
        let left = count.saturating_sub(found.len());
        let behind = behind.or((!prefix.is_empty()).then_some(prefix));
        let page = self
            .reader()
            .page(behind, left, Limits::of_a_call(cancel))?;
        let fitting = page.into_iter();
        found.extend(fitting.take_while(|document| document.source.starts_with(prefix)));
        Ok(found)
    }

    /// The documents of these names, as far as they are indexed.
    pub(crate) fn documents_of(&self, sources: &[&str]) -> Result<Vec<Arc<Document>>, KbError> {
        let found = self.reader().look_up(sources, Limits::without_cancel())?;
        let found = found.into_iter();
        Ok(found.filter_map(|contents| contents.document).collect())
    }

    /// The references that these documents make, in the order of their names.
    pub fn links_of(&self, sources: &[&str]) -> Result<Vec<(String, Vec<Link>)>, KbError> {
        self.reader().links_of(sources, Limits::without_cancel())
    }

    /// The references that lead there, by the documents that make them.
    pub(crate) fn links_to(
        &self,
        targets: &LinkTargets,
        cancel: &CancellationToken,
    ) -> Result<Vec<(String, Vec<Link>)>, KbError> {
        self.reader().links_to(targets, Limits::of_a_call(cancel))
    }

    /// The names of all indexed documents below a folder, or the file itself.
    pub(crate) fn sources_under(&self, resolved: &Path) -> Result<HashSet<String>, KbError> {
        let Some(source) = self.source_of(resolved) else {
            return Ok(HashSet::new());
        };
        let found = self
            .reader()
            .find(&NameQuery::Under(&source), Limits::without_cancel())?;
        Ok(found.sources.into_iter().collect())
    }

    /// The first passage of each of these documents that has one, in this order; where passages must say
    /// something, the first of them that do.
    pub(crate) fn openings(
        &self,
        sources: &[&str],
        within: Within<'_>,
    ) -> Result<Vec<Passage>, KbError> {
        /// So many passages of a document are looked at for what they must say.
        const LOOKED_AT: usize = 200;
        let reader = self.reader();
        let Some(phrase_filter) = within.phrase_filter else {
            return reader.openings(sources, 1, within.limits());
        };
        let mut found: Vec<Passage> = Vec::new();
        for source in sources {
            let passages = reader.openings(&[*source], LOOKED_AT, within.limits())?;
            let mut passages = passages.into_iter();
            found.extend(passages.find(|passage| phrase_filter.lets_through(&passage.text)));
        }
        Ok(found)
    }

    /// All passages of a document, in their order.
    pub fn passages(
        &self,
        source: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<Passage>, KbError> {
        let count = self.document(source)?.map_or(0, |document| document.chunks);
        let limits = Limits::of_a_call(cancel);
        self.reader().openings(&[source], count, limits)
    }

    /// The documents that are called so: by a path, a name, a title or a folder.
    pub fn documents_called(
        &self,
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, KbError> {
        let limits = Limits::of_a_call(cancel);
        Ok(self.reader().find(&NameQuery::Given(name), limits)?.sources)
    }

    /// The headings above the first `passages` passages of a document, each once and in order, as
    /// they are written there; the first is its title where it has one.
    pub fn headings(
        &self,
        source: &str,
        passages: usize,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, KbError> {
        let limits = Limits::of_a_call(cancel);
        let mut headings: Vec<String> = Vec::new();
        for passage in self.reader().openings(&[source], passages, limits)? {
            let parts = passage.heading.split(BELOW);
            for part in parts.filter(|part| !part.is_empty() && *part != source) {
                if headings.iter().all(|known| known != part) {
                    headings.push(part.to_owned());
                }
            }
        }
        Ok(headings)
    }

    /// Which commit of the index is searched: another number after each change.
    pub fn revision(&self) -> u64 {
        self.reader().generation()
    }

    /// The folders and files that it is made of, in the order in which they were given.
    pub fn source_paths(&self) -> Vec<PathBuf> {
        self.roots().paths().map(Path::to_owned).collect()
    }

    /// What the index holds of each folder and file, in the order in which they were given.
    pub fn sources(&self, cancel: &CancellationToken) -> Result<Vec<SourceStatus>, KbError> {
        let labels: Vec<(&Path, &str)> = self.roots().labelled().collect();
        let mut found: Vec<SourceStatus> = labels
            .iter()
            .map(|(path, label)| SourceStatus {
                path: path.to_path_buf(),
                label: (*label).to_owned(),
                documents: 0,
                chunks: 0,
            })
            .collect();
        self.for_each_document(cancel, |document| {
            for ((_, label), status) in labels.iter().zip(&mut found) {
                let below = document.source.strip_prefix(label);
                let is_below = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
                if label.is_empty() || is_below {
                    status.documents += 1;
                    status.chunks += document.chunks;
                }
            }
        })?;
        Ok(found)
    }
}

// Documents of the base by name, those that have not been read yet among them.

impl KnowledgeBase {
    /// The documents that a name, title, path or glob may mean; exact ones alone, if there are any.
    pub(crate) fn find_documents(
        &self,
        asked: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, KbError> {
        Ok(self
            .find_by_name(&NameQuery::Remembered(asked), cancel)?
            .sources)
    }

    /// The documents that a question mentions by the name of their file.
    pub(crate) fn mentioned_documents(
        &self,
        question: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, KbError> {
        Ok(self
            .find_by_name(&NameQuery::MentionedIn(question), cancel)?
            .sources)
    }

    /// The documents whose file is named by nothing but these words, which are in lower case.
    pub(crate) fn documents_named_by(
        &self,
        words: &HashSet<String>,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, KbError> {
        Ok(self
            .find_by_name(&NameQuery::NamedBy(words), cancel)?
            .sources)
    }

    fn find_by_name(
        &self,
        query: &NameQuery<'_>,
        cancel: &CancellationToken,
    ) -> Result<NameMatches, KbError> {
        self.reader().find(query, Limits::of_a_call(cancel))
    }

    /// For each name that is given on purpose the documents that it means: those of a folder of that
    /// name, else what [`KnowledgeBase::find_documents`] finds, without names that are merely near.
    /// Files that have not been read yet count where the index may lack some, or knows none.
    pub(crate) fn documents_named<'n>(
        &self,
        asked: impl Iterator<Item = &'n str>,
        cancel: &CancellationToken,
    ) -> Result<Vec<Vec<String>>, KbError> {
        let is_read = self.is_up_to_date();
        let mut files: Option<Vec<String>> = None;
        let mut found = Vec::new();
        for name in asked {
            Within::all(cancel).go_on()?;
            let means = self.find_by_name(&NameQuery::Given(name), cancel)?;
            let is_sure = is_read && !means.sources.is_empty() || self.document(name)?.is_some();
            if is_sure {
                found.push(means.sources);
                continue;
            }
            let walked = if let Some(walked) = files.take() {
                walked
            } else {
                let walked = walk(self.roots(), cancel).found.into_iter();
                Within::all(cancel).go_on()?;
                walked.map(|file| file.source).collect()
            };
            let unread = self.unread_documents(files.insert(walked), name, cancel)?;
            let named = nearer(means, unread);
            found.push(if named.is_empty() {
                self.known_as(name, cancel)?
            } else {
                named
            });
        }
        Ok(found)
    }

    /// The documents that call themselves so in the `aliases` above their text.
    fn known_as(&self, name: &str, cancel: &CancellationToken) -> Result<Vec<String>, KbError> {
        /// The words of an alias are found before words of the text.
        const LOOKED_AT: usize = 20;
        let name = name.trim();
        let hits = self.search(SearchMode::Lexical, name, LOOKED_AT)?;
        let mut known: Vec<String> = Vec::new();
        for hit in hits {
            let is_note = FileFormat::by_ending(&extension(&hit.source))
                .is_some_and(|format| format.kind == FileKind::Markdown);
            if !is_note || known.contains(&hit.source) {
                continue;
            }
            // A file that has gone meanwhile is called nothing.
            let Ok(whole) = self.whole_document(&hit.source, cancel) else {
                continue;
            };
            let aliases = whole.extraction.aliases();
            if aliases
                .iter()
                .any(|alias| alias.to_lowercase() == name.to_lowercase())
            {
                known.push(hit.source);
            }
        }
        Ok(known)
    }

    /// The files that a name means and that are no documents yet; only their names are known.
    fn unread_documents(
        &self,
        files: &[String],
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<NameMatches, KbError> {
        let names = files.iter().map(|source| DocumentName {
            source,
            title: stem(source),
        });
        let names: Vec<DocumentName<'_>> = names.collect();
        let mut means = matching_names(&names, &NameQuery::Given(name))?;
        let sources: Vec<&str> = means.sources.iter().map(String::as_str).collect();
        let known = self.reader().look_up(&sources, Limits::of_a_call(cancel))?;
        let mut known = known.into_iter();
        means.sources.retain(|_| {
            known
                .next()
                .is_some_and(|contents| contents.document.is_none())
        });
        Ok(means)
    }
}

/// The sources with the smaller distance; both where the distances are equal.
fn nearer(a: NameMatches, b: NameMatches) -> Vec<String> {
    if b.sources.is_empty() || (!a.sources.is_empty() && a.distance < b.distance) {
        return a.sources;
    }
    if a.sources.is_empty() || b.distance < a.distance {
        return b.sources;
    }
    let mut both = a.sources;
    both.extend(b.sources);
    both.sort();
    both
}
