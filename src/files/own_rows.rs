//! Tables that users can add to: rows of a file in the configuration folder stand before the built-in
//! ones.

use std::path::Path;

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::read_text_bounded;
use crate::text::one_line;

/// No table or prompt is nearly as large.
const LARGEST: u64 = 1 << 20;

/// Reads the built-in tables with the rows of the user's own text before them. The error is one line.
pub fn read_tables<T: DeserializeOwned>(own: Option<&str>, built_in: &str) -> Result<T, String> {
    let in_one_line = |error: toml::de::Error| one_line(&error.to_string(), 300);
    let Some(own) = own else {
        return toml::from_str(built_in).map_err(in_one_line);
    };
    // Before the tables are merged, an error names its line.
    toml::from_str::<T>(own).map_err(in_one_line)?;
    let mut tables = Table::new();
    for text in [own, built_in] {
        for (name, rows) in text.parse::<Table>().map_err(in_one_line)? {
            match (tables.get_mut(&name), rows) {
                (Some(Value::Array(before)), Value::Array(rows)) => before.extend(rows),
                (_, rows) => _ = tables.insert(name, rows),
            }
        }
    }
    tables.try_into().map_err(in_one_line)
}

/// Gives `read` the text of a file in the folder, or nothing where there is no such file. The error is
/// one line that names the file.
pub fn read_own_file<T>(
    folder: Option<&Path>,
    name: &str,
    read: impl FnOnce(Option<&str>) -> Result<T, String>,
) -> Result<T, String> {
    let Some(path) = folder.map(|folder| folder.join(name)) else {
        return read(None);
    };
    let text = match read_text_bounded(&path, LARGEST) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error.to_string()),
    };
    text.and_then(|text| read(text.as_deref()))
        .map_err(|why| format!("{}: {why}", path.display()))
}
