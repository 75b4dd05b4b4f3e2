use super::check::Check;
use super::examination::Examination;
use crate::config::{ListedSetting, Origin, SettingError, Survey};
use crate::text::plural;

/// What was set in vain, wrongly or under a name that does not exist.
pub(super) fn check(survey: &Survey, examination: &mut Examination<'_>) {
    examination.area = "settings";
    let is_set = |one: &&ListedSetting| one.origin != Origin::Default;
    let set = survey.listed.iter().filter(is_set).count();
    let file = match &survey.files[..] {
        [] => "there is no .env here".to_owned(),
        [path] => format!("{path} was read"),
        paths => format!("{} were read", paths.join(" and ")),
    };
    let all = plural(survey.listed.len(), "setting");
    examination.add(Check::ok("sources", format!("{set} of {all} set; {file}")));
    for error in &survey.refused {
        examination.add(refusal(error));
    }
    if let Some(ignored) = &survey.ignored {
        examination.add(Check::note("ignored", &ignored.line, &ignored.next));
    }
    for unknown in &survey.unknown {
        examination.add(Check::note("unknown", &unknown.line, &unknown.next));
    }
    for idle in survey.listed.iter().filter_map(|one| one.idle.as_ref()) {
        examination.add(Check::note("idle", &idle.line, &idle.next));
    }
}

/// The kind of what is wrong, what that is and what to do; an error in one line says both.
fn refusal(error: &SettingError) -> Check {
    let name = error.variable().unwrap_or_default();
    let (kind, next) = match error {
        SettingError::Value { allowed, .. } | SettingError::Secret { allowed, .. } => {
            ("value", format!("set {name} to {allowed}"))
        }
        SettingError::Bare { meant, .. } => ("value", format!("set {name} to {meant}")),
        SettingError::Certificates { .. } => {
            ("value", "give a certificate file in PEM form".to_owned())
        }
        SettingError::NotText { .. } => ("value", format!("give {name} in UTF-8")),
        SettingError::Unencrypted { host, allow, .. } => (
            "value",
            format!("use an https address, or set {allow}={host} if that network is yours"),
        ),
        SettingError::File { .. } => {
            let next = "correct that file, or name another with --env-file";
            ("file", next.to_owned())
        }
        SettingError::NoHome => (
            "home",
            "set KB_AGENT_DATA_DIR to a folder that may be written".to_owned(),
        ),
    };
    Check::broken(kind, error.to_string(), next)
}
