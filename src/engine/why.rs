//! Why a passage is or is not in what a recorded run found, computed again from the index.
//!
//! No model is asked: the calls are those that were recorded. A query is embedded again, as for any search.

use std::collections::HashSet;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::error::EngineError;
use crate::audit::Lookup;
use crate::domain::Cut;
use crate::kb::{KnowledgeBase, Passage, PassageLines, Scope, SearchMode, Within};
use crate::protocol::{
    CallReport, EvidenceRecord, EvidenceStanding, PassageReport, RunRecord, Timestamp, ToolRun,
    Update,
};
use crate::report;
use crate::text::{one_line, plural};
use crate::tools::view_of_call;

/// Scores that differ by less than this are the same: the log rounds them.
const SAME: f64 = 0.01;

/// A passage that a person asks for.
#[derive(Debug, Clone)]
pub struct AskedPassage {
    /// The run, by what a person writes of its id.
    pub run: String,
    /// The document: as evidence names it, a path, or a part of its name that no other has.
    pub file: String,
    /// A line of the passage; without it the passage is meant that comes nearest to the question.
    pub line: Option<usize>,
}

/// Tells what became of a passage in a run, and where it stands in the lists of the run's calls. Blocks.
pub fn explain_passage(
    base: &KnowledgeBase,
    log: &Path,
    asked: &AskedPassage,
    cancel: &CancellationToken,
) -> Result<PassageReport, EngineError> {
    let lookup = Lookup::open(log)?;
    let records = lookup.records(&[lookup.run(&asked.run)?])?;
    let record = records.into_iter().next();
    let record = record.ok_or("nothing is recorded of the run")?;
    let source = source_of(base, &asked.file, cancel)?;
    let mut report = PassageReport {
        run: record.summary.id.clone(),
        source,
        lines: None,
        cut: None,
        note: None,
        evidence: None,
        held_by: None,
        keep_from: record.settings.unwrap_or_default().thresholds.keep_from,
        sent: record
            .evidence
            .iter()
            .filter(|item| item.n.is_some())
            .count(),
        calls: Vec::new(),
        changed: Vec::new(),
    };
    let Some(document) = base.document(&report.source)? else {
        report.cut = Some(Cut::NotIndexed);
        report.note = Some(why_not_indexed(base, &report.source, cancel));
        return Ok(report);
    };
    if Timestamp::from_system_time(document.modified()) > record.summary.time {
        let source = one_line(&report.source, 200);
        report
            .changed
            .push(format!("{source} was written after the run began."));
    }
    let passages = base.passages(&report.source, cancel)?;
    if let Some(line) = asked.line {
        check_line(base, &report.source, line, &passages, cancel)?;
    }
    let calls = || record.path.iter().flat_map(|step| &step.tools);
    let query = calls().map(|tool| tool.call.subject()).next();
    let query = query.unwrap_or(&record.summary.question);
    let Some(passage) = choose(base, &passages, asked.line, query, cancel) else {
        report.cut = Some(Cut::NotIndexed);
        report.note = Some("Nothing in it can be found: it holds no passage.".to_owned());
        return Ok(report);
    };
    report.lines = Some(passage.lines);
    if let Some(line) = asked.line.filter(|line| !holds(passage, *line)) {
        report.note = Some(format!(
            "Line {line} is in no passage; this is the nearest one."
        ));
    }
    (report.evidence, report.held_by) = recorded(&record, passage, asked.line);
    let scope = Scope::from_question(base, &record.summary.question, cancel);
    let scope = scope.map(|scoped| scoped.map(|scoped| scoped.scope).unwrap_or_default());
    let scope = scope.unwrap_or_else(|error| {
        report
            .changed
            .push(format!("What the question named has changed: {error}."));
        Scope::default()
    });
    for tool in calls() {
        if cancel.is_cancelled() {
            return Err(EngineError::Cancelled);
        }
        let call = look_at(base, tool, &scope, passage, &mut report.changed, cancel);
        report.calls.push(call);
    }
    report.cut = cut(&report);
    if report.cut == Some(Cut::Filter) && report.note.is_none() {
        let limits = report::wording::limits(&record);
        report.note = limits.map(|limits| format!("{limits}."));
    }
    Ok(report)
}

/// The document that a person means, as evidence names it.
fn source_of(
    base: &KnowledgeBase,
    file: &str,
    cancel: &CancellationToken,
) -> Result<String, EngineError> {
    if base.document(file)?.is_some() {
        return Ok(file.to_owned());
    }
    let here = Path::new(file).canonicalize().ok();
    let here = here.filter(|path| path.is_file());
    let here = here.as_deref().map(Path::to_string_lossy);
    let asked = here.as_deref().unwrap_or(file);
    let resolved = base.resolve(asked);
    if let Some(source) = resolved.as_ref().ok().and_then(|path| base.source_of(path))
        && resolved.as_ref().is_ok_and(|path| path.is_file())
    {
        return Ok(source);
    }
    if let Some(source) = in_a_root(base, Path::new(asked)) {
        return Ok(source);
    }
    let named = base.documents_called(file, cancel)?;
    match (&named[..], resolved) {
        ([only], _) => Ok(only.clone()),
        ([], Err(error)) => Err(error.into()),
        ([], Ok(_)) => {
            let line = format!("{file} is no document of the knowledge base; name a file");
            Err(line.into())
        }
        ([first, second, ..], _) => {
            let documents = plural(named.len(), "document");
            let line = format!("{file} means {documents}, as {first} and {second}: name one");
            Err(line.into())
        }
    }
}

/// The name of a file that lies in a folder of the base and is no part of it.
fn in_a_root(base: &KnowledgeBase, file: &Path) -> Option<String> {
    base.source_paths().iter().find_map(|root| {
        let path = root.join(file).canonicalize().ok()?;
        let source = base.source_of(&path)?;
        path.is_file().then_some(source)
    })
}

/// Why a file of the base is no document of the index.
fn why_not_indexed(base: &KnowledgeBase, source: &str, cancel: &CancellationToken) -> String {
    let Ok(path) = base.resolve(source) else {
        return "A rule leaves it out: it is hidden, an ignore file matches it, or its name says that \
                it holds secrets. `kb-agent index` lists what is left out."
            .to_owned();
    };
    match base.can_read(&path, cancel) {
        Err(error) => format!("It is not read: {error}."),
        Ok(()) => {
            "It came after the last update of the index; `kb-agent index` brings it up to date."
                .to_owned()
        }
    }
}

/// An error for a line that the document does not have.
fn check_line(
    base: &KnowledgeBase,
    source: &str,
    line: usize,
    passages: &[Passage],
    cancel: &CancellationToken,
) -> Result<(), EngineError> {
    let known = passages.iter().map(|passage| passage.lines.end).max();
    let read = base.whole_document(source, cancel).ok();
    let total = read.map_or(known.unwrap_or(0), |whole| {
        whole.extraction.text.lines().count()
    });
    if (1..=total).contains(&line) {
        return Ok(());
    }
    let lines = plural(total, "line");
    let line = format!("{source} has {lines}; there is no line {line}");
    Err(line.into())
}

fn holds(passage: &Passage, line: usize) -> bool {
    (passage.lines.start..=passage.lines.end).contains(&line)
}

/// The passage with that line, or the next one; without a line the one that comes nearest to the query.
fn choose<'p>(
    base: &KnowledgeBase,
    passages: &'p [Passage],
    line: Option<usize>,
    query: &str,
    cancel: &CancellationToken,
) -> Option<&'p Passage> {
    let first = passages.first()?;
    if let Some(line) = line {
        let next = passages.iter().find(|passage| passage.lines.end >= line);
        return next.or(passages.last());
    }
    let document = HashSet::from([first.source.clone()]);
    let within = Within::these(&document, cancel);
    let nearest = base
        .search_within(SearchMode::Hybrid, query, 1, within)
        .ok();
    let nearest = nearest.and_then(|hits| Some(hits.into_iter().next()?.lines));
    let nearest = passages
        .iter()
        .find(|passage| Some(passage.lines) == nearest);
    Some(nearest.unwrap_or(first))
}

/// What the run made of the passage, and the item that holds it where it was absorbed.
fn recorded(
    record: &RunRecord,
    passage: &Passage,
    line: Option<usize>,
) -> (Option<EvidenceRecord>, Option<EvidenceRecord>) {
    let is_it = |item: &&EvidenceRecord| {
        let lines = item.item.lines;
        let has_line = line.is_none_or(|line| (lines.start..=lines.end).contains(&line));
        let is_beside = line.is_some_and(|line| !holds(passage, line));
        item.item.source == passage.source
            && lines.overlaps(passage.lines)
            && (has_line || is_beside)
    };
    let items = record.evidence.iter().filter(is_it);
    let found = items.max_by_key(|item| {
        let is_kept = matches!(
            item.standing,
            EvidenceStanding::Kept | EvidenceStanding::Low
        );
        (item.cited, item.n.is_some(), is_kept)
    });
    let holder = found.and_then(|found| found.held_by.as_ref());
    let holder = holder.and_then(|id| record.evidence.iter().find(|item| item.item.id == *id));
    (found.cloned(), holder.cloned())
}

/// How a recorded call sees the passage now; notes where it returns something else than it did.
fn look_at(
    base: &KnowledgeBase,
    tool: &ToolRun,
    scope: &Scope,
    passage: &Passage,
    changed: &mut Vec<String>,
    cancel: &CancellationToken,
) -> CallReport {
    let lines = PassageLines {
        source: &passage.source,
        lines: passage.lines,
    };
    let view = view_of_call(base, &tool.call, scope, (lines, &passage.text), cancel);
    let is_same = view.scores.len() == tool.items
        && (view.scores.iter().zip(&tool.scores))
            .all(|(now, then)| (now.value() - then.value()).abs() < SAME);
    if !is_same && tool.error.is_none() {
        let name = tool.call.tool();
        let line =
            format!("The index has changed since the run: {name} returns other passages now.");
        if !changed.contains(&line) {
            changed.push(line);
        }
    }
    CallReport {
        call: tool.call.clone(),
        returned: tool.items,
        last_score: tool.scores.last().map(|score| score.value()),
        position: view.position,
        ranks: view.ranks,
        cut: view.cut,
        error: tool.error.clone().or(view.error),
    }
}

/// What cut the passage off, where something did.
fn cut(report: &PassageReport) -> Option<Cut> {
    let Some(found) = &report.evidence else {
        let cuts = report
            .calls
            .iter()
            .filter_map(|call| Some((call, call.cut?)));
        let first = cuts.min_by_key(|(call, _)| {
            let rank = call
                .ranks
                .fused
                .map(|place| place.rank)
                .or(call.ranks.best());
            (rank.is_none(), rank)
        });
        return first
            .map(|(_, cut)| cut)
            .or(report.calls.is_empty().then_some(Cut::NoTool));
    };
    match found.standing {
        _ if found.n.is_some() => None,
        EvidenceStanding::Within => None,
        EvidenceStanding::Dropped if found.grade.is_none() => Some(Cut::NotLookedAt),
        EvidenceStanding::Dropped => Some(Cut::Grade),
        EvidenceStanding::Kept | EvidenceStanding::Low if report.sent > 0 => Some(Cut::Prompt),
        EvidenceStanding::Kept | EvidenceStanding::Low => Some(Cut::End),
    }
}

/// What the screen shows of a passage: why it is where it is, or why that cannot be told.
pub(super) fn explained(
    base: &KnowledgeBase,
    log: &Path,
    asked: AskedPassage,
    cancel: &CancellationToken,
) -> Update {
    let lines = match explain_passage(base, log, &asked, cancel) {
        Ok(report) => report::why_lines(&report),
        Err(error) => vec![one_line(&error.to_string(), 400)],
    };
    let source = asked.file;
    Update::Explained { source, lines }
}
