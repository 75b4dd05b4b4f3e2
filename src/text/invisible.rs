//! Characters that no eye can see, and what becomes of each.
//!
//! They come from two Unicode properties, `Default_Ignorable_Code_Point` (DerivedCoreProperties.txt)
//! and `Bidi_Control` (PropList.txt); a test holds the table to both, so that a character which
//! neither names stands here with its own reason: the line and paragraph separators, at which
//! terminals and readers of lines break, the interlinear annotation marks, the musical null note
//! head, and the empty Braille cell.
//!
//! Most are removed. What stands for a blank becomes one, so that columns and words stay apart.
//! What writes something together stays where it can: a joiner within an emoji or within a script
//! that joins, and the choice between a picture and a letter behind a character that has both.
//! Ideographic variants (U+E0100 on) lose their variant, flags of regions their region: nothing on
//! a terminal shows them, and words can be hidden in both.

/// What becomes of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CharTreatment {
    /// It can be seen, or it is white space.
    Stays,
    /// It becomes a space.
    Blank,
    /// It stays behind a character that it joins or changes.
    Joins,
    /// It chooses a picture or a letter, and stays behind a character that has both.
    Chooses,
    /// It goes.
    Goes,
}

/// What becomes of `c`, controls aside.
#[inline]
pub(super) fn treatment_of(c: char) -> CharTreatment {
    // Most text is of these, and costs one comparison or two.
    if c < '\u{ad}' || ('\u{3165}'..'\u{fe00}').contains(&c) {
        return CharTreatment::Stays;
    }
    match c {
        '\u{2028}' | '\u{2029}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' => CharTreatment::Blank,
        '\u{200c}' | '\u{200d}' => CharTreatment::Joins,
        '\u{fe0e}' | '\u{fe0f}' => CharTreatment::Chooses,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d159}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => CharTreatment::Goes,
        _ => CharTreatment::Stays,
    }
}

/// Whether `c`, which joins or chooses, has something before it to do that to.
pub(super) fn stays_behind(c: char, before: char) -> bool {
    match treatment_of(c) {
        CharTreatment::Joins => joins(before) || (c == '\u{200d}' && is_picture(before)),
        // A digit in a frame is one of the pictures.
        CharTreatment::Chooses => is_picture(before) || matches!(before, '#' | '*' | '0'..='9'),
        _ => false,
    }
}

/// Letters and vowel signs of scripts in which a joiner, or its absence, changes how a word is
/// written: Arabic and its kin, the scripts of India and their kin, Mongolian.
fn joins(c: char) -> bool {
    matches!(c,
        '\u{620}'..='\u{74f}'
        | '\u{750}'..='\u{8ff}'
        | '\u{900}'..='\u{dff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17d3}'
        | '\u{1820}'..='\u{18aa}'
        | '\u{1a20}'..='\u{1aad}'
        | '\u{1b00}'..='\u{1bff}'
        | '\u{a840}'..='\u{a8ff}'
        | '\u{a980}'..='\u{a9df}'
        | '\u{aa60}'..='\u{aa7f}'
        | '\u{abc0}'..='\u{abff}'
        | '\u{fb50}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}'
        | '\u{10a00}'..='\u{10aff}'
        | '\u{11000}'..='\u{11fff}')
}

/// Characters that have a picture, and what stands behind one in an emoji of several parts.
fn is_picture(c: char) -> bool {
    matches!(c,
        '\u{a9}'
        | '\u{ae}'
        | '\u{203c}'
        | '\u{2049}'
        | '\u{20e3}'
        | '\u{2122}'
        | '\u{2139}'
        | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}'
        | '\u{24c2}'
        | '\u{25a0}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}'
        | '\u{3030}'
        | '\u{303d}'
        | '\u{3297}'
        | '\u{3299}'
        | '\u{fe0f}'
        | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_the_table_is_the_properties_of_unicode() {
        let property =
            regex::Regex::new(r"^[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]$").unwrap();
        let own = [
            '\u{2028}',
            '\u{2029}',
            '\u{2800}',
            '\u{fff9}',
            '\u{fffa}',
            '\u{fffb}',
            '\u{1d159}',
        ];
        for c in '\0'..=char::MAX {
            let invisible = property.is_match(c.encode_utf8(&mut [0; 4])) || own.contains(&c);
            assert_eq!(
                treatment_of(c) != CharTreatment::Stays,
                invisible,
                "U+{:04X}",
                c as u32
            );
        }
    }

    #[test]
    fn shown_every_emoji_can_keep_its_parts_together() {
        let picture = regex::Regex::new(r"^\p{Extended_Pictographic}$").unwrap();
        for c in ('\0'..=char::MAX).filter(|c| picture.is_match(c.encode_utf8(&mut [0; 4]))) {
            assert!(is_picture(c) || c > '\u{1faff}', "U+{:04X}", c as u32);
        }
    }
}
