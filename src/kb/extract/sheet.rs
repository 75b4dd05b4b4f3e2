//! Tables: every row a line that says what its values are.

pub(crate) mod records;
mod rows;
mod workbook;

pub(crate) use rows::Workbook;
pub(crate) use workbook::{xls, xlsx};
