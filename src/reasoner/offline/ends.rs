//! Where a sentence ends, in English and Chinese.

/// The sentences of a paragraph, in order, each with its end mark.
pub(super) fn sentences(paragraph: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut sentence = String::new();
    let mut chars = paragraph.chars().peekable();
    while let Some(c) = chars.next() {
        sentence.push(c);
        let end = match c {
            '。' | '！' | '？' => !chars.peek().is_some_and(|next| "”」』）".contains(*next)),
            '”' | '」' | '』' | '）' => {
                ["。", "！", "？"]
                    .iter()
                    .any(|mark| sentence.strip_suffix(c).is_some_and(|s| s.ends_with(mark)))
                    && !chars.peek().is_some_and(|next| "，“、（".contains(*next))
            }
            '.' | '!' | '?' => {
                chars.peek().is_none_or(|next| next.is_whitespace()) && !is_abbreviation(&sentence)
            }
            _ => false,
        };
        if end {
            found.push(std::mem::take(&mut sentence).trim().to_owned());
        }
    }
    found.push(sentence.trim().to_owned());
    found.retain(|sentence| !sentence.is_empty());
    found
}

fn is_abbreviation(sentence: &str) -> bool {
    let last = sentence.rsplit([' ', '(']).next().unwrap_or_default();
    let last = last.trim_end_matches('.');
    let initial = last.chars().count() == 1 && last.chars().all(char::is_uppercase);
    initial
        || matches!(
            last.to_lowercase().as_str(),
            "e.g"
                | "i.e"
                | "etc"
                | "vs"
                | "mr"
                | "mrs"
                | "ms"
                | "dr"
                | "prof"
                | "st"
                | "jr"
                | "sr"
                | "no"
                | "fig"
                | "cf"
                | "al"
                | "inc"
                | "ltd"
                | "co"
                | "approx"
                | "u.s"
        )
}
