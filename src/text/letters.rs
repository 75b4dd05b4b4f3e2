//! How many letters of a text are in English, and how many in other languages.

use whatlang::Lang;

use super::is_cjk;

/// Fewer letters than this do not tell a language.
const FEWEST_LETTERS: usize = 60;

/// The letters of a text, by language.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LetterCounts {
    /// All letters.
    pub all: usize,
    /// The letters of languages other than English.
    pub foreign: usize,
}

impl LetterCounts {
    /// Counts the letters of a passage. A letter of another script is foreign; in a passage that is surely in
    /// another language all letters are.
    pub fn of_passage(text: &str) -> Self {
        let letters = text.chars().filter(|c| c.is_alphabetic());
        let all = letters.clone().count();
        let foreign = letters.filter(|c| is_cjk(*c) || !is_latin(*c)).count();
        if all < FEWEST_LETTERS || foreign * 2 > all {
            return Self { all, foreign };
        }
        let is_foreign = whatlang::detect(text)
            .is_some_and(|found| found.is_reliable() && found.lang() != Lang::Eng);
        Self {
            all,
            foreign: if is_foreign { all } else { foreign },
        }
    }

    /// The share of foreign letters, 0–1; 0 of a text without letters.
    pub fn foreign_share(self) -> f64 {
        self.foreign as f64 / self.all.max(1) as f64
    }
}

impl std::iter::Sum for LetterCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, count| Self {
            all: sum.all + count.all,
            foreign: sum.foreign + count.foreign,
        })
    }
}

/// Latin letters with their extensions, and the punctuation around them.
fn is_latin(c: char) -> bool {
    matches!(c, '\0'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' | '\u{2c60}'..='\u{2c7f}' | '\u{a720}'..='\u{a7ff}' | '\u{fb00}'..='\u{fb06}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_other_languages_are_counted_by_script_or_by_passage() {
        let foreign = |text| LetterCounts::of_passage(text).foreign;
        let english = "The gate opens at seven in the morning and closes when the last guest has left the house.";
        assert_eq!(foreign(english), 0);
        for text in [
            "大门早上七点开，最后一位客人离开后关闭。",
            "Das Tor öffnet morgens um sieben und schließt, wenn der letzte Gast das Haus verlassen hat.",
            "La porte ouvre à sept heures du matin et ferme quand le dernier invité a quitté la maison.",
            "Ворота открываются в семь утра и закрываются, когда уходит последний гость.",
        ] {
            let counts = LetterCounts::of_passage(text);
            assert_eq!(counts.foreign, counts.all, "{text}");
        }
        let code = "pub fn reader(&self) -> Arc<dyn Reader> { self.store.reader() } // the index as it is now";
        assert_eq!(foreign(code), 0);
        assert_eq!(foreign("α and β"), 2);
    }
}
