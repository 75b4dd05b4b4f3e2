//! Values of pgvector's types, as they go over the wire.

use std::error::Error;

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::gains::TermRow;
use super::schema::TERM_IDS;

/// Gains as a `sparsevec`: dimensions, how many follow, nothing, indices from 0 in order, values.
#[derive(Debug)]
pub(super) struct SparseGains<'a>(pub &'a TermRow);

impl ToSql for SparseGains<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let row = self.0;
        out.put_i32(i32::try_from(TERM_IDS)?);
        out.put_i32(i32::try_from(row.ids.len())?);
        out.put_i32(0);
        row.ids.iter().for_each(|id| out.put_i32(id - 1));
        row.gains.iter().for_each(|gain| out.put_f32(*gain));
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A vector of whole numbers as the server reads it.
pub(super) fn vector_text(numbers: impl IntoIterator<Item = i16>) -> String {
    use std::fmt::Write;
    let mut text = String::from("[");
    for (at, number) in numbers.into_iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        // Writing into a String cannot fail.
        let _ = write!(text, "{comma}{number}");
    }
    text.push(']');
    text
}
