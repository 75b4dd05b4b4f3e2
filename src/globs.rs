//! Patterns for the names of files, written by a model, a setting, an ignore file.
//!
//! The glob crate goes down into braces by recursion, and its single matcher panics where the
//! regular expression that it makes is refused. So braces are counted first, and only sets are
//! built: those give an error.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Braces within braces within braces: deeper ones are not written on purpose.
const MAX_NESTING: usize = 8;
/// A longer pattern is not written on purpose either.
const MAX_BYTES: usize = 4096;

/// Why a pattern cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadGlob {
    /// It is no pattern, such as one with a bracket that is never closed.
    Malformed,
    /// It asks for too much.
    TooComplicated,
}

impl fmt::Display for BadGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "it is no pattern",
            Self::TooComplicated => "it is too complicated",
        })
    }
}

/// Patterns of files, relative to a folder. Case does not matter; one without a slash is about the
/// name, one with a slash about the end of the path.
#[derive(Debug, Clone, Default)]
pub struct Globs {
    set: GlobSet,
}

impl Globs {
    /// The first that cannot be used is the error.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Result<Self, BadGlob> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            if is_too_much(pattern) {
                return Err(BadGlob::TooComplicated);
            }
            let anywhere = format!("**/{}", pattern.trim_start_matches('/'));
            let glob = GlobBuilder::new(&anywhere)
                .literal_separator(true)
                .case_insensitive(true)
                .build();
            set.add(glob.map_err(|_| BadGlob::Malformed)?);
        }
        let set = set.build().map_err(|_| BadGlob::TooComplicated)?;
        Ok(Self { set })
    }

    /// Whether any of them fits this path.
    pub fn fit(&self, relative: &Path) -> bool {
        self.set.is_match(relative)
    }

    /// The last of them that fits this path, by its number from 0.
    pub fn last_that_fits(&self, relative: &Path) -> Option<usize> {
        // To ask which they are costs more, and mostly none does.
        if !self.set.is_match(relative) {
            return None;
        }
        self.set.matches(relative).into_iter().max()
    }
}

/// Patterns of files that the user wants read although they are hidden or hold secrets by their names.
#[derive(Debug, Clone, Default)]
pub struct Inclusion {
    globs: Globs,
    patterns: Arc<[InclusionPattern]>,
}

#[derive(Debug)]
struct InclusionPattern {
    text: String,
    is_used: AtomicBool,
}

impl Inclusion {
    /// The first pattern that cannot be used is the error.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Result<Self, BadGlob> {
        let patterns: Vec<&str> = patterns.into_iter().collect();
        let globs = Globs::new(patterns.iter().copied())?;
        let patterns = patterns.iter().map(|text| InclusionPattern {
            text: (*text).to_owned(),
            is_used: AtomicBool::new(false),
        });
        Ok(Self {
            globs,
            patterns: patterns.collect(),
        })
    }

    /// Whether any of them fits this path below a root.
    pub fn fits(&self, relative: &Path) -> bool {
        if !self.globs.fit(relative) {
            return false;
        }
        for at in self.globs.set.matches(relative) {
            if let Some(pattern) = self.patterns.get(at) {
                pattern.is_used.store(true, Ordering::Relaxed);
            }
        }
        true
    }

    /// The patterns that have matched nothing so far, in this value and all its clones.
    pub fn unused(&self) -> impl Iterator<Item = &str> {
        let patterns = self.patterns.iter();
        let unused = patterns.filter(|pattern| !pattern.is_used.load(Ordering::Relaxed));
        unused.map(|pattern| pattern.text.as_str())
    }
}

/// A set of one pattern as it is, without regard to case; `*` stays within a folder.
pub fn set_of(pattern: &str) -> Result<GlobSet, BadGlob> {
    if is_too_much(pattern) {
        return Err(BadGlob::TooComplicated);
    }
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .case_insensitive(true)
        .build();
    let set = GlobSet::builder()
        .add(glob.map_err(|_| BadGlob::Malformed)?)
        .build();
    set.map_err(|_| BadGlob::TooComplicated)
}

/// Whether the glob crate is not to be asked about this pattern.
pub fn is_too_much(pattern: &str) -> bool {
    pattern.len() > MAX_BYTES || nesting(pattern) > MAX_NESTING
}

/// How deep braces stand within braces. One that is closed too often is closed for the count only.
fn nesting(pattern: &str) -> usize {
    let (mut depth, mut most) = (0_usize, 0);
    for c in pattern.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_a_pattern_that_asks_for_too_much_with_an_error() {
        for depth in [9, 280, 1000, 100_000] {
            let nested = "{a,".repeat(depth) + "b" + &"}".repeat(depth);
            assert_eq!(set_of(&nested).unwrap_err(), BadGlob::TooComplicated);
            assert_eq!(
                Globs::new([nested.as_str()]).unwrap_err(),
                BadGlob::TooComplicated
            );
        }
        assert!(set_of(&"{*a*,?b?}".repeat(200)).is_ok());
        assert_eq!(set_of("[a").unwrap_err(), BadGlob::Malformed);
    }

    #[test]
    fn a_pattern_is_about_the_name_or_the_end_of_the_path() {
        let globs = Globs::new(["*.ENV", "/ops/keys/*.pem"]).unwrap();
        for (path, expected) in [
            ("secret.env", Some(0)),
            ("a/b/Secret.Env", Some(0)),
            ("ops/keys/a.pem", Some(1)),
            ("x/ops/keys/a.pem", Some(1)),
            ("keys/a.pem", None),
            ("ops/keys/sub/a.pem", None),
        ] {
            assert_eq!(globs.last_that_fits(Path::new(path)), expected, "{path}");
        }
        assert!(!Globs::default().fit(Path::new("a")));
    }
}
