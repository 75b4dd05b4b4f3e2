//! Names of documents and folders that match what is typed after an `@`.

use std::cmp::Reverse;
use std::sync::Arc;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Names that are offered; more letters find the others.
pub const MOST_NAMES: usize = 200;

/// Names that match what stands after an `@`.
#[derive(Debug, Clone, Default)]
pub struct MatchingNames {
    /// The best of them, those first that match best.
    pub best: Vec<String>,
    /// Where all that match stand among the names, in the order of those; longer text can match no
    /// others.
    all: Vec<u32>,
    /// The names that were gone through, and for what.
    among: Arc<[String]>,
    typed: String,
}

/// The names that match what is typed after an `@`; none where it is one of them already. `before`
/// is what matched the text before it.
pub fn matching_names(names: &Arc<[String]>, typed: &str, before: MatchingNames) -> MatchingNames {
    let typed = typed.trim_start_matches(['@', '"']);
    // A backslash says something about what follows it.
    let is_longer = Arc::ptr_eq(names, &before.among)
        && typed.starts_with(&before.typed)
        && !before.typed.ends_with('\\');
    let (ignore, smart) = (CaseMatching::Ignore, Normalization::Smart);
    let pattern = Pattern::new(typed, ignore, smart, AtomKind::Fuzzy);
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let mut buffer = Vec::new();
    let candidates: Box<dyn Iterator<Item = u32>> = if is_longer {
        Box::new(before.all.into_iter())
    } else {
        Box::new(0..names.len() as u32)
    };
    let mut scored: Vec<(bool, Reverse<u32>, u32)> = candidates
        .filter_map(|at| {
            let name = names.get(at as usize)?;
            let score = pattern.score(Utf32Str::new(name, &mut buffer), &mut matcher)?;
            Some((name != typed, Reverse(score), at))
        })
        .collect();
    let all = scored.iter().map(|(_, _, at)| *at).collect();
    // Among equals the order of the names stands.
    if scored.len() > MOST_NAMES {
        scored.select_nth_unstable(MOST_NAMES);
        scored.truncate(MOST_NAMES);
    }
    scored.sort_unstable();
    let best = scored
        .iter()
        .filter_map(|(_, _, at)| names.get(*at as usize));
    let mut best: Vec<String> = best.cloned().collect();
    if best
        .first()
        .is_some_and(|name| name == typed && !name.ends_with('/'))
    {
        best.clear();
    }
    MatchingNames {
        best,
        all,
        among: Arc::clone(names),
        typed: typed.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Arc<[String]> {
        let folders = (0..30).map(|at| format!("folder {at}/"));
        let files = (0..600).map(|at| format!("folder {}/note-{at}.md", at % 30));
        folders.chain(files).collect()
    }

    #[test]
    fn what_is_typed_on_matches_what_it_matches_alone() {
        let names = names();
        let mut before = MatchingNames::default();
        for typed in [
            "@",
            "@f",
            "@fo",
            "@fo 7",
            "@fo 7/n",
            "@fo 7/n3",
            "@n3",
            "@n3\\",
            "@n3\\ ",
            "@\"folder 7/",
            "@folder 7/note-7.md",
        ] {
            let at_once = matching_names(&names, typed, MatchingNames::default());
            before = matching_names(&names, typed, before);
            assert_eq!(before.best, at_once.best, "{typed}");
            assert_eq!(before.all, at_once.all, "{typed}");
            assert!(before.best.len() <= MOST_NAMES);
        }
        assert!(before.best.is_empty());
    }

    #[test]
    fn longer_text_is_looked_for_among_what_matched_and_other_names_are_all_gone_through() {
        let names = names();
        let matched = matching_names(&names, "@note-1", MatchingNames::default());
        let is_twelve = |at: &u32| names[*at as usize].ends_with("note-12.md");
        let fewer = MatchingNames {
            all: matched.all.iter().copied().filter(is_twelve).collect(),
            ..matched
        };
        assert_eq!(
            matching_names(&names, "@note-12", fewer.clone()).all.len(),
            1
        );
        let others: Arc<[String]> = names.iter().cloned().collect();
        assert!(matching_names(&others, "@note-12", fewer).all.len() > 1);
    }
}
