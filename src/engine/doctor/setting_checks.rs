use super::check::Check;
use super::report::Report;
use crate::config::{ListedSetting, Origin, Survey};
use crate::text::plural;

/// What was set in vain, wrongly or under a name that does not exist.
pub(super) fn check(survey: &Survey, report: &mut Report<'_>) {
    report.area = "settings";
    let is_set = |one: &&ListedSetting| one.origin != Origin::Default;
    let set = survey.listed.iter().filter(is_set).count();
    let file = match &survey.files[..] {
        [] => "there is no .env here".to_owned(),
        [path] => format!("{path} was read"),
        paths => format!("{} were read", paths.join(" and ")),
    };
    let all = plural(survey.listed.len(), "setting");
    report.add(Check::ok("sources", format!("{set} of {all} set; {file}")));
    for error in &survey.refused {
        let kind = error.variable().map_or("file", |_| "value");
        report.add(Check::broken(kind, error.to_string(), &error.next));
    }
    if let Some(ignored) = &survey.ignored {
        report.add(Check::note("ignored", &ignored.line, &ignored.next));
    }
    for unknown in &survey.unknown {
        report.add(Check::note("unknown", &unknown.line, &unknown.next));
    }
    for idle in survey.listed.iter().filter_map(|one| one.idle.as_ref()) {
        report.add(Check::note("idle", &idle.line, &idle.next));
    }
}
