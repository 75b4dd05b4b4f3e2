//! What is known of languages: where words and sentences end, and one table of words each.
//!
//! A table is a file in `assets/language/`; code asks for what a word does, never for the word.

mod names;
mod numbers;
mod phrases;
mod sentences;
mod table;
mod terms;
mod tokens;

pub(super) use names::spelt_out;
pub(super) use numbers::number_at;
pub(super) use phrases::Phrases;
pub(super) use sentences::sentences;
pub(super) use table::{Table, table};
pub(super) use terms::{is_stop, terms, terms_among};
pub(super) use tokens::{Sign, Token, tokens};

use crate::domain::Language;

/// The language of a text: the script that most of it is in, then the stop words it holds.
///
/// A Han character counts as a word does, and so does each word of the question form once more: names
/// in other letters change nothing.
pub(super) fn language_of(text: &str) -> Language {
    language_among(text, &tokens(text))
}

/// The same, where the text is parted already.
pub(super) fn language_among(text: &str, tokens: &[Token]) -> Language {
    let (mut han, mut kana, mut words) = (0, 0, 0);
    let mut forms = [0_usize; 3];
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let mut length = 1;
        match token.sign {
            Sign::Han => {
                han += 1;
                if let Some(found) = table(Language::Zh).stop.at(tokens, at) {
                    forms[0] += 1;
                    length = found;
                    han += found - 1;
                }
            }
            Sign::Kana => kana += 1,
            Sign::Word => {
                words += 1;
                for (count, language) in forms[1..].iter_mut().zip([Language::En, Language::De]) {
                    let table = table(language);
                    let said = &table.said;
                    let social = [&said.greeting, &said.thanks, &said.goodbye];
                    let known = table.generic.has(&token.word)
                        || is_stop(&token.word, language)
                        || social.iter().any(|list| list.at(tokens, at).is_some());
                    *count += usize::from(known);
                }
            }
            Sign::Mark => {}
        }
        at += length;
    }
    let [chinese, english, german] = forms;
    let umlaut = |c| matches!(c, 'ä' | 'ö' | 'ü' | 'ß');
    if han > kana && han + 2 * chinese > words + 2 * english.max(german) {
        Language::Zh
    } else if german > english || german == english && text.contains(umlaut) {
        Language::De
    } else {
        Language::En
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_the_language_is_that_of_the_most_of_a_text() {
        for (text, language) in [
            ("What is the fast path?", Language::En),
            ("什么是快速路径？", Language::Zh),
            ("Was ist der schnelle Weg?", Language::De),
            ("Kündigungsfrist", Language::De),
            // One foreign character changes nothing.
            ("What does 快 mean in the log?", Language::En),
            ("快速路径会跳过の哪些节点", Language::Zh),
            ("ルーティングとは何ですか", Language::En),
            ("VectorTool是什么", Language::Zh),
            ("什么是 fast path", Language::Zh),
            ("What is 快速路径?", Language::En),
            ("Was bedeutet RE_RETRIEVE?", Language::De),
            ("What was the war about?", Language::En),
            ("", Language::En),
            ("12 + 3", Language::En),
        ] {
            assert_eq!(language_of(text), language, "{text}");
        }
    }
}
