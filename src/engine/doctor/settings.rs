use super::check::Check;
use super::examination::Examination;
use crate::config::{ListedSetting, Origin, SettingError, Survey};
use crate::text::plural;

const AREA: &str = "settings";

/// What was set in vain, wrongly or under a name that does not exist.
pub(super) fn check(survey: &Survey, examination: &mut Examination<'_>) {
    let is_set =
        |one: &&ListedSetting| !matches!(one.origin, Origin::Default | Origin::Untrusted(_));
    let set = survey.listed.iter().filter(is_set).count();
    let file = match &survey.files[..] {
        [] => "there is no .env here".to_owned(),
        [path] => format!("{path} was read"),
        paths => format!("{} were read", paths.join(" and ")),
    };
    examination.add(Check::ok(
        AREA,
        "sources",
        format!(
            "{set} of {} set; {file}",
            plural(survey.listed.len(), "setting")
        ),
    ));
    for error in &survey.refused {
        examination.add(refusal(error));
    }
    for unknown in &survey.unknown {
        let next = format!("rename {}, or remove it", unknown.name);
        examination.add(Check::note(AREA, "unknown", unknown.to_string(), next));
    }
    for idle in survey.listed.iter().filter_map(|one| one.idle.as_ref()) {
        examination.add(Check::note(AREA, "idle", &idle.line, &idle.next));
    }
}

fn refusal(error: &SettingError) -> Check {
    let name = error.variable().unwrap_or_default();
    let (kind, what, next) = match error {
        SettingError::Value { allowed, .. } | SettingError::Secret { allowed, .. } => {
            let next = format!("set {name} to {allowed}");
            ("value", error.to_string(), next)
        }
        SettingError::Bare {
            value,
            allowed,
            meant,
            ..
        } => {
            let what = format!("{name} is '{value}': it must be {allowed}");
            ("value", what, format!("set {name} to {meant}"))
        }
        SettingError::Certificates { why, .. } => {
            let next = "give a certificate file in PEM form".to_owned();
            ("value", format!("{name}: {why}"), next)
        }
        SettingError::NotText { .. } => {
            let what = format!("{name} is not UTF-8 text");
            ("value", what, format!("give {name} in UTF-8"))
        }
        SettingError::File { .. } => {
            let next = "correct that file, or name another with --env-file";
            ("file", error.to_string(), next.to_owned())
        }
        SettingError::Unwritten { path, .. } => {
            let next = format!("make {} a file that can be written", path.display());
            ("trust", error.to_string(), next)
        }
        SettingError::Untrusted {
            file,
            names,
            advice,
        } => {
            let what = format!(
                "{} sets {names}, which a folder may set only once you trust it",
                file.display()
            );
            (
                "trust",
                what,
                format!("look at that file, then run {advice}"),
            )
        }
        SettingError::Doubtful { file, names, why } => {
            let what = format!(
                "{} sets {names}, which a folder may set only once you trust it, and it cannot be \
                 trusted",
                file.display()
            );
            ("trust", what, why.clone())
        }
        SettingError::Sending {
            file,
            what,
            to,
            advice,
        } => {
            let what = format!("{what} would be sent to {to}, as {} says", file.display());
            ("trust", what, advice.clone())
        }
        SettingError::Unencrypted { name, host, allow } => {
            let what = format!("{name} would go unencrypted to {host}");
            let next = format!(
                "use an https address, or set {allow}={host} where the key is set, if that network \
                 is yours"
            );
            ("value", what, next)
        }
        SettingError::NoHome => {
            let next = "set KB_AGENT_DATA_DIR to a folder that may be written";
            (
                "home",
                "no home folder is known".to_owned(),
                next.to_owned(),
            )
        }
    };
    Check::broken(AREA, kind, what, next)
}
