/// From nothing to the most.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Where there is no value.
const GAP: char = '·';

/// A bar for each value, as high as its share of `most`; only nothing has the lowest.
pub fn sparkline(values: impl IntoIterator<Item = Option<f64>>, most: f64) -> String {
    let highest = BARS.len() - 1;
    let bar = |value: Option<f64>| match value {
        None => GAP,
        Some(value) if value > 0.0 && most > 0.0 => {
            let level = (value / most * highest as f64).ceil() as usize;
            BARS[level.clamp(1, highest)]
        }
        Some(_) => BARS[0],
    };
    values.into_iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_rise_with_their_values_and_a_gap_is_no_zero() {
        let values = [Some(0.0), Some(0.01), None, Some(0.5), Some(1.0), Some(9.0)];
        assert_eq!(sparkline(values, 1.0), "▁▂·▅██");
        assert_eq!(sparkline([Some(0.0), None], 0.0), "▁·");
    }
}
