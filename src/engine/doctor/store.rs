//! The store that the settings name.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::check::{Check, broke_off};
use super::examination::Examination;
use crate::config::Settings;
use crate::kb::{StoreAccess, StoreAdministration, StoreState};
use crate::text::{one_line, plural};

const AREA: &str = "store";

/// Whether the store can be reached, is as this version needs it, and may be written.
pub(super) async fn check(
    settings: &Settings,
    access: StoreAccess,
    examination: &mut Examination<'_>,
) {
    struct Stopping(Arc<AtomicBool>);
    impl Drop for Stopping {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    examination.trying("the store");
    let begun = Instant::now();
    let stop = Stopping(Arc::default());
    let stopped = Arc::clone(&stop.0);
    let looking = tokio::task::spawn_blocking(move || {
        StoreAdministration::new(&access).and_then(|store| store.state(&stopped))
    });
    let state = match looking.await {
        Ok(Ok(state)) => state,
        Ok(Err(error)) => {
            return examination.add(Check::failed(AREA, "reach", error.trouble()));
        }
        Err(_) => return examination.add(broke_off(AREA)),
    };
    examination.add(reach(&state).took(begun.elapsed()));
    examination.add(versions(&state));
    if let Some(lag) = state.lag_ms {
        let line = format!("a replica, {lag} ms behind");
        examination.add(Check::ok(AREA, "replica", line));
    }
    examination.add(rights(&state));
    examination.add(contents(&state, settings.sources.is_empty()));
    if settings.sources.is_empty() {
        examination.add(Check::note(
            AREA,
            "files",
            "no folder is named: documents come from the store; grep_search and the source view have no files here",
            "nothing, or name the folders with --kb or KB_AGENT_SOURCE",
        ));
    }
}

fn reach(state: &StoreState) -> Check {
    let address = &state.address;
    if state.is_encrypted {
        return Check::ok(AREA, "reach", format!("{address} answers, by TLS"));
    }
    Check::note(
        AREA,
        "reach",
        format!("{address} answers, not encrypted"),
        "nothing on one machine; else sslmode=require in KB_AGENT_STORE_URL, with KB_AGENT_STORE_CA for an authority of your own",
    )
}

fn versions(state: &StoreState) -> Check {
    match &state.vector {
        Some(vector) => Check::ok(
            AREA,
            "versions",
            format!("PostgreSQL {}, pgvector {vector}", state.server),
        ),
        None => Check::broken(
            AREA,
            "versions",
            format!("PostgreSQL {} without the extension pgvector", state.server),
            "run CREATE EXTENSION vector there as its owner, or kb-agent store init",
        ),
    }
}

fn rights(state: &StoreState) -> Check {
    if !state.is_prepared {
        return Check::broken(
            AREA,
            "rights",
            "nothing of this version is kept there yet",
            "kb-agent store init makes it",
        );
    }
    let what = if state.may_write {
        "this user may read and write"
    } else {
        "this user may read: searches go on over what others index"
    };
    Check::ok(AREA, "rights", what)
}

/// Where nothing is indexed from here, the space that is named should be there.
fn contents(state: &StoreState, only_reads: bool) -> Check {
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
            AREA,
            "spaces",
            format!("no space '{}'; {known}", one_line(named, 100)),
            "see to `space=` in KB_AGENT_STORE_URL, or run kb-agent index --kb PATH where the files are",
        );
    }
    if spaces.is_empty() {
        return Check::note(AREA, "spaces", "none yet", "kb-agent index makes one");
    }
    Check::ok(AREA, "spaces", spaces.join("; "))
}
