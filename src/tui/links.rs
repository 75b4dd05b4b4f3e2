//! Links on sources: a terminal that knows them (OSC 8) opens the file that a citation or a row of
//! evidence names.
//!
//! ratatui's cells hold no links. So what is linked is written once more after a frame, with its link
//! around it, and only if it is not there already.

use std::io::{self, Write};
use std::path::PathBuf;

use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::{Buffer, Cell};
use unicode_width::UnicodeWidthStr;
use url::Url;

use super::ink::{Ink, Row};
use super::layout::Arrangement;
use super::menu;
use super::model::Model;
use super::pane_state::Pane;
use super::panes::chat::citation_at_column;

/// Cells that lead to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    column: u16,
    row: u16,
    cells: Vec<Cell>,
    address: String,
}

/// The links of what is drawn in `buffer`; none where something lies above the panes.
pub fn links(model: &Model, buffer: &Buffer) -> Vec<Link> {
    let is_covered = model.overlay.is_some() || model.reading.is_some() || menu::is_open(model);
    if is_covered {
        return Vec::new();
    }
    let places = Arrangement::new(model);
    let mut found = Vec::new();
    let mut add = |column: u16, row: u16, width: usize, file: &str| {
        let path = path_of(model, file);
        // A path that is not absolute has no address.
        let Some(address) = path.and_then(|path| Url::from_file_path(path).ok()) else {
            return;
        };
        let cells =
            (column..column.saturating_add(width as u16)).map_while(|x| buffer.cell((x, row)));
        found.push(Link {
            column,
            row,
            cells: cells.cloned().collect(),
            address: address.into(),
        });
    };
    if let Some(area) = places.pane(Pane::Chat) {
        let rows = model.chat.visible.iter().zip(&model.chat.turns);
        for ((shown, turn), line) in rows.zip(area.rows()) {
            let citations = model
                .turns
                .current()
                .get(*turn)
                .map(|turn| &turn.exchange().citations);
            for (column, width, n) in marks(shown) {
                let cited = citations.and_then(|all| all.iter().find(|one| one.n == n));
                if let Some(cited) = cited {
                    add(line.x + column as u16, line.y, width, &cited.source);
                }
            }
        }
    }
    if let (Some(area), Some(run)) = (places.pane(Pane::Evidence), model.shown_run()) {
        let files: Vec<&str> = run.evidence.rows().map(|item| item.file.as_str()).collect();
        let mut before = None;
        for (at, line) in area.rows().enumerate() {
            let item = model.evidence.drawn.item(at);
            let file = item.and_then(|item| files.get(item));
            // The first row of an item names its file.
            if let Some(file) = file.filter(|_| item != before) {
                let row = model.evidence.drawn.rows.get(at);
                let width = row.map_or(0, Row::width).min(line.width.into());
                add(line.x, line.y, width, file);
            }
            before = item;
        }
    }
    found
}

/// The marks of citations in a row: column, width with the place that follows, and number.
fn marks(row: &Row) -> Vec<(usize, usize, usize)> {
    let mut found = Vec::new();
    let mut column = 0;
    for (at, piece) in row.pieces.iter().enumerate() {
        let width = piece.text.width();
        if matches!(piece.ink, Ink::Citation | Ink::Chosen)
            && let Some(n) = citation_at_column(row, column + 1)
        {
            let next = row.pieces.get(at + 1);
            let place = next.filter(|next| next.ink == Ink::Dim && next.text.starts_with(' '));
            found.push((
                column,
                width + place.map_or(0, |place| place.text.width()),
                n,
            ));
        }
        column += width;
    }
    found
}

/// Where a document is: below its source, whose name its own begins with where there are several.
fn path_of(model: &Model, file: &str) -> Option<PathBuf> {
    model.contents.sources.iter().find_map(|source| {
        let rest = file.strip_prefix(source.label.as_str())?;
        let is_source = source.location.file_name().is_some_and(|name| name == file);
        if rest.is_empty() || source.label.is_empty() && is_source {
            return Some(source.location.clone());
        }
        let rest = match source.label.as_str() {
            "" => rest,
            _ => rest.strip_prefix('/')?,
        };
        Some(source.location.join(rest))
    })
}

/// Writes links that the terminal does not have yet.
#[derive(Debug, Default)]
pub struct LinkWriter {
    written: Vec<Link>,
}

impl LinkWriter {
    /// Nothing that was written is there any more.
    pub fn begin_again(&mut self) {
        self.written.clear();
    }

    /// Writes these links, whose cells were drawn just now.
    pub fn write<W: Write>(
        &mut self,
        links: Vec<Link>,
        out: &mut CrosstermBackend<W>,
    ) -> io::Result<()> {
        let new: Vec<&Link> = links
            .iter()
            .filter(|link| !self.written.contains(link))
            .collect();
        if !new.is_empty() {
            // The cursor stays where it is.
            out.write_all(b"\x1b7")?;
            for link in new {
                write!(out, "\x1b]8;;{}\x1b\\", link.address)?;
                let cells = link.cells.iter().zip(link.column..);
                let mut covered = 0;
                // A wide character covers the cell behind it.
                let shown = cells.filter(|(cell, _)| {
                    let is_shown = covered == 0;
                    covered = if is_shown {
                        cell.symbol().width().saturating_sub(1)
                    } else {
                        covered - 1
                    };
                    is_shown
                });
                out.draw(shown.map(|(cell, x)| (x, link.row, cell)))?;
                out.write_all(b"\x1b]8;;\x1b\\")?;
            }
            out.write_all(b"\x1b8")?;
        }
        self.written = links;
        Ok(())
    }
}
