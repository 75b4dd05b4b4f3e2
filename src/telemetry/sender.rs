use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use super::spans::{TraceForm, trace_request};
use crate::openai::{
    Address, CallWaits, Failure, FailureKind, Fault, Retries, Variables, retry_after,
};
use crate::protocol::{Event, EventBody, RunId};
use crate::text::{Trouble, one_line};

/// How long a collector has for one trace.
const POST_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a trace is sent once more to a collector that cannot take it now.
const RETRIES: u32 = 3;
/// No trace is sent once more later than this.
const PATIENCE: Duration = Duration::from_secs(10);
/// Where a collector takes traces, below its root.
const BELOW_ROOT: [&str; 2] = ["v1", "traces"];
/// The setting that its address comes from.
const VARIABLES: Variables = Variables {
    base_url: "KB_AGENT_OTLP_ENDPOINT",
    api_key: None,
    model: None,
};

/// Sends the trace of each run that has ended to a collector. Cheap to clone.
///
/// Each is sent beside everything else. A collector that does not take it costs a line of diagnostics, and
/// nothing more until it takes one again.
#[derive(Clone)]
pub struct TraceSender {
    client: Client,
    url: Url,
    headers: HeaderMap,
    form: TraceForm,
    runtime: Handle,
    sending: TaskTracker,
    is_failing: Arc<AtomicBool>,
}

/// Gathers the events of runs, in whatever order they come, and sends each run when it has ended.
#[derive(Debug)]
pub struct RunBuffer {
    sender: TraceSender,
    open: HashMap<RunId, Vec<Event>>,
}

impl TraceSender {
    /// A sender to the collector at this root, or at this address of its traces. Sends nothing yet; what is
    /// sent later is sent on the runtime of the caller.
    pub fn new(
        endpoint: &str,
        headers: &[(String, SecretString)],
        form: TraceForm,
    ) -> Result<Self, Trouble> {
        let address = Address::new(endpoint, None, &VARIABLES)?;
        let is_whole = address
            .base()
            .path()
            .ends_with(&format!("/{}", BELOW_ROOT.join("/")));
        let below: &[&str] = if is_whole { &[] } else { &BELOW_ROOT };
        Ok(Self {
            client: address.client()?,
            url: address.url(below),
            headers: headers
                .iter()
                .filter_map(|(name, value)| header(name, value))
                .collect(),
            form,
            runtime: Handle::current(),
            sending: TaskTracker::new(),
            is_failing: Arc::default(),
        })
    }

    /// Takes the events of runs as they are recorded.
    pub fn run_buffer(&self) -> RunBuffer {
        RunBuffer {
            sender: self.clone(),
            open: HashMap::new(),
        }
    }

    /// Waits for what is being sent, so long at most.
    pub async fn end(&self, patience: Duration) {
        self.sending.close();
        if tokio::time::timeout(patience, self.sending.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                "left behind at the end: a trace that the collector did not take in time"
            );
        }
    }

    /// Sends a trace without spans, which a collector takes as it takes any other.
    pub async fn try_out(&self) -> Result<(), Trouble> {
        self.post(&ExportTraceServiceRequest::default()).await
    }

    /// Sends the trace of a run that has ended, and waits for the collector.
    pub async fn send_run(&self, events: &[Event]) -> Result<(), Trouble> {
        self.post(&trace_request(events, &self.form)).await
    }

    /// Where traces go, without the query of the address, which may hold a key.
    pub fn url(&self) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        url.set_fragment(None);
        one_line(url.as_str(), 200)
    }

    fn send(&self, events: Vec<Event>) {
        let sender = self.clone();
        let sent = async move {
            let sent = sender.send_run(&events).await;
            let was_failing = sender.is_failing.swap(sent.is_err(), Ordering::Relaxed);
            if let Err(trouble) = sent.map_err(|trouble| trouble.to_string())
                && !was_failing
            {
                tracing::warn!("traces are not taken: {trouble}");
            }
        };
        self.sending.spawn_on(sent, &self.runtime);
    }

    async fn post(&self, request: &ExportTraceServiceRequest) -> Result<(), Trouble> {
        let body = request.encode_to_vec();
        let mut retries = Retries::new(RETRIES, Some(PATIENCE));
        loop {
            let reply = self.post_once(body.clone()).await?;
            let status = reply.status();
            if status.is_success() {
                return Ok(());
            }
            let fault = match status.as_u16() {
                429 | 502..=504 => Fault::Retry(retry_after(reply.headers())),
                _ => Fault::Fatal,
            };
            let trouble = self.unsent(&format!("the reply is {status}"));
            let status = Some(status.as_u16());
            let failure = Failure::new(FailureKind::Refused, fault, status, trouble);
            if !retries.pause(&failure, &CallWaits::default()).await {
                return Err(failure.trouble);
            }
        }
    }

    async fn post_once(&self, body: Vec<u8>) -> Result<Response, Trouble> {
        let sent = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/x-protobuf")
            .timeout(POST_TIMEOUT)
            .body(body)
            .send();
        sent.await.map_err(|error| {
            self.unsent(if error.is_timeout() {
                "no reply in time"
            } else if error.is_connect() {
                "no connection"
            } else {
                "the connection broke"
            })
        })
    }

    fn unsent(&self, why: &str) -> Trouble {
        Trouble::new(
            format!("{}: {why}", self.url()),
            "see to KB_AGENT_OTLP_ENDPOINT, KB_AGENT_OTLP_HEADERS and the collector there",
        )
    }
}

fn header(name: &str, value: &SecretString) -> Option<(HeaderName, HeaderValue)> {
    let mut secret = HeaderValue::from_str(value.expose_secret()).ok()?;
    secret.set_sensitive(true);
    Some((HeaderName::from_bytes(name.as_bytes()).ok()?, secret))
}

impl fmt::Debug for TraceSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceSender(to {})", self.url())
    }
}

impl RunBuffer {
    /// Takes the next event of a run.
    pub fn take(&mut self, event: Event) {
        let is_last = matches!(event.body, EventBody::RunFinished { .. });
        let run = event.run.clone();
        self.open.entry(run.clone()).or_default().push(event);
        if is_last && let Some(events) = self.open.remove(&run) {
            self.sender.send(events);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn trust_a_key_in_the_address_of_a_collector_is_not_shown() {
        let headers = [("authorization".to_owned(), "s3cret".into())];
        let to = |endpoint| TraceSender::new(endpoint, &headers, TraceForm::default());
        let sender = to("http://127.0.0.1:9/otlp?key=s3cret#s3cret").unwrap();
        assert_eq!(sender.url(), "http://127.0.0.1:9/otlp/v1/traces");
        assert_eq!(sender.url.query(), Some("key=s3cret"));
        let failed = sender.try_out().await.unwrap_err().to_string();
        let buffer = sender.run_buffer();
        for shown in [failed, format!("{sender:?} {buffer:?}")] {
            assert!(!shown.contains("s3cret"), "{shown}");
        }
        assert_eq!(
            to("http://h/a@b").unwrap_err().to_string(),
            "KB_AGENT_OTLP_ENDPOINT holds a user name or password; it should look like \
             http://127.0.0.1:8080/v1"
        );
    }
}
