//! Whether a number is one, or a time: only the format of its cell says so.

/// What a number format makes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberFormat {
    Number,
    Date,
    /// Hours that do not end at 24.
    Duration,
}

impl NumberFormat {
    /// Of a number below 164: ECMA-376, part 1, 18.8.30.
    pub fn built_in(number: u16) -> Self {
        match number {
            14..=22 | 27..=36 | 45 | 47 | 50..=58 => Self::Date,
            46 => Self::Duration,
            _ => Self::Number,
        }
    }

    /// Of a code as it is typed into Excel, `dd/mm/yyyy`.
    pub fn of_code(code: &str) -> Self {
        if code.eq_ignore_ascii_case("general") {
            return Self::Number;
        }
        let mut characters = code.chars();
        while let Some(character) = characters.next() {
            match character.to_ascii_lowercase() {
                // What follows stands for itself, or for its width.
                '\\' | '_' | '*' => {
                    characters.next();
                }
                '"' => {
                    characters.find(|c| *c == '"');
                }
                // A colour, a condition or a currency; or hours, minutes or seconds in all.
                '[' => {
                    let within: String = characters.by_ref().take_while(|c| *c != ']').collect();
                    let is_time = |c| matches!(c, 'h' | 'H' | 'm' | 'M' | 's' | 'S');
                    if !within.is_empty() && within.chars().all(is_time) {
                        return Self::Duration;
                    }
                }
                // Only the first of several formats is for every number.
                ';' => break,
                'd' | 'm' | 'y' | 'h' | 's' => return Self::Date,
                _ => {}
            }
        }
        Self::Number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_says_what_its_numbers_are() {
        for (code, expected) in [
            ("General", NumberFormat::Number),
            ("dd/mm/yyyy", NumberFormat::Date),
            ("[$-409]d-mmm-yy;@", NumberFormat::Date),
            ("[h]:mm:ss", NumberFormat::Duration),
            ("[Red]#,##0.00", NumberFormat::Number),
            ("0.00 \"days\"", NumberFormat::Number),
            ("0 \\d", NumberFormat::Number),
            ("_(* #,##0_);_(@_)", NumberFormat::Number),
        ] {
            assert_eq!(NumberFormat::of_code(code), expected, "{code}");
        }
    }
}
