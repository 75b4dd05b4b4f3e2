//! Words with joints, `kb/base.rs`, `PROJ-123`, `jane@example.com`, whole and in parts.
//!
//! Two levels: `/` and `@` part a path, a URL or an address into segments, of which the last few
//! are kept together too, because people remember the end of a path; `_`, `-` and `.`, and the
//! humps of `CamelCase`, part a segment into words.

use super::query_terms::{Role, Terms, char_at, is_word};

/// Longer runs are data, not words.
const MAX_BYTES: usize = 120;
/// How many ends of a path are kept whole, besides all of it.
const ENDS: usize = 2;

/// Articles and pronouns of French, Italian and Catalan before a vowel, as in `l'eau`; the lists are
/// Lucene's.
const ELIDED: &[&str] = &[
    "l", "d", "c", "j", "m", "t", "s", "n", "v", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu", "un",
    "all", "dall", "dell", "nell", "sull", "coll", "pell", "gl", "agl", "dagl", "degl", "negl",
    "sugl",
];

/// Adds the compound that begins here; returns where it ends.
pub(super) fn take(text: &str, from: usize, terms: &mut Terms) -> usize {
    let end = end_of(text, from);
    if is_elided(text, from, end) {
        return end;
    }
    add(&text[from..end], terms);
    let marked = marked_end(text, from, end);
    if marked > end {
        terms.push(&[&text[from..marked]], Role::Exact);
    }
    after_contraction(text, marked)
}

/// Adds `.NET`, `.env` whole, if the dot begins a name. Its parts come with what follows.
pub(super) fn take_dotted(text: &str, dot: usize, terms: &mut Terms) {
    let bytes = text.as_bytes();
    let opens = dot.checked_sub(1).is_none_or(|before| {
        bytes[before].is_ascii_whitespace() || matches!(bytes[before], b'(' | b'`' | b'"' | b'\'')
    });
    if opens && bytes.get(dot + 1).is_some_and(u8::is_ascii_alphabetic) {
        let name = bytes[dot + 1..].iter();
        let length = name.take_while(|byte| byte.is_ascii_alphanumeric()).count();
        if length < MAX_BYTES {
            terms.push(&[&text[dot..=dot + length]], Role::Exact);
        }
    }
}

fn end_of(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        match bytes.get(at) {
            Some(byte) if byte.is_ascii_alphanumeric() => at += 1,
            Some(b',') if groups_digits(bytes, at) => at += 1,
            Some(b'"' | b'\'') if is_within_hebrew(text, at) => at += 1,
            Some(byte) if is_joint(*byte) || is_bar(*byte) => {
                // A joint is one only between words.
                match char_at(text, at + 1).filter(|&c| is_word(c)) {
                    Some(_) => at += 1,
                    None => return at,
                }
            }
            Some(byte) if !byte.is_ascii() => match char_at(text, at).filter(|&c| is_word(c)) {
                Some(c) => at += c.len_utf8(),
                None => return at,
            },
            _ => return at,
        }
    }
}

/// `1,234`: three digits follow and one goes before.
fn groups_digits(bytes: &[u8], comma: usize) -> bool {
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    digit(comma.wrapping_sub(1)) && (1..=3).all(|step| digit(comma + step)) && !digit(comma + 4)
}

/// `צה"ל`, `ג'ירפה`: a mark that belongs to a Hebrew word. The double one stands before the last
/// letter; elsewhere it quotes.
fn is_within_hebrew(text: &str, mark: usize) -> bool {
    let is_letter = |c: char| matches!(c, 'א'..='ת');
    let mut after = text[mark + 1..].chars();
    text[..mark].ends_with(is_letter)
        && after.next().is_some_and(is_letter)
        && (text[mark..].starts_with('\'') || !after.next().is_some_and(is_letter))
}

fn is_elided(text: &str, from: usize, end: usize) -> bool {
    let after = match char_at(text, end) {
        Some(mark @ ('\'' | '\u{2019}')) => char_at(text, end + mark.len_utf8()),
        _ => None,
    };
    after.is_some_and(char::is_alphabetic)
        && ELIDED
            .iter()
            .any(|article| text[from..end].eq_ignore_ascii_case(article))
}

fn is_joint(byte: u8) -> bool {
    matches!(byte, b'_' | b'-' | b'.')
}

fn is_bar(byte: u8) -> bool {
    matches!(byte, b'/' | b'@')
}

/// `C++`, `C#`: marks that belong to a name of one or two letters.
fn marked_end(text: &str, from: usize, end: usize) -> usize {
    let bytes = text.as_bytes();
    if end - from > 2 || !bytes[from..end].iter().all(u8::is_ascii_alphabetic) {
        return end;
    }
    let marked = match bytes[end..] {
        [b'+', b'+', ..] => end + 2,
        [b'#', ..] => end + 1,
        _ => return end,
    };
    let goes_on = char_at(text, marked).is_some_and(|c| is_word(c) || c == '+' || c == '#');
    if goes_on { end } else { marked }
}

/// The position behind a contraction such as `'s`, `'t` or `'re`.
fn after_contraction(text: &str, at: usize) -> usize {
    let Some(mark @ ('\'' | '\u{2019}')) = char_at(text, at) else {
        return at;
    };
    let rest = &text[at + mark.len_utf8()..];
    let length = rest
        .find(|c: char| !c.is_alphabetic())
        .unwrap_or(rest.len());
    let is_ending = ["s", "t", "re", "ve", "ll", "d", "m"]
        .iter()
        .any(|ending| rest[..length].eq_ignore_ascii_case(ending));
    if is_ending {
        at + mark.len_utf8() + length
    } else {
        at
    }
}

fn add(run: &str, terms: &mut Terms) {
    let bytes = run.as_bytes();
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    if has_digit
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b',')
    {
        if run.len() <= MAX_BYTES {
            let groups: Vec<&str> = run.split(',').collect();
            terms.push(&groups, Role::Exact);
        }
        return;
    }
    if !bytes.iter().any(|byte| is_bar(*byte)) {
        segment(run, has_digit, terms);
        return;
    }
    let whole = if has_digit { Role::Exact } else { Role::Joined };
    let bars = bytes.iter().filter(|byte| is_bar(**byte)).count();
    let mut rest = run;
    for left in (1..=bars).rev() {
        if (left == bars || left <= ENDS) && rest.len() <= MAX_BYTES {
            terms.push(&[rest], whole);
        }
        let bar = rest
            .bytes()
            .position(is_bar)
            .map_or(rest.len(), |at| at + 1);
        rest = &rest[bar..];
    }
    for part in run.split(|c: char| c.is_ascii() && is_bar(c as u8)) {
        segment(part, has_digit, terms);
    }
}

/// One word, or several that are joined.
fn segment(segment: &str, is_exact: bool, terms: &mut Terms) {
    if segment.len() > MAX_BYTES {
        return;
    }
    let (word, whole) = if is_exact {
        (Role::Exact, Role::Exact)
    } else {
        (Role::Word, Role::Joined)
    };
    if !segment.bytes().any(|byte| is_joint(byte) || byte == b',') && !has_humps(segment) {
        terms.push(&[segment], word);
        return;
    }
    // The whole goes first; whether there are parts is known when the second one comes.
    terms.push(&[segment], whole);
    let joints = |c: char| c.is_ascii() && (is_joint(c as u8) || c == ',');
    let mut parted = segment;
    if let Some(bare) = without_v(segment) {
        terms.push(&[bare], whole);
        let named = segment.split(joints).next().unwrap_or(segment);
        terms.push(&[named], word);
        parted = bare;
    }
    for part in parted.split(joints) {
        humps(part, |hump| {
            if hump.len() == segment.len() {
                // No parts after all: the word itself, which is there already.
                if let Some((_, role)) = terms.ends.last_mut() {
                    *role = word;
                }
            } else {
                terms.push(&[hump], word);
            }
        });
    }
}

/// `1.2` of `v1.2`.
fn without_v(segment: &str) -> Option<&str> {
    let bare = segment.strip_prefix(['v', 'V'])?;
    let is_version = bare.contains('.') && bare.starts_with(|c: char| c.is_ascii_digit());
    is_version.then_some(bare)
}

/// Whether it could have humps; to say no is what has to be quick.
fn has_humps(segment: &str) -> bool {
    let mut bytes = segment.bytes();
    bytes.next();
    bytes.any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii())
}

/// `CamelCase` → `Camel`, `Case`; `HTTPServer` → `HTTP`, `Server`.
fn humps<'a>(word: &'a str, mut sink: impl FnMut(&'a str)) {
    let mut start = 0;
    let mut chars = word.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((at, c)) = chars.next() {
        if let Some(before) = before
            && c.is_uppercase()
        {
            let lower_follows = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
            if before.is_lowercase() || (before.is_uppercase() && lower_follows) {
                sink(&word[start..at]);
                start = at;
            }
        }
        before = Some(c);
    }
    if start < word.len() {
        sink(&word[start..]);
    }
}
