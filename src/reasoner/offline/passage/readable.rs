//! Markdown without what means nothing outside its document.

use std::sync::LazyLock;

use regex::Regex;

/// A pattern, and what stands in its place.
struct Replacement {
    pattern: Regex,
    by: &'static str,
}

#[expect(
    clippy::expect_used,
    reason = "the patterns are part of the program, and a test uses them"
)]
static REPLACEMENTS: LazyLock<Vec<Replacement>> = LazyLock::new(|| {
    let replacements = [
        // Images keep nothing, links and wiki links their text.
        (
            r"!\[[^\]]*\]\([^)]*\)|!\[\[[^\]]*\]\]|!\[[^\]]*\]\[[^\]]*\]",
            "",
        ),
        (r"\[\[(?:[^\]|]*\|)?([^\]|]*)\]\]", "$1"),
        (r"\[([^\]\[]+)\]\((?:[^()]|\([^)]*\))*\)", "$1"),
        (r"\[([^\]\[]*[^\]\[\d,\s][^\]\[]*)\]\[[^\]]*\]", "$1"),
        // A number in brackets would be taken for a citation of the answer.
        (r"\[(\d[\d,， ]*)\]", "($1)"),
        (r"</?[A-Za-z][^<>\n]*>", ""),
    ];
    let compile = |(pattern, by)| Replacement {
        pattern: Regex::new(pattern).expect("a pattern of this file"),
        by,
    };
    replacements.into_iter().map(compile).collect()
});

/// A line of prose as it is quoted: links and images reduced to their text, tags left out. What stands
/// between backticks stays as it is.
pub(in super::super) fn readable(line: &str) -> String {
    if !line.contains(['[', '<', '`']) {
        return line.to_owned();
    }
    // Every second piece between backticks is code, unless one backtick lacks its partner.
    let is_balanced = line.matches('`').count().is_multiple_of(2);
    if !is_balanced {
        return replaced(&line.replace('`', ""));
    }
    // A link may have code within its text, so that a piece alone would not show it.
    let pieces: Vec<&str> = line.split('`').collect();
    let code = |at: usize| at % 2 == 1;
    let mut masked = String::new();
    for (at, piece) in pieces.iter().enumerate() {
        if code(at) {
            masked.push_str(&format!("\u{1}{at}\u{1}"));
        } else {
            masked.push_str(piece);
        }
    }
    let mut text = replaced(&masked);
    for (at, piece) in pieces.iter().enumerate().filter(|(at, _)| code(*at)) {
        text = text.replacen(&format!("\u{1}{at}\u{1}"), &format!("`{piece}`"), 1);
    }
    text
}

fn replaced(text: &str) -> String {
    let mut text = text.to_owned();
    for Replacement { pattern, by } in REPLACEMENTS.iter() {
        if let std::borrow::Cow::Owned(changed) = pattern.replace_all(&text, *by) {
            text = changed;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_what_means_nothing_elsewhere_is_not_quoted() {
        for (line, shown) in [
            (
                "See [the guide](../guide.md#a) for more.",
                "See the guide for more.",
            ),
            ("See [`clap`](https://x.y/(z)) now", "See `clap` now"),
            (
                "[“Running”][subset] and [1] and [2, 3]",
                "“Running” and (1) and (2, 3)",
            ),
            ("[[Vault|the vault]] and [[Note]]", "the vault and Note"),
            ("A ![picture](p.png) here", "A  here"),
            ("H<sub>2</sub>O and `a<b>[1](c)`", "H2O and `a<b>[1](c)`"),
            ("a lone ` mark", "a lone  mark"),
            ("x < y and [ ] [x] a task", "x < y and [ ] [x] a task"),
        ] {
            assert_eq!(readable(line), shown);
        }
    }
}
