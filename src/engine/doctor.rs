//! What is wrong, and what to do about it.
//!
//! Every part is tried out by its own code: the endpoint by the client of a run, the index by the
//! room that opens it, so that what is well here is well in use. A check is a value; it is handed
//! over as soon as it is made, because some take as long as a slow server. Nothing is made or
//! mended but the data folder, which every command makes.

mod check;
mod endpoint;
mod index;
mod storage;
mod store;

use super::knowledge::access;
use super::opening::trace_sender;
use crate::config::{Origin, Settings, Survey};
use crate::text::{Trouble, plural};

use check::Report;

pub use check::{Check, ExaminationProgress, Status};

/// Looks at everything that the settings name, one area after the other. Ends by itself: every wait on
/// a network has the limits that a question has.
pub async fn examine(survey: &Survey, send: &mut dyn FnMut(ExaminationProgress)) {
    let report = &mut Report::new(survey.settings.as_ref(), send);
    check_settings(survey, report);
    let Some(settings) = &survey.settings else {
        return;
    };
    report.area = "endpoint";
    let ended = Box::pin(endpoint::check(survey, settings, report)).await;
    report.end(ended);
    report.area = "embedding";
    let ended = endpoint::check_embedding(survey, settings, report).await;
    let embedding = report.end(ended).flatten();
    if let Some(access) = access(settings) {
        report.area = "store";
        store::check(settings, access, report).await;
    } else {
        report.area = "index";
        index::check(settings, embedding, report).await;
    }
    report.area = "traces";
    check_traces(settings, report).await;
    report.area = "files";
    storage::check_formats(settings, report).await;
    report.area = "storage";
    storage::check(settings, report).await;
}

/// What was set in vain, wrongly or under a name that does not exist.
fn check_settings(survey: &Survey, report: &mut Report<'_>) {
    let set = survey.listed.iter();
    let set = set.filter(|one| one.origin != Origin::Default).count();
    let file = match &survey.files[..] {
        [] => "there is no .env here".to_owned(),
        [path] => format!("{path} was read"),
        paths => format!("{} were read", paths.join(" and ")),
    };
    let all = plural(survey.listed.len(), "setting");
    report.add(Check::ok("sources", format!("{set} of {all} set; {file}")));
    for error in &survey.refused {
        let kind = error.variable().map_or("file", |_| "value");
        let trouble = Trouble::new(error.to_string(), &error.next);
        report.add(Check::broken(kind, trouble));
    }
    let ignored = survey.ignored.iter().map(|line| ("ignored", line));
    let unknown = survey.unknown.iter().map(|line| ("unknown", line));
    let idle = survey.listed.iter().filter_map(|one| one.idle.as_ref());
    let idle = idle.map(|line| ("idle", line));
    for (name, one) in ignored.chain(unknown).chain(idle) {
        report.add(Check::note(name, &one.line, &one.next));
    }
}

/// The collector of traces, if there is one.
async fn check_traces(settings: &Settings, report: &mut Report<'_>) {
    match trace_sender(settings) {
        Ok(None) => {}
        Ok(Some(sender)) => {
            let takes = |(): &()| Check::ok("reach", format!("{} takes traces", sender.url()));
            let trying = sender.try_out();
            report
                .try_out("the collector", "reach", trying, takes)
                .await;
        }
        Err(error) => report.add(Check::broken("set-up", error.trouble())),
    }
}
