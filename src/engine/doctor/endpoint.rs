//! The chat endpoint and the embedding, each asked for a little of what a question asks of it.

use super::check::{Check, Report, Status, must_be_usable, off_thread};
use crate::agent::ports::{Caveat, Reasoner, ReasonerError};
use crate::config::{EndpointConfig, Settings, Survey};
use crate::domain::Languages;
use crate::engine::knowledge;
use crate::engine::local_servers::in_words;
use crate::engine::models::{chats, endpoint_reasoner, is_called, models_of, near, shown_name};
use crate::protocol::{JobName, joined};
use crate::reasoner::llm::{
    Answered, ListedModel, ModelJob, Structured, StructuredReply, local_servers,
};
use crate::text::{Trouble, duration, plural};

/// So many models of each server are named.
const NAMED: usize = 3;
/// An answer of more tokens than this comes in pieces, from a server that streams.
const ONE_PIECE: u64 = 16;

/// The chat endpoint, if there is one: reached, its models, a judgement, an answer. An error is the last
/// check.
pub(super) async fn check(
    survey: &Survey,
    settings: &Settings,
    report: &mut Report<'_>,
) -> Result<(), Check> {
    must_be_usable(survey, ["KB_AGENT_LLM_BASE_URL", "KB_AGENT_LLM_API_KEY"])?;
    let Some(llm) = &settings.llm else {
        let offline = "offline, because KB_AGENT_LLM_BASE_URL is not set; that is fine: rules \
                       route, extracts answer, and no network is needed";
        let with_model = "set KB_AGENT_LLM_BASE_URL to let a language model think";
        report.add(Check::ok("mode", offline).hint(with_model));
        check_local(settings, report).await;
        return Ok(());
    };
    let reasoner = endpoint_reasoner(settings, llm)
        .map_err(|error| Check::broken("set-up", error.trouble()))?;
    let listing = async {
        match reasoner.models().await {
            Err(error @ ReasonerError::Unreachable(_)) => Err(or_offline(error.into())),
            listed => Ok(listed),
        }
    };
    let reaching = report.try_out("the endpoint", "reach", listing, |_| {
        let (host, server) = (reasoner.host(), reasoner.server());
        Check::ok(
            "reach",
            format!("{host} answers; its kind of server: {server}"),
        )
    });
    let Some(listed) = reaching.await else {
        return Ok(());
    };
    let listed = match listed {
        Ok(listed) => {
            let line = listed
                .as_ref()
                .map(|all| plural(all.len(), "model") + " listed");
            let none = || "this server lists no models, which is fine".to_owned();
            report.add(Check::ok("models", line.unwrap_or_else(none)));
            listed.unwrap_or_default()
        }
        // Models that are named may be there all the same.
        Err(error)
            if JobName::ALL
                .into_iter()
                .all(|job| setting_of(llm, job).is_some()) =>
        {
            let (status, check) = (Status::Note, Check::broken("models", error));
            report.add(Check { status, ..check });
            Vec::new()
        }
        Err(error) => return Err(Check::broken("models", error)),
    };
    let failed = |error: ReasonerError| Check::broken("models", error);
    // A main model that is not set is found out.
    reasoner.ready(None).await.map_err(failed)?;
    for (model, jobs) in models_of(&reasoner).by_model() {
        report.add(jobs_of(llm, model, &jobs, &listed));
    }
    let mut tried: Vec<&str> = Vec::new();
    for job in [ModelJob::Grade, ModelJob::Analyze, ModelJob::Plan] {
        let model = reasoner.model_of(job).await.map_err(failed)?;
        if !tried.contains(&model) {
            tried.push(model);
            let judging = async { Ok(reasoner.try_judging(job).await?) };
            let check = |judged: &StructuredReply| structured(model, judged);
            let trying = report.try_out("a structured reply", "structured", judging, check);
            Box::pin(trying).await;
        }
    }
    let model = reasoner.model_of(ModelJob::Synthesize).await;
    let model = model.unwrap_or_default();
    let answering = async { Ok(reasoner.try_answering().await?) };
    let check = |answered: &Answered| streamed(model, answered);
    let trying = report.try_out("a streamed reply", "stream", answering, check);
    trying.await;
    Ok(())
}

/// What to do about an endpoint that is not there.
fn or_offline(trouble: Trouble) -> Trouble {
    let offline = "or unset KB_AGENT_LLM_BASE_URL, and answers are offline extracts";
    let next = trouble.next.iter().map(String::as_str).chain([offline]);
    let next = next.collect::<Vec<_>>().join("; ");
    trouble.next(next)
}

/// Servers on this machine that could be the endpoint, where they are looked for.
async fn check_local(settings: &Settings, report: &mut Report<'_>) {
    const NAME: &str = "this machine";
    if settings.local.is_none() {
        return;
    }
    let asking = async {
        let found = local_servers(settings.config_dir.as_deref()).await;
        found.map_err(|why| Trouble::new(why, "correct that file, or remove it"))
    };
    let trying = report.try_out("servers on this machine", NAME, asking, |found| {
        let Some(first) = found.first() else {
            return Check::ok(NAME, "no server that lists models at the usual ports");
        };
        let url = &first.base_url;
        let next =
            format!("set KB_AGENT_LLM_BASE_URL={url}, or take a model by /model on the screen");
        Check::ok(NAME, in_words(found, NAMED)).hint(next)
    });
    trying.await;
}

/// The variable that sets a job's model; `None` where nothing does.
fn setting_of(llm: &EndpointConfig, job: JobName) -> Option<&'static str> {
    let (variable, own) = match job {
        JobName::Analyze => ("KB_AGENT_LLM_MODEL_ANALYZE", &llm.analyze.model),
        JobName::Plan => ("KB_AGENT_LLM_MODEL_PLAN", &llm.plan.model),
        JobName::Grade => ("KB_AGENT_LLM_MODEL_GRADE", &llm.grade.model),
        JobName::Answer => ("KB_AGENT_LLM_MODEL_SYNTHESIZE", &llm.synthesize.model),
    };
    let main = llm.model.as_ref().map(|_| "KB_AGENT_LLM_MODEL");
    own.as_ref().map(|_| variable).or(main)
}

/// A model with the jobs that it does, and whether it is one of those that the server lists for a chat.
fn jobs_of(llm: &EndpointConfig, model: &str, jobs: &[JobName], listed: &[ListedModel]) -> Check {
    let does = format!("{} does {}", shown_name(model), joined(jobs));
    let is_it = |one: &ListedModel| is_called(&one.name, model);
    let wrong = match listed.iter().find(|one| is_it(one)) {
        _ if listed.is_empty() => return Check::ok("jobs", does),
        Some(known) if chats(known) => return Check::ok("jobs", does),
        Some(_) => "cannot chat by its name or kind".to_owned(),
        None => format!("is none of the models listed ({})", listed.len()),
    };
    let variable = jobs.iter().find_map(|job| setting_of(llm, *job));
    let variable = variable.unwrap_or("KB_AGENT_LLM_MODEL");
    let first = || Some(shown_name(&listed.iter().find(|one| chats(one))?.name));
    let such_as = near(model, listed).or_else(first);
    let such_as = such_as.map(|names| format!(", such as {names}"));
    let next = format!(
        "set {variable} to one that chats{}",
        such_as.unwrap_or_default()
    );
    Check::note("jobs", format!("{does}, and {wrong}"), next)
}

fn structured(model: &str, judged: &StructuredReply) -> Check {
    const NAME: &str = "structured";
    let form = match judged.form {
        Structured::Prompt => "asked for in words alone",
        Structured::JsonObject => "held to a JSON object",
        Structured::JsonSchema => "held to a JSON schema",
    };
    let form = format!("{form} ({})", judged.form.as_str());
    let warnings = as_text(&judged.grades.warnings);
    let why = match &judged.grades.scores {
        Ok(scores) if scores.len() == 1 => {
            return Check::ok(NAME, format!("{model}: {form}{warnings}"));
        }
        Ok(scores) => format!("it holds {} for 1 item", plural(scores.len(), "number")),
        Err(why) => why.to_string(),
    };
    let line = format!("{model} replied, {form}, and {why}{warnings}");
    let next = "choose another model; until then unread judgements fall back to a middle one";
    Check::note(NAME, line, next)
}

fn streamed(model: &str, answered: &Answered) -> Check {
    let usage = &answered.synthesis.usage;
    let tokens = usage.completion_tokens.unwrap_or_default();
    let count = plural(tokens as usize, "token");
    let rate = tokens as f64 / answered.total.as_secs_f64().max(f64::EPSILON);
    let by = if usage.estimated {
        "estimated: the server counts none"
    } else {
        "counted by the server"
    };
    let whole = if answered.pieces == 1 && tokens > ONE_PIECE {
        "; it came in one piece: the server does not stream"
    } else {
        ""
    };
    let first = duration(answered.first.as_secs_f64() * 1000.0);
    let warnings = as_text(&answered.synthesis.warnings);
    let line = format!(
        "{model}: first token after {first}; {count} at {rate:.0}/s, {by}{whole}{warnings}"
    );
    if !answered.is_cut_short() {
        return Check::ok("stream", line);
    }
    let next = "raise KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE, or see the server's log";
    Check::note("stream", line, next)
}

/// What went on meanwhile, behind a line.
fn as_text(warnings: &[Caveat]) -> String {
    let warnings = warnings.iter();
    warnings.fold(String::new(), |line, caveat| line + "; " + &caveat.message)
}

const TEXT: &str = "The east gate opens at seven in the morning.";

/// What embeds, as far as it was found out.
pub(super) struct Embedding {
    /// The model, as vectors are kept under it.
    pub(super) model: String,
    /// How long its vectors are; `None` where none came.
    pub(super) dimensions: Option<usize>,
}

/// One text is embedded, by the endpoint or by the built-in model; `None` where that broke off.
pub(super) async fn check_embedding(
    survey: &Survey,
    settings: &Settings,
    report: &mut Report<'_>,
) -> Result<Option<Embedding>, Check> {
    const NAME: &str = "vector";
    must_be_usable(
        survey,
        ["KB_AGENT_EMBEDDING_BASE_URL", "KB_AGENT_EMBEDDING_API_KEY"],
    )?;
    let (embedder, choice) = knowledge::embedder_of_base(settings)
        .map_err(|error| Check::broken("set-up", error.trouble()))?;
    let embedding =
        off_thread(move |_| Ok((embedder.model_id().to_owned(), embedder.embed(&[TEXT]))));
    let trying = report.try_out("the embedding", NAME, embedding, |(model, vectors)| {
        let name = model.strip_prefix("endpoint:").unwrap_or(model);
        let who = match (&settings.embedding, choice) {
            (Some(endpoint), _) => format!("{name} at {}", host(&endpoint.base_url)),
            (None, Some(choice)) if choice.languages == Languages::All => {
                format!("{name}, built in, as {}", choice.reason())
            }
            (None, _) => format!("{name}, built in"),
        };
        match vectors.as_ref().map(|made| made.first().map(Vec::len)) {
            Ok(Some(length)) => Check::ok(
                NAME,
                format!("{who}: a vector of {length} numbers came back"),
            ),
            Ok(None) => {
                let next = "choose another KB_AGENT_EMBEDDING_MODEL";
                Check::broken(NAME, Trouble::new(format!("{who} gave no vector"), next))
            }
            Err(error) => Check::broken(NAME, error.trouble()),
        }
    });
    Ok(trying.await.map(|(model, vectors)| Embedding {
        model,
        dimensions: vectors.ok().and_then(|made| made.first().map(Vec::len)),
    }))
}

/// Host and port of an address that has been checked.
fn host(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}
