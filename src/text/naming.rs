//! Names of files as words.

use std::path::Path;

use unicode_normalization::UnicodeNormalization;

/// A document's file name without its extension, and without the id that Notion's export adds:
/// `Backup plan` of `Backup plan 0f3c…e7.md`.
pub fn stem(source: &str) -> &str {
    let name = source.rsplit('/').next().unwrap_or(source);
    let name = without_extension(name);
    let is_id = |id: &str| id.len() == 32 && id.bytes().all(|c| c.is_ascii_hexdigit());
    match name.rsplit_once(' ') {
        Some((title, id)) if is_id(id) && !title.trim().is_empty() => title.trim_end(),
        _ => name,
    }
}

/// What stands behind the last dot of a file's name, in lower case; empty where there is none.
pub fn extension(source: &str) -> String {
    let extension = Path::new(source).extension().unwrap_or_default();
    extension.to_string_lossy().to_lowercase()
}

/// A name as it is compared with what a person writes: in lower case, composed, as macOS writes `é` as two characters,
/// and with a plain blank for each that a keyboard lacks, as before "PM" in names of pictures of a screen.
pub fn name_key(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    words.join(" ").nfc().collect::<String>().to_lowercase()
}

/// Puts a single space where a name has spaces, hyphens or underscores.
pub fn spaced(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let parts = name.split(|c: char| c.is_whitespace() || matches!(c, '-' | '_'));
    for word in parts.filter(|word| !word.is_empty()) {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(word);
    }
    plain
}

/// A path without what stands behind its last dot.
pub fn without_extension(path: &str) -> &str {
    match path.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && !extension.contains('/') => {
            if stem.ends_with('/') { path } else { stem }
        }
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_they_are_typed() {
        for (written, typed) in [
            ("Screen 3\u{202f}PM.png", "screen 3 pm.png"),
            ("a\u{a0}b  c.md", "A b c.md"),
            ("Cafe\u{301}.md", "Café.md"),
        ] {
            assert_eq!(name_key(written), name_key(typed), "{written}");
        }
    }
}
