//! Texts to vectors, by a server that speaks the OpenAI-style `/embeddings` protocol.
//!
//! [`Embedder`] blocks and HTTP here does not, so the requests run on a small runtime of their own
//! while the caller waits on a channel: it then makes no difference whether the calling thread
//! belongs to a runtime itself. The request is raced against the caller's token there.
//!
//! A question must not wait for a server that is down, and an index may: asking for a few vectors
//! fails at once, and for a while without a new attempt; work in bulk is tried again.

mod data;
mod server;

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::agent::ports::{BulkPriority, Caller, EmbedError, Embedder, WaitSink};
use crate::openai::CallWaits;
use crate::text::{OrTrouble, Trouble};
pub use data::EmbeddingData;
pub use server::EmbeddingEndpoint;
use server::{EmbeddingServer, ModelInUse, TextKind, VectorRequest};

/// What a server takes at a time, by number and by bytes; most allow more.
const TEXTS_A_REQUEST: usize = 64;
const BYTES_A_REQUEST: usize = 100_000;
/// Requests on their way at the same time.
const IN_FLIGHT: usize = 2;
/// How long a server that could not be reached is left alone by those who cannot wait.
const REST: Duration = Duration::from_secs(15);

const PREFIX: &str = "endpoint:";
/// What a server that lists no models is asked for: it has one and calls it what it likes.
const UNNAMED_MODEL: &str = "default";

/// The embedding of an endpoint's model. Its vectors all have one length, or none come back.
pub struct EndpointEmbedder {
    server: Arc<EmbeddingServer>,
    settings: EmbeddingEndpoint,
    /// What its vectors are kept under, and the model, once that is known.
    model: OnceLock<(String, Arc<ModelInUse>)>,
    /// How long the last vectors were; 0 while there were none.
    length: AtomicUsize,
    /// Until when calls fail at once, and why.
    resting: Mutex<Option<(Instant, EmbedError)>>,
    /// `None` only while it is being dropped.
    runtime: Option<Runtime>,
}

impl EndpointEmbedder {
    /// Checks the settings; sends nothing.
    pub fn new(endpoint: &EmbeddingEndpoint) -> Result<Self, EmbedError> {
        let server = EmbeddingServer::new(endpoint)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("embedding")
            .enable_all()
            .build()
            .trouble("cannot start a thread")
            .map_err(EmbedError)?;
        let embedder = Self {
            server: Arc::new(server),
            settings: endpoint.clone(),
            model: OnceLock::new(),
            length: AtomicUsize::new(0),
            resting: Mutex::default(),
            runtime: Some(runtime),
        };
        if let Some(model) = endpoint.model.as_deref().map(str::trim)
            && !model.is_empty()
        {
            embedder.model.get_or_init(|| embedder.in_use(model));
        }
        Ok(embedder)
    }

    /// What vectors of that model are kept under, and how it is asked. Another form of passages
    /// makes other vectors.
    fn in_use(&self, model: &str) -> (String, Arc<ModelInUse>) {
        let mut form = self.settings.data.form_of(model);
        form.query = self.settings.query_prefix.clone().unwrap_or(form.query);
        form.passage = self.settings.passage_prefix.clone().unwrap_or(form.passage);
        let mut id = format!("{PREFIX}{model}");
        if !form.passage.is_empty() {
            let shown = form.passage.escape_debug();
            id.push_str(&format!(" with passages after \"{shown}\""));
        }
        if let Some(of) = &form.input_type {
            id.push_str(&format!(" with {} {}", of.field, of.passage));
        }
        let name = model.to_owned();
        (id, Arc::new(ModelInUse { name, form }))
    }

    /// The model. Finding out which that is, is for [`Embedder::model_id`] alone: vectors
    /// must not come from a model under whose name they were not looked up.
    fn model(&self) -> Result<Arc<ModelInUse>, EmbedError> {
        if let Some((_, model)) = self.model.get() {
            return Ok(Arc::clone(model));
        }
        Err(self
            .rest()
            .unwrap_or_else(|| EmbedError("the endpoint's model is not known yet".into())))
    }

    fn first_model(&self) -> Result<String, EmbedError> {
        let server = Arc::clone(&self.server);
        let work = async move { server.first_model().await };
        let listed = self.wait(work, &CancellationToken::new())?;
        let listed = listed.ok_or_else(broken_off)??;
        Ok(listed.unwrap_or_else(|| UNNAMED_MODEL.to_owned()))
    }

    fn vectors(
        &self,
        texts: &[&str],
        kind: TextKind,
        waits: CallWaits,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        if texts.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let model = self.model()?;
        let server = Arc::clone(&self.server);
        let requests = requests(texts);
        let work = async move {
            let wanted = VectorRequest {
                model: &model,
                kind,
                waits: &waits,
            };
            let asking = requests.into_iter();
            let asking: Vec<_> = asking.map(|texts| server.vectors(wanted, texts)).collect();
            stream::iter(asking).buffered(IN_FLIGHT).try_concat().await
        };
        let Some(answered) = self.wait(work, cancel)? else {
            return Ok(None);
        };
        let vectors = self.note(answered)?;
        self.check(&vectors)?;
        Ok(Some(vectors))
    }

    /// Runs it on the endpoint's own runtime; `None` when `cancel` was cancelled.
    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
        cancel: &CancellationToken,
    ) -> Result<Option<T>, EmbedError> {
        let (done, waiting) = sync_channel(1);
        let cancel = cancel.clone();
        let runtime = self.runtime.as_ref().ok_or_else(broken_off)?;
        runtime.spawn(async move {
            let _ = done.send(cancel.run_until_cancelled(work).await);
        });
        waiting.recv().map_err(|_| broken_off())
    }

    /// All vectors that come together are equally long.
    fn check(&self, vectors: &[Vec<f32>]) -> Result<(), EmbedError> {
        let mut lengths = vectors.iter().map(Vec::len).filter(|length| *length > 0);
        let Some(expected) = lengths.next() else {
            return Ok(());
        };
        self.length.store(expected, Ordering::Relaxed);
        match lengths.find(|length| *length != expected) {
            Some(other) => Err(self.server.mixed(expected, other)),
            None => Ok(()),
        }
    }

    /// The reason of the last failure while the server is left alone.
    fn rest(&self) -> Option<EmbedError> {
        let resting = self.resting.lock();
        let (until, why) = resting.as_ref()?;
        (Instant::now() < *until).then(|| why.clone())
    }

    fn note<T>(&self, answered: Result<T, EmbedError>) -> Result<T, EmbedError> {
        let mut resting = self.resting.lock();
        *resting = match &answered {
            Ok(_) => None,
            Err(error) => Some((Instant::now() + REST, error.clone())),
        };
        answered
    }
}

impl Embedder for EndpointEmbedder {
    /// Where no model is named, asks the server for its first; blocks then. While that cannot be
    /// answered it is a name that no vectors are kept under.
    fn model_id(&self) -> &str {
        if self.model.get().is_none()
            && self.rest().is_none()
            && let Ok(model) = self.note(self.first_model())
        {
            self.model.get_or_init(|| self.in_use(&model));
        }
        self.model.get().map_or(PREFIX, |(id, _)| id.as_str())
    }

    fn length_now(&self) -> Option<usize> {
        let known = self.length.load(Ordering::Relaxed);
        if known == 0 {
            return self.embed(&["length"]).ok()?.first().map(Vec::len);
        }
        Some(known)
    }

    fn last_refusal(&self) -> Option<EmbedError> {
        self.server.last_refusal()
    }

    fn batch(&self) -> usize {
        IN_FLIGHT * TEXTS_A_REQUEST
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let cancel = CancellationToken::new();
        let vectors = self.embed_stoppable(texts, Caller::from(&cancel))?;
        vectors.ok_or_else(broken_off)
    }

    fn embed_stoppable(
        &self,
        texts: &[&str],
        caller: Caller<'_>,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        if let Some(why) = self.rest() {
            return Err(why);
        }
        let waits = CallWaits::for_bytes(caller.waits.map(WaitSink::sender));
        self.vectors(texts, TextKind::Query, waits, caller.cancel)
    }

    fn embed_unless(
        &self,
        texts: &[&str],
        _: BulkPriority,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        self.vectors(texts, TextKind::Passage, CallWaits::default(), cancel)
    }
}

impl Drop for EndpointEmbedder {
    /// A runtime that is dropped where another one runs would panic.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn broken_off() -> EmbedError {
    EmbedError(Trouble::new("the request broke off", "try again"))
}

/// The texts in their order, parted so that no request is too large.
fn requests(texts: &[&str]) -> Vec<Vec<String>> {
    let mut requests: Vec<Vec<String>> = Vec::new();
    let mut bytes = 0;
    for text in texts {
        let fits = bytes + text.len() <= BYTES_A_REQUEST;
        match requests.last_mut() {
            Some(last) if fits && last.len() < TEXTS_A_REQUEST => last.push((*text).to_owned()),
            _ => {
                requests.push(vec![(*text).to_owned()]);
                bytes = 0;
            }
        }
        bytes += text.len();
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_bounded_by_number_and_by_bytes() {
        let sizes =
            |texts: &[&str]| -> Vec<usize> { requests(texts).iter().map(Vec::len).collect() };
        assert_eq!(sizes(&["a"; 130]), [64, 64, 2]);
        let long = "x".repeat(40_000);
        assert_eq!(sizes(&[long.as_str(); 5]), [2, 2, 1]);
        let longer = "x".repeat(BYTES_A_REQUEST + 1);
        assert_eq!(sizes(&["a", &longer, "b"]), [1, 1, 1]);
        assert!(sizes(&[]).is_empty());
    }

    #[test]
    fn it_may_be_dropped_where_a_runtime_runs() {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let endpoint = EmbeddingEndpoint {
                base_url: "http://127.0.0.1:1/v1".to_owned(),
                api_key: None,
                model: Some("m".to_owned()),
                authorities: Vec::new(),
                query_prefix: None,
                passage_prefix: None,
                data: EmbeddingData::read(None).unwrap(),
            };
            let embedder = EndpointEmbedder::new(&endpoint).unwrap();
            assert_eq!(embedder.model_id(), "endpoint:m");
            drop(embedder);
        });
    }
}
