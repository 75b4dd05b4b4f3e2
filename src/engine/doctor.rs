//! What is wrong, and what to do about it.
//!
//! Every part is tried out by its own code: the endpoint by the client of a run, the index by the
//! room that opens it, so that what is well here is well in use. A check is a value; it is handed
//! over as soon as it is made, because some take as long as a slow server. Nothing is made or
//! mended but the data folder, which every command makes.

mod check;
mod endpoint_checks;
mod index_checks;
mod report;
mod setting_checks;
mod storage_checks;
mod store_checks;
mod trace_checks;

use super::knowledge::access;
use crate::config::Survey;

use report::Report;

pub use check::{Check, Status};
pub use report::ExaminationProgress;

/// Looks at everything that the settings name, one area after the other. Ends by itself: every wait on
/// a network has the limits that a question has.
pub async fn examine(survey: &Survey, send: &mut dyn FnMut(ExaminationProgress)) {
    let report = &mut Report::new(survey.settings.as_ref(), send);
    setting_checks::check(survey, report);
    let Some(settings) = &survey.settings else {
        return;
    };
    let endpoint = Box::pin(endpoint_checks::check(survey, settings, report)).await;
    report.end(endpoint);
    let embedding = endpoint_checks::check_embedding(survey, settings, report).await;
    let embedding = report.end(embedding).flatten();
    if let Some(access) = access(settings) {
        store_checks::check(settings, access, report).await;
    } else {
        let index = index_checks::check(settings, embedding, report).await;
        report.end(index);
    }
    let traces = trace_checks::check(settings, report).await;
    report.end(traces);
    storage_checks::check_formats(settings, report);
    storage_checks::check(settings, report).await;
}
