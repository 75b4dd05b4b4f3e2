//! What a search brings, as evidence.

use tokio_util::sync::CancellationToken;

use super::grow::{FoundPassage, grown, topic_of_chunk};
use crate::domain::{Evidence, EvidenceId, ToolName};
use crate::kb::{Hit, KnowledgeBase, Scope};

/// A hit as evidence of the tool that found it.
pub(super) fn evidence(tool: ToolName, hit: Hit) -> Evidence {
    Evidence {
        id: EvidenceId(String::new()),
        source: hit.source,
        lines: hit.lines,
        tool,
        score: hit.score,
        topic: topic_of_chunk(&hit.heading, &hit.text),
        text: hit.text,
        low: false,
        place: hit.place,
        measured: hit.measured,
        by: None,
    }
}

/// Hits as evidence, grown to what belongs together.
pub(super) fn grown_evidence(
    base: &KnowledgeBase,
    tool: ToolName,
    hits: impl IntoIterator<Item = Hit>,
    scope: &Scope,
    cancel: &CancellationToken,
) -> Vec<Evidence> {
    let found = hits.into_iter().map(|hit| FoundPassage {
        core: hit.lines,
        item: evidence(tool, hit),
    });
    grown(base, found.collect(), scope, cancel)
}

/// A scan always has a nearest neighbour, also for a question about something else. Unrelated
/// English sentences seldom have a higher cosine than this.
const COSINE_FLOOR: f64 = 0.15;

/// Whether a hit has anything to say for itself: words in common, or some nearness in meaning.
pub(super) fn is_relevant(hit: &Hit) -> bool {
    is_relevant_by(hit.measured.lexical_rank.is_some(), hit.measured.cosine)
}

/// The same of a passage that holds words of the query or not, and is so near to it.
pub(super) fn is_relevant_by(has_words: bool, cosine: Option<f64>) -> bool {
    has_words || cosine.is_some_and(|cosine| cosine >= COSINE_FLOOR)
}

/// How well a hit matches on an even scale, 0–1: half of it is as near as half. The score is no
/// such scale: a probability moves fastest in the middle.
pub(super) fn nearness(hit: &Hit) -> f64 {
    let words = hit.measured.share.unwrap_or(0.0);
    let cosine = hit.measured.cosine;
    cosine.map_or(words, |cosine| 0.5 * words + 0.5 * cosine.clamp(0.0, 1.0))
}
