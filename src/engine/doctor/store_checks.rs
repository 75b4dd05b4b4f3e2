use super::check::Check;
use super::report::{Report, off_thread};
use crate::config::Settings;
use crate::kb::{StoreAccess, StoreAdministration, StoreState};
use crate::text::{one_line, plural};

/// Whether the store that the settings name can be reached, is as this version needs it, and may be written.
pub(super) async fn check(settings: &Settings, access: StoreAccess, report: &mut Report<'_>) {
    report.area = "store";
    let looking = off_thread(move |cancel| {
        let state = StoreAdministration::new(&access).and_then(|store| store.state(cancel));
        state.map_err(|error| error.trouble())
    });
    let looking = report.try_out("the store", "reach", looking, reach);
    let Some(state) = looking.await else {
        return;
    };
    report.add(versions(&state));
    if let Some(lag) = state.lag_ms {
        let line = format!("a replica, {lag} ms behind");
        report.add(Check::ok("replica", line));
    }
    report.add(rights(&state));
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

fn versions(state: &StoreState) -> Check {
    let server = format!("PostgreSQL {}", state.server);
    let next = "run CREATE EXTENSION vector there as its owner, or kb-agent store init";
    match &state.vector {
        Some(vector) => Check::ok("versions", format!("{server}, pgvector {vector}")),
        None => Check::broken("versions", server + " without the extension pgvector", next),
    }
}

fn rights(state: &StoreState) -> Check {
    let missing = "nothing of this version is kept there yet";
    match (state.is_prepared, state.may_write) {
        (false, _) => Check::broken("rights", missing, "kb-agent store init makes it"),
        (true, true) => Check::ok("rights", "this user may read and write"),
        (true, false) => {
            let line = "this user may read: searches go on over what others index";
            Check::ok("rights", line)
        }
    }
}

/// Where nothing is indexed from here, the space that is named should be there.
fn spaces(state: &StoreState, only_reads: bool) -> Check {
    let spaces = state.spaces.iter().map(|space| {
        let documents = plural(space.documents as usize, "document");
        let passages = plural(space.chunks as usize, "passage");
        format!("{}: {documents} in {passages}", space.name)
    });
    let spaces: Vec<String> = spaces.collect();
    let named = state.space.as_ref().filter(|_| only_reads);
    if let Some(named) = named
        && !state.spaces.iter().any(|space| space.name == *named)
    {
        let known = match spaces.as_slice() {
            [] => "there is none yet".to_owned(),
            spaces => format!("there are: {}", spaces.join("; ")),
        };
        return Check::broken(
            "spaces",
            format!("no space '{}'; {known}", one_line(named, 100)),
            "see to `space=` in KB_AGENT_STORE_URL, or run kb-agent index --kb PATH where the files are",
        );
    }
    if spaces.is_empty() {
        return Check::note("spaces", "none yet", "kb-agent index makes one");
    }
    Check::ok("spaces", spaces.join("; "))
}
