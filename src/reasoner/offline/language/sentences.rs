use std::ops::Range;

use super::table::{Abbreviations, LANGUAGES, table};

/// The sentences of a text, as byte ranges in order, each with its end mark.
///
/// A full stop also stands behind abbreviations and ordinals. Which it is, is told by the word in
/// front of it and the one behind: "3. Mai" goes on, "in 1999. The" does not. A blank line ends too.
pub(in super::super) fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if ends(&text[from..end], c, &text[end..]) {
            found.push(trimmed(text, from..end));
            from = end;
        }
    }
    found.push(trimmed(text, from..text.len()));
    found.retain(|sentence| !sentence.is_empty());
    found
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let sentence = &text[range.clone()];
    let start = range.start + sentence.len() - sentence.trim_start().len();
    start..start + sentence.trim().len()
}

/// Whether the sentence ends with `c`, its last character, when `rest` follows.
fn ends(sentence: &str, c: char, rest: &str) -> bool {
    let next = rest.chars().next();
    match c {
        '。' | '！' | '？' => !next.is_some_and(|next| "”」』）".contains(next)),
        '”' | '」' | '』' | '）' => {
            let inside = sentence.strip_suffix(c).unwrap_or(sentence);
            inside.ends_with(['。', '！', '？'])
                && !next.is_some_and(|next| "，“、（".contains(next))
        }
        '.' => next.is_none_or(char::is_whitespace) && !goes_on(sentence, rest.trim_start()),
        '!' | '?' => next.is_none_or(char::is_whitespace),
        '\n' => next == Some('\n'),
        _ => false,
    }
}

/// Whether the full stop at the end of `sentence` belongs to its last word.
fn goes_on(sentence: &str, rest: &str) -> bool {
    let mut words = sentence.trim_end_matches('.').rsplit([' ', '(', '\u{a0}']);
    let last = words.next().unwrap_or_default();
    let before = words.next();
    if !last.is_empty() && last.chars().all(|c| c.is_ascii_digit()) {
        return is_ordinal(last, before, rest);
    }
    let next = rest.chars().next();
    if last.chars().count() == 1 && last.chars().all(char::is_alphabetic) {
        // Initials, and abbreviations set with a space: "z. B.", "d. h.".
        let second = rest.chars().nth(1) == Some('.');
        let follows = before.is_some_and(|word| word.ends_with('.') && word.chars().count() == 2);
        return last.chars().all(char::is_uppercase) || second || follows;
    }
    let last = last
        .trim_start_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    listed(|words| &words.always, &last)
        || listed(|words| &words.before_numbers, &last) && next.is_some_and(|c| c.is_ascii_digit())
        || listed(|words| &words.in_midst, &last) && next.is_some_and(|c| !c.is_uppercase())
}

/// "am 3. Mai", "der 2. Stock" and a number alone, as of a list that runs on.
fn is_ordinal(number: &str, before: Option<&str>, rest: &str) -> bool {
    if number.len() > 2 || rest.is_empty() {
        return false;
    }
    let Some(before) = before.filter(|word| !word.is_empty()) else {
        return true;
    };
    let next = rest.split(|c: char| !c.is_alphabetic()).next();
    let next = next.unwrap_or_default().to_lowercase();
    let mut months = LANGUAGES
        .iter()
        .flat_map(|language| table(*language).months.iter().flatten());
    listed(|words| &words.ordinals_after, &before.to_lowercase())
        || months.any(|month| next == *month)
        || rest.starts_with(char::is_lowercase)
}

fn listed(list: impl Fn(&'static Abbreviations) -> &'static Vec<String>, word: &str) -> bool {
    let mut lists = LANGUAGES
        .iter()
        .map(|language| list(&table(*language).abbreviations));
    lists.any(|list| list.iter().any(|listed| listed == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_a_full_stop_is_not_always_an_end() {
        for (text, parts) in [
            ("Die Miete ist am 3. Mai fällig. Danach wird gemahnt.", 2),
            ("Der 2. Stock ist frei. Im 1. wohnt wer.", 2),
            ("Das gilt z. B. für Nr. 7 und d. h. immer. Sonst nicht.", 2),
            ("See No. 12 of vol. 3, e.g. by J. Doe. The rest is lost.", 2),
            ("Is it so? The answer is no. Nothing else is.", 3),
            ("It began in 1999. The next came by 5. They stayed.", 3),
            (
                "Bring pens, paper etc. and be there at 9 a.m. on time. Rest.",
                2,
            ),
            ("Bring pens, paper etc. The rest is there.", 2),
            ("3. Mai 2024", 1),
            ("他说：“好。”然后走了。第二句。", 3),
            ("One line\nof two\n\nAnother", 2),
            (" \n\n ", 0),
        ] {
            let found: Vec<&str> = sentences(text)
                .into_iter()
                .map(|range| &text[range])
                .collect();
            assert_eq!(found.len(), parts, "{found:?}");
        }
    }
}
