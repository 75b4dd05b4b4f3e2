//! A setting, and what values it takes: each kind says it in words, reads a value, and sets the field with it.

use std::path::Path;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use reqwest::Url;
use reqwest::header::{
    CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use rustls::pki_types::CertificateDer;
use secrecy::SecretString;
use tracing_subscriber::EnvFilter;

use super::environment::Environment;
use super::error::SettingError;
use super::settings::Settings;
use crate::domain::DecidedBy;
use crate::files::read_certificates;
use crate::globs::Inclusion;
use crate::openai::is_this_machine;
use crate::text::one_line;
use crate::themes::theme_names;

/// A value is quoted up to this length.
const VALUE_CHARS: usize = 80;
/// What is wrong with a file is told up to this length, its path included.
const FILE_CHARS: usize = 400;

/// Hosts that may get a key over plain http.
pub(super) const PLAIN_HTTP_HOSTS: &str = "KB_AGENT_PLAIN_HTTP_HOSTS";

/// A setting.
pub struct Setting {
    /// The environment variable.
    pub name: &'static str,
    pub(super) kind: Kind,
    /// What holds while it is not set.
    pub unset: Unset,
    /// What it does, in sentences.
    pub help: &'static str,
    /// Whether `.env` of the working folder may set it: settings of the screen and of routing.
    pub folder: bool,
    /// The settings of which one must be made for this one to have an effect; a secret goes to that address.
    pub(super) needs: &'static [&'static str],
    /// Why it has no effect beside other settings.
    pub(super) idle: fn(&Environment) -> Option<&'static str>,
}

/// What holds while a setting is not set.
#[derive(Debug, Clone, Copy)]
pub enum Unset {
    /// This value.
    To(&'static str),
    /// No value, which means this.
    Means(&'static str),
    /// What this variable says, which other programs read too.
    As(&'static str),
}

impl Setting {
    /// What values it takes, to be read after "must be".
    pub fn allowed(&self) -> String {
        self.kind.allowed()
    }

    /// Whether nobody may see its value.
    pub fn is_secret(&self) -> bool {
        matches!(self.kind, Kind::Secret(..) | Kind::Headers(_))
    }

    /// What holds while it is not set.
    pub fn while_unset(&self) -> &'static str {
        match self.unset {
            Unset::To(text) | Unset::Means(text) | Unset::As(text) => text,
        }
    }

    pub(super) const fn in_folder(mut self) -> Self {
        self.folder = true;
        self
    }

    pub(super) const fn needs(mut self, names: &'static [&'static str]) -> Self {
        self.needs = names;
        self
    }

    pub(super) const fn idle(mut self, why: fn(&Environment) -> Option<&'static str>) -> Self {
        self.idle = why;
        self
    }
}

/// A setting that counts wherever it is set but in the working folder.
pub(super) const fn row(
    name: &'static str,
    kind: Kind,
    unset: Unset,
    help: &'static str,
) -> Setting {
    Setting {
        name,
        kind,
        unset,
        help,
        folder: false,
        needs: &[],
        idle: |_| None,
    }
}

/// Sets the field of a setting.
type Set<T> = fn(&mut Settings, T);

/// What a value is, and what it sets.
pub(super) enum Kind {
    /// Any text; in words what it is.
    Text(&'static str, Set<String>),
    /// A text whose spaces at its ends count.
    SpacedText(&'static str, Set<String>),
    /// A whole number from the first to the second.
    Whole([u64; 2], Set<u64>),
    /// A number from the first to the second.
    Number([f64; 2], Set<f64>),
    /// 0 or 1.
    Switch(Set<bool>),
    OneOf(&'static [&'static str], fn(&mut Settings, &str)),
    /// An http or https address.
    Address(Set<String>),
    /// The address of a store, which may hold a password.
    Store(Set<SecretString>),
    /// A value that nobody may see, of at least so many characters.
    Secret(usize, Set<SecretString>),
    /// Names and values of HTTP headers, which may hold a key.
    Headers(Set<Vec<(String, SecretString)>>),
    /// A file of authorities, read only where something is asked that they are for.
    Certificates(Set<Vec<CertificateDer<'static>>>),
    /// The name of a theme.
    Theme(Set<String>),
    /// A filter of diagnostics.
    Filter(Set<String>),
    /// Patterns of files, separated as in `PATH`.
    Patterns(Set<Inclusion>),
    /// The languages of text that is recognised: none, those of the programs, or these.
    OcrLanguages(Set<Option<String>>),
    /// A model that writes answers, which the built-in engine does not beside one.
    AnsweringModel(Set<String>),
}

impl Kind {
    /// What it takes, to be read after "must be".
    fn allowed(&self) -> String {
        let words = match self {
            Self::Text(what, _) | Self::SpacedText(what, _) => what,
            Self::Whole([least, most], _) => {
                return format!("a whole number from {least} to {most}");
            }
            Self::Number([least, most], _) => return format!("a number from {least} to {most}"),
            Self::Switch(_) => "0 or 1",
            Self::OneOf(words, _) => {
                let (last, others) = words.split_last().unwrap_or((&"", &[]));
                return format!("{} or {last}", others.join(", "));
            }
            Self::Address(_) => "an http or https address",
            Self::Store(_) => "an address such as postgres://USER@HOST/DATABASE",
            Self::Secret(1, _) => "printable ASCII without spaces",
            Self::Secret(least, _) => {
                return format!("at least {least} characters, printable ASCII without spaces");
            }
            Self::Headers(_) => {
                "names and values such as Authorization=Bearer%20KEY, separated by commas"
            }
            Self::Certificates(_) => "a certificate file",
            Self::Theme(_) => {
                "auto, a theme that /theme lists (dark, light, mono …), or a file in themes/ of the \
                 configuration folder"
            }
            Self::Filter(_) => "a filter such as info, debug or kb_agent=trace",
            Self::Patterns(_) => "patterns of files such as *.env, separated as in PATH",
            Self::OcrLanguages(_) => "0, 1, or languages of tesseract such as deu+chi_sim",
            Self::AnsweringModel(_) => "a model's name",
        };
        words.to_owned()
    }

    /// Reads a value and sets the field; `None` where it is not taken.
    fn read(&self, text: &str, environment: &Environment, settings: &mut Settings) -> Option<()> {
        let owned = || text.to_owned();
        match self {
            Self::Text(_, set) | Self::SpacedText(_, set) => set(settings, owned()),
            Self::Whole([least, most], set) => {
                let number = text.parse().ok()?;
                set(
                    settings,
                    (*least..=*most).contains(&number).then_some(number)?,
                );
            }
            Self::Number([least, most], set) => {
                let number = text.parse().ok()?;
                set(
                    settings,
                    (*least..=*most).contains(&number).then_some(number)?,
                );
            }
            Self::Switch(set) => set(settings, matches!(text, "0" | "1").then_some(text == "1")?),
            Self::OneOf(words, set) => set(settings, words.iter().find(|word| **word == text)?),
            Self::Address(set) => set(settings, is_address(text).then(owned)?),
            Self::Store(set) => {
                let schemes = ["postgres://", "postgresql://"];
                let is_store = schemes.iter().any(|scheme| text.starts_with(scheme));
                set(settings, is_store.then_some(text)?.into());
            }
            Self::Secret(least, set) => {
                let is_secret = text.len() >= *least && text.bytes().all(|b| b.is_ascii_graphic());
                set(settings, is_secret.then_some(text)?.into());
            }
            Self::Headers(set) => {
                let headers = text.split(',').filter(|one| !one.trim().is_empty());
                set(settings, headers.map(header).collect::<Option<_>>()?);
            }
            Self::Certificates(set) => set(settings, read_certificates(Path::new(text)).ok()?),
            Self::Theme(set) => {
                let is_there = is_theme(text, environment.config_dir().as_deref());
                set(settings, is_there.then(owned)?);
            }
            Self::Filter(set) => set(settings, EnvFilter::from_str(text).is_ok().then(owned)?),
            Self::Patterns(set) => {
                let patterns =
                    std::env::split_paths(text).filter_map(|one| Some(one.to_str()?.to_owned()));
                let patterns: Vec<String> = patterns.filter(|one| !one.is_empty()).collect();
                set(
                    settings,
                    Inclusion::new(patterns.iter().map(String::as_str)).ok()?,
                );
            }
            Self::OcrLanguages(set) => set(
                settings,
                match text {
                    "0" => None,
                    "1" => Some(String::new()),
                    names => Some(
                        names
                            .split('+')
                            .all(is_language)
                            .then_some(names)?
                            .to_owned(),
                    ),
                },
            ),
            Self::AnsweringModel(set) => {
                set(settings, (text != DecidedBy::BuiltIn.as_str()).then(owned)?);
            }
        }
        Some(())
    }
}

impl Setting {
    /// Reads a value into the settings, or says why it cannot be used.
    pub(super) fn read(
        &self,
        value: &str,
        environment: &Environment,
        settings: &mut Settings,
    ) -> Result<(), SettingError> {
        if self.is_secret() {
            self.check_way(environment)?;
        }
        let value = match self.kind {
            Kind::SpacedText(..) => environment.spaced(self.name).unwrap_or(value),
            _ => value,
        };
        let read = self.kind.read(value, environment, settings);
        read.ok_or_else(|| self.refuse(value))
    }

    fn refuse(&self, value: &str) -> SettingError {
        let name = self.name;
        if let Kind::Certificates(_) = self.kind
            && let Err(why) = read_certificates(Path::new(value))
        {
            let next = "give a certificate file in PEM form";
            let line = format!("{name}: {}; {next}", one_line(&why, FILE_CHARS));
            return SettingError::new(name, line, next.to_owned());
        }
        let is_address = matches!(self.kind, Kind::Address(_));
        // Whatever form an address has, it may hold a password.
        let holds_password = is_address && value.contains('@');
        let allowed = if holds_password {
            "an http or https address without a user or password in it".to_owned()
        } else {
            self.allowed()
        };
        let next = format!("set {name} to {allowed}");
        if holds_password || self.is_secret() || matches!(self.kind, Kind::Store(_)) {
            let line = format!("{name} cannot be used: it must be {allowed}");
            return SettingError::new(name, line, next);
        }
        let line = format!(
            "{name} is '{}': it must be {allowed}",
            one_line(value, VALUE_CHARS)
        );
        match with_scheme(value).filter(|_| is_address) {
            Some(meant) => SettingError::new(
                name,
                format!("{line}; did you mean {meant}?"),
                format!("set {name} to {meant}"),
            ),
            None => SettingError::new(name, line, next),
        }
    }

    /// Refuses to send a key over a network where it can be read on the way: by http to another machine,
    /// unless the user names that.
    fn check_way(&self, environment: &Environment) -> Result<(), SettingError> {
        let address = self.needs.iter().find_map(|name| environment.get(name));
        let url = address.and_then(|address| Url::parse(address).ok());
        let Some(url) = url.filter(|url| url.scheme() == "http" && !is_this_machine(url)) else {
            return Ok(());
        };
        let host = url.host_str().unwrap_or_default();
        let hosts = environment.get(PLAIN_HTTP_HOSTS).unwrap_or_default();
        if hosts
            .split(',')
            .any(|name| name.trim().eq_ignore_ascii_case(host))
        {
            return Ok(());
        }
        let (name, host) = (self.name, one_line(host, VALUE_CHARS));
        let next = format!(
            "use an https address, or set {PLAIN_HTTP_HOSTS}={host} if that network is yours"
        );
        let line = format!("{name} would go unencrypted to {host}: {next}");
        Err(SettingError::new(name, line, next))
    }

    /// What it is set to, on one line and without what is secret.
    pub(super) fn masked(&self, value: &str) -> String {
        match self.kind {
            Kind::Secret(..) | Kind::Headers(_) => {
                format!("[masked, {} characters]", value.chars().count())
            }
            Kind::Store(_) if !value.contains("://") => "[masked]".to_owned(),
            Kind::Address(_) | Kind::Store(_) => shorten_value(&without_secrets(value)),
            _ => shorten_value(value),
        }
    }
}

/// A value on one line.
pub(super) fn shorten_value(text: &str) -> String {
    /// A value is shown up to this length.
    const SHOWN_CHARS: usize = 300;
    one_line(text, SHOWN_CHARS)
}

/// An address without what may be secret in it: who asks, and what a query says.
fn without_secrets(text: &str) -> String {
    const MASKED: &str = "[masked]";
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    // A password may hold any character, so that only the host behind the last '@' is sure.
    if let Some((_, behind)) = rest.rsplit_once('@') {
        let is_of_host = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
        let end = behind.find(|c| !is_of_host(c)).unwrap_or(behind.len());
        return format!("{scheme}{MASKED}@{}", &behind[..end]);
    }
    match rest.find(['?', '#']) {
        Some(end) => format!("{scheme}{}{MASKED}", &rest[..=end]),
        None => text.to_owned(),
    }
}

/// A header written as `name=value`, with `%20` for a space.
fn header(text: &str) -> Option<(String, SecretString)> {
    let (name, value) = text.split_once('=')?;
    let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
    HeaderValue::from_str(&value)
        .ok()
        .filter(|value| !value.is_empty())?;
    let name = HeaderName::from_str(name.trim()).ok()?;
    // These say how a trace is sent.
    let of_request = [CONTENT_TYPE, CONTENT_LENGTH, TRANSFER_ENCODING, HOST];
    if of_request.contains(&name) {
        return None;
    }
    Some((name.as_str().to_owned(), value.as_ref().into()))
}

/// Whether tesseract may call a language or a script so: `deu`, `chi_sim_vert`, `script/Latin`.
fn is_language(name: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphabetic());
    if let Some(script) = name.strip_prefix("script/") {
        return script.split('_').all(is_word);
    }
    let mut parts = name.split('_');
    let code = parts.next().unwrap_or_default();
    code.len() == 3 && is_word(code) && parts.all(is_word)
}

/// Whether a theme may have this name: it is that of a file, and no path.
pub fn is_theme_name(name: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= 60 && name.chars().all(is_fit)
}

/// Whether there is such a theme, built in or in a file of the user's own.
fn is_theme(name: &str, config_dir: Option<&Path>) -> bool {
    if name == "auto" || theme_names().any(|theme| theme == name) {
        return true;
    }
    let file = |folder: &Path| folder.join("themes").join(format!("{name}.toml"));
    is_theme_name(name) && config_dir.is_some_and(|folder| file(folder).is_file())
}

fn is_address(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        let is_open = url.username().is_empty() && url.password().is_none();
        is_open && matches!(url.scheme(), "http" | "https") && url.has_host()
    })
}

/// The address that is meant where the scheme is left away: names of the wide network are asked
/// by https, what has a port of its own or is near by http.
fn with_scheme(text: &str) -> Option<String> {
    if text.contains("//") || one_line(text, VALUE_CHARS) != text {
        return None;
    }
    let url = Url::parse(&format!("http://{text}")).ok()?;
    let is_far = url.port().is_none() && url.domain().is_some_and(|name| name.contains('.'));
    let scheme = if is_far { "https" } else { "http" };
    url.has_host().then(|| format!("{scheme}://{text}"))
}
