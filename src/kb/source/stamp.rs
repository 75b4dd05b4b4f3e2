//! What a file looks like from outside.

use std::fs::Metadata;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// What a file looks like from outside: when all of it is as before, so is the text, unless the
/// file was changed within a tick of its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// When its text was written, in nanoseconds since 1970.
    pub modified: u64,
    /// When anything about it was changed, which no program can set; 0 where there is no such thing.
    pub changed: u64,
    /// Which file it is; 0 where there is no such thing.
    pub inode: u64,
}

impl Stamp {
    /// Clocks of file systems tick as slowly as this.
    const TICK: Duration = Duration::from_secs(2);

    /// Reads the stamp from a file's metadata.
    pub fn from_metadata(meta: &Metadata) -> Self {
        let modified = meta.modified().ok();
        let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let stamp = Self {
            size: meta.len(),
            modified: since.map_or(0, |since| since.as_nanos() as u64),
            ..Self::default()
        };
        #[cfg(unix)]
        let stamp = {
            use std::os::unix::fs::MetadataExt;
            Self {
                changed: nanoseconds(meta.ctime(), meta.ctime_nsec()),
                inode: meta.ino(),
                ..stamp
            }
        };
        stamp
    }

    /// Whether a change from now on is sure to give another stamp.
    pub fn mtime_is_reliable(&self) -> bool {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        let last = u128::from(self.modified.max(self.changed));
        last + Self::TICK.as_nanos() < now
    }
}

/// Since 1970, as far as such a number can say.
#[cfg(unix)]
fn nanoseconds(seconds: i64, more: i64) -> u64 {
    let all = seconds.saturating_mul(1_000_000_000).saturating_add(more);
    all.max(0) as u64
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn trust_a_file_of_any_time_has_a_stamp() {
        assert_eq!(nanoseconds(2, 5), 2_000_000_005);
        assert_eq!(nanoseconds(i64::MAX, 999_999_999), i64::MAX as u64);
        assert_eq!(nanoseconds(i64::MIN, 0), 0);
    }
}
