//! Tables: every row a line that says what its values are.

mod compound;
pub(in crate::kb::extract) mod records;
mod rows;
pub(in crate::kb::extract) mod xls;
pub(in crate::kb::extract) mod xlsx;

pub(in crate::kb::extract) use compound::Compound;
pub(in crate::kb::extract) use rows::Workbook;
