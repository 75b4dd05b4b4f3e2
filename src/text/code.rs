//! What in Markdown is code, by CommonMark: as the chat draws it, so that what is checked as text
//! and what is shown as text are the same.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Fences left open within fences left open are looked into this deep.
const DEEPEST: usize = 4;

/// The Markdown that answers are read as, wherever they are read.
pub fn markup() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// The stretches of `text` that are code, from left to right: inline code, indented blocks and
/// fenced blocks.
///
/// A fence that is not closed opens no code here: more likely than a block that goes on to the end
/// is a slip, after which the text goes on.
pub fn code_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    collect(text, 0, 0, &mut ranges);
    ranges
}

/// Whether what is put below `text`, after a blank line, begins anew: no fence, list, comment or
/// quote of `text` holds it.
pub fn ends_all_blocks(text: &str) -> bool {
    let probed = format!("{text}\n\nx");
    let mut depth = 0_usize;
    let mut probe = false;
    for (event, range) in Parser::new_ext(&probed, markup()).into_offset_iter() {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Text(_) => probe = depth == 1 && range == (probed.len() - 1..probed.len()),
            _ => probe = false,
        }
    }
    probe
}

fn collect(text: &str, from: usize, depth: usize, ranges: &mut Vec<Range<usize>>) {
    let mut fenced = false;
    for (event, range) in Parser::new_ext(text, markup()).into_offset_iter() {
        match event {
            Event::Code(_) => ranges.push(from + range.start..from + range.end),
            Event::Start(Tag::CodeBlock(kind)) => {
                fenced = matches!(kind, CodeBlockKind::Fenced(_));
            }
            Event::End(TagEnd::CodeBlock) => {
                let block = &text[range.clone()];
                if !fenced || is_closed(block) {
                    ranges.push(from + range.start..from + range.end);
                } else if depth < DEEPEST {
                    let first = block.find('\n').map_or(block.len(), |at| at + 1);
                    collect(
                        &block[first..],
                        from + range.start + first,
                        depth + 1,
                        ranges,
                    );
                }
            }
            _ => {}
        }
    }
}

/// Whether a fenced block ends with a fence of its own.
fn is_closed(block: &str) -> bool {
    let mut lines = block.trim_end().lines();
    let opened = lines.next().map_or("", str::trim_start);
    let Some(fence) = opened.chars().next() else {
        return false;
    };
    let run = |line: &str| line.chars().take_while(|&c| c == fence).count();
    // Lines of a quote begin with its sign.
    let Some(last) = lines
        .next_back()
        .map(|line| line.trim_start_matches(['>', ' ', '\t']))
    else {
        return false;
    };
    run(last) >= run(opened) && last.trim_end().chars().all(|c| c == fence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_what_commonmark_says() {
        for (text, code) in [
            ("a `b` c", vec!["`b`"]),
            ("a ``b ` c`` d", vec!["``b ` c``"]),
            ("a ` b `` c", vec![]),
            ("a \\`b` c", vec![]),
            ("a `b\nc` d", vec!["`b\nc`"]),
            ("a `b\n\nc` d", vec![]),
            ("```\na\n```\nb", vec!["```\na\n```"]),
            ("```\na\n\nb `c` d", vec!["`c`"]),
            ("~~~\na\n~~~", vec!["~~~\na\n~~~"]),
            ("- a\n  ```\n  b\n  ```\n", vec!["```\n  b\n  ```"]),
            ("> ```\n> a\n> ```\n\nb", vec!["```\n> a\n> ```"]),
            ("> ```\n> a\n\nb", vec![]),
            ("| ` | [9] ` |\n|---|---|\n", vec![]),
            ("a\n\n    b\n", vec!["b\n"]),
        ] {
            let found: Vec<&str> = code_ranges(text)
                .into_iter()
                .map(|range| &text[range])
                .collect();
            assert_eq!(found, code, "{text:?}");
        }
    }

    #[test]
    fn what_holds_the_next_block_is_known() {
        for (text, ends) in [
            ("a `b", true),
            ("- a\n- b", true),
            ("> a", true),
            ("```\na", false),
            ("```\na\n```", true),
            ("<!-- a", false),
            ("- ```\n  a", true),
        ] {
            assert_eq!(ends_all_blocks(text), ends, "{text:?}");
        }
    }
}
