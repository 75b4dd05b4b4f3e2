//! Blocks of what is no prose: source files, rows of sheets, slides.

use std::ops::Range;

use super::block::{Block, BlockKind, Sentence};

/// Endings of files whose text is code.
#[rustfmt::skip]
const CODE: &[&str] = &[
    "rs", "py", "js", "mjs", "ts", "tsx", "jsx", "go", "java", "kt", "c", "h", "cpp", "cc", "hpp", "cs", "rb", "php",
    "swift", "scala", "lua", "pl", "r", "jl", "hs", "ex", "exs", "erl", "clj", "sh", "bash", "zsh", "fish", "ps1",
    "sql", "toml", "yaml", "yml", "ini", "css", "proto", "tf", "zig", "nim", "dart", "vue", "json", "jsonl", "xml",
];

pub(super) fn is_code(ending: &str) -> bool {
    CODE.contains(&ending)
}

/// One block of all lines, with a sentence a line.
pub(super) fn whole(lines: &[String], kind: BlockKind, above: &[String]) -> Vec<Block> {
    let block = block(lines, 0..lines.len(), kind, above);
    block.into_iter().collect()
}

/// A block for each line.
pub(super) fn rows(lines: &[String], above: &[String]) -> Vec<Block> {
    (0..lines.len())
        .filter_map(|at| block(lines, at..at + 1, BlockKind::Row, above))
        .collect()
}

/// A block for each run of lines between an empty line and the next line at the margin that follows one.
pub(super) fn code(lines: &[String], above: &[String]) -> Vec<Block> {
    let mut starts = vec![0];
    for at in 1..lines.len() {
        let at_margin = lines[at].starts_with(|c: char| !c.is_whitespace() && !"})]".contains(c));
        if at_margin && lines[at - 1].trim().is_empty() {
            starts.push(at);
        }
    }
    starts.push(lines.len());
    starts
        .windows(2)
        .filter_map(|ends| block(lines, ends[0]..ends[1], BlockKind::Code, above))
        .collect()
}

/// Some lines as a block, without empty ones at its ends; `None` where they say nothing.
fn block(
    lines: &[String],
    range: Range<usize>,
    kind: BlockKind,
    above: &[String],
) -> Option<Block> {
    let is_code = kind == BlockKind::Code;
    let is_filled = |line: &String| {
        line.chars()
            .any(|c| c.is_alphanumeric() || is_code && !c.is_whitespace())
    };
    let first = range.start + lines[range.clone()].iter().position(is_filled)?;
    let last = range.start + lines[range].iter().rposition(is_filled)?;
    let range = first..last + 1;
    let mut byte: usize = lines[..first].iter().map(|line| line.len() + 1).sum();
    let mut sentences = Vec::new();
    for line in &lines[range.clone()] {
        if !is_code && is_filled(line) {
            let start = byte + line.len() - line.trim_start().len();
            let text = line.trim().to_owned();
            sentences.push(Sentence {
                range: start..start + text.len(),
                text,
            });
        }
        byte += line.len() + 1;
    }
    Some(Block {
        kind,
        headings: above.to_vec(),
        text: lines[range.clone()].join("\n"),
        lines: range,
        sentences,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn r23_rows_slides_and_code_are_blocks_of_their_own() {
        let rows = rows(&lines("item: hose; price: 3\n\nitem: seed; price: 1"), &[]);
        assert_eq!(
            rows.iter().map(|row| row.lines.clone()).collect::<Vec<_>>(),
            [0..1, 2..3]
        );
        assert_eq!(rows[1].sentences[0].range, 22..42);
        let slide = whole(&lines("\nRisks\n  too late\n"), BlockKind::Slide, &[]);
        assert_eq!(
            (slide[0].lines.clone(), slide[0].sentences.len()),
            (1..3, 2)
        );
        let code = code(&lines("use a;\n\nfn b() {\n\n    c\n}\n\nfn d() {}"), &[]);
        assert_eq!(
            code.iter().map(|it| it.lines.clone()).collect::<Vec<_>>(),
            [0..1, 2..6, 7..8]
        );
        assert!(whole(&lines("\n--\n"), BlockKind::Slide, &[]).is_empty());
    }
}
