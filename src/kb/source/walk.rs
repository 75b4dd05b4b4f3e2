//! Lists the files of the base.
//!
//! One walk serves indexing, grep and the question whether a single file belongs to the base, so
//! that all three agree. `.gitignore` counts also outside a repository, but only from the root
//! down: a rule in the home folder must not empty a base that was named explicitly. Links
//! are not followed: what they lead to inside a root is listed at its own place, and what lies
//! outside is not part of the base. That also makes loops impossible.
//!
//! [`Belonging`] decides about each entry: by the [`IgnoreRules`] of its folder and by the [`SecretNames`] of
//! files. Folders are read side by side; the order of the result is that of the names all the same.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, mpsc};
use std::{fs, io, iter};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, Match, WalkBuilder, WalkState};
use parking_lot::{Mutex, RwLock};
use tokio_util::sync::CancellationToken;

use super::roots::{Included, Roots};
use crate::agent::ports::ToolError;
use crate::files;
use crate::files::Unreadable;
use crate::globs;
use crate::globs::{BadGlob, Globs};
use crate::kb::extract::{SkipReason, is_too_large, too_large};
use crate::kb::opened::{Opened, Stamp, is_dataless, placeholder_of};

/// A file that was passed over, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Where it is, as evidence would name it.
    pub path: String,
    /// Why it was skipped.
    pub reason: SkipReason,
}

/// A file that may hold text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceFile {
    pub path: PathBuf,
    pub source: String,
    pub stamp: Stamp,
}

/// What a walk comes by.
#[derive(Debug, Default)]
pub(crate) struct WalkResult {
    /// The files that were found, in the order of their names.
    pub found: Vec<SourceFile>,
    /// What was passed over.
    pub skipped: Vec<Skipped>,
    /// What the system refused to list, as evidence would name it; empty for a whole root. What
    /// was there before is not known to be gone.
    pub unseen: Vec<String>,
}

impl WalkResult {
    /// Whether this document may still be there, though no file was found for it.
    pub fn may_hold(&self, source: &str) -> bool {
        self.unseen.iter().any(|place| {
            let below = source.strip_prefix(place.as_str());
            place.is_empty() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// What one thread of a walk tells: a file, or what is passed over, why, and whether documents below it
/// may still be there.
type Seen = Result<SourceFile, (PathBuf, SkipReason, bool)>;

/// All files of the base; not all of them once `cancel` is cancelled.
pub(crate) fn walk(roots: &Roots, cancel: &CancellationToken) -> WalkResult {
    let mut result = WalkResult::default();
    for root in roots.paths() {
        let was_away = roots.is_away(root);
        if !was_away {
            walk_root(roots, root, &mut result, cancel);
        }
        // It may go while it is walked.
        if was_away || roots.is_away(root) {
            result
                .unseen
                .push(roots.source_of(root).unwrap_or_default());
            // The user knows it by its whole path.
            result.skipped.push(Skipped {
                path: escape_controls(&root.to_string_lossy()),
                reason: SkipReason::Away,
            });
        }
    }
    result
        .found
        .sort_unstable_by(|a, b| a.source.cmp(&b.source));
    result.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    result
}

fn walk_root(roots: &Roots, root: &Path, result: &mut WalkResult, cancel: &CancellationToken) {
    let (sender, receiver) = mpsc::channel::<Seen>();
    let pass_over = sender.clone();
    let aside = move |path: &Path, reason: SkipReason| {
        let is_unseen = reason == SkipReason::InCloud;
        // Received until the walk is over.
        let _ = pass_over.send(Err((path.to_owned(), reason, is_unseen)));
    };
    let builder = match builder(root, &roots.included(), |_| true, aside) {
        Ok(builder) => builder,
        Err(reason) => return result.skipped.push(skip(roots, root, reason)),
    };
    builder.build_parallel().run(|| {
        let sender = sender.clone();
        Box::new(move |entry| {
            if cancel.is_cancelled() {
                return WalkState::Quit;
            }
            let seen = match entry {
                Ok(entry) => look_at_entry(roots, root, &entry).map(|seen| {
                    seen.map_err(|reason| {
                        let is_unseen = reason == SkipReason::InCloud;
                        (entry.into_path(), reason, is_unseen)
                    })
                }),
                Err(error) => {
                    let path = path_in(&error).unwrap_or(Path::new("?")).to_owned();
                    let is_gone = error
                        .io_error()
                        .is_some_and(|error| error.kind() == io::ErrorKind::NotFound);
                    Some(Err((path, unreadable(&error), !is_gone)))
                }
            };
            match seen.map(|seen| sender.send(seen)) {
                Some(Err(_)) => WalkState::Quit,
                _ => WalkState::Continue,
            }
        })
    });
    drop((builder, sender));
    for seen in receiver {
        match seen {
            Ok(file) => result.found.push(file),
            Err((path, reason, is_unseen)) => {
                if is_unseen {
                    result
                        .unseen
                        .push(roots.source_of(&path).unwrap_or_default());
                }
                result.skipped.push(skip(roots, &path, reason));
            }
        }
    }
}

/// Whether a walk of this root comes by this path. Looks only at the folders on the way.
pub(crate) fn lists(root: &Path, included: &Included, canonical: &Path) -> bool {
    matches!(way_to(root, included, canonical), Some(Ok(_)))
}

/// What a walk of this root would make of this file; `None` when it does not come by. Who knows
/// that it does need not look at the folders on the way.
pub(crate) fn look_at_file(
    roots: &Roots,
    root: &Path,
    file: &Path,
    is_listed: bool,
) -> Option<Result<SourceFile, Skipped>> {
    let entry = if is_listed {
        let mut builder = WalkBuilder::new(file);
        builder.standard_filters(false).follow_links(false);
        Ok(builder.build().next()?.ok()?)
    } else {
        way_to(root, &roots.included(), file)?
    };
    let seen = match entry {
        Ok(entry) => look_at_entry(roots, root, &entry)?,
        Err(reason) => Err(reason),
    };
    Some(seen.map_err(|reason| skip(roots, file, reason)))
}

/// The entry that a walk comes by at this path, or why it is left out, where that is said.
fn way_to(
    root: &Path,
    included: &Included,
    canonical: &Path,
) -> Option<Result<DirEntry, SkipReason>> {
    if !is_plain(root, canonical) {
        return None;
    }
    let goal = canonical.to_owned();
    let is_on_the_way = move |entry: &DirEntry| goal.starts_with(entry.path());
    let (goal, left_out) = (canonical.to_owned(), Arc::new(Mutex::new(None)));
    let noted = Arc::clone(&left_out);
    let aside = move |path: &Path, reason| {
        if path == goal {
            *noted.lock() = Some(reason);
        }
    };
    let builder = builder(root, included, is_on_the_way, aside).ok()?;
    let mut entries = builder.build().filter_map(Result::ok);
    let found = entries.find(|entry| entry.path() == canonical).map(Ok);
    found.or_else(|| left_out.lock().take().map(Err))
}

pub(crate) fn is_dir(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// Whether names below the root can be written down and read back.
pub(crate) fn is_plain(root: &Path, path: &Path) -> bool {
    let name = path.strip_prefix(root).ok().and_then(Path::to_str);
    name.is_some_and(|name| !name.contains(char::is_control))
}

fn skip(roots: &Roots, path: &Path, reason: SkipReason) -> Skipped {
    let name = roots.source_of(path).filter(|name| !name.is_empty());
    Skipped {
        path: escape_controls(&name.unwrap_or_else(|| path.to_string_lossy().into_owned())),
        reason,
    }
}

/// Writes control characters as escapes.
fn escape_controls(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// What one entry is, or why it is passed over; `None` for a folder, and for what is listed elsewhere.
fn look_at_entry(
    roots: &Roots,
    root: &Path,
    entry: &DirEntry,
) -> Option<Result<SourceFile, SkipReason>> {
    let path = entry.path();
    let source = roots.source_of(path)?;
    if entry.path_is_symlink() {
        let is_inside = path.canonicalize().is_ok_and(|real| real.starts_with(root));
        return (!is_inside).then_some(Err(SkipReason::LinkOutside));
    }
    if is_dir(entry) {
        return None;
    }
    if !entry.file_type().is_some_and(|kind| kind.is_file()) {
        return Some(Err(SkipReason::NotRegular));
    }
    if !is_plain(root, path) {
        return Some(Err(SkipReason::BadName));
    }
    Some(match entry.metadata() {
        Ok(meta) if is_dataless(&meta) => Err(SkipReason::InCloud),
        Ok(meta) if is_too_large(path, meta.len()) => {
            Err(Opened::beneath(root, path).map_or_else(SkipReason::from, |file| too_large(&file)))
        }
        Ok(meta) => Ok(SourceFile {
            path: path.to_owned(),
            source,
            stamp: Stamp::from_metadata(&meta),
        }),
        Err(error) => Err(unreadable(&error)),
    })
}

fn path_in(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_in(err)
        }
        ignore::Error::Loop { child, .. } => Some(child),
        _ => None,
    }
}

fn unreadable(error: &ignore::Error) -> SkipReason {
    let io_error = error.io_error();
    SkipReason::Unreadable(io_error.map_or_else(|| error.to_string(), ToString::to_string))
}

// A name of a file as a user or a model writes it, as the file of the base that it means.

impl Roots {
    /// The canonical path of a file or folder of the base, however it was named: as evidence
    /// names it, relative to a root, or absolute.
    ///
    /// What hidden or ignored files hold is not part of the base, although it lies within.
    pub fn resolve(&self, asked: &str) -> Result<PathBuf, ToolError> {
        let asked = asked.trim();
        if asked.is_empty() {
            return Err(ToolError::BadArguments(
                "path is empty; name a file of the knowledge base".to_owned(),
            ));
        }
        let missing = || ToolError::NotFound {
            what: asked.to_owned(),
        };
        let mut outside = false;
        for candidate in self.candidates(asked) {
            match candidate.canonicalize() {
                Ok(real) => match self.paths().find(|root| real.starts_with(root)) {
                    Some(root) if lists(root, &self.included(), &real) => {
                        return Ok(real);
                    }
                    Some(_) => {}
                    None => outside = true,
                },
                Err(_) => outside |= !self.contains_lexically(&candidate),
            }
        }
        if outside {
            Err(ToolError::OutsideRoots {
                path: asked.to_owned(),
            })
        } else {
            Err(missing())
        }
    }
}

// Which entries below a root belong to the base: decided here for all who go through its folders.
//
// What the ignore rules leave out and what is hidden is left out without a word, as everywhere.
// What holds secrets by its name is left out and said. What the user names to be included is
// read although it is hidden or holds secrets by its name. A file that the user names itself is read
// in any case; a folder that would be left out and leads to it is gone through, and nothing else of
// it is looked at.

/// Goes through a root: comes by what belongs to the base. `is_on_the_way` is asked first and
/// costs little; `aside` gets what is left out and why. An error is why nothing of the root is
/// looked at.
pub(crate) fn builder(
    root: &Path,
    included: &Included,
    is_on_the_way: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
    aside: impl Fn(&Path, SkipReason) + Send + Sync + 'static,
) -> Result<WalkBuilder, SkipReason> {
    let belonging = Belonging {
        root: root.to_owned(),
        included: included.clone(),
        aside,
        budget: RuleBudget::default(),
        none: Arc::default(),
        known: RwLock::default(),
        passages: RwLock::default(),
    };
    belonging.enter(root, &belonging.none)?;
    let mut builder = WalkBuilder::new(root);
    builder.standard_filters(false).follow_links(false);
    builder.filter_entry(move |entry| is_on_the_way(entry) && belonging.holds(entry));
    Ok(builder)
}

/// What one way through a root knows.
struct Belonging<A> {
    root: PathBuf,
    included: Included,
    /// Gets what is left out, and why.
    aside: A,
    budget: RuleBudget,
    none: Arc<IgnoreRules>,
    /// The rules that hold in the folders that were come by; those without any are not kept.
    known: RwLock<HashMap<PathBuf, Arc<IgnoreRules>>>,
    /// Folders that are only gone through, on the way to a file that was named.
    passages: RwLock<HashSet<PathBuf>>,
}

impl<A: Fn(&Path, SkipReason)> Belonging<A> {
    /// Whether an entry belongs to the base, or is a folder on the way to a file that does.
    fn holds(&self, entry: &DirEntry) -> bool {
        let path = entry.path();
        let is_in_passage = path
            .parent()
            .is_some_and(|folder| self.passages.read().contains(folder));
        if !is_dir(entry) {
            return self.included.names(path) || !is_in_passage && self.holds_file(entry);
        }
        if !is_in_passage && self.holds_folder(entry) {
            return true;
        }
        let is_passage = self.included.leads_to_named(path);
        if is_passage {
            self.passages.write().insert(path.to_owned());
        }
        is_passage
    }

    fn holds_folder(&self, entry: &DirEntry) -> bool {
        let path = entry.path();
        let rules = self.rules_beside(path);
        let ruling = rules.rule(path, true);
        if ruling.is_ignore() || is_hidden(entry) && !ruling.is_whitelist() {
            return false;
        }
        let entered = self.enter(path, &rules);
        entered.map_err(|reason| (self.aside)(path, reason)).is_ok()
    }

    fn holds_file(&self, entry: &DirEntry) -> bool {
        let path = entry.path();
        let rules = self.rules_beside(path);
        let ruling = rules.rule(path, false);
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        if ruling.is_ignore() {
            return false;
        }
        if self.included.fits(relative) {
            return true;
        }
        if let Some(held) = held_by(relative) {
            (self.aside)(path, SkipReason::HoldsSecrets(held.to_owned()));
            return false;
        }
        let is_left_out = is_hidden(entry) && !ruling.is_whitelist();
        if is_left_out && let Some(file) = placeholder_of(path) {
            (self.aside)(&file, SkipReason::InCloud);
        }
        !is_left_out
    }

    /// The rules of the folder that holds this.
    fn rules_beside(&self, path: &Path) -> Arc<IgnoreRules> {
        let known = self.known.read();
        let own = known.get(path.parent().unwrap_or(path));
        Arc::clone(own.unwrap_or(&self.none))
    }

    /// Reads the rules of a folder before anything in it is looked at.
    fn enter(&self, folder: &Path, above: &Arc<IgnoreRules>) -> Result<(), SkipReason> {
        let (rules, irregular) =
            IgnoreRules::read(above, folder, &self.budget).map_err(SkipReason::BadRules)?;
        for path in irregular {
            (self.aside)(&path, SkipReason::NotRegular);
        }
        if !Arc::ptr_eq(&rules, &self.none) {
            self.known.write().insert(folder.to_owned(), rules);
        }
        Ok(())
    }
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

// The ignore rules of folders.
//
// `.gitignore`, `.ignore` and `.git/info/exclude` are read here and not by the crate that goes
// through the folders: it waits for pipes, reads without a bound, and takes a file that it cannot
// read for one that hides nothing. A folder whose rules cannot be known is not looked into: they
// may hide anything. What is no file at all, a pipe or a folder of that name, holds no rules.

/// Largest ignore file. Git's own template for a language is below 10 kB.
const MAX_RULE_BYTES: u64 = 512 * 1024;
/// Most patterns in one ignore file: each takes some kilobytes in the matcher.
const MAX_RULE_PATTERNS: usize = 10_000;
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

/// How much may still be read.
#[derive(Debug, Default)]
pub(super) struct RuleBudget(AtomicU64);

impl IgnoreRules {
    /// Reads the rules of a folder within one whose rules are `above`, and which of its files of rules
    /// are no files; the error says why they cannot be known.
    pub fn read(
        above: &Arc<Self>,
        folder: &Path,
        budget: &RuleBudget,
    ) -> Result<(Arc<Self>, Vec<PathBuf>), String> {
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
                Ok(Some(text)) => {
                    *own = compile_rules(folder, &text).map_err(|why| refused(&why))?;
                }
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
        Ok((rules, irregular))
    }

    /// What they say of an entry of the folder; the nearest rule decides, of each kind of file.
    pub fn rule(&self, path: &Path, is_dir: bool) -> Match<()> {
        let of_kind = |kind: usize| {
            let rules = iter::successors(Some(self), |rules| rules.above.as_deref());
            let own = rules.filter_map(|rules| rules.own[kind].as_ref());
            own.map(|own| own.matched(path, is_dir).map(|_| ()))
                .find(|ruling| !ruling.is_none())
        };
        (0..self.own.len()).find_map(of_kind).unwrap_or(Match::None)
    }
}

/// `None` where there is no such file, or where the folder cannot be read.
fn read(path: &Path, budget: &RuleBudget) -> Result<Option<String>, Unreadable> {
    let bytes = match files::read_bounded(path, MAX_RULE_BYTES) {
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
fn compile_rules(folder: &Path, text: &str) -> Result<Option<Gitignore>, &'static str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let mut builder = GitignoreBuilder::new(folder);
    for (n, line) in lines.enumerate() {
        if n >= MAX_RULE_PATTERNS {
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

// Which files hold secrets by their names: `assets/secret-files.txt` says so.

const SECRET_FILES: &str = include_str!("../../../assets/secret-files.txt");

static SECRET_NAMES: LazyLock<Option<SecretNames>> =
    LazyLock::new(|| SecretNames::parse(SECRET_FILES).ok());

/// What a file at this path below a root holds by its name; `None` for one like any other.
pub(super) fn held_by(relative: &Path) -> Option<&'static str> {
    SECRET_NAMES.as_ref()?.held_by(relative)
}

struct SecretNames {
    globs: Globs,
    /// For each of them what such a file holds; `None` takes the name out again.
    holds: Vec<Option<&'static str>>,
}

impl SecretNames {
    fn parse(list: &'static str) -> Result<Self, BadGlob> {
        let lines = list.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let (mut patterns, mut holds) = (Vec::new(), Vec::new());
        for line in lines {
            let (pattern, held) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let taken_out = pattern.strip_prefix('!');
            patterns.push(taken_out.unwrap_or(pattern));
            holds.push(taken_out.is_none().then_some(held.trim()));
        }
        let globs = Globs::new(patterns)?;
        Ok(Self { globs, holds })
    }

    fn held_by(&self, relative: &Path) -> Option<&'static str> {
        *self.holds.get(self.globs.last_that_fits(relative)?)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_every_line_of_the_list_says_what_is_held() {
        let names = SecretNames::parse(SECRET_FILES).ok().unwrap();
        assert!(names.holds.len() > 80);
        assert!(names.holds.iter().flatten().all(|held| !held.is_empty()));
    }

    #[test]
    fn trust_what_holds_secrets_by_its_name_is_known() {
        for path in [
            ".env",
            ".env.local",
            "app/.env.production",
            ".envrc",
            "secret.env",
            "prod.env",
            "docker.env.local",
            "server.pem",
            "tls/SERVER.KEY",
            "id_rsa",
            "id_ed25519",
            "backup/id_rsa.bak",
            "id_ecdsa_work",
            "deploy_ed25519",
            "work.id_rsa",
            "a.kdbx",
            "a.p12",
            "a.pfx",
            "a.jks",
            "release.keystore",
            ".netrc",
            "_netrc",
            ".npmrc",
            ".pypirc",
            ".htpasswd",
            "credentials",
            ".aws/credentials",
            "credentials.json",
            "secrets.yaml",
            "k8s/secrets.json",
            "secrets.txt",
            "putty.ppk",
            "my-private.asc",
            "secret-key.gpg",
            "private_key.asc",
            ".git-credentials",
            "kubeconfig",
            "prod.kubeconfig",
            ".kube/config",
            "terraform.tfstate",
            "terraform.tfstate.backup",
            "prod.tfvars",
            "passwords.txt",
            "client_secret_12.apps.json",
            "my-service-account.json",
            ".docker/config.json",
            "ssh_host_rsa_key",
            "wallet.dat",
            "etc/shadow",
            "secring.gpg",
        ] {
            assert!(held_by(Path::new(path)).is_some(), "{path}");
        }
    }

    #[test]
    fn trust_a_note_about_secrets_is_a_note() {
        for path in [
            "secrets-management.md",
            "id_card.md",
            "secrets.md",
            "secrets.rs",
            "secret.md",
            "id_rsa.md",
            "id_rsa-rotation.md",
            "id_rsa.pub",
            "id_ed25519.pub",
            "keys.md",
            "keynote.txt",
            "monkey.txt",
            "environment.md",
            "dotenv.md",
            "env.md",
            ".env.example",
            "docker.env.example",
            "credentials.md",
            "credentials-policy.docx",
            "password.md",
            "passwords.html",
            "password.py",
            "pem-files.md",
            "guide.asc",
            "release.asc",
            "report.pdf",
            "kubeconfig.md",
            "terraform.md",
            "main.tf",
            "shadow.md",
            "id.md",
            "identity.md",
            "id_token.md",
            "private.md",
            "netrc.md",
            "npmrc.md",
            "wallet.md",
            "config.json",
            "settings.xml",
            "accounts.csv",
            "service-account.md",
            "rsa.md",
        ] {
            assert_eq!(held_by(Path::new(path)), None, "{path}");
        }
    }
}
