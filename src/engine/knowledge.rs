use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::agent::ports::Embedder;
use crate::config::Settings;
use crate::kb::embed::{EmbeddingEndpoint, EndpointEmbedder, SentenceEmbedding};
use crate::kb::{KbError, KnowledgeBase, Progress, UpdateReport};

use super::{EngineError, demo};

/// Opens the knowledge base that the settings name, the bundled demo when they name none, with
/// the embedding that they name. Blocks while an embedding endpoint is asked for its model.
pub fn open_knowledge(settings: &Settings) -> Result<KnowledgeBase, EngineError> {
    let embedder = embedder(settings, Arc::new(SentenceEmbedding::new()))?;
    open(settings, embedder)
}

/// A base over other folders than those that the settings name, with their embedding.
pub fn open_knowledge_at(
    settings: &Settings,
    roots: &[PathBuf],
    home: &Path,
) -> Result<KnowledgeBase, EngineError> {
    let embedder = embedder(settings, Arc::new(SentenceEmbedding::new()))?;
    Ok(KnowledgeBase::open(roots, home, embedder)?)
}

/// The same for somebody who is going to rebuild it: a damaged index does not stand in the way.
pub fn open_knowledge_for_rebuild(settings: &Settings) -> Result<KnowledgeBase, EngineError> {
    let embedder = embedder(settings, Arc::new(SentenceEmbedding::new()))?;
    let home = settings.index_dir();
    Ok(KnowledgeBase::open_for_rebuild(
        &roots(settings)?,
        &home,
        embedder,
    )?)
}

/// The same without blocking, for somebody who has the built-in model anyway.
pub(super) async fn open_beside(
    settings: &Settings,
    built_in: Arc<dyn Embedder>,
) -> Result<KnowledgeBase, EngineError> {
    let embedder = embedder(settings, built_in)?;
    let settings = settings.clone();
    tokio::task::spawn_blocking(move || open(&settings, embedder))
        .await
        .map_err(|error| EngineError::Run(format!("opening the index broke off: {error}")))?
}

/// The one place that decides what embeds chunks and questions.
pub(super) fn embedder(
    settings: &Settings,
    built_in: Arc<dyn Embedder>,
) -> Result<Arc<dyn Embedder>, EngineError> {
    let Some(endpoint) = &settings.embedding else {
        return Ok(built_in);
    };
    let embedder = EndpointEmbedder::new(&EmbeddingEndpoint {
        base_url: endpoint.base_url.clone(),
        api_key: endpoint.api_key.clone(),
        model: endpoint.model.clone(),
    });
    Ok(Arc::new(embedder.map_err(KbError::from)?))
}

fn open(settings: &Settings, embedder: Arc<dyn Embedder>) -> Result<KnowledgeBase, EngineError> {
    let roots = roots(settings)?;
    Ok(KnowledgeBase::open(
        &roots,
        &settings.index_dir(),
        embedder,
    )?)
}

fn roots(settings: &Settings) -> Result<Vec<PathBuf>, EngineError> {
    if !settings.sources.is_empty() {
        return Ok(settings.sources.clone());
    }
    let path = settings.demo_dir();
    match demo::lay_out(&path) {
        Ok(()) => Ok(vec![path]),
        Err(source) => Err(EngineError::DataDir { path, source }),
    }
}

/// How long another process may hold the index before that is worth a word: a start that finds
/// nothing to do holds it for a moment only.
const PATIENCE: Duration = Duration::from_secs(3);
const ASK_AGAIN: Duration = Duration::from_millis(25);

/// The fast half of an update: the words can be searched; blocks. Waits a moment while another
/// process does the same, and then is [`KbError::Locked`]: what is there can be searched all the
/// same.
pub fn update_words(
    knowledge: &KnowledgeBase,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<UpdateReport, KbError> {
    patiently(stop, || knowledge.update_words(progress, stop))
}

/// The slow half: what has no vector yet is embedded.
pub fn embed_pending(
    knowledge: &KnowledgeBase,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<UpdateReport, KbError> {
    patiently(stop, || knowledge.embed_pending(progress, stop))
}

/// [`embed_pending`] that ends after some of it once `pause` is raised.
pub fn embed_some(
    knowledge: &KnowledgeBase,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
    pause: &AtomicBool,
) -> Result<UpdateReport, KbError> {
    patiently(pause, || knowledge.embed_some(progress, stop, pause))
}

fn patiently(
    stop: &AtomicBool,
    update: impl Fn() -> Result<UpdateReport, KbError>,
) -> Result<UpdateReport, KbError> {
    let asked = Instant::now();
    loop {
        match update() {
            Err(KbError::Locked) if asked.elapsed() < PATIENCE && !stop.load(Ordering::Relaxed) => {
                thread::sleep(ASK_AGAIN);
            }
            result => return result,
        }
    }
}
