use std::path::PathBuf;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use secrecy::SecretString;

use super::Jobs;

/// Where the model is and how it is spoken to.
#[derive(Debug, Clone, Default)]
pub struct EndpointSettings {
    /// Root of the endpoint, e.g. `http://127.0.0.1:11434/v1`; a closing slash makes no difference.
    pub base_url: String,
    /// Bearer token, or whatever the server's row of the table makes of it.
    pub api_key: Option<SecretString>,
    /// The model; without one the first that the endpoint lists.
    pub model: Option<String>,
    /// No byte received for this long is an error.
    pub timeout: Duration,
    /// How often a request is made again after a failure that may pass.
    pub retries: u32,
    /// The server's name in the table; `None` goes by the address.
    pub server: Option<String>,
    /// How many tokens the model reads; `None` where that is unknown.
    pub context_tokens: Option<usize>,
    /// Authorities that sign its certificate, beside those that the system trusts.
    pub authorities: Vec<CertificateDer<'static>>,
    /// Model and limits of each job.
    pub jobs: Jobs,
    /// The folder with the user's own prompts, prices and servers.
    pub overrides: Option<PathBuf>,
}
