//! Puts an answer that is there as a whole into the numbers of its first use.

use crate::text::code_ranges;

use super::citation_marks::Citable;
use super::citations::is_within;

/// The pieces of a text, the n-th of `places` called n where a mark outside code names it. A mark
/// stays whole, in the piece in which it begins.
pub(super) fn renumbered(pieces: &[String], places: &[usize]) -> Vec<String> {
    let text = pieces.concat();
    let code = code_ranges(&text);
    let citable = Citable::numbers(places.len());
    let marks = citable.marks(&text);
    let mut marks = marks
        .filter(|mark| !is_within(&mark.range, &code))
        .peekable();
    let (mut end, mut shown) = (0, 0);
    let renumber = |piece: &String| {
        end += piece.len();
        let mut renumbered = String::with_capacity(piece.len());
        while let Some(mark) = marks.next_if(|mark| mark.range.start < end) {
            renumbered.push_str(&text[shown..mark.range.start]);
            let written = &text[mark.range.clone()];
            renumbered.push_str(&with_numbers(written, &mark.numbers, places));
            shown = mark.range.end;
        }
        renumbered.push_str(&text[shown.min(end)..end]);
        shown = shown.max(end);
        renumbered
    };
    pieces.iter().map(renumber).collect()
}

/// The mark with the places of its numbers in place of them; what separates them stays.
fn with_numbers(mark: &str, numbers: &[usize], places: &[usize]) -> String {
    let mut left = mark;
    let mut renumbered = String::with_capacity(mark.len());
    for n in numbers {
        let digits = left.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
        renumbered.push_str(&left[..digits]);
        let place = places.iter().position(|place| place == n);
        renumbered.push_str(&place.map_or(*n, |at| at + 1).to_string());
        left = left[digits..].trim_start_matches(|c: char| c.is_ascii_digit());
    }
    renumbered + left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_marks_are_renumbered_whole_and_outside_code() {
        let text = "A [12]. `x[3]` 依据[3、12] and [1].";
        for cut in (0..=text.len()).filter(|&at| text.is_char_boundary(at)) {
            let pieces = [text[..cut].to_owned(), text[cut..].to_owned()];
            let renumbered = renumbered(&pieces, &[12, 3, 1]);
            assert_eq!(
                renumbered.concat(),
                "A [1]. `x[3]` 依据[2、1] and [3].",
                "cut at {cut}"
            );
        }
        let pieces = ["See [", "3]."].map(str::to_owned);
        assert_eq!(renumbered(&pieces, &[3]), ["See [1]", "."]);
    }
}
