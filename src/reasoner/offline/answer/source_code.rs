//! Whether code defines what is asked for.

/// Words before the name of what is defined.
#[rustfmt::skip]
const DEFINING: &[&str] = &[
    "fn", "def", "class", "struct", "enum", "trait", "interface", "function", "func", "type", "const", "static",
    "let", "var", "module", "mod", "macro_rules!", "impl", "record", "object", "fun", "sub", "table",
];

/// Whether the code defines one of these names.
pub(super) fn defines(code: &str, names: &[String]) -> bool {
    code.lines().any(|line| {
        let mut words = line.split(|c: char| c.is_whitespace() || "(<:={,;&".contains(c));
        let mut before = "";
        words.any(|word| {
            let defined = DEFINING.contains(&before) && names.iter().any(|name| name == word);
            if !word.is_empty() {
                before = word;
            }
            defined
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_found_by_name() {
        let name = |name: &str| vec![name.to_owned()];
        for (code, defined) in [
            ("pub async fn retry_all(", "retry_all"),
            ("def backoff(attempt):", "backoff"),
            ("class Queue<T> {", "Queue"),
            ("export const LIMIT = 5;", "LIMIT"),
            ("create table users (", "users"),
        ] {
            assert!(defines(code, &name(defined)), "{code}");
            assert!(!defines(code, &name("other")), "{code}");
        }
        assert!(!defines("x = backoff(1)", &name("backoff")));
    }
}
