use tokio::sync::mpsc;

use crate::agent::citation_marks::Citable;
use crate::agent::citations::{CitationFilter, without_marks};
use crate::agent::context::{Run, Stop, guard};
use crate::agent::events::EventWriter;
use crate::agent::ports::{
    AnswerSink, AnswerStance, CallOrigin, ChooseJob, ChosenEvidence, NOTHING_FOUND,
    NOTHING_FOUND_ZH, QuotedText, Synthesis, SynthesizeJob,
};
use crate::agent::renumbering::renumbered;
use crate::agent::state::{AgentState, SearchFailure};
use crate::agent::support::SupportedText;
use crate::domain::{
    Answer, Citation, Complexity, Confidence, ConfidenceLevel, Evidence, LineRange, NodeName,
    Outcome, Quotation, RouteReason, Score, SentenceSupport, quotation_below,
};
use crate::protocol::{EventBody, NumberedItem};
use crate::text::{StreamSanitizer, ends_all_blocks, is_blank, is_chinese, one_line, sanitize};

/// Pieces of an answer that may wait between the engine and the stream.
const PIECES_IN_FLIGHT: usize = 32;

/// What is said of an answer of which nothing is left once it is cleaned and its citations checked.
const NOTHING_TO_SEE: &str = "the model's answer was empty: it held nothing to read but citations \
                              of evidence that is not there; ask again, or choose another model";

/// What is said of an answer over evidence that cites none of it.
const UNCITED: &str = "the answer cites none of the evidence, so nothing shows that it comes from \
                       the knowledge base; read it with care, or ask again";

/// What is said of an answer of which no source says a sentence.
const WITHDRAWN: &str =
    "no source says anything of what the model wrote, so its answer is withdrawn";

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
    let mut answer = match reply {
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
    if let Some(hint) = run.state.search_hint.take().filter(|_| chitchat) {
        let said = format!(" {hint}");
        emit_text(&mut run.events, said.clone()).await;
        answer.answer.text.push_str(&said);
    }
    finish_answer(run, &answer).await;
    run.state.answer = Some(answer.answer);
    Ok(None)
}

/// An answer, and what was found out of its sentences.
struct CheckedAnswer {
    answer: Answer,
    sentences: Vec<SentenceSupport>,
}

fn plain_answer(text: String, outcome: Outcome) -> CheckedAnswer {
    CheckedAnswer {
        answer: Answer {
            text,
            citations: Vec::new(),
            outcome,
            confidence: None,
            quotation_from: None,
        },
        sentences: Vec::new(),
    }
}

async fn finish_answer(run: &mut Run<'_>, checked: &CheckedAnswer) {
    let answer = &checked.answer;
    run.events
        .emit(EventBody::AnswerFinished {
            text: answer.text.clone(),
            citations: answer.citations.clone(),
            confidence: answer.confidence,
            confidence_level: answer.confidence.map(Confidence::level),
            supported: checked.sentences.clone(),
            quotation_from: answer.quotation_from,
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
async fn number(run: &mut Run<'_>, context: &[Evidence], chosen: Option<&ChosenEvidence>) {
    if context.is_empty() {
        return;
    }
    let lines = |at: usize| Some(chosen?.items.get(at)?.lines.clone());
    let numbered = context.iter().enumerate().map(|(at, item)| NumberedItem {
        n: at + 1,
        id: item.id.clone(),
        sent: lines(at).unwrap_or_default(),
    });
    let items = numbered.collect();
    run.events.emit(EventBody::EvidenceNumbered { items }).await;
}

async fn emit_text(events: &mut EventWriter, text: String) {
    let supported = None;
    events
        .emit(EventBody::AnswerDelta { text, supported })
        .await;
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

/// What the answer is written from, where the engine chooses.
async fn choose(
    run: &mut Run<'_>,
    context: &[Evidence],
    absent_words: &[String],
) -> Result<Option<ChosenEvidence>, Stop> {
    if context.is_empty() {
        return Ok(None);
    }
    let job = ChooseJob {
        origin: run.origin(NodeName::Synthesize),
        query: run.state.lookup().query,
        history: run.state.lookup().history,
        sub_questions: run.state.sub_questions(),
        context,
        absent_words,
    };
    let choosing = run.ports.reasoner.choose(job);
    let chosen = run.guard_call(NodeName::Synthesize, choosing).await?;
    chosen.map_err(|error| Stop::Failed(error.to_string()))
}

/// The items as they are sent, in the order in which they are chosen.
fn as_chosen(context: &[Evidence], chosen: &ChosenEvidence) -> Vec<Evidence> {
    let items = chosen.items.iter().filter_map(|item| {
        let text = item.text.clone();
        let known = context.get(item.at)?.clone();
        Some(Evidence { text, ..known })
    });
    items.collect()
}

/// What an answer is written from.
struct Material {
    /// The items, as they are sent.
    context: Vec<Evidence>,
    absent_words: Vec<String>,
    /// What of the items is sent, where the engine chose.
    chosen: Option<ChosenEvidence>,
    stance: AnswerStance,
    /// How likely the items hold the answer, where that was measured.
    measured: Option<Confidence>,
}

impl Material {
    async fn prepare(run: &mut Run<'_>, chitchat: bool) -> Result<Self, Stop> {
        let mut context = std::mem::take(&mut run.state.context);
        if chitchat {
            context.clear();
        }
        let absent_words = absent_words(run, chitchat).await?;
        let chosen = choose(run, &context, &absent_words).await?;
        let stance = chosen.as_ref().map(|it| it.stance).unwrap_or_default();
        // The program looks at all there is, as offline.
        let chosen = chosen.filter(|_| stance != AnswerStance::ByProgram);
        if let Some(chosen) = &chosen {
            context = as_chosen(&context, chosen);
        }
        Ok(Self {
            context,
            absent_words,
            measured: chosen.as_ref().and_then(|it| it.confidence),
            chosen,
            stance,
        })
    }

    /// What the engine would quote itself, where that is likely right.
    fn likely_quotation(&self) -> Option<&QuotedText> {
        let level = self.measured.map(Confidence::level);
        let chosen = self.chosen.as_ref();
        let is_likely = level.is_some_and(|level| level != ConfidenceLevel::Unsure);
        chosen.and_then(|chosen| chosen.quotation.as_ref().filter(|_| is_likely))
    }

    fn job<'a>(&'a self, state: &'a AgentState, origin: CallOrigin<'a>) -> SynthesizeJob<'a> {
        SynthesizeJob {
            origin,
            query: &state.query,
            question: &state.question,
            history: &state.history,
            complexity: state.complexity(),
            sub_questions: state.sub_questions(),
            context: &self.context,
            absent_words: &self.absent_words,
            stance: self.stance,
        }
    }
}

/// An answer as it was passed on.
struct WrittenAnswer {
    text: String,
    sentences: Vec<SentenceSupport>,
    /// The numbers that it cites, those that were added among them.
    cited: Vec<usize>,
    filter: CitationFilter,
}

impl WrittenAnswer {
    /// Puts another text in its place, of whose sentences nothing is known.
    fn replace(&mut self, text: &str, mut filter: CitationFilter) {
        self.text = filter.push(&sanitize(text)) + &filter.finish();
        self.sentences.clear();
        self.cited = filter.used().to_vec();
        self.filter = filter;
    }

    fn no_source_says_it(&self) -> bool {
        let mut sentences = self.sentences.iter();
        !self.sentences.is_empty() && sentences.all(|sentence| !sentence.supported)
    }
}

/// Asks the engine and passes its pieces on, cleaned, with their citations checked and those added that are missing.
async fn stream_answer(run: &mut Run<'_>, chitchat: bool) -> Result<CheckedAnswer, Stop> {
    let mut material = Material::prepare(run, chitchat).await?;
    let answers_at_once =
        run.ports.reasoner.answers_at_once() || material.stance == AnswerStance::ByProgram;
    let mut filter = citations_of(run, &material.context, chitchat);
    // Numbers that are shown stay as they are, so those that go by the answer wait for all of it.
    let waits_for_numbers = !material.context.is_empty() && answers_at_once;
    if !waits_for_numbers {
        number(run, &material.context, material.chosen.as_ref()).await;
    }
    let run_id = run.events.run().clone();
    // Not by `run.origin`: the events are written meanwhile.
    let origin = CallOrigin {
        run: &run_id,
        node: NodeName::Synthesize,
        calls: Some(&run.calls),
        waits: Some(&run.waits.sink),
        instruction: run.state.instruction_for(NodeName::Synthesize),
    };
    let job = material.job(&run.state, origin);
    let (sink, mut pieces) = mpsc::channel::<String>(PIECES_IN_FLIGHT);
    let mut received = run.waits.received.lock().await;
    let mut sanitizer = StreamSanitizer::default();
    let sent = match &material.chosen {
        Some(_) => material.context.clone(),
        None => Vec::new(),
    };
    let query = run.state.lookup().query.to_owned();
    let mut passed = SupportedText::new(&query, &sent);
    let mut held = Vec::new();
    let reasoner = run.ports.reasoner.as_ref();
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
                    passed.push(&delta, reasoner, &mut run.events).await;
                }
            }
        };
        tokio::join!(reasoner.synthesize(job, AnswerSink(sink)), pass_on_all).0
    })
    .await;
    drop(received);
    let is_cut = called.is_err();
    held.push(filter.push(&sanitizer.finish()) + &filter.finish());
    let places = places(&filter, material.context.len(), waits_for_numbers);
    if waits_for_numbers {
        held = renumbered(&held, &places);
        material.context = in_order(&material.context, &places);
        number(run, &material.context, None).await;
    }
    // What was stopped is kept as it is: nobody waits for its sentences to be looked at.
    for delta in held {
        if is_cut {
            passed.pass_on_rest(&delta, &mut run.events).await;
        } else {
            passed.push(&delta, reasoner, &mut run.events).await;
        }
    }
    if !is_cut {
        passed.finish(reasoner, &mut run.events).await;
    }
    let mut cited = filter.used().to_vec();
    cited.extend(passed.added.iter().filter(|n| !filter.used().contains(n)));
    let written = WrittenAnswer {
        text: passed.text,
        sentences: passed.sentences,
        cited,
        filter,
    };
    let called: Result<Synthesis, Stop> = run.settle(NodeName::Synthesize, called).await;
    match called {
        Ok(synthesis) => conclude(run, &material, &places, written, synthesis).await,
        Err(stop) => {
            let cited = in_order_of_use(&written.cited, &places, &written.text);
            let citations = cite(&cited, &places, &material.context, &[]);
            keep_what_came(run, written.text, citations, written.sentences).await;
            Err(stop)
        }
    }
}

/// What an answer that has ended comes to.
async fn conclude(
    run: &mut Run<'_>,
    material: &Material,
    places: &[usize],
    mut written: WrittenAnswer,
    synthesis: Synthesis,
) -> Result<CheckedAnswer, Stop> {
    let context = material.context.as_slice();
    let chitchat = run.state.complexity() == Complexity::Chitchat;
    if let Some(replacement) = &synthesis.replacement {
        written.replace(replacement, citations_of(run, context, chitchat));
    }
    let mut outcome = synthesis.outcome;
    let mut quoted = synthesis.quoted;
    let mut is_as_written = synthesis.replacement.is_none();
    if outcome == Outcome::Answered && written.no_source_says_it() {
        let job = material.job(&run.state, run.origin(NodeName::Synthesize));
        let withdrawn = run.guard(run.ports.reasoner.withdraw(job)).await?;
        if let Ok(Some(nothing)) = withdrawn {
            let instead = material.likely_quotation();
            let text = instead.map_or(&nothing, |quotation| &quotation.text);
            written.replace(text, citations_of(run, context, chitchat));
            quoted.extend(
                instead
                    .iter()
                    .flat_map(|quotation| quotation.quoted.clone()),
            );
            if instead.is_none() {
                outcome = Outcome::NotFound;
            }
            is_as_written = false;
            run.events.warn("answer_withdrawn", WITHDRAWN).await;
        }
    }
    run.state.usage.add(synthesis.usage);
    run.state.calls_saved += u32::from(synthesis.usage.calls == 0);
    run.events.caveats(synthesis.warnings).await;
    let is_answered = outcome == Outcome::Answered;
    let must_cite = is_answered && !context.is_empty() && !is_blank(&written.text);
    let is_uncited = must_cite && written.cited.is_empty();
    warn_of_citations(run, &written.filter, is_uncited).await;
    if is_blank(&written.text) {
        return Err(Stop::Failed(NOTHING_TO_SEE.to_owned()));
    }
    let chosen = material.chosen.as_ref();
    let chosen = chosen.filter(|_| is_answered && is_as_written);
    let below = chosen.and_then(|chosen| chosen.quotation.as_ref());
    let mut quotation_from = None;
    // Below an open block of code it would be code.
    let fits =
        |below: &&QuotedText| !says(&written.text, &below.text) && ends_all_blocks(&written.text);
    if let Some(below) = below.filter(fits) {
        let text = quotation_below(&sanitize(&below.text));
        quotation_from = Some(written.text.len());
        written.text.push_str(&text);
        emit_text(&mut run.events, text).await;
        written.cited.extend(below.quoted.iter().map(|it| it.n));
        quoted.extend_from_slice(&below.quoted);
    }
    let cited = in_order_of_use(&written.cited, places, &written.text);
    let measured = material.measured.filter(|_| is_answered);
    Ok(CheckedAnswer {
        answer: Answer {
            text: written.text,
            citations: cite(&cited, places, context, &quoted),
            outcome,
            confidence: synthesis.confidence.or(measured).map(Confidence::rounded),
            quotation_from,
        },
        sentences: written.sentences,
    })
}

/// The engine's marks, each once, in the order in which the text first uses them; the n-th of `places` is called n there.
fn in_order_of_use(cited: &[usize], places: &[usize], text: &str) -> Vec<usize> {
    let citable = Citable::numbers(places.len());
    let used = citable.marks(text);
    let used = used.flat_map(|mark| mark.numbers);
    let used = used.filter_map(|n| places.get(n.checked_sub(1)?).copied());
    // What stands only where a mark is no mark, as in code, comes last.
    let all: Vec<usize> = used.chain(cited.iter().copied()).collect();
    let is_first = |at: &usize| cited.contains(&all[*at]) && !all[..*at].contains(&all[*at]);
    (0..all.len()).filter(is_first).map(|at| all[at]).collect()
}

/// Whether an answer holds a quotation word for word.
fn says(answer: &str, quotation: &str) -> bool {
    let words = |text: &str| {
        let text = without_marks(text);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    words(answer).contains(&words(quotation))
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
    if must_cite {
        run.events.warn("answer_uncited", UNCITED.to_owned()).await;
    }
}

/// An answer that broke off is kept as far as it came, so that it is in the log and its citations
/// can be followed; the run fails all the same.
async fn keep_what_came(
    run: &mut Run<'_>,
    text: String,
    citations: Vec<Citation>,
    sentences: Vec<SentenceSupport>,
) {
    if !is_blank(&text) {
        let mut kept = plain_answer(text, Outcome::Answered);
        kept.answer.citations = citations;
        kept.sentences = sentences;
        finish_answer(run, &kept).await;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r24_citations_are_listed_once_in_the_order_in_which_the_text_uses_them() {
        let places = [1, 2, 3];
        for (cited, text, listed) in [
            (&[2, 1][..], "So [1]. And so [2].", &[1, 2][..]),
            (&[3, 1, 3, 2], "So [2, 3]. And so [1][3].", &[2, 3, 1]),
            (&[1, 2, 1], "Nothing is marked.", &[1, 2]),
            (&[2], "So [1]. And so [2].", &[2]),
        ] {
            assert_eq!(in_order_of_use(cited, &places, text), listed, "{text}");
        }
        // The engine's second item is called 1.
        assert_eq!(
            in_order_of_use(&[1, 2], &[2, 1], "So [1]. And [2]."),
            [2, 1]
        );
    }
}
