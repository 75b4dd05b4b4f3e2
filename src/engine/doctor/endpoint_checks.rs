use super::check::{Check, Status, must_be_usable};
use super::report::{Report, off_thread};
use crate::agent::ports::{Caveat, Reasoner, ReasonerError};
use crate::config::{EndpointConfig, Settings, Survey};
use crate::domain::Languages;
use crate::engine::knowledge;
use crate::engine::local_servers::in_words;
use crate::engine::models::{endpoint_reasoner, is_called, models_of};
use crate::protocol::{JobModels, JobName, joined};
use crate::reasoner::llm::{
    Answered, ListedModel, ModelJob, ModelUse, Structured, StructuredReply, local_servers,
};
use crate::text::{Trouble, duration, nearest, one_line, plural};

/// So many models are named where none is near.
const NAMED: usize = 3;
/// Columns of a model's name.
const LONGEST_NAME: usize = 80;
/// An answer of more tokens than this comes in pieces, from a server that streams.
const ONE_PIECE: u64 = 16;

/// The chat endpoint, if there is one: reached, its models, a judgement, an answer.
pub(super) async fn check(
    survey: &Survey,
    settings: &Settings,
    report: &mut Report<'_>,
) -> Result<(), Check> {
    report.area = "endpoint";
    must_be_usable(survey, ["KB_AGENT_LLM_BASE_URL", "KB_AGENT_LLM_API_KEY"])?;
    let Some(llm) = &settings.llm else {
        let offline = "offline, because KB_AGENT_LLM_BASE_URL is not set; that is fine: rules \
                       route, extracts answer, and no network is needed";
        let with_model = "set KB_AGENT_LLM_BASE_URL to let a language model think";
        report.add(Check::ok("mode", offline).hint(with_model));
        check_local(settings, report).await;
        return Ok(());
    };
    let reasoner = endpoint_reasoner(settings, llm).map_err(|error| {
        let next = "correct that setting or file, and run kb-agent doctor again";
        Check::broken("set-up", error.to_string(), next)
    })?;
    let listing = async {
        match reasoner.models().await {
            Err(error @ ReasonerError::Unreachable(_)) => Err(or_offline(error.into())),
            listed => Ok(listed),
        }
    };
    let reaching = report.try_out("the endpoint", "reach", listing, |_| {
        let (host, server) = (reasoner.host(), reasoner.server());
        let line = format!("{host} answers; its kind of server: {server}");
        Check::ok("reach", line)
    });
    let Some(listed) = reaching.await else {
        return Ok(());
    };
    let (check, listed) = listing_check(llm, listed)?;
    report.add(check);
    // A main model that is not set is found out.
    let failed = |error: ReasonerError| Check::failed("models", error.into());
    reasoner.ready(None).await.map_err(failed)?;
    for check in jobs(llm, &models_of(&reasoner), &listed) {
        report.add(check);
    }
    let mut tried: Vec<&str> = Vec::new();
    for job in [ModelJob::Grade, ModelJob::Analyze, ModelJob::Plan] {
        let model = reasoner.model_of(job).await.map_err(failed)?;
        if tried.contains(&model) {
            continue;
        }
        tried.push(model);
        let mut is_gone = false;
        let judging = async {
            reasoner.try_judging(job).await.map_err(|error| {
                is_gone = matches!(error, ReasonerError::Unreachable(_));
                Trouble::from(error)
            })
        };
        let trying = report.try_out("a structured reply", "structured", judging, |judged| {
            structured(model, judged)
        });
        Box::pin(trying).await;
        if is_gone {
            return Ok(());
        }
    }
    let synthesis = reasoner.model_of(ModelJob::Synthesize).await;
    let model = synthesis.unwrap_or_default();
    let answering = async {
        let answered = reasoner.try_answering().await;
        answered.map_err(Trouble::from)
    };
    let trying = report.try_out("a streamed reply", "stream", answering, |answered| {
        stream(model, answered)
    });
    trying.await;
    Ok(())
}

/// What to do about an endpoint that is not there.
fn or_offline(trouble: Trouble) -> Trouble {
    let offline = "or unset KB_AGENT_LLM_BASE_URL, and answers are offline extracts";
    let next = match &trouble.next {
        Some(next) => format!("{next}; {offline}"),
        None => offline.to_owned(),
    };
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

/// The variable that sets a job's model, and its value; `None` where nothing does.
fn setting_of(llm: &EndpointConfig, job: JobName) -> Option<(&'static str, &str)> {
    let (variable, own) = match job {
        JobName::Analyze => ("KB_AGENT_LLM_MODEL_ANALYZE", &llm.analyze.model),
        JobName::Plan => ("KB_AGENT_LLM_MODEL_PLAN", &llm.plan.model),
        JobName::Grade => ("KB_AGENT_LLM_MODEL_GRADE", &llm.grade.model),
        JobName::Answer => ("KB_AGENT_LLM_MODEL_SYNTHESIZE", &llm.synthesize.model),
    };
    let main = ("KB_AGENT_LLM_MODEL", &llm.model);
    let set = [(variable, own), main].into_iter();
    let mut set = set.filter_map(|(variable, model)| Some((variable, model.as_deref()?)));
    set.next()
}

/// What the server lists; nothing where it lists none. An error where there is no model that could be asked.
fn listing_check(
    llm: &EndpointConfig,
    listed: Result<Option<Vec<ListedModel>>, ReasonerError>,
) -> Result<(Check, Vec<ListedModel>), Check> {
    const NAME: &str = "models";
    let is_named = |job| setting_of(llm, job).is_some();
    let listed = match listed {
        Ok(Some(listed)) => listed,
        Ok(None) => {
            let line = "this server lists no models, which is fine";
            return Ok((Check::ok(NAME, line), Vec::new()));
        }
        Err(error) => {
            let failed = Check::failed(NAME, error.into());
            if !JobName::ALL.into_iter().all(is_named) {
                return Err(failed);
            }
            let status = Status::Note;
            return Ok((Check { status, ..failed }, Vec::new()));
        }
    };
    let line = plural(listed.len(), "model") + " listed";
    let line = match listed.iter().filter(|model| !chats(model)).count() {
        0 => line,
        others => format!("{line}, {others} of them cannot chat"),
    };
    Ok((Check::ok(NAME, line), listed))
}

fn chats(model: &ListedModel) -> bool {
    model.purpose == ModelUse::Chat
}

/// Each model with the jobs that it does, and whether the server lists it for that.
fn jobs(llm: &EndpointConfig, models: &JobModels, listed: &[ListedModel]) -> Vec<Check> {
    const NAME: &str = "jobs";
    let check = |(model, jobs): (&str, Vec<JobName>)| {
        let shown = one_line(model, LONGEST_NAME);
        let does = format!("{shown} does {}", joined(&jobs));
        let known = listed.iter().find(|one| is_called(&one.name, model));
        let all = listed.len();
        let wrong = match known {
            _ if listed.is_empty() => None,
            Some(known) if chats(known) => None,
            Some(_) => Some(format!("{does}, and cannot chat by its name or kind")),
            None => Some(format!("{does}, and is none of the models listed ({all})")),
        };
        let Some(wrong) = wrong else {
            return Check::ok(NAME, does);
        };
        let names = listed.iter().filter(|one| chats(one));
        let names: Vec<&str> = names.map(|one| one.name.as_str()).collect();
        let near = nearest(model, names.iter().copied());
        let offered = if near.is_empty() { names } else { near };
        let offered = offered.into_iter().take(NAMED);
        let offered: Vec<String> = offered.map(|name| one_line(name, LONGEST_NAME)).collect();
        let variable = jobs.iter().find_map(|job| setting_of(llm, *job));
        let variable = variable.map_or("KB_AGENT_LLM_MODEL", |(variable, _)| variable);
        let offered = offered.join(", ");
        let next = match offered.as_str() {
            "" => format!("set {variable} to a model that chats"),
            offered => format!("set {variable} to one that chats, such as {offered}"),
        };
        Check::note(NAME, wrong, next)
    };
    models.by_model().into_iter().map(check).collect()
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

fn stream(model: &str, answered: &Answered) -> Check {
    const NAME: &str = "stream";
    let usage = &answered.synthesis.usage;
    let tokens = usage.completion_tokens.unwrap_or_default();
    let count = plural(tokens as usize, "token");
    let rate = tokens as f64 / answered.total.as_secs_f64().max(f64::EPSILON);
    let rate = if usage.estimated {
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
        return Check::ok(NAME, line);
    }
    let next = "raise KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE, or see the server's log";
    Check::note(NAME, line, next)
}

/// What went on meanwhile, behind a line.
fn as_text(warnings: &[Caveat]) -> String {
    warnings
        .iter()
        .fold(String::new(), |line, caveat| line + "; " + &caveat.message)
}

const TEXT: &str = "The east gate opens at seven in the morning.";

/// What embeds, as far as it was found out.
pub(super) struct Embedding {
    /// The model, as vectors are kept under it.
    pub model: String,
    /// How long its vectors are; `None` where none came.
    pub dimensions: Option<usize>,
}

/// One text is embedded, by the endpoint or by the built-in model; `None` where that broke off.
pub(super) async fn check_embedding(
    survey: &Survey,
    settings: &Settings,
    report: &mut Report<'_>,
) -> Result<Option<Embedding>, Check> {
    report.area = "embedding";
    must_be_usable(
        survey,
        ["KB_AGENT_EMBEDDING_BASE_URL", "KB_AGENT_EMBEDDING_API_KEY"],
    )?;
    let (embedder, choice) = knowledge::embedder_of_base(settings)
        .map_err(|error| Check::failed("set-up", error.trouble()))?;
    let embedding =
        off_thread(move |_| Ok((embedder.model_id().to_owned(), embedder.embed(&[TEXT]))));
    let trying = report.try_out("the embedding", "vector", embedding, |(model, vectors)| {
        let name = model.strip_prefix("endpoint:").unwrap_or(model);
        let who = match &settings.embedding {
            Some(endpoint) => format!("{name} at {}", host(&endpoint.base_url)),
            None => match choice.filter(|choice| choice.languages == Languages::All) {
                Some(choice) => format!("{name}, built in, as {}", choice.reason()),
                None => format!("{name}, built in"),
            },
        };
        match vectors.as_ref().map(|made| made.first()) {
            Ok(Some(vector)) => {
                let line = format!("{who}: a vector of {} numbers came back", vector.len());
                Check::ok("vector", line)
            }
            Ok(None) => {
                let next = "choose another KB_AGENT_EMBEDDING_MODEL";
                Check::broken("vector", format!("{who} gave no vector"), next)
            }
            Err(error) => Check::failed("vector", error.trouble()),
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
