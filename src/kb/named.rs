//! Documents of the base by name, those that have not been read yet among them.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;

use super::base::KnowledgeBase;
use super::error::KbError;
use super::index::{DocumentName, Limits, NameMatches, NameQuery, Within, matching_names};
use super::search::SearchMode;
use super::source::walk;
use crate::domain::{FileFormat, FileKind};
use crate::text::{extension, stem};

impl KnowledgeBase {
    /// The documents that a name, title, path or glob may mean; exact ones alone, if there are any.
    pub(crate) fn find_documents(
        &self,
        asked: &str,
        stop: &AtomicBool,
    ) -> Result<Vec<String>, KbError> {
        Ok(self
            .find_by_name(&NameQuery::Remembered(asked), stop)?
            .sources)
    }

    /// The documents that a question mentions by the name of their file.
    pub(crate) fn mentioned_documents(
        &self,
        question: &str,
        stop: &AtomicBool,
    ) -> Result<Vec<String>, KbError> {
        Ok(self
            .find_by_name(&NameQuery::MentionedIn(question), stop)?
            .sources)
    }

    /// The documents whose file is named by nothing but these words, which are in lower case.
    pub(crate) fn documents_named_by(
        &self,
        words: &HashSet<String>,
        stop: &AtomicBool,
    ) -> Result<Vec<String>, KbError> {
        Ok(self.find_by_name(&NameQuery::NamedBy(words), stop)?.sources)
    }

    fn find_by_name(
        &self,
        query: &NameQuery<'_>,
        stop: &AtomicBool,
    ) -> Result<NameMatches, KbError> {
        self.reader().find(query, Limits::of_a_call(stop))
    }

    /// For each name that is given on purpose the documents that it means: those of a folder of that
    /// name, else what [`KnowledgeBase::find_documents`] finds, without names that are merely near.
    /// Files that have not been read yet count where the index may lack some, or knows none.
    pub(crate) fn documents_named<'n>(
        &self,
        asked: impl Iterator<Item = &'n str>,
        stop: &AtomicBool,
    ) -> Result<Vec<Vec<String>>, KbError> {
        let is_read = self.is_up_to_date();
        let mut files: Option<Vec<String>> = None;
        let mut found = Vec::new();
        for name in asked {
            Within::all(stop).go_on()?;
            let means = self.find_by_name(&NameQuery::Given(name), stop)?;
            let is_sure = is_read && !means.sources.is_empty() || self.document(name)?.is_some();
            if is_sure {
                found.push(means.sources);
                continue;
            }
            let walked = if let Some(walked) = files.take() {
                walked
            } else {
                let walked = walk(self.roots(), stop).found.into_iter();
                Within::all(stop).go_on()?;
                walked.map(|file| file.source).collect()
            };
            let unread = self.unread(files.insert(walked), name, stop)?;
            let named = nearer(means, unread);
            found.push(if named.is_empty() {
                self.known_as(name, stop)?
            } else {
                named
            });
        }
        Ok(found)
    }

    /// The documents that call themselves so in the `aliases` above their text.
    fn known_as(&self, name: &str, stop: &AtomicBool) -> Result<Vec<String>, KbError> {
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
            let Ok(whole) = self.whole_document(&hit.source, stop) else {
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
    fn unread(
        &self,
        files: &[String],
        name: &str,
        stop: &AtomicBool,
    ) -> Result<NameMatches, KbError> {
        let names = files.iter().map(|source| DocumentName {
            source,
            title: stem(source),
        });
        let names: Vec<DocumentName<'_>> = names.collect();
        let mut means = matching_names(&names, &NameQuery::Given(name))?;
        let sources: Vec<&str> = means.sources.iter().map(String::as_str).collect();
        let known = self.reader().look_up(&sources, Limits::of_a_call(stop))?;
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
