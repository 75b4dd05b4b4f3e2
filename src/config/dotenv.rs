//! What a `.env` file says, taken as it stands there.
//!
//! The format is dotenvy's, but for `${NAME}`: put in place of the name, the value of any other
//! variable would leave with a setting, and a few lines of them would grow to gigabytes. So every
//! `$` reaches the parser as a character without a meaning, and is a `$` again in the value.

use std::fs::Metadata;
use std::path::Path;

use super::error::SettingError;
use crate::files::{self, Unreadable};

/// What a line says, or why it says nothing.
type Pair = Result<(String, String), SettingError>;

/// No settings file is nearly as large.
const LARGEST: u64 = 256 << 10;
/// Stands for `$`; no variable can hold it, so that a file with one is none.
const DOLLAR: char = '\0';

/// The pairs of the file in their order, and what of it cannot be read; and of what is open, who
/// owns it and who may write it.
pub(super) fn read(path: &Path) -> (Vec<Pair>, Option<Metadata>) {
    match read_text(path) {
        Ok((text, meta)) => (parse(path, &text), Some(meta)),
        Err(error) => (vec![Err(unreadable(path, error.to_string()))], None),
    }
}

fn read_text(path: &Path) -> Result<(String, Metadata), Unreadable> {
    if is_null_device(path) {
        return Ok((String::new(), path.metadata()?));
    }
    let file = files::open_regular(path)?;
    let meta = file.metadata()?;
    let bytes = files::read_all(&file, LARGEST)?;
    let text = String::from_utf8(bytes).map_err(|_| Unreadable::NotText)?;
    Ok((text, meta))
}

/// What people name for a file in which nothing stands.
fn is_null_device(path: &Path) -> bool {
    cfg!(unix)
        && path
            .canonicalize()
            .is_ok_and(|real| real == Path::new("/dev/null"))
}

/// The pairs of a file's text.
fn parse(path: &Path, text: &str) -> Vec<Pair> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.contains(DOLLAR) {
        return vec![Err(unreadable(path, "it holds a NUL character".to_owned()))];
    }
    let plain_text = without_dollars(text);
    dotenvy::from_read_iter(plain_text.as_bytes())
        .map(|pair| match pair {
            Ok((name, value)) => Ok((name, value.replace(DOLLAR, "$"))),
            Err(error) => Err(unreadable(path, plain(&error))),
        })
        .collect()
}

/// `\$` stays: that is how the format writes a plain one. Backslashes stand in pairs before
/// another `$`, or within single quotes, where they and `$` mean nothing anyway.
fn without_dollars(text: &str) -> String {
    let mut is_escaped = false;
    let shown = text.chars().map(|c| {
        let plain = if c == '$' && !is_escaped { DOLLAR } else { c };
        is_escaped = c == '\\' && !is_escaped;
        plain
    });
    shown.collect()
}

fn unreadable(path: &Path, why: String) -> SettingError {
    SettingError::File {
        path: path.to_owned(),
        why,
    }
}

/// The parser's message without the line itself, which may hold a key.
fn plain(error: &dotenvy::Error) -> String {
    match error {
        dotenvy::Error::LineParse(_, at) => {
            format!(
                "a line cannot be read as NAME=value (at its character {at}); quote values with spaces"
            )
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<Option<String>> {
        let pairs = parse(Path::new(".env"), text);
        pairs.into_iter().map(|pair| Some(pair.ok()?.1)).collect()
    }

    #[test]
    fn trust_nothing_is_put_in_place_of_a_name() {
        for (written, value) in [
            ("${HOME}", "${HOME}"),
            ("$HOME", "$HOME"),
            ("a${HOME}b$", "a${HOME}b$"),
            ("\"${HOME} $\"", "${HOME} $"),
            ("'${HOME}'", "${HOME}"),
            (r"\${HOME}", "${HOME}"),
            (r#""\$HOME""#, "$HOME"),
            (r"'\$HOME'", r"\$HOME"),
            (r#""\\$HOME""#, r"\$HOME"),
            (r"\\\$HOME", r"\$HOME"),
            ("$A # a comment with $B", "$A"),
        ] {
            let text = format!("A=1\nNAME={written}\nB=2\n");
            let values_read = values(&text);
            assert_eq!(values_read.len(), 3, "{written}");
            assert_eq!(values_read[1].as_deref(), Some(value), "{written}");
            assert_eq!(values_read[2].as_deref(), Some("2"), "{written}");
        }
    }

    #[test]
    fn trust_a_file_that_would_double_stays_as_it_is() {
        let mut text = "A0=laugh\n".to_owned();
        for at in 1..200 {
            text.push_str(&format!("A{at}=${{A{}}}${{A{}}}\n", at - 1, at - 1));
        }
        let values_read = values(&text);
        assert_eq!(values_read.len(), 200);
        assert_eq!(values_read[199].as_deref(), Some("${A198}${A198}"));
    }

    #[test]
    fn trust_what_is_no_text_file_is_reported() {
        assert_eq!(values("A=1\0\n"), [None]);
    }
}
