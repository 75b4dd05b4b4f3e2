//! What a document says, and how that is structured.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::SkipReason;
use super::metadata::Metadata;
use crate::domain::{LineRange, Place};
use crate::text::stem;

/// The places of a document are most of what is written beside its text.
pub(crate) const MAX_ENCODED_BYTES: usize = 96 * 1024 * 1024;

/// What a document says, as lines of text, whatever its format.
///
/// Everything that points into a document points at these lines: chunks, grep, links and
/// `read_file`. A format that is looked up otherwise says for each line where that is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extraction {
    /// The lines. Written beside the rest, because they are most of it.
    #[serde(skip)]
    pub text: String,
    /// What the document calls itself, where its format has a field for that.
    pub title: Option<String>,
    /// How its structure is marked.
    pub shape: TextLayout,
    /// Where its places begin, in the order of their lines; empty for formats made of lines.
    pub places: Vec<Mark>,
    /// What the document holds and its text does not, a sentence each.
    pub missing: Vec<String>,
}

/// A name, such as a page's, for the lines of a text from one line on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The first line of the place, counted from 1.
    pub line: usize,
    /// Until the next mark.
    #[serde(with = "flat_place")]
    pub place: Place,
}

/// A place without the names of its fields, for formats that do not write them.
mod flat_place {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::domain::Place;

    pub fn serialize<S: Serializer>(place: &Place, to: S) -> Result<S::Ok, S::Error> {
        (place.unit, &place.name, place.start, place.end).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Place, D::Error> {
        let (unit, name, start, end) = Deserialize::deserialize(from)?;
        Ok(Place {
            unit,
            name,
            start,
            end,
        })
    }
}

/// How the structure of an extraction is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextLayout {
    /// Headings, fences and tables as in Markdown.
    Markdown,
    /// Paragraphs between blank lines.
    Plain,
    /// Items that begin at the margin.
    Code,
    /// Headings by the line below them, as in reStructuredText.
    Rst,
    /// Headings by their stars, as in Org.
    Org,
    /// Laid out from what a program wrote for programs.
    Data,
    /// Each line a row, each saying what its values are.
    Rows,
}

impl Extraction {
    /// Text made of lines; the name tells how it is structured.
    pub fn of_text(source: &str, text: String) -> Self {
        let shape = TextLayout::for_path(Path::new(source));
        Self {
            title: shape.title(&text),
            text,
            shape,
            places: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// What came of a document as bytes, without its text.
    pub(crate) fn encode(made: &Result<Self, SkipReason>) -> io::Result<Vec<u8>> {
        postcard::to_extend(made, Vec::new()).map_err(io::Error::other)
    }

    /// What [`Self::encode`] wrote, with its text again; `None` when it is something else.
    pub(crate) fn decode(bytes: &[u8], text: String) -> Option<Result<Self, SkipReason>> {
        let mut made: Result<Self, SkipReason> = postcard::from_bytes(bytes).ok()?;
        if let Ok(document) = &mut made {
            document.text = text;
            // Lines are looked up by halving.
            document
                .places
                .is_sorted_by_key(|mark| mark.line)
                .then_some(())?;
        }
        Some(made)
    }

    /// Where these lines are in a format that has places.
    pub fn place(&self, lines: LineRange) -> Option<Place> {
        let first = self.places.partition_point(|mark| mark.line <= lines.start);
        let end = self.places.partition_point(|mark| mark.line <= lines.end);
        let within = &self.places[first.saturating_sub(1)..end];
        let mut marks = within.iter().map(|mark| &mark.place);
        let place = marks.next()?.clone();
        marks.try_fold(place, |place, next| place.hull(next))
    }

    /// Other names of the document, from its metadata.
    pub(crate) fn aliases(&self) -> Vec<String> {
        match self.shape {
            TextLayout::Markdown => Metadata::parse(&self.text).list(&["aliases", "alias"]),
            _ => Vec::new(),
        }
    }

    /// What the document says of itself above its text: each key with its values.
    pub(crate) fn fields(&self) -> Vec<(String, Vec<String>)> {
        match self.shape {
            TextLayout::Markdown => Metadata::parse(&self.text).entries(),
            _ => Vec::new(),
        }
    }

    /// What to call the document when nothing in it does.
    pub(crate) fn name(&self, source: &str) -> String {
        self.title
            .clone()
            .unwrap_or_else(|| stem(source).to_owned())
    }
}

impl TextLayout {
    /// What a text made of lines says its title is, before it begins.
    fn title(self, text: &str) -> Option<String> {
        const HEAD: usize = 50;
        let head = text.lines().take(HEAD);
        let named = |line: &str, mark: &str| {
            let begins = line.get(..mark.len())?.eq_ignore_ascii_case(mark);
            begins.then(|| {
                line[mark.len()..]
                    .trim()
                    .trim_matches(['"', '\''])
                    .to_owned()
            })
        };
        let title = match self {
            Self::Markdown => Metadata::parse(text).one("title"),
            Self::Org => head
                .take_while(|line| !line.starts_with("* "))
                .find_map(|line| named(line, "#+title:")),
            _ => None,
        };
        title.filter(|title| !title.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::PlaceUnit;

    fn workbook(lines: &[(usize, Option<&str>)]) -> Extraction {
        let places = lines.iter().map(|(line, name)| Mark {
            line: *line,
            place: Place {
                unit: PlaceUnit::Row,
                name: name.map(str::to_owned),
                start: line * 2,
                end: line * 3,
            },
        });
        Extraction {
            text: "a\nb\nc\n".to_owned(),
            title: Some("A title\nof two lines".to_owned()),
            shape: TextLayout::Rows,
            places: places.collect(),
            missing: vec!["page 2 cannot be read".to_owned()],
        }
    }

    #[test]
    fn what_came_of_a_document_is_the_same_after_it_was_written() {
        let document = workbook(&[(1, Some("A")), (2, Some("A")), (3, None)]);
        for made in [Ok(document), Err(SkipReason::Damaged("its end".to_owned()))] {
            let text = made.as_ref().map_or("", |document| &document.text);
            let bytes = Extraction::encode(&made).unwrap();
            assert_eq!(Extraction::decode(&bytes, text.to_owned()), Some(made));
        }
    }

    #[test]
    fn places_that_would_be_looked_up_wrongly_are_refused() {
        let bytes = Extraction::encode(&Ok(workbook(&[(2, None), (1, None)]))).unwrap();
        assert_eq!(Extraction::decode(&bytes, String::new()), None);
    }
}
