use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::agent::ports::Embedder;
use crate::config::Settings;
use crate::kb::{KbError, KnowledgeBase, Progress, UpdateReport};

use super::{EngineError, demo};

/// Opens the knowledge base that the settings name; the bundled demo when they name none.
pub fn open_knowledge(
    settings: &Settings,
    embedder: Arc<dyn Embedder>,
) -> Result<KnowledgeBase, EngineError> {
    let roots = roots(settings)?;
    let home = settings.index_dir();
    Ok(KnowledgeBase::open(&roots, &home, embedder)?)
}

/// The same for somebody who is going to rebuild it: a damaged index does not stand in the way.
pub fn open_knowledge_for_rebuild(
    settings: &Settings,
    embedder: Arc<dyn Embedder>,
) -> Result<KnowledgeBase, EngineError> {
    let roots = roots(settings)?;
    let home = settings.index_dir();
    Ok(KnowledgeBase::open_for_rebuild(&roots, &home, embedder)?)
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

/// Brings the index up to date; blocks. Waits a moment while another process does the same, and
/// then is [`KbError::Locked`]: what is there can be searched all the same.
pub fn update_knowledge(
    knowledge: &KnowledgeBase,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<UpdateReport, KbError> {
    let asked = Instant::now();
    loop {
        match knowledge.update(progress, stop) {
            Err(KbError::Locked) if asked.elapsed() < PATIENCE && !stop.load(Ordering::Relaxed) => {
                thread::sleep(ASK_AGAIN);
            }
            result => return result,
        }
    }
}
