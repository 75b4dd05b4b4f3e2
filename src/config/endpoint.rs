//! The settings of the chat endpoint: one server, and four jobs that may each have a model.

use std::time::Duration;

use rustls::pki_types::CertificateDer;
use secrecy::SecretString;

use super::Environment;
use super::address::{address, protected};
use super::error::SettingError;
use super::llm_variables::{
    ANALYZE, API_KEY, BASE_URL, CA, CONTEXT, GRADE, JobVariables, MODEL, PLAN, RETRIES, SERVER,
    SYNTHESIZE, TIMEOUT,
};
use super::values::{authorities, number, secret};
use super::variable::Variable;

/// A chat endpoint.
#[derive(Debug, Clone)]
pub struct EndpointConfig {
    /// Its root, such as one ending in `/v1`.
    pub base_url: String,
    /// Its key.
    pub api_key: Option<SecretString>,
    /// The model; `None` is the first one listed.
    pub model: Option<String>,
    /// No byte received for this long is an error.
    pub timeout: Duration,
    /// How often a request is made again; `None` is as built in.
    pub retries: Option<u32>,
    /// What kind of server it is; `None` goes by its address.
    pub server: Option<String>,
    /// How many tokens the model reads.
    pub context_tokens: Option<usize>,
    /// Authorities that sign servers' certificates, beside those that the system trusts.
    pub authorities: Vec<CertificateDer<'static>>,
    /// R1–R6.
    pub analyze: JobConfig,
    /// R11, R21.
    pub plan: JobConfig,
    /// R17.
    pub grade: JobConfig,
    /// R23, R24.
    pub synthesize: JobConfig,
}

/// What is set for one job; `None` is as for all, or as built in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobConfig {
    /// The model.
    pub model: Option<String>,
    /// 0 is repeatable.
    pub temperature: Option<f64>,
    /// Where a reply ends at the latest.
    pub max_tokens: Option<u32>,
}

/// How long silence is borne with where nothing is set, seconds.
pub(super) const DEFAULT_TIMEOUT: u64 = 60;

/// The endpoint, checked whether it is in use or not; `None` is offline.
pub(super) fn endpoint(environment: &Environment) -> Result<Option<EndpointConfig>, SettingError> {
    let named = |variable: Variable| environment.get(variable.name).map(str::to_owned);
    let job = |of: JobVariables| -> Result<JobConfig, SettingError> {
        Ok(JobConfig {
            model: named(of.model),
            temperature: number(environment, of.temperature, 0.0..=2.0)?,
            max_tokens: number(environment, of.max_tokens, 16..=1_000_000)?,
        })
    };
    let api_key = secret(environment, API_KEY)?;
    let timeout = number(environment, TIMEOUT, 1..=3600)?.unwrap_or(DEFAULT_TIMEOUT);
    let retries = number(environment, RETRIES, 0..=10)?;
    let context_tokens = number(environment, CONTEXT, 1_024..=10_000_000)?;
    let (analyze, plan) = (job(ANALYZE)?, job(PLAN)?);
    let (grade, synthesize) = (job(GRADE)?, job(SYNTHESIZE)?);
    let Some(base_url) = address(environment, BASE_URL)? else {
        return Ok(None);
    };
    protected(environment, API_KEY, Some(&base_url))?;
    let authorities = authorities(environment, CA)?;
    Ok(Some(EndpointConfig {
        base_url,
        api_key,
        model: named(MODEL),
        timeout: Duration::from_secs(timeout),
        retries,
        server: named(SERVER),
        context_tokens,
        authorities,
        analyze,
        plan,
        grade,
        synthesize,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_has_its_own_settings() {
        let environment = Environment::from_pairs([
            ("KB_AGENT_LLM_BASE_URL", "http://127.0.0.1:1/v1"),
            ("KB_AGENT_LLM_MODEL", "large"),
            ("KB_AGENT_LLM_MODEL_GRADE", "small"),
            ("KB_AGENT_LLM_TEMPERATURE_SYNTHESIZE", "0.7"),
            ("KB_AGENT_LLM_MAX_TOKENS_GRADE", "512"),
        ]);
        let endpoint = endpoint(&environment).unwrap().unwrap();
        assert_eq!(endpoint.analyze, JobConfig::default());
        assert_eq!(endpoint.grade.model.as_deref(), Some("small"));
        assert_eq!(endpoint.grade.max_tokens, Some(512));
        assert_eq!(endpoint.synthesize.temperature, Some(0.7));
    }

    #[test]
    fn a_job_setting_out_of_range_is_refused_by_name() {
        for (name, value) in [
            ("KB_AGENT_LLM_TEMPERATURE_PLAN", "2.5"),
            ("KB_AGENT_LLM_MAX_TOKENS_ANALYZE", "0"),
            ("KB_AGENT_LLM_RETRIES", "11"),
            ("KB_AGENT_LLM_CONTEXT_TOKENS", "many"),
        ] {
            let line = endpoint(&Environment::from_pairs([(name, value)])).unwrap_err();
            assert!(
                line.to_string()
                    .starts_with(&format!("{name} is '{value}': it must be"))
            );
        }
    }
}
