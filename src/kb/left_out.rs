//! Which files that were left out somebody has been told of.
//!
//! What cannot be indexed is worth a line once, not before every answer. So the base remembers
//! what was told, beside its index and for all processes, as one short hash a line. Losing that
//! costs a line said twice, so nothing that goes wrong with it is an error.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::base::KnowledgeBase;
use super::walk::Skipped;

const FILE: &str = "left-out";

impl KnowledgeBase {
    /// Those that nobody was told of before, be it by another process. From now on all of them
    /// count as told, and no others.
    pub fn new_among(&self, skipped: &[Skipped]) -> Vec<Skipped> {
        let path = self.home().join(FILE);
        let before = fs::read_to_string(&path).unwrap_or_default();
        let told: HashSet<&str> = before.lines().collect();
        let marks: Vec<String> = skipped.iter().map(mark).collect();
        let new = skipped.iter().zip(&marks);
        let new = new
            .filter(|(_, mark)| !told.contains(mark.as_str()))
            .map(|(skipped, _)| skipped.clone())
            .collect::<Vec<_>>();
        if (!new.is_empty() || told.len() != skipped.len())
            && let Err(error) = keep(&path, &marks)
        {
            tracing::debug!(%error, "what is left out will be told again");
        }
        new
    }
}

/// Also a new reason is news.
fn mark(skipped: &Skipped) -> String {
    let told = format!("{}\0{}", skipped.path, skipped.reason);
    blake3::hash(told.as_bytes()).to_hex()[..16].to_owned()
}

fn keep(path: &Path, marks: &[String]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(marks.join("\n").as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
