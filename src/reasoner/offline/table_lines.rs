//! The lines of a Markdown table.

use super::markup::without_links;

/// The cells of a line that begins with a bar; an escaped bar is no border.
pub(super) fn cells_of(line: &str) -> Vec<String> {
    let line = line.replace("\\|", "\u{1}");
    let line = line.strip_prefix('|').unwrap_or(&line);
    let line = line.strip_suffix('|').unwrap_or(line);
    line.split('|')
        .map(|cell| without_links(cell.trim()).replace('\u{1}', "|"))
        .collect()
}

/// Whether the line is the rule below a head. A single dash among blanks is what people write into
/// a cell that is empty.
pub(super) fn is_rule(line: &str, cells: &[String]) -> bool {
    let is_drawn = !line.contains(' ') || ["--", ":-", "-:"].iter().any(|mark| line.contains(mark));
    let is_dashes =
        |cell: &String| cell.contains('-') && cell.trim_matches(['-', ':', '+']).is_empty();
    is_drawn && cells.iter().all(is_dashes)
}
