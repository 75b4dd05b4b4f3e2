//! Finds files by name, path, glob or topic, then the passages in them that answer. The score is
//! that of hybrid search.
//!
//! A rule approves what this tool returns without a grading, so it returns little: only files
//! that stand out, and only passages that come near the best one. The query `*` asks for nothing in
//! particular: then it shows how the documents begin.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::grow::with_topics;
use super::hits::{evidence, grown_evidence, is_relevant, nearness};
use crate::agent::ports::{Caller, ToolError};
use crate::domain::{Evidence, EvidenceId, MOST_LISTED, Measured, Score, ToolName, Topic};
use crate::kb::{FieldFilter, FieldPassage, Hit, KnowledgeBase, Scope};
use crate::text::stem;

/// Passages looked at to find the files of a topic.
pub(super) const POOL: usize = 50;
const MAX_FILES: usize = 4;
const MAX_PASSAGES: usize = 6;
/// The query that asks for nothing in particular.
const EVERYTHING: &str = "*";
/// The names of documents that tell about the others.
const FIRST: &[&str] = &["readme", "index", "overview", "home", "contents", "toc"];
/// A file or passage must come this near to the best.
const NEAR: f64 = 0.5;
/// What a file gains when the question holds all words of its name.
const NAME_BONUS: f64 = 0.3;

/// Words that ask for a file and say nothing about what is in it.
const ASKING: &[&str] = &[
    "which",
    "what",
    "where",
    "file",
    "files",
    "document",
    "documents",
    "doc",
    "docs",
    "page",
    "pages",
    "folder",
    "describes",
    "describe",
    "mentions",
    "mention",
    "contains",
    "contain",
    "covers",
    "explains",
    "find",
    "show",
    "me",
    "is",
    "are",
    "the",
    "about",
    "does",
    "do",
];

pub(super) fn run(
    base: &KnowledgeBase,
    query: &str,
    path: Option<&str>,
    filter: (Option<&str>, Option<&str>),
    scope: &Scope,
    caller: Caller<'_>,
) -> Result<Vec<Evidence>, ToolError> {
    if query.trim().is_empty() {
        return Err(ToolError::BadArguments(
            "query is empty; say what to look for in the files".to_owned(),
        ));
    }
    let cancel = caller.cancel;
    let path = path.map(str::trim).filter(|path| !path.is_empty());
    if let Some(filter) = filter
        .1
        .and_then(|values| FieldFilter::parse(filter.0, values))
    {
        let files = path
            .map(|path| files_at(base, path, scope, cancel))
            .transpose()?;
        return that_say(base, query, &filter, files.as_ref(), scope, cancel);
    }
    if query.trim() == EVERYTHING {
        let files = path
            .map(|path| files_at(base, path, scope, cancel))
            .transpose()?;
        return listed(base, files.as_ref(), scope, cancel);
    }
    let named = match path {
        Some(path) => Some(files_at(base, path, scope, cancel)?),
        None => mentioned(base, query, scope, cancel)?,
    };
    let (files, by_name) = match named {
        Some(files) => (files, true),
        None => (files_about(base, query, scope, caller)?, false),
    };
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let hits = base.hybrid(
        &topic(query),
        &[],
        MAX_PASSAGES,
        scope.limits_among(&files, caller),
    )?;
    let kept = near_the_best(hits, by_name);
    if kept.is_empty() && by_name {
        let mut sources: Vec<String> = files.into_iter().collect();
        sources.sort();
        return openings(base, &sources, MAX_FILES, scope, cancel);
    }
    Ok(grown_evidence(
        base,
        ToolName::LocalFileQa,
        kept,
        scope,
        cancel,
    ))
}

/// What says such a field of itself, in the order of the files. Where the query names a value that some of
/// them hold in another field, only those: of "open bugs" what is of type bug. One more than [`MOST_LISTED`] says that
/// there are more.
fn that_say(
    base: &KnowledgeBase,
    query: &str,
    filter: &FieldFilter,
    files: Option<&HashSet<String>>,
    scope: &Scope,
    cancel: &CancellationToken,
) -> Result<Vec<Evidence>, ToolError> {
    let within = files.map_or_else(
        || scope.limits(cancel.into()),
        |files| scope.limits_among(files, cancel),
    );
    let mut found = base.with_fields(filter, within, cancel)?;
    let words = words(query);
    let is_meant =
        |passage: &FieldPassage| passage.values.iter().any(|value| is_one_of(value, &words));
    if found.iter().any(is_meant) {
        found.retain(is_meant);
    }
    found.truncate(MOST_LISTED + 1);
    Ok(with_topics(
        base,
        found.into_iter().map(evidence_from).collect(),
        cancel,
    ))
}

/// Whether a word is the value, as one thing or several of them.
fn is_one_of(value: &str, words: &HashSet<String>) -> bool {
    ["", "s", "es"]
        .iter()
        .any(|ending| words.contains(&format!("{value}{ending}")))
        || value
            .strip_suffix('y')
            .is_some_and(|stem| words.contains(&format!("{stem}ies")))
}

fn evidence_from(passage: FieldPassage) -> Evidence {
    Evidence {
        id: EvidenceId(String::new()),
        source: passage.source,
        lines: passage.lines,
        place: passage.place,
        tool: ToolName::LocalFileQa,
        score: Score::FULL,
        measured: Measured::default(),
        text: passage.text,
        topic: Topic::default(),
        low: false,
        by: None,
    }
}

/// A folder or file of the base, else whatever documents the name or glob means.
fn files_at(
    base: &KnowledgeBase,
    path: &str,
    scope: &Scope,
    cancel: &CancellationToken,
) -> Result<HashSet<String>, ToolError> {
    let resolved = base.resolve(path);
    if let Ok(resolved) = &resolved {
        let found = base.sources_under(resolved)?;
        return if found.is_empty() {
            Err(not_indexed(base, path, resolved, cancel))
        } else {
            scope.narrow(found, path)
        };
    }
    let found = base.find_documents(path, cancel)?;
    match resolved {
        Err(error) if found.is_empty() => Err(error),
        _ => scope.narrow(found.into_iter().collect(), path),
    }
}

/// Why something that is there has no documents.
fn not_indexed(
    base: &KnowledgeBase,
    path: &str,
    resolved: &Path,
    cancel: &CancellationToken,
) -> ToolError {
    if resolved.is_dir() {
        return ToolError::BadArguments(format!("{path} holds no documents"));
    }
    match base.read_unless(resolved, cancel) {
        Err(error) => error,
        Ok(_) => ToolError::Failed(format!(
            "{path} is not in the index yet; read_file shows what it says"
        )),
    }
}

fn mentioned(
    base: &KnowledgeBase,
    query: &str,
    scope: &Scope,
    cancel: &CancellationToken,
) -> Result<Option<HashSet<String>>, ToolError> {
    let found = base.mentioned_documents(query, cancel)?.into_iter();
    let found: HashSet<String> = found.filter(|source| scope.holds(source)).collect();
    Ok((!found.is_empty()).then_some(found))
}

/// The files whose best passages come nearest to the topic.
fn files_about(
    base: &KnowledgeBase,
    query: &str,
    scope: &Scope,
    caller: Caller<'_>,
) -> Result<HashSet<String>, ToolError> {
    let mut best: HashMap<String, f64> = HashMap::new();
    let words = words(query);
    let hits = base.hybrid(&topic(query), &[], POOL, scope.limits(caller))?;
    for source in base.documents_named_by(&words, caller.cancel)? {
        if scope.holds(&source) {
            best.insert(source, 0.0);
        }
    }
    let named: HashSet<String> = best.keys().cloned().collect();
    for hit in hits.into_iter().filter(is_relevant) {
        let nearness = nearness(&hit);
        let nearest = best.entry(hit.source).or_default();
        *nearest = nearest.max(nearness);
    }
    let mut files: Vec<(String, f64)> = best
        .into_iter()
        .map(|(source, score)| {
            let bonus = if named.contains(&source) {
                NAME_BONUS
            } else {
                0.0
            };
            (source, score + bonus)
        })
        .collect();
    files.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let top = files.first().map_or(0.0, |(_, score)| *score);
    Ok(files
        .into_iter()
        .take(MAX_FILES)
        .take_while(|(_, score)| *score >= NEAR * top)
        .map(|(source, _)| source)
        .collect())
}

/// The question without the words that only ask for a file.
pub(super) fn topic(query: &str) -> String {
    let telling: Vec<&str> = query
        .split_whitespace()
        .filter(|word| {
            let plain = word.trim_matches(|c: char| !c.is_alphanumeric());
            !ASKING.contains(&plain.to_lowercase().as_str())
        })
        .collect();
    if telling.is_empty() {
        query.to_owned()
    } else {
        telling.join(" ")
    }
}

fn words(text: &str) -> HashSet<String> {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn near_the_best(hits: Vec<Hit>, by_name: bool) -> Vec<Hit> {
    let top = hits.iter().map(nearness).fold(0.0, f64::max);
    hits.into_iter()
        .filter(|hit| nearness(hit) >= NEAR * top && (by_name || is_relevant(hit)))
        .collect()
}

/// How the documents begin, those first that lie highest and, among them, that tell about the others. One
/// more than [`MOST_LISTED`] says that there are more.
fn listed(
    base: &KnowledgeBase,
    files: Option<&HashSet<String>>,
    scope: &Scope,
    cancel: &CancellationToken,
) -> Result<Vec<Evidence>, ToolError> {
    let mut sources: Vec<String> = Vec::new();
    base.for_each_document(cancel, |document| {
        let source = &document.source;
        if scope.holds(source) && files.is_none_or(|files| files.contains(source)) {
            sources.push(source.clone());
        }
    })?;
    sources.sort_by_cached_key(|source| {
        let name = stem(source).to_lowercase();
        let rank = FIRST.iter().position(|first| *first == name);
        let depth = source.matches('/').count();
        (depth, rank.unwrap_or(FIRST.len()), source.clone())
    });
    openings(base, &sources, MOST_LISTED + 1, scope, cancel)
}

/// So many files from their beginning, without those that hold nothing.
fn openings(
    base: &KnowledgeBase,
    sources: &[String],
    most: usize,
    scope: &Scope,
    cancel: &CancellationToken,
) -> Result<Vec<Evidence>, ToolError> {
    let mut found = Vec::new();
    for some in sources.chunks(most) {
        if found.len() == most || cancel.is_cancelled() {
            break;
        }
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        let passages = base
            .openings(&some, scope.limits(cancel.into()))?
            .into_iter();
        for passage in passages.take(most - found.len()) {
            let hit = Hit {
                source: passage.source,
                lines: passage.lines,
                place: passage.place,
                heading: passage.heading,
                text: passage.text,
                score: Score::ZERO,
                rank: found.len() + 1,
                measured: Measured::default(),
            };
            found.push(evidence(ToolName::LocalFileQa, hit));
        }
    }
    Ok(with_topics(base, found, cancel))
}
