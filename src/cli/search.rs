use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::catch_up::{ProgressForm, SearchNeeds, bring_up_to_date};
use super::interruption::{blocking_work, interruptible};
use super::output::{CommandFailure, print_json, print_notice, print_notices, print_text};
use crate::config::Settings;
use crate::domain::{EvidenceId, FILE_FORMATS, ToolName, location};
use crate::engine::{open_knowledge, recognition};
use crate::kb::{
    Extraction, FileText, Hit, KbError, KnowledgeBase, ReadAs, Scope, SearchMode, Within,
};
use crate::protocol::EvidenceItem;
use crate::text::{one_line, sanitize};

/// Arguments of `search`.
#[derive(Debug, Args)]
pub(super) struct Search {
    /// How to search
    #[arg(long, value_enum, default_value_t = Tool::Hybrid)]
    tool: Tool,
    /// How many hits
    #[arg(short, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    k: u64,
    /// Print one JSON object a hit
    #[arg(long)]
    json: bool,
    /// What to search for
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
}

/// A way of searching, as the command line and other programs name it.
#[derive(Debug, Clone, Copy, Default, ValueEnum, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(rename_all = "lowercase")]
pub(super) enum Tool {
    Vector,
    Grep,
    #[default]
    Hybrid,
}

impl Tool {
    /// How the base searches then.
    pub(super) fn mode(self) -> SearchMode {
        match self {
            Self::Vector => SearchMode::Vector,
            Self::Grep => SearchMode::Grep,
            Self::Hybrid => SearchMode::Hybrid,
        }
    }
}

/// Searches and prints the hits, best first.
pub(super) fn run(search: &Search, settings: &Settings) -> Result<(), CommandFailure> {
    let query = search.query.join(" ");
    if query.trim().is_empty() {
        return Err(CommandFailure::usage(
            "the query is empty: say what to search for",
        ));
    }
    print_notices(&settings.without_effect);
    let knowledge = Arc::new(open_knowledge(settings)?);
    let mode = search.tool.mode();
    let k = search.k as usize;
    let found = interruptible(async |cancel| {
        let needs = match mode {
            SearchMode::Grep | SearchMode::Lexical => SearchNeeds::Lexical,
            SearchMode::Vector | SearchMode::Hybrid => SearchNeeds::Dense,
        };
        let embedding = bring_up_to_date(&knowledge, needs, ProgressForm::Bar, &cancel).await?;
        let said = embedding.has_failed();
        embedding.end().await;
        let (base, asked) = (knowledge.clone(), query.clone());
        let searching =
            move |cancel: &CancellationToken| within_its_scope(&base, mode, &asked, k, cancel);
        let found = blocking_work("searching", searching, &cancel).await?;
        let found = found.map_err(CommandFailure::failed)?;
        if let Some(error) = knowledge.embedding_trouble().filter(|_| !said) {
            print_notice(&format!("{error}; passages are found by their words only"));
        }
        Ok(found)
    })?;
    print_notices(&found.remarks);
    print_notices(found.surprise(&query));
    let (tool, hits) = (found.tool(), found.hits);
    for hit in &hits {
        if search.json {
            print_json(&as_json(hit, tool))?;
        } else {
            print_text(as_text(hit))?;
        }
    }
    if hits.is_empty() {
        print_notice("nothing was found");
    }
    Ok(())
}

/// The hits and how they were found.
pub(super) struct SearchOutput {
    /// Filters without effect, and those that left nothing.
    pub(super) remarks: Vec<String>,
    mode: SearchMode,
    /// What the query was taken for, where that is in question.
    read_as: Option<ReadAs>,
    /// The hits, best first.
    pub(super) hits: Vec<Hit>,
}

impl SearchOutput {
    /// The tool that `ask` uses for this mode.
    pub(super) fn tool(&self) -> ToolName {
        match self.mode {
            SearchMode::Vector => ToolName::VectorSearch,
            SearchMode::Grep => ToolName::GrepSearch,
            SearchMode::Hybrid | SearchMode::Lexical => ToolName::HybridSearch,
        }
    }

    /// Explains that grep read the query as words or as a pattern, where that may surprise.
    pub(super) fn surprise(&self, query: &str) -> Option<String> {
        unexpected(self.read_as?, query)
    }
}

/// Searches within what the query names after an `@`, and within its filters; ends soon after `cancel` is cancelled.
///
/// An error is one line.
pub(super) fn within_its_scope(
    base: &KnowledgeBase,
    mode: SearchMode,
    query: &str,
    k: usize,
    cancel: &CancellationToken,
) -> Result<SearchOutput, String> {
    let scoped = Scope::from_question(base, query, cancel).map_err(|error| error.to_string())?;
    let Some(scoped) = scoped else {
        return with_lexical_fallback(base, mode, query, k, Within::all(cancel))
            .map_err(|error| error.to_string());
    };
    let within = scoped.scope.limits(cancel.into());
    let found = with_lexical_fallback(base, mode, &scoped.query, k, within);
    let mut found = found.map_err(|error| error.to_string())?;
    found.remarks = scoped.remarks;
    // Such a word may have been meant to be found, as in `flag: -debug`.
    let left_out = scoped.scope.filter_texts();
    let left_out = left_out.filter(|written| written.starts_with('-'));
    found.remarks.extend(left_out.map(|written| {
        format!("{written} leaves out what holds it; \"{written}\" in quotation marks looks for it")
    }));
    if found.hits.is_empty() {
        let why = scoped.scope.why_empty(base, cancel);
        found
            .remarks
            .extend(why.map_err(|error| error.to_string())?);
    }
    Ok(found)
}

/// Where meaning cannot be asked for, words are.
fn with_lexical_fallback(
    base: &KnowledgeBase,
    mode: SearchMode,
    query: &str,
    k: usize,
    within: Within<'_>,
) -> Result<SearchOutput, KbError> {
    let found = |mode, hits| SearchOutput {
        remarks: Vec::new(),
        mode,
        read_as: None,
        hits,
    };
    if mode == SearchMode::Grep {
        let (hits, read_as) = base.search_files(query, k, within)?;
        return Ok(SearchOutput {
            read_as: Some(read_as),
            ..found(mode, hits)
        });
    }
    match base.search_within(mode, query, k, within) {
        Err(KbError::Embed(_)) => {
            let mode = SearchMode::Hybrid;
            Ok(found(mode, base.search_within(mode, query, k, within)?))
        }
        hits => Ok(found(mode, hits?)),
    }
}

fn unexpected(read_as: ReadAs, query: &str) -> Option<String> {
    let query = one_line(query.trim(), 80);
    match read_as {
        ReadAs::Words | ReadAs::Pattern => None,
        ReadAs::BrokenPattern => Some(format!(
            "'{query}' is no valid regular expression: searched as literal text"
        )),
        ReadAs::Marks => Some(format!("'{query}' holds no word: searched as literal text")),
        ReadAs::WordsOfPattern => Some(format!(
            "no line matches '{query}' as it stands: searched by its words"
        )),
    }
}

fn as_json(hit: &Hit, tool: ToolName) -> Value {
    let item = EvidenceItem {
        id: EvidenceId(format!("e{}", hit.rank)),
        source: hit.source.clone(),
        lines: hit.lines,
        tool,
        score: hit.score,
        excerpt: one_line(&hit.text, EvidenceItem::EXCERPT_CHARS),
        low: false,
        place: hit.place.clone(),
        measured: hit.measured,
        known_grade: None,
        by: None,
    };
    let mut value = json!(item);
    value["rank"] = json!(hit.rank);
    value
}

fn as_text(hit: &Hit) -> String {
    format!(
        "{:>3}  {}  {}:{}{}\n           {}\n",
        hit.rank,
        hit.score,
        sanitize(&hit.source),
        location(hit.lines, hit.place.as_ref()),
        how_found(hit),
        one_line(&hit.text, 160)
    )
}

/// Where each side ranked it, and with what: `[words #3 8.41, meaning #1 0.62]`.
fn how_found(hit: &Hit) -> String {
    let measured = &hit.measured;
    let side = |name: &str, rank: Option<usize>, value: Option<f64>| {
        let rank = rank.map(|rank| format!(" #{rank}"));
        let value = value.map(|value| format!(" {value:.2}"));
        let words = [rank, value].into_iter().flatten().collect::<String>();
        (!words.is_empty()).then(|| format!("{name}{words}"))
    };
    let sides: Vec<String> = [
        side("words", measured.lexical_rank, measured.bm25),
        side("meaning", measured.vector_rank, measured.cosine),
    ]
    .into_iter()
    .flatten()
    .collect();
    if sides.is_empty() {
        String::new()
    } else {
        format!("  [{}]", sides.join(", "))
    }
}

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
pub(super) fn run_read(read: &Read, settings: &Settings) -> Result<(), CommandFailure> {
    if read.path.is_dir() {
        let folder = sanitize(&read.path.to_string_lossy()).into_owned();
        let said = format!(
            "{folder} is a folder: name a file in it, or index it with kb-agent index --kb {folder}"
        );
        return Err(CommandFailure::failed(said));
    }
    let program = settings.own_program.as_deref();
    let file = FileText::read(&read.path, program, recognition(settings))
        .map_err(|reason| CommandFailure::of_file(&read.path, reason))?;
    if read.json {
        return Ok(print_json(&file_as_json(&file))?);
    }
    for line in &file.extraction.missing {
        print_notice(&format!("missing: {}", sanitize(line)));
    }
    Ok(print_text(with_places(&file.extraction))?)
}

fn file_as_json(file: &FileText) -> Value {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_is_not_wanted_any_more_ends() {
        let home = tempfile::tempdir().unwrap();
        let kb = home.path().join("kb");
        std::fs::create_dir(&kb).unwrap();
        std::fs::write(kb.join("a.md"), "# Gate\n\nThe gate opens at nine.\n").unwrap();
        let embedder = Arc::new(crate::embed::SentenceEmbedding::new(
            crate::embed::BuiltInModel::English,
        ));
        let base = KnowledgeBase::open(&[kb], &home.path().join("index"), embedder).unwrap();
        base.update(&|_| (), &CancellationToken::new()).unwrap();
        for mode in [SearchMode::Grep, SearchMode::Vector, SearchMode::Hybrid] {
            for query in ["gate", "gate type:md \"opens at\""] {
                let cancel = CancellationToken::new();
                let search = || within_its_scope(&base, mode, query, 10, &cancel);
                assert_eq!(search().unwrap().hits.len(), 1, "{mode:?} {query}");
                cancel.cancel();
                assert!(search().is_err(), "{mode:?} {query}");
            }
        }
    }
}
