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
