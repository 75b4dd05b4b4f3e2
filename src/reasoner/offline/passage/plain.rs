//! Blocks of what is no prose: source files, rows of sheets, slides.

use std::ops::Range;

use super::super::language::trimmed;
use super::block::{Block, BlockKind, Sentence, line_ranges};

/// Endings of files whose text is code.
#[rustfmt::skip]
const CODE: &[&str] = &[
    "rs", "py", "js", "mjs", "ts", "tsx", "jsx", "go", "java", "kt", "c", "h", "cpp", "cc", "hpp", "cs", "rb", "php",
    "swift", "scala", "lua", "pl", "r", "jl", "hs", "ex", "exs", "erl", "clj", "sh", "bash", "zsh", "fish", "ps1",
    "sql", "toml", "yaml", "yml", "ini", "css", "proto", "tf", "zig", "nim", "dart", "vue", "json", "jsonl", "xml",
];

pub fn is_code(ending: &str) -> bool {
    CODE.contains(&ending)
}

/// The blocks of a text that is code, rows or one slide: a block for each row, and in code for each run of lines between
/// an empty line and the next line at the margin that follows one.
pub fn blocks(text: &str, kind: BlockKind, above: &[String]) -> Vec<Block> {
    let lines = line_ranges(text);
    let is_outside = |c: char| !c.is_whitespace() && !"})]".contains(c);
    let goes_on = |line: &Range<usize>, next: &Range<usize>| match kind {
        BlockKind::Row => false,
        BlockKind::Code => {
            !text[line.clone()].trim().is_empty() || !text[next.clone()].starts_with(is_outside)
        }
        _ => true,
    };
    let mut at = 0;
    let mut blocks = Vec::new();
    for run in lines.chunk_by(goes_on) {
        blocks.extend(block(text, run, at, kind, above));
        at += run.len();
    }
    blocks
}

/// Lines from the number `at` on as a block, without empty ones at its ends; `None` where they say nothing.
fn block(
    text: &str,
    lines: &[Range<usize>],
    at: usize,
    kind: BlockKind,
    above: &[String],
) -> Option<Block> {
    let is_code = kind == BlockKind::Code;
    let says = |c: char| c.is_alphanumeric() || is_code && !c.is_whitespace();
    let is_filled = |line: &Range<usize>| text[line.clone()].contains(says);
    let first = lines.iter().position(is_filled)?;
    let last = lines.iter().rposition(is_filled)?;
    let lines = &lines[first..=last];
    let sentences = lines.iter().filter(|line| !is_code && is_filled(line));
    let sentences = sentences.map(|line| {
        let range = trimmed(text, line.clone());
        let text = text[range.clone()].to_owned();
        Sentence { range, text }
    });
    Some(Block {
        kind,
        lines: at + first..at + last + 1,
        headings: above.to_vec(),
        text: text[lines[0].start..lines[last - first].end].to_owned(),
        sentences: sentences.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_rows_slides_and_code_are_blocks_of_their_own() {
        let rows = blocks(
            "item: hose; price: 3\n\nitem: seed; price: 1",
            BlockKind::Row,
            &[],
        );
        assert_eq!(
            rows.iter().map(|row| row.lines.clone()).collect::<Vec<_>>(),
            [0..1, 2..3]
        );
        assert_eq!(rows[1].sentences[0].range, 22..42);
        let slide = blocks("\nRisks\n  too late\n", BlockKind::Slide, &[]);
        assert_eq!(
            (slide[0].lines.clone(), slide[0].sentences.len()),
            (1..3, 2)
        );
        let code = blocks(
            "use a;\n\nfn b() {\n\n    c\n}\n\nfn d() {}",
            BlockKind::Code,
            &[],
        );
        assert_eq!(
            code.iter().map(|it| it.lines.clone()).collect::<Vec<_>>(),
            [0..1, 2..6, 7..8]
        );
        assert!(blocks("\n--\n", BlockKind::Slide, &[]).is_empty());
    }
}
