//! Sentences that say where something is told instead of telling it.
//!
//! They are known by their shape: take the links away, and next to nothing is left but words that
//! point. What a link is called stands between two marks while a paragraph is read.

use super::literals::Literals;
use super::words::{characters, is_weak, terms};
use crate::text::is_chinese;

/// Begin and end of what a link is called.
pub(super) const LINK: (char, char) = ('\u{e000}', '\u{e001}');

/// At most this many words that tell something stand beside the links of a pointer, and at most
/// this many Chinese characters.
const WORDS: usize = 2;
const CHARACTERS: usize = 8;
/// A sentence that begins with "See" and has no link is a pointer up to this many words.
const SEE_WORDS: usize = 4;

/// Whether a sentence, its links still marked, only points elsewhere.
pub(super) fn points(marked: &str) -> bool {
    let mut beside = String::new();
    let mut linked = false;
    let mut inside = false;
    for c in marked.chars() {
        if c == LINK.0 || c == LINK.1 {
            inside = c == LINK.0;
            linked = true;
            beside.push(' ');
        } else if !inside {
            beside.push(c);
        }
    }
    for file in Literals::of(&beside).files {
        linked = true;
        beside = beside.replace(&file.path, " ");
    }
    let first = beside.split_whitespace().next().unwrap_or_default();
    let sees = matches!(first, "See" | "Siehe" | "Vgl." | "Cf.");
    if is_chinese(&beside) {
        let told = characters(&beside).len();
        let sees = ["详见", "参见", "请见"]
            .iter()
            .any(|w| beside.trim().starts_with(w));
        return (linked || sees) && told <= CHARACTERS;
    }
    let telling = terms(&beside);
    let telling = telling.iter().filter(|term| {
        let points = POINTING.iter().any(|word| term.starts_with(word));
        !points && !is_weak(term)
    });
    let telling = telling.count();
    linked && telling <= WORDS || sees && telling <= SEE_WORDS
}

/// The text without the marks.
pub(super) fn unmarked(text: &str) -> String {
    text.replace([LINK.0, LINK.1], "")
}

/// How words begin that only point.
#[rustfmt::skip]
const POINTING: &[&str] = &[
    "see", "told", "describ", "list", "explain", "detail", "read", "refer", "document", "page", "section", "chapter",
    "find", "found", "stand", "cover", "discuss", "overview", "introduction", "further", "above", "below", "next",
    "siehe", "auch", "beschrieb", "erklärt", "steht", "stehen", "näher", "weiter", "seite",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reasoner::offline::markup::with_marked_links;

    #[test]
    fn r23_a_sentence_that_is_mostly_a_link_tells_nothing() {
        for (text, pointer) in [
            ("See [the rules](rules.md) and [the tools](tools.md).", true),
            (
                "The allowed values are listed in [settings](settings.md).",
                true,
            ),
            ("How to prune roses is described in garden/roses.md.", true),
            ("See the chapter about pruning.", true),
            ("Näheres steht in [Heizung](heizung.md).", true),
            ("英文说明见 [rules](rules.md) 和 [tools](tools.md)。", true),
            ("Roses are pruned in March; see [roses](roses.md).", false),
            ("The [boiler](boiler.md) is serviced every October.", false),
            ("T-7 depends on [T-3](t3.md).", false),
            (
                "规则按顺序检查，第一条匹配的规则生效，见 [rules](rules.md)。",
                false,
            ),
            ("Roses like sun.", false),
        ] {
            assert_eq!(points(&with_marked_links(text)), pointer, "{text}");
        }
    }
}
