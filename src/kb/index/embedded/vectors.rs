//! The vectors of all chunks, scanned.
//!
//! Rows of int8 with one scale each, keyed by the hash of the text they were made of, so that a
//! chunk that only moved is never embedded again. Two files: `…rows` with nothing but the numbers,
//! and `…keys` with a key and a scale for each row. A batch goes to the rows first and to the keys
//! second, and only what the keys name counts: a kill in between costs that batch. Both grow in
//! place and never shrink; what drops rows writes a pair of files under a new number, so that
//! a reader of the old pair can go on.
//!
//! The rows are read into memory by the first search: a file that is cut off under a map
//! would end the process, and reading costs no more than the faults of a map do.
//!
//! A search measures all rows (`scan`): what it finds is exact among the rounded rows, and it takes a few
//! milliseconds for a hundred thousand of them.

mod files;
mod scan;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::lock::model_key;
use crate::kb::error::KbError;
use crate::kb::index::port::{ChunkKey, KeyHash, Result};
use crate::kb::index::quantised::{Query, check_length, quantise};
pub(crate) use files::VectorFiles;
use scan::{RowFilter, Table};

/// The keys in memory and the rows on disk.
#[derive(Debug)]
pub(crate) struct Vectors {
    files: VectorFiles,
    dims: usize,
    keys: Vec<ChunkKey>,
    scales: Vec<f32>,
    /// Opened with the keys: what another process replaces meanwhile can still be read.
    rows_file: Option<File>,
    /// Read by the first search.
    rows: OnceLock<Vec<u8>>,
    /// Locked while they are read: the file has one position for all searches.
    reading: Mutex<()>,
    /// Whether every key on disk has its row; if not, the pair is written anew before it grows.
    whole: bool,
    /// Where each key's row is; made when first needed.
    places: OnceLock<HashMap<ChunkKey, u32, KeyHash>>,
    /// Counts how often the rows were other ones, and not merely more of them.
    lineage: u64,
}

impl Vectors {
    /// Opens the vectors of a model in `home`.
    pub fn open(home: &Path, model_id: &str) -> Result<Self> {
        let mut vectors = Self {
            files: VectorFiles::new(home, model_id),
            dims: 0,
            keys: Vec::new(),
            scales: Vec::new(),
            rows_file: None,
            rows: OnceLock::new(),
            reading: Mutex::new(()),
            whole: true,
            places: OnceLock::new(),
            lineage: 0,
        };
        vectors.refresh()?;
        Ok(vectors)
    }

    /// Takes over what another process has written since.
    pub fn refresh(&mut self) -> Result<()> {
        // What drops rows removes the old files, perhaps between two looks at them.
        const ATTEMPTS: usize = 5;
        for _ in 0..ATTEMPTS {
            let result = self.catch_up();
            if result.is_err() {
                // Everything is dropped, so that the next call reads all of it.
                self.forget(0);
                self.files.number = 0;
            }
            match result {
                Err(KbError::Io { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound => {}
                result => return result,
            }
        }
        // Keys whose rows are gone are worth nothing: there is no pair, and the next batch makes one.
        tracing::debug!("the vectors' rows are missing");
        Ok(())
    }

    /// Does [`Vectors::refresh`], or opens the rows of `model_id` if these are of another model.
    pub fn refresh_of(&mut self, home: &Path, model_id: &str) -> Result<()> {
        if self.files.model == model_key(model_id) {
            return self.refresh();
        }
        let lineage = self.lineage;
        *self = Self::open(home, model_id)?;
        self.lineage += lineage + 1;
        Ok(())
    }

    /// Whether a vector can be compared with what is here.
    pub fn fits(&self, vector: &[f32]) -> Result<()> {
        let held = self.dimensions().unwrap_or(vector.len());
        check_length(vector, held, "`kb-agent index` embeds everything again")
    }

    /// The number of dimensions; `None` while there are no vectors.
    pub fn dimensions(&self) -> Option<usize> {
        (!self.keys.is_empty()).then_some(self.dims)
    }

    /// A number that stays the same as long as rows are only added.
    pub fn lineage(&self) -> u64 {
        self.lineage
    }

    /// The key of a row.
    pub fn key(&self, row: usize) -> Option<&ChunkKey> {
        self.keys.get(row)
    }

    /// How many rows there are, those of vanished chunks included.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Where the row of this chunk is.
    pub fn row_of(&self, key: &ChunkKey) -> Option<usize> {
        let places = self.places.get_or_init(|| {
            let numbered = (0_u32..).zip(&self.keys);
            numbered.map(|(at, key)| (*key, at)).collect()
        });
        places.get(key).map(|at| *at as usize)
    }

    /// Writes the files anew if vectors of this length cannot be added; whether it did. As with all that
    /// writes here, [`Vectors::refresh`] then takes them over, so that searches do not wait for the disk.
    /// Only under the lock.
    pub fn make_room(&self, dims: usize) -> Result<bool> {
        if self.files.number == 0 || self.dims != dims {
            self.write_anew(dims, |_| false)
        } else if !self.whole {
            self.write_anew(self.dims, |_| true)
        } else {
            Ok(false)
        }
    }

    /// Writes the vectors that are new; whether any was. Only under the lock.
    pub fn append(&self, found: &[(ChunkKey, Vec<f32>)]) -> Result<bool> {
        let mut seen: HashSet<ChunkKey, KeyHash> = HashSet::default();
        let mut keys = Vec::with_capacity(found.len());
        let mut rows = Vec::with_capacity(found.len() * self.dims);
        for (key, vector) in found {
            let is_new = self.row_of(key).is_none() && seen.insert(*key);
            if vector.len() == self.dims && is_new {
                keys.push((*key, quantise(vector, &mut rows)));
            }
        }
        if keys.is_empty() {
            return Ok(false);
        }
        self.files
            .append(self.keys.len(), self.dims, &rows, &keys)?;
        Ok(true)
    }

    /// Keeps only these rows; whether there were any. Only under the lock.
    pub fn compact(&self, keep: impl Fn(&ChunkKey) -> bool) -> Result<bool> {
        if self.keys.is_empty() {
            return Ok(false);
        }
        self.write_anew(self.dims, keep)
    }

    /// Removes the files of all other models that are not in use, once there are some of this one. Only
    /// under the lock.
    pub fn remove_other_models(&self) {
        if !self.keys.is_empty() {
            self.files.remove_other_models();
        }
    }

    /// The `k` nearest of the rows that `wanted` lets through, with their cosine, best first; of
    /// some of them only once `cancel` is cancelled.
    pub fn nearest(
        &self,
        query: &[f32],
        k: usize,
        wanted: &(dyn Fn(usize) -> bool + Sync),
        cancel: &CancellationToken,
    ) -> Result<Vec<(usize, f64)>> {
        let Some(query) = Query::new(query, self.dims) else {
            return Ok(Vec::new());
        };
        let table = self.table()?;
        let wanted = RowFilter {
            row: wanted,
            cancel,
        };
        Ok(scan::nearest(&query, &table, k, &wanted))
    }

    /// What measures the cosine with the vector under a key; `None` when the query is of another length.
    pub fn cosine_with(&self, query: &[f32]) -> Result<Option<impl Fn(&ChunkKey) -> Option<f64>>> {
        let Some(query) = Query::new(query, self.dims) else {
            return Ok(None);
        };
        let table = self.table()?;
        let cosine = move |row| f64::from(table.cosine(&query, row));
        Ok(Some(move |key: &ChunkKey| self.row_of(key).map(&cosine)))
    }

    /// The row of this chunk, as it is kept.
    pub fn vector(&self, key: &ChunkKey) -> Result<Option<Vec<f32>>> {
        let Some(at) = self.row_of(key) else {
            return Ok(None);
        };
        let (table, scale) = (self.table()?, self.scales[at]);
        let numbers = table.row(at).iter().map(|byte| byte.cast_signed());
        let vector = numbers.map(|number| f32::from(number) * scale);
        Ok(Some(vector.collect()))
    }

    fn table(&self) -> Result<Table<'_>> {
        Ok(Table {
            keys: &self.keys,
            scales: &self.scales,
            rows: self.rows()?,
            dims: self.dims,
        })
    }

    /// Reads the rows from a number on.
    fn read_rows(&self, from: usize) -> Result<Vec<u8>> {
        match &self.rows_file {
            Some(file) => self.files.rows(file, from..self.keys.len(), self.dims),
            None => Ok(Vec::new()),
        }
    }

    /// The rows, as many as there are keys; read from disk when first needed.
    fn rows(&self) -> Result<&[u8]> {
        if let Some(rows) = self.rows.get() {
            return Ok(rows);
        }
        let _reading = self.reading.lock();
        if let Some(rows) = self.rows.get() {
            return Ok(rows);
        }
        let read = self.read_rows(0)?;
        Ok(self.rows.get_or_init(|| read))
    }

    /// Reads what is new.
    fn catch_up(&mut self) -> Result<()> {
        let same = !self.files.find_latest()?;
        let known = if same { self.keys.len() } else { 0 };
        let Some(read) = self.files.read(known, self.dims)? else {
            if !self.keys.is_empty() {
                self.forget(0);
            }
            return Ok(());
        };
        if !same || read.from == 0 {
            self.forget(read.dims);
        }
        self.whole = read.whole;
        self.rows_file = Some(read.rows);
        if !read.keys.is_empty() {
            self.push(&read.keys);
            self.read_on();
        }
        Ok(())
    }

    fn forget(&mut self, dims: usize) {
        // Where there was none, whatever comes is added.
        self.lineage += u64::from(!self.keys.is_empty());
        self.dims = dims;
        self.keys.clear();
        self.scales.clear();
        self.rows_file = None;
        self.rows = OnceLock::new();
        self.places = OnceLock::new();
    }

    fn push(&mut self, fresh: &[(ChunkKey, f32)]) {
        for (key, scale) in fresh {
            if let Some(places) = self.places.get_mut() {
                places.insert(*key, self.keys.len() as u32);
            }
            self.keys.push(*key);
            self.scales.push(*scale);
        }
    }

    /// Reads the rows of new keys, where the others have been read.
    fn read_on(&mut self) {
        // Where that fails, the next search reads all of them, or says what is wrong.
        if let Some(mut rows) = self.rows.take()
            && let Ok(more) = self.read_rows(rows.len() / self.dims)
        {
            rows.extend(more);
            self.rows = OnceLock::from(rows);
        }
    }

    fn write_anew(&self, dims: usize, keep: impl Fn(&ChunkKey) -> bool) -> Result<bool> {
        let is_any_kept = self.keys.iter().any(&keep);
        let table = match is_any_kept.then(|| self.table()).transpose() {
            // Rows that cannot be read are made anew as well.
            Err(KbError::Damaged(_)) => None,
            table => table?,
        };
        let rows = table.iter().flat_map(|table| {
            let rows = 0..self.keys.len();
            rows.map(|at| (table.keys[at], table.scales[at], table.row(at)))
        });
        let kept: Vec<_> = rows.filter(|(key, ..)| keep(key)).collect();
        self.files.write_anew(dims, &kept)?.remove_older();
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::path::PathBuf;

    use super::*;

    fn nearest(vectors: &Vectors, query: &[f32], k: usize) -> Result<Vec<(usize, f64)>> {
        vectors.nearest(query, k, &|_| true, &CancellationToken::new())
    }

    fn unit(seed: u8) -> Vec<f32> {
        let raw: Vec<f32> = (0..48_u8)
            .map(|n| f32::from(n.wrapping_mul(seed).wrapping_add(seed)) - 127.0)
            .collect();
        let norm = raw.iter().map(|v| v * v).sum::<f32>().sqrt();
        raw.iter().map(|v| v / norm).collect()
    }

    fn key(n: u8) -> ChunkKey {
        ChunkKey([n; ChunkKey::BYTES])
    }

    fn rows(from: u8, to: u8) -> Vec<(ChunkKey, Vec<f32>)> {
        (from..to).map(|n| (key(n), unit(n))).collect()
    }

    fn file(dir: &Path, extension: &str) -> PathBuf {
        let mut found = fs::read_dir(dir).unwrap().flatten().map(|e| e.path());
        let is = |path: &PathBuf| path.extension().is_some_and(|end| end == extension);
        found.find(is).unwrap()
    }

    /// As an embedding does it.
    fn append(vectors: &mut Vectors, found: &[(ChunkKey, Vec<f32>)]) {
        vectors.make_room(found[0].1.len()).unwrap();
        vectors.refresh().unwrap();
        vectors.append(found).unwrap();
        vectors.refresh().unwrap();
    }

    fn best(vectors: &Vectors, n: u8, k: usize) -> Vec<ChunkKey> {
        let found = nearest(vectors, &unit(n), k).unwrap();
        found.iter().map(|(row, _)| vectors.keys[*row]).collect()
    }

    #[test]
    fn rows_survive_reopening_and_torn_writes() {
        let dir = tempfile::tempdir().unwrap();
        let mut vectors = Vectors::open(dir.path(), "m").unwrap();
        append(&mut vectors, &rows(1, 21));
        for (torn, extension) in [("keys", "keys"), ("some of a row", "rows")] {
            let path = file(dir.path(), extension);
            let mut file = OpenOptions::new().append(true).open(path).unwrap();
            file.write_all(torn.as_bytes()).unwrap();
        }
        let mut vectors = Vectors::open(dir.path(), "m").unwrap();
        assert_eq!(vectors.len(), 20);
        append(&mut vectors, &rows(1, 40));
        let vectors = Vectors::open(dir.path(), "m").unwrap();
        assert_eq!(vectors.len(), 39);
        let found = nearest(&vectors, &unit(30), 3).unwrap();
        assert_eq!((found.len(), vectors.keys[found[0].0]), (3, key(30)));
        assert!((found[0].1 - 1.0).abs() < 0.01, "{found:?}");
        assert!(found[0].1 >= found[1].1 && found[1].1 >= found[2].1);
        vectors.compact(|k| *k != key(30)).unwrap();
        let vectors = Vectors::open(dir.path(), "m").unwrap();
        assert_eq!(vectors.len(), 38);
        assert_ne!(best(&vectors, 30, 1), [key(30)]);
        assert_eq!(Vectors::open(dir.path(), "other").unwrap().len(), 0);
        let own = fs::read_dir(dir.path()).unwrap().flatten();
        let own = own.filter(|entry| entry.file_name().to_string_lossy().starts_with("vectors-"));
        assert_eq!(own.count(), 2);
    }

    #[test]
    fn the_first_searches_read_the_rows_at_the_same_time() {
        const SEARCHES: usize = 8;
        let dir = tempfile::tempdir().unwrap();
        append(&mut Vectors::open(dir.path(), "m").unwrap(), &rows(1, 200));
        for _ in 0..50 {
            let vectors = Vectors::open(dir.path(), "m").unwrap();
            let start = std::sync::Barrier::new(SEARCHES);
            let search = || {
                start.wait();
                best(&vectors, 30, 1)
            };
            std::thread::scope(|scope| {
                let searches: Vec<_> = (0..SEARCHES).map(|_| scope.spawn(search)).collect();
                for search in searches {
                    assert_eq!(search.join().unwrap(), [key(30)]);
                }
            });
        }
    }

    #[test]
    fn another_handle_takes_over_what_was_appended_and_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Vectors::open(dir.path(), "m").unwrap();
        let mut reader = Vectors::open(dir.path(), "m").unwrap();
        append(&mut writer, &rows(1, 5));
        assert_eq!(reader.len(), 0);
        reader.refresh().unwrap();
        assert_eq!(best(&reader, 3, 1), [key(3)]);
        let lineage = reader.lineage();
        reader.refresh().unwrap();
        assert_eq!(reader.lineage(), lineage);
        append(&mut writer, &rows(5, 9));
        reader.refresh().unwrap();
        assert_eq!((reader.len(), best(&reader, 7, 1)), (8, vec![key(7)]));
        // The old rows can be read until the reader moves on.
        writer.compact(|k| *k == key(2)).unwrap();
        assert_eq!(best(&reader, 7, 1), [key(7)]);
        reader.refresh().unwrap();
        assert_eq!(
            (reader.len(), reader.row_of(&key(7)), reader.row_of(&key(2))),
            (1, None, Some(0))
        );
    }

    #[test]
    fn keys_without_rows_do_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let mut vectors = Vectors::open(dir.path(), "m").unwrap();
        append(&mut vectors, &rows(1, 9));
        drop(vectors);
        let path = file(dir.path(), "rows");
        let short = fs::read(&path).unwrap();
        fs::write(&path, &short[..short.len() - 3 * 48 - 1]).unwrap();
        let mut vectors = Vectors::open(dir.path(), "m").unwrap();
        assert_eq!(vectors.len(), 4);
        append(&mut vectors, &rows(1, 20));
        let vectors = Vectors::open(dir.path(), "m").unwrap();
        assert_eq!(vectors.len(), 19);
        for n in 1..20 {
            assert_eq!(best(&vectors, n, 1), [key(n)]);
        }
    }

    #[test]
    fn files_that_are_not_ours_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let mut vectors = Vectors::open(dir.path(), "m").unwrap();
        append(&mut vectors, &rows(1, 9));
        fs::write(file(dir.path(), "keys"), "something else altogether").unwrap();
        let mut vectors = Vectors::open(dir.path(), "m").unwrap();
        assert_eq!(vectors.len(), 0);
        append(&mut vectors, &rows(1, 3));
        assert_eq!(Vectors::open(dir.path(), "m").unwrap().len(), 2);
    }

    #[test]
    fn a_vector_of_another_length_finds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut vectors = Vectors::open(dir.path(), "m").unwrap();
        assert!(nearest(&vectors, &unit(1), 5).unwrap().is_empty());
        append(&mut vectors, &rows(1, 2));
        assert!(nearest(&vectors, &[1.0], 5).unwrap().is_empty());
        assert!(vectors.cosine_with(&[1.0]).unwrap().is_none());
    }
}
