//! Finds files by name, path, glob or topic, then the passages in them that answer. The score is
//! that of hybrid search.
//!
//! A rule approves what this tool returns without a grading, so it returns little: only files
//! that stand out, and only passages that come near the best one.

use std::collections::{HashMap, HashSet};

use super::toolbox::{evidence, is_relevant};
use crate::agent::ports::ToolError;
use crate::domain::{Evidence, Score, ToolName};
use crate::kb::{Hit, KnowledgeBase};

/// Passages looked at to find the files of a topic.
const POOL: usize = 50;
const MAX_FILES: usize = 4;
const MAX_PASSAGES: usize = 6;
/// A file or passage must come this near to the best.
const NEAR: f64 = 0.5;

pub(super) fn run(
    base: &KnowledgeBase,
    query: &str,
    path: Option<&str>,
) -> Result<Vec<Evidence>, ToolError> {
    if query.trim().is_empty() {
        return Err(ToolError::BadArguments(
            "query is empty; say what to look for in the files".to_owned(),
        ));
    }
    let path = path.map(str::trim).filter(|path| !path.is_empty());
    let named = match path {
        Some(path) => Some(files_at(base, path)?),
        None => mentioned(base, query)?,
    };
    let (files, by_name) = match named {
        Some(files) => (files, true),
        None => (files_about(base, query)?, false),
    };
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let hits = base.hybrid(query, &[], MAX_PASSAGES, Some(&files))?;
    let kept = near_the_best(hits, by_name);
    if kept.is_empty() && by_name {
        return openings(base, &files);
    }
    Ok(kept
        .into_iter()
        .map(|hit| evidence(ToolName::LocalFileQa, hit))
        .collect())
}

/// A folder or file of the base, else whatever documents the name or glob means.
fn files_at(base: &KnowledgeBase, path: &str) -> Result<HashSet<String>, ToolError> {
    let resolved = base.resolve(path);
    if let Ok(resolved) = &resolved {
        return Ok(base.sources_under(resolved)?);
    }
    let found = base.find_documents(path)?;
    match resolved {
        Err(error) if found.is_empty() => Err(error),
        _ => Ok(found.into_iter().collect()),
    }
}

fn mentioned(base: &KnowledgeBase, query: &str) -> Result<Option<HashSet<String>>, ToolError> {
    let found = base.mentioned_documents(query)?;
    Ok((!found.is_empty()).then(|| found.into_iter().collect()))
}

/// The files whose best passages come nearest to the topic.
fn files_about(base: &KnowledgeBase, query: &str) -> Result<HashSet<String>, ToolError> {
    let mut best: HashMap<String, f64> = HashMap::new();
    let hits = base.hybrid(query, &[], POOL, None)?;
    for hit in hits.into_iter().filter(is_relevant) {
        let score = best.entry(hit.source).or_default();
        *score = score.max(hit.score.value());
    }
    let mut files: Vec<(String, f64)> = best.into_iter().collect();
    files.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let top = files.first().map_or(0.0, |(_, score)| *score);
    Ok(files
        .into_iter()
        .take(MAX_FILES)
        .take_while(|(_, score)| *score >= NEAR * top)
        .map(|(source, _)| source)
        .collect())
}

fn near_the_best(hits: Vec<Hit>, by_name: bool) -> Vec<Hit> {
    let top = hits.iter().map(|hit| hit.score.value()).fold(0.0, f64::max);
    hits.into_iter()
        .filter(|hit| hit.score.value() >= NEAR * top && (by_name || is_relevant(hit)))
        .collect()
}

/// Files that were named but share no word with the question are shown from their beginning.
fn openings(base: &KnowledgeBase, files: &HashSet<String>) -> Result<Vec<Evidence>, ToolError> {
    let mut sources: Vec<&String> = files.iter().collect();
    sources.sort();
    let mut found = Vec::new();
    for source in sources.into_iter().take(MAX_FILES) {
        if let Some(passage) = base.opening(source)? {
            let hit = Hit {
                source: passage.source,
                lines: passage.lines,
                text: passage.text,
                score: Score::ZERO,
                rank: found.len() + 1,
                lexical_rank: None,
                vector_rank: None,
            };
            found.push(evidence(ToolName::LocalFileQa, hit));
        }
    }
    Ok(found)
}
