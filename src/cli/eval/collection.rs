//! A collection in the BEIR format: what is in its files, and its documents as a folder.
//!
//! The documents become files, because that is what a knowledge base is made of: measured is what
//! people use, with its walk, its chunks and its ranking. The folder is named by the hash of the
//! corpus, so that the same corpus is laid out and embedded once.

use std::collections::{HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use super::metrics::RelevanceGrades;
use super::records::{bad, each_line, record, without_end};
use crate::cli::output::CommandFailure;
use crate::files::{create_private_dir, private, refuse_link};

/// What is asked, what is wanted, and where the documents come from.
pub(super) struct Collection {
    /// The folder's name.
    pub name: String,
    /// The queries in the order of `queries.jsonl`.
    pub queries: Vec<Query>,
    /// The grades by the id of their query.
    pub judged: HashMap<String, RelevanceGrades>,
    documents: Vec<Document>,
    hash: String,
}

/// One line of `queries.jsonl`.
#[derive(Debug, Deserialize)]
pub(super) struct Query {
    #[serde(rename = "_id", deserialize_with = "id")]
    pub id: String,
    pub text: String,
}

/// One line of `corpus.jsonl`.
#[derive(Debug, Deserialize)]
struct Document {
    #[serde(rename = "_id", deserialize_with = "id")]
    id: String,
    #[serde(default)]
    title: Option<String>,
    text: String,
}

/// The documents as files.
pub(super) struct CorpusFiles {
    /// Holds the files.
    pub documents: PathBuf,
    /// Where their index is to live.
    pub index: PathBuf,
    /// The space of a shared store that is theirs alone.
    pub space: String,
}

/// How documents are laid out; raised when that changes.
const LAYOUT: &[u8] = b"1";
/// Files in one folder.
const SHARD: usize = 1000;

impl Collection {
    /// Reads the three files of the folder. Bad input is one line that says where.
    pub fn read(dir: &Path) -> Result<Self, CommandFailure> {
        let corpus = dir.join("corpus.jsonl");
        let mut hasher = blake3::Hasher::new();
        hasher.update(LAYOUT);
        let documents: Vec<Document> = records(&corpus, |line| {
            hasher.update(line.as_bytes());
        })?;
        unique(&corpus, documents.iter().map(|document| &document.id))?;
        if documents.is_empty() {
            return Err(bad(&corpus, "there is no document in it"));
        }
        let path = dir.join("queries.jsonl");
        let queries: Vec<Query> = records(&path, |_| ())?;
        unique(&path, queries.iter().map(|query| &query.id))?;
        if let Some(at) = queries
            .iter()
            .position(|query| query.text.trim().is_empty())
        {
            return Err(bad(&path, format!("query {} is empty", queries[at].id)));
        }
        let path = dir.join("qrels").join("test.tsv");
        let judged = judgements(&path, &queries)?;
        let name = dir.canonicalize().ok();
        let name = name.as_deref().unwrap_or(dir).file_name();
        Ok(Self {
            name: name.unwrap_or_default().to_string_lossy().into_owned(),
            queries,
            judged,
            documents,
            hash: hasher.finalize().to_hex()[..16].to_owned(),
        })
    }

    /// Judgements of what is not in the collection, in one line. One of an unknown document counts
    /// among the relevant all the same, as in trec_eval; one of an unknown query never counts.
    pub fn gaps(&self) -> Option<String> {
        let queries: HashSet<&str> = self.queries.iter().map(|q| q.id.as_str()).collect();
        let documents: HashSet<&str> = self.documents.iter().map(|d| d.id.as_str()).collect();
        let mut unasked = Vec::new();
        let mut unknown = Vec::new();
        for (query, grades) in &self.judged {
            if !queries.contains(query.as_str()) {
                unasked.push(query.as_str());
                continue;
            }
            let relevant = grades.iter().filter(|(_, grade)| **grade > 0);
            unknown.extend(
                relevant
                    .map(|(document, _)| document.as_str())
                    .filter(|document| !documents.contains(document)),
            );
        }
        let gaps: Vec<String> = [
            gap(
                unknown,
                "relevant documents are not in corpus.jsonl and count as missed",
            ),
            gap(
                unasked,
                "judged queries are not in queries.jsonl and do not count",
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!gaps.is_empty()).then(|| format!("qrels/test.tsv: {}", gaps.join("; ")))
    }

    /// The id of the document that lies in this file.
    pub fn document_in(&self, source: &str) -> Option<&str> {
        let stem = Path::new(source).file_stem()?.to_str()?;
        let at: usize = stem.parse().ok()?;
        self.documents.get(at).map(|document| document.id.as_str())
    }

    /// Writes the documents below `home`, unless they are there already.
    pub fn lay_out(&self, home: &Path) -> Result<CorpusFiles, CommandFailure> {
        let place = home.join(&self.hash);
        let failed = |error: io::Error| {
            let place = place.display();
            CommandFailure::failed(format!(
                "{place} cannot be written: {error}; set KB_AGENT_DATA_DIR to a folder that can"
            ))
        };
        let laid = CorpusFiles {
            documents: place.join("documents"),
            index: place.join("index"),
            space: format!("eval-{}", self.hash),
        };
        for folder in [home, &place, &laid.documents] {
            refuse_link(folder).map_err(failed)?;
        }
        if !laid.documents.is_dir() {
            self.write_to(&place, &laid.documents).map_err(failed)?;
        }
        Ok(laid)
    }

    /// Written beside its goal and moved there whole, so that an interruption leaves nothing half.
    fn write_to(&self, place: &Path, goal: &Path) -> io::Result<()> {
        create_private_dir(place)?;
        let draft = tempfile::TempDir::new_in(place)?;
        let whole = draft.path().join("documents");
        create_private_dir(&whole)?;
        for (number, documents) in self.documents.chunks(SHARD).enumerate() {
            let folder = whole.join(format!("{number:04}"));
            create_private_dir(&folder)?;
            for (at, document) in documents.iter().enumerate() {
                let name = format!("{:07}.md", number * SHARD + at);
                let mut file = OpenOptions::new();
                let file = private(file.write(true).create_new(true)).open(folder.join(name));
                file?.write_all(document.as_markdown().as_bytes())?;
            }
        }
        match fs::rename(&whole, goal) {
            // Another process was faster with the same corpus.
            Err(_) if goal.is_dir() => Ok(()),
            moved => moved,
        }
    }
}

impl Document {
    fn as_markdown(&self) -> String {
        let title = self.title.as_deref().unwrap_or_default();
        let title: Vec<&str> = title.split_whitespace().collect();
        if title.is_empty() {
            return self.text.clone();
        }
        format!("# {}\n\n{}\n", title.join(" "), self.text)
    }
}

/// What to say of a file that is not there.
const MISSING: &str =
    "not found; a BEIR folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv";

/// The records of a file; every line also goes to `seen` as it stands there.
fn records<T: DeserializeOwned>(
    path: &Path,
    mut seen: impl FnMut(&str),
) -> Result<Vec<T>, CommandFailure> {
    let mut records = Vec::new();
    each_line(path, MISSING, |number, line| {
        seen(line);
        let line = without_end(line);
        if !line.trim().is_empty() {
            let form = r#"{"_id": "d1", "text": "…"}"#;
            let record = record(line, form);
            records.push(record.map_err(|what| bad(path, format!("line {number}: {what}")))?);
        }
        Ok(())
    })?;
    Ok(records)
}

fn unique<'a>(path: &Path, ids: impl Iterator<Item = &'a String>) -> Result<(), CommandFailure> {
    let mut seen = HashSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(bad(path, format!("the id {id} occurs twice")));
        }
    }
    Ok(())
}

/// How many there are of what is missing, and which comes first.
fn gap(missing: Vec<&str>, what: &str) -> Option<String> {
    let count = missing.len();
    let first = missing.into_iter().min()?;
    Some(format!("{what}: {count}, the first is {first}"))
}

/// `query-id corpus-id score`, or trec_eval's four columns with the iteration second.
fn judgements(
    path: &Path,
    queries: &[Query],
) -> Result<HashMap<String, RelevanceGrades>, CommandFailure> {
    let mut judged: HashMap<String, RelevanceGrades> = HashMap::new();
    each_line(path, MISSING, |number, line| {
        let line = without_end(line);
        if line.trim().is_empty() {
            return Ok(());
        }
        let columns: Vec<&str> = line.trim_end_matches('\r').split('\t').collect();
        let ([query, document, grade] | [query, _, document, grade]) = columns[..] else {
            let what = format!(
                "line {number}: expected query-id, corpus-id and score between tabs, found {} \
                 columns",
                columns.len()
            );
            return Err(bad(path, what));
        };
        match grade.trim().parse::<i64>() {
            Ok(grade) => {
                let grades = judged.entry(query.to_owned()).or_default();
                grades.insert(document.to_owned(), grade);
            }
            // The line that names the columns.
            Err(_) if number == 1 && queries.iter().all(|known| known.id != query) => {}
            Err(_) => {
                let what = format!("line {number}: the score '{grade}' is not a whole number");
                return Err(bad(path, what));
            }
        }
        Ok(())
    })?;
    if judged.is_empty() {
        return Err(bad(path, "there is no judgement in it"));
    }
    Ok(judged)
}

/// Ids are strings; some collections write numbers.
fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "_id must be a string or a whole number")]
    enum Id {
        Text(String),
        Number(i64),
    }
    Ok(match Id::deserialize(deserializer)? {
        Id::Text(text) => text,
        Id::Number(number) => number.to_string(),
    })
}
