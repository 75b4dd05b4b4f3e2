//! What files are, by the endings of their names.

use crate::domain::{FileFormat, FileKind};

/// An ending longer than this is no kind of file.
const LONGEST_ENDING: usize = 8;

/// What a file is by its ending.
pub(super) fn kind(source: &str) -> String {
    let file = source.rsplit('/').next().unwrap_or(source);
    let ending = match file.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => ending.to_lowercase(),
        _ => String::new(),
    };
    let known = FileFormat::by_ending(&ending)
        .filter(|format| format.is_read() && format.kind != FileKind::Code);
    let is_word = |ending: &str| {
        (1..=LONGEST_ENDING).contains(&ending.len())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
    };
    match known {
        Some(format) => format.short_name.to_owned(),
        None if is_word(&ending) => ending,
        None => "other".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn files_are_of_a_kind_by_their_ending() {
        for (source, is) in [
            ("notes/plan.MD", "Markdown"),
            ("a.b/report.pdf", "PDF"),
            ("src/main.rs", "rs"),
            ("Makefile", "other"),
            (".profile", "other"),
            ("v1.0/README", "other"),
            ("a.\u{1b}[2J", "other"),
            ("a.averylongending", "other"),
        ] {
            assert_eq!(kind(source), is, "{source}");
        }
    }
}
