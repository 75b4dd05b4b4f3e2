use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use super::output::{CommandFailure, print_json, print_notice, print_text};
use crate::config::Settings;
use crate::domain::FILE_FORMATS;
use crate::engine::recognition;
use crate::kb::{Extraction, FileText};
use crate::text::sanitize;

/// Arguments of `read`.
#[derive(Debug, Args)]
pub(super) struct Read {
    /// Print one JSON object: title, text, places, fields, missing
    #[arg(long)]
    json: bool,
    /// The file
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

/// Every format that is read, with the endings of its files' names and an example of a citation.
pub(super) fn formats_help() -> String {
    let mut text = "Formats, by the endings of names; the contents decide:".to_owned();
    for format in FILE_FORMATS.iter().filter(|format| format.is_read()) {
        if !format.endings.is_empty() {
            let endings = format.endings.join(" ");
            text.push_str(&format!(
                "\n  {} ({}): {endings}",
                format.name,
                format.citation()
            ));
        }
    }
    text
}

/// Prints what kb-agent sees of a file.
pub(super) fn run(read: &Read, settings: &Settings) -> Result<(), CommandFailure> {
    if read.path.is_dir() {
        let folder = sanitize(&read.path.to_string_lossy()).into_owned();
        let said = format!(
            "{folder} is a folder: name a file in it, or index it with kb-agent index --kb {folder}"
        );
        return Err(CommandFailure::failed(said));
    }
    let program = settings.own_program.as_deref();
    let file = FileText::read(&read.path, program, recognition(settings)).map_err(|reason| {
        CommandFailure::failed(format!(
            "{}: {reason}",
            sanitize(&read.path.to_string_lossy())
        ))
    })?;
    if read.json {
        return Ok(print_json(&as_json(&file))?);
    }
    for line in &file.extraction.missing {
        print_notice(&format!("missing: {}", sanitize(line)));
    }
    Ok(print_text(with_places(&file.extraction))?)
}

fn as_json(file: &FileText) -> Value {
    let FileText { extraction, fields } = file;
    let last = extraction.text.lines().count();
    let ends = extraction.places.iter().skip(1).map(|next| next.line - 1);
    let places: Vec<Value> = extraction
        .places
        .iter()
        .zip(ends.chain([last]))
        .map(|(mark, to)| {
            let place = &mark.place;
            json!({
                "from_line": mark.line,
                "to_line": to.max(mark.line),
                "unit": place.unit,
                "name": place.name,
                "start": place.start,
                "end": place.end,
            })
        })
        .collect();
    let fields: Map<String, Value> = fields
        .iter()
        .map(|(key, values)| match values.as_slice() {
            [one] => (key.clone(), json!(one)),
            many => (key.clone(), json!(many)),
        })
        .collect();
    json!({
        "title": extraction.title,
        "text": extraction.text,
        "places": places,
        "fields": fields,
        "missing": extraction.missing,
    })
}

/// The text, each place named on a line of its own where it begins.
fn with_places(extraction: &Extraction) -> String {
    let mut shown = String::new();
    let mut places = extraction.places.iter().peekable();
    for (at, line) in extraction.text.lines().enumerate() {
        while let Some(mark) = places.next_if(|mark| mark.line <= at + 1) {
            shown.push_str(&format!("[{}]\n", sanitize(&mark.place.to_string())));
        }
        shown.push_str(&sanitize(line));
        shown.push('\n');
    }
    shown
}
