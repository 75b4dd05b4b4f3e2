//! What is set to no effect: names that are no setting, and settings that do nothing as things are.

use super::environment::{ENV, Environment, Origin, Overrides};
use super::shown::{path, text};
use super::variables::{
    EMBEDDING, EMBEDDING_BASE_URL, JOBS, LLM_BASE_URL, LLM_MODEL, PREFIX, THEME, Variable,
    variable, variables,
};
use crate::text::{nearest, one_line};

/// Something that was set to no effect. Never with its value, which may be a key under a misspelt name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IneffectiveSetting {
    /// What was set, on one line.
    pub name: String,
    /// What, and why; one line.
    pub line: String,
    /// What to do; one line.
    pub next: String,
}

/// What looks like a setting and is none, in order: a misspelt name must not be silently without effect.
pub(super) fn unknown(environment: &Environment) -> impl Iterator<Item = IneffectiveSetting> {
    let names = environment.names();
    let names = names.filter(|name| variable(name).is_none());
    names.map(|set| {
        let known = variables().filter_map(|one| one.name.strip_prefix(PREFIX));
        let wanted = set.strip_prefix(PREFIX).unwrap_or(set);
        let meant = match nearest(wanted, known).first() {
            Some(meant) => format!("did you mean {PREFIX}{meant}?"),
            None => "look for its name in .env.example".to_owned(),
        };
        let name = one_line(set, 80);
        IneffectiveSetting {
            line: format!("{name} is no setting of kb-agent: {meant}"),
            next: format!("rename {name}, or remove it"),
            name,
        }
    })
}

/// What a start says, one line each. What is for a chat endpoint alone is left out: it counts for a server
/// that is found on this machine, too.
pub(super) fn without_effect(environment: &Environment) -> Vec<String> {
    let told = variables().filter(|one| match one.needs.first() {
        Some(needed) => needed != LLM_BASE_URL,
        None => one.name == EMBEDDING,
    });
    let told = told.filter_map(|one| idle(one, environment, None));
    let told = told.chain(unknown(environment));
    told.map(|one| one.line).collect()
}

/// Why what is set of a setting does nothing beside a flag or the other settings.
pub(super) fn idle(
    variable: &Variable,
    environment: &Environment,
    flag: Option<&str>,
) -> Option<IneffectiveSetting> {
    let is_set = |name: &str| environment.get(name).is_some();
    let has_own = |job| is_set(&format!("{LLM_MODEL}_{job}"));
    let name = variable.name.as_str();
    let value = environment.get(name)?;
    let needs = &variable.needs;
    let needed = needs
        .first()
        .filter(|_| !needs.iter().any(|one| is_set(one)));
    let mut next = format!("remove {name}");
    let why = if let Some(flag) = flag {
        next = format!("nothing, if {flag} is what you want");
        format!("{flag} wins over it")
    } else if let Some(needed) = needed {
        next = format!("set {needed}, or remove {name}");
        format!("{needed} is not set")
    } else {
        let why = match name {
            LLM_MODEL if JOBS.into_iter().all(has_own) => "every job has a model of its own",
            THEME if is_set("NO_COLOR") && value != "mono" => "NO_COLOR takes the colours away",
            EMBEDDING if is_set(EMBEDDING_BASE_URL) && value != "auto" => "the endpoint embeds",
            _ => return None,
        };
        why.to_owned()
    };
    Some(IneffectiveSetting {
        name: name.to_owned(),
        line: format!("{name} is set without effect: {why}"),
        next,
    })
}

/// What a file says in vain, because another place says something else and wins.
pub(super) fn outvoted(name: &str, environment: &Environment) -> Option<IneffectiveSetting> {
    environment.get(name)?;
    let file = text(&environment.overridden_by(name)?.to_string());
    let winner = match environment.origin(name) {
        Origin::File(file) => path(&file),
        _ => "the environment".to_owned(),
    };
    Some(IneffectiveSetting {
        name: name.to_owned(),
        line: format!("{name} is set without effect in {file}: {winner} wins over it"),
        next: "nothing, if the value in effect is what you want".to_owned(),
    })
}

/// What `.env` of the working folder sets and may not, where neither the command line nor anything else of
/// the user's says it.
pub fn ignored(environment: &Environment, overrides: &Overrides) -> Option<IneffectiveSetting> {
    let (file, mut names) = environment.barred()?;
    names.retain(|name| overrides.flag(name).is_none());
    let (name, them) = match names.split_last()? {
        (last, []) => ((*last).to_owned(), "it"),
        (last, others) => (format!("{} and {last}", others.join(", ")), "them"),
    };
    let file = text(&file.to_string());
    let own = match environment.config_dir() {
        Some(folder) => path(&folder.join(ENV)),
        None => "your own .env".to_owned(),
    };
    Some(IneffectiveSetting {
        line: format!(
            "{file} sets {name} without effect: only settings of the screen and of routing count there"
        ),
        next: format!(
            "put {them} into {own} or the environment, or give that file with --env-file"
        ),
        name,
    })
}
