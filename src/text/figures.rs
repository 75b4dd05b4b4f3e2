//! Figures as a person reads them.

/// `1 call`, `2 calls`.
pub fn plural(count: usize, noun: &str) -> String {
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

/// The bars from the lowest value to the highest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Where there is no value.
const GAP: char = '·';

/// A bar for each value, as high as its share of `most`, or else of the highest value; only a zero
/// has the lowest bar. Empty where values cannot be compared: there is one, or none is known.
pub fn sparkline(values: &[Option<f64>], most: Option<f64>) -> String {
    if values.len() < 2 || values.iter().all(Option::is_none) {
        return String::new();
    }
    let most = most.unwrap_or_else(|| values.iter().flatten().copied().fold(0.0, f64::max));
    let highest = BARS.len() - 1;
    let bar = |value: &Option<f64>| match *value {
        None => GAP,
        Some(value) if value > 0.0 && most > 0.0 => {
            let level = (value / most * highest as f64).ceil() as usize;
            BARS[level.clamp(1, highest)]
        }
        Some(_) => BARS[0],
    };
    values.iter().map(bar).collect()
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
        assert_eq!(plural(1, "call"), "1 call");
        assert_eq!(plural(0, "call"), "0 calls");
    }

    #[test]
    fn bars_rise_with_their_values_and_a_gap_is_no_zero() {
        let values = [Some(0.0), Some(0.01), None, Some(0.5), Some(1.0), Some(9.0)];
        assert_eq!(sparkline(&values, Some(1.0)), "▁▂·▅██");
        assert_eq!(sparkline(&[Some(0.0), None], Some(0.0)), "▁·");
        let counts = [Some(2.0), None, None, Some(1.0)];
        assert_eq!(sparkline(&counts, None), "█··▅");
        assert_eq!(sparkline(&counts, Some(4.0)), "▅··▃");
        assert_eq!(sparkline(&[None, None], None), "");
        assert_eq!(sparkline(&[Some(1.0)], None), "");
    }
}
