//! The same over HTTP: at one address of this machine, for who has the token.
//!
//! A page in a browser can send requests to this machine too: the `Host` of a request must be a name of this
//! machine, and its `Origin`, where it has one, a page of it.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use secrecy::{ExposeSecret, SecretString};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::server::Server;
use crate::cli::output::{CommandFailure, print_notice, print_text};
use crate::config::Settings;

/// Where clients find it.
const PATH: &str = "/mcp";
/// The names of this machine that need not be set.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// How long nothing is accepted after it could not be.
const REST: Duration = Duration::from_millis(100);

type Reply = Response<BoxBody<Bytes, Infallible>>;
type Protocol = StreamableHttpService<Server, LocalSessionManager>;

/// Where to listen, and to whom.
pub(super) struct HttpSettings {
    address: SocketAddr,
    /// Names under which clients reach this machine.
    hosts: Vec<String>,
    /// The token that the user set.
    token: Option<SecretString>,
}

impl HttpSettings {
    /// Where the command line and the settings say. Other machines are let in only where a name for
    /// them is given.
    pub(super) fn new(
        address: &str,
        hosts: &[String],
        settings: &Settings,
    ) -> Result<Self, CommandFailure> {
        let address = parsed(address).ok_or_else(|| {
            CommandFailure::usage(format!(
                "--http is '{address}': it must be a port, or an address with a port such as \
                 127.0.0.1:8722"
            ))
        })?;
        if !address.ip().is_loopback() && hosts.is_empty() {
            return Err(CommandFailure::usage(format!(
                "--http {address} lets other machines in: name with --host how they reach this one, \
                 or use 127.0.0.1:{}",
                address.port()
            )));
        }
        Ok(Self {
            address,
            hosts: hosts.to_vec(),
            token: settings.mcp_token.clone(),
        })
    }
}

fn parsed(address: &str) -> Option<SocketAddr> {
    if let Ok(port) = address.parse() {
        return Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let local = address.strip_prefix("localhost:");
    let local = local.map(|port| format!("127.0.0.1:{port}"));
    local.as_deref().unwrap_or(address).parse().ok()
}

/// Serves clients until it is cancelled.
pub(super) async fn serve(
    server: &Server,
    settings: HttpSettings,
    cancel: &CancellationToken,
) -> Result<(), CommandFailure> {
    let HttpSettings {
        address,
        hosts,
        token,
    } = settings;
    let refused = |error| CommandFailure::failed(format!("{address} cannot be served: {error}"));
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    if !address.ip().is_loopback() {
        print_notice(
            "other machines are let in, and token and documents cross the network unencrypted: put \
             a proxy with TLS before it",
        );
    }
    let made = token.is_none().then(made_token).transpose()?;
    let mut said = format!("http://{address}{PATH}\n");
    if let Some(made) = &made {
        said.push_str(&format!("Authorization: Bearer {made}\n"));
    }
    print_text(said)?;
    let token = token.map_or_else(
        || made.unwrap_or_default(),
        |set| set.expose_secret().to_owned(),
    );
    let door = Arc::new(Door {
        token: blake3::hash(token.as_bytes()),
        protocol: protocol(server, &hosts, cancel),
    });
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = cancel.cancelled() => return Ok(()),
        };
        match accepted {
            Ok((stream, _)) => drop(tokio::spawn(connection(
                stream,
                Arc::clone(&door),
                cancel.clone(),
            ))),
            // Such as too many open files: that passes.
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

/// A token that nobody can guess.
fn made_token() -> Result<String, CommandFailure> {
    let mut bytes = [0; 32];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random
        .fill(&mut bytes)
        .map_err(|_| CommandFailure::failed("the system gives no random numbers for a token"))?;
    Ok(blake3::Hash::from_bytes(bytes).to_hex().to_string())
}

fn protocol(server: &Server, hosts: &[String], cancel: &CancellationToken) -> Protocol {
    let names = LOCAL
        .into_iter()
        .map(str::to_owned)
        .chain(hosts.iter().cloned());
    let names: Vec<String> = names.collect();
    let pages = names
        .iter()
        .flat_map(|name| ["http", "https"].map(|scheme| format!("{scheme}://{name}:*")));
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins(pages)
        .with_allowed_hosts(names)
        .enforce_origin_validation()
        .with_cancellation_token(cancel.child_token());
    let server = server.clone();
    let sessions = Arc::new(LocalSessionManager::default());
    StreamableHttpService::new(move || Ok(server.clone()), sessions, config)
}

async fn connection(stream: TcpStream, door: Arc<Door>, cancel: CancellationToken) {
    let answer = service_fn(move |request| {
        let door = Arc::clone(&door);
        async move { Ok::<_, Infallible>(door.answer(request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new());
    let served = http.serve_connection(TokioIo::new(stream), answer);
    tokio::select! {
        served = served => if let Err(error) = served {
            tracing::debug!(%error, "a connection ended");
        },
        () = cancel.cancelled() => {}
    }
}

/// Lets in who has the token.
struct Door {
    token: blake3::Hash,
    protocol: Protocol,
}

impl Door {
    async fn answer(&self, request: Request<Incoming>) -> Reply {
        if request.uri().path() != PATH {
            return refusal(StatusCode::NOT_FOUND, "this is served at /mcp\n");
        }
        if !self.lets_in(request.headers()) {
            let mut reply = refusal(
                StatusCode::UNAUTHORIZED,
                "send 'Authorization: Bearer TOKEN' with the token of kb-agent mcp\n",
            );
            let by = HeaderValue::from_static("Bearer");
            reply.headers_mut().insert(WWW_AUTHENTICATE, by);
            return reply;
        }
        self.protocol.handle(request).await
    }

    /// Hashes are compared in constant time.
    fn lets_in(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let given = given.and_then(|given| given.split_at_checked("Bearer ".len()));
        given.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case(b"Bearer ") && blake3::hash(token) == self.token
        })
    }
}

fn refusal(status: StatusCode, why: &'static str) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::from_static(why.as_bytes())).boxed());
    *reply.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain");
    reply.headers_mut().insert(CONTENT_TYPE, plain);
    reply
}
