//! What a document says and how that is structured, or why it says nothing.

use std::io;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::domain::{LineRange, Place};
use crate::files::Unreadable;
use crate::text::{front_matter, stem};

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

/// Why a file is not part of the index.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// It is no text in any encoding, and no known format.
    #[error("binary file")]
    Binary,
    /// A format that is recognised and not read; says which, and what to do.
    #[error("{0}")]
    Unsupported(String),
    /// It is over the limit of its kind.
    #[error(
        "too large ({}; the limit is {} MB for text, {} MB for documents)",
        megabytes(*.0),
        MAX_FILE_BYTES / MEGABYTE,
        MAX_DOCUMENT_BYTES / MEGABYTE
    )]
    TooLarge(u64),
    /// It is text and over its limit, which holds for the index only.
    #[error(
        "too large for the index ({}; the limit is {} MB); grep_search still reads it",
        megabytes(*.0),
        MAX_FILE_BYTES / MEGABYTE
    )]
    LargeText(u64),
    /// There is nothing in it that could be found; says why.
    #[error("no text in it: {0}")]
    NoText(String),
    /// Its pages are pictures of text.
    #[error("a scan without text: install ocrmypdf, then set KB_AGENT_OCR=1")]
    Scan,
    /// A picture, which may show text.
    #[error("a picture")]
    Picture,
    /// Its format says that there should be more, or something else.
    #[error("damaged: {0}")]
    Damaged(String),
    /// Only who knows the password can read it.
    #[error("protected by a password")]
    Encrypted,
    /// A small file that claims to be a very large one; says which limit it breaks.
    #[error("unpacks to too much: {0}")]
    UnpacksTooMuch(String),
    /// Reading it did not end in time.
    #[error("takes longer than {0} s to read")]
    TooSlow(u64),
    /// Reading it took all the memory that a document may take, in megabytes.
    #[error("takes more than {0} MB of memory to read")]
    TooMuchMemory(u64),
    /// The process that read it ended over it.
    #[error("cannot be read: what takes it apart broke off")]
    BrokeOff,
    /// The machine did not let it be read; says how. Another time it may.
    #[error("not read this time: {0}")]
    NotNow(String),
    /// A cloud folder keeps its contents elsewhere.
    #[error(
        "not on this machine: its contents are in the cloud; what is known of it is kept until they \
         are loaded"
    )]
    InCloud,
    /// Its end was not waited for.
    #[error("not read: interrupted")]
    Stopped,
    /// A whole root that was there before, as one is whose disk was taken away.
    #[error("it is not there; what is known of it is kept until it returns")]
    Away,
    /// A link that leads out of the knowledge base, or nowhere.
    #[error("a link out of the knowledge base is not followed")]
    LinkOutside,
    /// A pipe, socket or device: opening one may wait for ever.
    #[error("not a regular file")]
    NotRegular,
    /// Its name, or that of a folder above it, is not UTF-8 or holds control characters: nothing
    /// could refer to it.
    #[error("its name is not plain text")]
    BadName,
    /// The index that it would go to takes no path of more than so many bytes.
    #[error("its path is too long for the store (the limit is {0} bytes); shorten it")]
    LongPath(usize),
    /// Ignore rules that cannot be read may hide anything in their folder.
    #[error("nothing in it is read: what its rules leave out cannot be known ({0})")]
    BadRules(String),
    /// The file's name tells that it holds secrets of the kind given.
    #[error("looks like {0}; to index it, add it to KB_AGENT_INCLUDE or pass it with --kb")]
    HoldsSecrets(String),
    /// The system refused.
    #[error("cannot be read: {0}")]
    Unreadable(String),
}

const MEGABYTE: u64 = 1024 * 1024;

/// Rounded up, so that what is over a limit is never shown as the limit.
fn megabytes(bytes: u64) -> String {
    let tenths = (bytes.saturating_mul(10)).div_ceil(MEGABYTE);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

impl SkipReason {
    /// Whether the same bytes would give the same reason again, so that it can be remembered.
    pub(crate) fn is_lasting(&self) -> bool {
        let is_of_place = matches!(
            self,
            Self::Stopped
                | Self::Away
                | Self::LinkOutside
                | Self::NotRegular
                | Self::BadName
                | Self::BadRules(_)
                | Self::HoldsSecrets(_)
                | Self::Unreadable(_)
        );
        !is_of_place && !self.is_passing()
    }

    /// Whether it says something of the machine and nothing of the file: what was known of the
    /// file before stays known.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::NotNow(_) | Self::InCloud)
    }
}

impl From<Unreadable> for SkipReason {
    fn from(why: Unreadable) -> Self {
        match why {
            Unreadable::NotRegular => Self::NotRegular,
            Unreadable::Io(error) => error.into(),
            why => Self::Unreadable(why.to_string()),
        }
    }
}

impl From<io::Error> for SkipReason {
    fn from(error: io::Error) -> Self {
        if is_link(&error) {
            return Self::Unreadable("a link has taken its place".to_owned());
        }
        // What folders of a cloud or of a network answer while they cannot give the contents.
        if matches!(
            error.kind(),
            ErrorKind::WouldBlock
                | ErrorKind::TimedOut
                | ErrorKind::Deadlock
                | ErrorKind::StaleNetworkFileHandle
                | ErrorKind::NetworkDown
                | ErrorKind::HostUnreachable
        ) {
            return Self::NotNow(error.to_string());
        }
        Self::Unreadable(error.to_string())
    }
}

/// What the system says instead of following one.
fn is_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    return rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP);
    #[cfg(not(unix))]
    return false;
}

// What a Markdown file says of itself above its text: `title: …` in YAML, `title = …` in TOML.
//
// Only names and lists of names are read, as people write them. What else stands there keeps its
// lines in the text, where `kb::fields` finds it.

/// Keys that name, place or date a page, and say nothing that is asked for.
const NAMING: &str = include_str!("../../../assets/naming-keys.txt");

/// The lines between the rules.
pub(super) struct Metadata<'t> {
    lines: Vec<&'t str>,
}

impl<'t> Metadata<'t> {
    /// Parses the front matter of a text; the result is empty where there is none.
    pub fn parse(text: &'t str) -> Self {
        let count = front_matter(text.lines());
        Self {
            lines: text.lines().take(count).collect(),
        }
    }

    /// Every key at the margin with its values, in the order of their lines.
    pub fn entries(&self) -> Vec<(String, Vec<String>)> {
        let keys = self.lines.iter().filter_map(|line| entry(line));
        keys.map(|(key, _)| (key.to_owned(), self.list(&[key])))
            .collect()
    }

    /// The value of a key.
    pub fn one(&self, key: &str) -> Option<String> {
        let mut lines = self.lines.iter().filter_map(|line| entry(line));
        let (_, value) = lines.find(|(own, _)| own.eq_ignore_ascii_case(key))?;
        Some(bare(value)).filter(|value| !value.is_empty())
    }

    /// All values of the first of these keys that is there, on its line or on lines below it.
    pub fn list(&self, keys: &[&str]) -> Vec<String> {
        let is_asked = |line: &str| {
            entry(line).is_some_and(|(own, _)| keys.iter().any(|key| own.eq_ignore_ascii_case(key)))
        };
        let Some(at) = self.lines.iter().position(|line| is_asked(line)) else {
            return Vec::new();
        };
        let value = entry(self.lines[at]).map_or("", |(_, value)| value);
        let below = self.lines[at + 1..].iter().map(|line| line.trim());
        let below = below.map_while(|line| line.strip_prefix("- "));
        let values: Vec<String> = match value.strip_prefix('[') {
            Some(list) => list.trim_end_matches(']').split(',').map(bare).collect(),
            None if value.is_empty() => below.map(bare).collect(),
            None => value.split(',').map(bare).collect(),
        };
        values
            .into_iter()
            .filter(|value| !value.is_empty())
            .collect()
    }
}

/// Whether these lines of metadata say nothing but what a page is called and where it stands.
pub(crate) fn names_only(lines: &[&str]) -> bool {
    let mut keys = lines
        .iter()
        .filter_map(|line| entry(line))
        .map(|(key, _)| key);
    keys.all(|key| {
        NAMING
            .lines()
            .any(|naming| naming.eq_ignore_ascii_case(key))
    })
}

/// Key and value of a line at the margin.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once([':', '='])?;
    let is_key = !key.is_empty() && !key.starts_with([' ', '\t', '-', '#']);
    is_key.then(|| (key.trim(), value.trim()))
}

fn bare(value: &str) -> String {
    value.trim().trim_matches(['"', '\'']).trim().to_owned()
}

// How much of a file is read.

/// Text files larger than this are not indexed.
pub(crate) const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;
/// Most of a PDF or a presentation is pictures, so these may be larger.
pub(crate) const MAX_DOCUMENT_BYTES: u64 = 64 * 1024 * 1024;

/// How much of a file tells its format.
pub(crate) const SNIFF_BYTES: usize = 8 * 1024;

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

#[cfg(test)]
mod tests_of_metadata {
    use super::*;

    #[test]
    fn names_are_read_however_they_are_listed() {
        for (text, title, aliases) in [
            (
                "---\ntitle: \"A: b\"\naliases: [One, 'two words']\n---\n",
                Some("A: b"),
                &["One", "two words"][..],
            ),
            (
                "---\naliases:\n  - One\n  - Two\ntags: x\n---\n",
                None,
                &["One", "Two"],
            ),
            ("---\naliases:\n- One\n---\n", None, &["One"]),
            ("---\nalias: One, Two\n---\n", None, &["One", "Two"]),
            (
                "+++\ntitle = 'T'\naliases = [\"a\"]\n+++\n",
                Some("T"),
                &["a"],
            ),
            ("title: no\n", None, &[]),
            ("---\n title: no\n---\n", None, &[]),
        ] {
            let metadata = Metadata::parse(text);
            assert_eq!(metadata.one("title").as_deref(), title, "{text}");
            assert_eq!(metadata.list(&["aliases", "alias"]), aliases, "{text}");
        }
    }

    #[test]
    fn what_is_more_than_a_name_is_known() {
        let is_naming = |text: &str| names_only(&text.lines().collect::<Vec<_>>());
        assert!(is_naming("---\nTitle: a\ntags:\n  - b: c\n---"));
        assert!(!is_naming("---\ntitle: a\nstatus: open\n---"));
    }
}
