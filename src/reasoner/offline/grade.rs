//! One number for each item, in one batch (R17).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::agent::ports::{self, EmbedError, Embedder, GradeJob, Grades, ReasonerError};
use crate::domain::{Evidence, KEEP_FROM, Usage};

use super::gate::Gate;
use super::passage::Passage;
use super::relevance::{features, relevance};
use super::resolve::resolve;
use super::slips::as_meant;

/// From and to which grade of the best passage it counts more and more as an answer.
const SURE: (f64, f64) = (0.5, 0.7);
/// At this share of the best grade a passage is far behind, and at that one near enough.
const FAR: (f64, f64) = (0.6, 0.7);
/// What a grade is worth while a part of the question has no answer.
const PARTLY: f64 = 0.7;
/// How much of its grade a passage far behind loses.
const DROP: f64 = 0.6;

/// Grades the items against the question and each of its parts; the best counts, because an item
/// that answers one part is as wanted as one that speaks of all.
pub(super) async fn grade(
    job: &GradeJob<'_>,
    embedder: &Arc<dyn Embedder>,
) -> Result<Grades, ReasonerError> {
    let mut questions = vec![resolve(job.query, job.history)];
    questions.extend(job.sub_questions.iter().cloned());
    let items = job.context.to_vec();
    let scores = blocking(embedder, move |embedder| {
        let meant = |question: &String| as_meant(question, &items, embedder);
        let questions: Vec<String> = questions.iter().map(meant).collect();
        scores(&questions, &items, embedder)
    });
    let scores = scores.await?;
    Ok(Grades {
        scores: Ok(scores),
        usage: Usage::ONE_CALL,
        warnings: Vec::new(),
    })
}

/// The grades themselves; blocks while it embeds.
pub(super) fn scores(
    questions: &[String],
    items: &[Evidence],
    embedder: &dyn Embedder,
) -> Result<Vec<f64>, EmbedError> {
    let passages: Vec<Passage> = items.iter().map(Passage::read).collect();
    let features = features(questions, &passages, embedder)?;
    let measured: Vec<Vec<f64>> = questions
        .iter()
        .zip(&features)
        .map(|(question, row)| row.iter().map(|f| relevance(question, f)).collect())
        .collect();
    let parts = questions.iter().zip(&measured).skip(1);
    let answered = parts
        .map(|(part, row)| Ok(Gate::of(part, items, &passages, row, embedder)?.is_open(row)))
        .collect::<Result<Vec<bool>, EmbedError>>()?;
    Ok(contrasted(&measured, &answered, items.len()))
}

/// The best grade of each item over the questions, the whole one first, then its parts.
///
/// Where a passage answers a question, one that lies far behind it is not wanted for that question:
/// kept, it would only hold the average down and keep the search going for what is there. Grades
/// are never raised, so that what nothing answers stays unanswered. `answered` says of each part
/// whether the answer could quote anything for it.
fn contrasted(measured: &[Vec<f64>], answered: &[bool], items: usize) -> Vec<f64> {
    let best = |row: &Vec<f64>| row.iter().copied().fold(0.0, f64::max);
    let sure = |best: f64| ((best - SURE.0) / (SURE.1 - SURE.0)).clamp(0.0, 1.0);
    let parts_sure = measured.get(1..).filter(|parts| !parts.is_empty());
    let parts_sure = parts_sure.map_or(0.0, |parts| {
        parts.iter().map(|row| sure(best(row))).fold(1.0, f64::min)
    });
    let mut grades = vec![0.0_f64; items];
    for (at, row) in measured.iter().enumerate() {
        let best = best(row).max(1e-9);
        // When each part has its answer, the whole question has one too.
        let sure = if at == 0 {
            sure(best).max(parts_sure)
        } else {
            sure(best)
        };
        for (grade, relevance) in grades.iter_mut().zip(row) {
            let near = ((relevance / best - FAR.0) / (FAR.1 - FAR.0)).clamp(0.0, 1.0);
            let share = 1.0 - sure * (1.0 - near) * DROP;
            *grade = grade.max(relevance * share);
        }
    }
    let open = answered.contains(&true) && answered.contains(&false);
    if open {
        // What answers one part only is not enough for the whole; it stays, and the search goes on.
        for grade in &mut grades {
            *grade = (*grade * PARTLY).max(grade.min(KEEP_FROM));
        }
    }
    grades
}

/// Runs embedding work where it may block; the embedding fails once nobody waits any more.
pub(super) async fn blocking<T: Send + 'static>(
    embedder: &Arc<dyn Embedder>,
    work: impl FnOnce(&dyn Embedder) -> Result<T, EmbedError> + Send + 'static,
) -> Result<T, ReasonerError> {
    let embedder = Arc::clone(embedder);
    let work = move |stop: &AtomicBool| work(&WhileWanted(embedder.as_ref(), stop));
    match ports::blocking(work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(ReasonerError::Internal(error.to_string())),
        Err(error) => Err(ReasonerError::Internal(format!(
            "the embedding stopped: {error}"
        ))),
    }
}

/// An embedding for one piece of work, until that is stopped.
struct WhileWanted<'a>(&'a dyn Embedder, &'a AtomicBool);

impl Embedder for WhileWanted<'_> {
    fn model_id(&self) -> &str {
        self.0.model_id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let made = self.0.embed_stoppable(texts, self.1.into())?;
        made.ok_or_else(|| EmbedError("it was stopped".into()))
    }

    fn knows(&self, word: &str) -> bool {
        self.0.knows(word)
    }
}
