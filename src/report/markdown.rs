//! Markdown that shows what documents and models say and does nothing that they say: no markup, link,
//! image or tag of theirs has an effect, except the form of the answer itself.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::wording;
use crate::protocol::{Branches, RunRecord, RunSummary};
use crate::text::{code_ranges, markup, sanitize};

/// The runs, one after the other.
pub(super) fn document(runs: &[RunRecord]) -> String {
    let branches = RunSummary::branches(runs.iter().map(|run| &run.summary));
    let sections = runs.iter().map(|run| section(run, &branches));
    let sections: Vec<String> = sections.collect();
    sections.join("\n---\n\n")
}

/// The question, the answer and what it cites.
pub(super) fn note(run: &RunRecord) -> String {
    let answer = run.answer.as_deref().map_or_else(String::new, quote_answer);
    let mut text = format!(
        "# {}\n\n{answer}",
        escaped(&wording::question(&run.summary))
    );
    list(&mut text, run.citations.iter().map(wording::citation));
    text.push_str(&format!("\n{}\n", escaped(&wording::course(&run.summary))));
    text
}

fn section(run: &RunRecord, branches: &Branches) -> String {
    let summary = &run.summary;
    let mut text = format!("# {}\n\n", escaped(&wording::question(summary)));
    let about = [wording::course(summary), wording::names(summary, branches)];
    for line in about.into_iter().chain(wording::labels(run)) {
        text.push_str(&format!("{}\n\n", escaped(&line)));
    }
    if let Some(limits) = wording::limits(run) {
        text.push_str(&format!("{}\n\n", escaped(&limits)));
    }
    let answer = run
        .answer
        .as_deref()
        .map_or_else(|| "no answer\n".to_owned(), quote_answer);
    text.push_str(&format!("## Answer\n\n{answer}"));
    list(&mut text, run.citations.iter().map(wording::citation));
    text.push_str("\n## Path\n\n");
    for (at, step) in run.path.iter().enumerate() {
        text.push_str(&format!(
            "{}. {}\n",
            at + 1,
            escaped(&wording::step(step, summary.mode))
        ));
        for note in wording::notes(step) {
            text.push_str(&format!("    - {}\n", escaped(&note)));
        }
    }
    if !run.evidence.is_empty() {
        text.push_str("\n## Evidence\n");
    }
    for item in wording::in_order(run) {
        text.push_str(&format!(
            "\n- {} {}  \n  {}\n\n  > {}\n",
            escaped(&wording::number(item)),
            escaped(&wording::place(item)),
            escaped(&wording::scores(item)),
            escaped(&wording::excerpt(item))
        ));
    }
    let troubles = wording::troubles(run);
    if !troubles.is_empty() {
        text.push_str("\n## Warnings\n");
        list(&mut text, troubles.into_iter());
    }
    text
}

fn list(text: &mut String, lines: impl Iterator<Item = String>) {
    for (at, line) in lines.enumerate() {
        let space = if at == 0 { "\n" } else { "" };
        text.push_str(&format!("{space}- {}\n", escaped(&line)));
    }
}

/// One line of plain text as Markdown that reads the same.
fn escaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len() + 8);
    let mut is_number = true;
    for (at, c) in line.char_indices() {
        let is_mark = match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&' | '!' | '$' => {
                true
            }
            '-' | '+' | '=' | ':' => at == 0,
            '.' | ')' => is_number,
            _ => false,
        };
        is_number &= c.is_ascii_digit();
        if is_mark {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// How often the answer is looked at again, since what is escaped may end what was code.
const MOST_LOOKS: usize = 8;

/// The answer in its own form, as a quotation: its headings, lists and code stay within it; its tags,
/// links and images are text, for readers of CommonMark and of all its extensions.
fn quote_answer(answer: &str) -> String {
    // Behind the sign of a quotation a tab would be less wide, and code no longer code.
    let answer = sanitize(answer).replace('\t', "    ");
    let with_code = quotation(&escaped_around_code(&answer));
    if has_effect(&with_code) {
        // What is code here ends earlier for readers of definition lists, footnotes or formulas.
        quotation(&without_effect(&answer, &[]))
    } else {
        with_code
    }
}

fn quotation(text: &str) -> String {
    let lines = text.lines().map(|line| format!("> {line}"));
    let lines: Vec<String> = lines
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect();
    lines.concat()
}

/// The text with its tags, links and images escaped except in code, which stays as it is.
fn escaped_around_code(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..MOST_LOOKS {
        let harmless = without_effect(&text, &code_ranges(&text));
        if harmless == text {
            break;
        }
        text = harmless;
    }
    text
}

/// Whether this Markdown holds a tag, a link or an image, as answers are read here or by a reader of
/// all extensions of CommonMark.
fn has_effect(markdown: &str) -> bool {
    [markup(), Options::all()].into_iter().any(|options| {
        Parser::new_ext(markdown, options).any(|event| {
            matches!(
                event,
                Event::Html(_)
                    | Event::InlineHtml(_)
                    | Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::HtmlBlock)
            )
        })
    })
}

/// The text with its tags, links and images escaped where they are no code and not escaped yet.
fn without_effect(text: &str, code: &[Range<usize>]) -> String {
    let mut escaped = String::with_capacity(text.len() + 64);
    let mut ranges = code.iter().peekable();
    let (mut before, mut is_escaped) = ('\0', false);
    for (at, c) in text.char_indices() {
        while ranges.next_if(|range| range.end <= at).is_some() {}
        let is_code = ranges.peek().is_some_and(|range| range.start <= at);
        let is_mark = match c {
            '<' => true,
            '[' => matches!(before, '!' | ']' | '['),
            '(' | ':' => before == ']',
            _ => false,
        };
        if is_mark && !is_code && !is_escaped {
            escaped.push('\\');
        }
        escaped.push(c);
        is_escaped = c == '\\' && !is_escaped && !is_code;
        before = c;
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn trust_an_answer_keeps_its_form_and_code_and_loses_its_effect() {
        let answer = "# Title\n\n- so [1] `<b>`\n\n```html\n<img src=x>\n```\n\
                      <img src=x> ![a](http://e/x) [b](http://e) <http://e>\n\n[1]: http://e\n";
        let quoted = quote_answer(answer);
        assert!(!has_effect(&quoted), "{quoted}");
        for kept in [
            "> # Title\n",
            "> - so [1] `<b>`\n",
            "> ```html\n> <img src=x>\n> ```\n",
        ] {
            assert!(quoted.contains(kept), "{quoted}");
        }
    }

    #[test]
    fn trust_what_is_escaped_ends_no_code_that_hides_a_tag() {
        for answer in [
            "<a title=\"`\">`<img src=x>`",
            "[x](<`>)`<img src=x>`",
            "\\\\<img src=x>",
            "```\n<img src=x>",
            "<!-- `\n\n`<img src=x>`",
            "``<img src=x>```\n:``",
        ] {
            let quoted = quote_answer(answer);
            assert!(!has_effect(&quoted), "{answer}: {quoted}");
        }
    }

    proptest! {
        #[test]
        fn trust_no_answer_has_an_effect(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "<img src=x>", "<a title=\"`\">", "`", "``", "```\n", "~~~\n", "\n", "\n\n", "    ", "\t",
                    "[", "]", "(http://e)", "!", ":", " http://e", "\\", "<", ">", "-", "a", " ", "|", "<!--",
                    "-->", "<http://e>", "[^1]", "1. ", "> ", "&lt;",
                ]),
                0..24,
            )
        ) {
            let answer = pieces.concat();
            let quoted = quote_answer(&answer);
            prop_assert!(!has_effect(&quoted), "{:?}: {}", answer, quoted);
        }

        #[test]
        fn trust_a_line_reads_as_it_was(line in "[ -~]{0,40}") {
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            let mut read = String::new();
            for event in Parser::new_ext(&escaped(&line), Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
                match event {
                    Event::Text(text) => read.push_str(&text),
                    Event::Start(Tag::Paragraph) | Event::End(_) => {}
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            prop_assert_eq!(read, line);
        }
    }
}
