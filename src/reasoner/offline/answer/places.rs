//! Places of a base, a line each.

use crate::domain::Evidence;
use crate::text::one_line;

use super::super::passage::Passage;

/// Characters of a heading.
const LONGEST_HEADING: usize = 80;

/// `[3] guide.md § Setup`: an item with the heading above its best block.
pub(super) fn place(
    item: &Evidence,
    passage: &Passage,
    block: Option<usize>,
    number: usize,
) -> String {
    let block = block.and_then(|at| passage.blocks.get(at));
    let heading = block.map_or("", |block| block.heading());
    let name = if heading.is_empty() {
        passage.title.as_str()
    } else {
        heading
    };
    let name = unmarked(name);
    let source = &item.source;
    if name.is_empty() || source.ends_with(&name) {
        format!("- [{number}] {source}")
    } else {
        format!("- [{number}] {source} § {name}")
    }
}

/// A text on one line, without signs that would be taken for the answer's own.
fn unmarked(text: &str) -> String {
    one_line(
        &text.replace(['[', ']', '`', '|', '*', '<', '>'], " "),
        LONGEST_HEADING,
    )
}
