//! Which entries below a root belong to the base: decided here for all who go through its folders.
//!
//! What the ignore rules leave out and what is hidden is left out without a word, as everywhere.
//! What holds secrets by its name is left out and said. What the user names to be included is
//! read although it is hidden or holds secrets by its name. A file that the user names itself is read
//! in any case; a folder that would be left out and leads to it is gone through, and nothing else of
//! it is looked at.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use ignore::{DirEntry, WalkBuilder};

use super::rules::{Budget, IgnoreRules, Read, Ruling};
use super::secret;
use crate::kb::extract::SkipReason;
use crate::kb::source::cloud::placeholder_of;
use crate::kb::source::included::Included;
use crate::kb::source::roots::below;

/// Goes through a root: comes by what belongs to the base. `is_on_the_way` is asked first and
/// costs little; `aside` gets what is left out and why. An error is why nothing of the root is
/// looked at.
pub(crate) fn builder(
    root: &Path,
    included: &Included,
    is_on_the_way: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
    aside: impl Fn(&Path, SkipReason) + Send + Sync + 'static,
) -> Result<WalkBuilder, SkipReason> {
    let belonging = Belonging::read(root, included, &aside)?;
    let mut builder = WalkBuilder::new(root);
    builder.standard_filters(false).follow_links(false);
    builder.filter_entry(move |entry| {
        is_on_the_way(entry)
            && match belonging.judge(entry, &aside) {
                Placement::In => true,
                Placement::Out => false,
                Placement::LeftOut(reason) => {
                    aside(entry.path(), reason);
                    false
                }
                Placement::InCloud(file) => {
                    aside(&file, SkipReason::InCloud);
                    false
                }
            }
    });
    Ok(builder)
}

enum Placement {
    In,
    Out,
    LeftOut(SkipReason),
    /// A placeholder of this file.
    InCloud(PathBuf),
}

/// What one way through a root knows.
struct Belonging {
    root: PathBuf,
    included: Included,
    budget: Budget,
    none: Arc<IgnoreRules>,
    /// The rules that hold in the folders that were come by; those without any are not kept.
    known: RwLock<HashMap<PathBuf, Arc<IgnoreRules>>>,
    /// Folders that are only gone through, on the way to a file that was named.
    passages: RwLock<HashSet<PathBuf>>,
}

impl Belonging {
    fn read(
        root: &Path,
        included: &Included,
        aside: &impl Fn(&Path, SkipReason),
    ) -> Result<Self, SkipReason> {
        let belonging = Self {
            root: root.to_owned(),
            included: included.clone(),
            budget: Budget::default(),
            none: Arc::default(),
            known: RwLock::default(),
            passages: RwLock::default(),
        };
        belonging.enter(root, &belonging.none, aside)?;
        Ok(belonging)
    }

    fn judge(&self, entry: &DirEntry, aside: &impl Fn(&Path, SkipReason)) -> Placement {
        let path = entry.path();
        if !super::is_dir(entry) {
            return if self.included.names(path) {
                Placement::In
            } else if self.lies_in_passage(path) {
                Placement::Out
            } else {
                self.judge_file(entry)
            };
        }
        let verdict = if self.lies_in_passage(path) {
            Placement::Out
        } else {
            self.judge_folder(entry, aside)
        };
        if !matches!(verdict, Placement::In) && self.included.leads_to_named(path) {
            if let Placement::LeftOut(reason) = verdict {
                aside(path, reason);
            }
            let mut passages = self
                .passages
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            passages.insert(path.to_owned());
            return Placement::In;
        }
        verdict
    }

    fn judge_folder(&self, entry: &DirEntry, aside: &impl Fn(&Path, SkipReason)) -> Placement {
        let path = entry.path();
        let rules = self.rules_beside(path);
        let ruling = rules.rule(path, true);
        if ruling == Ruling::Ignored || is_hidden(entry) && ruling != Ruling::Kept {
            return Placement::Out;
        }
        match self.enter(path, &rules, aside) {
            Ok(()) => Placement::In,
            Err(reason) => Placement::LeftOut(reason),
        }
    }

    fn judge_file(&self, entry: &DirEntry) -> Placement {
        let path = entry.path();
        let rules = self.rules_beside(path);
        let ruling = rules.rule(path, false);
        if ruling == Ruling::Ignored {
            return Placement::Out;
        }
        let relative = below(&self.root, path).unwrap_or(path);
        if self.included.fits(relative) {
            return Placement::In;
        }
        if let Some(held) = secret::held_by(relative) {
            return Placement::LeftOut(SkipReason::HoldsSecrets(held.to_owned()));
        }
        if is_hidden(entry) && ruling != Ruling::Kept {
            return placeholder_of(path).map_or(Placement::Out, Placement::InCloud);
        }
        Placement::In
    }

    /// Few walks have passages: without any, the folder is not looked for.
    fn lies_in_passage(&self, path: &Path) -> bool {
        let passages = self.passages.read().unwrap_or_else(PoisonError::into_inner);
        !passages.is_empty()
            && path
                .parent()
                .is_some_and(|folder| passages.contains(folder))
    }

    /// The rules of the folder that holds this; not looked for where no folder has any.
    fn rules_beside(&self, path: &Path) -> Arc<IgnoreRules> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let own = (!known.is_empty())
            .then(|| known.get(path.parent().unwrap_or(path)))
            .flatten();
        Arc::clone(own.unwrap_or(&self.none))
    }

    /// Reads the rules of a folder before anything in it is looked at.
    fn enter(
        &self,
        folder: &Path,
        above: &Arc<IgnoreRules>,
        aside: &impl Fn(&Path, SkipReason),
    ) -> Result<(), SkipReason> {
        let Read { rules, irregular } =
            IgnoreRules::read(above, folder, &self.budget).map_err(SkipReason::BadRules)?;
        for path in irregular {
            aside(&path, SkipReason::NotRegular);
        }
        if !Arc::ptr_eq(&rules, &self.none) {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.insert(folder.to_owned(), rules);
        }
        Ok(())
    }
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}
