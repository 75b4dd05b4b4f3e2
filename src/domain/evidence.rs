use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DecidedBy, LineRange, Place, PlaceUnit, Score, ToolName, location};
use crate::text::{headings, one_line, plain_heading};

/// Names one item within a run: `e1`, `e2` …
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EvidenceId(pub String);

impl fmt::Display for EvidenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a search measured before it made a score of it, as far as it measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Measured {
    /// BM25, unbounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bm25: Option<f64>,
    /// BM25 as a share of what a passage that holds all words of the query well would get, 0–1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Cosine between query and passage, -1 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f64>,
    /// Place among the lexical matches, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lexical_rank: Option<usize>,
    /// Place among the semantic matches, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector_rank: Option<usize>,
}

/// What a passage is about, as its document says it outside the passage's own lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Topic {
    /// The document's title; empty where it has none.
    pub title: String,
    /// Other names of the document, from its front matter.
    pub aliases: Vec<String>,
    /// The headings above the passage, outermost first.
    pub headings: Vec<String>,
    /// What of the lists and tables at its ends stands beyond it.
    pub beyond: ItemsBeyond,
}

/// How many items of a list, or rows of a table, a passage leaves out that holds others of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ItemsBeyond {
    /// Number of items or rows before the first line of the passage.
    pub above: usize,
    /// Number of items or rows behind the last line of the passage.
    pub below: usize,
}

/// A passage that a tool found (R14).
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Its name within the run.
    pub id: EvidenceId,
    /// The file, relative to its root, `/` between the parts.
    pub source: String,
    /// Where in the file; of a format without lines, where in its extracted text.
    pub lines: LineRange,
    /// Where in a format that has pages, slides, rows or sections.
    pub place: Option<Place>,
    /// Which tool found it.
    pub tool: ToolName,
    /// How well it matched, by that tool's own measure; not a grade.
    pub score: Score,
    /// What that measure was made of.
    pub measured: Measured,
    /// The passage: the text of exactly these lines.
    pub text: String,
    /// What it is about; empty where the tool that found it does not know.
    pub topic: Topic,
    /// Brought back after it had been discarded, because nothing better was left (R22).
    pub low: bool,
    /// Whose call found it, where a model and the program search beside each other; the model's where both did.
    pub by: Option<DecidedBy>,
}

impl Evidence {
    /// A text that stands in no file, the item of that number in a batch, from 1: a file's name would
    /// be one more thing to be judged.
    pub fn without_file(number: usize, text: &str) -> Self {
        Self {
            id: EvidenceId(format!("e{number}")),
            source: String::new(),
            lines: LineRange {
                start: 1,
                end: text.lines().count().max(1),
            },
            place: None,
            tool: ToolName::HybridSearch,
            score: Score::ZERO,
            measured: Measured::default(),
            text: text.to_owned(),
            topic: Topic::default(),
            low: false,
            by: None,
        }
    }

    /// Where in the document, as a person looks it up.
    pub fn location(&self) -> String {
        location(self.lines, self.place.as_ref())
    }

    /// Where these of its lines are. Of sections it names the one that they begin in, where the item holds its
    /// heading.
    pub fn place_of(&self, lines: LineRange) -> Option<Place> {
        let whole = self.place.clone()?;
        let above = lines.start.saturating_sub(self.lines.start);
        let headings = headings(&self.text).take_while(|(line, _)| *line <= above);
        let mut sections = (whole.start..).zip(headings).peekable();
        // A first line without a heading is in the section that its heading, above the item, begins.
        let is_within = sections.peek().is_none_or(|(_, (line, _))| *line > 0);
        let last = sections.last().filter(|_| whole.unit == PlaceUnit::Section);
        let Some((number, (_, heading))) = last else {
            return Some(whole);
        };
        let number = number + usize::from(is_within);
        Some(Place {
            unit: PlaceUnit::Section,
            name: Some(one_line(&plain_heading(heading), MAX_HEADING_CHARS)),
            start: number,
            end: number,
        })
    }
}

/// Names of places are shown on one line.
const MAX_HEADING_CHARS: usize = 200;

/// Whether two passages, each a source and lines of it, are one (R14).
pub fn is_same_passage(a: (&str, LineRange), b: (&str, LineRange)) -> bool {
    a.0 == b.0 && a.1.overlaps(b.1)
}

/// Adds `found` to `context`, merging what has the same source and overlapping lines (R14).
///
/// A merged item keeps the id, tool and place of the first; its lines and text grow to hold both,
/// and its score is the better of the two when the same tool found both. What a search measured stays
/// where the other tool measured nothing. New items get the next id counted by `next_id`. Returns the ids that were added or changed, in order of appearance.
pub fn add_evidence(
    context: &mut Vec<Evidence>,
    found: Vec<Evidence>,
    next_id: &mut usize,
) -> Vec<EvidenceId> {
    let mut touched = Vec::new();
    for mut item in found {
        // A wide item can bridge two that were apart, so merging repeats until nothing overlaps.
        let mut home: Option<usize> = None;
        while let Some(at) = context.iter().position(|known| {
            is_same_passage((&known.source, known.lines), (&item.source, item.lines))
        }) {
            let known = context.remove(at);
            touched.retain(|id| *id != known.id);
            home = Some(home.map_or(at, |before| before.min(at)));
            item = merge(known, &item);
        }
        if home.is_none() {
            *next_id += 1;
            item.id = EvidenceId(format!("e{next_id}"));
        }
        touched.push(item.id.clone());
        context.insert(home.unwrap_or(context.len()), item);
    }
    touched
}

fn merge(known: Evidence, other: &Evidence) -> Evidence {
    let text = join_lines(&known, other);
    let better = known.tool == other.tool && other.score > known.score;
    let (score, measured) = if better {
        (other.score, other.measured)
    } else if known.measured == Measured::default() {
        // What found it first measured nothing.
        (known.score, other.measured)
    } else {
        (known.score, known.measured)
    };
    // The headings above the merged passage are those above its first line.
    let first = if other.lines.start < known.lines.start {
        &other.topic
    } else {
        &known.topic
    };
    let last = if other.lines.end > known.lines.end {
        &other.topic
    } else {
        &known.topic
    };
    let beyond = ItemsBeyond {
        above: first.beyond.above,
        below: last.beyond.below,
    };
    let topic = Topic {
        beyond,
        ..first.clone()
    };
    let place = match (&known.place, &other.place) {
        (Some(a), Some(b)) => a.hull(b),
        _ => None,
    };
    Evidence {
        lines: known.lines.hull(other.lines),
        place,
        score,
        measured,
        topic,
        low: known.low && other.low,
        text,
        id: known.id,
        source: known.source,
        tool: known.tool,
        by: found_by(known.by, other.by),
    }
}

/// What the program finds beside a plan is the plan's where that finds it too.
fn found_by(known: Option<DecidedBy>, other: Option<DecidedBy>) -> Option<DecidedBy> {
    let of_program = Some(DecidedBy::BuiltIn);
    if known == of_program { other } else { known }
}

/// The text of the hull: the earlier passage, then the lines of the later one that go beyond it.
fn join_lines(a: &Evidence, b: &Evidence) -> String {
    let (first, second) = if a.lines.start <= b.lines.start {
        (a, b)
    } else {
        (b, a)
    };
    if second.lines.end <= first.lines.end {
        // Pieces of one long line share its number and are no part of each other.
        return if first.text.contains(second.text.trim()) {
            first.text.clone()
        } else {
            format!("{}\n{}", first.text.trim_end_matches('\n'), second.text)
        };
    }
    let beyond = first.lines.end + 1 - second.lines.start;
    let rest: Vec<&str> = second.text.lines().skip(beyond).collect();
    format!("{}\n{}", first.text.trim_end_matches('\n'), rest.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_below_a_heading_are_in_its_section() {
        let item = |first_line: &str| Evidence {
            lines: LineRange { start: 11, end: 17 },
            place: Some(Place {
                unit: PlaceUnit::Section,
                name: Some("Scope".to_owned()),
                start: 3,
                end: 5,
            }),
            ..Evidence::without_file(1, &format!("{first_line}\n\none\n\n## *4.2* End\n\ntwo\n"))
        };
        let place = |item: &Evidence, line| {
            let lines = LineRange {
                start: line,
                end: line,
            };
            let place = item.place_of(lines).unwrap();
            (place.to_string(), place.start)
        };
        for (first_line, end) in [("## Scope", 4), ("the rest of it", 4)] {
            let item = item(first_line);
            assert_eq!(place(&item, 13), ("§ Scope".to_owned(), 3), "{first_line}");
            assert_eq!(
                place(&item, 17),
                ("§ 4.2 End".to_owned(), end),
                "{first_line}"
            );
        }
    }

    fn found(source: &str, start: usize, end: usize) -> Evidence {
        Evidence {
            id: EvidenceId(String::new()),
            source: source.to_owned(),
            lines: LineRange { start, end },
            tool: ToolName::GrepSearch,
            score: Score::clamped(0.5),
            text: (start..=end)
                .map(|n| format!("line {n}"))
                .collect::<Vec<_>>()
                .join("\n"),
            topic: Topic::default(),
            low: false,
            place: None,
            measured: Measured::default(),
            by: None,
        }
    }

    #[test]
    fn r14_overlapping_lines_of_one_source_are_merged() {
        let mut context = Vec::new();
        let mut next_id = 0;
        add_evidence(
            &mut context,
            vec![
                found("a.md", 1, 4),
                found("b.md", 1, 4),
                found("a.md", 9, 12),
            ],
            &mut next_id,
        );
        let touched = add_evidence(&mut context, vec![found("a.md", 3, 9)], &mut next_id);
        let shape: Vec<_> = context
            .iter()
            .map(|item| {
                (
                    item.id.0.as_str(),
                    item.source.as_str(),
                    item.lines.to_string(),
                )
            })
            .collect();
        assert_eq!(shape.len(), 2, "{shape:?}");
        assert!(
            shape.contains(&("e2", "b.md", "1-4".to_owned())),
            "{shape:?}"
        );
        let bridged = context.iter().find(|item| item.source == "a.md").unwrap();
        assert_eq!(bridged.lines, LineRange { start: 1, end: 12 });
        assert_eq!(touched, vec![bridged.id.clone()]);
        let lines: Vec<_> = bridged.text.lines().collect();
        assert_eq!(lines.len(), 12);
        assert_eq!((lines[0], lines[11]), ("line 1", "line 12"));
    }

    #[test]
    fn r14_what_stands_beyond_a_merged_passage_is_told_by_its_ends() {
        let item = |start, end, above, below| Evidence {
            topic: Topic {
                beyond: ItemsBeyond { above, below },
                ..Topic::default()
            },
            ..found("a.md", start, end)
        };
        let mut context = Vec::new();
        let passages = vec![item(5, 9, 4, 11), item(1, 6, 0, 14), item(8, 12, 7, 8)];
        add_evidence(&mut context, passages, &mut 0);
        assert_eq!(context.len(), 1);
        let beyond = ItemsBeyond { above: 0, below: 8 };
        assert_eq!(context[0].topic.beyond, beyond);
    }

    #[test]
    fn r14_what_a_search_measured_is_kept_where_another_tool_found_the_passage_first() {
        let measured = Measured {
            cosine: Some(0.4),
            vector_rank: Some(1),
            ..Measured::default()
        };
        let searched = Evidence {
            tool: ToolName::HybridSearch,
            score: Score::clamped(0.9),
            measured,
            ..found("a.md", 2, 3)
        };
        let mut context = Vec::new();
        add_evidence(&mut context, vec![found("a.md", 1, 4), searched], &mut 0);
        assert_eq!(context.len(), 1);
        assert_eq!(context[0].measured, measured);
        assert_eq!(
            (context[0].tool, context[0].score),
            (ToolName::GrepSearch, Score::clamped(0.5)),
            "scores of two tools are not compared"
        );
    }

    #[test]
    fn r14_pieces_of_one_long_line_are_all_kept() {
        let piece = |text: &str| Evidence {
            text: text.to_owned(),
            ..found("a.md", 7, 7)
        };
        let mut context = Vec::new();
        add_evidence(
            &mut context,
            vec![piece("the first half"), piece("the answer")],
            &mut 0,
        );
        add_evidence(&mut context, vec![piece("the answer")], &mut 1);
        assert_eq!(context.len(), 1);
        assert_eq!(context[0].text, "the first half\nthe answer");
    }

    #[test]
    fn r14_neighbours_without_a_common_line_stay_apart() {
        let mut context = Vec::new();
        add_evidence(
            &mut context,
            vec![found("a.md", 1, 4), found("a.md", 5, 8)],
            &mut 0,
        );
        assert_eq!(context.len(), 2);
    }
}
