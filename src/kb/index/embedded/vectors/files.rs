//! The pair of files behind the vectors.
//!
//! `vectors-MODEL-NUMBER.rows` and `.keys`. The keys come into their place last, when a pair is
//! made and when it grows, so that rows without keys are the only thing a kill can leave behind;
//! the next write goes over them. A process that has a model's files open holds that model's right with
//! others, so that those of a model that is no longer used can be told.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files::{Unreadable, is_unfinished, open_to_write, open_unlinked, write_atomic_by};
use crate::kb::error::KbError;
use crate::kb::index::embedded::documents::JournalMark;
use crate::kb::index::embedded::lock::{
    LockGuard, Right, is_model_key, model_key, share, try_lock,
};
use crate::kb::index::port::{ChunkKey, Result};

const MAGIC: &[u8; 8] = b"KBVEC002";
/// Magic, the number of dimensions, and nothing up to where rows begin at a cache line.
const HEADER: usize = 64;
/// A key and a scale.
const RECORD: usize = ChunkKey::BYTES + size_of::<f32>();
const PREFIX: &str = "vectors-";

/// A pair of files.
#[derive(Debug, Clone)]
pub(crate) struct VectorFiles {
    home: PathBuf,
    pub model: String,
    /// The number in the names of the pair; 0 while there is none.
    pub number: u64,
    /// `None` where the system gives no such rights: then nothing keeps them but being used last.
    _used: Option<Arc<LockGuard>>,
}

/// The contents of a keys file, with the rows file that belongs to it.
pub(crate) struct KeysRead {
    pub dims: usize,
    /// The first of these keys is at this row.
    pub from: usize,
    pub keys: Vec<(ChunkKey, f32)>,
    /// Whether every key has its row.
    pub whole: bool,
    /// The rows that belong to them.
    pub rows: File,
}

impl VectorFiles {
    /// The files of that model.
    pub fn new(home: &Path, model_id: &str) -> Self {
        let files = Self::unused(home, model_id);
        let used = share(home, Right::Model(&files.model)).inspect_err(|error| {
            tracing::debug!(%error, "could not mark these vectors as in use");
        });
        Self {
            _used: used.ok().map(Arc::new),
            ..files
        }
    }

    fn unused(home: &Path, model_id: &str) -> Self {
        Self {
            home: home.to_owned(),
            model: model_key(model_id),
            number: 0,
            _used: None,
        }
    }

    /// Writes rows at a number and then their keys, which makes them count. Only under the lock.
    pub fn append(
        &self,
        at: usize,
        dims: usize,
        rows: &[u8],
        keys: &[(ChunkKey, f32)],
    ) -> Result<()> {
        let records: Vec<u8> = keys
            .iter()
            .flat_map(|(key, scale)| encode(key, *scale))
            .collect();
        self.write_at("rows", HEADER + at * dims, rows, true)?;
        self.write_at("keys", HEADER + at * RECORD, &records, false)
    }

    /// Moves on to the latest pair; says whether that is another one.
    pub fn find_latest(&mut self) -> Result<bool> {
        let entries = fs::read_dir(&self.home).map_err(KbError::io(&self.home))?;
        let latest = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name();
                let (model, number) = parse_file_name(name.to_str()?)?;
                let is_keys = Path::new(&name).extension()? == "keys";
                let is_it = model == self.model && is_keys;
                is_it.then_some(number)
            })
            .max()
            .unwrap_or(0);
        Ok(std::mem::replace(&mut self.number, latest) != latest)
    }

    /// The keys from row `known` on, or all where the file does not go on from there. `None`
    /// where there is no pair, or one that is not ours.
    pub fn read(&self, known: usize, dims: usize) -> Result<Option<KeysRead>> {
        if self.number == 0 {
            return Ok(None);
        }
        let (keys_path, rows_path) = (self.path("keys"), self.path("rows"));
        let opened = |path: &Path| match open_unlinked(path) {
            Err(Unreadable::NotRegular) => Ok(None),
            opened => opened.map(Some).map_err(|e| KbError::io(path)(e.into())),
        };
        let (Some(mut file), Some(rows)) = (opened(&keys_path)?, opened(&rows_path)?) else {
            return Ok(None);
        };
        // The keys are counted before the rows, which are written before the keys.
        let named = body_len(&file, RECORD).map_err(KbError::io(&keys_path))?;
        let read = move || -> std::io::Result<Option<KeysRead>> {
            let mut header = [0; HEADER];
            file.read_exact(&mut header)?;
            let stored = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
            let stored = stored as usize;
            if header[..8] != MAGIC[..] || stored == 0 {
                return Ok(None);
            }
            let count = named.min(body_len(&rows, stored)?);
            let from = if dims == stored && known <= count {
                known
            } else {
                0
            };
            file.seek(SeekFrom::Start((HEADER + from * RECORD) as u64))?;
            let mut bytes = Vec::with_capacity((count - from) * RECORD);
            file.take(((count - from) * RECORD) as u64)
                .read_to_end(&mut bytes)?;
            Ok(Some(KeysRead {
                dims: stored,
                from,
                keys: bytes.chunks_exact(RECORD).map(decode).collect(),
                whole: named == count,
                rows,
            }))
        };
        match read() {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            result => result.map_err(KbError::io(&keys_path)),
        }
    }

    /// Reads some rows.
    pub fn rows(&self, mut file: &File, which: Range<usize>, dims: usize) -> Result<Vec<u8>> {
        let len = which.len() * dims;
        let mut read = || -> std::io::Result<Vec<u8>> {
            file.seek(SeekFrom::Start((HEADER + which.start * dims) as u64))?;
            // What a file says of itself asks for no more memory than it fills.
            let mut bytes = Vec::with_capacity(len.min(file.metadata()?.len() as usize));
            file.take(len as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let path = self.path("rows");
        match read() {
            Ok(bytes) if bytes.len() == len => Ok(bytes),
            Ok(_) => Err(KbError::Damaged(format!("{} is cut off", path.display()))),
            Err(error) => Err(KbError::io(&path)(error)),
        }
    }

    /// What is wrong with this model's latest pair, by the sizes of its files; makes and mends nothing.
    pub fn damage(home: &Path, model_id: &str) -> Option<String> {
        let mut files = Self::unused(home, model_id);
        let read = files.find_latest().and_then(|_| files.read(0, 0));
        let said = |path: &Path, how: &str| Some(format!("{} {how}", path.display()));
        let (keys, rows) = (files.path("keys"), files.path("rows"));
        match read {
            Ok(None) if files.number == 0 => None,
            Ok(Some(read)) if read.whole => None,
            Ok(Some(_)) => said(&rows, "is cut off"),
            Ok(None) => said(&keys, "is broken"),
            Err(KbError::Io { path, source }) if source.kind() == ErrorKind::NotFound => {
                said(&path, "is missing")
            }
            Err(error) => Some(error.to_string()),
        }
    }

    /// Writes a new pair and returns it; the old one stays until [`VectorFiles::remove_older`].
    pub fn write_anew(&self, dims: usize, kept: &[(ChunkKey, f32, &[u8])]) -> Result<Self> {
        let next = Self {
            number: JournalMark::next_generation(self.number),
            ..self.clone()
        };
        next.write_file("rows", dims, |file| {
            kept.iter().try_for_each(|(_, _, row)| file.write_all(row))
        })?;
        next.write_file("keys", dims, |file| {
            kept.iter()
                .try_for_each(|(key, scale, _)| file.write_all(&encode(key, *scale)))
        })?;
        Ok(next)
    }

    /// Removes this model's other files. What cannot be removed now is removed next time.
    pub fn remove_older(&self) {
        let is_older = |name: &str| {
            let parsed = parse_file_name(name);
            parsed.is_some_and(|(model, number)| model == self.model && number != self.number)
        };
        // What a kill has left of a pair in the making goes too.
        self.remove(|name| is_older(name) || is_unfinished(name));
    }

    /// Removes the files of all other models, but not of those that are in use.
    pub fn remove_other_models(&self) {
        let entries = fs::read_dir(&self.home).into_iter().flatten().flatten();
        let others: BTreeSet<String> = entries
            .filter_map(|entry| Some(parse_file_name(entry.file_name().to_str()?)?.0.to_owned()))
            .filter(|model| *model != self.model)
            .collect();
        for other in others {
            if let Ok(Some(_alone)) = try_lock(&self.home, Right::Model(&other)) {
                self.remove(|name| parse_file_name(name).is_some_and(|(model, _)| model == other));
            }
        }
    }

    fn remove(&self, is_old: impl Fn(&str) -> bool) {
        for entry in fs::read_dir(&self.home).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(&is_old) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn path(&self, extension: &str) -> PathBuf {
        let (model, number) = (&self.model, self.number);
        self.home
            .join(format!("{PREFIX}{model}-{number}.{extension}"))
    }

    fn write_at(&self, extension: &str, at: usize, bytes: &[u8], sync: bool) -> Result<()> {
        let path = self.path(extension);
        let write = || -> std::io::Result<()> {
            let mut file = open_to_write(&path)?;
            file.seek(SeekFrom::Start(at as u64))?;
            file.write_all(bytes)?;
            if sync { file.sync_data() } else { Ok(()) }
        };
        write().map_err(KbError::io(&path))
    }

    fn write_file(
        &self,
        extension: &str,
        dims: usize,
        body: impl FnOnce(&mut BufWriter<&File>) -> std::io::Result<()>,
    ) -> Result<()> {
        let path = self.path(extension);
        let written = write_atomic_by(&path, |file| {
            let mut header = [0; HEADER];
            header[..8].copy_from_slice(MAGIC);
            header[8..12].copy_from_slice(&(dims as u32).to_le_bytes());
            file.write_all(&header)?;
            body(file)
        });
        written.map_err(KbError::io(&path))
    }
}

/// The key of the model and the number in a file name; `None` for foreign files.
fn parse_file_name(name: &str) -> Option<(&str, u64)> {
    let (model, rest) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let (number, ending) = rest.split_once('.')?;
    let is_ours = is_model_key(model) && matches!(ending, "keys" | "rows");
    Some((model, number.parse().ok().filter(|_| is_ours)?))
}

/// The number of complete records behind the header.
fn body_len(file: &File, record: usize) -> std::io::Result<usize> {
    Ok((file.metadata()?.len() as usize).saturating_sub(HEADER) / record)
}

fn encode(key: &ChunkKey, scale: f32) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..ChunkKey::BYTES].copy_from_slice(&key.0);
    record[ChunkKey::BYTES..].copy_from_slice(&scale.to_le_bytes());
    record
}

fn decode(record: &[u8]) -> (ChunkKey, f32) {
    let (key, scale) = record.split_at(ChunkKey::BYTES);
    (
        ChunkKey(key.try_into().unwrap_or_default()),
        f32::from_le_bytes(scale.try_into().unwrap_or_default()),
    )
}
