//! A prompt file: the system message, a border, the user message; `{{name}}` where values go.
//!
//! Values are put in by one pass over the file, so braces inside a value stay what they are. A
//! place whose value is empty leaves no gap.

use super::super::wire::Message;

const BORDER: &str = "=== user ===";

/// A prompt with places for values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    system: String,
    user: String,
}

impl Template {
    /// A prompt that is known to be sound.
    pub fn new(file: &str) -> Self {
        let (system, user) = file.split_once(BORDER).unwrap_or((file, ""));
        Self {
            system: system.trim().to_owned(),
            user: user.trim().to_owned(),
        }
    }

    /// A prompt of the user's: it must name every value of `must`, and may name those that the built-in one
    /// names. The error is one line.
    pub fn checked(file: &str, built_in: &Self, must: &[&str]) -> Result<Self, String> {
        if !file.contains(BORDER) {
            return Err(format!(
                "has no line '{BORDER}': instructions come before it, what varies after"
            ));
        }
        let template = Self::new(file);
        let names = template.names();
        if let Some(missing) = must.iter().find(|name| !names.contains(name)) {
            return Err(format!(
                "has no {{{{{missing}}}}}: without it the prompt cannot work"
            ));
        }
        let known = built_in.names();
        if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
            return Err(format!(
                "has {{{{{}}}}}, which has no value: there are {{{{{}}}}}",
                crate::text::one_line(unknown, 40),
                known.join("}}, {{")
            ));
        }
        Ok(template)
    }

    /// The values that it has places for.
    fn names(&self) -> Vec<&str> {
        let places = [&self.system, &self.user]
            .into_iter()
            .flat_map(|text| text.split("{{").skip(1));
        places
            .filter_map(|rest| Some(rest.split_once("}}")?.0))
            .collect()
    }

    /// The messages with the values put in.
    pub fn fill(&self, values: &[(&str, String)]) -> Vec<Message> {
        vec![
            Message::new("system", fill_places(&self.system, values)),
            Message::new("user", fill_places(&self.user, values)),
        ]
    }
}

fn fill_places(text: &str, values: &[(&str, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
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
            Template::new(file).fill(&values),
            [
                Message::new("system", "be kind"),
                Message::new("user", "{{c}} and {{\n\nend"),
            ]
        );
    }
}
