//! Org and reStructuredText in the form of Markdown, as far as units need it.

/// Lines that rule off a heading in reStructuredText, beside those that Markdown has too.
const RULES: &[char] = &['~', '^', '"', '*', '+', '#', '`', '\''];

/// Org: headings by stars, what stands between `#+begin_src` and its end, the title.
pub(super) fn org(text: &str) -> String {
    let line = |line: &str| {
        let stars = line.chars().take_while(|c| *c == '*').count();
        if stars > 0 && line[stars..].starts_with(' ') {
            let head = line[stars..].trim();
            let states = ["TODO ", "DONE "]
                .iter()
                .find_map(|state| head.strip_prefix(state));
            return format!("# {}\n", states.unwrap_or(head));
        }
        let lower = line.trim().to_lowercase();
        if let Some(rest) = lower.strip_prefix("#+begin_") {
            return format!("```{}\n", rest.split(' ').nth(1).unwrap_or_default());
        }
        match (
            lower.strip_prefix("#+title:"),
            lower.starts_with("#+end_"),
            lower.starts_with("#+"),
        ) {
            (Some(_), ..) => format!("# {}\n", line.trim()["#+title:".len()..].trim()),
            (_, true, _) => "```\n".to_owned(),
            (_, _, true) => "\n".to_owned(),
            _ => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}

/// reStructuredText: its rules become such as Markdown has.
pub(super) fn rst(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let mut after_text = false;
    for line in text.lines() {
        let mark = line.chars().next().filter(|mark| RULES.contains(mark));
        let ruled = mark.is_some_and(|mark| line.len() > 2 && line.chars().all(|c| c == mark));
        if !ruled {
            told.push_str(line);
        } else if after_text {
            told.push_str("---");
        }
        told.push('\n');
        after_text = !line.trim().is_empty();
    }
    told
}
