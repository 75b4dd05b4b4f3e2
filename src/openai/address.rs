//! Where an endpoint is, how its key is sent, and the HTTP client for it.
//!
//! Redirects are not followed, because what a request carries belongs to the host that the user
//! named. This machine is asked directly: a proxy could not reach it, and would read the key.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Url, redirect};
use rustls::pki_types::CertificateDer;
use secrecy::{ExposeSecret, SecretString};

use crate::text::{Trouble, one_line};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Shorter than the five seconds after which common servers close an idle connection, so that no
/// question is ever sent into a closing one.
const IDLE_CONNECTION: Duration = Duration::from_secs(3);

/// The settings that an endpoint comes from, to be named when something is wrong with it.
#[derive(Debug, Clone, Copy)]
pub struct Variables {
    /// Where its root is set.
    pub base_url: &'static str,
    /// Where its key is set, where it takes one.
    pub api_key: Option<&'static str>,
    /// Where its model is set, where it has one.
    pub model: Option<&'static str>,
}

impl Variables {
    /// Where the key is set: by itself or within the address.
    pub fn api_key(&self) -> &'static str {
        self.api_key.unwrap_or(self.base_url)
    }

    /// What decides on the model.
    pub fn model(&self) -> &'static str {
        self.model.unwrap_or(self.base_url)
    }
}

/// Where an endpoint is, with its key and the certificates that it may have.
#[derive(Debug, Clone)]
pub struct Address {
    pub(super) host: String,
    base: Url,
    key_header: HeaderName,
    credentials: Option<HeaderValue>,
    pub(super) connect_timeout: Duration,
    /// Kept to be removed from what is quoted.
    pub(super) key: Option<SecretString>,
    pub(super) variables: &'static Variables,
    authorities: Vec<CertificateDer<'static>>,
}

impl Address {
    /// Checks address and key; sends nothing.
    pub fn new(
        base_url: &str,
        api_key: Option<&SecretString>,
        variables: &'static Variables,
    ) -> Result<Self, Trouble> {
        let base = parse_base(base_url, variables)?;
        let key = api_key
            .map(|key| key.expose_secret().trim().to_owned())
            .filter(|key| !key.is_empty());
        let credentials = key
            .as_deref()
            .map(|key| credentials(&format!("Bearer {key}"), variables))
            .transpose()?;
        Ok(Self {
            host: host(&base),
            base,
            key_header: AUTHORIZATION,
            credentials,
            connect_timeout: CONNECT_TIMEOUT,
            key: key.map(Into::into),
            variables,
            authorities: Vec::new(),
        })
    }

    /// The key goes bare into a header of its own instead of `Authorization: Bearer`.
    pub fn with_key_in(mut self, header: HeaderName) -> Result<Self, Trouble> {
        self.credentials = self
            .key
            .as_ref()
            .map(|key| credentials(key.expose_secret(), self.variables))
            .transpose()?;
        self.key_header = header;
        Ok(self)
    }

    /// Takes certificates that these authorities signed too, beside those that the system trusts.
    #[must_use]
    pub fn trusting(mut self, authorities: &[CertificateDer<'static>]) -> Self {
        self.authorities = authorities.to_vec();
        self
    }

    /// A connection that takes longer than this is given up; never more than ten seconds.
    #[must_use]
    pub fn connecting_within(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout.min(CONNECT_TIMEOUT);
        self
    }

    /// The root, for telling servers apart.
    pub fn base(&self) -> &Url {
        &self.base
    }

    /// Host and port, as the user wrote them.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// A client for this host.
    pub fn client(&self) -> Result<Client, Trouble> {
        // Only the first caller of the process installs it; that another was first is no error.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let unprepared = |error: reqwest::Error| {
            Trouble::of(error.without_url()).what(|error| format!("cannot prepare HTTP: {error}"))
        };
        let mut builder = Client::builder()
            .user_agent(concat!("kb-agent/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .connect_timeout(self.connect_timeout)
            .pool_idle_timeout(IDLE_CONNECTION);
        for authority in &self.authorities {
            let authority = reqwest::Certificate::from_der(authority).map_err(unprepared)?;
            builder = builder.tls_certs_merge([authority]);
        }
        if self.is_this_machine() {
            // A name is not asked for either: what a resolver says of it may be another machine.
            let near = [
                IpAddr::from(Ipv4Addr::LOCALHOST),
                Ipv6Addr::LOCALHOST.into(),
            ];
            let near = near.map(|address| SocketAddr::new(address, 0));
            let name = self.base.host_str().unwrap_or_default();
            builder = builder.no_proxy().resolve_to_addrs(name, &near);
            if self.base.scheme() == "http" {
                // The system's certificates take a while to read, and none is checked here.
                builder = builder.tls_certs_only([]);
            }
        }
        builder.build().map_err(unprepared)
    }

    /// The address below the base; a query string of the base stays, as some gateways need one.
    pub fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    /// Whether it is this machine.
    pub fn is_this_machine(&self) -> bool {
        is_this_machine(&self.base)
    }

    /// The request with the key, if there is one.
    pub fn authorized(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.credentials {
            Some(value) => request.header(self.key_header.clone(), value.clone()),
            None => request,
        }
    }
}

fn parse_base(text: &str, variables: &Variables) -> Result<Url, Trouble> {
    let refuse = |what: String| {
        Trouble::new(
            format!("{} {what}", variables.base_url),
            "it should look like http://127.0.0.1:8080/v1",
        )
    };
    // Before anything is quoted: an address with a password in it is never shown.
    if text.contains('@') {
        let key = variables.api_key;
        let key = key.map(|key| format!("; the key belongs in {key}"));
        return Err(refuse(format!(
            "holds a user name or password{}",
            key.unwrap_or_default()
        )));
    }
    let shown = one_line(text, 120);
    let url = Url::parse(text.trim())
        .map_err(|error| refuse(format!("'{shown}' is not an address ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(refuse(format!("'{shown}' is neither http:// nor https://")));
    }
    Ok(root_of(url))
}

/// What is often pasted behind the root of an endpoint.
const BELOW_ROOT: &[&[&str]] = &[
    &["chat", "completions"],
    &["completions"],
    &["models"],
    &["embeddings"],
    &["responses"],
];

/// The root of an address that names what is below it, without empty parts.
fn root_of(mut url: Url) -> Url {
    let parts = url.path_segments().into_iter().flatten();
    let mut parts: Vec<String> = parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    let ends = |below: &&&[&str]| {
        let rest = parts.len().checked_sub(below.len());
        rest.is_some_and(|rest| parts[rest..] == ***below)
    };
    if let Some(below) = BELOW_ROOT.iter().find(ends) {
        parts.truncate(parts.len() - below.len());
    }
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.clear().extend(&parts);
    }
    url
}

fn credentials(value: &str, variables: &Variables) -> Result<HeaderValue, Trouble> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        format!(
            "{} holds a character that no header can carry",
            variables.api_key()
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Whether an address is of this machine: such a host is asked directly, and may be sent a key by http.
pub fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => {
            let address = address.to_canonical();
            address.is_loopback() || address.is_unspecified()
        }
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::LLM;
    use super::*;

    #[test]
    fn addresses_are_built_below_the_base() {
        for (base, chat) in [
            ("http://h/v1", "http://h/v1/chat/completions"),
            ("http://h:8080/v1/", "http://h:8080/v1/chat/completions"),
            (" https://h ", "https://h/chat/completions"),
            (
                "https://h/v1?api-version=2",
                "https://h/v1/chat/completions?api-version=2",
            ),
        ] {
            let site = Address::new(base, None, &LLM).unwrap();
            assert_eq!(site.url(&["chat", "completions"]).as_str(), chat);
        }
    }

    #[test]
    fn a_bad_address_is_one_clear_line() {
        for (base, line) in [
            (
                "localhost:8080/v1",
                "KB_AGENT_LLM_BASE_URL 'localhost:8080/v1' is neither http:// nor https://; it should look like http://127.0.0.1:8080/v1",
            ),
            (
                "nonsense",
                "KB_AGENT_LLM_BASE_URL 'nonsense' is not an address (relative URL without a base); it should look like http://127.0.0.1:8080/v1",
            ),
            (
                "http://u:pw@h/v1",
                "KB_AGENT_LLM_BASE_URL holds a user name or password; the key belongs in KB_AGENT_LLM_API_KEY; it should look like http://127.0.0.1:8080/v1",
            ),
        ] {
            assert_eq!(
                Address::new(base, None, &LLM).unwrap_err().to_string(),
                line
            );
        }
    }

    #[test]
    fn this_machine_is_known_by_name_and_number() {
        for (base, is_near) in [
            ("http://localhost:1/v1", true),
            ("http://GPU.localhost:1/v1", true),
            ("http://127.0.0.2/v1", true),
            ("http://[::1]:1/v1", true),
            ("http://0.0.0.0:1/v1", true),
            ("http://0/v1", true),
            ("http://[::]:1/v1", true),
            ("http://[::ffff:127.0.0.1]:1/v1", true),
            ("http://[::ffff:10.0.0.1]:1/v1", false),
            ("http://10.0.0.1/v1", false),
            ("http://notlocalhost/v1", false),
            ("http://localhost.example/v1", false),
            ("https://api.example/v1", false),
        ] {
            let url = Url::parse(base).unwrap();
            assert_eq!(is_this_machine(&url), is_near, "{base}");
        }
    }
}
