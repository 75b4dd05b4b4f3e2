//! A prompt file: the system message, a border, the user message; `{{name}}` where values go.
//!
//! Values are put in by one pass over the file, so braces inside a value stay what they are. A
//! place whose value is empty leaves no gap.

use super::super::wire::Message;

const BORDER: &str = "=== user ===";

/// The messages of a prompt file with the values put in.
pub fn messages(file: &str, values: &[(&str, String)]) -> Vec<Message> {
    let (system, user) = file.split_once(BORDER).unwrap_or((file, ""));
    vec![
        Message::system(filled(system, values)),
        Message::user(filled(user, values)),
    ]
}

fn filled(text: &str, values: &[(&str, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.trim();
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, after)) = after.split_once("}}") else {
            out.push_str("{{");
            rest = after;
            continue;
        };
        let value = values
            .iter()
            .find(|(known, _)| *known == name)
            .map_or("", |(_, value)| value.as_str());
        out.push_str(value);
        rest = if value.is_empty() && out.is_empty() | out.ends_with('\n') {
            after.trim_start_matches('\n')
        } else {
            after
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in_once_and_empty_ones_leave_no_gap() {
        let file = "be {{mood}}\n=== user ===\n{{a}}\n\n{{b}}\n\n{{c}}\n\nend";
        let values = [
            ("mood", "kind".to_owned()),
            ("a", String::new()),
            ("b", "{{c}} and {{".to_owned()),
            ("c", String::new()),
        ];
        assert_eq!(
            messages(file, &values),
            [
                Message::system("be kind"),
                Message::user("{{c}} and {{\n\nend"),
            ]
        );
    }
}
