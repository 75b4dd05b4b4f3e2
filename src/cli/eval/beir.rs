//! Retrieval quality as people get it: the documents are files of a knowledge base, the queries go
//! through the same search as theirs.
//!
//! A document ranks where its best passage does. `--tool grep` stands for the lexical side of the
//! index alone (BM25): grep over files lists what matches and is no ranker of its own.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::collection::Collection;
use super::metrics;
use super::records::progress_bar;
use crate::cli::catch_up::{UpdateStep, update};
use crate::cli::interruption::interruptible;
use crate::cli::output::{CommandFailure, print_json, print_notice, print_text};
use crate::cli::search::Tool;
use crate::config::Settings;
use crate::engine::open_knowledge_at;
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
        grades.is_some_and(metrics::counts)
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
        let nothing = metrics::RelevanceGrades::new();
        for at in 0..self.collection.queries.len() {
            if cancel.is_cancelled() {
                return Err(CommandFailure::interrupted());
            }
            let query = &self.collection.queries[at];
            let grades = self.collection.judged.get(&query.id).unwrap_or(&nothing);
            let is_measured = metrics::counts(grades);
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
    fn add(&mut self, ranking: &[String], grades: &metrics::RelevanceGrades) {
        self.queries += 1;
        self.ndcg_at_10 += metrics::ndcg(ranking, grades, 10);
        self.recall_at_10 += metrics::recall(ranking, grades, 10);
        self.recall_at_100 += metrics::recall(ranking, grades, DEPTH);
        self.mrr_at_10 += metrics::reciprocal_rank(ranking, grades, 10);
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
