//! Where the caret stands in the text that is edited, and how far the characters beside it reach.
//!
//! The editor counts code points; a person sees graphemes, of which an emoji may have several.

use tui_textarea::{CursorMove, TextArea};
use unicode_segmentation::UnicodeSegmentation;

/// The line of the caret, before it and after it.
pub fn line_at_caret<'a>(area: &'a TextArea<'_>) -> (&'a str, &'a str) {
    let caret = area.cursor();
    let line = area.lines().get(caret.0).map_or("", String::as_str);
    let end = line.char_indices().nth(caret.1).map_or(line.len(), |c| c.0);
    line.split_at(end)
}

/// The grapheme before the caret; empty at the beginning of a line.
pub fn grapheme_before<'a>(area: &'a TextArea<'_>) -> &'a str {
    let (before, _) = line_at_caret(area);
    before.graphemes(true).next_back().unwrap_or_default()
}

/// The grapheme after the caret; empty at the end of a line.
pub fn grapheme_after<'a>(area: &'a TextArea<'_>) -> &'a str {
    let (_, after) = line_at_caret(area);
    after.graphemes(true).next().unwrap_or_default()
}

/// Moves the caret this many code points within its line.
pub fn move_within_line(area: &mut TextArea<'_>, by: isize) {
    let caret = area.cursor();
    let column = caret.1.saturating_add_signed(by);
    if let (Ok(row), Ok(column)) = (caret.0.try_into(), column.try_into()) {
        area.move_cursor(CursorMove::Jump(row, column));
    }
}
