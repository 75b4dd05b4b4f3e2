//! The vectors of all chunks, scanned exactly.
//!
//! Rows of int8 with one scale each, keyed by the hash of the text they were made of, so that a
//! chunk that only moved is never embedded again. The file grows by appending and is read up to
//! its last complete row: a kill in the middle costs one row. A flat scan cannot miss a
//! neighbour and takes milliseconds for a hundred thousand rows.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::error::KbError;
use super::store::ChunkKey;

const MAGIC: &[u8; 8] = b"KBVEC001";
/// Magic, then the number of dimensions.
const HEADER: usize = 12;

/// The rows in memory and the file that they come from.
#[derive(Debug)]
pub(super) struct Vectors {
    path: PathBuf,
    dims: usize,
    keys: Vec<ChunkKey>,
    scales: Vec<f32>,
    rows: Vec<i8>,
    places: HashMap<ChunkKey, usize>,
    stamp: Stamp,
}

/// What the file looked like when it was read or written last. Its length alone would miss that
/// another process has put as many rows of something else there.
type Stamp = Option<(u64, SystemTime)>;

impl Vectors {
    /// Reads what `dir` holds for this model; another model has another file.
    pub fn open(dir: &Path, model_id: &str) -> Result<Self, KbError> {
        let name = blake3::hash(model_id.as_bytes()).to_hex();
        let path = dir.join(format!("vectors-{}.bin", &name[..16]));
        let mut vectors = Self {
            path,
            dims: 0,
            keys: Vec::new(),
            scales: Vec::new(),
            rows: Vec::new(),
            places: HashMap::new(),
            stamp: None,
        };
        // Before the reading: what is added meanwhile then counts as news.
        vectors.stamp = stamp(&vectors.path);
        match fs::read(&vectors.path) {
            Ok(bytes) => vectors.parse(&bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(KbError::io(&vectors.path)(error)),
        }
        Ok(vectors)
    }

    /// Whether the file still is what was read.
    pub fn is_current(&self) -> bool {
        stamp(&self.path) == self.stamp
    }

    /// Whether this chunk has a vector.
    pub fn contains(&self, key: &ChunkKey) -> bool {
        self.places.contains_key(key)
    }

    /// How many rows there are, those of vanished chunks included.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Adds rows, on disk first.
    pub fn append(&mut self, found: &[(ChunkKey, Vec<f32>)]) -> Result<(), KbError> {
        let Some((_, first)) = found.first().filter(|(_, first)| !first.is_empty()) else {
            return Ok(());
        };
        if self.dims != first.len() {
            self.start_over(first.len())?;
        }
        let fresh: Vec<(ChunkKey, f32, Vec<i8>)> = found
            .iter()
            .filter(|(key, vector)| vector.len() == self.dims && !self.contains(key))
            .map(|(key, vector)| {
                let (scale, row) = quantise(vector);
                (*key, scale, row)
            })
            .collect();
        let mut bytes = Vec::with_capacity(fresh.len() * self.row_bytes());
        for (key, scale, row) in &fresh {
            encode(key, *scale, row, &mut bytes);
        }
        self.write_at_end(&bytes)?;
        for (key, scale, row) in fresh {
            self.push(key, scale, &row);
        }
        self.stamp = stamp(&self.path);
        Ok(())
    }

    /// Keeps only these rows, by writing a new file in place of the old one.
    pub fn compact(&mut self, keep: impl Fn(&ChunkKey) -> bool) -> Result<(), KbError> {
        let mut bytes = header(self.dims);
        for (at, key) in self.keys.iter().enumerate() {
            if keep(key) {
                encode(key, self.scales[at], self.row(at), &mut bytes);
            }
        }
        replace(&self.path, &bytes).map_err(KbError::io(&self.path))?;
        self.stamp = stamp(&self.path);
        self.parse(&bytes);
        Ok(())
    }

    /// The `k` nearest of the chunks that `wanted` lets through, with their cosine, best first.
    pub fn nearest(
        &self,
        query: &[f32],
        k: usize,
        wanted: impl Fn(&ChunkKey) -> bool,
    ) -> Vec<(ChunkKey, f64)> {
        let Some(query) = Query::new(query, self.dims) else {
            return Vec::new();
        };
        let mut best: Vec<(usize, f32)> = Vec::with_capacity(2 * k + 1);
        let mut floor = f32::NEG_INFINITY;
        for at in 0..self.keys.len() {
            let cosine = query.cosine(self.row(at), self.scales[at]);
            if cosine > floor && wanted(&self.keys[at]) {
                best.push((at, cosine));
                if best.len() > 2 * k {
                    floor = shrink(&mut best, k);
                }
            }
        }
        shrink(&mut best, k);
        best.into_iter()
            .map(|(at, cosine)| (self.keys[at], f64::from(cosine)))
            .collect()
    }

    /// The cosine of one chunk, if it has a vector.
    pub fn cosine(&self, query: &[f32], key: &ChunkKey) -> Option<f64> {
        let at = *self.places.get(key)?;
        let query = Query::new(query, self.dims)?;
        Some(f64::from(query.cosine(self.row(at), self.scales[at])))
    }

    fn row(&self, at: usize) -> &[i8] {
        &self.rows[at * self.dims..(at + 1) * self.dims]
    }

    fn row_bytes(&self) -> usize {
        ChunkKey::BYTES + size_of::<f32>() + self.dims
    }

    fn push(&mut self, key: ChunkKey, scale: f32, row: &[i8]) {
        if self.places.insert(key, self.keys.len()).is_none() {
            self.keys.push(key);
            self.scales.push(scale);
            self.rows.extend_from_slice(row);
        }
    }

    /// Takes the complete rows; a file that is not ours counts as empty and is replaced later.
    fn parse(&mut self, bytes: &[u8]) {
        self.dims = 0;
        self.keys.clear();
        self.scales.clear();
        self.rows.clear();
        self.places.clear();
        let Some((head, body)) = bytes.split_at_checked(HEADER) else {
            return;
        };
        let (magic, dims) = head.split_at(MAGIC.len());
        let Ok(dims) = <[u8; 4]>::try_from(dims) else {
            return;
        };
        if magic != MAGIC {
            return;
        }
        self.dims = u32::from_le_bytes(dims) as usize;
        for row in body.chunks_exact(self.row_bytes()) {
            let (key, row) = row.split_at(ChunkKey::BYTES);
            let (scale, row) = row.split_at(size_of::<f32>());
            if let (Ok(key), Ok(scale)) = (key.try_into(), scale.try_into()) {
                let row: Vec<i8> = row.iter().map(|&byte| byte.cast_signed()).collect();
                self.push(ChunkKey(key), f32::from_le_bytes(scale), &row);
            }
        }
    }

    fn start_over(&mut self, dims: usize) -> Result<(), KbError> {
        let bytes = header(dims);
        replace(&self.path, &bytes).map_err(KbError::io(&self.path))?;
        self.stamp = stamp(&self.path);
        self.parse(&bytes);
        Ok(())
    }

    fn write_at_end(&self, bytes: &[u8]) -> Result<(), KbError> {
        let write = || -> std::io::Result<()> {
            let mut file = OpenOptions::new().append(true).open(&self.path)?;
            let rows = (file.metadata()?.len() as usize).saturating_sub(HEADER);
            // What an interrupted write left behind would shift every row after it.
            let torn = rows % self.row_bytes();
            if torn > 0 {
                file.set_len((HEADER + rows - torn) as u64)?;
            }
            file.write_all(bytes)
        };
        write().map_err(KbError::io(&self.path))
    }
}

fn stamp(path: &Path) -> Stamp {
    let meta = fs::metadata(path).ok()?;
    Some((meta.len(), meta.modified().ok()?))
}

fn header(dims: usize) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(dims as u32).to_le_bytes());
    bytes
}

fn encode(key: &ChunkKey, scale: f32, row: &[i8], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&key.0);
    bytes.extend_from_slice(&scale.to_le_bytes());
    bytes.extend(row.iter().map(|value| value.cast_unsigned()));
}

fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    let _: File = file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn quantise(vector: &[f32]) -> (f32, Vec<i8>) {
    let scale = largest(vector) / f32::from(i8::MAX);
    let row = vector
        .iter()
        .map(|value| (value / scale).round() as i8)
        .collect();
    (scale, row)
}

fn largest(vector: &[f32]) -> f32 {
    vector
        .iter()
        .fold(f32::MIN_POSITIVE, |max, value| max.max(value.abs()))
}

/// A query in whole numbers too: the inner loop then has no conversions.
struct Query {
    values: Vec<i16>,
    scale: f32,
}

impl Query {
    /// `None` when it is of another length than the rows.
    fn new(vector: &[f32], dims: usize) -> Option<Self> {
        if dims == 0 || vector.len() != dims {
            return None;
        }
        // Small enough that the sum over all dimensions fits 32 bits.
        let bound = (i32::MAX as usize / 127 / dims).min(i16::MAX as usize) as f32;
        let scale = largest(vector) / bound;
        let values = vector
            .iter()
            .map(|value| (value / scale).round() as i16)
            .collect();
        Some(Self { values, scale })
    }

    fn cosine(&self, row: &[i8], row_scale: f32) -> f32 {
        let sum: i32 = self
            .values
            .iter()
            .zip(row)
            .map(|(&q, &r)| i32::from(q) * i32::from(r))
            .sum();
        sum as f32 * self.scale * row_scale
    }
}

/// Leaves the `k` best, best first, and returns the score that a newcomer must beat.
fn shrink(best: &mut Vec<(usize, f32)>, k: usize) -> f32 {
    best.sort_unstable_by(|a, b| {
        b.1.partial_cmp(&a.1)
            .unwrap_or(Ordering::Equal)
            .then(a.0.cmp(&b.0))
    });
    best.truncate(k);
    if best.len() < k {
        return f32::NEG_INFINITY;
    }
    best.last().map_or(f32::INFINITY, |(_, cosine)| *cosine)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn rows_survive_reopening_and_a_torn_write() {
        let dir = tempfile::tempdir().unwrap();
        let mut vectors = Vectors::open(dir.path(), "m").unwrap();
        let rows: Vec<_> = (1..40).map(|n| (key(n), unit(n))).collect();
        vectors.append(&rows[..20]).unwrap();
        let mut file = OpenOptions::new().append(true).open(&vectors.path).unwrap();
        file.write_all(b"torn").unwrap();
        let mut vectors = Vectors::open(dir.path(), "m").unwrap();
        assert_eq!(vectors.len(), 20);
        vectors.append(&rows).unwrap();
        let mut vectors = Vectors::open(dir.path(), "m").unwrap();
        assert_eq!(vectors.len(), 39);
        let found = vectors.nearest(&unit(30), 3, |_| true);
        assert_eq!((found.len(), found[0].0), (3, key(30)));
        assert!((found[0].1 - 1.0).abs() < 0.01, "{found:?}");
        assert!(found[0].1 >= found[1].1 && found[1].1 >= found[2].1);
        vectors.compact(|k| *k != key(30)).unwrap();
        let vectors = Vectors::open(dir.path(), "m").unwrap();
        assert_eq!(vectors.len(), 38);
        assert_ne!(vectors.nearest(&unit(30), 1, |_| true)[0].0, key(30));
        assert_eq!(Vectors::open(dir.path(), "other").unwrap().len(), 0);
    }

    #[test]
    fn a_vector_of_another_length_finds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut vectors = Vectors::open(dir.path(), "m").unwrap();
        assert!(vectors.nearest(&unit(1), 5, |_| true).is_empty());
        vectors.append(&[(key(1), unit(1))]).unwrap();
        assert!(vectors.nearest(&[1.0], 5, |_| true).is_empty());
    }
}
