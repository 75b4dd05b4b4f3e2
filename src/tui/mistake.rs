//! A mistake in a file of the user's, in one line.

use crate::text::one_line;

/// What is wrong with a TOML file, and in which line.
pub fn of_toml(source: &str, error: &toml::de::Error) -> String {
    let message = one_line(error.message(), 160);
    let before = error.span().and_then(|span| source.get(..span.start));
    match before {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message,
    }
}
