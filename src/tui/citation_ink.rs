//! The marks of citations in a row.

use super::ink::{Ink, Row};

/// Gives `[12]` the ink of a citation.
pub fn with_citations(row: Row) -> Row {
    let mut marked = Row::default();
    for piece in row.pieces {
        if piece.ink == Ink::Code {
            marked.push_emphatic(piece.ink, piece.emphasis, piece.text);
            continue;
        }
        let mut rest = piece.text.as_str();
        while let Some(open) = rest.find('[') {
            let digits = rest[open + 1..]
                .bytes()
                .take_while(u8::is_ascii_digit)
                .count();
            let close = open + 1 + digits;
            if digits > 0 && rest[close..].starts_with(']') {
                marked.push_emphatic(piece.ink, piece.emphasis, &rest[..open]);
                marked.push_emphatic(Ink::Citation, piece.emphasis, &rest[open..=close]);
                rest = &rest[close + 1..];
            } else {
                marked.push_emphatic(piece.ink, piece.emphasis, &rest[..=open]);
                rest = &rest[open + 1..];
            }
        }
        marked.push_emphatic(piece.ink, piece.emphasis, rest);
    }
    marked
}
