//! Where a shared index is and how to get in, as the settings say it.

use std::path::PathBuf;
use std::str::FromStr;

use secrecy::{ExposeSecret, SecretString};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::kb::error::KbError;
use crate::kb::index::port::Result;
use crate::text::{Trouble, one_line};

/// The settings of a store: the address, and secrets apart from it.
#[derive(Debug, Clone)]
pub struct StoreAccess {
    /// `postgres://USER@HOST[,HOST]/DATABASE?space=NAME`.
    pub url: SecretString,
    /// The password; it replaces the one in the address.
    pub password: Option<SecretString>,
    /// The authority that signs the server's certificate; `None` for those that the system trusts.
    pub ca: Option<PathBuf>,
    /// The space; it replaces the one in the address.
    pub space: Option<String>,
}

/// An address, taken apart.
#[derive(Debug, Clone)]
pub(crate) struct StoreAddress {
    /// The configuration of the client, with the password.
    pub config: Config,
    /// The space that the address names.
    pub space: Option<String>,
    /// The authority to trust in place of the system's.
    pub ca: Option<PathBuf>,
    /// The address without the password.
    pub display: String,
}

impl StoreAddress {
    /// Reads an address. TLS is required, and the server's name verified, for all but this machine;
    /// `sslmode=disable` turns it off.
    pub fn parse(access: &StoreAccess) -> Result<Self> {
        let url = access.url.expose_secret();
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut space, mut mode) = (None, None);
        let mut passed_on = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            match key {
                "space" => space = Some(decode_space(value)?),
                "sslmode" => mode = Some(value),
                key if ALLOWED.contains(&key) => passed_on.push(pair),
                key => return Err(bad(&format!("{} is unknown there", one_line(key, 40)))),
            }
        }
        let space = access.space.clone().or(space);
        let is_name = |name: &String| {
            let is_plain = !name.trim().is_empty() && !name.contains(char::is_control);
            is_plain && name.chars().count() <= LONGEST_NAME
        };
        if !space.iter().all(is_name) {
            return Err(bad("its space needs a name of 1 to 100 characters"));
        }
        let plain = match passed_on.as_slice() {
            [] => base.to_owned(),
            pairs => format!("{base}?{}", pairs.join("&")),
        };
        let parsed = Config::from_str(&plain);
        let mut config = parsed.map_err(|error| bad(&reason(&error)))?;
        if let Some(password) = &access.password {
            config.password(password.expose_secret());
        }
        if config.get_hosts().is_empty() {
            return Err(bad("it names no host"));
        }
        if config.get_user().is_none() {
            return Err(bad("it names no user"));
        }
        let is_here = config.get_hosts().iter().all(is_this_machine);
        config.ssl_mode(match mode {
            Some("disable") => SslMode::Disable,
            Some("require" | "verify-ca" | "verify-full") => SslMode::Require,
            Some(_) => return Err(bad("its sslmode is neither require nor disable")),
            None if is_here && access.ca.is_none() => SslMode::Disable,
            None => SslMode::Require,
        });
        config.application_name("kb-agent").connect_timeout(CONNECT);
        config.keepalives_idle(SILENCE).tcp_user_timeout(SILENCE);
        config
            .keepalives_interval(SILENCE / 3)
            .keepalives_retries(3);
        Ok(Self {
            display: display_address(&config),
            config,
            space,
            ca: access.ca.clone(),
        })
    }

    /// Whether what goes to the server is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.config.get_ssl_mode() != SslMode::Disable
    }
}

const LONGEST_NAME: usize = 100;
/// The time that connecting to each host may take.
const CONNECT: std::time::Duration = std::time::Duration::from_secs(10);

/// A server that says nothing for so long is asked whether it is there.
const SILENCE: std::time::Duration = std::time::Duration::from_secs(30);
/// Other keys that a query may have. None of them leads elsewhere or hides who asks.
const ALLOWED: [&str; 2] = ["target_session_attrs", "load_balance_hosts"];

fn is_this_machine(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            let address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
            name == "localhost" || address.is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// User, hosts and database: all that may be shown of an address.
fn display_address(config: &Config) -> String {
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| {
        let name = match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        };
        let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        format!("{name}:{port}")
    });
    let hosts: Vec<String> = hosts.collect();
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    format!("postgres://{user}@{}/{database}", hosts.join(","))
}

fn decode_space(value: &str) -> Result<String> {
    let decoded = percent_encoding::percent_decode_str(value).decode_utf8();
    let decoded = decoded.map_err(|_| bad("its space is not UTF-8"))?;
    Ok(decoded.into_owned())
}

fn reason(error: &tokio_postgres::Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    source.unwrap_or_else(|| error.to_string())
}

fn bad(why: &str) -> KbError {
    KbError::Setting(Trouble::new(
        format!("KB_AGENT_STORE_URL cannot be used: {why}"),
        "give postgres://USER@HOST/DATABASE?space=NAME",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<StoreAddress> {
        StoreAddress::parse(&StoreAccess {
            url: url.into(),
            password: Some("s3cret".to_owned().into()),
            ca: None,
            space: None,
        })
    }

    #[test]
    fn an_address_is_taken_apart_and_shown_without_its_password() {
        let at = read("postgres://me:hunter2@db1:5433,db2:5434/kb?space=team%20a&sslmode=require");
        let at = at.unwrap();
        assert_eq!(at.space.as_deref(), Some("team a"));
        assert_eq!(at.config.get_password(), Some(b"s3cret".as_slice()));
        assert_eq!(at.display, "postgres://me@db1:5433,db2:5434/kb");
        assert!(at.is_encrypted());
        let hidden = format!("{:?}{}", at.config, at.display);
        assert!(!hidden.contains("hunter2") && !hidden.contains("s3cret"));
    }

    #[test]
    fn what_leaves_this_machine_is_encrypted_unless_the_address_says_otherwise() {
        for (url, encrypted) in [
            ("postgres://me@db/kb", true),
            ("postgres://me@10.0.0.7/kb", true),
            ("postgres://me@127.0.0.1,db/kb", true),
            ("postgres://me@127.0.0.1/kb", false),
            ("postgres://me@localhost/kb", false),
            ("postgres://me@localhost/kb?sslmode=verify-full", true),
            ("postgres://me@db/kb?sslmode=disable", false),
        ] {
            assert_eq!(read(url).unwrap().is_encrypted(), encrypted, "{url}");
        }
        let with_ca = StoreAddress::parse(&StoreAccess {
            url: "postgres://me@127.0.0.1/kb".into(),
            password: None,
            ca: Some(PathBuf::from("ca.crt")),
            space: None,
        });
        assert!(with_ca.unwrap().is_encrypted());
    }

    #[test]
    fn a_bad_address_is_one_line_without_what_is_secret() {
        for (url, says) in [
            ("postgres://me:hunter2@db:port/kb", "port"),
            ("postgres:///kb", "no host"),
            ("postgres://db/kb", "no user"),
            ("postgres://me@db/kb?sslmode=prefer", "sslmode"),
            ("postgres://me@db/kb?space=", "space"),
            ("postgres://me@db/kb?colour=red", "colour"),
            ("postgres://me@localhost/kb?hostaddr=10.0.0.7", "hostaddr"),
        ] {
            let line = read(url).unwrap_err().to_string();
            assert!(line.contains(says), "{url}: {line}");
            assert!(!line.contains('\n') && !line.contains("hunter2"), "{line}");
        }
    }
}
