//! The answer as an extract: the few units that cover the question, each with its source.
//!
//! Nothing is written that the evidence does not say. Whether it says anything is decided by the
//! same absolute measure that grades, because a simple question was never graded (R23).

use std::sync::Arc;

use crate::agent::ports::{
    AnswerSink, EmbedError, Embedder, ReasonerError, Synthesis, SynthesizeJob,
};
use crate::domain::{Complexity, Evidence, Outcome, Usage};
use crate::text::{is_chinese, is_cjk};

use super::analyze::asks_for_files;
use super::choose::{Choice, choose, opening};
use super::grade::blocking;
use super::literals::Literals;
use super::named_files::{asks_for_content, names};
use super::relevance::{ANSWERS_FROM, Passage, features, relevance};
use super::reply::reply;
use super::resolve::{resolve, topic_of};
use super::sentences::{Kind, Unit};
use super::social::{Social, social};
use super::words::terms;

/// How many sources are named when nothing answers.
const NEAREST: usize = 3;
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
        let parts = job.sub_questions.to_vec();
        let items = job.context.to_vec();
        let embedder = Arc::clone(embedder);
        blocking(move || compose(&question, &parts, &items, embedder.as_ref())).await?
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

fn compose(
    question: &str,
    parts: &[String],
    items: &[Evidence],
    embedder: &dyn Embedder,
) -> Result<(String, Outcome), EmbedError> {
    let chinese = is_chinese(question);
    let passages: Vec<Passage> = items.iter().map(Passage::read).collect();
    let mut questions = vec![question.to_owned()];
    questions.extend(parts.iter().cloned());
    let relevances: Vec<Vec<f64>> = features(&questions, &passages, embedder)?
        .iter()
        .zip(&questions)
        .map(|(row, question)| {
            row.iter()
                .zip(items)
                .map(|(f, item)| {
                    if names(question, item) {
                        1.0
                    } else {
                        relevance(question, f)
                    }
                })
                .collect()
        })
        .collect();
    let asked = usize::from(!parts.is_empty())..questions.len();
    let mut blocks = Vec::new();
    let mut unanswered = Vec::new();
    let mut used: Vec<Choice> = Vec::new();
    for at in asked {
        let question = &questions[at];
        let fit = fitting(question, &relevances[at], items);
        let most = if parts.is_empty() { 3 } else { 2 };
        let chosen = if fit.is_empty() {
            Vec::new()
        } else if asks_for_files(question) {
            files(question, &fit, items, &passages, embedder)?
        } else if asks_for_content(question) {
            let first = fit
                .iter()
                .map(|(at, _)| *at)
                .min_by_key(|at| items[*at].lines.start);
            first.map_or(Vec::new(), |at| opening(at, &passages[at], 4))
        } else {
            choose(question, &passages, &fit, most, &used, embedder)?
        };
        if chosen.is_empty() {
            if fit.is_empty() {
                unanswered.push(question.clone());
            }
            continue;
        }
        let body = if asks_for_files(question) {
            listed(&chosen, items, &passages)
        } else {
            written(&chosen, &passages)
        };
        used.extend(chosen);
        blocks.push(if parts.is_empty() {
            body
        } else {
            led(question, &body, chinese)
        });
    }
    if blocks.is_empty() {
        return Ok((nothing(items, &relevances, chinese), Outcome::NotFound));
    }
    for question in unanswered {
        let label = label(&question);
        blocks.push(if chinese {
            format!("**{label}**：知识库中没有找到相关内容。")
        } else {
            format!("**{label}**: nothing found in the knowledge base.")
        });
    }
    Ok((blocks.join("\n\n"), Outcome::Answered))
}

/// The passages that may be quoted. When the question names a file that is there, only that file,
/// and for what a file says no other can stand in.
fn fitting(question: &str, relevances: &[f64], items: &[Evidence]) -> Vec<(usize, f64)> {
    let named = asks_for_content(question) || items.iter().any(|item| names(question, item));
    relevances
        .iter()
        .copied()
        .enumerate()
        .filter(|(at, relevance)| {
            *relevance >= ANSWERS_FROM && (!named || names(question, &items[*at]))
        })
        .collect()
}

/// The best unit of each of the best files.
fn files(
    question: &str,
    fit: &[(usize, f64)],
    items: &[Evidence],
    passages: &[Passage],
    embedder: &dyn Embedder,
) -> Result<Vec<Choice>, EmbedError> {
    let asked = terms(question);
    let mut order: Vec<(usize, f64)> = fit
        .iter()
        .map(|(at, relevance)| (*at, relevance + passages[*at].named_share(&asked)))
        .collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut chosen: Vec<Choice> = Vec::new();
    for (at, relevance) in order {
        let known = |choice: &Choice| items[choice.item].source == items[at].source;
        if chosen.len() < NEAREST && !chosen.iter().any(known) {
            let best = choose(question, passages, &[(at, relevance)], 1, &chosen, embedder)?;
            chosen.extend(best.into_iter().take(1));
        }
    }
    Ok(chosen)
}

fn listed(chosen: &[Choice], items: &[Evidence], passages: &[Passage]) -> String {
    let lines: Vec<String> = chosen
        .iter()
        .map(|choice| {
            let unit = &passages[choice.item].units[choice.unit];
            let source = &items[choice.item].source;
            format!("- `{source}`: {} [{}]", unit.text, choice.item + 1)
        })
        .collect();
    lines.join("\n")
}

fn led(question: &str, body: &str, chinese: bool) -> String {
    let joint = match (body.starts_with("- ") || body.starts_with("```"), chinese) {
        (true, true) => "：\n",
        (true, false) => ":\n",
        (false, true) => "：",
        (false, false) => ": ",
    };
    format!("**{}**{joint}{body}", label(question))
}

fn label(question: &str) -> String {
    if asks_for_content(question)
        && let [file] = Literals::of(question).files.as_slice()
    {
        return file.path.clone();
    }
    let topic = topic_of(question);
    let label = if topic.is_empty() || topic.chars().count() > 60 || terms(question).len() > 5 {
        question
    } else {
        &topic
    };
    label.trim_end_matches(['?', '？', ' ']).to_owned()
}

/// Sentences run on; list items, rows and code stand on lines of their own.
fn written(chosen: &[Choice], passages: &[Passage]) -> String {
    let mut text = String::new();
    for choice in chosen {
        let unit: &Unit = &passages[choice.item].units[choice.unit];
        let n = choice.item + 1;
        let (before, quoted) = match unit.kind {
            Kind::Sentence => (" ", format!("{} [{n}]", unit.text)),
            Kind::Item | Kind::Row => ("\n", format!("- {} [{n}]", unit.text)),
            Kind::Code => ("\n", format!("{}\n[{n}]", unit.text)),
        };
        if !text.is_empty() {
            let after_list = unit.kind == Kind::Sentence
                && text
                    .lines()
                    .last()
                    .is_some_and(|line| line.starts_with("- "));
            text.push_str(if after_list { "\n\n" } else { before });
        }
        text.push_str(&quoted);
    }
    text
}

fn nothing(items: &[Evidence], relevances: &[Vec<f64>], chinese: bool) -> String {
    let best = |at: usize| relevances.iter().map(|row| row[at]).fold(0.0, f64::max);
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|a, b| best(*b).total_cmp(&best(*a)).then(a.cmp(b)));
    let mut nearest: Vec<String> = Vec::new();
    for at in order {
        let item = &items[at];
        if !nearest
            .iter()
            .any(|known| known.starts_with(&format!("{}:", item.source)))
        {
            nearest.push(format!("{}:{}", item.source, item.location()));
        }
    }
    nearest.truncate(NEAREST);
    let (text, lead, joint) = if chinese {
        ("知识库中没有能回答这个问题的内容。", "最接近的是：", "、")
    } else {
        (
            "Nothing in the knowledge base answers this.",
            "Nearest: ",
            ", ",
        )
    };
    if nearest.is_empty() {
        text.to_owned()
    } else {
        format!("{text}\n\n{lead}{}", nearest.join(joint))
    }
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
