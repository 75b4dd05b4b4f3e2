use super::table::table;
use super::tokens::{Sign, Token};
use crate::domain::Language;

/// The number that begins at a token, in figures or in words, and how many tokens it takes:
/// 十三 is 13, "two hundred" 200.
pub(in super::super) fn number_at(
    tokens: &[Token],
    at: usize,
    language: Language,
) -> Option<(u64, usize)> {
    if let Some(figures) = tokens.get(at).and_then(|token| token.word.parse().ok()) {
        return Some((figures, 1));
    }
    let value = |token: &Token| {
        let numbers = &table(token.language(language)).numbers;
        (token.sign != Sign::Mark)
            .then(|| numbers.get(&token.word).copied())
            .flatten()
    };
    // `sum` is what the powers of ten so far came to, `left` what waits for the next.
    let (mut sum, mut left, mut length) = (0_u64, 0_u64, 0);
    for value in tokens.get(at..)?.iter().map_while(value) {
        length += 1;
        if value < 10 || !is_power_of_ten(value) {
            left = left.saturating_add(value);
        } else if sum > 0 && value > sum {
            sum = sum.saturating_add(left).saturating_mul(value);
            left = 0;
        } else {
            sum = sum.saturating_add(left.max(1).saturating_mul(value));
            left = 0;
        }
    }
    (length > 0).then(|| (sum.saturating_add(left), length))
}

fn is_power_of_ten(value: u64) -> bool {
    10_u64.pow(value.ilog10()) == value
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    #[test]
    fn numbers_are_read_in_words_and_figures() {
        for (text, language, number, length) in [
            ("十三条", Language::Zh, 13, 2),
            ("二十天", Language::Zh, 20, 2),
            ("二百三十五", Language::Zh, 235, 5),
            ("一百零五个", Language::Zh, 105, 4),
            ("三万五千", Language::Zh, 35_000, 4),
            ("两个", Language::Zh, 2, 1),
            ("two files", Language::En, 2, 1),
            ("twenty three thousand", Language::En, 23_000, 3),
            ("two hundred five", Language::En, 205, 3),
            ("zwölf Tage", Language::De, 12, 1),
            ("30 days", Language::En, 30, 1),
        ] {
            assert_eq!(
                number_at(&tokens(text), 0, language),
                Some((number, length)),
                "{text}"
            );
        }
        assert_eq!(number_at(&tokens("files"), 0, Language::En), None);
        assert_eq!(number_at(&tokens(""), 0, Language::En), None);
    }
}
