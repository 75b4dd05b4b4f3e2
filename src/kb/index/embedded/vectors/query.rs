//! A query for vectors.

/// A query in whole numbers too: the inner loop then has no conversions.
pub(super) struct Query {
    pub(super) values: Vec<i16>,
    scale: f32,
}

impl Query {
    /// `None` when it is of another length than the rows.
    pub fn new(vector: &[f32], dims: usize) -> Option<Self> {
        if dims == 0 || vector.len() != dims {
            return None;
        }
        // Small enough that the sum over all dimensions fits 32 bits.
        let bound = (i32::MAX as usize / 128 / dims).min(i16::MAX as usize) as f32;
        let scale = largest(vector) / bound;
        let values = vector
            .iter()
            .map(|value| (value / scale).round() as i16)
            .collect();
        Some(Self { values, scale })
    }

    /// In whole numbers.
    pub fn values(&self) -> &[i16] {
        &self.values
    }

    pub(super) fn cosine(&self, sum: i32, row_scale: f32) -> f32 {
        sum as f32 * self.scale * row_scale
    }
}

/// The largest number, whatever its sign; never zero.
pub(super) fn largest(vector: &[f32]) -> f32 {
    vector
        .iter()
        .fold(f32::MIN_POSITIVE, |max, value| max.max(value.abs()))
}
