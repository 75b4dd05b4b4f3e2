//! The compound files that Office 97 to 2003 wrote: a small file system in one file.
//!
//! The library refuses chains of sectors that run in a circle. What is read of a part is never more
//! than the file has, whatever size the part claims.

use std::io::{Cursor, Read};

use crate::kb::extract::SkipReason;

/// A compound file in memory.
pub(in crate::kb::extract) struct Compound<'a> {
    file: cfb::CompoundFile<Cursor<&'a [u8]>>,
    size: usize,
}

impl<'a> Compound<'a> {
    /// Reads the tables of the file.
    pub fn of(bytes: &'a [u8]) -> Result<Self, SkipReason> {
        Ok(Self {
            file: cfb::CompoundFile::open(Cursor::new(bytes))
                .map_err(|_| damaged("the table of its parts is broken"))?,
            size: bytes.len(),
        })
    }

    /// Whether there is a part of that name outside of any folder.
    pub fn has(&self, name: &str) -> bool {
        self.file.is_stream(name)
    }

    /// The bytes of such a part; `None` when there is none.
    pub fn part(&mut self, name: &str) -> Result<Option<Vec<u8>>, SkipReason> {
        if !self.has(name) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let part = self.file.open_stream(name);
        part.and_then(|part| part.take(self.size as u64).read_to_end(&mut bytes))
            .map_err(|_| damaged("it ends before its parts do"))?;
        Ok(Some(bytes))
    }
}

fn damaged(what: &str) -> SkipReason {
    SkipReason::Damaged(what.to_owned())
}
