//! The knowledge base for other programs, by the Model Context Protocol.
//!
//! `server` is what a client sees: tools and resources, which take the types of `arguments` and bring
//! those of `replies`. All clients share one engine and one index, which `base` opens and keeps up to
//! date beside them, so that `initialize` waits for neither. `documents` lists and reads; `progress`
//! tells a client what is being done; `transport` is a client on standard input, `http` are those of a port.

mod arguments;
mod base;
mod documents;
mod http;
mod progress;
mod replies;
mod server;
mod transport;

use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::interruption::interruptible;
use super::output::{CommandFailure, print_notice, print_notices};
use crate::config::Settings;
use base::SharedEngine;
use http::HttpSettings;
use server::Server;
use transport::StandardStreams;

/// How long runs that the end of the program cancels have to write their own end.
const LAST_EVENTS: Duration = Duration::from_millis(1500);

/// Arguments of `mcp`.
#[derive(Debug, Args)]
pub(super) struct Mcp {
    /// Serve HTTP on this port, or HOST:PORT, instead of standard input and output. Clients send
    /// the token that is printed, or KB_AGENT_MCP_TOKEN
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// A name by which clients reach this machine; needed where ADDR is open to other machines
    #[arg(long = "host", value_name = "NAME", requires = "http")]
    hosts: Vec<String>,
}

/// Serves until the client, or the user, ends it.
pub(super) fn run(mcp: &Mcp, settings: &Settings) -> Result<(), CommandFailure> {
    let http = mcp.http.as_deref();
    let http = http.map(|address| HttpSettings::new(address, &mcp.hosts, settings));
    let http = http.transpose()?;
    print_notices(&settings.without_effect);
    interruptible(async |cancel| {
        let (base, upkeep) = SharedEngine::new();
        let calls = TaskTracker::new();
        let server = Server::new(base, calls.clone());
        let serving = async {
            match http {
                Some(http) => http::serve(&server, http, &cancel).await,
                None => serve_standard_input(&server, calls, &cancel).await,
            }
        };
        let ended = tokio::select! {
            ended = serving => ended,
            failed = upkeep.keep(settings) => failed,
        };
        server.end(LAST_EVENTS).await;
        if cancel.is_cancelled() {
            return Err(CommandFailure::interrupted());
        }
        ended
    })
}

async fn serve_standard_input(
    server: &Server,
    calls: TaskTracker,
    cancel: &CancellationToken,
) -> Result<(), CommandFailure> {
    if std::io::stdin().is_terminal() {
        print_notice(
            "this speaks the Model Context Protocol on standard input; an MCP client starts it: \
             'kb-agent help mcp'",
        );
    }
    let end = cancel.child_token();
    let client = StandardStreams::new(calls, end.clone());
    match server.clone().serve_with_ct(client, end).await {
        Ok(session) => {
            let ended = session.waiting().await;
            ended.map(drop).map_err(CommandFailure::failed)
        }
        // A client that goes before it has said anything asked for nothing.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(_) => Err(CommandFailure::failed(
            "standard input does not begin as the Model Context Protocol does: an MCP client \
             starts this command, see 'kb-agent help mcp'",
        )),
    }
}
