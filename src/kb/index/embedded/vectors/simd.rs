//! The loops that go over the rows.
//!
//! The one file with `unsafe`: the vector instructions, which the compiler does not choose by itself
//! for bytes times words. What each promise rests on is said beside it.
#![allow(unsafe_code)]

/// Bytes that memory hands over at once.
#[cfg(target_arch = "x86_64")]
const CACHE_LINE: usize = 64;

/// The products of the query with each row, which is as many signed bytes. The caller sees to it
/// that no sum exceeds 32 bits.
pub(super) fn products(query: &[i16], rows: &[u8], out: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just been asked.
        unsafe { wide(query, rows, out) };
        return;
    }
    plain(query, rows, out);
}

fn plain(query: &[i16], rows: &[u8], out: &mut [i32]) {
    for (row, out) in rows.chunks_exact(query.len().max(1)).zip(out) {
        *out = product(query, row);
    }
}

fn product(query: &[i16], row: &[u8]) -> i32 {
    query
        .iter()
        .zip(row)
        .map(|(&q, &r)| i32::from(q) * i32::from(r.cast_signed()))
        .sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn wide(query: &[i16], rows: &[u8], out: &mut [i32]) {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_shuffle_epi32,
        _mm256_add_epi32, _mm256_castsi256_si128, _mm256_cvtepi8_epi16, _mm256_extracti128_si256,
        _mm256_loadu_si256, _mm256_madd_epi16, _mm256_setzero_si256,
    };
    const LANES: usize = 16;
    let dims = query.len();
    let whole = dims - dims % (2 * LANES);
    let count = rows.len().checked_div(dims).unwrap_or(0).min(out.len());
    let mut n = 0;
    // Loops by hand: the build for size leaves iterators as calls.
    while n < count {
        let row = &rows[n * dims..(n + 1) * dims];
        // Two sums, so that one addition need not wait for the other.
        let (mut even, mut odd) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        let mut at = 0;
        while at < whole {
            // SAFETY: `at + 2 * LANES` is at most `whole`, which is at most the length of both; unaligned
            // loads may start anywhere.
            let (q, r): ([__m256i; 2], [__m128i; 2]) = unsafe {
                let (q, r) = (query.as_ptr().add(at), row.as_ptr().add(at));
                (
                    [
                        _mm256_loadu_si256(q.cast()),
                        _mm256_loadu_si256(q.add(LANES).cast()),
                    ],
                    [
                        _mm_loadu_si128(r.cast()),
                        _mm_loadu_si128(r.add(LANES).cast()),
                    ],
                )
            };
            even = _mm256_add_epi32(even, _mm256_madd_epi16(_mm256_cvtepi8_epi16(r[0]), q[0]));
            odd = _mm256_add_epi32(odd, _mm256_madd_epi16(_mm256_cvtepi8_epi16(r[1]), q[1]));
            at += 2 * LANES;
        }
        let sum = _mm256_add_epi32(even, odd);
        let sum = _mm_add_epi32(
            _mm256_castsi256_si128(sum),
            _mm256_extracti128_si256::<1>(sum),
        );
        let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b01_00_11_10>(sum));
        let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b10_11_00_01>(sum));
        let rest = if whole < dims {
            product(&query[whole..], &row[whole..])
        } else {
            0
        };
        out[n] = _mm_cvtsi128_si32(sum) + rest;
        n += 1;
    }
}

/// Asks for a row that will soon be needed, so that it is in the cache by then.
pub(super) fn fetch(row: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let mut at = 0;
        while at < row.len() {
            // SAFETY: `at` is within the row; a hint, which reads nothing and cannot fail.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(row.as_ptr().add(at).cast()) };
            at += CACHE_LINE;
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

/// In how many bits each row differs from the query, which is as many words.
pub(super) fn differences(query: &[u64], rows: &[u64], out: &mut [u16]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has just been asked.
        unsafe { counted(query, rows, out) };
        return;
    }
    count(query, rows, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn counted(query: &[u64], rows: &[u64], out: &mut [u16]) {
    count(query, rows, out);
}

#[expect(
    clippy::inline_always,
    reason = "as a call, it would not have the instructions of its caller"
)]
#[inline(always)]
fn count(query: &[u64], rows: &[u64], out: &mut [u16]) {
    for (row, out) in rows.chunks_exact(query.len().max(1)).zip(out) {
        let mut differ = 0;
        let mut at = 0;
        while at < query.len().min(row.len()) {
            differ += (query[at] ^ row[at]).count_ones();
            at += 1;
        }
        *out = differ as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_loops_agree_at_every_length() {
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
            let mut rows: Vec<u8> = (0..5 * dims).map(|_| next() as u8).collect();
            rows[..dims].fill(0x80);
            let (mut slow, mut fast) = ([0; 5], [0; 5]);
            plain(&query, &rows, &mut slow);
            products(&query, &rows, &mut fast);
            assert_eq!(slow, fast, "{dims} dimensions");
            assert!(slow.iter().any(|sum| *sum != 0), "{dims} dimensions");
        }
    }
}
