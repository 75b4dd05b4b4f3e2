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

use clap::{Args, ValueEnum};
use serde::{Deserialize, Deserializer, Serialize};
use tokio_util::sync::CancellationToken;

use super::records::{progress_bar, read_lines, record};
use crate::cli::catch_up::update_wholly;
use crate::cli::interruption::{blocking_work, interruptible};
use crate::cli::output::{CommandFailure, print_notice, print_notices, print_result};
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
    tool: Option<String>,
    queries: usize,
    ndcg_at_10: f64,
    recall_at_10: f64,
    recall_at_100: f64,
    mrr_at_10: f64,
    queries_per_second: f64,
}

/// Measures and prints the figures.
pub(super) fn run(beir: &Beir, settings: &Settings) -> Result<(), CommandFailure> {
    let (collection, gaps) = Collection::read(&beir.dir)?;
    if !collection.queries.iter().any(Query::counts) {
        let why = "no query of queries.jsonl has a relevant document in qrels/test.tsv";
        return Err(CommandFailure::of_file(&beir.dir, why));
    }
    print_notices(gaps);
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
        let cannot = |error| CommandFailure::of_file(path, error);
        File::create(path).map(BufWriter::new).map_err(cannot)
    });
    let (tool, record) = (beir.tool, record.transpose()?);
    let figures = interruptible(async |cancel| {
        update_wholly(&knowledge, &cancel).await?;
        let asking = move |cancel: &CancellationToken| {
            measure(&collection, &knowledge, tool, record, cancel)
        };
        blocking_work("searching", asking, &cancel).await?
    })?;
    Ok(print_result(beir.json, &figures, || figures.as_text())?)
}

/// Asks all queries, one after the other. The first is asked twice, because the first search of a
/// process also loads the model, which is not what is measured.
fn measure(
    collection: &Collection,
    knowledge: &KnowledgeBase,
    tool: Tool,
    mut record: Option<BufWriter<File>>,
    cancel: &CancellationToken,
) -> Result<RetrievalFigures, CommandFailure> {
    let mode = match tool {
        Tool::Grep => SearchMode::Lexical,
        tool => tool.mode(),
    };
    let bar = progress_bar(collection.queries.len());
    if let Some(first) = collection.queries.first() {
        collection.rank(knowledge, mode, &first.text)?;
    }
    let mut figures = RetrievalFigures {
        dataset: collection.name.clone(),
        tool: tool
            .to_possible_value()
            .map(|tool| tool.get_name().to_owned()),
        ..RetrievalFigures::default()
    };
    let mut searching = Duration::ZERO;
    for query in &collection.queries {
        if cancel.is_cancelled() {
            return Err(CommandFailure::interrupted());
        }
        bar.inc(1);
        // Without judgements a query is only of use in a record.
        if !query.counts() && record.is_none() {
            continue;
        }
        let begun = Instant::now();
        let ranked = collection.rank(knowledge, mode, &query.text)?;
        if query.counts() {
            searching += begun.elapsed();
            figures.add(&ranked, &query.grades);
        }
        if let Some(record) = &mut record {
            write_ranking(record, &query.id, &ranked).map_err(CommandFailure::failed)?;
        }
    }
    bar.finish_and_clear();
    if let Some(record) = &mut record {
        record.flush().map_err(CommandFailure::failed)?;
    }
    Ok(figures.averaged(searching))
}

/// The best documents of a query, best first, with the best hit of each.
type Ranking = Vec<(String, Hit)>;

impl RetrievalFigures {
    fn add(&mut self, ranked: &[(String, Hit)], judged: &RelevanceGrades) {
        let grades = grades_of(ranked.iter().map(|(id, _)| id.as_str()), judged);
        self.queries += 1;
        self.ndcg_at_10 += ndcg(&grades, judged, 10);
        self.recall_at_10 += recall(&grades, judged, 10);
        self.recall_at_100 += recall(&grades, judged, DEPTH);
        self.mrr_at_10 += reciprocal_rank(&grades, 10);
    }

    fn averaged(mut self, searching: Duration) -> Self {
        let count = self.queries.max(1) as f64;
        for figure in [
            &mut self.ndcg_at_10,
            &mut self.recall_at_10,
            &mut self.recall_at_100,
            &mut self.mrr_at_10,
        ] {
            *figure /= count;
        }
        self.queries_per_second = count / searching.as_secs_f64().max(1e-9);
        self
    }

    fn as_text(&self) -> String {
        let queries = match self.queries {
            1 => "1 query".to_owned(),
            queries => format!("{queries} queries"),
        };
        format!(
            "{}, {}, {queries}\n  nDCG@10     {:.3}\n  Recall@10   {:.3}\n  Recall@100  {:.3}\n  \
             MRR@10      {:.3}\n  {:.1} queries/s\n",
            sanitize(&self.dataset),
            self.tool.as_deref().unwrap_or_default(),
            self.ndcg_at_10,
            self.recall_at_10,
            self.recall_at_100,
            self.mrr_at_10,
            self.queries_per_second
        )
    }
}

/// Query, document, rank, score, BM25, its share of a full match, cosine, lexical rank, vector
/// rank; `-` for what was not measured.
fn write_ranking(out: &mut impl Write, query: &str, ranked: &[(String, Hit)]) -> io::Result<()> {
    fn or_dash(value: Option<impl ToString>) -> String {
        value.map_or_else(|| "-".to_owned(), |value| value.to_string())
    }
    for ((document, hit), rank) in ranked.iter().zip(1..) {
        let (score, of) = (hit.score.value(), &hit.measured);
        let values = [of.bm25, of.share, of.cosine].map(or_dash).join("\t");
        let ranks = [of.lexical_rank, of.vector_rank].map(or_dash).join("\t");
        writeln!(
            out,
            "{query}\t{document}\t{rank}\t{score}\t{values}\t{ranks}"
        )?;
    }
    Ok(())
}

// A collection in the BEIR format: what is in its files, and its documents as a folder.
//
// The documents become files, because that is what a knowledge base is made of: measured is what
// people use, with its walk, its chunks and its ranking. The folder is named by the hash of the
// corpus, so that the same corpus is laid out and embedded once.

/// What is asked, what is wanted, and where the documents come from.
struct Collection {
    /// The folder's name.
    name: String,
    /// The queries in the order of `queries.jsonl`.
    queries: Vec<Query>,
    documents: Vec<Document>,
    hash: String,
}

/// One line of `queries.jsonl`.
#[derive(Debug, Deserialize)]
struct Query {
    #[serde(rename = "_id", deserialize_with = "id")]
    id: String,
    text: String,
    /// What was judged for it.
    #[serde(skip)]
    grades: RelevanceGrades,
}

impl Query {
    /// Whether it counts at all: trec_eval leaves out those without a relevant document.
    fn counts(&self) -> bool {
        self.grades.values().any(|grade| *grade > 0)
    }
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
struct CorpusFiles {
    /// Holds the files.
    documents: PathBuf,
    /// Where their index is to live.
    index: PathBuf,
    /// The space of a shared store that is theirs alone.
    space: String,
}

/// How documents are laid out; raised when that changes.
const LAYOUT: &[u8] = b"1";
/// Files in one folder.
const SHARD: usize = 1000;

impl Collection {
    /// Reads the three files of the folder; bad input is one line that says where. Judgements of what
    /// is not in the collection are another line. One of an unknown document counts among the
    /// relevant all the same, as in trec_eval; one of an unknown query never counts.
    fn read(dir: &Path) -> Result<(Self, Option<String>), CommandFailure> {
        const FORM: &str = r#"{"_id": "d1", "text": "…"}"#;
        let corpus = dir.join("corpus.jsonl");
        let mut hasher = blake3::Hasher::new();
        hasher.update(LAYOUT);
        let documents: Vec<Document> = read_lines(&corpus, MISSING, |_, line| {
            hasher.update(line.as_bytes());
            record(line, FORM)
        })?;
        let known = unique(
            &corpus,
            documents.iter().map(|document| document.id.as_str()),
        )?;
        if documents.is_empty() {
            return Err(CommandFailure::of_file(
                &corpus,
                "there is no document in it",
            ));
        }
        let path = dir.join("queries.jsonl");
        let mut queries: Vec<Query> = read_lines(&path, MISSING, |_, line| record(line, FORM))?;
        let asked = unique(&path, queries.iter().map(|query| query.id.as_str()))?;
        if let Some(empty) = queries.iter().find(|query| query.text.trim().is_empty()) {
            let why = format!("query {} is empty", empty.id);
            return Err(CommandFailure::of_file(&path, why));
        }
        let mut judged = judgements(&dir.join("qrels").join("test.tsv"), &asked)?;
        for query in &mut queries {
            query.grades = judged.remove(&query.id).unwrap_or_default();
        }
        let relevant = queries.iter().flat_map(|query| &query.grades);
        let relevant = relevant.filter(|(_, grade)| **grade > 0);
        let unknown = relevant.map(|(document, _)| document);
        let gaps = [
            gap(
                unknown.filter(|document| !known.contains(document.as_str())),
                "relevant documents are not in corpus.jsonl and count as missed",
            ),
            gap(
                judged.keys(),
                "judged queries are not in queries.jsonl and do not count",
            ),
        ];
        let gaps: Vec<String> = gaps.into_iter().flatten().collect();
        let gaps = (!gaps.is_empty()).then(|| format!("qrels/test.tsv: {}", gaps.join("; ")));
        let name = dir.canonicalize().ok();
        let name = name.as_deref().unwrap_or(dir).file_name();
        let collection = Self {
            name: name.unwrap_or_default().to_string_lossy().into_owned(),
            queries,
            documents,
            hash: hasher.finalize().to_hex()[..16].to_owned(),
        };
        Ok((collection, gaps))
    }

    /// Asks for more passages until there are enough documents.
    fn rank(
        &self,
        knowledge: &KnowledgeBase,
        mode: SearchMode,
        query: &str,
    ) -> Result<Ranking, CommandFailure> {
        let mut asked = PASSAGES;
        loop {
            let hits = knowledge.search(mode, query, asked)?;
            let is_all = hits.len() < asked;
            let mut seen = HashSet::new();
            let ranked = hits.into_iter().filter_map(|hit| {
                let id = self.document_in(&hit.source)?;
                seen.insert(id).then(|| (id.to_owned(), hit))
            });
            let mut ranked: Ranking = ranked.collect();
            if is_all || ranked.len() >= DEPTH {
                ranked.truncate(DEPTH);
                return Ok(ranked);
            }
            asked *= 2;
        }
    }

    /// The id of the document that lies in this file.
    fn document_in(&self, source: &str) -> Option<&str> {
        let stem = Path::new(source).file_stem()?.to_str()?;
        let at: usize = stem.parse().ok()?;
        self.documents.get(at).map(|document| document.id.as_str())
    }

    /// Writes the documents below `home`, unless they are there already.
    fn lay_out(&self, home: &Path) -> Result<CorpusFiles, CommandFailure> {
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

/// The ids; fails where one occurs twice.
fn unique<'a>(
    path: &Path,
    ids: impl Iterator<Item = &'a str>,
) -> Result<HashSet<&'a str>, CommandFailure> {
    let mut seen = HashSet::new();
    for id in ids {
        if !seen.insert(id) {
            let why = format!("the id {id} occurs twice");
            return Err(CommandFailure::of_file(path, why));
        }
    }
    Ok(seen)
}

/// How many there are of what is missing, and which comes first.
fn gap<'a>(missing: impl Iterator<Item = &'a String>, what: &str) -> Option<String> {
    let missing: Vec<&String> = missing.collect();
    let first = missing.iter().min()?;
    Some(format!("{what}: {}, the first is {first}", missing.len()))
}

/// `query-id corpus-id score`, or trec_eval's four columns with the iteration second.
fn judgements(
    path: &Path,
    asked: &HashSet<&str>,
) -> Result<HashMap<String, RelevanceGrades>, CommandFailure> {
    let mut judged: HashMap<String, RelevanceGrades> = HashMap::new();
    read_lines(path, MISSING, |number, line| {
        let columns: Vec<&str> = line.trim_end_matches(['\r', '\n']).split('\t').collect();
        let ([query, document, grade] | [query, _, document, grade]) = columns[..] else {
            return Err(format!(
                "expected query-id, corpus-id and score between tabs, found {} columns",
                columns.len()
            ));
        };
        match grade.trim().parse::<i64>() {
            Ok(grade) => {
                let grades = judged.entry(query.to_owned()).or_default();
                grades.insert(document.to_owned(), grade);
            }
            // The line that names the columns.
            Err(_) if number == 1 && !asked.contains(query) => {}
            Err(_) => return Err(format!("the score '{grade}' is not a whole number")),
        }
        Ok(())
    })?;
    if judged.is_empty() {
        return Err(CommandFailure::of_file(path, "there is no judgement in it"));
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
type RelevanceGrades = HashMap<String, i64>;

/// The grades of ranked documents; 0 where none was judged.
fn grades_of<'a>(ranking: impl Iterator<Item = &'a str>, judged: &RelevanceGrades) -> Vec<i64> {
    let grades = ranking.map(|document| judged.get(document).copied());
    grades.map(Option::unwrap_or_default).collect()
}

/// Normalised discounted cumulative gain of the first `depth`, 0–1 (`ndcg_cut_10`).
fn ndcg(ranked: &[i64], judged: &RelevanceGrades, depth: usize) -> f64 {
    let mut ideal: Vec<i64> = judged.values().copied().collect();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    let best = discounted(&ideal, depth);
    if best > 0.0 {
        discounted(ranked, depth) / best
    } else {
        0.0
    }
}

fn discounted(grades: &[i64], depth: usize) -> f64 {
    let gains = grades
        .iter()
        .take(depth)
        .map(|grade| (*grade).max(0) as f64);
    let discounted = gains
        .zip(2u32..)
        .map(|(gain, at)| gain / f64::from(at).log2());
    discounted.sum()
}

/// The share of all relevant documents that is among the first `depth`, 0–1 (`recall_100`).
fn recall(ranked: &[i64], judged: &RelevanceGrades, depth: usize) -> f64 {
    let relevant = judged.values().filter(|grade| **grade > 0).count();
    let found = ranked.iter().take(depth).filter(|grade| **grade > 0);
    found.count() as f64 / relevant.max(1) as f64
}

/// One over the rank of the first relevant document among the first `depth`; 0 if there is none
/// (`recip_rank`, cut).
fn reciprocal_rank(ranked: &[i64], depth: usize) -> f64 {
    let first = ranked.iter().take(depth).position(|grade| *grade > 0);
    first.map_or(0.0, |at| 1.0 / (at + 1) as f64)
}

#[cfg(test)]
mod metrics_tests {
    use super::*;

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
        let run = grades_of("a b c d e f".split(' '), &judged);
        assert!(near(ndcg(&run, &judged, 10), 6.86113 / 7.14100));
        // Cut at 2: (3 + 2/1.58496) / (3 + 3/1.58496) = 4.26186 / 4.89279.
        assert!(near(ndcg(&run, &judged, 2), 0.87105));
        assert!(near(recall(&run, &judged, 3), 3.0 / 5.0));
        assert!(near(reciprocal_rank(&run, 10), 1.0));
    }

    #[test]
    fn relevant_documents_that_were_not_found_count_against_the_ranking() {
        // Relevant at rank 2 only, of two: (1/1.58496) / (1 + 1/1.58496) = 0.38685.
        let judged = grades(&[("a", 1), ("missing", 1), ("x", -1)]);
        let run = grades_of("x a y".split(' '), &judged);
        assert!(near(ndcg(&run, &judged, 10), 0.38685));
        assert!(near(recall(&run, &judged, 10), 0.5));
        assert!(near(reciprocal_rank(&run, 10), 0.5));
        assert!(near(reciprocal_rank(&run, 1), 0.0));
    }

    #[test]
    fn a_query_without_a_relevant_document_does_not_count() {
        let mut query: Query = record(r#"{"_id": 1, "text": "a"}"#, "").unwrap();
        query.grades = grades(&[("a", 0), ("b", -1)]);
        assert!(!query.counts());
        query.grades = grades(&[("a", 0), ("b", 1)]);
        assert!(query.counts());
        assert!(near(ndcg(&[], &query.grades, 10), 0.0));
    }
}
