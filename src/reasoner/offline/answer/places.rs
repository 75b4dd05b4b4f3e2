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
    let heading = block.map_or("", |at| passage.blocks[at].heading());
    let name = match heading {
        "" => passage.title.as_str(),
        heading => heading,
    };
    // Without signs that would be taken for the answer's own.
    let name = name.replace(['[', ']', '`', '|', '*', '<', '>'], " ");
    let name = one_line(&name, LONGEST_HEADING);
    let source = &item.source;
    if name.is_empty() || source.ends_with(&name) {
        format!("- [{number}] {source}")
    } else {
        format!("- [{number}] {source} § {name}")
    }
}
