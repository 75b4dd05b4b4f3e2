//! Documents of the base by name, those that have not been read yet among them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::base::KnowledgeBase;
use super::error::KbError;
use super::index::Within;
use super::index::{Document, Documents};
use super::search::names;
use super::source::walk;
use crate::text::stem;

impl KnowledgeBase {
    /// The documents that a name, title, path or glob may mean; exact ones alone, if there are any.
    pub(crate) fn find_documents(&self, asked: &str) -> Result<Vec<String>, KbError> {
        names::find(&self.documents()?, asked)
    }

    /// The documents that a question mentions by the name of their file.
    pub(crate) fn mentioned_documents(&self, question: &str) -> Result<Vec<String>, KbError> {
        Ok(names::mentioned(&self.documents()?, question))
    }

    /// For each name that is given on purpose the documents that it means: those of a folder of that
    /// name, else what [`KnowledgeBase::find_documents`] finds, without names that are merely near.
    /// Files that have not been read yet count where the index may lack some, or knows none.
    pub(crate) fn documents_named<'n>(
        &self,
        asked: impl Iterator<Item = &'n str>,
        stop: &AtomicBool,
    ) -> Result<Vec<Vec<String>>, KbError> {
        let mut documents = self.documents()?;
        let (is_read, mut is_listed) = (self.is_up_to_date(), false);
        let mut found = Vec::new();
        for name in asked {
            Within::all(stop).go_on()?;
            let mut means = names::named(&documents, name)?;
            let is_sure = is_read && !means.is_empty() || documents.get(name).is_some();
            if !is_sure && !is_listed {
                self.add_unread(&mut documents, stop)?;
                is_listed = true;
                means = names::named(&documents, name)?;
            }
            found.push(means);
        }
        Ok(found)
    }

    /// Adds the files of the base that are no documents yet; only their names are known.
    fn add_unread(&self, documents: &mut Documents, stop: &AtomicBool) -> Result<(), KbError> {
        let files = walk(self.roots(), stop).found;
        Within::all(stop).go_on()?;
        for file in files {
            if documents.get(&file.source).is_none() {
                documents.insert(Arc::new(Document {
                    title: stem(&file.source).to_owned(),
                    source: file.source,
                    hash: [0; 32],
                    stamp: file.stamp,
                    mtime_is_reliable: false,
                    number: 0,
                    chunks: Vec::new(),
                    links: Box::default(),
                }));
            }
        }
        Ok(())
    }
}
