//! A file of weights: `KBR1`, the bias and the worth of one step as `f32`, then as `u16` the number
//! of counts, of known runs and of n-grams; the weights of the counts as `f32`, the fingerprints of
//! the known runs, and for each n-gram its fingerprint and its weight as `i8` steps. Numbers are
//! little-endian, but fingerprints have three bytes and lie in big-endian order, sorted.

const MAGIC: &[u8] = b"KBR1";
const PRINT: usize = 3;
const ENTRY: usize = PRINT + 1;

/// A file of weights as it lies in the program; nothing is copied.
pub struct Weights {
    bias: f64,
    step: f64,
    counts: &'static [u8],
    known: &'static [u8],
    table: &'static [u8],
}

impl Weights {
    /// Reads a file; `None` where it is none.
    pub fn read(file: &'static [u8]) -> Option<Self> {
        let rest = file.strip_prefix(MAGIC)?;
        let (head, rest) = rest.split_at_checked(14)?;
        let number = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
        let (counts, rest) = rest.split_at_checked(4 * number(8))?;
        let (known, table) = rest.split_at_checked(PRINT * number(10))?;
        (table.len() == ENTRY * number(12)).then_some(Self {
            bias: float(&head[..4]),
            step: float(&head[4..8]),
            counts,
            known,
            table,
        })
    }

    /// `prints` without repetition.
    pub fn probability(&self, prints: &[u32], counts: &[f64]) -> f64 {
        let steps: i32 = prints.iter().map(|print| self.weight(*print)).sum();
        let mut score = self.bias + self.step * f64::from(steps);
        for (weight, count) in self.counts.chunks_exact(4).zip(counts) {
            score += float(weight) * count;
        }
        1.0 / (1.0 + (-score.clamp(-60.0, 60.0)).exp())
    }

    fn weight(&self, print: u32) -> i32 {
        find::<ENTRY>(self.table, print).map_or(0, |entry| i32::from(entry[PRINT].cast_signed()))
    }

    /// Whether small talk of the training data holds a run of words.
    pub fn knows(&self, print: u32) -> bool {
        find::<PRINT>(self.known, print).is_some()
    }
}

fn float(bytes: &[u8]) -> f64 {
    bytes
        .try_into()
        .map_or(0.0, |bytes| f64::from(f32::from_le_bytes(bytes)))
}

/// The record of `SIZE` bytes that begins with this fingerprint.
fn find<const SIZE: usize>(records: &'static [u8], print: u32) -> Option<&'static [u8; SIZE]> {
    let (records, _) = records.as_chunks::<SIZE>();
    let wanted = print.to_be_bytes();
    records
        .binary_search_by(|record| record[..PRINT].cmp(&wanted[1..]))
        .ok()
        .map(|at| &records[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_weights_can_be_read_and_are_small() {
        for file in super::super::learned::FILES {
            let weights = Weights::read(file).unwrap();
            assert!(weights.table.len() > 1_000 && file.len() <= 32 * 1024);
            for records in [weights.table.chunks(ENTRY), weights.known.chunks(PRINT)] {
                let prints: Vec<&[u8]> = records.map(|record| &record[..PRINT]).collect();
                assert!(prints.is_sorted_by(|a, b| a < b));
            }
            assert!(Weights::read(&file[..file.len() - 1]).is_none());
        }
        assert!(Weights::read(b"KBR1").is_none());
        assert!(Weights::read(b"").is_none());
    }
}
