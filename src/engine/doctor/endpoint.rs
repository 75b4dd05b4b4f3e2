use std::time::Instant;

use super::check::{Check, not_tried};
use super::examination::Examination;
use crate::agent::ports::{Caveat, ReasonerError};
use crate::config::{EndpointConfig, Settings};
use crate::engine::thinking;
use crate::reasoner::llm::{Answered, EndpointReasoner, ModelJob, Structured, StructuredReply};
use crate::text::{counted, duration, nearest};

const AREA: &str = "endpoint";
/// So many models are named where none is near.
const NAMED: usize = 3;
/// An answer of more tokens than this comes in pieces, from a server that streams.
const ONE_PIECE: u64 = 16;

/// The chat endpoint, if there is one: reached, its models, a judgement, an answer.
pub(super) async fn check(
    settings: &Settings,
    refused: Option<String>,
    examination: &mut Examination<'_>,
) {
    if let Some(name) = refused {
        examination.found(not_tried(AREA, &name));
        return;
    }
    let Some(llm) = &settings.llm else {
        let offline = "offline, because KB_AGENT_LLM_BASE_URL is not set; that is fine: rules \
                       route, extracts answer, and no network is needed";
        let with_model = "set KB_AGENT_LLM_BASE_URL to let a language model think";
        examination.found(Check::ok(AREA, "mode", offline).hint(with_model));
        return;
    };
    let reasoner = match thinking::endpoint_reasoner(settings, llm) {
        Ok(reasoner) => reasoner,
        Err(error) => {
            let line = error.to_string();
            let next = "correct that setting or file, and run kb-agent doctor again";
            examination.found(Check::broken(AREA, "set-up", line, next));
            return;
        }
    };
    examination.trying("the endpoint");
    let begun = Instant::now();
    let listed = reasoner.models().await;
    let took = begun.elapsed();
    if let Err(error @ ReasonerError::Unreachable(_)) = &listed {
        let failed = Check::failed(AREA, "reach", error.trouble()).after(took);
        let next = failed.next.clone().unwrap_or_default();
        let offline = "or unset KB_AGENT_LLM_BASE_URL, and answers are offline extracts";
        examination.found(failed.hint(format!("{next}; {offline}")));
        return;
    }
    let reached = format!(
        "{} answers; its kind of server: {}",
        reasoner.host(),
        reasoner.server()
    );
    examination.found(Check::ok(AREA, "reach", reached).after(took));
    let models = models(llm, listed);
    let has_no_model = models.is_err();
    examination.found(models.unwrap_or_else(|broken| broken));
    if has_no_model {
        return;
    }
    if judging(&reasoner, examination).await {
        examination.trying("a streamed reply");
        let begun = Instant::now();
        let answered = reasoner.try_answering().await;
        let took = begun.elapsed();
        let model = reasoner
            .model_of(ModelJob::Synthesize)
            .await
            .unwrap_or_default();
        examination.found(match answered {
            Ok(answered) => stream(model, &answered).after(took),
            Err(error) => Check::failed(AREA, "stream", error.trouble()).after(took),
        });
    }
}

/// What is set, with the variable that says so.
fn named(llm: &EndpointConfig) -> Vec<(&'static str, &str)> {
    let all = [
        ("KB_AGENT_LLM_MODEL", &llm.model),
        ("KB_AGENT_LLM_MODEL_ANALYZE", &llm.analyze.model),
        ("KB_AGENT_LLM_MODEL_PLAN", &llm.plan.model),
        ("KB_AGENT_LLM_MODEL_GRADE", &llm.grade.model),
        ("KB_AGENT_LLM_MODEL_SYNTHESIZE", &llm.synthesize.model),
    ];
    all.into_iter()
        .filter_map(|(variable, model)| Some((variable, model.as_deref()?)))
        .collect()
}

/// The error is a check too: there is no model that could be asked.
fn models(
    llm: &EndpointConfig,
    listed: Result<Option<Vec<String>>, ReasonerError>,
) -> Result<Check, Check> {
    const NAME: &str = "models";
    let named = named(llm);
    // As the program does: a main model, or one for every job.
    let is_named = llm.model.is_some() || named.len() == 4;
    let models = match listed {
        Ok(Some(models)) => models,
        Ok(None) => {
            let line = "this server lists no models, which is fine";
            return Ok(Check::ok(AREA, NAME, line));
        }
        Err(error) if is_named => {
            let failed = Check::failed(AREA, NAME, error.trouble());
            let next = failed.next.unwrap_or_default();
            return Ok(Check::note(AREA, NAME, failed.detail, next));
        }
        Err(error) => return Err(Check::failed(AREA, NAME, error.trouble())),
    };
    let is_listed = |model: &str| {
        let latest = format!("{model}:latest");
        models.iter().any(|one| one == model || *one == latest)
    };
    let count = counted(models.len(), "model");
    let missing = named.iter().find(|(_, model)| !is_listed(model));
    if let Some((variable, model)) = missing {
        let near = nearest(model, models.iter().map(String::as_str));
        let offered: Vec<&str> = if near.is_empty() {
            models.iter().map(String::as_str).take(NAMED).collect()
        } else {
            near
        };
        return Ok(Check::note(
            AREA,
            NAME,
            format!("'{model}' is none of the models listed ({})", models.len()),
            format!(
                "set {variable} to one that is, such as {}",
                offered.join(", ")
            ),
        ));
    }
    let first = models.first().map(String::as_str).unwrap_or_default();
    let mut used: Vec<&str> = Vec::new();
    for (_, model) in &named {
        if !used.contains(model) {
            used.push(model);
        }
    }
    let line = match used.len() {
        0 => format!("{count} listed; the first, {first}, is used"),
        1 => format!("{count} listed, {} among them", used[0]),
        _ => format!("{count} listed, those set among them: {}", used.join(", ")),
    };
    Ok(Check::ok(AREA, NAME, line))
}

/// A structured reply of each model that judges; whether the server may be asked on.
async fn judging(reasoner: &EndpointReasoner, examination: &mut Examination<'_>) -> bool {
    let mut tried: Vec<&str> = Vec::new();
    for job in [ModelJob::Grade, ModelJob::Analyze, ModelJob::Plan] {
        let model = match reasoner.model_of(job).await {
            Ok(model) => model,
            Err(error) => {
                examination.found(Check::failed(AREA, "models", error.trouble()));
                return false;
            }
        };
        if tried.contains(&model) {
            continue;
        }
        tried.push(model);
        examination.trying("a structured reply");
        let begun = Instant::now();
        let judged = reasoner.try_judging(job).await;
        let took = begun.elapsed();
        let is_gone = matches!(&judged, Err(ReasonerError::Unreachable(_)));
        examination.found(match judged {
            Ok(judged) => structured(model, &judged).after(took),
            Err(error) => Check::failed(AREA, "structured", error.trouble()).after(took),
        });
        if is_gone {
            return false;
        }
    }
    true
}

fn structured(model: &str, judged: &StructuredReply) -> Check {
    const NAME: &str = "structured";
    let form = match judged.form {
        Structured::Prompt => "asked for in words alone",
        Structured::JsonObject => "held to a JSON object",
        Structured::JsonSchema => "held to a JSON schema",
    };
    let warnings = as_text(&judged.grades.warnings);
    match &judged.grades.scores {
        Ok(scores) if scores.len() == 1 => Check::ok(
            AREA,
            NAME,
            format!("{model}: {form} ({}){warnings}", judged.form.as_str()),
        ),
        unread => {
            let why = match unread {
                Ok(scores) => format!("it holds {} for 1 item", counted(scores.len(), "number")),
                Err(why) => why.to_string(),
            };
            Check::note(
                AREA,
                NAME,
                format!(
                    "{model} replied, {form} ({}), and {why}{warnings}",
                    judged.form.as_str()
                ),
                "choose another model; until then unread judgements fall back to a middle one",
            )
        }
    }
}

fn stream(model: &str, answered: &Answered) -> Check {
    const NAME: &str = "stream";
    let tokens = answered
        .synthesis
        .usage
        .completion_tokens
        .unwrap_or_default();
    let count = counted(tokens as usize, "token");
    let rate = tokens as f64 / answered.total.as_secs_f64().max(f64::EPSILON);
    let rate = if answered.synthesis.usage.estimated {
        format!("about {count} at {rate:.0}/s, estimated: the server counts none")
    } else {
        format!("{count} at {rate:.0}/s, counted by the server")
    };
    let whole = if answered.pieces == 1 && tokens > ONE_PIECE {
        "; it came in one piece: the server does not stream"
    } else {
        ""
    };
    let line = format!(
        "{model}: first token after {}; {rate}{whole}{}",
        duration(answered.first.as_secs_f64() * 1000.0),
        as_text(&answered.synthesis.warnings)
    );
    if !answered.is_cut_short() {
        return Check::ok(AREA, NAME, line);
    }
    let next = "raise KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE, or see the server's log";
    Check::note(AREA, NAME, line, next)
}

/// What went on meanwhile, behind a line.
fn as_text(warnings: &[Caveat]) -> String {
    warnings
        .iter()
        .fold(String::new(), |line, caveat| line + "; " + &caveat.message)
}
