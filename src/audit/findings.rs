use std::fmt;
use std::path::PathBuf;

/// The result of verifying a log's chain of hashes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogVerification {
    /// Lines of all parts.
    pub lines: u64,
    /// Number of files.
    pub parts: usize,
    /// Lines before the chain begins, as older versions wrote them.
    pub unchained: u64,
    /// Lines that are no event: cut short by a crash, too long to be read, or from before the chain.
    pub unreadable: u64,
    /// Lines that are too long to be read, among those.
    pub too_long: u64,
    /// Whether the file that notes the last line is there.
    pub has_head: bool,
    /// The hash of the last line: who keeps it elsewhere can compare it.
    pub last: Option<String>,
    /// The first place where the log is not as it was written.
    pub broken: Option<Break>,
    /// Where lines may have been removed unseen.
    pub unwitnessed: Option<UnwitnessedEnd>,
}

impl LogVerification {
    /// The first line that refers to the one before it, counted over all parts from 1; `None`
    /// where there is none.
    pub fn chained_from(&self) -> Option<u64> {
        (self.unchained < self.lines).then_some(self.unchained + 1)
    }

    /// What is wrong with the log, in one line; `None` where nothing is.
    pub fn fault(&self) -> Option<String> {
        let broken = self
            .broken
            .as_ref()
            .map(|broken| format!("the audit log is not as it was written: {broken}"));
        let unwitnessed = self.unwitnessed.as_ref();
        let unwitnessed =
            unwitnessed.map(|place| format!("the audit log may not be whole: {place}"));
        match (broken, unwitnessed) {
            (Some(broken), Some(unwitnessed)) => Some(format!("{broken}; and {unwitnessed}")),
            (broken, unwitnessed) => broken.or(unwitnessed),
        }
    }
}

/// Where the log is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// The file.
    pub part: PathBuf,
    /// The line in it, from 1; where lines are gone, the one in whose place they were.
    pub line: u64,
    /// What happened to it.
    pub how: How,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It is the last, and says something else than what was noted of it.
    Changed,
    /// It is gone from the end, or several are.
    Removed,
    /// It refers to no line, as none does that is written here.
    NotOurs,
    /// It refers to another line than the one before it.
    DoesNotFollow,
}

/// Where the file that notes the end of the log, its head, was missing: lines that were removed from
/// the end then are missed by nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnwitnessedEnd {
    /// It is missing now.
    End {
        /// The file.
        head: PathBuf,
    },
    /// It was when a line was written.
    Line {
        /// The file of the line.
        part: PathBuf,
        /// The line in it, from 1.
        line: u64,
    },
}

impl fmt::Display for UnwitnessedEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End { head } => write!(
                f,
                "{}, which notes its end, is missing or cannot be read, so that lines removed from \
                 the end would not be seen; put it back beside the log",
                head.display()
            ),
            Self::Line { part, line } => write!(
                f,
                "{}: when line {line} was written, the file that notes the end (.head) was missing, \
                 so that lines may have been removed before it",
                part.display()
            ),
        }
    }
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (part, line) = (self.part.display(), self.line);
        match self.how {
            How::Changed => write!(f, "{part}: line {line} was changed"),
            How::Removed => write!(f, "{part}: line {line} was removed"),
            How::NotOurs => write!(
                f,
                "{part}: line {line} was added, or changed into what is not written here"
            ),
            How::DoesNotFollow => write!(
                f,
                "{part}: line {line} does not follow from the one before it: one of the two was \
                 changed or added, or what stood between them was removed"
            ),
        }
    }
}
