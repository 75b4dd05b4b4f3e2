//! One number for each item, in one batch (R17).

use std::sync::Arc;

use crate::agent::ports::{EmbedError, Embedder, GradeJob, Grades, ReasonerError};
use crate::domain::{Evidence, Usage};

use super::relevance::{Passage, features, relevance};
use super::resolve::resolve;

/// Grades the items against the question and each of its parts; the best counts, because an item
/// that answers one part is as wanted as one that speaks of all.
pub(super) async fn grade(
    job: &GradeJob<'_>,
    embedder: &Arc<dyn Embedder>,
) -> Result<Grades, ReasonerError> {
    let mut questions = vec![resolve(job.query, job.history)];
    questions.extend(job.sub_questions.iter().cloned());
    let items = job.context.to_vec();
    let embedder = Arc::clone(embedder);
    let scores = blocking(move || scores(&questions, &items, embedder.as_ref())).await?;
    Ok(Grades {
        scores: Ok(scores),
        usage: Usage::ONE_CALL,
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
    Ok((0..items.len())
        .map(|at| {
            questions
                .iter()
                .zip(&features)
                .map(|(question, features)| relevance(question, &features[at]))
                .fold(0.0, f64::max)
        })
        .collect())
}

/// Runs embedding work where it may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EmbedError> + Send + 'static,
) -> Result<T, ReasonerError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(ReasonerError::Internal(error.to_string())),
        Err(error) => Err(ReasonerError::Internal(format!(
            "the embedding stopped: {error}"
        ))),
    }
}
