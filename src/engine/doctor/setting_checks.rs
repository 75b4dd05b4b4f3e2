use super::check::Check;
use super::examination::Examination;
use crate::config::{Class, ListedSetting, Origin, SettingError, Survey};
use crate::engine::thinking;
use crate::text::plural;

/// A setting as it is in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The variable.
    pub name: &'static str,
    /// What it can do.
    pub class: Class,
    /// Its value, secrets masked; `None` where there is none.
    pub value: Option<String>,
    /// Where that is from.
    pub origin: Origin,
    /// What it means that there is no value.
    pub unset: Option<&'static str>,
}

/// Every setting, with what is built in where it is not set.
pub fn settings(survey: &Survey) -> Vec<Setting> {
    let in_effect = |one: &ListedSetting| Setting {
        name: one.name,
        class: one.class,
        value: one.value.clone().or_else(|| thinking::built_in(one.name)),
        origin: one.origin.clone(),
        unset: unset(one.name),
    };
    survey.listed.iter().map(in_effect).collect()
}

/// What no value means.
fn unset(name: &str) -> Option<&'static str> {
    Some(match name {
        "KB_AGENT_LLM_BASE_URL" => "offline",
        "KB_AGENT_LLM_MODEL" => "the first listed that chats",
        "KB_AGENT_EMBEDDING_MODEL" => "the first listed that embeds",
        "KB_AGENT_LLM_SERVER" => "by its address",
        "KB_AGENT_LLM_CONTEXT_TOKENS" => "not known",
        "KB_AGENT_EMBEDDING_BASE_URL" => "the built-in model",
        "KB_AGENT_SOURCE" => "the bundled demo",
        "KB_AGENT_INCLUDE" => "no file of secrets",
        "KB_AGENT_STORE_URL" => "the data folder",
        name if name.starts_with("KB_AGENT_LLM_MODEL_") => "as for all",
        _ => return None,
    })
}

/// What was set in vain, wrongly or under a name that does not exist.
pub(super) fn check(survey: &Survey, examination: &mut Examination<'_>) {
    examination.area = "settings";
    let is_set =
        |one: &&ListedSetting| !matches!(one.origin, Origin::Default | Origin::Untrusted(_));
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
    for unknown in &survey.unknown {
        let next = format!("rename {}, or remove it", unknown.name);
        examination.add(Check::note("unknown", unknown.to_string(), next));
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
        SettingError::Unwritten { path, .. } => (
            "trust",
            format!("make {} a file that can be written", path.display()),
        ),
        SettingError::Untrusted { advice, .. } => {
            ("trust", format!("look at that file, then run {advice}"))
        }
        SettingError::Doubtful { why: advice, .. } | SettingError::Sending { advice, .. } => {
            ("trust", advice.clone())
        }
        SettingError::NoHome => (
            "home",
            "set KB_AGENT_DATA_DIR to a folder that may be written".to_owned(),
        ),
    };
    Check::broken(kind, error.to_string(), next)
}
