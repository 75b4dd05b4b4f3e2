//! Keeps citations honest while the answer streams: a mark that maps to nothing is taken out
//! before anybody sees it (R23).

/// Lets `[n]` through where n is an item, and removes it where it is not.
///
/// A mark may list several numbers, `[1, 3]`; those that map to nothing leave the list. Brackets
/// inside `code` are code. Text is held back only from an opening bracket to its end.
#[derive(Debug)]
pub(super) struct CitationFilter {
    /// How many items there are; `None` lets everything through.
    items: Option<usize>,
    /// A possible mark, with the one space before it.
    held: String,
    /// Length of the run of backticks that opened the code we are in; 0 outside.
    code: usize,
    /// Length of the run of backticks being read.
    ticks: usize,
    used: Vec<usize>,
    removed: Vec<usize>,
}

/// Longer than any list of numbers worth checking.
const LONGEST_MARK: usize = 48;

impl CitationFilter {
    /// For an answer over `items` items.
    pub(super) fn new(items: usize) -> Self {
        Self {
            items: Some(items),
            held: String::new(),
            code: 0,
            ticks: 0,
            used: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// For small talk, where brackets mean nothing (R24).
    pub(super) fn passing_all() -> Self {
        Self {
            items: None,
            ..Self::new(0)
        }
    }

    /// What of the next piece can be shown.
    pub(super) fn push(&mut self, piece: &str) -> String {
        let mut shown = String::with_capacity(piece.len());
        if self.items.is_none() {
            shown.push_str(piece);
            return shown;
        }
        for c in piece.chars() {
            self.accept(c, &mut shown);
        }
        shown
    }

    /// What was still held back: a bracket that never closed is text.
    pub(super) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// The numbers cited, each once, ascending.
    pub(super) fn used(&self) -> &[usize] {
        &self.used
    }

    /// The numbers removed, each once, ascending.
    pub(super) fn removed(&self) -> &[usize] {
        &self.removed
    }

    fn accept(&mut self, c: char, shown: &mut String) {
        self.follow_code(c);
        if self.held.contains('[') {
            match c {
                ']' => {
                    self.held.push(c);
                    let mark = std::mem::take(&mut self.held);
                    self.settle(&mark, shown);
                    return;
                }
                '0'..='9' | ',' | ' ' | '，' | '、' if self.held.len() < LONGEST_MARK => {
                    self.held.push(c);
                    return;
                }
                _ => {}
            }
        }
        let opens = c == '[' && self.code == 0;
        if opens && self.held == " " {
            self.held.push(c);
            return;
        }
        shown.push_str(&std::mem::take(&mut self.held));
        if opens || c == ' ' {
            self.held.push(c);
        } else {
            shown.push(c);
        }
    }

    fn follow_code(&mut self, c: char) {
        if c == '`' {
            self.ticks += 1;
        } else if self.ticks > 0 {
            let run = std::mem::take(&mut self.ticks);
            if self.code == 0 {
                self.code = run;
            } else if self.code == run {
                self.code = 0;
            }
        }
    }

    fn settle(&mut self, mark: &str, shown: &mut String) {
        let inside = mark.trim_start().trim_matches(['[', ']']);
        let numbers: Option<Vec<usize>> = inside
            .split([',', '，', '、'])
            .map(|part| number(part.trim()))
            .collect();
        let Some(numbers) = numbers else {
            shown.push_str(mark);
            return;
        };
        let items = self.items.unwrap_or(0);
        let (good, bad): (Vec<usize>, Vec<usize>) =
            numbers.iter().partition(|&&n| (1..=items).contains(&n));
        for &n in &good {
            note(&mut self.used, n);
        }
        for &n in &bad {
            note(&mut self.removed, n);
        }
        if bad.is_empty() {
            shown.push_str(mark);
        } else if !good.is_empty() {
            let space = if mark.starts_with(' ') { " " } else { "" };
            let good: Vec<_> = good.iter().map(ToString::to_string).collect();
            shown.extend([space, "[", &good.join(", "), "]"]);
        }
    }
}

/// A number too large to count with maps to nothing all the same.
fn number(digits: &str) -> Option<usize> {
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(usize::MAX))
}

fn note(numbers: &mut Vec<usize>, n: usize) {
    if let Err(at) = numbers.binary_search(&n) {
        numbers.insert(at, n);
    }
}

/// The text without its citation marks, as the conversation remembers it (R25).
pub fn without_marks(text: &str) -> String {
    let mut filter = CitationFilter::new(0);
    let mut plain = filter.push(text);
    plain.push_str(&filter.finish());
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(text: &str, items: usize) -> (String, Vec<usize>, Vec<usize>) {
        let mut whole = CitationFilter::new(items);
        let mut shown = whole.push(text);
        shown.push_str(&whole.finish());
        for cut in (0..=text.len()).filter(|&at| text.is_char_boundary(at)) {
            let mut parts = CitationFilter::new(items);
            let mut again = parts.push(&text[..cut]);
            again.push_str(&parts.push(&text[cut..]));
            again.push_str(&parts.finish());
            assert_eq!(again, shown, "cut at {cut}");
        }
        (shown, whole.used().to_vec(), whole.removed().to_vec())
    }

    #[test]
    fn r23_marks_that_map_to_nothing_are_removed() {
        for (text, shown, used, removed) in [
            ("It is so [1].", "It is so [1].", vec![1], vec![]),
            ("It is so [9].", "It is so.", vec![], vec![9]),
            ("So[2][7] it[1] is", "So[2] it[1] is", vec![1, 2], vec![7]),
            ("Both [1, 3, 2].", "Both [1, 2].", vec![1, 2], vec![3]),
            ("Zero [0] and [ 1 ]", "Zero and [ 1 ]", vec![1], vec![0]),
            ("依据[1、2]。", "依据[1、2]。", vec![1, 2], vec![]),
            (
                "not a mark [a1] [] [1",
                "not a mark [a1] [] [1",
                vec![],
                vec![],
            ),
            (
                "code `a[9]` stays [9]",
                "code `a[9]` stays",
                vec![],
                vec![9],
            ),
            ("```\nx[7]\n```\n[7]x", "```\nx[7]\n```\nx", vec![], vec![7]),
            ("[99999999999999999999999]", "", vec![], vec![usize::MAX]),
        ] {
            assert_eq!(
                filtered(text, 2),
                (shown.to_owned(), used, removed),
                "{text:?}"
            );
        }
    }

    #[test]
    fn r25_the_conversation_keeps_no_marks() {
        assert_eq!(
            without_marks("A is B [1]. C [2, 3] `x[0]`"),
            "A is B. C `x[0]`"
        );
    }
}
