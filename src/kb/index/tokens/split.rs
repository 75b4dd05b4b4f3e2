//! A folded text into its terms, whole and in parts.
//!
//! Scripts without spaces give single characters and pairs. Words have joints, `kb/base.rs`, `PROJ-123`,
//! `jane@example.com`, on two levels: `/` and `@` part a path, a URL or an address into segments, of which
//! the last few are kept together too, because people remember the end of a path; `_`, `-` and `.`, and the
//! humps of `CamelCase`, part a segment into words.

use std::mem;

use unicode_normalization::char::is_combining_mark;

use crate::text::is_cjk;

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

/// The role of a term in the text it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A word, or a word of a compound such as `high-speed`.
    Word,
    /// Words that are joined, all of them: they may stand apart in what is looked for.
    Joined,
    /// Something exact: an id or number, a part of one, a character.
    Exact,
    /// The term before it in another spelling.
    Spelling,
}

/// A text's terms, one after the other.
#[derive(Clone, Default)]
pub(super) struct Terms {
    pub(super) text: String,
    /// The end and the role of each term.
    pub(super) ends: Vec<(usize, Role)>,
}

impl Terms {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// The terms in order, with what each stands for.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Role)> {
        let mut start = 0;
        self.ends
            .iter()
            .map(move |&(end, role)| (&self.text[mem::replace(&mut start, end)..end], role))
    }

    /// Adds these pieces as one term, in lower case and without the marks of Hebrew abbreviations.
    pub(super) fn push(&mut self, pieces: &[&str], role: Role) {
        for piece in pieces {
            let from = self.text.len();
            if piece.is_ascii() {
                self.text.push_str(piece);
                self.text[from..].make_ascii_lowercase();
            } else {
                let lower = piece.chars().flat_map(char::to_lowercase);
                let kept = lower.filter(|c| !matches!(c, '"' | '\''));
                // The same letter, whatever comes after it.
                self.text
                    .extend(kept.map(|c| if c == 'ς' { 'σ' } else { c }));
            }
        }
        self.end(role);
    }

    /// Ends a term that was written to the text.
    pub(super) fn end(&mut self, role: Role) {
        self.ends.push((self.text.len(), role));
    }
}

/// Splits a folded text into terms.
pub(super) fn split(text: &str, terms: &mut Terms) {
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        at = if byte.is_ascii_alphanumeric() {
            take(text, at, terms)
        } else if byte.is_ascii() {
            if byte == b'.' {
                take_dotted(text, at, terms);
            }
            at + 1
        } else {
            match char_at(text, at) {
                Some(c) if is_unspaced(c) => pairs(text, at, terms),
                Some(c) if c.is_alphanumeric() => take(text, at, terms),
                Some(c) if is_picture(c) => picture(text, at, terms),
                Some(c) => at + c.len_utf8(),
                None => text.len(),
            }
        };
    }
}

/// Characters and pairs of characters of a script without spaces; returns where the run ends. A
/// vowel or tone mark stays with the character that it belongs to.
fn pairs(text: &str, from: usize, terms: &mut Terms) -> usize {
    let mut before: Option<&str> = None;
    let mut at = from;
    while char_at(text, at).is_some_and(is_unspaced) {
        let mut end = at;
        while let Some(c) = char_at(text, end).filter(|&c| end == at || is_combining_mark(c)) {
            end += c.len_utf8();
        }
        let one = &text[at..end];
        if let Some(before) = before {
            terms.push(&[before, one], Role::Exact);
        }
        terms.push(&[one], Role::Exact);
        before = Some(one);
        at = end;
    }
    at
}

/// A picture, or the two letters that make a flag; returns where it ends.
fn picture(text: &str, from: usize, terms: &mut Terms) -> usize {
    let is_flag_letter = |c: &char| matches!(c, '\u{1f1e6}'..='\u{1f1ff}');
    let mut chars = text[from..].chars();
    let first = chars.next().map_or(0, char::len_utf8);
    let is_flag = text[from..].chars().take(2).filter(is_flag_letter).count() == 2;
    let end = from + if is_flag { 2 * first } else { first };
    terms.push(&[&text[from..end]], Role::Exact);
    end
}

/// Adds the compound that begins here; returns where it ends.
fn take(text: &str, from: usize, terms: &mut Terms) -> usize {
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
fn take_dotted(text: &str, dot: usize, terms: &mut Terms) {
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
            Some(byte) if is_joint(char::from(*byte)) || is_bar(char::from(*byte)) => {
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
    let is_article = |article: &&str| text[from..end].eq_ignore_ascii_case(article);
    after.is_some_and(char::is_alphabetic) && ELIDED.iter().any(is_article)
}

fn is_joint(c: char) -> bool {
    matches!(c, '_' | '-' | '.')
}

fn is_bar(c: char) -> bool {
    matches!(c, '/' | '@')
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
    at + if is_ending {
        mark.len_utf8() + length
    } else {
        0
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
    if !run.contains(is_bar) {
        segment(run, has_digit, terms);
        return;
    }
    let whole = if has_digit { Role::Exact } else { Role::Joined };
    let bars = run.matches(is_bar).count();
    let mut rest = run;
    for left in (1..=bars).rev() {
        if (left == bars || left <= ENDS) && rest.len() <= MAX_BYTES {
            terms.push(&[rest], whole);
        }
        rest = &rest[rest.find(is_bar).map_or(rest.len(), |at| at + 1)..];
    }
    for part in run.split(is_bar) {
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
    let joints = |c: char| is_joint(c) || c == ',';
    if !segment.contains(joints) && !has_humps(segment) {
        terms.push(&[segment], word);
        return;
    }
    // The whole goes first; whether there are parts is known when the second one comes.
    terms.push(&[segment], whole);
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

fn char_at(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next()
}

/// Chinese, Japanese, Korean; Thai, Lao, Myanmar, Khmer.
pub(super) fn is_unspaced(c: char) -> bool {
    if c < '\u{e00}' {
        return false;
    }
    let is_south_east = matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}');
    (is_cjk(c) || is_south_east) && c.is_alphanumeric()
}

/// Part of a word in a script with spaces; Indic vowel signs are marks, not letters.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || (!c.is_ascii() && (c.is_alphanumeric() || is_combining_mark(c)) && !is_unspaced(c))
}

/// A picture that is looked for like a word: emoji, symbols and dingbats. Signs that print has always
/// had, such as arrows and `©`, are none.
fn is_picture(c: char) -> bool {
    matches!(c,
        '\u{231a}' | '\u{231b}' | '\u{2328}' | '\u{23cf}' | '\u{23e9}'..='\u{23fa}'
        | '\u{2600}'..='\u{27bf}' | '\u{2b1b}'..='\u{2b55}' | '\u{1f000}'..='\u{1faff}')
}
