//! Figures as a person reads them.

/// `1 call`, `2 calls`.
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// A time in milliseconds: `412 ms`, `3.2 s`, `2 m 05 s`.
pub fn duration(ms: f64) -> String {
    if ms < 999.5 {
        format!("{ms:.0} ms")
    } else if ms < 59_950.0 {
        format!("{:.1} s", ms / 1000.0)
    } else {
        let seconds = (ms / 1000.0).round() as u64;
        format!("{} m {:02} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_the_unit_that_fits() {
        assert_eq!(duration(412.4), "412 ms");
        assert_eq!(duration(999.6), "1.0 s");
        assert_eq!(duration(3210.0), "3.2 s");
        assert_eq!(duration(125_000.0), "2 m 05 s");
    }

    #[test]
    fn one_of_them_is_no_plural() {
        assert_eq!(counted(1, "call"), "1 call");
        assert_eq!(counted(0, "call"), "0 calls");
    }
}
