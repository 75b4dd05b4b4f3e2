//! One file as the index would read it, without a base around it.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::extract::{Extraction, Extractor, SkipReason, TextRecognition};
use super::opened::Opened;

/// A file's text with its places, and what it says of itself.
#[derive(Debug)]
pub struct FileText {
    /// The text, its title and places, and what is missing from it.
    pub extraction: Extraction,
    /// Title, aliases, tags, date: each key that stands above the text, with its values.
    pub fields: Vec<(String, Vec<String>)>,
}

impl FileText {
    /// Reads the file at `path`; documents are taken apart by processes of `program`, see
    /// [`KnowledgeBase::reading_by`](super::KnowledgeBase::reading_by).
    pub fn read(
        path: &Path,
        program: Option<&Path>,
        recognition: Option<TextRecognition>,
    ) -> Result<Self, SkipReason> {
        let path = path.canonicalize()?;
        let folder = path.parent().unwrap_or(&path);
        let file = Opened::beneath(folder, &path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut extractor = Extractor::new(program.map(Path::to_owned));
        if let Some(recognition) = recognition {
            extractor.recognise(recognition);
        }
        let extraction = extractor.extract(&file, &name, &AtomicBool::new(false))?;
        Ok(Self {
            fields: extraction.fields(),
            extraction,
        })
    }
}
