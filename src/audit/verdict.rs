//! What happened where a line does not go on from the one before it.
//!
//! One link that does not fit has several explanations. The lines around it, the count that was
//! noted and the places that the hashes have elsewhere in the log tell which of them is true; for
//! that the log is read once more.

use std::path::PathBuf;

use blake3::Hash;

use crate::files::open_unlinked;

use super::chain::Head;
use super::findings::How;
use super::lines::Lines;
use super::link::{ChainLink, EarlierLines, LineKind};

/// A part, and a line in it from 1.
type FilePosition = (usize, u64);

/// A line that does not go on from the one before it, and what is known around it.
pub(super) struct Doubt<'a> {
    pub(super) paths: &'a [PathBuf],
    pub(super) head: Option<&'a Head>,
    /// Where the line stands that the head notes, if that is before this one.
    pub(super) noted_at: Option<FilePosition>,
    /// The last line before it that fits.
    pub(super) last: Option<&'a ChainLink>,
    /// What the first line of all refers to.
    pub(super) beginning: Hash,
    /// What it should refer to.
    pub(super) expected: Hash,
    pub(super) link: &'a ChainLink,
    /// The line behind it.
    pub(super) next: Option<&'a ChainLink>,
}

/// What the rest of the log says of a line.
#[derive(Default)]
struct Elsewhere {
    /// The earlier line that says the same.
    copied_from: Option<FilePosition>,
    /// The line that was read last before it is the one that it refers to.
    is_behind_referred: bool,
    /// The line behind the earlier one that it refers to.
    forked_at: Option<FilePosition>,
    /// The later line that goes on where this one should.
    passed_over_by: Option<FilePosition>,
    /// The later line that goes on there and is the one that this one refers to.
    moved_to: Option<FilePosition>,
    /// The later line that says the same.
    repeated_at: Option<FilePosition>,
    /// An earlier line of its part tells that the head was made anew.
    is_noted_before: bool,
    /// How many lines its part had, and which was the last, when that was noted.
    noted: Option<(u64, Hash)>,
    /// Where that last one stands now.
    noted_now: Option<u64>,
}

impl Doubt<'_> {
    /// Whether a crash left it so, and the line behind it was written in that knowledge.
    pub(super) fn was_cut_short(&self) -> bool {
        match self.next {
            Some(next) => self.link.kind == LineKind::Torn && next.prev == Some(self.link.hash),
            None => self.link.was_cut_short(),
        }
    }

    /// The first line that is not as it was written, and what happened to it.
    pub(super) fn verdict(&self) -> (FilePosition, How) {
        let here = self.link.place();
        let elsewhere = self.elsewhere();
        // Where what it refers to was moved behind it, it stands rightly, unless it comes again.
        let is_misplaced = elsewhere.moved_to.and(elsewhere.repeated_at).is_some();
        let is_passed_over = elsewhere.passed_over_by.is_some();
        if is_misplaced || is_passed_over || elsewhere.copied_from.is_some() {
            return (here, How::Added);
        }
        if let Some(forked) = elsewhere.forked_at {
            // What was noted was not put in between.
            let is_noted = self.noted_at.is_some_and(|noted| noted >= forked);
            return (if is_noted { here } else { forked }, How::Added);
        }
        if let Some(changed) = self.last_noted_is_gone(&elsewhere) {
            return changed;
        }
        if self.noted_at.is_some() && self.noted_at == self.last.map(ChainLink::place) {
            return (here, self.behind_what_was_noted());
        }
        let refers_to = self.next.and_then(|next| next.prev);
        if refers_to.is_some_and(|prev| prev != self.link.hash) {
            return (here, How::Changed);
        }
        if self.link.prev.is_none() {
            return (here, self.without_link(&elsewhere));
        }
        self.before_a_whole_line(&elsewhere)
    }

    /// The line that was noted as the last of this part is not there.
    fn last_noted_is_gone(&self, elsewhere: &Elsewhere) -> Option<(FilePosition, How)> {
        let (lines, _) = elsewhere.noted.filter(|(lines, _)| *lines > 0)?;
        if elsewhere.noted_now.is_some() {
            return None;
        }
        let here = self.link.place();
        if self.link.number > lines {
            return Some(((here.0, lines), How::Changed));
        }
        if self.link.noted == Some(EarlierLines::Lines(lines)) {
            return Some((here, How::Removed));
        }
        (self.link.number == lines && self.next.is_none()).then_some((here, How::Changed))
    }

    /// All that was noted is whole, and this line came later.
    fn behind_what_was_noted(&self) -> How {
        let goes_on = |last: &ChainLink| last.run == self.link.run && last.seq < self.link.seq;
        if self.link.prev.is_some() && self.last.is_some_and(goes_on) {
            How::Removed
        } else {
            How::Added
        }
    }

    /// This line refers to none, and no other refers past it.
    fn without_link(&self, elsewhere: &Elsewhere) -> How {
        let is_known_behind = self
            .next
            .is_some_and(|next| next.prev == Some(self.link.hash));
        let is_one_too_many = match (elsewhere.noted, elsewhere.noted_now) {
            (Some((lines, _)), Some(now)) => now > lines || now < self.link.number,
            (Some((lines, _)), None) => self.link.number > lines,
            (None, _) => true,
        };
        if is_known_behind || is_one_too_many {
            How::Added
        } else {
            How::Changed
        }
    }

    /// This line is whole: what it refers to is not what stands before it.
    fn before_a_whole_line(&self, elsewhere: &Elsewhere) -> (FilePosition, How) {
        let here = self.link.place();
        let Some(last) = self.last else {
            return (here, How::Removed);
        };
        let is_next = last.run == self.link.run && last.seq.checked_add(1) == Some(self.link.seq);
        let is_short = match (elsewhere.noted, elsewhere.noted_now) {
            (Some((lines, _)), Some(now)) if now >= self.link.number => Some(now < lines),
            _ => None,
        };
        match is_short {
            Some(true) => (here, How::Removed),
            Some(false) => (last.place(), How::Changed),
            // A run that was closed later goes on where its lines end, also where some are missing.
            None if is_next && !self.is_recounted() => (last.place(), How::Changed),
            None => (last.place(), How::ChangedOrRemoved),
        }
    }

    fn is_recounted(&self) -> bool {
        self.head.is_some_and(|head| head.is_recounted)
    }

    fn elsewhere(&self) -> Elsewhere {
        let mut found = Elsewhere {
            is_behind_referred: self.link.prev == Some(self.beginning),
            ..Elsewhere::default()
        };
        let here = self.link.place();
        self.for_each_link(|link| {
            if link.place() < here {
                self.look_before(link, &mut found);
            } else {
                self.look_behind(link, &mut found);
            }
        });
        let is_noted_before = found.is_noted_before;
        found.noted = found.noted.or_else(|| self.noted_in_head(is_noted_before));
        if let Some((_, last)) = found.noted {
            self.for_each_link(|link| {
                if link.part == here.0 && link.hash == last {
                    found.noted_now.get_or_insert(link.number);
                }
            });
        }
        found
    }

    fn look_before(&self, link: &ChainLink, found: &mut Elsewhere) {
        if link.hash == self.link.hash {
            found.copied_from.get_or_insert(link.place());
        }
        if found.is_behind_referred {
            found.forked_at.get_or_insert(link.place());
        }
        found.is_behind_referred = self.link.prev == Some(link.hash);
        found.is_noted_before |= link.part == self.link.part && link.noted.is_some();
    }

    /// Looks for the place of a line in the log, from the line itself on.
    fn look_behind(&self, link: &ChainLink, found: &mut Elsewhere) {
        let place = link.place();
        let is_itself = place == self.link.place();
        if !is_itself && link.prev == Some(self.expected) {
            let is_referred = self.link.prev == Some(link.hash);
            let seen = if is_referred {
                &mut found.moved_to
            } else {
                &mut found.passed_over_by
            };
            seen.get_or_insert(place);
        }
        if !is_itself && link.hash == self.link.hash {
            found.repeated_at.get_or_insert(place);
        }
        // A line that says how many there were is nearer than the head, which was made later.
        if let (Some(EarlierLines::Lines(lines)), Some(last)) = (link.noted, link.prev)
            && link.part == self.link.part
        {
            found.noted.get_or_insert((lines, last));
        }
    }

    /// The lines of the part and the last of them, as the head notes them. A head that was made
    /// anew knows of what happened since: behind the line that tells of it.
    fn noted_in_head(&self, is_noted_before: bool) -> Option<(u64, Hash)> {
        let head = self.head?;
        let name = self.paths.get(self.link.part)?.file_name()?;
        if let Some(part) = head.parts.iter().find(|part| name == part.name.as_str()) {
            return Some((part.lines, part.last));
        }
        let is_log = self.link.part + 1 == self.paths.len();
        let is_counted = !head.is_recounted || is_noted_before;
        (is_log && is_counted).then_some((head.lines, head.last))
    }

    /// Reads the log again, as far as it can be read.
    fn for_each_link(&self, mut each: impl FnMut(&ChainLink)) {
        for (part, path) in self.paths.iter().enumerate() {
            let Ok(file) = open_unlinked(path) else {
                continue;
            };
            let mut lines = Lines::with_hashes(file);
            let mut number = 0;
            while let Ok(Some(line)) = lines.next_line() {
                number += 1;
                if let Some(link) = ChainLink::new(part, number, &line) {
                    each(&link);
                }
            }
        }
    }
}
