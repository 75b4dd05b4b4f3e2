use std::sync::atomic::AtomicBool;

use super::check::Check;
use super::examination::Examination;
use crate::config::Settings;
use crate::domain::Languages;
use crate::engine::knowledge;

const TEXT: &str = "The east gate opens at seven in the morning.";

/// What embeds, as far as it was found out.
pub(super) struct Embedding {
    /// The model, as vectors are kept under it.
    pub model: String,
    /// How long its vectors are; `None` where none came.
    pub dimensions: Option<usize>,
}

/// One text is embedded, by the endpoint or by the built-in model; `None` where that broke off.
pub(super) async fn check(
    settings: &Settings,
    examination: &mut Examination<'_>,
) -> Option<Embedding> {
    examination.area = "embedding";
    let (embedder, choice) = match knowledge::embedder_of_base(settings) {
        Ok(found) => found,
        Err(error) => {
            examination.add(Check::failed("set-up", error.trouble()));
            return None;
        }
    };
    let work = move |_: &AtomicBool| (embedder.model_id().to_owned(), embedder.embed(&[TEXT]));
    let ((model, vectors), took) = examination.blocking("the embedding", work).await?;
    let dimensions = match &vectors {
        Ok(made) => made.first().map(Vec::len),
        Err(_) => None,
    };
    let name = model.strip_prefix("endpoint:").unwrap_or(&model);
    let who = match &settings.embedding {
        Some(endpoint) => format!("{name} at {}", host(&endpoint.base_url)),
        None => match choice.filter(|choice| choice.languages == Languages::All) {
            Some(choice) => format!("{name}, built in, as {}", choice.reason()),
            None => format!("{name}, built in"),
        },
    };
    examination.add(match (&vectors, dimensions) {
        (Ok(_), Some(length)) => {
            let line = format!("{who}: a vector of {length} numbers came back");
            Check::ok("vector", line).took(took)
        }
        (Ok(_), None) => {
            let next = "choose another KB_AGENT_EMBEDDING_MODEL";
            Check::broken("vector", format!("{who} gave no vector"), next)
        }
        (Err(error), _) => Check::failed("vector", error.trouble()).took(took),
    });
    Some(Embedding { model, dimensions })
}

/// Host and port of an address that has been checked.
fn host(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}
