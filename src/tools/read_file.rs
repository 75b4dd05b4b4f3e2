//! A named file, or some of its lines. The score is 1.0: it was asked for by name, nothing was
//! measured.

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;

use crate::agent::ports::{Caller, ToolError};
use crate::domain::{Evidence, EvidenceId, LineRange, Measured, Score, ToolName};
use crate::kb::{Extraction, KnowledgeBase, Outline, Scope};

const MAX_LINES: usize = 400;
const MAX_BYTES: usize = 40_000;
/// Most words of a text that may be the name of a file; a longer text is not looked up.
const MOST_WORDS: usize = 8;

pub(super) fn run(
    base: &KnowledgeBase,
    path: &str,
    start: Option<usize>,
    end: Option<usize>,
    scope: &Scope,
    Caller { cancel, .. }: Caller<'_>,
) -> Result<Vec<Evidence>, ToolError> {
    let resolved = match base
        .resolve(path)
        .or_else(|error| as_called(base, path, cancel).ok_or(error))
    {
        Ok(resolved) => resolved,
        // What others have indexed need not lie here.
        Err(error) => {
            let stored = base
                .stored_document(path, cancel)
                .map_err(ToolError::from)?;
            let stored = stored.filter(|_| scope.holds(path));
            return excerpt(path.to_owned(), &stored.ok_or(error)?, start, end);
        }
    };
    if resolved.is_dir() {
        return Err(ToolError::BadArguments(format!(
            "{path} is a folder; name a file in it"
        )));
    }
    let source = base.source_of(&resolved).unwrap_or_else(|| path.to_owned());
    if !scope.holds(&source) {
        return Err(scope.outside(&source));
    }
    let document = base.read_unless(&resolved, cancel)?;
    excerpt(source, &document, start, end)
}

/// The file that is meant by a path which is none: by the last words of it, as many as there can be, or
/// by a part of its name that no other file has.
fn as_called(base: &KnowledgeBase, path: &str, cancel: &CancellationToken) -> Option<PathBuf> {
    if path.starts_with(['/', '~']) || path.contains("..") {
        return None;
    }
    let words = path.match_indices(' ').map(|(at, _)| &path[at + 1..]);
    std::iter::once(path)
        .chain(words)
        .take(MOST_WORDS)
        .find_map(|name| {
            let named = || {
                let found = base.documents_named(std::iter::once(name), cancel).ok()?;
                match &found.first()?[..] {
                    [only] => base.resolve(only).ok(),
                    _ => None,
                }
            };
            base.resolve(name).ok().or_else(named)
        })
}

fn excerpt(
    source: String,
    document: &Extraction,
    start: Option<usize>,
    end: Option<usize>,
) -> Result<Vec<Evidence>, ToolError> {
    let lines: Vec<&str> = document.text.lines().collect();
    let first = start.unwrap_or(1).max(1);
    let last = end.unwrap_or(lines.len()).min(lines.len());
    if end.is_some_and(|end| end < first) {
        return Err(ToolError::BadArguments(format!(
            "end_line lies before start_line {first}; give them in order"
        )));
    }
    if lines.is_empty() && first == 1 {
        return Ok(Vec::new());
    }
    if first > last {
        return Err(ToolError::BadArguments(format!(
            "{source} has {} line{}; start_line {first} lies beyond its end",
            lines.len(),
            if lines.len() == 1 { "" } else { "s" }
        )));
    }
    let shown = LineRange {
        start: first,
        end: bounded(&lines, first, last),
    };
    let topic = Outline::new(&source, document).topic(shown);
    Ok(vec![Evidence {
        id: EvidenceId(String::new()),
        source,
        lines: shown,
        tool: ToolName::ReadFile,
        score: Score::FULL,
        text: cut(lines[shown.start - 1..shown.end].join("\n")),
        topic,
        low: false,
        place: document.place(shown),
        measured: Measured::default(),
        by: None,
    }])
}

/// Only a single endless line can still be over the limit: its beginning must do.
fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_BYTES));
    text
}

/// The last line that keeps the whole within bounds; one line at least, however long.
fn bounded(lines: &[&str], first: usize, last: usize) -> usize {
    let mut bytes = 0;
    let within = lines[first - 1..last]
        .iter()
        .take(MAX_LINES)
        .take_while(|line| {
            bytes += line.len() + 1;
            bytes <= MAX_BYTES
        })
        .count();
    first + within.max(1) - 1
}
