//! What stands in replies beside their text, and why they end, as rows of a table that users can add
//! to: marks of thought, marks of chat templates, reasons.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use super::prompt::{begins_own_tag, own_tag};
use crate::files::read_tables;

const TABLE: &str = include_str!("../../../assets/llm/replies.toml");

static BUILT_IN: LazyLock<Arc<ReplyMarks>> =
    LazyLock::new(|| Arc::new(ReplyMarks::with_user_rows(None).unwrap_or_default()));

/// The table, the user's own rows first.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReplyMarks {
    thought: Vec<Thought>,
    token: Vec<Token>,
    ending: Vec<Ending>,
    /// The characters that marks begin with.
    #[serde(skip)]
    signs: BTreeSet<char>,
}

/// What a mark does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It opens the thought of this row.
    Open(usize),
    /// It closes a thought.
    Close,
    /// It ends an answer; one that is `at_line_end` only where nothing follows on its line.
    End { at_line_end: bool },
    /// It is a tag of the prompt.
    OwnTag,
}

/// What a text begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// The text begins with no mark.
    Text,
    /// Perhaps with a mark: that is known when more has come.
    Open,
    /// The text begins with a mark of so many bytes.
    Mark(Mark, usize),
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyEnd {
    /// The server has not said that the reply is complete.
    #[default]
    #[serde(skip)]
    Unsaid,
    /// It went on beyond all limits, and was ended here.
    #[serde(skip)]
    Endless,
    /// It said the same again and again, and was ended here.
    #[serde(skip)]
    Repeating,
    /// Some of it could not be read.
    #[serde(skip)]
    Damaged,
    /// The reply is complete.
    Complete,
    /// It reached a limit of tokens.
    Limit,
    /// The server's rules kept the rest back.
    Withheld,
    /// Something went wrong at the server.
    BrokeOff,
}

/// What a model thinks aloud.
#[derive(Debug, Deserialize)]
struct Thought {
    open: Option<String>,
    close: Vec<String>,
}

/// A mark of a chat template.
#[derive(Debug, Deserialize)]
struct Token {
    mark: String,
    #[serde(default)]
    at_line_end: bool,
}

/// A server's words for why a reply ended.
#[derive(Debug, Deserialize)]
struct Ending {
    means: ReplyEnd,
    said: Vec<String>,
}

impl ReplyMarks {
    /// What is built in.
    pub fn built_in() -> Arc<Self> {
        Arc::clone(&BUILT_IN)
    }

    /// The built-in table behind the rows of a file of the user's. The error is one line.
    pub fn with_user_rows(own: Option<&str>) -> Result<Self, String> {
        let mut table: Self = read_tables(own, TABLE)?;
        let firsts: Option<Vec<char>> =
            table.marks().map(|(mark, _)| mark.chars().next()).collect();
        let firsts = firsts.ok_or("a mark is empty")?.into_iter().chain(['<']);
        let cases =
            firsts.flat_map(|first| [first.to_ascii_lowercase(), first.to_ascii_uppercase()]);
        table.signs = cases.collect();
        Ok(table)
    }

    /// Every mark, and what it does.
    fn marks(&self) -> impl Iterator<Item = (&str, Mark)> {
        let thoughts = self.thought.iter().enumerate().flat_map(|(row, thought)| {
            let open = thought.open.iter().map(move |mark| (mark, Mark::Open(row)));
            open.chain(thought.close.iter().map(|mark| (mark, Mark::Close)))
        });
        let tokens = self.token.iter().map(|token| {
            let at_line_end = token.at_line_end;
            (&token.mark, Mark::End { at_line_end })
        });
        thoughts
            .chain(tokens)
            .map(|(mark, does)| (mark.as_str(), does))
    }

    /// Where the next mark may begin.
    pub fn next_sign(&self, text: &str) -> Option<usize> {
        text.find(|c| self.signs.contains(&c))
    }

    /// Tells what the text begins with, the longest mark first; `is_all` when no more of it comes.
    pub fn beginning(&self, text: &str, is_all: bool) -> Beginning {
        let mut found = Beginning::Text;
        let mut longest = 0;
        for (mark, does) in self.marks() {
            if mark.len() > longest && starts_with(text, mark) {
                longest = mark.len();
                found = Beginning::Mark(does, longest);
            } else if !is_all && starts_with(mark, text) {
                return Beginning::Open;
            }
        }
        match own_tag(text) {
            Some(length) => Beginning::Mark(Mark::OwnTag, length),
            None if !is_all && begins_own_tag(text) => Beginning::Open,
            None => found,
        }
    }

    /// Where what follows the thought of that row begins.
    pub fn end_of_thought(&self, row: usize, text: &str) -> Option<usize> {
        let closes = self.thought.get(row)?.close.iter();
        let ends = closes.filter_map(|close| {
            let mut places = text.match_indices(|c| self.signs.contains(&c));
            let (at, _) = places.find(|(at, _)| starts_with(&text[*at..], close))?;
            Some(at + close.len())
        });
        ends.min()
    }

    /// What the server's word for the end means.
    pub fn end_for_reason(&self, reason: &str) -> ReplyEnd {
        let is_said = |row: &&Ending| row.said.iter().any(|it| it.eq_ignore_ascii_case(reason));
        let row = self.ending.iter().find(is_said);
        if row.is_none() {
            tracing::info!(reason, "a reply ended for a reason that is not known");
        }
        row.map_or(ReplyEnd::Complete, |row| row.means)
    }
}

fn starts_with(text: &str, mark: &str) -> bool {
    let start = text.get(..mark.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(mark))
}

#[cfg(test)]
mod tests {
    use super::super::think::{answer_of, without_thoughts};
    use super::*;

    #[test]
    fn r23_every_mark_of_the_table_does_what_its_example_shows() {
        let table: toml::Table = toml::from_str(TABLE).unwrap();
        let rows = ["thought", "token"].map(|kind| table[kind].as_array().unwrap());
        for row in rows.into_iter().flatten() {
            let said = |field: &str| row[field].as_str().unwrap();
            assert!(!said("by").is_empty());
            assert_eq!(answer_of(said("example")), said("answer"), "{row:?}");
            for mark in ["open", "mark"].iter().filter_map(|field| row.get(field)) {
                let mark = mark.as_str().unwrap();
                let example = said("example").to_lowercase();
                let is_template = mark == "<think>";
                assert!(
                    is_template || example.contains(&mark.to_lowercase()),
                    "{row:?}"
                );
                let prose = format!("The mark `{mark}` is one of them.");
                assert_eq!(answer_of(&prose), prose);
                assert_eq!(without_thoughts(&prose), prose);
            }
        }
    }

    #[test]
    fn r23_reasons_of_ending_are_known_in_any_case() {
        let table = ReplyMarks::built_in();
        for (reason, means) in [
            ("stop", ReplyEnd::Complete),
            ("STOP", ReplyEnd::Complete),
            ("EOS", ReplyEnd::Complete),
            ("end_turn", ReplyEnd::Complete),
            ("tool_calls", ReplyEnd::Complete),
            ("something new", ReplyEnd::Complete),
            ("length", ReplyEnd::Limit),
            ("MAX_TOKENS", ReplyEnd::Limit),
            ("max_tokens", ReplyEnd::Limit),
            ("model_length", ReplyEnd::Limit),
            ("content_filter", ReplyEnd::Withheld),
            ("SAFETY", ReplyEnd::Withheld),
            ("PROHIBITED_CONTENT", ReplyEnd::Withheld),
            ("RECITATION", ReplyEnd::Withheld),
            ("error", ReplyEnd::BrokeOff),
            ("abort", ReplyEnd::BrokeOff),
            ("insufficient_system_resource", ReplyEnd::BrokeOff),
        ] {
            assert_eq!(table.end_for_reason(reason), means, "{reason}");
        }
        let said: Vec<_> = table.ending.iter().flat_map(|row| &row.said).collect();
        for (at, word) in said.iter().enumerate() {
            assert!(!said[..at].contains(word), "{word} means two things");
        }
    }

    #[test]
    fn r27_rows_of_the_users_come_first_and_bad_ones_are_one_line() {
        let own = "[[thought]]\nopen = '<hm>'\nclose = ['</hm>']\n\n[[ending]]\nmeans = 'limit'\nsaid = ['stop']\n";
        let table = ReplyMarks::with_user_rows(Some(own)).unwrap();
        assert_eq!(table.end_for_reason("stop"), ReplyEnd::Limit);
        let opens = Beginning::Mark(Mark::Open(0), 4);
        assert_eq!(table.beginning("<hm>so", false), opens);
        assert_eq!(table.beginning("<h", false), Beginning::Open);
        assert_eq!(table.beginning("<h", true), Beginning::Text);
        for bad in [
            "nonsense",
            "[[token]]\nby = 'x'\n",
            "[[token]]\nmark = ''\n",
        ] {
            let line = ReplyMarks::with_user_rows(Some(bad)).unwrap_err();
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }
}
