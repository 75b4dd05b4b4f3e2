//! `store`: the index that is shared with others, set up and looked after.

use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::catch_up::{UpdateStep, update};
use super::interruption::{blocking_work, interruptible};
use super::output::{CommandFailure, print_notice, print_result, print_text};
use crate::config::Settings;
use crate::engine::{open_knowledge, open_local_knowledge, store_administration};
use crate::kb::{KbError, SpaceState, StoreAdministration, StoreState, store_setup_script};
use crate::text::{plural, sanitize};

/// Arguments of `store`.
#[derive(Debug, Args)]
pub(super) struct Store {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// Make what this version keeps in the store; needs the right to create in the database
    Init(Init),
    /// Show what the store is like and which spaces it holds
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove a space
    Drop {
        /// The space's name
        space: String,
    },
    /// Fill the space from the folders and the vectors of the local index, without embedding again
    Push,
}

#[derive(Debug, Args)]
struct Init {
    /// Print the SQL that makes it, for the database's owner to run with psql, and make nothing
    #[arg(long)]
    print_sql: bool,
    /// Let this role read the store; what it could write before is taken back
    #[arg(long, value_name = "ROLE", requires = "print_sql")]
    reader: Vec<String>,
    /// Let this role read and write the store: the role of all indexers
    #[arg(long, value_name = "ROLE", requires = "print_sql")]
    writer: Vec<String>,
}

/// Does it.
pub(super) fn run(store: &Store, settings: &Settings) -> Result<(), CommandFailure> {
    if let StoreCommand::Init(init) = &store.command
        && init.print_sql
    {
        return Ok(print_text(store_setup_script(&init.reader, &init.writer))?);
    }
    let administration = store_administration(settings)?.ok_or_else(|| {
        CommandFailure::usage("KB_AGENT_STORE_URL is not set: no store is named".to_owned())
    })?;
    match &store.command {
        StoreCommand::Init(_) => {
            query_store(administration, StoreAdministration::prepare)?;
            print_text(
                "the store is ready; `kb-agent store init --print-sql --reader ROLE --writer ROLE` \
                 prints what lets others in\n",
            )?;
        }
        StoreCommand::Status { json } => {
            let state = query_store(administration, StoreAdministration::state)?;
            print_result(*json, &as_json(&state), || as_text(&state))?;
        }
        StoreCommand::Drop { space } => {
            let named = space.clone();
            let drop = move |store: &StoreAdministration, cancel: &CancellationToken| {
                store.drop_space(&named, cancel)
            };
            let space = sanitize(space);
            if !query_store(administration, drop)? {
                return Err(CommandFailure::failed(format!(
                    "there is no space '{space}'"
                )));
            }
            print_text(format!("space '{space}' is removed\n"))?;
        }
        StoreCommand::Push => push(settings)?,
    }
    Ok(())
}

/// Asks the store off the thread that interruptions come to.
fn query_store<T: Send + 'static>(
    administration: StoreAdministration,
    ask: impl FnOnce(&StoreAdministration, &CancellationToken) -> Result<T, KbError> + Send + 'static,
) -> Result<T, CommandFailure> {
    interruptible(async |cancel| {
        let asking = move |cancel: &CancellationToken| ask(&administration, cancel);
        Ok(blocking_work("asking the store", asking, &cancel).await??)
    })
}

/// Brings the words of the space up to date and takes the vectors of the local index over.
fn push(settings: &Settings) -> Result<(), CommandFailure> {
    if settings.sources.is_empty() {
        return Err(CommandFailure::usage(
            "name the folders that both are of: --kb PATH, or KB_AGENT_SOURCE".to_owned(),
        ));
    }
    let to = Arc::new(open_knowledge(settings)?);
    let from = Arc::new(open_local_knowledge(settings)?);
    let taken = interruptible(async |cancel| {
        from.refresh()?;
        update(to.clone(), UpdateStep::Lexical, &cancel).await??;
        let (from, to) = (from.clone(), to.clone());
        let moving = move |cancel: &CancellationToken| to.take_vectors_of(&from, cancel);
        Ok(blocking_work("moving vectors", moving, &cancel).await??)
    })?;
    let status = to.status();
    print_text(format!(
        "{} in {}; {} taken over\n",
        plural(status.documents, "document"),
        plural(status.chunks, "passage"),
        plural(taken, "vector")
    ))?;
    if status.pending > 0 {
        print_notice(&format!(
            "{} had no vector there; `kb-agent index` embeds the rest",
            plural(status.pending, "passage")
        ));
    }
    Ok(())
}

fn as_json(state: &StoreState) -> serde_json::Value {
    let spaces = state.spaces.iter().map(|space| {
        json!({
            "name": space.name,
            "documents": space.documents,
            "chunks": space.chunks,
            "generation": space.generation,
            "model": space.model,
            "is_written": space.is_written,
            "is_embedded": space.is_embedded,
        })
    });
    json!({
        "address": state.address,
        "space": state.space,
        "server": state.server,
        "pgvector": state.vector,
        "encrypted": state.is_encrypted,
        "lag_ms": state.lag_ms,
        "prepared": state.is_prepared,
        "may_write": state.may_write,
        "spaces": spaces.collect::<Vec<_>>(),
        "of_other_versions": state.of_other_versions.iter().map(|(name, _)| name).collect::<Vec<_>>(),
    })
}

fn as_text(state: &StoreState) -> String {
    let vector = state.vector.as_deref().unwrap_or("missing");
    let way = if state.is_encrypted {
        "TLS"
    } else {
        "not encrypted"
    };
    let mut text = format!(
        "{}\nPostgreSQL {}, pgvector {}, {way}\n",
        sanitize(&state.address),
        sanitize(&state.server),
        sanitize(vector)
    );
    if let Some(lag) = state.lag_ms {
        text.push_str(&format!("a replica, {lag} ms behind\n"));
    }
    if !state.is_prepared {
        text.push_str(
            "nothing of this version is kept there yet: `kb-agent store init` makes it\n",
        );
        return text;
    }
    text.push_str(if state.may_write {
        "this user may read and write\n"
    } else {
        "this user may read\n"
    });
    if state.spaces.is_empty() {
        text.push_str("no space yet: `kb-agent index` makes one\n");
    }
    for space in &state.spaces {
        text.push_str(&line(space));
    }
    for (name, schema) in &state.of_other_versions {
        text.push_str(&format!(
            "  {}: of another version of kb-agent ({schema}); `kb-agent store push` where its files are \
             fills it again\n",
            sanitize(name)
        ));
    }
    text
}

fn line(space: &SpaceState) -> String {
    let model = match &space.model {
        Some(model) => format!(", vectors of {}", sanitize(model)),
        None => String::new(),
    };
    let doing = match (space.is_written, space.is_embedded) {
        (true, _) => "; being updated",
        (false, true) => "; being embedded",
        (false, false) => "",
    };
    format!(
        "  {}: {} in {}{model}{doing}\n",
        sanitize(&space.name),
        plural(space.documents as usize, "document"),
        plural(space.chunks as usize, "passage")
    )
}
