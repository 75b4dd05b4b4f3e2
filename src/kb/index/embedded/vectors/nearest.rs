//! The scan: of all rows, or of those that a first look leaves.
//!
//! What is done for every row stands in loops: the build for size leaves long chains of iterators as
//! calls.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering as AtomicOrdering};
use std::thread;

use super::signs;
use super::signs::Signs;
use super::simd;
use crate::kb::index::chunk_key::ChunkKey;
use crate::kb::index::quantised::Query;
use crate::threads;

/// Rows multiplied between two looks at the sums.
const BLOCK: usize = 256;
/// Rows that stand apart are fetched that many before they are multiplied.
const AHEAD: usize = 8;
/// Below this many rows, starting a thread costs more than it saves.
const ROWS_A_THREAD: usize = 8_000;

/// The rows, all of one length.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    pub keys: &'a [ChunkKey],
    pub scales: &'a [f32],
    pub rows: &'a [u8],
    pub dims: usize,
}

impl<'a> Table<'a> {
    /// One row.
    pub fn row(&self, at: usize) -> &'a [u8] {
        &self.rows[at * self.dims..(at + 1) * self.dims]
    }

    /// The cosine of one row.
    pub fn cosine(&self, query: &Query, row: usize) -> f32 {
        let mut sum = [0];
        simd::products(&query.values, self.row(row), &mut sum);
        query.cosine(sum[0], self.scales[row])
    }
}

/// Which rows, and for how long.
pub(super) struct RowFilter<'a> {
    pub row: &'a (dyn Fn(usize) -> bool + Sync),
    pub stop: &'a AtomicBool,
}

impl RowFilter<'_> {
    fn is_over(&self) -> bool {
        self.stop.load(AtomicOrdering::Relaxed)
    }
}

/// The `k` nearest rows, best first; equal ones in the order of their keys, so that the order in
/// which they were written does not show. With `signs`, of the rows that a first look at these
/// leaves; of all where they leave too few.
pub(super) fn nearest(
    query: &Query,
    table: &Table<'_>,
    signs: Option<&Signs>,
    k: usize,
    wanted: &RowFilter<'_>,
) -> Vec<(usize, f64)> {
    let count = table.keys.len();
    // A part of the first look that panicked would put all others out of place.
    let near = signs
        .filter(|signs| signs.len() == count)
        .map(|signs| Near::of(query, table, signs))
        .filter(|near| near.differences.len() == count)
        .map(|near| in_parts(count, |part| near.scan(query, table, part, k, wanted)));
    let mut best = near
        .filter(|near| near.len() >= k)
        .unwrap_or_else(|| in_parts(count, |part| scan(query, table, part, k, wanted)));
    shrink(&mut best, k, table.keys);
    best.into_iter()
        .map(|(at, cosine)| (at, f64::from(cosine)))
        .collect()
}

/// What `work` finds in each part of the rows, on as many threads as are worth it.
fn in_parts<T: Send>(count: usize, work: impl Fn(Range<usize>) -> Vec<T> + Sync) -> Vec<T> {
    let threads = threads::for_a_search().min(count / ROWS_A_THREAD).max(1);
    let share = count.div_ceil(threads).max(1);
    let part = |n: usize| work((n * share).min(count)..count.min((n + 1) * share));
    thread::scope(|scope| {
        let part = &part;
        let others: Vec<_> = (1..threads).map(|n| scope.spawn(move || part(n))).collect();
        let mut found = part(0);
        // A part that panicked has said so; the others still are the best there is.
        for mut other in others.into_iter().filter_map(|other| other.join().ok()) {
            found.append(&mut other);
        }
        found
    })
}

/// The rows that a first look leaves.
struct Near {
    differences: Vec<u16>,
    limit: u16,
}

impl Near {
    fn of(query: &Query, table: &Table<'_>, signs: &Signs) -> Self {
        let asked = signs::of_query(query);
        let differences = in_parts(table.keys.len(), |part| {
            let mut out = vec![0; part.len()];
            signs.differences(&asked, part.start, &mut out);
            out
        });
        Self {
            limit: signs::limit(&differences, table.dims),
            differences,
        }
    }

    fn scan(
        &self,
        query: &Query,
        table: &Table<'_>,
        range: Range<usize>,
        k: usize,
        wanted: &RowFilter<'_>,
    ) -> Vec<(usize, f32)> {
        let mut best = Best::new(k);
        let seen = self.differences.get(range.clone()).unwrap_or_default();
        let mut near = Vec::new();
        for (n, differ) in seen.iter().enumerate() {
            if *differ <= self.limit {
                near.push(range.start + n);
            }
        }
        for (n, &at) in near.iter().enumerate() {
            if n % BLOCK == 0 && wanted.is_over() {
                break;
            }
            if let Some(&soon) = near.get(n + AHEAD) {
                simd::fetch(table.row(soon));
            }
            best.offer(at, table.cosine(query, at), table.keys, wanted);
        }
        best.rows
    }
}

fn scan(
    query: &Query,
    table: &Table<'_>,
    range: Range<usize>,
    k: usize,
    wanted: &RowFilter<'_>,
) -> Vec<(usize, f32)> {
    let mut best = Best::new(k);
    let mut sums = [0; BLOCK];
    for start in range.clone().step_by(BLOCK) {
        if wanted.is_over() {
            break;
        }
        let end = range.end.min(start + BLOCK);
        let rows = &table.rows[start * table.dims..end * table.dims];
        simd::products(&query.values, rows, &mut sums);
        let scales = &table.scales[start..end];
        for (n, (sum, scale)) in sums.iter().zip(scales).enumerate() {
            best.offer(start + n, query.cosine(*sum, *scale), table.keys, wanted);
        }
    }
    best.rows
}

/// The best so far, not in order, and a few more.
struct Best {
    rows: Vec<(usize, f32)>,
    k: usize,
    floor: f32,
}

impl Best {
    fn new(k: usize) -> Self {
        Self {
            rows: Vec::with_capacity(2 * k + 1),
            k,
            floor: f32::NEG_INFINITY,
        }
    }

    #[inline]
    fn offer(&mut self, at: usize, cosine: f32, keys: &[ChunkKey], wanted: &RowFilter<'_>) {
        if cosine >= self.floor && (wanted.row)(at) {
            self.rows.push((at, cosine));
            if self.rows.len() > 2 * self.k {
                self.floor = shrink(&mut self.rows, self.k, keys);
            }
        }
    }
}

/// Leaves the `k` best, best first, and returns the score that a newcomer must reach.
fn shrink(best: &mut Vec<(usize, f32)>, k: usize, keys: &[ChunkKey]) -> f32 {
    best.sort_unstable_by(|a, b| {
        b.1.partial_cmp(&a.1)
            .unwrap_or(Ordering::Equal)
            .then_with(|| keys[a.0].cmp(&keys[b.0]))
    });
    best.truncate(k);
    if best.len() < k {
        return f32::NEG_INFINITY;
    }
    best.last().map_or(f32::INFINITY, |(_, cosine)| *cosine)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::kb::index::quantised::quantise;

    static NEVER: AtomicBool = AtomicBool::new(false);

    fn all_of(row: &(dyn Fn(usize) -> bool + Sync)) -> RowFilter<'_> {
        RowFilter { row, stop: &NEVER }
    }

    /// Points on a circle of many dimensions, so that the true order is known.
    #[test]
    fn the_scan_finds_the_true_neighbours_whatever_the_threads() {
        let dims = 64;
        let count = 3 * ROWS_A_THREAD + 17;
        let vector = |n: usize| -> Vec<f32> {
            let mut state = (n as u32).wrapping_mul(2_654_435_761).wrapping_add(1);
            let raw: Vec<f32> = (0..dims)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 16) as f32 / 32768.0 - 1.0
                })
                .collect();
            let norm = raw.iter().map(|v| v * v).sum::<f32>().sqrt();
            raw.iter().map(|v| v / norm).collect()
        };
        let (mut rows, mut scales, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..count {
            scales.push(quantise(&vector(n), &mut rows));
            keys.push(ChunkKey((n as u128).to_be_bytes()));
        }
        let table = Table {
            keys: &keys,
            scales: &scales,
            rows: &rows,
            dims,
        };
        let asked = vector(1_000_003);
        let mut exact: Vec<(usize, f32)> = (0..count)
            .map(|n| (n, vector(n).iter().zip(&asked).map(|(a, b)| a * b).sum()))
            .collect();
        exact.sort_by(|a, b| b.1.total_cmp(&a.1));
        let query = Query::new(&asked, dims).unwrap();
        let found = nearest(&query, &table, None, 50, &all_of(&|_| true));
        let missing = exact[..50]
            .iter()
            .filter(|(n, _)| !found.iter().any(|(at, _)| at == n))
            .count();
        assert!(missing <= 2, "{missing} of 50 were not found");
        for (at, cosine) in &found {
            let true_cosine = exact.iter().find(|(n, _)| n == at).unwrap().1;
            assert!((cosine - f64::from(true_cosine)).abs() < 0.01);
        }
        let odd = nearest(&query, &table, None, 50, &all_of(&|at| at % 2 == 1));
        assert!(odd.len() == 50 && odd.iter().all(|(at, _)| at % 2 == 1));
    }

    #[test]
    fn ends_a_scan_at_its_next_look() {
        let (dims, count) = (256, 2 * ROWS_A_THREAD + 5_000);
        let keys: Vec<ChunkKey> = (0..count)
            .map(|n| ChunkKey((n as u128).to_be_bytes()))
            .collect();
        let (rows, scales) = (vec![3; count * dims], vec![1.0; count]);
        let table = Table {
            keys: &keys,
            scales: &scales,
            rows: &rows,
            dims,
        };
        let mut signs = Signs::of(&rows[..1_000 * dims], dims);
        signs.extend(&rows, dims);
        let query = Query::new(&vec![1.0; dims], dims).unwrap();
        for signs in [None, Some(&signs)] {
            let (stop, looked_at) = (AtomicBool::new(false), AtomicUsize::new(0));
            let row = |_: usize| {
                looked_at.fetch_add(1, AtomicOrdering::Relaxed);
                stop.store(true, AtomicOrdering::Relaxed);
                true
            };
            let wanted = RowFilter {
                row: &row,
                stop: &stop,
            };
            nearest(&query, &table, signs, 50, &wanted);
            // Two threads at most have rows enough.
            let looked_at = looked_at.into_inner();
            assert!((1..=2 * BLOCK).contains(&looked_at), "{looked_at} rows");
        }
    }

    /// Clusters of the length that embeddings have, asked for from near one of them.
    #[test]
    fn a_first_look_leaves_the_true_neighbours_or_steps_aside() {
        let dims = 256;
        let count = 33_000;
        let mut state = 11_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as f32 / 32768.0 - 1.0
        };
        let centres: Vec<Vec<f32>> = (0..200)
            .map(|_| (0..dims).map(|_| next()).collect())
            .collect();
        let (mut rows, mut scales, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..count {
            let centre = &centres[n % centres.len()];
            let vector: Vec<f32> = centre.iter().map(|value| value + 1.5 * next()).collect();
            let norm = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
            let vector: Vec<f32> = vector.iter().map(|v| v / norm).collect();
            scales.push(quantise(&vector, &mut rows));
            keys.push(ChunkKey((n as u128).to_be_bytes()));
        }
        let table = Table {
            keys: &keys,
            scales: &scales,
            rows: &rows,
            dims,
        };
        let mut signs = Signs::of(&rows[..1_000 * dims], dims);
        signs.extend(&rows, dims);
        assert!(signs::pay(count, dims) && signs.len() == count);
        let asked: Vec<f32> = centres[7]
            .iter()
            .map(|value| value + 0.8 * next())
            .collect();
        let norm = asked.iter().map(|v| v * v).sum::<f32>().sqrt();
        let asked: Vec<f32> = asked.iter().map(|v| v / norm).collect();
        let query = Query::new(&asked, dims).unwrap();
        let near = Near::of(&query, &table, &signs);
        let left = near
            .differences
            .iter()
            .filter(|d| **d <= near.limit)
            .count();
        assert!((4_096..count / 5).contains(&left), "{left} are left");
        let exact = nearest(&query, &table, None, 50, &all_of(&|_| true));
        let found = nearest(&query, &table, Some(&signs), 50, &all_of(&|_| true));
        assert_eq!(found, exact);
        // RowFilter rows that point elsewhere: the first look leaves too few of them.
        let wanted = |at: usize| at >= count - 60 && at % centres.len() != 7;
        let left = (0..count).filter(|at| wanted(*at) && near.differences[*at] <= near.limit);
        assert!(left.count() < 50);
        let exact = nearest(&query, &table, None, 50, &all_of(&wanted));
        assert_eq!(exact.len(), 50);
        assert_eq!(
            nearest(&query, &table, Some(&signs), 50, &all_of(&wanted)),
            exact
        );
    }
}
