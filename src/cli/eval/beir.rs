//! Retrieval quality as people get it: the documents are files of a knowledge base, the queries go
//! through the same search as theirs.
//!
//! A document ranks where its best passage does. `--tool grep` stands for the lexical side of the
//! index alone (BM25): grep over files lists what matches and is no ranker of its own.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::frame::{Measure, for_each_line, load_lines, parse_object, print_measured};
use super::frame::{refuse_blank, refuse_known};
use crate::cli::catch_up::update_wholly;
use crate::cli::interruption::blocking_work;
use crate::cli::output::{CommandFailure, print_notice, print_notices};
use crate::cli::search::Tool;
use crate::config::Settings;
use crate::engine::open_knowledge_at;
use crate::files::{create_private_dir, private, refuse_link};
use crate::kb::{KbError, KnowledgeBase, SearchMode};
use crate::text::plural;

const FORM: &str = r#"{"_id": "d1", "text": "…"}"#;
/// The files of a collection.
const FILES: [&str; 3] = ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"];
/// The deepest rank that is looked at.
const DEPTH: usize = 100;
/// How documents are laid out; raised when that changes.
const LAYOUT: &[u8] = b"1";
/// Files in one folder.
const SHARD: usize = 1000;

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
    /// Also write each query's ranking, as tab-separated values: query, document, rank, score
    #[arg(long, value_name = "FILE")]
    run: Option<PathBuf>,
}

/// Measures and prints the figures.
pub(super) fn run(beir: &Beir, settings: &Settings) -> Result<(), CommandFailure> {
    let Collection {
        name,
        queries,
        documents,
        hash,
    } = Collection::read(&beir.dir)?;
    let place = settings.data_dir.join("eval").join(&hash);
    lay_out(&documents, &place).map_err(|error| {
        let place = place.display();
        CommandFailure::failed(format!(
            "{place} cannot be written: {error}; set KB_AGENT_DATA_DIR to a folder that can"
        ))
    })?;
    let (files, space) = (place.join("documents"), format!("eval-{hash}"));
    let knowledge = open_knowledge_at(settings, &[files], &place.join("index"), &space)?;
    if settings.store.is_some() {
        print_notice(&format!(
            "measured over the store, in its space '{space}'; `kb-agent store drop {space}` removes it"
        ));
    }
    let ranker = Arc::new(Ranker {
        knowledge: Arc::new(knowledge),
        ids: documents.into_iter().map(|document| document.id).collect(),
        mode: match beir.tool {
            Tool::Grep => SearchMode::Lexical,
            tool => tool.mode(),
        },
    });
    let create = |path: &PathBuf| {
        let file = File::create(path).map(BufWriter::new);
        file.map_err(|error| CommandFailure::of_file(path, error))
    };
    let record = beir.run.as_ref().map(create).transpose()?;
    print_measured(&queries, beir.json, async |cancel| {
        update_wholly(&ranker.knowledge, cancel).await?;
        // The first search of a process also loads the model, which is not what is measured.
        ranker.clone().search(&queries[0].text, cancel).await?;
        let tool = beir.tool.to_possible_value();
        Ok(RetrievalMeasure {
            ranker,
            record,
            figures: json!({"dataset": name, "tool": tool.map(|tool| tool.get_name().to_owned())}),
            sums: [0.0; 4],
            queries: 0,
            searching: Duration::ZERO,
        })
    })
}

struct RetrievalMeasure {
    ranker: Arc<Ranker>,
    record: Option<BufWriter<File>>,
    /// What does not depend on the queries.
    figures: Value,
    /// The means of [`METRICS`] over the queries.
    sums: [f64; 4],
    queries: usize,
    searching: Duration,
}

impl Measure for RetrievalMeasure {
    type Line = Query;

    async fn add(
        &mut self,
        query: &Query,
        cancel: &CancellationToken,
    ) -> Result<(), CommandFailure> {
        // Without judgements a query is only of use in a record.
        if !query.is_judged() && self.record.is_none() {
            return Ok(());
        }
        let (ranking, took) = self.ranker.clone().search(&query.text, cancel).await?;
        if query.is_judged() {
            self.searching += took;
            self.queries += 1;
            let ids = ranking.iter().map(|(id, _)| id.as_str());
            let grades = grade(ids, &query.grades);
            for (sum, (_, metric, depth)) in self.sums.iter_mut().zip(METRICS) {
                *sum += metric(&grades, &query.grades, depth);
            }
        }
        if let Some(record) = &mut self.record {
            for ((document, score), rank) in ranking.iter().zip(1..) {
                writeln!(record, "{}\t{document}\t{rank}\t{score}", query.id)
                    .map_err(CommandFailure::failed)?;
            }
        }
        Ok(())
    }

    async fn figures(mut self) -> Result<Value, CommandFailure> {
        if let Some(mut record) = self.record {
            record.flush().map_err(CommandFailure::failed)?;
        }
        let count = self.queries.max(1) as f64;
        self.figures["queries"] = json!(self.queries);
        for ((name, ..), sum) in METRICS.iter().zip(self.sums) {
            self.figures[*name] = json!(sum / count);
        }
        let seconds = self.searching.as_secs_f64().max(1e-9);
        self.figures["queries_per_second"] = json!(count / seconds);
        Ok(self.figures)
    }
}

/// The base of a collection, searched for documents.
struct Ranker {
    knowledge: Arc<KnowledgeBase>,
    /// Ids of the documents, in the order of their files.
    ids: Vec<String>,
    mode: SearchMode,
}

/// The best documents of a query with their scores, best first.
type Ranking = Vec<(String, f64)>;

impl Ranker {
    /// Searches on a thread of its own, and says how long that took.
    async fn search(
        self: Arc<Self>,
        query: &str,
        cancel: &CancellationToken,
    ) -> Result<(Ranking, Duration), CommandFailure> {
        let query = query.to_owned();
        let work = move |_: &CancellationToken| {
            let begun = Instant::now();
            self.rank(&query).map(|ranking| (ranking, begun.elapsed()))
        };
        Ok(blocking_work("searching", work, cancel).await??)
    }

    /// Asks for more passages until there are enough documents: one may have several.
    fn rank(&self, query: &str) -> Result<Ranking, KbError> {
        let mut asked = 2 * DEPTH;
        loop {
            let hits = self.knowledge.search(self.mode, query, asked)?;
            let is_all = hits.len() < asked;
            let mut seen = HashSet::new();
            let ranking = hits.iter().filter_map(|hit| {
                let at: usize = Path::new(&hit.source).file_stem()?.to_str()?.parse().ok()?;
                let id = self.ids.get(at)?;
                seen.insert(at).then(|| (id.clone(), hit.score.value()))
            });
            let mut ranking: Ranking = ranking.collect();
            if is_all || ranking.len() >= DEPTH {
                ranking.truncate(DEPTH);
                return Ok(ranking);
            }
            asked *= 2;
        }
    }
}

/// What is in the files of a folder in the BEIR format.
struct Collection {
    /// The folder's name.
    name: String,
    queries: Vec<Query>,
    documents: Vec<Document>,
    hash: String,
}

/// One line of `queries.jsonl`.
#[derive(Debug, Deserialize)]
struct Query {
    #[serde(rename = "_id", deserialize_with = "read_id")]
    id: String,
    text: String,
    /// What was judged for it.
    #[serde(skip)]
    grades: RelevanceGrades,
}

/// One line of `corpus.jsonl`.
#[derive(Debug, Deserialize)]
struct Document {
    #[serde(rename = "_id", deserialize_with = "read_id")]
    id: String,
    #[serde(default)]
    title: Option<String>,
    text: String,
}

impl Query {
    /// Whether it counts: trec_eval leaves out queries without a relevant document.
    fn is_judged(&self) -> bool {
        self.grades.values().any(|grade| *grade > 0)
    }
}

impl Collection {
    /// Reads the three files. Judgements of what is not in the collection are one notice: one of an
    /// unknown document counts among the relevant all the same, as in trec_eval; one of an unknown query
    /// never counts.
    fn read(dir: &Path) -> Result<Self, CommandFailure> {
        let paths = FILES.map(|name| dir.join(name));
        if let Some(missing) = paths.iter().find(|path| !path.exists()) {
            let why = format!("not found; a BEIR folder holds {}", FILES.join(", "));
            return Err(CommandFailure::of_file(missing, why));
        }
        let [corpus, queries, judgements] = &paths;
        let mut hasher = blake3::Hasher::new();
        hasher.update(LAYOUT);
        let (mut documents, mut known) = (Vec::new(), BTreeSet::new());
        for_each_line(corpus, |_, line| {
            hasher.update(line.as_bytes()).update(b"\n");
            let document: Document = parse_object(line, FORM)?;
            refuse_known(&mut known, &document.id)?;
            documents.push(document);
            Ok(())
        })?;
        if documents.is_empty() {
            return Err(CommandFailure::of_file(
                corpus,
                "there is no document in it",
            ));
        }
        let mut asked = BTreeSet::new();
        let mut queries = load_lines(queries, FORM, |query: Query| {
            refuse_known(&mut asked, &query.id)?;
            refuse_blank("query", &query.text)?;
            Ok(query)
        })?;
        let mut judged = read_judgements(judgements, &asked)?;
        for query in &mut queries {
            query.grades = judged.remove(&query.id).unwrap_or_default();
        }
        if !queries.iter().any(Query::is_judged) {
            let why = "no query of queries.jsonl has a relevant document in qrels/test.tsv";
            return Err(CommandFailure::of_file(dir, why));
        }
        let graded = queries.iter().flat_map(|query| &query.grades);
        let relevant = graded.filter(|(_, grade)| **grade > 0);
        let unknown = relevant.filter_map(|(id, _)| (!known.contains(id)).then_some(id));
        let gaps = [
            (
                "relevant documents are not in corpus.jsonl and count as missed",
                unknown.collect::<Vec<_>>(),
            ),
            (
                "judged queries are not in queries.jsonl and do not count",
                judged.keys().collect(),
            ),
        ];
        let gaps = gaps.into_iter().filter_map(|(what, missing)| {
            let first = missing.iter().min()?;
            Some(format!("{what}: {}, the first is {first}", missing.len()))
        });
        let gaps: Vec<String> = gaps.collect();
        if !gaps.is_empty() {
            print_notices([format!("qrels/test.tsv: {}", gaps.join("; "))]);
        }
        let whole = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        Ok(Self {
            name: whole
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            queries,
            documents,
            hash: hasher.finalize().to_hex()[..16].to_owned(),
        })
    }
}

/// Reads `query-id corpus-id score`, or trec_eval's four columns with the iteration second.
fn read_judgements(
    path: &Path,
    asked: &BTreeSet<String>,
) -> Result<HashMap<String, RelevanceGrades>, CommandFailure> {
    let mut judged: HashMap<String, RelevanceGrades> = HashMap::new();
    for_each_line(path, |number, line| {
        let columns: Vec<&str> = line.split('\t').collect();
        let ([query, document, grade] | [query, _, document, grade]) = columns[..] else {
            let columns = plural(columns.len(), "column");
            return Err(format!(
                "expected query-id, corpus-id and score between tabs, found {columns}"
            ));
        };
        match grade.trim().parse() {
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
fn read_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
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

/// Writes the documents as files below `place`, unless they are there already. They are written beside
/// their goal and moved there whole, so that an interruption leaves nothing half.
fn lay_out(documents: &[Document], place: &Path) -> io::Result<()> {
    let goal = place.join("documents");
    for folder in [place.parent().unwrap_or(place), place, &goal] {
        refuse_link(folder)?;
    }
    if goal.is_dir() {
        return Ok(());
    }
    create_private_dir(place)?;
    let draft = tempfile::TempDir::new_in(place)?;
    let whole = draft.path().join("documents");
    for (at, document) in documents.iter().enumerate() {
        let folder = whole.join(format!("{:04}", at / SHARD));
        if at % SHARD == 0 {
            create_private_dir(&folder)?;
        }
        let mut options = OpenOptions::new();
        let options = private(options.write(true).create_new(true));
        let mut file = options.open(folder.join(format!("{at:07}.md")))?;
        file.write_all(document.as_markdown().as_bytes())?;
    }
    match fs::rename(&whole, &goal) {
        // Another process was faster with the same corpus.
        Err(_) if goal.is_dir() => Ok(()),
        moved => moved,
    }
}

impl Document {
    fn as_markdown(&self) -> String {
        let title = self.title.as_deref().unwrap_or_default();
        let words: Vec<&str> = title.split_whitespace().collect();
        if words.is_empty() {
            return self.text.clone();
        }
        format!("# {}\n\n{}\n", words.join(" "), self.text)
    }
}

// Ranking metrics of one query, by the definitions of trec_eval.
//
// The gain of a document is its grade, if that is above 0, and the discount is log2(rank + 1)
// (`ndcg_cut`); the ideal order is over all judged documents, found or not. For recall and the
// reciprocal rank a document is relevant from grade 1 on. One thing differs: trec_eval sorts a run
// by score and breaks ties by name, here the order is the one that a person is shown.

/// The grades of one query's judged documents, by the document's name.
type RelevanceGrades = HashMap<String, i64>;

/// A figure of one query: from the grades of ranked documents, those that were judged, and the depth.
type Metric = fn(&[i64], &RelevanceGrades, usize) -> f64;

/// What is measured, to which depth.
const METRICS: [(&str, Metric, usize); 4] = [
    ("ndcg_at_10", ndcg, 10),
    ("recall_at_10", recall, 10),
    ("recall_at_100", recall, DEPTH),
    ("mrr_at_10", reciprocal_rank, 10),
];

/// The grades of ranked documents; 0 where none was judged.
fn grade<'a>(ranking: impl Iterator<Item = &'a str>, judged: &RelevanceGrades) -> Vec<i64> {
    let grades = ranking.map(|document| judged.get(document).copied());
    grades.map(Option::unwrap_or_default).collect()
}

/// Normalised discounted cumulative gain of the first `depth`, 0–1 (`ndcg_cut_10`).
fn ndcg(ranked: &[i64], judged: &RelevanceGrades, depth: usize) -> f64 {
    let gain = |grades: &[i64]| -> f64 {
        let gains = grades.iter().take(depth).zip(2u32..);
        gains
            .map(|(grade, at)| (*grade).max(0) as f64 / f64::from(at).log2())
            .sum()
    };
    let mut ideal: Vec<i64> = judged.values().copied().collect();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    let best = gain(&ideal);
    if best > 0.0 { gain(ranked) / best } else { 0.0 }
}

/// The share of all relevant documents that is among the first `depth`, 0–1 (`recall_100`).
fn recall(ranked: &[i64], judged: &RelevanceGrades, depth: usize) -> f64 {
    let relevant = judged.values().filter(|grade| **grade > 0).count();
    let found = ranked.iter().take(depth).filter(|grade| **grade > 0);
    found.count() as f64 / relevant.max(1) as f64
}

/// One over the rank of the first relevant document among the first `depth`; 0 if there is none
/// (`recip_rank`, cut).
fn reciprocal_rank(ranked: &[i64], _: &RelevanceGrades, depth: usize) -> f64 {
    let first = ranked.iter().take(depth).position(|grade| *grade > 0);
    first.map_or(0.0, |at| 1.0 / (at + 1) as f64)
}

#[cfg(test)]
mod tests {
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
        let run = grade("a b c d e f".split(' '), &judged);
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
        let run = grade("x a y".split(' '), &judged);
        assert!(near(ndcg(&run, &judged, 10), 0.38685));
        assert!(near(recall(&run, &judged, 10), 0.5));
        assert!(near(reciprocal_rank(&run, &judged, 10), 0.5));
        assert!(near(reciprocal_rank(&run, &judged, 1), 0.0));
    }

    #[test]
    fn a_query_without_a_relevant_document_does_not_count() {
        let mut query: Query = parse_object(r#"{"_id": 1, "text": "a"}"#, "").unwrap();
        query.grades = grades(&[("a", 0), ("b", -1)]);
        assert!(!query.is_judged());
        query.grades = grades(&[("a", 0), ("b", 1)]);
        assert!(query.is_judged());
        assert!(near(ndcg(&[], &query.grades, 10), 0.0));
    }
}
