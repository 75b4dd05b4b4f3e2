//! Lines of a Markdown file that begin and end something: the fences of code, and the metadata at
//! the top.

/// Front matter that goes on for longer is a text between two rules.
const LONGEST_FRONT_MATTER: usize = 100;

/// The line that opens a block of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// The fence that a line opens; blanks before it are the caller's to judge.
    pub fn opened_by(line: &str) -> Option<Self> {
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = line.chars().take_while(|&c| c == mark).count();
        let info = &line[length..];
        (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Self { mark, length })
    }

    /// Whether a line ends what this one began.
    pub fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|c| c == self.mark)
    }
}

/// Follows a text line by line: whether it is in a block of code, its fences included.
#[derive(Debug, Default)]
pub struct Fences(Option<Fence>);

impl Fences {
    /// Whether the next line is part of a block of code.
    pub fn hold(&mut self, line: &str) -> bool {
        match self.0 {
            Some(fence) if fence.is_closed_by(line) => self.0 = None,
            Some(_) => {}
            None => {
                self.0 = Fence::opened_by(line);
                return self.0.is_some();
            }
        }
        true
    }
}

/// The headings of a Markdown text with their lines, from 0, and without the marks of their level.
pub fn headings(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fences = Fences::default();
    text.lines().enumerate().filter_map(move |(at, line)| {
        let is_code = fences.hold(line);
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let is_heading = !is_code && (1..=6).contains(&level) && line[level..].starts_with(' ');
        is_heading.then(|| (at, line[level..].trim()))
    })
}

/// A heading without the marks of Markdown: links are their text.
pub fn plain_heading(heading: &str) -> String {
    let mut plain = String::with_capacity(heading.len());
    let mut rest = heading;
    while let Some(open) = rest.find('[') {
        let link = rest[open..].find("](").and_then(|middle| {
            let text = &rest[open + 1..open + middle];
            let end = rest[open + middle..].find(')')?;
            (!text.contains('[')).then_some((text, open + middle + end + 1))
        });
        let Some((text, after)) = link else { break };
        plain.push_str(&rest[..open]);
        plain.push_str(text);
        rest = &rest[after..];
    }
    plain.push_str(rest);
    plain.retain(|c| !matches!(c, '*' | '`' | '\\'));
    plain.trim().to_owned()
}

/// How many lines of metadata begin a file, as YAML or TOML, the rules around them included; 0 where
/// there are none.
pub fn front_matter<'a>(mut lines: impl Iterator<Item = &'a str>) -> usize {
    let ends: &[&str] = match lines.next().map(str::trim_end) {
        Some("---") => &["---", "..."],
        Some("+++") => &["+++"],
        _ => return 0,
    };
    lines
        .take(LONGEST_FRONT_MATTER - 1)
        .position(|line| ends.contains(&line.trim_end()))
        .map_or(0, |at| at + 2)
}

/// Whether a line begins an item of a list.
pub fn begins_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = if (1..=4).contains(&digits) {
        line[digits..].strip_prefix(['.', ')'])
    } else {
        line.strip_prefix(['-', '*', '+'])
    };
    rest.is_some_and(|rest| rest.starts_with([' ', '\t']))
}

/// How many items of lists and rows of tables begin in these lines; the names of columns are no row, and code has none.
pub fn count_items<'a>(lines: impl Iterator<Item = &'a str>) -> usize {
    let mut fences = Fences::default();
    let mut items = 0_usize;
    for line in lines.map(str::trim_start) {
        let is_row = line.starts_with('|');
        if fences.hold(line) {
            continue;
        }
        if is_row && line.contains('-') && !line.contains(char::is_alphanumeric) {
            // The rule below the names, which were counted.
            items = items.saturating_sub(1);
        } else if is_row || begins_item(line) {
            items += 1;
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_fence_as_long_and_of_the_same_mark_ends_a_block() {
        let mut fences = Fences::default();
        let text = "a\n````md\n```\nb\n~~~~\n````\nc\n~~~\nd ```\n~~~\n``` a `\ne";
        let held: Vec<&str> = text.lines().filter(|line| !fences.hold(line)).collect();
        assert_eq!(held, ["a", "c", "``` a `", "e"]);
    }

    #[test]
    fn items_and_rows_are_counted_where_they_begin() {
        for (text, count) in [
            ("All:\n\n- a\n  goes on\n  1. b\n\n* c\n", 3),
            ("| a | b |\n|---|:-:|\n| c | d |\n| - | e |\n", 2),
            ("| c | d |\n", 1),
            ("- a\n\n  ```\n  - b\n  ```\n\n2) c\n", 2),
            ("So it is - or not.\n**Bold**\n---\n", 0),
        ] {
            assert_eq!(count_items(text.lines()), count, "{text}");
        }
    }

    #[test]
    fn metadata_is_between_two_rules_at_the_top() {
        for (text, lines) in [
            ("---\ntitle: a\n---\nb", 3),
            ("--- \ntitle: a\n...\n", 3),
            ("---\n---\n", 2),
            ("+++\ntitle = 'a'\n+++\nb", 3),
            ("+++\ntitle = 'a'\n---\n", 0),
            ("---\ntitle: a\n", 0),
            ("a\n---\nb\n---\n", 0),
            ("", 0),
        ] {
            assert_eq!(front_matter(text.lines()), lines, "{text:?}");
        }
        assert_eq!(front_matter(["---"; 1].into_iter().chain(["a"; 200])), 0);
    }
}
