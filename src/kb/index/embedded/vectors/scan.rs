//! The scan of all rows for the nearest.
//!
//! It goes over every row, so that what it finds is exact among the rounded rows; of near ties either may
//! come first. What it costs is reading the rows from memory: a million of 384 numbers take about as long
//! as adding up their bytes does.

use std::cmp::Ordering;
use std::ops::Range;
use std::thread;

use tokio_util::sync::CancellationToken;
use wide::{i8x16, i16x16, i32x8};

use crate::kb::index::port::ChunkKey;
use crate::kb::index::quantised::Query;
use crate::threads;

/// Rows measured between two looks at whether to go on.
const BLOCK: usize = 1024;
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
        query.cosine(product(query.values(), self.row(row)), self.scales[row])
    }
}

/// The sum of the products of a query with a row of signed bytes. [`Query`] sees to it that it fits
/// 32 bits.
fn product(query: &[i16], row: &[u8]) -> i32 {
    let (queries, last_of_query) = query.as_chunks::<16>();
    let (rows, last_of_row) = row.as_chunks::<16>();
    let mut sum = i32x8::ZERO;
    for (query, row) in queries.iter().zip(rows) {
        let row = i16x16::from(i8x16::new(row.map(u8::cast_signed)));
        sum += row.dot(i16x16::new(*query));
    }
    let mut rest = 0;
    for (query, row) in last_of_query.iter().zip(last_of_row) {
        rest += i32::from(*query) * i32::from(row.cast_signed());
    }
    sum.reduce_add() + rest
}

/// Which rows, and for how long.
pub(super) struct RowFilter<'a> {
    pub row: &'a (dyn Fn(usize) -> bool + Sync),
    pub cancel: &'a CancellationToken,
}

/// The `k` nearest rows, best first; equal ones in the order of their keys, so that the order in
/// which they were written does not show.
pub(super) fn nearest(
    query: &Query,
    table: &Table<'_>,
    k: usize,
    wanted: &RowFilter<'_>,
) -> Vec<(usize, f64)> {
    let count = table.keys.len();
    let threads = threads::for_a_search().min(count / ROWS_A_THREAD).max(1);
    let share = count.div_ceil(threads).max(1);
    let part = |n: usize| {
        let rows = (n * share).min(count)..count.min((n + 1) * share);
        scan(query, table, rows, k, wanted)
    };
    let mut best = thread::scope(|scope| {
        let part = &part;
        let others: Vec<_> = (1..threads).map(|n| scope.spawn(move || part(n))).collect();
        let mut found = part(0);
        // A part that panicked has said so; the others still are the best there is.
        for mut other in others.into_iter().filter_map(|other| other.join().ok()) {
            found.append(&mut other);
        }
        found
    });
    shrink(&mut best, k, table.keys);
    best.into_iter()
        .map(|(at, cosine)| (at, f64::from(cosine)))
        .collect()
}

/// The `k` nearest of these rows and a few more, not in order.
fn scan(
    query: &Query,
    table: &Table<'_>,
    range: Range<usize>,
    k: usize,
    wanted: &RowFilter<'_>,
) -> Vec<(usize, f32)> {
    let mut best = Vec::with_capacity(2 * k + 1);
    let mut floor = f32::NEG_INFINITY;
    let from = range.start;
    for at in range {
        if (at - from).is_multiple_of(BLOCK) && wanted.cancel.is_cancelled() {
            break;
        }
        let cosine = table.cosine(query, at);
        if cosine >= floor && (wanted.row)(at) {
            best.push((at, cosine));
            if best.len() > 2 * k {
                floor = shrink(&mut best, k, table.keys);
            }
        }
    }
    best
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
    use std::sync::atomic::{self, AtomicUsize};

    use super::*;
    use crate::kb::index::quantised::quantise;

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
        let cancel = &CancellationToken::new();
        let all = RowFilter {
            row: &|_| true,
            cancel,
        };
        let found = nearest(&query, &table, 50, &all);
        let missing = exact[..50]
            .iter()
            .filter(|(n, _)| !found.iter().any(|(at, _)| at == n))
            .count();
        assert!(missing <= 2, "{missing} of 50 were not found");
        for (at, cosine) in &found {
            let true_cosine = exact.iter().find(|(n, _)| n == at).unwrap().1;
            assert!((cosine - f64::from(true_cosine)).abs() < 0.01);
        }
        let odd_rows = RowFilter {
            row: &|at| at % 2 == 1,
            cancel,
        };
        let odd = nearest(&query, &table, 50, &odd_rows);
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
        let query = Query::new(&vec![1.0; dims], dims).unwrap();
        let (cancel, looked_at) = (CancellationToken::new(), AtomicUsize::new(0));
        let row = |_: usize| {
            looked_at.fetch_add(1, atomic::Ordering::Relaxed);
            cancel.cancel();
            true
        };
        let wanted = RowFilter {
            row: &row,
            cancel: &cancel,
        };
        nearest(&query, &table, 50, &wanted);
        // Two threads at most have rows enough.
        let looked_at = looked_at.into_inner();
        assert!((1..=2 * BLOCK).contains(&looked_at), "{looked_at} rows");
    }

    #[test]
    fn the_sum_of_products_is_exact_at_every_length() {
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 16
        };
        for dims in [1, 7, 16, 31, 32, 33, 48, 127, 384, 1000] {
            let bound = (i32::MAX as usize / 128 / dims).min(i16::MAX as usize) as u32;
            let query: Vec<i16> = (0..dims)
                .map(|_| (i64::from(next() % bound) - i64::from(bound / 2)) as i16)
                .collect();
            let row: Vec<u8> = (0..dims).map(|_| next() as u8).collect();
            for row in [row, vec![0x80; dims]] {
                let products = query.iter().zip(&row);
                let products = products.map(|(&q, r)| i64::from(q) * i64::from(r.cast_signed()));
                let sum: i64 = products.sum();
                assert_eq!(i64::from(product(&query, &row)), sum, "{dims} dimensions");
            }
        }
    }
}
