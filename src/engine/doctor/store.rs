//! The store that several machines share: reached, as this version needs it, and what may be done there.

use super::check::{Check, Report, off_thread};
use crate::config::Settings;
use crate::kb::{StoreAccess, StoreAdministration, StoreState};
use crate::text::{Trouble, one_line, plural};

/// Whether the store that the settings name can be reached, is as this version needs it, and may be written.
pub(super) async fn check(settings: &Settings, access: StoreAccess, report: &mut Report<'_>) {
    let looking = off_thread(move |cancel| {
        let state = StoreAdministration::new(&access).and_then(|store| store.state(cancel));
        state.map_err(|error| error.trouble())
    });
    let looking = report.try_out("the store", "reach", looking, reach);
    let Some(state) = looking.await else {
        return;
    };
    let server = format!("PostgreSQL {}", state.server);
    report.add(if let Some(vector) = &state.vector {
        Check::ok("versions", format!("{server}, pgvector {vector}"))
    } else {
        let next = "run CREATE EXTENSION vector there as its owner, or kb-agent store init";
        let line = server + " without the extension pgvector";
        Check::broken("versions", Trouble::new(line, next))
    });
    if let Some(lag) = state.lag_ms {
        report.add(Check::ok("replica", format!("a replica, {lag} ms behind")));
    }
    report.add(match (state.is_prepared, state.may_write) {
        (false, _) => {
            let line = "nothing of this version is kept there yet";
            Check::broken("rights", Trouble::new(line, "kb-agent store init makes it"))
        }
        (true, true) => Check::ok("rights", "this user may read and write"),
        (true, false) => {
            let line = "this user may read: searches go on over what others index";
            Check::ok("rights", line)
        }
    });
    let only_reads = settings.sources.is_empty();
    report.add(spaces(&state, only_reads));
    if only_reads {
        report.add(Check::note(
            "files",
            "no folder is named: documents come from the store; grep_search and the source view have no files here",
            "nothing, or name the folders with --kb or KB_AGENT_SOURCE",
        ));
    }
}

fn reach(state: &StoreState) -> Check {
    let address = &state.address;
    if state.is_encrypted {
        return Check::ok("reach", format!("{address} answers, by TLS"));
    }
    Check::note(
        "reach",
        format!("{address} answers, not encrypted"),
        "nothing on one machine; else sslmode=require in KB_AGENT_STORE_URL, with KB_AGENT_STORE_CA for an authority of your own",
    )
}

/// Where nothing is indexed from here, the space that is named should be there.
fn spaces(state: &StoreState, only_reads: bool) -> Check {
    let spaces = state.spaces.iter().map(|space| {
        let documents = plural(space.documents as usize, "document");
        let passages = plural(space.chunks as usize, "passage");
        format!("{}: {documents} in {passages}", space.name)
    });
    let spaces = spaces.collect::<Vec<_>>().join("; ");
    let is_there = |name: &String| state.spaces.iter().any(|space| space.name == *name);
    let older = &state.of_other_versions;
    let is_older = |name: &String| older.iter().any(|(other, _)| other == name);
    let others = older.iter();
    let others: Vec<String> = others.map(|(name, _)| one_line(name, 100)).collect();
    match &state.space {
        Some(named) if only_reads && !is_there(named) && !is_older(named) => {
            let known = match spaces.as_str() {
                "" => "there is none yet".to_owned(),
                spaces => format!("there are: {spaces}"),
            };
            let line = format!("no space '{}'; {known}", one_line(named, 100));
            let next = "see to `space=` in KB_AGENT_STORE_URL, or run kb-agent index --kb PATH where the files are";
            Check::broken("spaces", Trouble::new(line, next))
        }
        _ if !others.is_empty() => Check::note(
            "spaces",
            format!("of another version of kb-agent: {}", others.join(", ")),
            "run kb-agent store push again where their files are; kb-agent store status lists all spaces",
        ),
        _ if spaces.is_empty() => Check::note("spaces", "none yet", "kb-agent index makes one"),
        _ => Check::ok("spaces", spaces),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::Status;
    use super::*;

    #[test]
    fn a_space_that_is_nowhere_is_broken_though_others_are_of_another_version() {
        let state = |named: &str| StoreState {
            address: "postgres://kb@db/kb".to_owned(),
            space: Some(named.to_owned()),
            server: "18.1".to_owned(),
            vector: Some("0.8.1".to_owned()),
            is_encrypted: true,
            lag_ms: None,
            is_prepared: true,
            may_write: false,
            spaces: Vec::new(),
            of_other_versions: vec![("team".to_owned(), "kb_v6_1".to_owned())],
        };
        assert_eq!(spaces(&state("teem"), true).status, Status::Broken);
        let older = spaces(&state("team"), true);
        assert_eq!(older.status, Status::Note);
        assert!(
            older.detail.contains("of another version"),
            "{}",
            older.detail
        );
    }
}
