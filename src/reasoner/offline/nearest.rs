//! What is said when nothing answers: that nothing does, and what came nearest.

use crate::domain::Evidence;

use super::passage::Passage;

/// How many sources are named when nothing answers.
pub(super) const NEAREST: usize = 3;

/// The answer to a question that nothing answers: the nearest place in each of the nearest files,
/// with its heading, nearest first by the best of `relevances`, `[question][passage]`.
pub(super) fn nothing(
    items: &[Evidence],
    passages: &[Passage],
    relevances: &[Vec<f64>],
    chinese: bool,
) -> String {
    let best = |at: usize| relevances.iter().map(|row| row[at]).fold(0.0, f64::max);
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|a, b| best(*b).total_cmp(&best(*a)).then(a.cmp(b)));
    let mut nearest: Vec<usize> = Vec::new();
    for at in order {
        let source = |at: usize| &items[at].source;
        if !nearest.iter().any(|known| source(*known) == source(at)) {
            nearest.push(at);
        }
    }
    nearest.truncate(NEAREST);
    let (text, lead) = if chinese {
        ("知识库中没有能回答这个问题的内容。", "最接近的是：")
    } else {
        ("Nothing in the knowledge base answers this.", "Nearest:")
    };
    if nearest.is_empty() {
        return text.to_owned();
    }
    let places = nearest.iter().map(|at| {
        let item = &items[*at];
        let headings = passages[*at].units.iter();
        let mut headings = headings.map(|unit| unit.heading.as_str());
        let heading = headings.find(|heading| !heading.is_empty());
        let heading = heading.map_or(String::new(), |heading| format!(" — {heading}"));
        format!("- {}:{}{heading}", item.source, item.location())
    });
    let places: Vec<String> = places.collect();
    format!("{text}\n\n{lead}\n{}", places.join("\n"))
}
