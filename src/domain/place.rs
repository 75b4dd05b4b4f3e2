use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a passage stands in a document that has no lines of its own: a page, a slide, a row.
///
/// Both ends are counted from 1 and included.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// What is counted.
    pub unit: PlaceUnit,
    /// The sheet of a row, the heading of a section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of the first.
    pub start: usize,
    /// Number of the last.
    pub end: usize,
}

/// What the places of a format are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceUnit {
    /// A page of a PDF.
    Page,
    /// A slide of a presentation.
    Slide,
    /// A row of a sheet.
    Row,
    /// A cell of a notebook.
    Cell,
    /// A message of a mailbox.
    Message,
    /// A part under a heading, in formats that know neither lines nor pages.
    Section,
}

impl Place {
    /// The smallest place that holds both; `None` when they are not of one sheet or section.
    pub fn hull(&self, other: &Self) -> Option<Self> {
        let same =
            self.unit == other.unit && (self.name == other.name || self.unit != PlaceUnit::Row);
        let first = if self.start <= other.start {
            self
        } else {
            other
        };
        same.then(|| Self {
            unit: self.unit,
            name: first.name.clone(),
            start: first.start,
            end: self.end.max(other.end),
        })
    }
}

impl fmt::Display for Place {
    /// `p. 3`, `pp. 3-4`, `slide 2`, `Costs rows 5-9`, `cell 4`, `§ Setup`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            unit,
            name,
            start,
            end,
        } = self;
        let (one, many) = match unit {
            PlaceUnit::Page => ("p.", "pp."),
            PlaceUnit::Slide => ("slide", "slides"),
            PlaceUnit::Row => ("row", "rows"),
            PlaceUnit::Cell => ("cell", "cells"),
            PlaceUnit::Message => ("message", "messages"),
            PlaceUnit::Section => ("§", "§§"),
        };
        match (unit, name) {
            (PlaceUnit::Section, Some(name)) => return write!(f, "§ {name}"),
            (PlaceUnit::Message, Some(name)) => return write!(f, "message {start}: {name}"),
            (_, Some(name)) => write!(f, "{name} ")?,
            (_, None) => {}
        }
        if start == end {
            write!(f, "{one} {start}")
        } else {
            write!(f, "{many} {start}-{end}")
        }
    }
}

/// Where a passage is, as a person looks it up: its place where the format has places, else its
/// lines.
/// A place's name comes from the document, so it is made safe to show.
pub fn location(lines: LineRange, place: Option<&Place>) -> String {
    place.map_or_else(
        || lines.to_string(),
        |place| crate::text::one_line(&place.to_string(), 80),
    )
}

/// Lines of a file, from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LineRange {
    /// First line.
    #[serde(rename = "start_line")]
    pub start: usize,
    /// Last line.
    #[serde(rename = "end_line")]
    pub end: usize,
}

impl LineRange {
    /// Whether the two share a line.
    pub fn overlaps(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// The smallest range that holds both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

impl fmt::Display for LineRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(unit: PlaceUnit, name: Option<&str>, start: usize, end: usize) -> Place {
        Place {
            unit,
            name: name.map(str::to_owned),
            start,
            end,
        }
    }

    #[test]
    fn r14_a_place_reads_as_its_format_is_looked_up() {
        for (shown, place) in [
            ("p. 3", place(PlaceUnit::Page, None, 3, 3)),
            ("pp. 3-4", place(PlaceUnit::Page, None, 3, 4)),
            ("slide 2", place(PlaceUnit::Slide, None, 2, 2)),
            ("Costs rows 5-9", place(PlaceUnit::Row, Some("Costs"), 5, 9)),
            ("row 5", place(PlaceUnit::Row, None, 5, 5)),
            ("§ Setup", place(PlaceUnit::Section, Some("Setup"), 2, 2)),
        ] {
            assert_eq!(place.to_string(), shown);
        }
    }

    #[test]
    fn r14_merged_passages_span_both_places_of_one_sheet() {
        let page = |start, end| place(PlaceUnit::Page, None, start, end);
        assert_eq!(page(4, 4).hull(&page(2, 3)), Some(page(2, 4)));
        let costs = place(PlaceUnit::Row, Some("Costs"), 1, 2);
        let staff = place(PlaceUnit::Row, Some("Staff"), 3, 4);
        assert_eq!(costs.hull(&staff), None);
        assert_eq!(costs.hull(&page(1, 1)), None);
    }
}
