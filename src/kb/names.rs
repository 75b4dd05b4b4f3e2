//! Which documents a name means.

use globset::GlobBuilder;

use super::manifest::Document;

/// The documents that a path, file name, title or glob means. The first kind of match that finds
/// anything decides.
pub(super) fn find(documents: &[Document], asked: &str) -> Vec<String> {
    let asked = asked.trim();
    let asked = asked.strip_prefix("./").unwrap_or(asked);
    let asked = asked.trim_start_matches('/');
    if asked.is_empty() {
        return Vec::new();
    }
    if asked.contains(['*', '?', '[', '{']) {
        return glob(documents, asked);
    }
    let folded = asked.to_lowercase();
    let ending = format!("/{folded}");
    let plain = spaced(&folded);
    let ways: [&dyn Fn(&Document) -> bool; 5] = [
        &|d| d.source == asked,
        &|d| {
            let source = d.source.to_lowercase();
            source == folded || source.ends_with(&ending)
        },
        &|d| stem(&d.source).to_lowercase() == folded || d.title.to_lowercase() == folded,
        &|d| {
            spaced(&stem(&d.source).to_lowercase()) == plain
                || spaced(&d.title.to_lowercase()) == plain
        },
        // A ticket's title often goes on after its id.
        &|d| {
            d.title
                .to_lowercase()
                .strip_prefix(&folded)
                .is_some_and(|rest| rest.starts_with([':', ' ', '：']))
        },
    ];
    ways.into_iter()
        .map(|way| pick(documents, way))
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

/// The documents whose file's name stands in the question: `tools.md` always, `fast-path` and
/// `PROJ-101` too, but `tools` alone is an ordinary word.
pub(super) fn mentioned(documents: &[Document], question: &str) -> Vec<String> {
    let folded = question.to_lowercase();
    let words: Vec<&str> = folded
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')))
        .map(|word| word.trim_matches(['.', '-', '/']))
        .filter(|word| !word.is_empty())
        .collect();
    pick(documents, &|document| {
        let source = document.source.to_lowercase();
        let stem = stem(&document.source).to_lowercase();
        let telling = stem.contains(['-', '_']);
        words.iter().any(|word| {
            *word == source
                || source
                    .strip_suffix(word)
                    .is_some_and(|rest| rest.ends_with('/') && word.contains('.'))
                || (telling && *word == stem)
        })
    })
}

/// A document's file name without its extension.
pub(crate) fn stem(source: &str) -> &str {
    let name = source.rsplit('/').next().unwrap_or(source);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

fn glob(documents: &[Document], pattern: &str) -> Vec<String> {
    let anywhere = if pattern.contains('/') {
        pattern.to_owned()
    } else {
        format!("**/{pattern}")
    };
    let Ok(glob) = GlobBuilder::new(&anywhere)
        .literal_separator(true)
        .case_insensitive(true)
        .build()
    else {
        return Vec::new();
    };
    let matcher = glob.compile_matcher();
    pick(documents, &|document| matcher.is_match(&document.source))
}

fn pick(documents: &[Document], way: &dyn Fn(&Document) -> bool) -> Vec<String> {
    documents
        .iter()
        .filter(|document| way(document))
        .map(|document| document.source.clone())
        .collect()
}

fn spaced(name: &str) -> String {
    let words: Vec<&str> = name
        .split(|c: char| c.is_whitespace() || matches!(c, '-' | '_'))
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}
