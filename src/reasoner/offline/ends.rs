//! Where a sentence ends, in English, German and Chinese.
//!
//! A full stop also stands behind abbreviations and ordinals. Which it is, is told by the word in
//! front of it and the one behind: "3. Mai" goes on, "in 1999. The" does not.

/// The sentences of a paragraph, in order, each with its end mark.
pub(super) fn sentences(paragraph: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut from = 0;
    for (at, c) in paragraph.char_indices() {
        let end = at + c.len_utf8();
        if ends(&paragraph[from..end], c, &paragraph[end..]) {
            found.push(paragraph[from..end].trim().to_owned());
            from = end;
        }
    }
    found.push(paragraph[from..].trim().to_owned());
    found.retain(|sentence| !sentence.is_empty());
    found
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
    let last = last.trim_start_matches(|c: char| !c.is_alphanumeric());
    let last = last.to_lowercase();
    ALWAYS.contains(&last.as_str())
        || BEFORE_NUMBERS.contains(&last.as_str()) && next.is_some_and(|c| c.is_ascii_digit())
        || IN_MIDST.contains(&last.as_str()) && next.is_some_and(|c| !c.is_uppercase())
}

/// "am 3. Mai", "der 2. Stock" and a number alone, as of a list that runs on.
fn is_ordinal(number: &str, before: Option<&str>, rest: &str) -> bool {
    if number.len() > 2 || rest.is_empty() {
        return false;
    }
    let Some(before) = before.filter(|word| !word.is_empty()) else {
        return true;
    };
    let before = before.to_lowercase();
    let next = rest.split(|c: char| !c.is_alphabetic()).next();
    let next = next.unwrap_or_default().to_lowercase();
    let month = MONTHS.iter().any(|month| next.starts_with(month));
    let lower = rest.starts_with(|c: char| c.is_lowercase());
    DECLINED.contains(&before.as_str()) || month || lower
}

/// Before these a full stop is never the end.
#[rustfmt::skip]
const ALWAYS: &[&str] = &[
    "e.g", "i.e", "vs", "mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "cf", "al", "inc", "ltd", "co",
    "approx", "u.s", "z.b", "d.h", "u.a", "bzw", "ca", "ggf", "evtl", "inkl", "zzgl", "vgl", "hr", "fr", "dipl",
    "geb", "gegr", "sog", "i.d.r", "dept", "est",
];

/// Abbreviations only in front of a number.
const BEFORE_NUMBERS: &[&str] = &[
    "no", "nos", "nr", "fig", "abb", "p", "pp", "vol", "ch", "sec", "art", "tel", "abs", "bd",
];

/// Ends of enumerations and times of day, which may end the sentence as well.
const IN_MIDST: &[&str] = &["etc", "usw", "usf", "a.m", "p.m", "max", "min", "str"];

/// German words in front of a number that is declined.
const DECLINED: &[&str] = &[
    "am", "der", "den", "dem", "des", "die", "das", "im", "zum", "vom", "ab", "bis", "seit",
    "jeden",
];

/// How months begin, in English and German.
const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "mär", "apr", "mai", "may", "jun", "jul", "aug", "sep", "okt", "oct",
    "nov", "dez", "dec",
];

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
        ] {
            assert_eq!(sentences(text).len(), parts, "{:?}", sentences(text));
        }
    }
}
