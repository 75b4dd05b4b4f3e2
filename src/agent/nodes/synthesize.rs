use tokio::sync::mpsc;

use crate::agent::citations::CitationFilter;
use crate::agent::ports::{AnswerSink, NOTHING_FOUND, NOTHING_FOUND_ZH, Synthesis, SynthesizeJob};
use crate::agent::run::{Run, Stop, guard};
use crate::domain::{
    Answer, Citation, Complexity, Evidence, NodeName, Outcome, RouteReason, Score,
};
use crate::protocol::EventBody;
use crate::text::{StreamSanitizer, is_chinese, sanitize};

/// Pieces of an answer that may wait between the engine and the stream.
const PIECES_IN_FLIGHT: usize = 32;

/// R23–R25: the answer.
pub(in crate::agent) async fn synthesize(run: &mut Run<'_>) -> Result<Option<RouteReason>, Stop> {
    let chitchat = run.state.complexity() == Complexity::Chitchat;
    let reply = run.state.reply.take().filter(|r| !r.trim().is_empty());
    let (text, outcome, citations) = match reply {
        Some(reply) if chitchat => {
            run.state.calls_saved += 1;
            let text = sanitize(&reply).trim().to_owned();
            say(run, text.clone()).await;
            (text, Outcome::Answered, Vec::new())
        }
        _ if !chitchat && run.state.context.is_empty() => {
            run.state.calls_saved += 1;
            let text = nothing_found(&run.state.query, &run.state.discarded);
            say(run, text.clone()).await;
            (text, Outcome::NotFound, Vec::new())
        }
        _ => stream_answer(run, chitchat).await?,
    };
    run.events
        .emit(EventBody::AnswerFinished {
            text: text.clone(),
            citations: citations.clone(),
        })
        .await;
    run.state.answer = Some(Answer {
        text,
        citations,
        outcome,
    });
    Ok(None)
}

async fn say(run: &mut Run<'_>, text: String) {
    run.events.emit(EventBody::AnswerDelta { text }).await;
}

/// Asks the engine and passes its pieces on, cleaned and with their citations checked.
async fn stream_answer(
    run: &mut Run<'_>,
    chitchat: bool,
) -> Result<(String, Outcome, Vec<Citation>), Stop> {
    let context = if chitchat {
        Vec::new()
    } else {
        std::mem::take(&mut run.state.context)
    };
    let mut filter = if chitchat {
        CitationFilter::passing_all()
    } else {
        CitationFilter::new(context.len())
    };
    let query = run.state.query.clone();
    let history = std::mem::take(&mut run.state.history);
    let sub_questions = run.state.sub_questions().to_vec();
    let run_id = run.events.run().clone();
    let job = SynthesizeJob {
        origin: crate::agent::ports::CallOrigin {
            run: &run_id,
            node: NodeName::Synthesize,
        },
        query: &query,
        history: &history,
        complexity: run.state.complexity(),
        sub_questions: &sub_questions,
        context: &context,
    };
    let (sink, mut pieces) = mpsc::channel::<String>(PIECES_IN_FLIGHT);
    let cancel = run.cancel.clone();
    let reasoner = run.ports.reasoner.clone();
    let mut sanitizer = StreamSanitizer::default();
    let mut text = String::new();
    // The pieces end when the call is done, because the sink goes with it.
    let called = guard(&cancel, async {
        let pass_on_all = async {
            while let Some(piece) = pieces.recv().await {
                let delta = filter.push(&sanitizer.push(&piece));
                pass_on(run, &mut text, delta).await;
            }
        };
        tokio::join!(reasoner.synthesize(job, AnswerSink(sink)), pass_on_all).0
    })
    .await;
    let settled: Result<Synthesis, Stop> = run.settle(called);
    if let Err(Stop::Cancelled) = settled {
        return Err(Stop::Cancelled);
    }
    let mut rest = filter.push(&sanitizer.finish());
    rest.push_str(&filter.finish());
    pass_on(run, &mut text, rest).await;
    let synthesis = match settled {
        Ok(synthesis) => synthesis,
        Err(stop) => {
            keep_what_came(run, text, cite(filter.used(), &context)).await;
            return Err(stop);
        }
    };

    run.state.usage.add(synthesis.usage);
    run.events.caveats(synthesis.warnings).await;
    let removed = filter.removed();
    if !removed.is_empty() {
        let marks: Vec<_> = removed.iter().map(|n| format!("[{n}]")).collect();
        let message = format!("removed {}: no such evidence", marks.join(" "));
        run.events.warn("citation_removed", message).await;
    }
    let citations = cite(filter.used(), &context);
    Ok((text, synthesis.outcome, citations))
}

/// An answer that broke off is told as far as it came, so that it is in the log and its citations
/// can be followed; the run fails all the same.
async fn keep_what_came(run: &mut Run<'_>, text: String, citations: Vec<Citation>) {
    if !text.is_empty() {
        run.events
            .emit(EventBody::AnswerFinished { text, citations })
            .await;
    }
}

async fn pass_on(run: &mut Run<'_>, text: &mut String, delta: String) {
    if !delta.is_empty() {
        text.push_str(&delta);
        say(run, delta).await;
    }
}

fn cite(numbers: &[usize], context: &[Evidence]) -> Vec<Citation> {
    numbers
        .iter()
        .filter_map(|&n| {
            let item = context.get(n.checked_sub(1)?)?;
            Some(Citation {
                n,
                id: item.id.clone(),
                source: item.source.clone(),
                lines: item.lines,
                place: item.place.clone(),
            })
        })
        .collect()
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
