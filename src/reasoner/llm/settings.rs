//! The jobs, and what each may ask of a model.

use std::path::PathBuf;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use secrecy::SecretString;

use crate::domain::NodeName;
use crate::openai::{Address, Endpoint, Purpose, Tables, Variables};
use crate::text::Trouble;

/// A reasoning job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelJob {
    /// R1–R6.
    Analyze,
    /// R11, R21.
    Plan,
    /// R17.
    Grade,
    /// R23.
    Synthesize,
    /// R24: an answer to small talk, with the settings of any answer.
    SmallTalk,
    /// A question that lacks its topic, written so that it can be looked up, by the model that answers.
    Rewrite,
}

/// What a model that thinks may think before it judges, in tokens.
const THOUGHTS: u32 = 4_096;

impl ModelJob {
    /// The jobs that have settings of their own, in the order of the graph.
    pub const ALL: [Self; 4] = [Self::Analyze, Self::Plan, Self::Grade, Self::Synthesize];

    /// The node of the graph whose model does it.
    pub fn node(self) -> NodeName {
        match self {
            Self::Analyze => NodeName::AnalyzeAndRoute,
            Self::Plan => NodeName::Plan,
            Self::Grade => NodeName::GradeEvidence,
            Self::Synthesize | Self::SmallTalk | Self::Rewrite => NodeName::Synthesize,
        }
    }

    /// Where a reply ends when no limit is set: about twice what the schema's bounds come to in
    /// words that mean something. `items` are graded; a model that `thinks` gets more, because its
    /// thoughts count.
    pub fn tokens(self, items: usize, thinks: bool) -> u32 {
        let items = u32::try_from(items).unwrap_or(u32::MAX / 32);
        let (reply, thoughts) = match self {
            Self::Analyze => (800, THOUGHTS),
            Self::Plan => (1_000, THOUGHTS),
            Self::Grade => (128 + 16 * items, THOUGHTS),
            Self::SmallTalk => (300, THOUGHTS),
            Self::Rewrite => (100, THOUGHTS),
            // An answer has room for both.
            Self::Synthesize => (8_192, 0),
        };
        reply + if thinks { thoughts } else { 0 }
    }
}

/// The model of one job and the limits of its requests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobSettings {
    /// The model; `None` is the main one.
    pub model: Option<String>,
    /// 0 is repeatable.
    pub temperature: f64,
    /// A reply is over after so many tokens, with thoughts; `None` is as [`ModelJob::tokens`] says.
    pub max_tokens: Option<u32>,
}

/// The settings of every job.
#[derive(Debug, Clone, PartialEq)]
pub struct Jobs {
    /// R1–R6.
    pub analyze: JobSettings,
    /// R11, R21.
    pub plan: JobSettings,
    /// R17.
    pub grade: JobSettings,
    /// R23, R24.
    pub synthesize: JobSettings,
}

/// Who decides how a question is looked up and what its evidence is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decides {
    /// The built-in engine beside a small or slow model, else the model.
    #[default]
    Auto,
    /// The model.
    Model,
    /// The built-in engine.
    BuiltIn,
}

impl Jobs {
    /// Returns the settings of one job.
    pub fn settings_for(&self, job: ModelJob) -> &JobSettings {
        match job {
            // How a question is read does not vary.
            ModelJob::Analyze | ModelJob::Rewrite => &self.analyze,
            ModelJob::Plan => &self.plan,
            ModelJob::Grade => &self.grade,
            ModelJob::Synthesize | ModelJob::SmallTalk => &self.synthesize,
        }
    }
}

impl Default for Jobs {
    /// Only the wording of an answer may vary.
    fn default() -> Self {
        Self {
            analyze: JobSettings::default(),
            plan: JobSettings::default(),
            grade: JobSettings::default(),
            synthesize: JobSettings {
                temperature: 0.2,
                ..JobSettings::default()
            },
        }
    }
}

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
    /// Who decides where no model is set for a job.
    pub decides: Decides,
    /// About how many tokens of evidence an answer is written from; `None` goes by the model's size.
    pub evidence_tokens: Option<usize>,
    /// The folder with the user's own prompts, prices and servers.
    pub overrides: Option<PathBuf>,
}

/// Where an endpoint is set.
const VARIABLES: Variables = Variables {
    base_url: "KB_AGENT_LLM_BASE_URL",
    api_key: Some("KB_AGENT_LLM_API_KEY"),
    model: Some("KB_AGENT_LLM_MODEL"),
};

impl EndpointSettings {
    /// The endpoint that these settings name. Sends nothing.
    pub fn endpoint(&self, tables: &Tables) -> Result<Endpoint, Trouble> {
        let address = Address::new(&self.base_url, self.api_key.as_ref(), &VARIABLES)?;
        // Connecting must be given up before the wait for a first byte is, or it is unknown which of
        // the two it was.
        let address = address.connecting_within(self.timeout / 2);
        let address = address.trusting(&self.authorities);
        Endpoint::new(address, Purpose::Chat, self.server.as_deref(), tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_room_for_thoughts_and_a_judgement_gets_more() {
        assert_eq!(ModelJob::Grade.tokens(10, true), 128 + 160 + 4_096);
        assert_eq!(ModelJob::Synthesize.tokens(10, true), 8_192);
    }
}
