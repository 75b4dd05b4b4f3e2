//! Retrieval quality as people get it: the documents are files of a knowledge base, the queries go
//! through the same search as theirs.
//!
//! A document ranks where its best passage does. `--tool grep` stands for the lexical side of the
//! index alone (BM25): grep over files lists what matches and is no ranker of its own.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use tokio_util::sync::CancellationToken;

use super::records::progress_bar;
use super::records::{bad, each_line, record, without_end};
use crate::cli::catch_up::{UpdateStep, update};
use crate::cli::interruption::interruptible;
use crate::cli::output::{CommandFailure, print_json, print_notice, print_text};
use crate::cli::search::Tool;
use crate::config::Settings;
use crate::engine::open_knowledge_at;
use crate::files::{create_private_dir, private, refuse_link};
use crate::kb::{Hit, KnowledgeBase, SearchMode};
use crate::text::sanitize;

/// Arguments of `eval beir`.
#[derive(Debug, Args)]
pub(super) struct Beir {
    /// Folder with corpus.jsonl, queries.jsonl and qrels/test.tsv
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// How to search; grep is the lexical side of the index alone, BM25
    #[arg(long, value_enum, default_value_t = Tool::Hybrid)]
    tool: Tool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Also write each query's ranking, with what was measured of it, as tab-separated values
    #[arg(long, value_name = "FILE")]
    run: Option<PathBuf>,
}

/// The deepest that is looked at.
const DEPTH: usize = 100;
/// Passages asked for at first: a document may have several.
const PASSAGES: usize = 2 * DEPTH;

/// What is printed; the names are fixed.
#[derive(Debug, Default, Serialize)]
struct RetrievalFigures {
    dataset: String,
    tool: &'static str,
    queries: usize,
    ndcg_at_10: f64,
    recall_at_10: f64,
    recall_at_100: f64,
    mrr_at_10: f64,
    queries_per_second: f64,
}

/// Measures and prints the figures.
pub(super) fn run(beir: &Beir, settings: &Settings) -> Result<(), CommandFailure> {
    let collection = Collection::read(&beir.dir)?;
    let judged = collection.queries.iter().filter(|query| {
        let grades = collection.judged.get(&query.id);
        grades.is_some_and(counts)
    });
    if judged.count() == 0 {
        return Err(CommandFailure::failed(format!(
            "{}: no query of queries.jsonl has a relevant document in qrels/test.tsv",
            beir.dir.display()
        )));
    }
    if let Some(line) = collection.gaps() {
        print_notice(&line);
    }
    let laid = collection.lay_out(&settings.data_dir.join("eval"))?;
    let knowledge = open_knowledge_at(settings, &[laid.documents], &laid.index, &laid.space)?;
    if settings.store.is_some() {
        print_notice(&format!(
            "measured over the store, in its space '{0}'; `kb-agent store drop {0}` removes it",
            laid.space
        ));
    }
    let knowledge = Arc::new(knowledge);
    let record = beir.run.as_ref().map(|path| {
        let cannot = |error| CommandFailure::failed(format!("{}: {error}", path.display()));
        File::create(path).map(BufWriter::new).map_err(cannot)
    });
    let mut asking = QueryRun {
        mode: mode(beir.tool),
        collection,
        knowledge,
        record: record.transpose()?,
    };
    let mut figures = interruptible(async |cancel| {
        for part in [UpdateStep::Lexical, UpdateStep::Dense] {
            let updated = update(asking.knowledge.clone(), part, &cancel).await?;
            updated.map_err(CommandFailure::failed)?;
        }
        let work = tokio::task::spawn_blocking(move || asking.all(&cancel));
        work.await.map_err(CommandFailure::failed)?
    })?;
    figures.tool = name(beir.tool);
    if beir.json {
        print_json(&figures)?;
    } else {
        print_text(as_text(&figures))?;
    }
    Ok(())
}

fn mode(tool: Tool) -> SearchMode {
    match tool {
        Tool::Vector => SearchMode::Vector,
        Tool::Grep => SearchMode::Lexical,
        Tool::Hybrid => SearchMode::Hybrid,
    }
}

fn name(tool: Tool) -> &'static str {
    match tool {
        Tool::Vector => "vector",
        Tool::Grep => "grep",
        Tool::Hybrid => "hybrid",
    }
}

struct QueryRun {
    mode: SearchMode,
    collection: Collection,
    knowledge: Arc<KnowledgeBase>,
    record: Option<BufWriter<File>>,
}

impl QueryRun {
    /// All queries, one after the other. The first is asked twice, because the first search of a
    /// process also loads the model, which is not what is measured.
    fn all(&mut self, cancel: &CancellationToken) -> Result<RetrievalFigures, CommandFailure> {
        let bar = progress_bar(self.collection.queries.len());
        if let Some(first) = self.collection.queries.first() {
            self.documents(&first.text)?;
        }
        let mut figures = RetrievalFigures {
            dataset: self.collection.name.clone(),
            ..RetrievalFigures::default()
        };
        let mut searching = Duration::ZERO;
        let nothing = RelevanceGrades::new();
        for at in 0..self.collection.queries.len() {
            if cancel.is_cancelled() {
                return Err(CommandFailure::interrupted());
            }
            let query = &self.collection.queries[at];
            let grades = self.collection.judged.get(&query.id).unwrap_or(&nothing);
            let is_measured = counts(grades);
            // Without judgements a query is only of use in a record.
            if is_measured || self.record.is_some() {
                let begun = Instant::now();
                let ranked = self.documents(&query.text)?;
                let took = begun.elapsed();
                if is_measured {
                    searching += took;
                    let ranking: Vec<String> = ranked.iter().map(|(id, _)| id.clone()).collect();
                    figures.add(&ranking, grades);
                }
                if let Some(record) = &mut self.record {
                    write_ranking(record, &query.id, &ranked).map_err(CommandFailure::failed)?;
                }
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        if let Some(record) = &mut self.record {
            record.flush().map_err(CommandFailure::failed)?;
        }
        Ok(figures.averaged(searching))
    }

    /// The best documents of a query with the best hit of each. Asks for more passages until there
    /// are enough documents.
    fn documents(&self, query: &str) -> Result<Vec<(String, Hit)>, CommandFailure> {
        let mut asked = PASSAGES;
        loop {
            let hits = self.knowledge.search(self.mode, query, asked);
            let hits = hits.map_err(CommandFailure::failed)?;
            let is_all = hits.len() < asked;
            let mut seen = HashSet::new();
            let mut ranked = Vec::new();
            for hit in hits {
                if let Some(id) = self.collection.document_in(&hit.source)
                    && seen.insert(id.to_owned())
                {
                    ranked.push((id.to_owned(), hit));
                }
            }
            if is_all || ranked.len() >= DEPTH {
                ranked.truncate(DEPTH);
                return Ok(ranked);
            }
            asked *= 2;
        }
    }
}

impl RetrievalFigures {
    fn add(&mut self, ranking: &[String], grades: &RelevanceGrades) {
        self.queries += 1;
        self.ndcg_at_10 += ndcg(ranking, grades, 10);
        self.recall_at_10 += recall(ranking, grades, 10);
        self.recall_at_100 += recall(ranking, grades, DEPTH);
        self.mrr_at_10 += reciprocal_rank(ranking, grades, 10);
    }

    fn averaged(mut self, searching: Duration) -> Self {
        let count = self.queries.max(1) as f64;
        self.ndcg_at_10 /= count;
        self.recall_at_10 /= count;
        self.recall_at_100 /= count;
        self.mrr_at_10 /= count;
        self.queries_per_second = count / searching.as_secs_f64().max(1e-9);
        self
    }
}

/// Query, document, rank, score, BM25, its share of a full match, cosine, lexical rank, vector
/// rank; `-` for what was not measured.
fn write_ranking(out: &mut impl Write, query: &str, ranked: &[(String, Hit)]) -> io::Result<()> {
    fn format_or_dash(value: Option<impl ToString>) -> String {
        value.map_or_else(|| "-".to_owned(), |value| value.to_string())
    }
    for (at, (document, hit)) in ranked.iter().enumerate() {
        let measured = &hit.measured;
        let columns = [
            query.to_owned(),
            document.clone(),
            (at + 1).to_string(),
            hit.score.value().to_string(),
            format_or_dash(measured.bm25),
            format_or_dash(measured.share),
            format_or_dash(measured.cosine),
            format_or_dash(measured.lexical_rank),
            format_or_dash(measured.vector_rank),
        ];
        writeln!(out, "{}", columns.join("\t"))?;
    }
    Ok(())
}

fn as_text(figures: &RetrievalFigures) -> String {
    let queries = match figures.queries {
        1 => "1 query".to_owned(),
        queries => format!("{queries} queries"),
    };
    format!(
        "{}, {}, {}\n  nDCG@10     {:.3}\n  Recall@10   {:.3}\n  Recall@100  {:.3}\n  MRR@10      {:.3}\n  {:.1} queries/s\n",
        sanitize(&figures.dataset),
        figures.tool,
        queries,
        figures.ndcg_at_10,
        figures.recall_at_10,
        figures.recall_at_100,
        figures.mrr_at_10,
        figures.queries_per_second
    )
}

// A collection in the BEIR format: what is in its files, and its documents as a folder.
//
// The documents become files, because that is what a knowledge base is made of: measured is what
// people use, with its walk, its chunks and its ranking. The folder is named by the hash of the
// corpus, so that the same corpus is laid out and embedded once.

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

// Ranking metrics of one query, by the definitions of trec_eval.
//
// The gain of a document is its grade, if that is above 0, and the discount is log2(rank + 1)
// (`ndcg_cut`); the ideal order is over all judged documents, found or not. For recall and the
// reciprocal rank a document is relevant from grade 1 on. One thing differs: trec_eval sorts a run
// by score and breaks ties by name, here the order is the one that a person is shown.

/// The grades of one query's judged documents, by the document's name.
pub(super) type RelevanceGrades = HashMap<String, i64>;

/// Normalised discounted cumulative gain of the first `depth`, 0–1 (`ndcg_cut_10`).
pub(super) fn ndcg(ranking: &[String], grades: &RelevanceGrades, depth: usize) -> f64 {
    let gain = |grade: i64| grade.max(0) as f64;
    let found = ranking.iter().take(depth);
    let found = found.map(|document| gain(grades.get(document).copied().unwrap_or(0)));
    let mut ideal: Vec<i64> = grades.values().copied().collect();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    let best = discounted(ideal.into_iter().take(depth).map(gain));
    if best > 0.0 {
        discounted(found) / best
    } else {
        0.0
    }
}

/// The share of all relevant documents that is among the first `depth`, 0–1 (`recall_100`).
pub(super) fn recall(ranking: &[String], grades: &RelevanceGrades, depth: usize) -> f64 {
    let relevant = grades.values().filter(|&&grade| grade > 0).count();
    let found: HashSet<&String> = ranking
        .iter()
        .take(depth)
        .filter(|document| is_relevant(grades, document))
        .collect();
    found.len() as f64 / relevant.max(1) as f64
}

/// One over the rank of the first relevant document among the first `depth`; 0 if there is none
/// (`recip_rank`, cut).
pub(super) fn reciprocal_rank(ranking: &[String], grades: &RelevanceGrades, depth: usize) -> f64 {
    ranking
        .iter()
        .take(depth)
        .position(|document| is_relevant(grades, document))
        .map_or(0.0, |at| 1.0 / (at + 1) as f64)
}

/// Whether a query counts at all: trec_eval leaves out those without a relevant document.
pub(super) fn counts(grades: &RelevanceGrades) -> bool {
    grades.values().any(|&grade| grade > 0)
}

fn is_relevant(grades: &RelevanceGrades, document: &str) -> bool {
    grades.get(document).is_some_and(|&grade| grade > 0)
}

fn discounted(gains: impl Iterator<Item = f64>) -> f64 {
    gains
        .enumerate()
        .map(|(at, gain)| gain / ((at + 2) as f64).log2())
        .sum()
}

#[cfg(test)]
mod metrics_tests {
    use super::*;

    fn ranking(names: &str) -> Vec<String> {
        names.split(' ').map(str::to_owned).collect()
    }

    fn grades(grades: &[(&str, i64)]) -> RelevanceGrades {
        grades
            .iter()
            .map(|(name, grade)| ((*name).to_owned(), *grade))
            .collect()
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 5e-5
    }

    #[test]
    fn a_graded_ranking_has_the_values_that_trec_eval_prints() {
        // Järvelin and Kekäläinen's gains 3 2 3 0 1 2 with trec_eval's discount:
        // DCG  = 3/1 + 2/1.58496 + 3/2 + 0 + 1/2.58496 + 2/2.80735 = 6.86113
        // IDCG = 3/1 + 3/1.58496 + 2/2 + 2/2.32193 + 1/2.58496     = 7.14100
        let judged = grades(&[("a", 3), ("b", 2), ("c", 3), ("d", 0), ("e", 1), ("f", 2)]);
        let run = ranking("a b c d e f");
        assert!(near(ndcg(&run, &judged, 10), 6.86113 / 7.14100));
        // Cut at 2: (3 + 2/1.58496) / (3 + 3/1.58496) = 4.26186 / 4.89279.
        assert!(near(ndcg(&run, &judged, 2), 0.87105));
        assert!(near(recall(&run, &judged, 3), 3.0 / 5.0));
        assert!(near(reciprocal_rank(&run, &judged, 10), 1.0));
    }

    #[test]
    fn relevant_documents_that_were_not_found_count_against_the_ranking() {
        // Relevant at rank 2 only, of two: (1/1.58496) / (1 + 1/1.58496) = 0.38685.
        let judged = grades(&[("a", 1), ("missing", 1), ("x", -1)]);
        let run = ranking("x a y");
        assert!(near(ndcg(&run, &judged, 10), 0.38685));
        assert!(near(recall(&run, &judged, 10), 0.5));
        assert!(near(reciprocal_rank(&run, &judged, 10), 0.5));
        assert!(near(reciprocal_rank(&run, &judged, 1), 0.0));
    }

    #[test]
    fn a_query_without_a_relevant_document_does_not_count() {
        assert!(!counts(&grades(&[("a", 0), ("b", -1)])));
        assert!(counts(&grades(&[("a", 0), ("b", 1)])));
        assert!(near(ndcg(&[], &grades(&[("b", 1)]), 10), 0.0));
    }
}
