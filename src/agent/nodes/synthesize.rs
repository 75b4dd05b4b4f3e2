use tokio::sync::mpsc;

use crate::agent::citation_marks::Citable;
use crate::agent::citations::CitationFilter;
use crate::agent::context::{Run, Stop, guard};
use crate::agent::events::EventWriter;
use crate::agent::ports::{
    AnswerSink, CallOrigin, NOTHING_FOUND, NOTHING_FOUND_ZH, Synthesis, SynthesizeJob,
};
use crate::agent::renumbering::renumbered;
use crate::agent::state::{AgentState, SearchFailure};
use crate::domain::{
    Answer, Citation, Complexity, Confidence, Evidence, LineRange, NodeName, Outcome, Quotation,
    RouteReason, Score,
};
use crate::protocol::{EventBody, NumberedItem};
use crate::text::{StreamSanitizer, is_blank, is_chinese, one_line, sanitize};

/// Pieces of an answer that may wait between the engine and the stream.
const PIECES_IN_FLIGHT: usize = 32;

/// What is said of an answer of which nothing is left once it is cleaned and its citations checked.
const NOTHING_TO_SEE: &str = "the model's answer was empty: it held nothing to read but citations \
                              of evidence that is not there; ask again, or choose another model";

/// What is said of an answer over evidence that cites none of it.
const UNCITED: &str = "the answer cites none of the evidence, so nothing shows that it comes from \
                       the knowledge base; read it with care, or ask again";

/// So many reasons for failed searches are named.
const REASONS: usize = 2;

/// The longest reason that is told, in characters.
const LONGEST_REASON: usize = 300;

/// R23–R25: the answer.
pub(crate) async fn synthesize(run: &mut Run<'_>) -> Result<Option<RouteReason>, Stop> {
    let chitchat = run.state.complexity() == Complexity::Chitchat;
    let reply = run.state.reply.take().filter(|reply| !is_blank(reply));
    let trouble = trouble(&run.state);
    if let Some(trouble) = &trouble {
        if run.state.context.is_empty() && trouble.none_looked {
            return Err(Stop::Failed(trouble.why_nothing_is_known()));
        }
        let message = trouble.line(false);
        run.events.warn("search_failed", message).await;
    }
    let answer = match reply {
        Some(reply) if chitchat => {
            run.state.calls_saved += 1;
            let text = sanitize(&reply).trim().to_owned();
            emit_text(&mut run.events, text.clone()).await;
            plain_answer(text, Outcome::Answered)
        }
        _ if !chitchat && run.state.context.is_empty() => {
            run.state.calls_saved += 1;
            let mut text = nothing_found(&run.state.query, &run.state.discarded);
            let why = run.ports.tools.why_nothing(&run.state.query);
            if let Some(why) = run.guard(why).await? {
                text.push_str(&format!("\n\n{}", sanitize(&why)));
            }
            if let Some(trouble) = trouble {
                let line = trouble.line(is_chinese(&run.state.query));
                text.push_str(&format!("\n\n{line}"));
            }
            emit_text(&mut run.events, text.clone()).await;
            plain_answer(text, Outcome::NotFound)
        }
        _ => stream_answer(run, chitchat).await?,
    };
    let (text, citations) = (answer.text.clone(), answer.citations.clone());
    finish_answer(run, text, citations, answer.confidence).await;
    run.state.answer = Some(answer);
    Ok(None)
}

fn plain_answer(text: String, outcome: Outcome) -> Answer {
    Answer {
        text,
        citations: Vec::new(),
        outcome,
        confidence: None,
    }
}

async fn finish_answer(
    run: &mut Run<'_>,
    text: String,
    citations: Vec<Citation>,
    confidence: Option<Confidence>,
) {
    run.events
        .emit(EventBody::AnswerFinished {
            text,
            citations,
            confidence,
            confidence_level: confidence.map(Confidence::level),
        })
        .await;
}

/// What failed while the evidence was looked for.
struct SearchTrouble {
    /// Tools and reasons, each once.
    reasons: Vec<String>,
    failed: usize,
    calls: usize,
    /// Whether no call at all could look, and one of them because its search broke.
    none_looked: bool,
}

/// R13, R23: that nothing was found may only be said by a search that took place.
fn trouble(state: &AgentState) -> Option<SearchTrouble> {
    let calls = state.tool_history.len();
    let broke = state.failures.iter().filter(|failure| failure.is_breakdown);
    let broke = broke.count();
    let all_failed = state.failures.len() == calls;
    // A call for what is not there has looked; it is named where no other call says more.
    let is_named = |failure: &&SearchFailure| failure.is_breakdown || all_failed;
    let mut reasons: Vec<String> = Vec::new();
    let named: Vec<_> = state.failures.iter().filter(is_named).collect();
    for failure in &named {
        if !reasons.contains(&failure.line) {
            reasons.push(failure.line.clone());
        }
    }
    (!named.is_empty()).then_some(SearchTrouble {
        reasons,
        failed: named.len(),
        calls,
        none_looked: broke > 0 && all_failed,
    })
}

impl SearchTrouble {
    fn reasons(&self) -> String {
        let more = self.reasons.len().saturating_sub(REASONS);
        let mut text = self.reasons[..self.reasons.len() - more].join("; ");
        if more > 0 {
            text.push_str(&format!(" (+{more})"));
        }
        one_line(&text, LONGEST_REASON)
    }

    fn line(&self, chinese: bool) -> String {
        let (failed, calls, reasons) = (self.failed, self.calls, self.reasons());
        if chinese {
            format!("（{calls} 次检索中有 {failed} 次失败：{reasons}）")
        } else {
            format!("{failed} of {calls} tool calls failed: {reasons}")
        }
    }

    fn why_nothing_is_known(&self) -> String {
        let reasons = self.reasons();
        format!("the search failed, so what the knowledge base holds is not known: {reasons}")
    }
}

/// Fixes the numbers of what is sent. The prompt, the answer's marks and the screen go by them.
async fn number(run: &mut Run<'_>, context: &[Evidence]) {
    if context.is_empty() {
        return;
    }
    let numbered = context.iter().enumerate().map(|(at, item)| NumberedItem {
        n: at + 1,
        id: item.id.clone(),
    });
    let items = numbered.collect();
    run.events.emit(EventBody::EvidenceNumbered { items }).await;
}

async fn emit_text(events: &mut EventWriter, text: String) {
    events.emit(EventBody::AnswerDelta { text }).await;
}

/// The words of the question that occur nowhere in the knowledge base; none of small talk.
async fn absent_words(run: &Run<'_>, chitchat: bool) -> Result<Vec<String>, Stop> {
    if chitchat {
        return Ok(Vec::new());
    }
    let words = &run.state.question.words;
    run.guard(run.ports.tools.absent_words(words)).await
}

/// Checks the citations of an answer; small talk has none.
fn citations_of(run: &Run<'_>, context: &[Evidence], chitchat: bool) -> CitationFilter {
    if chitchat {
        CitationFilter::passing_all()
    } else {
        CitationFilter::new(citable(run, context))
    }
}

/// Asks the engine and passes its pieces on, cleaned and with their citations checked.
async fn stream_answer(run: &mut Run<'_>, chitchat: bool) -> Result<Answer, Stop> {
    let mut context = std::mem::take(&mut run.state.context);
    if chitchat {
        context.clear();
    }
    let mut filter = citations_of(run, &context, chitchat);
    // Numbers that are shown stay as they are, so those that go by the answer wait for all of it.
    let waits_for_numbers = !context.is_empty() && run.ports.reasoner.answers_at_once();
    if !waits_for_numbers {
        number(run, &context).await;
    }
    let absent_words = absent_words(run, chitchat).await?;
    let run_id = run.events.run().clone();
    let job = SynthesizeJob {
        // Not by `run.origin`: the events are written meanwhile.
        origin: CallOrigin {
            run: &run_id,
            node: NodeName::Synthesize,
            calls: Some(&run.calls),
            waits: Some(&run.waits.sink),
            instruction: run.state.instruction_for(NodeName::Synthesize),
        },
        query: &run.state.query,
        question: &run.state.question,
        history: &run.state.history,
        complexity: run.state.complexity(),
        sub_questions: run.state.sub_questions(),
        context: &context,
        absent_words: &absent_words,
    };
    let (sink, mut pieces) = mpsc::channel::<String>(PIECES_IN_FLIGHT);
    let mut received = run.waits.received.lock().await;
    let mut sanitizer = StreamSanitizer::default();
    let mut text = String::new();
    let mut held = Vec::new();
    // The pieces end when the call is done, because the sink goes with it.
    let called = guard(&run.cancel, async {
        let pass_on_all = async {
            let node = NodeName::Synthesize;
            loop {
                let piece = tokio::select! {
                    biased;
                    Some(wait) = received.recv() => {
                        run.events.emit_if_room(EventBody::Waiting { node, wait });
                        continue;
                    }
                    piece = pieces.recv() => piece,
                };
                let Some(piece) = piece else { break };
                let delta = filter.push(&sanitizer.push(&piece));
                if waits_for_numbers {
                    held.push(delta);
                } else {
                    pass_on(&mut run.events, &mut text, delta).await;
                }
            }
        };
        tokio::join!(
            run.ports.reasoner.synthesize(job, AnswerSink(sink)),
            pass_on_all
        )
        .0
    })
    .await;
    drop(received);
    let called: Result<Synthesis, Stop> = run.settle(NodeName::Synthesize, called).await;
    held.push(filter.push(&sanitizer.finish()) + &filter.finish());
    let places = places(&filter, context.len(), waits_for_numbers);
    if waits_for_numbers {
        held = renumbered(&held, &places);
        context = in_order(&context, &places);
        number(run, &context).await;
    }
    for delta in held {
        pass_on(&mut run.events, &mut text, delta).await;
    }
    let synthesis = match called {
        Ok(synthesis) => synthesis,
        Err(stop) => {
            keep_what_came(run, text, cite(filter.used(), &places, &context, &[])).await;
            return Err(stop);
        }
    };

    if let Some(replacement) = &synthesis.replacement {
        filter = citations_of(run, &context, chitchat);
        text = filter.push(&sanitize(replacement)) + &filter.finish();
    }
    run.state.usage.add(synthesis.usage);
    run.events.caveats(synthesis.warnings).await;
    let must_cite = synthesis.outcome == Outcome::Answered && !context.is_empty();
    warn_of_citations(run, &filter, must_cite && !is_blank(&text)).await;
    if is_blank(&text) {
        return Err(Stop::Failed(NOTHING_TO_SEE.to_owned()));
    }
    Ok(Answer {
        text,
        citations: cite(filter.used(), &places, &context, &synthesis.quoted),
        outcome: synthesis.outcome,
        confidence: synthesis.confidence.map(Confidence::rounded),
    })
}

/// What an answer may cite: the offline engine writes its own marks, a model writes them as it was trained to.
fn citable(run: &Run<'_>, context: &[Evidence]) -> Citable {
    if run.ports.reasoner.answers_at_once() {
        Citable::numbers(context.len())
    } else {
        Citable::sources(context.iter().map(|item| item.source.clone()).collect())
    }
}

/// The places of the items in the order of their numbers: what is cited comes first, as it is cited, and
/// the rest follows as it was, where the numbers go by the answer.
fn places(filter: &CitationFilter, count: usize, by_use: bool) -> Vec<usize> {
    let first = if by_use { filter.used() } else { &[] };
    let rest = (1..=count).filter(|n| !first.contains(n));
    first.iter().copied().chain(rest).collect()
}

/// The items at these places, from 1, in this order.
fn in_order(context: &[Evidence], places: &[usize]) -> Vec<Evidence> {
    let items = places.iter().filter_map(|n| context.get(n - 1).cloned());
    items.collect()
}

async fn warn_of_citations(run: &mut Run<'_>, filter: &CitationFilter, must_cite: bool) {
    let removed = filter.removed();
    if !removed.is_empty() {
        let marks: Vec<_> = removed.iter().map(|n| format!("[{n}]")).collect();
        let message = format!("removed {}: no such evidence", marks.join(" "));
        run.events.warn("citation_removed", message).await;
    }
    if must_cite && filter.used().is_empty() {
        run.events.warn("answer_uncited", UNCITED.to_owned()).await;
    }
}

/// An answer that broke off is kept as far as it came, so that it is in the log and its citations
/// can be followed; the run fails all the same.
async fn keep_what_came(run: &mut Run<'_>, text: String, citations: Vec<Citation>) {
    if !is_blank(&text) {
        finish_answer(run, text, citations, None).await;
    }
}

async fn pass_on(events: &mut EventWriter, text: &mut String, delta: String) {
    if !delta.is_empty() {
        text.push_str(&delta);
        emit_text(events, delta).await;
    }
}

/// What the engine's marks of these numbers stand for; the n-th of `places` is called n in the answer.
fn cite(
    marks: &[usize],
    places: &[usize],
    context: &[Evidence],
    quoted: &[Quotation],
) -> Vec<Citation> {
    let cited = marks.iter().filter_map(|mark| {
        let at = places.iter().position(|place| place == mark)?;
        let item = context.get(at)?;
        let of_it = quoted.iter().filter(|quotation| quotation.n == *mark);
        let quoted: Vec<LineRange> = of_it.map(|quotation| quotation.lines).collect();
        Some(Citation {
            n: at + 1,
            id: item.id.clone(),
            source: item.source.clone(),
            lines: item.lines,
            place: match quoted.first() {
                Some(lines) => item.place_of(*lines),
                None => item.place.clone(),
            },
            quoted,
        })
    });
    cited.collect()
}

/// R23: says that nothing was found, with what came nearest; never a guess.
fn nothing_found(query: &str, discarded: &[(Evidence, Score)]) -> String {
    let chinese = is_chinese(query);
    let mut text = if chinese {
        NOTHING_FOUND_ZH.to_owned()
    } else {
        NOTHING_FOUND.to_owned()
    };
    let mut nearest: Vec<_> = discarded.iter().collect();
    nearest.sort_by(|(_, a), (_, b)| b.value().total_cmp(&a.value()));
    if !nearest.is_empty() {
        let places: Vec<_> = nearest
            .iter()
            .take(3)
            .map(|(item, _)| format!("{}:{}", sanitize(&item.source), item.location()))
            .collect();
        text.push_str(if chinese {
            " 最接近的是："
        } else {
            " Nearest: "
        });
        text.push_str(&places.join(", "));
    }
    text
}
