//! Vectors in whole numbers, the same in every engine: rows of int8 with one scale each, and queries that
//! are finer.

use crate::agent::ports::EmbedError;
use crate::kb::error::KbError;
use crate::text::Trouble;

/// A query in whole numbers too: the inner loop then has no conversions.
pub(crate) struct Query {
    values: Vec<i16>,
    scale: f32,
}

impl Query {
    /// Quantises a query; `None` when it is of another length than the rows.
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

    /// The query's values as whole numbers.
    pub fn values(&self) -> &[i16] {
        &self.values
    }

    /// The cosine, from the sum of products with a row times the row's scale.
    pub fn cosine_of(&self, products: f64) -> f32 {
        (products * f64::from(self.scale)) as f32
    }

    /// The cosine, from the sum of products with a row and the row's scale.
    #[inline]
    pub fn cosine(&self, sum: i32, row_scale: f32) -> f32 {
        sum as f32 * self.scale * row_scale
    }
}

/// Appends the row and returns its scale.
pub(crate) fn quantise(vector: &[f32], rows: &mut Vec<u8>) -> f32 {
    let scale = largest(vector) / f32::from(i8::MAX);
    let row = vector.iter().map(|value| (value / scale).round() as i8);
    rows.extend(row.map(i8::cast_unsigned));
    scale
}

/// The largest number, whatever its sign; never zero.
fn largest(vector: &[f32]) -> f32 {
    vector
        .iter()
        .fold(f32::MIN_POSITIVE, |max, value| max.max(value.abs()))
}

/// An error where a vector is of another length than those of the index.
pub(crate) fn check_length(vector: &[f32], held: usize, next_step: &str) -> Result<(), KbError> {
    let given = vector.len();
    if given == held {
        return Ok(());
    }
    let what = format!(
        "the model gives vectors of {given} numbers where the index holds vectors of {held}"
    );
    Err(KbError::Embed(EmbedError(Trouble::new(what, next_step))))
}
