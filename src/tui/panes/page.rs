//! The page that a node's details are written on, and calls of a model on it.

use std::collections::BTreeSet;

use crate::protocol::EventBody;
use crate::text::{duration, one_line, sanitize};
use crate::tui::ink::{Ink, Row, grouped, grouped_count};
use crate::tui::wrap::wrap;

use super::fences::{PromptSection, sections};

/// One row, and the part that it folds or unfolds.
#[derive(Debug, Clone)]
pub struct DetailLine {
    /// What is drawn.
    pub row: Row,
    /// The part of a prompt or reply that it is of, counted from 0.
    pub part: Option<usize>,
}

/// Indent of continued rows, as wide as the label at the beginning of a row.
pub const INDENT: &str = "           ";

/// The rows of a window as they are written.
pub struct WindowRows<'a> {
    /// What was written.
    pub lines: Vec<DetailLine>,
    unfolded: &'a BTreeSet<usize>,
    width: usize,
    parts: usize,
}

impl<'a> WindowRows<'a> {
    /// An empty one, on which these parts are unfolded.
    pub fn new(unfolded: &'a BTreeSet<usize>, width: usize) -> Self {
        Self {
            lines: Vec::new(),
            unfolded,
            width,
            parts: 0,
        }
    }

    /// One row, cut at the edge.
    pub fn row(&mut self, row: Row) {
        let row = row.fit(self.width);
        self.lines.push(DetailLine { row, part: None });
    }

    /// A text on as many rows as it takes, below and behind `indent`.
    pub fn text(&mut self, ink: Ink, indent: &str, text: &str) {
        self.wrapped(&Row::new(ink, text), indent, None);
    }

    /// A row that begins with a word of its own; what does not fit goes on behind that.
    pub fn below(&mut self, row: &Row) {
        let rows = wrap(
            row,
            &Row::default(),
            &Row::new(Ink::Dim, INDENT),
            self.width,
        );
        let lines = rows.into_iter().map(|row| DetailLine { row, part: None });
        self.lines.extend(lines);
    }

    /// A row on as many as it takes, of a part or of none.
    pub fn wrapped(&mut self, row: &Row, indent: &str, part: Option<usize>) {
        let indent = Row::new(Ink::Dim, indent);
        let rows = wrap(row, &indent, &indent, self.width);
        self.lines
            .extend(rows.into_iter().map(|row| DetailLine { row, part }));
    }

    /// A call of a model with what was said in it.
    pub fn model_call(&mut self, body: &EventBody) {
        let EventBody::ModelCalled {
            model,
            ms,
            prompt_tokens,
            completion_tokens,
            retries,
            prompt,
            reply,
            ..
        } = body
        else {
            return;
        };
        let mut row = Row::new(Ink::Dim, "  asked    ").add(Ink::Text, one_line(model, 80));
        row.push(Ink::Dim, format!(" · {}", duration(*ms)));
        if let (Some(sent), Some(got)) = (prompt_tokens, completion_tokens) {
            let tokens = format!(" · {} sent, {} received", grouped(*sent), grouped(*got));
            row.push(Ink::Dim, tokens);
        }
        if *retries > 0 {
            let retries = grouped_count(u64::from(*retries), "retry", "retries");
            row.push(Ink::Warning, format!(" · {retries}"));
        }
        self.row(row);
        match prompt {
            Some(prompt) => self.push_message("prompt", &sanitize(prompt)),
            None => self.row(Row::new(Ink::Dim, "    prompt and reply are not kept")),
        }
        match (reply, prompt) {
            (Some(reply), _) => self.push_message("reply", &sanitize(reply)),
            (None, Some(_)) => self.row(Row::new(Ink::Warning, "    no reply")),
            (None, None) => {}
        }
    }

    /// A prompt or a reply, its fenced parts folded.
    fn push_message(&mut self, what: &str, text: &str) {
        self.row(Row::new(Ink::Heading, format!("    {what}")));
        for section in sections(text) {
            match section {
                PromptSection::Line(line) => {
                    self.wrapped(&Row::new(Ink::Quote, line), "    ▏ ", None);
                }
                PromptSection::Fenced {
                    tag,
                    attributes,
                    inside,
                } => self.fenced(tag, attributes, &inside),
            }
        }
    }

    fn fenced(&mut self, tag: &str, attributes: &str, inside: &[&str]) {
        let part = self.parts;
        self.parts += 1;
        let is_open = self.unfolded.contains(&part);
        let count = grouped_count(inside.len() as u64, "line", "lines");
        let mut row = Row::new(Ink::Key, if is_open { "    ▾ " } else { "    ▸ " });
        row.push(
            Ink::Citation,
            format!("{tag} {attributes}").trim().to_owned(),
        );
        row.push(Ink::Dim, format!("  {count}"));
        let row = row.fit(self.width);
        self.lines.push(DetailLine {
            row,
            part: Some(part),
        });
        for line in inside.iter().filter(|_| is_open) {
            self.wrapped(&Row::new(Ink::Quote, *line), "      ▏ ", Some(part));
        }
    }
}
