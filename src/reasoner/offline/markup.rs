//! The marks of Markdown and its kin, line by line.

use super::pointers::{LINK, unmarked};

/// Links and images reduced to their text.
pub(super) fn without_links(text: &str) -> String {
    unmarked(&with_marked_links(text))
}

/// Links and images reduced to their text, what links are called between [`LINK`].
pub(super) fn with_marked_links(text: &str) -> String {
    let text = unmarked(text);
    let text = text.as_str();
    let linked = |name: &str| format!("{}{name}{}", LINK.0, LINK.1);
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let (before, after) = rest.split_at(at);
        let image = before.ends_with('!');
        plain.push_str(before.strip_suffix('!').filter(|_| image).unwrap_or(before));
        if let Some(inner) = after.strip_prefix("[[")
            && let Some((name, tail)) = inner.split_once("]]")
        {
            plain.push_str(&linked(name.rsplit('|').next().unwrap_or(name)));
            rest = tail;
        } else if let Some((label, tail)) = after[1..].split_once("](")
            && !label.contains(['\n', '['])
            && let Some(end) = tail.find(')')
        {
            if !image {
                plain.push_str(&linked(label));
            }
            rest = &tail[end + 1..];
        } else {
            if image {
                plain.push('!');
            }
            plain.push('[');
            rest = &after[1..];
        }
    }
    plain.push_str(rest);
    plain
}

/// The next line of a paragraph: Chinese goes on without a space.
pub(super) fn join(text: &mut String, line: &str) {
    let wide = |c: Option<char>| {
        c.is_some_and(|c| crate::text::is_cjk(c) || "，。：；！？、”“".contains(c))
    };
    let runs_on = wide(text.chars().next_back()) && wide(line.chars().next());
    if !text.is_empty() && !runs_on {
        text.push(' ');
    }
    text.push_str(line);
}

/// Whether a line closes a fence: a longer fence may hold a shorter one.
pub(super) fn closes(opened: &str, line: &str) -> bool {
    let run = |text: &str, mark: char| text.chars().take_while(|c| *c == mark).count();
    let mark = opened.chars().next().unwrap_or('`');
    let marks = run(line, mark);
    marks == line.chars().count() && marks >= run(opened, mark)
}

/// What stands behind the mark of a list item, and its number. Boxes that are ticked and those that are
/// not say something, and are kept as signs.
pub(super) fn item_of(line: &str) -> Option<(Option<usize>, String)> {
    for mark in ["- ", "* ", "+ ", "• "] {
        if let Some(item) = line.strip_prefix(mark) {
            let boxes = [
                ("[ ] ", OPEN_BOX),
                ("[x] ", TICKED_BOX),
                ("[X] ", TICKED_BOX),
            ];
            let task = boxes
                .iter()
                .find_map(|(mark, sign)| Some(format!("{sign} {}", item.strip_prefix(mark)?)));
            return Some((None, task.unwrap_or_else(|| item.to_owned())));
        }
    }
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let rest = (1..=3).contains(&digits).then(|| &line[digits..])?;
    let item = rest
        .strip_prefix(". ")
        .or_else(|| rest.strip_prefix(") "))
        .or_else(|| rest.strip_prefix('、'))?;
    Some((line[..digits].parse().ok(), item.to_owned()))
}

/// A box of a task list that is not ticked, and one that is.
pub(super) const OPEN_BOX: char = '☐';
pub(super) const TICKED_BOX: char = '☑';

/// `Status: done`, as at the head of a ticket.
pub(super) fn is_field(line: &str) -> bool {
    line.split_once([':', '：']).is_some_and(|(key, _)| {
        key.chars().count() <= 24
            && key
                .chars()
                .next()
                .is_some_and(|c| c.is_uppercase() || crate::text::is_cjk(c))
            && key.split(' ').count() <= 3
    })
}

/// A short first line without an end, such as the title in front of an abstract.
pub(super) fn is_bare_title(line: &str, next: Option<&&str>) -> bool {
    let line = line.trim();
    line.chars().count() <= 60
        && line.starts_with(|c: char| c.is_alphanumeric())
        && !line.ends_with(['.', '。', ':', '：', ',', '，', '!', '?', '？', ';'])
        && !is_field(line)
        && item_of(line).is_none()
        && next.is_some_and(|next| next.chars().count() > 60)
}
