//! Whether the files of an index are what was written.

use std::path::Path;

use tantivy::Index;
use tantivy::directory::error::OpenReadError;
use tantivy::directory::{Directory, META_LOCK, ManagedDirectory};
use tantivy::index::SegmentComponent;

use super::LexicalIndex;
use super::directory::Files;
use crate::kb::error::KbError;

/// The files of a segment.
const COMPONENTS: [SegmentComponent; 7] = [
    SegmentComponent::Postings,
    SegmentComponent::Positions,
    SegmentComponent::FastFields,
    SegmentComponent::FieldNorms,
    SegmentComponent::Terms,
    SegmentComponent::Store,
    SegmentComponent::Delete,
];

impl LexicalIndex {
    /// Whether every file that the last commit names is there and ends as it should. Tantivy does
    /// without some until a search needs them.
    pub fn has_its_files(&self) -> Result<(), KbError> {
        self.each_file(|files, path| files.open_read(path).map(|_| true))
    }

    /// Does [`Self::has_its_files`] and verifies the checksums, which reads all files.
    pub fn is_as_written(&self) -> Result<(), KbError> {
        self.each_file(ManagedDirectory::validate_checksum)
    }

    fn each_file(
        &self,
        is_whole: impl Fn(&ManagedDirectory, &Path) -> Result<bool, OpenReadError>,
    ) -> Result<(), KbError> {
        let damaged = |path: &Path, how: &str| {
            let name = path.display();
            Err(KbError::Damaged(format!("its file {name} {how}")))
        };
        // Opened again: what is open here is there whatever became of its name.
        let index = Index::open(Files::open(&self.dir)?)?;
        // Or another process could commit and tidy up between the list and the look.
        let _kept = index.directory().acquire_lock(&META_LOCK);
        for segment in index.load_metas()?.segments {
            for component in COMPONENTS {
                if matches!(component, SegmentComponent::Delete) && !segment.has_deletes() {
                    continue;
                }
                let path = segment.relative_path(component);
                match is_whole(index.directory(), &path) {
                    Ok(true) => {}
                    Ok(false) => return damaged(&path, "is not as it was written"),
                    Err(OpenReadError::FileDoesNotExist(_)) => {
                        return damaged(&path, "is missing");
                    }
                    Err(error) => return Err(tantivy::TantivyError::from(error).into()),
                }
            }
        }
        Ok(())
    }
}
