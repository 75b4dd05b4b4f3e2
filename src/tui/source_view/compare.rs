//! Whether a document still says what was found in it.

use crate::domain::LineRange;
use crate::protocol::{DocumentPart, Timestamp};
use crate::text::one_line;

/// How many characters of a passage's beginning are looked for.
const BEGINNING: usize = 80;

/// What is to be said of a document that was read later than its passage was found, and where the
/// passage stands if it has moved. `excerpt` is the passage's beginning on one line.
pub fn compared(
    part: &DocumentPart,
    lines: LineRange,
    excerpt: &str,
    asked_at: Timestamp,
) -> (Option<String>, Option<LineRange>) {
    let beginning: String = excerpt
        .trim_end_matches('…')
        .chars()
        .take(BEGINNING)
        .collect();
    let beginning = beginning.trim();
    if stands_at(part, lines, beginning) {
        let written_since = part.modified.is_some_and(|modified| modified > asked_at);
        let said = "the file was written since; the passage begins as it did";
        return (written_since.then(|| said.to_owned()), None);
    }
    let length = lines.end.saturating_sub(lines.start);
    let moved = (part.first..=part.last())
        .filter(|number| could_begin(part, *number, beginning))
        .map(|start| LineRange {
            start,
            end: start + length,
        })
        .filter(|place| stands_at(part, *place, beginning))
        .min_by_key(|place| place.start.abs_diff(lines.start));
    let said = match moved {
        Some(place) => format!("the file has changed since: the passage stands at {place} now"),
        None => "the file has changed since: the passage is not in it as it was found".to_owned(),
    };
    (Some(said), moved)
}

fn stands_at(part: &DocumentPart, lines: LineRange, beginning: &str) -> bool {
    let numbers = lines.start..=lines.end.min(lines.start + BEGINNING);
    let text: Vec<&str> = numbers.filter_map(|number| part.line(number)).collect();
    // Of a line that was cut, the rest cannot be compared.
    if text
        .iter()
        .any(|line| line.chars().count() > DocumentPart::LONGEST_LINE)
    {
        return true;
    }
    // A passage begins with a line, or within one that is too long for one passage.
    let first = text.iter().map(|line| one_line(line, usize::MAX));
    let first = first.map(|line| line.len()).find(|length| *length > 0);
    let at = one_line(&text.join("\n"), usize::MAX).find(beginning);
    at.is_some_and(|at| at < first.unwrap_or(0))
}

/// A cheap look at one line, because every line is looked at.
fn could_begin(part: &DocumentPart, number: usize, beginning: &str) -> bool {
    let first_word = beginning.split(' ').next().unwrap_or_default();
    let line = part.line(number).unwrap_or_default();
    !line.trim().is_empty() && line.contains(first_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(lines: &[&str], modified: u64) -> DocumentPart {
        DocumentPart {
            first: 1,
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            total: lines.len(),
            modified: Some(Timestamp(modified)),
            ..DocumentPart::default()
        }
    }

    #[test]
    fn a_document_that_changed_says_so_and_where_its_passage_is_now() {
        let at = |start, end| LineRange { start, end };
        let asked = Timestamp(100);
        let now = part(&["# Title", "", "one  two", "\tthree", "end"], 50);
        let compared = |part: &DocumentPart, lines, excerpt| compared(part, lines, excerpt, asked);
        assert_eq!(compared(&now, at(3, 4), "one two three"), (None, None));
        assert_eq!(compared(&now, at(3, 4), "one two thr…"), (None, None));
        let (said, moved) = compared(&now, at(1, 2), "one two three");
        assert!(said.unwrap().contains("stands at 3-4 now"));
        assert_eq!(moved, Some(at(3, 4)));
        let (said, moved) = compared(&now, at(9, 10), "gone for good");
        assert!(said.unwrap().contains("not in it as it was found"));
        assert_eq!(moved, None);
        let written = part(&["one"], 200);
        let (said, moved) = compared(&written, at(1, 1), "one");
        assert!(said.unwrap().contains("written since"));
        assert_eq!(moved, None);
    }
}
