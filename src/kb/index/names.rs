//! Which documents a name means.
//!
//! People and models name a file by what they remember of it: its path, its name with or without
//! extension, its title, a folder, a pattern; in any case, with a letter wrong. The plainest way
//! that finds anything decides, so that an exact name never brings its neighbours along.

use std::collections::HashSet;

use strsim::osa_distance;

use super::port::{NameMatches, NameQuery, Result};
use crate::globs::{self, BadGlob};
use crate::kb::error::KbError;
use crate::text::{is_cjk, name_key, spaced, stem, without_extension};

/// The shortest name that is corrected, in characters; shorter ones have too many neighbours.
const MIN_CHARS_FOR_SLIP: usize = 4;
/// Two letters may be wrong in names of this many characters and more.
const CHARS_FOR_TWO_SLIPS: usize = 9;

/// The names of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DocumentName<'d> {
    /// Its file, as evidence names it.
    pub source: &'d str,
    pub title: &'d str,
}

/// The distance of the first way of [`match_without_slips`]; each further way is one more.
const WITHOUT_SLIPS: usize = 10;
/// The distance of a name with a letter wrong.
const SLIP: usize = 20;

/// Selects the documents that a name means, in the order of `all`.
pub(crate) fn matches(all: &[DocumentName<'_>], query: &NameQuery<'_>) -> Result<NameMatches> {
    match query {
        NameQuery::Remembered(asked) => match_remembered(all, plain(asked)),
        NameQuery::Given(asked) => match_given(all, asked),
        NameQuery::MentionedIn(question) => Ok(match_mentions(all, question)),
        NameQuery::NamedBy(words) => Ok(matches_at(0, pick(all, |d| is_named_by(d.source, words)))),
        NameQuery::Under(folder) => {
            let below = format!("{folder}/");
            let found = pick(all, |d| {
                folder.is_empty() || d.source == *folder || d.source.starts_with(&below)
            });
            Ok(matches_at(0, found))
        }
    }
}

fn matches_at(distance: usize, sources: Vec<String>) -> NameMatches {
    NameMatches { distance, sources }
}

fn match_remembered(all: &[DocumentName<'_>], asked: &str) -> Result<NameMatches> {
    let found = match_without_slips(all, asked)?;
    if !found.sources.is_empty() || asked.is_empty() || is_glob(asked) {
        return Ok(found);
    }
    let names: Vec<FoldedNames<'_>> = all.iter().map(FoldedNames::new).collect();
    let (slips, found) = nearest(&names, &name_key(asked).replace('\\', "/"));
    Ok(matches_at(SLIP + slips, found))
}

fn match_given(all: &[DocumentName<'_>], asked: &str) -> Result<NameMatches> {
    let (name, is_folder) = (plain(asked), asked.trim_end().ends_with('/'));
    if name.is_empty() {
        return Ok(NameMatches::default());
    }
    let beginning = format!("{name}/");
    let below = pick(all, |d| d.source.starts_with(&beginning));
    if !below.is_empty() {
        return Ok(matches_at(0, below));
    }
    if !is_folder {
        return match_without_slips(all, name);
    }
    let folded = name_key(name).replace('\\', "/");
    let names: Vec<FoldedNames<'_>> = all.iter().map(FoldedNames::new).collect();
    let below = pick_by(&names, &|n| n.is_below(&folded));
    if below.is_empty() && is_glob(name) {
        return Ok(matches_at(2, glob(all, &format!("{name}/**"))?));
    }
    Ok(matches_at(1, below))
}

/// Whether a file name consists of some of these words, as `audit-log.md` of "the audit log".
fn is_named_by(source: &str, asked: &HashSet<String>) -> bool {
    let own = name_key(stem(source));
    let mut words = own
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .peekable();
    words.peek().is_some() && words.all(|word| asked.contains(word))
}

fn plain(asked: &str) -> &str {
    let asked = asked.trim();
    asked.strip_prefix("./").unwrap_or(asked).trim_matches('/')
}

fn is_glob(asked: &str) -> bool {
    asked.contains(['*', '?', '[', '{'])
}

fn match_without_slips(all: &[DocumentName<'_>], asked: &str) -> Result<NameMatches> {
    if asked.is_empty() {
        return Ok(NameMatches::default());
    }
    if all.iter().any(|document| document.source == asked) {
        return Ok(matches_at(WITHOUT_SLIPS, vec![asked.to_owned()]));
    }
    let names: Vec<FoldedNames<'_>> = all.iter().map(FoldedNames::new).collect();
    let folded = name_key(asked).replace('\\', "/");
    let ending = format!("/{folded}");
    let plain = spaced(&folded);
    // A question holds of `Heron status.pptx` what looks like a name.
    let last_words = format!(" {folded}");
    let ways: [&dyn Fn(&FoldedNames<'_>) -> bool; 7] = [
        &|n| n.source == folded || n.source.ends_with(&ending),
        // Without its extension.
        &|n| {
            let path = without_extension(&n.source);
            path == folded || path.ends_with(&ending) || n.title == folded
        },
        &|n| spaced(n.stem()) == plain || spaced(&n.title) == plain,
        // A ticket's title often goes on after its id.
        &|n| {
            n.title
                .strip_prefix(&folded)
                .is_some_and(|rest| rest.starts_with([':', ' ', '：']))
        },
        &|n| n.is_below(&folded),
        &|n| spaced(without_extension(&n.source)).ends_with(&format!("/{plain}")),
        &|n| folded.contains('.') && n.file().ends_with(&last_words),
    ];
    let found = (WITHOUT_SLIPS + 1..)
        .zip(ways)
        .map(|(distance, way)| matches_at(distance, pick_by(&names, way)))
        .find(|found| !found.sources.is_empty());
    match found {
        Some(found) => Ok(found),
        None if is_glob(asked) => Ok(matches_at(SLIP - 1, glob(all, asked)?)),
        None => Ok(NameMatches::default()),
    }
}

/// The documents whose file's name stands in the question: `tools.md` always, `fast-path` and
/// `PROJ-101` too, but `tools` alone is an ordinary word.
fn match_mentions(all: &[DocumentName<'_>], question: &str) -> NameMatches {
    let folded = name_key(question);
    let words = words(&folded);
    let names: Vec<FoldedNames<'_>> = all.iter().map(FoldedNames::new).collect();
    let found = pick_by(&names, &|n| {
        let file = n.file();
        let telling = n.stem().contains(['-', '_']);
        words.iter().any(|word| {
            *word == n.source
                || (word.contains('.') && ends_with_path(&n.source, word))
                || (telling && *word == n.stem())
        }) || (file.contains('.')
            && file.contains(|c: char| c == ' ' || is_cjk(c))
            && folded.contains(file))
    });
    if !found.is_empty() {
        return matches_at(0, found);
    }
    // With a letter wrong only what is plainly meant as a file.
    let mut near: Vec<String> = words
        .iter()
        .filter(|word| {
            word.rsplit_once('.').is_some_and(|(_, extension)| {
                let dotted = format!(".{extension}");
                !extension.is_empty() && names.iter().any(|n| n.source.ends_with(&dotted))
            })
        })
        .flat_map(|word| nearest(&names, word).1)
        .collect();
    near.sort();
    near.dedup();
    matches_at(SLIP, near)
}

/// A document's names in lower case.
struct FoldedNames<'d> {
    document: DocumentName<'d>,
    source: String,
    title: String,
}

impl<'d> FoldedNames<'d> {
    fn new(document: &DocumentName<'d>) -> Self {
        Self {
            document: *document,
            source: name_key(document.source),
            title: name_key(document.title),
        }
    }

    fn file(&self) -> &str {
        self.source.rsplit('/').next().unwrap_or(&self.source)
    }

    fn stem(&self) -> &str {
        stem(&self.source)
    }

    /// Whether one of the folders above it is called that.
    fn is_below(&self, folder: &str) -> bool {
        self.source.match_indices(folder).any(|(at, _)| {
            let begins = at == 0 || self.source[..at].ends_with('/');
            begins && self.source[at + folder.len()..].starts_with('/')
        })
    }
}

fn ends_with_path(source: &str, path: &str) -> bool {
    source
        .strip_suffix(path)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// The words of a question, where letters and scripts without spaces are words apart.
fn words(folded: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let mut words: Vec<&str> = Vec::new();
    for run in folded.split(|c: char| !is_part(c)) {
        words.push(run);
        // 请看tools.md里的说明
        if run.contains(is_cjk) && !run.chars().all(is_cjk) {
            words.extend(run.split(is_cjk));
        }
    }
    words
        .into_iter()
        .map(|word| word.trim_matches(['.', '-', '/']))
        .filter(|word| !word.is_empty())
        .collect()
}

/// The documents that match a pattern as it is; if there are none, at any depth.
fn glob(all: &[DocumentName<'_>], pattern: &str) -> Result<Vec<String>> {
    let anywhere = format!("**/{pattern}");
    let ways = if pattern.contains('/') {
        vec![pattern, &anywhere]
    } else {
        vec![anywhere.as_str()]
    };
    for way in ways {
        let matcher = match globs::set_of(way) {
            Ok(set) => set,
            // A name may hold brackets and be no pattern.
            Err(BadGlob::Malformed) => continue,
            Err(BadGlob::TooComplicated) => {
                let line = "the pattern is too complicated; use fewer braces, or name the file";
                return Err(KbError::BadQuery(line.to_owned()));
            }
        };
        let found = pick(all, |d| matcher.is_match(d.source));
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// The documents whose name is one slip away from this, or two from a long one.
fn nearest(names: &[FoldedNames<'_>], folded: &str) -> (usize, Vec<String>) {
    let letters = folded.chars().count();
    let most = match letters {
        n if n < MIN_CHARS_FOR_SLIP => return (0, Vec::new()),
        n if n < CHARS_FOR_TWO_SLIPS => 1,
        _ => 2,
    };
    let mut best = most;
    let mut found: Vec<String> = Vec::new();
    for n in names {
        let path = without_extension(&n.source);
        let slips = [
            n.file(),
            n.stem(),
            n.source.as_str(),
            path,
            n.title.as_str(),
        ]
        .into_iter()
        .filter_map(|name| slips(folded, letters, name, best))
        .min();
        match slips {
            Some(slips) if slips < best || found.is_empty() => {
                best = slips;
                found = vec![n.document.source.to_owned()];
            }
            Some(slips) if slips == best => found.push(n.document.source.to_owned()),
            _ => {}
        }
    }
    (best, found)
}

/// Counts the letters that are wrong, missing, too many or swapped with the next; `None` above `most`.
fn slips<'a>(asked: &'a str, letters: usize, name: &'a str, most: usize) -> Option<usize> {
    // Bytes first: characters are counted only where the length may fit.
    if name.len() + most < letters
        || name.len() > 4 * (letters + most)
        || name.chars().count().abs_diff(letters) > most
    {
        return None;
    }
    // Another number is another document, no slip.
    let digits = |name: &'a str| name.chars().filter(|c| c.is_numeric());
    if !digits(name).eq(digits(asked)) {
        return None;
    }
    Some(osa_distance(name, asked)).filter(|slips| *slips <= most)
}

fn pick(all: &[DocumentName<'_>], way: impl Fn(&DocumentName<'_>) -> bool) -> Vec<String> {
    let found = all.iter().filter(|document| way(document));
    found.map(|document| document.source.to_owned()).collect()
}

fn pick_by(names: &[FoldedNames<'_>], way: &dyn Fn(&FoldedNames<'_>) -> bool) -> Vec<String> {
    names
        .iter()
        .filter(|names| way(names))
        .map(|names| names.document.source.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document<'d>(source: &'d str, title: &'d str) -> DocumentName<'d> {
        DocumentName { source, title }
    }

    #[test]
    fn with_a_slash_at_its_end_a_name_means_a_folder_only() {
        let documents = [
            document("house.md", "House"),
            document("notes/a.md", "House"),
            document("work/house/lease.md", "Lease"),
            document("work/housing/plan.md", "Plan"),
        ];
        let named = |asked: &str| match_given(&documents, asked).unwrap().sources;
        assert_eq!(named("house/"), ["work/house/lease.md"]);
        assert_eq!(named("House/"), ["work/house/lease.md"]);
        assert_eq!(named("work/house/"), ["work/house/lease.md"]);
        assert_eq!(named("work/hous*/").len(), 2);
        assert!(named("lease/").is_empty());
        assert!(named("house.md/").is_empty());
        assert_eq!(named("house"), ["house.md", "notes/a.md"]);
        assert!(named("/").is_empty());
    }

    #[test]
    fn ends_a_pattern_that_asks_for_too_much_with_an_error() {
        let documents = [document("notes/a.md", "A")];
        let find = |asked: &str| match_remembered(&documents, asked).map(|found| found.sources);
        let nested = |depth: usize| "{a,".repeat(depth) + "b" + &"}".repeat(depth);
        for depth in [9, 280, 1000] {
            assert!(matches!(find(&nested(depth)), Err(KbError::BadQuery(_))));
        }
        let wide = "{*a*,?b?}".repeat(200);
        assert!(matches!(find(&wide), Ok(found) if found.is_empty()));
        assert_eq!(find("{x,{a,b}}.md").unwrap(), ["notes/a.md"]);
        assert!(find("[a").unwrap().is_empty());
    }

    #[test]
    fn a_slip_is_a_letter_wrong_missing_too_many_or_swapped() {
        let count = |a: &str, b: &str| slips(a, a.chars().count(), b, 2);
        assert_eq!(count("audit-log", "audit-log"), Some(0));
        for slip in ["audit-lok", "audt-log", "auditt-log", "audit-lgo"] {
            assert_eq!(count(slip, "audit-log"), Some(1), "{slip}");
        }
        assert_eq!(count("aduit-lgo", "audit-log"), Some(2));
        assert_eq!(count("adit-lg0s", "audit-log"), None);
        assert_eq!(count("离线模试", "离线模式"), Some(1));
        assert_eq!(count("proj-108", "proj-101"), None);
    }
}
