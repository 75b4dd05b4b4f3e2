use super::place::{Place, PlaceUnit};

/// One format of files.
#[derive(Debug)]
pub struct FileFormat {
    /// What it is.
    pub kind: FileKind,
    /// What people call it.
    pub name: &'static str,
    /// What one of its files is called where files are counted.
    pub short_name: &'static str,
    /// The endings of its files' names, in lower case.
    pub endings: &'static [&'static str],
    /// How its files begin, where that tells.
    pub signatures: &'static [&'static [u8]],
    /// What its citations count; lines where there is nothing else.
    pub unit: Option<PlaceUnit>,
    /// What its files are for.
    pub content: FileContent,
}

/// How a format is read.
#[allow(missing_docs)] // each is what the row of its name in FILE_FORMATS says
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Pdf,
    Picture,
    Office,
    RichText,
    Mail,
    Mailbox,
    SavedPage,
    Html,
    Records,
    Notebook,
    Agenda,
    Subtitles,
    Markdown,
    Org,
    ReStructuredText,
    ManualPage,
    Json,
    PackedJson,
    Plain,
    Code,
    /// Recognised and not read; says what to do.
    Unread(&'static str),
}

/// What the files of a format are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileContent {
    /// Text for people.
    Prose,
    /// Tables and other data, of which a little is worth reading and much is looked up.
    Data,
    /// Text for programs.
    Code,
}

const ZIP: &[&[u8]] = &[b"PK\x03\x04", b"PK\x05\x06"];
const COMPOUND: &[&[u8]] = &[b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"];
const OFFICE: &[&[u8]] = &[ZIP[0], ZIP[1], COMPOUND[0]];
/// The last three begin workbooks from before Excel 5, which are bare records.
const WORKBOOK: &[&[u8]] = &[
    ZIP[0],
    ZIP[1],
    COMPOUND[0],
    b"\x09\x00\x04\x00",
    b"\x09\x02\x06\x00",
    b"\x09\x04\x06\x00",
];

use FileContent::{Data, Prose};

/// Every format. Of those that begin alike, the first stands for a file whose name tells nothing.
#[rustfmt::skip]
pub static FILE_FORMATS: &[FileFormat] = &[
    row(FileKind::Pdf, "PDF", &["pdf"], Prose).begins_with(&[b"%PDF-"]).cited_by(PlaceUnit::Page),
    row(FileKind::Office, "Word", &["docx", "docm", "dotx", "dotm", "doc", "dot"], Prose).begins_with(OFFICE).cited_by(PlaceUnit::Section),
    row(FileKind::Office, "PowerPoint", &["pptx", "pptm", "potx", "potm", "ppsx", "ppsm", "ppt", "pps"], Prose)
        .counted_as("slides").begins_with(OFFICE).cited_by(PlaceUnit::Slide),
    row(FileKind::Office, "Excel", &["xlsx", "xlsm", "xltx", "xltm", "xlsb", "xls", "xlt"], Data)
        .counted_as("sheet").begins_with(WORKBOOK).cited_by(PlaceUnit::Row),
    row(FileKind::Office, "OpenDocument text", &["odt", "ott"], Prose).counted_as("Word").begins_with(ZIP).cited_by(PlaceUnit::Section),
    row(FileKind::Office, "OpenDocument presentation", &["odp", "otp"], Prose).counted_as("slides").begins_with(ZIP).cited_by(PlaceUnit::Slide),
    row(FileKind::Office, "OpenDocument spreadsheet", &["ods", "ots"], Data).counted_as("sheet").begins_with(ZIP).cited_by(PlaceUnit::Row),
    row(FileKind::Office, "EPUB", &["epub"], Prose).counted_as("book").begins_with(ZIP).cited_by(PlaceUnit::Section),
    row(FileKind::RichText, "rich text", &["rtf"], Prose).begins_with(&[b"{\\rtf"]),
    row(FileKind::Office, "Outlook message", &["msg", "oft"], Prose).counted_as("mail").begins_with(COMPOUND),
    row(FileKind::Mail, "mail", &["eml", "emlx"], Prose),
    row(FileKind::Mailbox, "mailbox", &["mbox", "mbx"], Prose).counted_as("mail").cited_by(PlaceUnit::Message),
    row(FileKind::SavedPage, "saved web page", &["mht", "mhtml"], Prose).counted_as("web page").cited_by(PlaceUnit::Section),
    row(FileKind::Html, "web page", &["html", "htm", "xhtml", "shtml"], Prose).cited_by(PlaceUnit::Section),
    row(FileKind::Records, "table (CSV, TSV)", &["csv", "tsv", "tab"], Data).counted_as("table").cited_by(PlaceUnit::Row),
    row(FileKind::Notebook, "Jupyter notebook", &["ipynb"], Prose).counted_as("notebook").cited_by(PlaceUnit::Cell),
    row(FileKind::Agenda, "calendar", &["ics"], Prose).cited_by(PlaceUnit::Section),
    row(FileKind::Agenda, "contacts", &["vcf", "vcard"], Prose).cited_by(PlaceUnit::Section),
    row(FileKind::Subtitles, "subtitles", &["srt", "vtt", "sbv"], Prose),
    row(FileKind::Markdown, "Markdown", &["md", "markdown", "mdown", "mkd", "mdx", "qmd"], Prose),
    row(FileKind::Org, "Org", &["org"], Prose),
    row(FileKind::ReStructuredText, "reStructuredText", &["rst", "rest"], Prose),
    row(FileKind::ManualPage, "manual (troff)", &["1", "2", "3", "4", "5", "6", "7", "8", "9"], Prose).counted_as("manual"),
    row(FileKind::Json, "JSON", &["json", "geojson", "webmanifest"], Data),
    row(FileKind::PackedJson, "JSON on one line", &[], Data),
    row(FileKind::Plain, "plain text", &["txt", "text", "adoc", "asciidoc", "tex"], Prose).counted_as("text"),
    row(FileKind::Plain, "log", &["log"], Data).counted_as("text"),
    row(FileKind::Code, "data as text", &["jsonl", "ndjson", "xml", "yaml", "yml", "sql", "po", "pot"], Data),
    row(FileKind::Code, "source code", &[
        "bash", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "env", "go", "h", "hpp", "ini", "java", "js", "jsx", "kt", "lua", "php",
        "pl", "py", "r", "rb", "rs", "scala", "sh", "swift", "toml", "ts", "tsx", "vue",
    ], FileContent::Code),
    row(FileKind::Picture, "picture", &["png", "jpg", "jpeg", "tif", "tiff", "webp", "bmp"], Data),
    row(FileKind::Unread("a compressed file: unpack it into the folder"), "compressed file", &["gz", "tgz"], Data).begins_with(&[b"\x1f\x8b"]),
    row(FileKind::Unread("an archive: unpack it into the folder"), "archive", &["7z", "rar"], Data)
        .begins_with(&[b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07"]),
    row(FileKind::Unread("PostScript is not read: save it as PDF"), "PostScript", &["ps", "eps"], Data).begins_with(&[b"%!PS-Adobe"]),
    row(FileKind::Unread("DjVu is not read: save it as PDF"), "DjVu", &["djvu", "djv"], Data).begins_with(&[b"AT&TFORM"]),
];

/// A format whose name is short, whose first bytes tell nothing and whose lines are cited.
const fn row(
    kind: FileKind,
    name: &'static str,
    endings: &'static [&'static str],
    content: FileContent,
) -> FileFormat {
    FileFormat {
        kind,
        name,
        short_name: name,
        endings,
        signatures: &[],
        unit: None,
        content,
    }
}

impl FileFormat {
    const fn counted_as(mut self, short_name: &'static str) -> Self {
        self.short_name = short_name;
        self
    }

    const fn begins_with(mut self, signatures: &'static [&'static [u8]]) -> Self {
        self.signatures = signatures;
        self
    }

    const fn cited_by(mut self, unit: PlaceUnit) -> Self {
        self.unit = Some(unit);
        self
    }

    /// The format of files whose names end so; `ending` is in lower case, without its dot.
    pub fn by_ending(ending: &str) -> Option<&'static Self> {
        let mut formats = FILE_FORMATS.iter();
        formats.find(|format| format.endings.contains(&ending))
    }

    /// The endings by which a name in a sentence is a file's: a number behind a dot is more often a version.
    pub fn endings_in_prose(&self) -> impl Iterator<Item = &'static str> + use<> {
        let is_number = |ending: &str| ending.bytes().all(|byte| byte.is_ascii_digit());
        let endings = self.endings.iter().copied();
        endings.filter(move |ending| !is_number(ending))
    }

    /// The format of files that are read in this way.
    pub fn by_kind(kind: FileKind) -> Option<&'static Self> {
        FILE_FORMATS.iter().find(|format| format.kind == kind)
    }

    /// Whether its files are read.
    pub fn is_read(&self) -> bool {
        !matches!(self.kind, FileKind::Picture | FileKind::Unread(_))
    }

    /// Whether its files are text, though perhaps not read line by line.
    pub fn is_text(&self) -> bool {
        !matches!(
            self.kind,
            FileKind::Pdf
                | FileKind::Picture
                | FileKind::Office
                | FileKind::RichText
                | FileKind::Mail
                | FileKind::Mailbox
                | FileKind::SavedPage
                | FileKind::Unread(_)
        )
    }

    /// How a passage of it is cited, by an example: `p. 3`, `§ Setup`, `lines 4-9`.
    pub fn citation(&self) -> String {
        let Some(unit) = self.unit else {
            return "lines 4-9".to_owned();
        };
        let name = match unit {
            PlaceUnit::Row if self.kind == FileKind::Office => Some("Costs"),
            PlaceUnit::Section => Some("Setup"),
            PlaceUnit::Message => Some("Invoice"),
            _ => None,
        };
        let place = Place {
            unit,
            name: name.map(str::to_owned),
            start: 3,
            end: 3,
        };
        place.to_string()
    }
}

/// The names by which kinds of files are asked for.
pub(super) fn kind_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for format in read_formats() {
        if !names.contains(&format.short_name) {
            names.push(format.short_name);
        }
    }
    names
}

fn read_formats() -> impl Iterator<Item = &'static FileFormat> {
    let formats = FILE_FORMATS.iter();
    formats.filter(|format| format.is_read() && !format.endings.is_empty())
}

/// The endings of the files that are called so: by the name of a kind, else by an ending, else by a word of
/// the name of a kind.
pub(super) fn endings_of(value: &str) -> Option<Vec<&'static str>> {
    let asked = value.trim().trim_start_matches(['.', '*']).to_lowercase();
    let all = |is_meant: &dyn Fn(&FileFormat) -> bool| -> Option<Vec<&'static str>> {
        let formats = read_formats().filter(|format| is_meant(format));
        let endings: Vec<_> = formats.flat_map(|format| format.endings).copied().collect();
        (!endings.is_empty()).then_some(endings)
    };
    let singular = asked.strip_suffix('s').unwrap_or(&asked);
    let is_asked = |name: &str| {
        let name = name.to_lowercase();
        name == asked || name == singular
    };
    all(&|format| is_asked(format.short_name) || is_asked(format.name))
        .or_else(|| {
            let format = read_formats().find(|format| format.endings.contains(&&*asked))?;
            // Of many languages one is meant.
            let is_mixed = matches!(format.kind, FileKind::Code | FileKind::Plain);
            let endings = format.endings.iter().copied();
            Some(
                endings
                    .filter(|ending| !is_mixed || *ending == asked)
                    .collect(),
            )
        })
        .or_else(|| all(&|format| format.name.split(' ').any(is_asked)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_names_one_format() {
        let endings = FILE_FORMATS.iter().flat_map(|format| format.endings);
        let mut endings: Vec<_> = endings.collect();
        let all = endings.len();
        endings.sort_unstable();
        endings.dedup();
        assert_eq!(endings.len(), all);
    }

    #[test]
    fn kinds_are_known_by_name_and_ending() {
        for (asked, ending, other) in [
            ("pdf", "pdf", "md"),
            ("markdown", "md", "txt"),
            ("Word", "odt", "md"),
            ("doc", "docx", "md"),
            ("mails", "msg", "md"),
            ("code", "rs", "md"),
            ("rs", "rs", "py"),
            (".txt", "txt", "adoc"),
            ("text", "txt", "rtf"),
            ("sheet", "xlsx", "csv"),
        ] {
            let endings = endings_of(asked).unwrap_or_default();
            assert!(endings.contains(&ending), "{asked}: {endings:?}");
            assert!(!endings.contains(&other), "{asked}: {endings:?}");
        }
        assert_eq!(endings_of("zip"), None);
    }
}
