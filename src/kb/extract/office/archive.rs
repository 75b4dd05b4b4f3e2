//! Zip archives that do not believe themselves.
//!
//! A few kilobytes can claim to be, and unpack to, any number of gigabytes. What an archive says
//! about itself is not asked: bytes are counted as they come out, over all entries together.
//! Entries are only ever read into memory by a name that we choose, so what the names say
//! (`../../etc/passwd`) does not matter.

use std::io::{Cursor, Read};

use zip::result::ZipError;
use zip::{ZipArchive, ZipWriter};

use crate::kb::extract::SkipReason;
use crate::kb::extract::text::decode;

/// Most bytes of all entries together, unpacked.
const MAX_UNPACKED: u64 = 200 * MEGABYTE;
/// Most bytes of one entry, unpacked.
const MAX_ENTRY: u64 = 64 * MEGABYTE;
const MAX_ENTRIES: usize = 20_000;
/// XML packs to a fiftieth, hardly ever to less than a three-hundredth.
const MAX_RATIO: u64 = 300;
/// What is small is not worth a suspicion.
const UNSUSPICIOUS: u64 = 16 * MEGABYTE;
const MEGABYTE: u64 = 1024 * 1024;

/// An archive and how much may still come out of it.
pub(crate) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    left: u64,
}

impl<'a> Archive<'a> {
    /// Reads the table of contents.
    pub fn open(bytes: &'a [u8]) -> Result<Self, SkipReason> {
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(reason)?;
        if zip.len() > MAX_ENTRIES {
            return Err(SkipReason::UnpacksTooMuch(format!("{} entries", zip.len())));
        }
        Ok(Self {
            zip,
            left: MAX_UNPACKED,
        })
    }

    /// Whether there is an entry of that name.
    pub fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(name).is_some()
    }

    /// Whether there is an entry of that name, in whatever case and with whatever slashes.
    pub fn has_like(&self, name: &str) -> bool {
        let is_it = |entry: &str| entry.replace('\\', "/").eq_ignore_ascii_case(name);
        let mut names = self.zip.file_names().filter_map(Result::ok);
        names.any(|entry| is_it(&entry))
    }

    /// The same archive, in which the part of that name and its relations have another.
    pub fn with_main_part(&mut self, from: &str, to: &str) -> Result<Vec<u8>, SkipReason> {
        let relations = |part: &str| {
            let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
            format!("{folder}/_rels/{file}.rels")
        };
        let mut renamed = ZipWriter::new(Cursor::new(Vec::new()));
        for at in 0..self.zip.len() {
            let entry = self.zip.by_index_raw(at).map_err(reason)?;
            let name = entry.name().map_err(reason)?.into_owned();
            let new = match name.as_str() {
                part if part == from => to.to_owned(),
                part if part == relations(from) => relations(to),
                _ => name,
            };
            renamed.raw_copy_file_rename(entry, new).map_err(reason)?;
        }
        Ok(renamed.finish().map_err(reason)?.into_inner())
    }

    /// An entry's bytes; `None` when there is none of that name.
    pub fn bytes(&mut self, name: &str) -> Result<Option<Vec<u8>>, SkipReason> {
        match self.zip.index_for_name(name) {
            Some(at) => {
                let mut bytes = Vec::new();
                self.unpack(at, |piece| bytes.extend_from_slice(piece))?;
                Ok(Some(bytes))
            }
            None => Ok(None),
        }
    }

    /// Reads an entry's text.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, SkipReason> {
        let Some(bytes) = self.bytes(name)? else {
            return Ok(None);
        };
        let text = decode::decode(bytes);
        text.map(Some)
            .map_err(|_| SkipReason::Damaged(format!("{name} in it is not text")))
    }

    /// [`Archive::text`] of an entry that the format cannot do without.
    pub fn required(&mut self, name: &str) -> Result<String, SkipReason> {
        self.text(name)?
            .ok_or_else(|| SkipReason::Damaged(format!("{name} is missing in it")))
    }

    fn unpack(&mut self, at: usize, mut take: impl FnMut(&[u8])) -> Result<(), SkipReason> {
        let mut entry = self.zip.by_index(at).map_err(reason)?;
        let packed = entry.compressed_size().max(1);
        let mut buffer = vec![0; 64 * 1024];
        let mut unpacked = 0_u64;
        loop {
            let read = entry.read(&mut buffer).map_err(|error| {
                SkipReason::Damaged(format!("an entry cannot be unpacked ({error})"))
            })?;
            if read == 0 {
                return Ok(());
            }
            unpacked += read as u64;
            self.left = self.left.saturating_sub(read as u64);
            let suspicious = unpacked > UNSUSPICIOUS && unpacked / packed > MAX_RATIO;
            if self.left == 0 || unpacked > MAX_ENTRY || suspicious {
                return Err(SkipReason::UnpacksTooMuch(format!(
                    "the limit is {} MB",
                    MAX_UNPACKED / MEGABYTE
                )));
            }
            take(&buffer[..read]);
        }
    }
}

fn reason(error: ZipError) -> SkipReason {
    match error {
        ZipError::Io(error) => SkipReason::Damaged(error.to_string()),
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword => {
            SkipReason::Encrypted
        }
        ZipError::InvalidArchive(_) => {
            SkipReason::Damaged("it is cut off: the archive it is made of has no end".to_owned())
        }
        other => SkipReason::Damaged(other.to_string()),
    }
}
