use crate::text::is_cjk;

/// A text with the names of code in it as words: `maxItems` and `max_items` are "max items".
pub(in super::super) fn spelt_out(text: &str) -> String {
    let mut spelt = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        if c == '_' {
            spelt.push(' ');
        } else if before.is_lowercase() && c.is_uppercase() {
            spelt.push(' ');
            spelt.extend(c.to_lowercase());
        } else {
            spelt.push(c);
        }
        before = c;
    }
    spelt
}

/// Whether a text says a name, whatever its case, and not only as the beginning of a longer one: `PROJ-10`
/// does not say `PROJ-1`.
pub(in super::super) fn says_name(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    let apart = |c: Option<char>| c.is_none_or(|c| !(c.is_alphanumeric() || c == '_') || is_cjk(c));
    !name.is_empty()
        && text.match_indices(&name).any(|(at, found)| {
            apart(text[..at].chars().next_back()) && apart(text[at + found.len()..].chars().next())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r06_a_name_is_no_beginning_of_a_longer_one() {
        for (text, name, said) in [
            ("fixed by PROJ-10.", "PROJ-1", false),
            ("fixed by proj-1.", "PROJ-1", true),
            ("工单PROJ-1被阻塞", "PROJ-1", true),
            ("`KB_THEME_DARK`", "KB_THEME", false),
            ("use --mermaid", "--mermaid", true),
            ("anything", "", false),
        ] {
            assert_eq!(says_name(text, name), said, "{text}");
        }
    }

    #[test]
    fn r06_names_of_code_are_spelt_out() {
        assert_eq!(
            spelt_out("maxItems of RE_RETRIEVE in McDonald"),
            "max items of RE RETRIEVE in Mc donald"
        );
    }
}
