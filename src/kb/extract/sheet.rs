//! Tables: every row a line that says what its values are.

pub(in crate::kb::extract) mod records;
mod rows;
mod workbook;

pub(in crate::kb::extract) use rows::Workbook;
pub(in crate::kb::extract) use workbook::{xls, xlsx};
