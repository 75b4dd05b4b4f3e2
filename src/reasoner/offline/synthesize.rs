//! The answer in pieces: small talk's reply, or what [`super::compose`] makes of the evidence.

use std::sync::Arc;

use crate::agent::ports::{AnswerSink, Embedder, ReasonerError, Synthesis, SynthesizeJob};
use crate::domain::{Complexity, Outcome, Usage};
use crate::text::{is_chinese, is_cjk};

use super::compose::Answer;
use super::grade::blocking;
use super::language;
use super::overview::{asks_what_there_is, overview};
use super::passage::Passage;
use super::reply::reply;
use super::resolve::{asks_only_why, resolve};
use super::slips::as_meant;
use super::social::{Social, social};
use super::words::{is_stop, plain_words};

/// Han characters a piece when streaming.
const PIECE: usize = 4;

/// Writes the answer into `out`, piece by piece.
pub(super) async fn synthesize(
    job: &SynthesizeJob<'_>,
    embedder: &Arc<dyn Embedder>,
    out: &AnswerSink,
) -> Result<Synthesis, ReasonerError> {
    let (text, outcome) = if job.complexity == Complexity::Chitchat {
        let kind = social(job.query).unwrap_or(Social::Other);
        (reply(kind, job.query), Outcome::Answered)
    } else {
        let question = resolve(job.query, job.history);
        let chinese = language::asked_for(job.query)
            .unwrap_or_else(|| is_chinese(own_words(job.query, &question)));
        // What was planned by the words as they are is told by the words as they are.
        let of_all = asks_what_there_is(&question);
        let parts = job.sub_questions.to_vec();
        let items = job.context.to_vec();
        let told = told_before(job);
        let compose = move |embedder: &dyn Embedder| {
            if of_all && let Some(text) = overview(&items, chinese) {
                return Ok((text, Outcome::Answered));
            }
            let meant = |question: &String| as_meant(question, &items, embedder);
            let question = meant(&question);
            let parts: Vec<String> = parts.iter().map(meant).collect();
            let answer = Answer {
                parts: &parts,
                passages: items.iter().map(Passage::read).collect(),
                items: &items,
                chinese,
                told: &told,
                embedder,
            };
            answer.compose(&question)
        };
        blocking(embedder, compose).await?
    };
    for piece in pieces(&text) {
        out.push(piece).await;
    }
    Ok(Synthesis {
        outcome,
        usage: Usage::ONE_CALL,
        warnings: Vec::new(),
    })
}

/// What tells the language of the answer: the message, or what it stands for where it is nothing but
/// a name.
fn own_words<'a>(query: &'a str, resolved: &'a str) -> &'a str {
    let is_name = |word: &str| {
        word.contains(|c: char| c.is_numeric() || matches!(c, '_' | '-' | '.' | '/'))
            || word.chars().any(char::is_uppercase)
    };
    let words = plain_words(query);
    let asks = words.iter().any(|word| is_stop(word));
    let says = query.split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        !word.is_empty() && !is_name(word)
    });
    if is_chinese(query) || asks || says {
        query
    } else {
        resolved
    }
}

/// The answer before, without its marks, where nothing but its reason is asked for.
fn told_before(job: &SynthesizeJob<'_>) -> String {
    let last = job.history.last().filter(|_| asks_only_why(job.query));
    last.map_or(String::new(), |turn| turn.answer.clone())
}

/// The text in word-sized pieces; a citation mark is never cut.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut han = 0;
    for c in text.chars() {
        piece.push(c);
        han = if is_cjk(c) { han + 1 } else { 0 };
        if c == ' ' || c == '\n' || han == PIECE {
            pieces.push(std::mem::take(&mut piece));
            han = 0;
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}
