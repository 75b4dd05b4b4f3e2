//! What is wrong, and what to do about it.
//!
//! Every part is tried out by its own code: the endpoint by the client of a run, the index by the
//! room that opens it, so that what is well here is well in use. A check is a value; it is handed
//! over as soon as it is made, because some take as long as a slow server. Nothing is made or
//! mended but the data folder, which every command makes.

mod endpoint_checks;
mod index_checks;
mod storage_checks;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use secrecy::ExposeSecret;
use serde::{Serialize, Serializer};

use crate::config::{ListedSetting, Origin, SettingError, Settings, Survey};
use crate::text::{Trouble, one_line, plural};

/// Looks at everything that the settings name. Ends by itself: every wait on a network has the
/// limits that a question has.
pub async fn examine(survey: &Survey, report: &mut dyn FnMut(ExaminationProgress)) {
    let mut examination = Examination::new(survey.settings.as_ref(), report);
    check_settings(survey, &mut examination);
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
    storage_checks::check_formats(settings, &mut examination);
    storage_checks::check(settings, &mut examination).await;
}

// What was found of one thing.

/// One thing that was looked at. Its serde form is a check of `doctor --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The part of the program that was checked.
    pub area: &'static str,
    /// What was looked at.
    pub name: String,
    /// The result of the check.
    pub status: Status,
    /// What was found, one line.
    pub detail: String,
    /// What to do, one line; never missing where something is not well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// How long it took, where that says something.
    #[serde(rename = "ms", serialize_with = "as_ms")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took: Option<Duration>,
}

/// Milliseconds, to a tenth.
#[expect(clippy::ref_option, reason = "serde calls it so")]
fn as_ms<S: Serializer>(took: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    let tenths = took.map(|took| (took.as_secs_f64() * 10_000.0).round());
    tenths.map(|tenths| tenths / 10.0).serialize(to)
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All is as it should be.
    Ok,
    /// It works, and there is something to know.
    Note,
    /// It does not work.
    Broken,
}

impl Status {
    /// The status in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Broken => "broken",
        }
    }
}

impl Check {
    /// A check without a problem.
    pub fn ok(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            area: "",
            name: name.into(),
            status: Status::Ok,
            detail: detail.into(),
            next: None,
            took: None,
        }
    }

    /// It works, and `next` would make it better.
    pub fn note(
        name: impl Into<String>,
        detail: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self {
            status: Status::Note,
            next: Some(next.into()),
            ..Self::ok(name, detail)
        }
    }

    /// It does not work; `next` mends it.
    pub fn broken(
        name: impl Into<String>,
        detail: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self {
            status: Status::Broken,
            ..Self::note(name, detail, next)
        }
    }

    /// It does not work, as an error says.
    fn failed(name: impl Into<String>, trouble: Trouble) -> Self {
        let unknown_cause = || "see the diagnostics in the data folder's logs".to_owned();
        let next = trouble.next.unwrap_or_else(unknown_cause);
        Self::broken(name, trouble.what, next)
    }

    /// The part of the program that it is of.
    #[must_use]
    pub fn in_area(mut self, area: &'static str) -> Self {
        self.area = area;
        self
    }

    /// Something that could be better all the same.
    #[must_use]
    fn hint(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// How long it took.
    #[must_use]
    fn took(mut self, took: Duration) -> Self {
        self.took = Some(took);
        self
    }
}

/// Nothing is tried with a variable that cannot be used.
fn not_tried(variable: &str) -> Check {
    let line = format!("not tried: {variable} cannot be used");
    let next = format!("correct {variable} and run kb-agent doctor again");
    Check::note("reach", line, next)
}

/// The code that looks has itself failed.
fn broke_off() -> Check {
    let next = "run kb-agent doctor -vv, and see the diagnostics in the data folder's logs";
    Check::broken("examination", "it broke off", next)
}

// An examination that is going on.

/// Longer lines are cut.
const DETAIL_CHARS: usize = 600;
/// A key that is shorter is often a word, such as `ollama`, and is masked where it is quoted.
const SHORTEST_KEY: usize = 8;

/// How far an examination is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExaminationProgress {
    /// The name of what is waited for.
    Waiting(&'static str),
    /// A check is done.
    Checked(Check),
}

/// An examination that is going on.
struct Examination<'a> {
    /// The part of the program that is checked.
    area: &'static str,
    report: &'a mut dyn FnMut(ExaminationProgress),
    /// Keys that no line may show.
    keys: Vec<String>,
}

impl<'a> Examination<'a> {
    fn new(settings: Option<&Settings>, report: &'a mut dyn FnMut(ExaminationProgress)) -> Self {
        Self {
            area: "",
            report,
            keys: settings.map(keys).unwrap_or_default(),
        }
    }

    /// Waits for work whose name is told, and says how long it took.
    async fn timed<T>(
        &mut self,
        what: &'static str,
        work: impl Future<Output = T>,
    ) -> (T, Duration) {
        (self.report)(ExaminationProgress::Waiting(what));
        let begun = Instant::now();
        (work.await, begun.elapsed())
    }

    /// Does work that blocks beside everything else; it is stopped when this is given up. `None` where
    /// it broke off, which is told.
    async fn blocking<T: Send + 'static>(
        &mut self,
        what: &'static str,
        work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ) -> Option<(T, Duration)> {
        let stop = Stopping(Arc::default());
        let stopped = Arc::clone(&stop.0);
        let working = tokio::task::spawn_blocking(move || work(&stopped));
        let (done, took) = self.timed(what, working).await;
        if done.is_err() {
            self.add(broke_off());
        }
        Some((done.ok()?, took))
    }

    /// Text of documents, models and servers in it becomes one line without a key.
    fn add(&mut self, mut check: Check) {
        let clean = |text: &str| {
            let mut text = text.to_owned();
            for key in &self.keys {
                text = text.replace(key, "[key]");
            }
            one_line(&text, DETAIL_CHARS)
        };
        check.area = self.area;
        check.name = clean(&check.name);
        check.detail = clean(&check.detail);
        check.next = check.next.as_deref().map(clean);
        (self.report)(ExaminationProgress::Checked(check));
    }
}

/// Says that work is to stop once it is dropped.
struct Stopping(Arc<AtomicBool>);

impl Drop for Stopping {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn keys(settings: &Settings) -> Vec<String> {
    let llm = settings.llm.iter().filter_map(|at| at.api_key.as_ref());
    let embedding = settings.embedding.iter();
    let mut keys: Vec<String> = llm
        .chain(embedding.filter_map(|at| at.api_key.as_ref()))
        .map(|key| key.expose_secret().to_owned())
        .filter(|key| key.len() >= SHORTEST_KEY)
        .collect();
    // One may begin with the other, and its rest must not be left standing.
    keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
    keys
}

/// What was set in vain, wrongly or under a name that does not exist.
fn check_settings(survey: &Survey, examination: &mut Examination<'_>) {
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

#[cfg(test)]
mod check_tests {
    use super::*;

    #[test]
    fn what_is_wrong_and_what_to_do_are_not_read_from_one_line() {
        let check = Check::failed("contents", Trouble::from("it said: a; b"));
        assert_eq!(check.detail, "it said: a; b");
        assert!(check.next.unwrap().starts_with("see the diagnostics"));
        let check = Check::failed("contents", Trouble::new("x: a; b", "do c; then d"));
        assert_eq!(check.detail, "x: a; b");
        assert_eq!(check.next.as_deref(), Some("do c; then d"));
    }
}
