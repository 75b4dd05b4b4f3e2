//! What is wrong, and what to do about it.
//!
//! Every part is tried out by its own code: the endpoint by the client of a run, the index by the
//! room that opens it, so that what is well here is well in use. A check is a value; it is handed
//! over as soon as it is made, because some take as long as a slow server. Nothing is made or
//! mended but the data folder, which every command makes.

mod check;
mod endpoint_checks;
mod examination;
mod index_checks;
mod setting_checks;
mod storage_checks;
mod trace_checks;

use crate::config::Survey;

use check::not_tried;
use examination::Examination;

pub use check::{Check, Status};
pub use examination::ExaminationProgress;

/// Looks at everything that the settings name. Ends by itself: every wait on a network has the
/// limits that a question has.
pub async fn examine(survey: &Survey, report: &mut dyn FnMut(ExaminationProgress)) {
    let mut examination = Examination::new(survey.settings.as_ref(), report);
    setting_checks::check(survey, &mut examination);
    let Some(settings) = &survey.settings else {
        return;
    };
    let refused = |names: &[&str]| {
        let errors = survey.refused.iter();
        errors
            .filter_map(|error| error.variable())
            .find(|name| names.contains(name))
            .map(str::to_owned)
    };
    let at = refused(&["KB_AGENT_LLM_BASE_URL", "KB_AGENT_LLM_API_KEY"]);
    endpoint_checks::check(settings, at, &mut examination).await;
    let at = refused(&["KB_AGENT_EMBEDDING_BASE_URL", "KB_AGENT_EMBEDDING_API_KEY"]);
    let embedding = match at {
        Some(name) => {
            examination.area = "embedding";
            examination.add(not_tried(&name));
            None
        }
        None => endpoint_checks::check_embedding(settings, &mut examination).await,
    };
    match super::knowledge::access(settings) {
        Some(access) => index_checks::check_store(settings, access, &mut examination).await,
        None => index_checks::check(settings, embedding, &mut examination).await,
    }
    trace_checks::check(settings, &mut examination).await;
    storage_checks::check_formats(settings, &mut examination);
    storage_checks::check(settings, &mut examination).await;
}
