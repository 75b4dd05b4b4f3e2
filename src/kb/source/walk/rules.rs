//! The ignore rules of folders.
//!
//! `.gitignore`, `.ignore` and `.git/info/exclude` are read here and not by the crate that goes
//! through the folders: it waits for pipes, reads without a bound, and takes a file that it cannot
//! read for one that hides nothing. A folder whose rules cannot be known is not looked into: they
//! may hide anything. What is no file at all, a pipe or a folder of that name, holds no rules.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::files::{self, Unreadable};
use crate::globs;

/// Largest ignore file. Git's own template for a language is below 10 kB.
const MAX_BYTES: u64 = 512 * 1024;
/// Most patterns in one ignore file: each takes some kilobytes in the matcher.
const MAX_PATTERNS: usize = 10_000;
/// Most bytes of all ignore files of a root together.
const MAX_BYTES_IN_ALL: u64 = 4 * 1024 * 1024;
/// Largest `.git` file of a work tree, which says where its repository is.
const MAX_POINTER_BYTES: u64 = 16 * 1024;

/// The rules that hold in a folder: its own, then those of the folders above it.
#[derive(Debug, Default)]
pub(super) struct IgnoreRules {
    above: Option<Arc<IgnoreRules>>,
    /// Rule files in the order in which they decide: `.ignore`, `.gitignore`, `.git/info/exclude`.
    own: [Option<Gitignore>; 3],
}

/// What the rules say of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ruling {
    /// Nothing.
    None,
    /// It is left out.
    Ignored,
    /// It stays in, whatever else.
    Kept,
}

/// How much may still be read.
#[derive(Debug, Default)]
pub(super) struct Budget(AtomicU64);

/// The rules of a folder, and which of its files of rules are no files.
pub(super) struct Read {
    pub rules: Arc<IgnoreRules>,
    pub irregular: Vec<PathBuf>,
}

impl IgnoreRules {
    /// Reads the rules of a folder within one whose rules are `above`; the error says why they
    /// cannot be known.
    pub fn read(above: &Arc<Self>, folder: &Path, budget: &Budget) -> Result<Read, String> {
        let mut irregular = Vec::new();
        let mut own = [None, None, None];
        let paths = [
            Some(folder.join(".ignore")),
            Some(folder.join(".gitignore")),
            exclude_of(folder),
        ];
        for (own, path) in own.iter_mut().zip(paths) {
            let Some(path) = path else { continue };
            let refused = |why: &dyn std::fmt::Display| {
                let name = path.strip_prefix(folder).unwrap_or(&path);
                format!("{}: {why}", name.display())
            };
            match read(&path, budget) {
                Ok(Some(text)) => *own = compiled(folder, &text).map_err(|why| refused(&why))?,
                Ok(None) => {}
                Err(Unreadable::NotRegular) if path.is_dir() => {}
                Err(Unreadable::NotRegular) => irregular.push(path),
                Err(why) => return Err(refused(&why)),
            }
        }
        let rules = if own.iter().all(Option::is_none) {
            Arc::clone(above)
        } else {
            let above = Some(Arc::clone(above));
            Arc::new(Self { above, own })
        };
        Ok(Read { rules, irregular })
    }

    /// What they say of an entry of the folder; the nearest rule decides, of each kind of file.
    pub fn rule(&self, path: &Path, is_dir: bool) -> Ruling {
        let mut said = [Ruling::None; 3];
        let mut at = Some(self);
        while let Some(rules) = at {
            for (said, own) in said.iter_mut().zip(&rules.own) {
                if let (Ruling::None, Some(own)) = (*said, own) {
                    *said = match own.matched(path, is_dir) {
                        Match::None => Ruling::None,
                        Match::Ignore(_) => Ruling::Ignored,
                        Match::Whitelist(_) => Ruling::Kept,
                    };
                }
            }
            at = rules.above.as_deref();
        }
        let mut said = said.into_iter();
        said.find(|said| *said != Ruling::None)
            .unwrap_or(Ruling::None)
    }
}

/// `None` where there is no such file, or where the folder cannot be read.
fn read(path: &Path, budget: &Budget) -> Result<Option<String>, Unreadable> {
    let bytes = match files::read_bounded(path, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(why) if is_not_there(&why) || fs::symlink_metadata(path).is_err() => return Ok(None),
        Err(why) => return Err(why),
    };
    let spent = budget.0.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    if spent + bytes.len() as u64 > MAX_BYTES_IN_ALL {
        let why = "with the rules of other folders it is too much";
        return Err(io::Error::other(why).into());
    }
    if memchr::memchr(0, &bytes).is_some() {
        return Err(Unreadable::NotText);
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

fn is_not_there(why: &Unreadable) -> bool {
    let Unreadable::Io(error) = why else {
        return false;
    };
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// `None` where nothing is a rule. A line that is no pattern hides nothing, as for git.
fn compiled(folder: &Path, text: &str) -> Result<Option<Gitignore>, &'static str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let mut builder = GitignoreBuilder::new(folder);
    for (n, line) in lines.enumerate() {
        if n >= MAX_PATTERNS {
            return Err("it holds more than 10,000 patterns");
        }
        if globs::is_too_much(line) {
            return Err("a pattern in it is too complicated");
        }
        if let Err(error) = builder.add_line(None, line) {
            tracing::debug!(folder = %folder.display(), %error, "a rule is no pattern");
        }
    }
    let rules = builder
        .build()
        .map_err(|_| "its patterns are too complicated")?;
    Ok((!rules.is_empty()).then_some(rules))
}

/// Where a repository keeps the rules that it does not share. A work tree beside its repository
/// has a file that says where that is.
fn exclude_of(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let kind = fs::metadata(&git).ok()?.file_type();
    if kind.is_dir() {
        return Some(git.join("info/exclude"));
    }
    let pointer = files::read_text_bounded(&git, MAX_POINTER_BYTES).ok()?;
    let own = folder.join(pointer.lines().next()?.strip_prefix("gitdir: ")?);
    let shared = files::read_text_bounded(&own.join("commondir"), MAX_POINTER_BYTES).ok()?;
    Some(own.join(shared.lines().next()?).join("info/exclude"))
}
