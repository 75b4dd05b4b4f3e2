//! Passages cut into sentences, and questions with the sentences that answer them.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::Deserialize;

use super::collection::record;
use super::judged::{read, read_records};
use super::lines::bad;
use crate::cli::output::CommandFailure;

const MISSING: &str = "not found; a reading folder holds passages.jsonl and questions.jsonl";
/// What the lines look like, for who wrote other ones.
const PASSAGE: &str = r#"{"id": "p1", "set": "s", "title": "…", "sentences": ["…"]}"#;
const QUESTION: &str =
    r#"{"query": "…", "set": "s", "passage": "p1", "answers": [0], "near": ["p2"], "far": []}"#;

/// A passage.
#[derive(Debug, Deserialize)]
pub(super) struct ReadingPassage {
    id: String,
    /// The set whose word counts it is part of.
    pub set: String,
    /// The document's, empty where none is known.
    #[serde(default)]
    pub title: String,
    sentences: Vec<String>,
}

/// A question with its passages, by their places.
#[derive(Debug)]
pub(super) struct ReadingQuestion {
    pub query: String,
    pub set: String,
    /// The passage it was asked of.
    pub own: usize,
    /// The sentences of that one that answer, from 0; none where it does not answer.
    pub answers: Vec<usize>,
    /// Other passages, which do not answer.
    pub others: Vec<usize>,
}

/// What the two files hold.
#[derive(Debug)]
pub(super) struct ReadingSet {
    pub passages: Vec<ReadingPassage>,
    pub questions: Vec<ReadingQuestion>,
}

#[derive(Deserialize)]
struct ReadingLine {
    query: String,
    set: String,
    passage: String,
    answers: Vec<usize>,
    #[serde(default)]
    near: Vec<String>,
    #[serde(default)]
    far: Vec<String>,
}

impl ReadingSet {
    /// Reads both files. Bad input is one line that says where.
    pub fn read(dir: &Path) -> Result<Self, CommandFailure> {
        let path = dir.join("passages.jsonl");
        let passages = read_records(&path, MISSING, passage)?;
        if passages.is_empty() {
            return Err(bad(&path, "there is no passage in it"));
        }
        let mut places = HashMap::new();
        for (place, ReadingPassage { id, .. }) in passages.iter().enumerate() {
            if places.insert(id.as_str(), place).is_some() {
                return Err(bad(&path, format!("the id {id} occurs twice")));
            }
        }
        let questions = read(&dir.join("questions.jsonl"), MISSING, |line| {
            question(line, &passages, &places)
        })?;
        Ok(Self {
            passages,
            questions,
        })
    }

    /// The questions by set, in their order; of each set at most so many, evenly spread over it, so
    /// that not all are of its first documents.
    pub fn by_set(&self, at_most: Option<usize>) -> BTreeMap<&str, Vec<&ReadingQuestion>> {
        let mut sets: BTreeMap<&str, Vec<&ReadingQuestion>> = BTreeMap::new();
        for question in &self.questions {
            sets.entry(&question.set).or_default().push(question);
        }
        for questions in sets.values_mut() {
            let all = questions.len();
            let count = at_most.map_or(all, |most| most.min(all));
            *questions = (0..count).map(|at| questions[at * all / count]).collect();
        }
        sets
    }
}

fn passage(line: &str) -> Result<ReadingPassage, String> {
    let passage: ReadingPassage = record(line, PASSAGE)?;
    if passage.sentences.is_empty() {
        return Err("there is no sentence".to_owned());
    }
    if passage.non_empty().next().is_none() {
        return Err("all sentences are empty".to_owned());
    }
    Ok(passage)
}

impl ReadingPassage {
    /// The sentences that say something, with their places: some collections were cut so that
    /// others are empty, and count these too.
    pub fn non_empty(&self) -> impl Iterator<Item = (usize, &str)> {
        let all = self.sentences.iter().map(String::as_str).enumerate();
        all.filter(|(_, sentence)| !sentence.trim().is_empty())
    }
}

fn question(
    line: &str,
    passages: &[ReadingPassage],
    places: &HashMap<&str, usize>,
) -> Result<ReadingQuestion, String> {
    let line: ReadingLine = record(line, QUESTION)?;
    if line.query.trim().is_empty() {
        return Err("the query is empty".to_owned());
    }
    let place = |id: &String| {
        let place = places.get(id.as_str()).copied();
        place.ok_or_else(|| format!("there is no passage {id}"))
    };
    let own = place(&line.passage)?;
    let is_non_empty = |at: &usize| passages[own].non_empty().any(|(place, _)| place == *at);
    if let Some(at) = line.answers.iter().find(|at| !is_non_empty(at)) {
        let id = &line.passage;
        return Err(format!(
            "sentence {at}, counted from 0, should answer, and {id} has none there"
        ));
    }
    let others = line.near.iter().chain(&line.far).map(place);
    let others: Vec<usize> = others.collect::<Result<_, String>>()?;
    if others.contains(&own) {
        return Err(format!("its own passage {} is near or far", line.passage));
    }
    Ok(ReadingQuestion {
        query: line.query,
        set: line.set,
        own,
        answers: line.answers,
        others,
    })
}
