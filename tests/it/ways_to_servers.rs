//! The way to a server: certificates of an own authority, and proxies.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::thread;

use kb_agent::domain::NodeName;
use parking_lot::Mutex;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::support::Said;
use crate::workplace::{Workplace, json_lines, one_line, text};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/fixtures/tls")
        .join(name)
}

/// Speaks TLS, with a certificate of the tests' authority, before a server that speaks none. Returns
/// host and port.
fn tls_before(server: SocketAddr) -> SocketAddr {
    let certificate = CertificateDer::from_pem_file(fixture("server.crt")).unwrap();
    let key = PrivateKeyDer::from_pem_file(fixture("server.key")).unwrap();
    let config =
        ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
    let config = Arc::new(config);
    serving(move |client| {
        let connection = ServerConnection::new(Arc::clone(&config)).map_err(io::Error::other)?;
        let mut client = StreamOwned::new(connection, client);
        let request = whole_request(&mut client)?;
        let mut server = TcpStream::connect(server)?;
        server.write_all(&request)?;
        let mut reply = Vec::new();
        server.read_to_end(&mut reply)?;
        client.write_all(&reply)?;
        client.conn.send_close_notify();
        client.flush()
    })
}

/// One request that asks for the connection to be closed after its reply.
fn whole_request(client: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let lines = String::from_utf8_lossy(&head).to_lowercase();
    let length = lines
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    client.read_exact(&mut body)?;
    head.truncate(head.len() - 2);
    Ok([&head, &b"connection: close\r\n\r\n"[..], &body].concat())
}

/// A SOCKS5 proxy (RFC 1928) that leads everything to one server and notes where it should have led.
fn socks_before(server: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let address = serving(move |mut client| {
        let mut greeting = [0; 2];
        client.read_exact(&mut greeting)?;
        client.read_exact(&mut vec![0; greeting[1].into()])?;
        client.write_all(&[5, 0])?;
        let mut request = [0; 4];
        client.read_exact(&mut request)?;
        let host = match request[3] {
            1 => {
                let mut address = [0; 4];
                client.read_exact(&mut address)?;
                Ipv4Addr::from(address).to_string()
            }
            3 => {
                let mut length = [0];
                client.read_exact(&mut length)?;
                let mut name = vec![0; length[0].into()];
                client.read_exact(&mut name)?;
                String::from_utf8(name).unwrap()
            }
            other => panic!("an address of kind {other}"),
        };
        let mut port = [0; 2];
        client.read_exact(&mut port)?;
        let port = u16::from_be_bytes(port);
        noted.lock().push(format!("{host}:{port}"));
        client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
        let server = TcpStream::connect(server)?;
        let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
        let sending = thread::spawn(move || io::copy(&mut from, &mut to));
        io::copy(&mut &server, &mut &client)?;
        client.shutdown(std::net::Shutdown::Both)?;
        drop(sending.join());
        Ok(())
    });
    (address, asked)
}

/// Listens on this machine; each connection has a thread, and what breaks ends it.
fn serving(
    serve: impl Fn(TcpStream) -> io::Result<()> + Clone + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(client), serve) = (client, serve.clone()) else {
                break;
            };
            thread::spawn(move || serve(client));
        }
    });
    address
}

async fn embedding_server() -> MockServer {
    let server = MockServer::start().await;
    let answer = |request: &Request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let texts = body["input"].as_array().unwrap();
        let vector = |at| json!({"index": at, "embedding": [1.0, 2.0, 3.0]});
        let data: Vec<Value> = (0..texts.len()).map(vector).collect();
        ResponseTemplate::new(200).set_body_json(json!({"data": data}))
    };
    Mock::given(method("POST"))
        .and(path("/v1/embeddings"))
        .respond_with(answer)
        .mount(&server)
        .await;
    server
}

fn small_base() -> Workplace {
    Workplace::holding([("kb/gate.md", "# The gate\n\nThe gate opens at seven.\n")])
}

/// Runs the binary beside the mocked server's runtime.
async fn run(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

fn searching(place: &Workplace, base_url: &str) -> Command {
    let mut command =
        place.command(&["search", "--tool", "vector", "--kb", "kb", "--json", "gate"]);
    command
        .env("KB_AGENT_EMBEDDING_BASE_URL", base_url)
        .env("KB_AGENT_EMBEDDING_MODEL", "m");
    command
}

fn asking(place: &Workplace, base_url: &str) -> Command {
    let mut command = place.command(&["ask", "--kb", "kb", "hello"]);
    command
        .env("KB_AGENT_LLM_BASE_URL", base_url)
        .env("KB_AGENT_LLM_MODEL", "m")
        .env("KB_AGENT_LLM_RETRIES", "0");
    command
}

/// A chat server that says hello.
async fn chat_server() -> ScriptedEndpoint {
    let endpoint = ScriptedEndpoint::start().await;
    let plan = json!({"complexity": "chitchat", "query_type": "chitchat", "tools": [], "keywords": [],
        "sub_queries": [], "rewritten_query": "hello", "reasoning": "a greeting", "reply": null});
    endpoint.say(NodeName::AnalyzeAndRoute, Reply::plain(&plan.to_string()));
    endpoint.stream(NodeName::Synthesize, "Hello from behind.");
    endpoint
}

fn address_of(base_url: &str) -> SocketAddr {
    let rest = base_url.trim_start_matches("http://");
    rest.split('/').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn r26_an_own_authority_is_trusted_for_both_endpoints() {
    let place = small_base();
    let embeddings = embedding_server().await;
    let url = format!("https://{}/v1", tls_before(*embeddings.address()));
    let chat = chat_server().await;
    let chat_url = format!("https://{}/v1", tls_before(address_of(&chat.base_url())));

    let unknown = run(searching(&place, &url)).await;
    let line = one_line(&unknown);
    let says = "its certificate is signed by an authority that this machine does not know; name the \
                file of that authority's certificate in KB_AGENT_LLM_CA";
    assert!(line.contains(says), "{line}");
    let unknown = run(asking(&place, &chat_url)).await;
    assert!(
        text(&unknown.stderr).contains(says),
        "{}",
        text(&unknown.stderr)
    );

    let trusting = |mut command: Command, name: &str| {
        command.env(name, fixture("authority.crt"));
        command
    };
    // SSL_CERT_FILE is read where the system's certificates are files.
    let names: &[&str] = if cfg!(target_os = "linux") {
        &["KB_AGENT_LLM_CA", "SSL_CERT_FILE"]
    } else {
        &["KB_AGENT_LLM_CA"]
    };
    for name in names {
        let found = run(trusting(searching(&place, &url), name)).await;
        assert_eq!(
            json_lines(&found.stdout).len(),
            1,
            "{}",
            text(&found.stderr)
        );
        assert!(found.stderr.is_empty(), "{}", text(&found.stderr));
    }
    let said = run(trusting(asking(&place, &chat_url), "KB_AGENT_LLM_CA")).await;
    assert!(
        text(&said.stdout).contains("Hello from behind."),
        "{}{}",
        text(&said.stdout),
        text(&said.stderr)
    );

    let plain = format!("https://{}/v1", embeddings.address());
    let line = one_line(&run(searching(&place, &plain)).await);
    let says = "it does not speak TLS; check whether KB_AGENT_EMBEDDING_BASE_URL has to begin with";
    assert!(line.contains(says), "{line}");
}

#[test]
fn r26_a_certificate_file_that_cannot_be_used_is_one_line() {
    let place = small_base();
    let key = fixture("server.key");
    for (file, says) in [
        (key.to_str().unwrap(), "holds no certificate in PEM form"),
        ("/nowhere/ca.pem", "No such file or directory"),
    ] {
        for command in [
            searching(&place, "https://127.0.0.1:1/v1"),
            asking(&place, "https://127.0.0.1:1/v1"),
        ] {
            let mut command = command;
            let output = command.env("KB_AGENT_LLM_CA", file).output().unwrap();
            let line = one_line(&output);
            assert_eq!(output.status.code(), Some(2), "{line}");
            let named = format!("KB_AGENT_LLM_CA: {file}");
            assert!(line.contains(&named) && line.contains(says), "{line}");
            line.must_end_with("; give a certificate file in PEM form");
        }
    }
    let mut command = place.command(&["search", "--tool", "grep", "--kb", "kb", "gate"]);
    let output = command.env("KB_AGENT_LLM_CA", "/nowhere").output().unwrap();
    assert!(output.status.success(), "nothing is asked by https");
}

#[tokio::test(flavor = "multi_thread")]
async fn r26_a_socks_proxy_leads_to_both_endpoints() {
    let place = small_base();
    let embeddings = embedding_server().await;
    let (proxy, asked) = socks_before(*embeddings.address());
    for (variable, scheme, host) in [
        ("ALL_PROXY", "socks5", "192.0.2.1:8080"),
        ("all_proxy", "socks5h", "embedding.example:8080"),
        ("http_proxy", "socks5h", "embedding.example:8080"),
    ] {
        let mut command = searching(&place, &format!("http://{host}/v1"));
        command.env(variable, format!("{scheme}://{proxy}"));
        let found = run(command).await;
        assert_eq!(
            json_lines(&found.stdout).len(),
            1,
            "{}",
            text(&found.stderr)
        );
        assert!(asked.lock().iter().all(|one| one == host), "{asked:?}");
        assert!(!std::mem::take(&mut *asked.lock()).is_empty());
    }

    let chat = chat_server().await;
    let (proxy, asked) = socks_before(tls_before(address_of(&chat.base_url())));
    let mut command = asking(&place, "https://llm.example/v1");
    command
        .env("HTTPS_PROXY", format!("socks5h://{proxy}"))
        .env("KB_AGENT_LLM_CA", fixture("authority.crt"));
    let said = run(command).await;
    assert!(
        text(&said.stdout).contains("Hello from behind."),
        "{}{}",
        text(&said.stdout),
        text(&said.stderr)
    );
    assert_eq!(asked.lock()[0], "llm.example:443");

    // A proxy that is not there is named by its variable.
    let mut command = searching(&place, "http://embedding.example/v1");
    command.env("ALL_PROXY", "socks5h://127.0.0.1:1");
    let line = one_line(&run(command).await);
    let says = "cannot reach embedding.example through the proxy in ALL_PROXY: the proxy does not answer; check that the server runs and KB_AGENT_EMBEDDING_BASE_URL, and ALL_PROXY";
    assert!(line.contains(says), "{line}");
}

#[cfg(unix)]
#[test]
fn trust_no_key_of_this_machine_goes_to_a_proxy() {
    let place = small_base();
    let reached: Arc<Mutex<bool>> = Arc::default();
    let noted = Arc::clone(&reached);
    let proxy = serving(move |_| {
        *noted.lock() = true;
        Ok(())
    });
    for host in [
        "0.0.0.0",
        "127.0.0.2",
        "localhost",
        "gpu.localhost",
        "[::]",
        "[::1]",
        "[::ffff:127.0.0.1]",
    ] {
        for what in ["LLM", "EMBEDDING"] {
            let mut ask = place.command(&["ask", "--kb", "kb", "when does the gate open?"]);
            ask.env(
                format!("KB_AGENT_{what}_BASE_URL"),
                format!("http://{host}:9/v1"),
            )
            .env(format!("KB_AGENT_{what}_API_KEY"), "sk-1")
            .env(format!("KB_AGENT_{what}_MODEL"), "m")
            .env("KB_AGENT_LLM_RETRIES", "0")
            .env("NO_PROXY", "");
            for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
                ask.env(variable, format!("http://{proxy}"));
            }
            let output = ask.output().unwrap();
            let said = text(&output.stderr);
            assert!(!*reached.lock(), "{what} at {host}: {said}");
            assert_ne!(output.status.code(), Some(2), "{what} at {host}: {said}");
        }
    }
}
