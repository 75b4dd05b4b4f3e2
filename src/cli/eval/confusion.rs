//! How predicted labels stand to expected ones.

use std::collections::BTreeMap;

use serde::Serialize;

/// Counts by expected and predicted label.
///
/// Where several labels are acceptable, the one that was predicted counts as the expected one, and
/// the first of them when none was: so that every question is in exactly one row.
#[derive(Debug, Default)]
pub(super) struct ConfusionMatrix {
    rows: BTreeMap<String, BTreeMap<String, usize>>,
}

/// The figures of a confusion; the names are fixed.
#[derive(Debug, Default, Serialize)]
pub(super) struct ClassFigures {
    /// Questions.
    pub n: usize,
    /// Share whose predicted label is acceptable.
    pub accuracy: f64,
    /// The figures of each label, also of those that were only predicted.
    pub classes: BTreeMap<String, LabelFigures>,
    /// Counts by expected label, and within that by predicted label.
    pub confusion: BTreeMap<String, BTreeMap<String, usize>>,
}

/// One label.
#[derive(Debug, Default, Serialize)]
pub(super) struct LabelFigures {
    /// Questions that should get it.
    pub n: usize,
    /// Share of those that got it which should; 0 when none got it.
    pub precision: f64,
    /// Share of those that should get it which did; 0 when none should.
    pub recall: f64,
}

impl ConfusionMatrix {
    /// Counts one question. `acceptable` is not empty.
    pub fn add(&mut self, acceptable: &[String], predicted: &str) {
        let expected = if acceptable.iter().any(|label| label == predicted) {
            predicted
        } else {
            acceptable.first().map_or("", String::as_str)
        };
        let row = self.rows.entry(expected.to_owned()).or_default();
        *row.entry(predicted.to_owned()).or_default() += 1;
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn figures(self) -> ClassFigures {
        let labels: Vec<&String> = self
            .rows
            .keys()
            .chain(self.rows.values().flat_map(BTreeMap::keys))
            .collect();
        let mut classes = BTreeMap::new();
        let (mut n, mut right) = (0, 0);
        for label in labels {
            let row = self.rows.get(label);
            let hits = row.and_then(|row| row.get(label)).copied().unwrap_or(0);
            let expected: usize = row.map_or(0, |row| row.values().sum());
            let got: usize = self.rows.values().filter_map(|row| row.get(label)).sum();
            let class = LabelFigures {
                n: expected,
                precision: share(hits, got),
                recall: share(hits, expected),
            };
            if classes.insert(label.clone(), class).is_none() {
                n += expected;
                right += hits;
            }
        }
        ClassFigures {
            n,
            accuracy: share(right, n),
            classes,
            confusion: self.rows,
        }
    }
}

impl ClassFigures {
    /// A table with expected labels down and predicted ones across.
    pub fn as_text(&self) -> String {
        let width = self
            .classes
            .keys()
            .map(String::len)
            .max()
            .unwrap_or(0)
            .max(9);
        let mut text = format!(
            "  accuracy {:.3} of {}\n\n  {:width$}",
            self.accuracy, self.n, "expected"
        );
        for label in self.classes.keys() {
            text.push_str(&format!("  {label:>width$}"));
        }
        text.push_str("          n  precision     recall\n");
        for (label, class) in &self.classes {
            text.push_str(&format!("  {label:width$}"));
            for predicted in self.classes.keys() {
                let count = self.confusion.get(label).and_then(|row| row.get(predicted));
                text.push_str(&format!("  {:>width$}", count.unwrap_or(&0)));
            }
            let LabelFigures {
                n,
                precision,
                recall,
            } = class;
            text.push_str(&format!("  {n:>9}  {precision:>9.3}  {recall:>9.3}\n"));
        }
        text
    }
}

/// `part` of `whole`, 0 of nothing.
pub(super) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acceptable_label_counts_as_the_expected_one() {
        let mut confusion = ConfusionMatrix::default();
        let label = |name: &str| name.to_owned();
        confusion.add(&[label("a"), label("b")], "b");
        confusion.add(&[label("a"), label("b")], "c");
        confusion.add(&[label("c")], "c");
        confusion.add(&[label("c")], "a");
        let figures = confusion.figures();
        assert_eq!(figures.n, 4);
        assert!((figures.accuracy - 0.5).abs() < 1e-9);
        let class = |name: &str| {
            let class = &figures.classes[name];
            (class.n, class.precision, class.recall)
        };
        assert_eq!(class("a"), (1, 0.0, 0.0));
        assert_eq!(class("b"), (1, 1.0, 1.0));
        assert_eq!(class("c"), (2, 0.5, 0.5));
        assert_eq!(figures.confusion["a"]["c"], 1);
        let text = figures.as_text();
        assert!(text.contains("accuracy 0.500 of 4"), "{text}");
    }
}
