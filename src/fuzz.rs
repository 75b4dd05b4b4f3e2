//! What the fuzz targets of `tests/fuzz` share with the tests over their kept inputs.
//!
//! A target is a function from bytes that panics where what it checks does not hold. `cargo fuzz`
//! drives it by coverage, and every test run tries the inputs in `tests/fuzz/corpus/<target>`.

use std::io::{Cursor, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A target that reads documents.
#[derive(Debug, Clone, Copy)]
pub struct DocumentTarget {
    /// The name that `KB_AGENT_FUZZ_TARGET` and the folder of its kept inputs have.
    pub name: &'static str,
    /// The endings of the files that its inputs are read as.
    pub endings: &'static [&'static str],
    /// Whether an input lists the parts of an archive, as [`packed`] takes them.
    pub is_packed: bool,
}

const fn target(name: &'static str, endings: &'static [&'static str]) -> DocumentTarget {
    DocumentTarget {
        name,
        endings,
        is_packed: false,
    }
}

const fn parts(name: &'static str, endings: &'static [&'static str]) -> DocumentTarget {
    DocumentTarget {
        name,
        endings,
        is_packed: true,
    }
}

/// Every target that reads documents. The others read what models and the engine say.
pub const DOCUMENT_TARGETS: &[DocumentTarget] = &[
    target("pdf", &["pdf"]),
    target("doc", &["doc"]),
    target("ppt", &["ppt"]),
    target("xls", &["xls"]),
    target("msg", &["msg"]),
    target("rtf", &["rtf"]),
    target("mail", &["eml", "emlx"]),
    target("mbox", &["mbox"]),
    target("mht", &["mht"]),
    target("agenda", &["ics", "vcf"]),
    target("subtitles", &["srt", "vtt"]),
    target("html", &["html"]),
    target("notebook", &["ipynb"]),
    target("json", &["json"]),
    target("table", &["csv", "tsv"]),
    target("text", &["md", "txt", "rst", "1", "org", "rs"]),
    target("archive", &["docx", "pptx", "xlsx", "odt", "epub"]),
    parts("docx", &["docx"]),
    parts("pptx", &["pptx"]),
    parts("xlsx", &["xlsx"]),
    parts("odf", &["odt", "ods", "odp"]),
    parts("epub", &["epub"]),
];

/// Begins the line that names a part.
const PART: &str = "=== ";

/// An archive of the parts that `input` lists: each begins with a line `=== NAME`. Its checksums
/// are right, so that what is changed reaches the reader of the part.
///
/// # Panics
/// Where an archive cannot be written to memory.
pub fn packed(input: &[u8]) -> Vec<u8> {
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let mut within = false;
    for line in input.split_inclusive(|byte| *byte == b'\n') {
        if let Some(name) = line.strip_prefix(PART.as_bytes()) {
            let name = String::from_utf8_lossy(name).trim().to_owned();
            within = archive.start_file(name, stored).is_ok();
        } else if within {
            archive.write_all(line).expect("memory takes it");
        }
    }
    archive.finish().expect("memory takes it").into_inner()
}

/// The inputs that are kept for a target, each with its file's name.
///
/// # Panics
/// Where there are none.
pub fn kept_inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/corpus")
        .join(target);
    let mut kept: Vec<_> = std::fs::read_dir(&folder)
        .expect("a folder of kept inputs")
        .map(|entry| {
            let entry = entry.expect("a kept input");
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, std::fs::read(entry.path()).expect("a kept input"))
        })
        .collect();
    kept.sort();
    assert!(!kept.is_empty(), "{target} has no kept inputs");
    kept
}

/// A panic of a library over a document is an outcome like any other, which the process that
/// reads documents answers with a reason; a panic of this crate is a finding.
#[cfg(fuzzing)]
pub fn forgive_panics_of_libraries() {
    let ends = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src/");
        let own = info
            .location()
            .is_none_or(|at| at.file().starts_with("src/") || at.file().starts_with(sources));
        if own {
            ends(info);
        }
    }));
}
