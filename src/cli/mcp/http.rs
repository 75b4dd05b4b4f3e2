//! Serves MCP over HTTP on one address, to clients that send the token.
//!
//! A page in a browser can send requests to this machine too: the `Host` of a request must be a name of this
//! machine, and its `Origin`, where it has one, a page of it.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
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
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::server::Server;
use crate::cli::output::{CommandFailure, print_notice, print_text};
use crate::config::Settings;
use crate::text::one_line;

/// Where clients find it.
const PATH: &str = "/mcp";
/// The names of this machine that need not be set.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// More connections wait until one of them ends.
const MOST_CONNECTIONS: usize = 256;
/// How long nothing is accepted after it could not be.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

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
    /// Reads address and hosts of the command line, and refuses an open address without a host.
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
        if let Some(host) = hosts.iter().find(|host| !is_host(host)) {
            return Err(CommandFailure::usage(format!(
                "--host is '{}': it must be a name or an IP address alone, such as kb.example.com",
                one_line(host, 200)
            )));
        }
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

/// Whether it is what the `Host` of a request says, without a port.
fn is_host(text: &str) -> bool {
    let is_of_host = |c: char| c.is_ascii_alphanumeric() || "-._[]:".contains(c);
    let authority = text.parse::<Authority>();
    authority.is_ok_and(|authority| authority.host() == text && text.chars().all(is_of_host))
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
    let mut said = format!("http://{address}{PATH}\n");
    let token = if let Some(token) = token {
        token
    } else {
        let token = generate_token()?;
        said.push_str(&format!(
            "Authorization: Bearer {}\n",
            token.expose_secret()
        ));
        token
    };
    print_text(said)?;
    let gate = Arc::new(TokenGate {
        token: blake3::hash(token.expose_secret().as_bytes()),
        protocol: protocol(server, &hosts, cancel),
    });
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept(), if connections.len() < MOST_CONNECTIONS => accepted,
            Some(_) = connections.join_next() => continue,
            () = cancel.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(connection(stream, Arc::clone(&gate), cancel.clone()));
            }
            // Such as too many open files: that passes.
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
    while connections.join_next().await.is_some() {}
    Ok(())
}

/// A token that nobody can guess.
fn generate_token() -> Result<SecretString, CommandFailure> {
    let mut bytes = [0; 32];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random
        .fill(&mut bytes)
        .map_err(|_| CommandFailure::failed("the system gives no random numbers for a token"))?;
    Ok(blake3::Hash::from_bytes(bytes).to_hex().to_string().into())
}

fn protocol(server: &Server, hosts: &[String], cancel: &CancellationToken) -> Protocol {
    let names = LOCAL
        .into_iter()
        .map(str::to_owned)
        .chain(hosts.iter().cloned());
    let names: Vec<String> = names.collect();
    let origins = names
        .iter()
        .flat_map(|name| ["http", "https"].map(|scheme| format!("{scheme}://{name}:*")));
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins(origins)
        .with_allowed_hosts(names)
        .enforce_origin_validation()
        .with_cancellation_token(cancel.child_token());
    let server = server.clone();
    let sessions = Arc::new(LocalSessionManager::default());
    StreamableHttpService::new(move || Ok(server.clone()), sessions, config)
}

async fn connection(stream: TcpStream, gate: Arc<TokenGate>, cancel: CancellationToken) {
    let answer = service_fn(move |request| {
        let gate = Arc::clone(&gate);
        async move { Ok::<_, Infallible>(gate.answer(request).await) }
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

/// Serves requests that carry the token, and no others.
struct TokenGate {
    token: blake3::Hash,
    protocol: Protocol,
}

impl TokenGate {
    async fn answer(&self, request: Request<Incoming>) -> Reply {
        if request.uri().path() != PATH {
            return refusal(StatusCode::NOT_FOUND, "this is served at /mcp\n");
        }
        if !self.is_authorized(request.headers()) {
            let mut reply = refusal(
                StatusCode::UNAUTHORIZED,
                "send 'Authorization: Bearer TOKEN' with the token of kb-agent mcp\n",
            );
            let by = HeaderValue::from_static("Bearer");
            reply.headers_mut().insert(WWW_AUTHENTICATE, by);
            return reply;
        }
        let is_delete = request.method() == Method::DELETE;
        let mut reply = self.protocol.handle(request).await;
        // Clients take no other word for the end of a session.
        if is_delete && reply.status() == StatusCode::ACCEPTED {
            *reply.status_mut() = StatusCode::NO_CONTENT;
        }
        reply
    }

    /// Whether the token of the request is ours; hashes are compared in constant time.
    fn is_authorized(&self, headers: &HeaderMap) -> bool {
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
