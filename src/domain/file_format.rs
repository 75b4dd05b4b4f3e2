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
const OFFICE: &[&[u8]] = &[
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
];
/// First bytes of workbooks from before Excel 5, which are bare records.
const WORKBOOK: &[&[u8]] = &[
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    b"\x09\x00\x04\x00",
    b"\x09\x02\x06\x00",
    b"\x09\x04\x06\x00",
];

/// A row of [`FILE_FORMATS`] for text that is cited by its lines.
const fn lines(
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

/// A row of [`FILE_FORMATS`] for a format that is recognised and not read.
const fn unread(
    name: &'static str,
    endings: &'static [&'static str],
    signatures: &'static [&'static [u8]],
    what_to_do: &'static str,
) -> FileFormat {
    FileFormat {
        signatures,
        ..lines(
            FileKind::Unread(what_to_do),
            name,
            endings,
            FileContent::Data,
        )
    }
}

/// Every format. Of those that begin alike, the first stands for a file whose name tells nothing.
pub static FILE_FORMATS: &[FileFormat] = &[
    FileFormat {
        kind: FileKind::Pdf,
        name: "PDF",
        short_name: "PDF",
        endings: &["pdf"],
        signatures: &[b"%PDF-"],
        unit: Some(PlaceUnit::Page),
        content: FileContent::Prose,
    },
    FileFormat {
        kind: FileKind::Office,
        name: "Word",
        short_name: "Word",
        endings: &["docx", "docm", "dotx", "dotm", "doc", "dot"],
        signatures: OFFICE,
        unit: Some(PlaceUnit::Section),
        content: FileContent::Prose,
    },
    FileFormat {
        kind: FileKind::Office,
        name: "PowerPoint",
        short_name: "slides",
        endings: &["pptx", "pptm", "potx", "potm", "ppsx", "ppsm", "ppt", "pps"],
        signatures: OFFICE,
        unit: Some(PlaceUnit::Slide),
        content: FileContent::Prose,
    },
    FileFormat {
        kind: FileKind::Office,
        name: "Excel",
        short_name: "sheet",
        endings: &["xlsx", "xlsm", "xltx", "xltm", "xlsb", "xls", "xlt"],
        signatures: WORKBOOK,
        unit: Some(PlaceUnit::Row),
        content: FileContent::Data,
    },
    FileFormat {
        kind: FileKind::Office,
        name: "OpenDocument text",
        short_name: "Word",
        endings: &["odt", "ott"],
        signatures: ZIP,
        unit: Some(PlaceUnit::Section),
        content: FileContent::Prose,
    },
    FileFormat {
        kind: FileKind::Office,
        name: "OpenDocument presentation",
        short_name: "slides",
        endings: &["odp", "otp"],
        signatures: ZIP,
        unit: Some(PlaceUnit::Slide),
        content: FileContent::Prose,
    },
    FileFormat {
        kind: FileKind::Office,
        name: "OpenDocument spreadsheet",
        short_name: "sheet",
        endings: &["ods", "ots"],
        signatures: ZIP,
        unit: Some(PlaceUnit::Row),
        content: FileContent::Data,
    },
    FileFormat {
        kind: FileKind::Office,
        name: "EPUB",
        short_name: "book",
        endings: &["epub"],
        signatures: ZIP,
        unit: Some(PlaceUnit::Section),
        content: FileContent::Prose,
    },
    FileFormat {
        signatures: &[b"{\\rtf"],
        ..lines(
            FileKind::RichText,
            "rich text",
            &["rtf"],
            FileContent::Prose,
        )
    },
    FileFormat {
        short_name: "mail",
        signatures: COMPOUND,
        ..lines(
            FileKind::Office,
            "Outlook message",
            &["msg", "oft"],
            FileContent::Prose,
        )
    },
    lines(FileKind::Mail, "mail", &["eml", "emlx"], FileContent::Prose),
    FileFormat {
        kind: FileKind::Mailbox,
        name: "mailbox",
        short_name: "mail",
        endings: &["mbox", "mbx"],
        signatures: &[],
        unit: Some(PlaceUnit::Message),
        content: FileContent::Prose,
    },
    FileFormat {
        kind: FileKind::SavedPage,
        name: "saved web page",
        short_name: "web page",
        endings: &["mht", "mhtml"],
        signatures: &[],
        unit: Some(PlaceUnit::Section),
        content: FileContent::Prose,
    },
    FileFormat {
        kind: FileKind::Html,
        name: "web page",
        short_name: "web page",
        endings: &["html", "htm", "xhtml", "shtml"],
        signatures: &[],
        unit: Some(PlaceUnit::Section),
        content: FileContent::Prose,
    },
    FileFormat {
        kind: FileKind::Records,
        name: "table (CSV, TSV)",
        short_name: "table",
        endings: &["csv", "tsv", "tab"],
        signatures: &[],
        unit: Some(PlaceUnit::Row),
        content: FileContent::Data,
    },
    FileFormat {
        kind: FileKind::Notebook,
        name: "Jupyter notebook",
        short_name: "notebook",
        endings: &["ipynb"],
        signatures: &[],
        unit: Some(PlaceUnit::Cell),
        content: FileContent::Prose,
    },
    FileFormat {
        unit: Some(PlaceUnit::Section),
        ..lines(FileKind::Agenda, "calendar", &["ics"], FileContent::Prose)
    },
    FileFormat {
        unit: Some(PlaceUnit::Section),
        ..lines(
            FileKind::Agenda,
            "contacts",
            &["vcf", "vcard"],
            FileContent::Prose,
        )
    },
    lines(
        FileKind::Subtitles,
        "subtitles",
        &["srt", "vtt", "sbv"],
        FileContent::Prose,
    ),
    lines(
        FileKind::Markdown,
        "Markdown",
        &["md", "markdown", "mdown", "mkd", "mdx", "qmd"],
        FileContent::Prose,
    ),
    lines(FileKind::Org, "Org", &["org"], FileContent::Prose),
    lines(
        FileKind::ReStructuredText,
        "reStructuredText",
        &["rst", "rest"],
        FileContent::Prose,
    ),
    lines(
        FileKind::Json,
        "JSON",
        &["json", "geojson", "webmanifest"],
        FileContent::Data,
    ),
    lines(
        FileKind::PackedJson,
        "JSON on one line",
        &[],
        FileContent::Data,
    ),
    FileFormat {
        short_name: "text",
        ..lines(
            FileKind::Plain,
            "plain text",
            &["txt", "text", "adoc", "asciidoc", "tex"],
            FileContent::Prose,
        )
    },
    FileFormat {
        short_name: "text",
        ..lines(FileKind::Plain, "log", &["log"], FileContent::Data)
    },
    lines(
        FileKind::Code,
        "data as text",
        &["jsonl", "ndjson", "xml", "yaml", "yml", "sql", "po", "pot"],
        FileContent::Data,
    ),
    lines(
        FileKind::Code,
        "source code",
        &[
            "bash", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "env", "go", "h", "hpp", "ini",
            "java", "js", "jsx", "kt", "lua", "php", "pl", "py", "r", "rb", "rs", "scala", "sh",
            "swift", "toml", "ts", "tsx", "vue",
        ],
        FileContent::Code,
    ),
    lines(
        FileKind::Picture,
        "picture",
        &["png", "jpg", "jpeg", "tif", "tiff", "webp", "bmp"],
        FileContent::Data,
    ),
    unread(
        "compressed file",
        &["gz", "tgz"],
        &[b"\x1f\x8b"],
        "a compressed file: unpack it into the folder",
    ),
    unread(
        "archive",
        &["7z", "rar"],
        &[b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07"],
        "an archive: unpack it into the folder",
    ),
    unread(
        "PostScript",
        &["ps", "eps"],
        &[b"%!PS-Adobe"],
        "PostScript is not read: save it as PDF",
    ),
    unread(
        "DjVu",
        &["djvu", "djv"],
        &[b"AT&TFORM"],
        "DjVu is not read: save it as PDF",
    ),
];

impl FileFormat {
    /// The format of files whose names end so; `ending` is in lower case, without its dot.
    pub fn by_ending(ending: &str) -> Option<&'static Self> {
        let mut formats = FILE_FORMATS.iter();
        formats.find(|format| format.endings.contains(&ending))
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
}
