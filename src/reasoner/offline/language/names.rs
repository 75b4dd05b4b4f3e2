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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r06_names_of_code_are_spelt_out() {
        assert_eq!(
            spelt_out("maxItems of RE_RETRIEVE in McDonald"),
            "max items of RE RETRIEVE in Mc donald"
        );
    }
}
