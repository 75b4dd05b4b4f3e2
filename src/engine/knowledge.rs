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
    let demo_dir = settings.demo_dir();
    let roots = if settings.sources.is_empty() {
        demo::lay_out(&demo_dir).map_err(|source| EngineError::DataDir {
            path: demo_dir.clone(),
            source,
        })?;
        vec![demo_dir]
    } else {
        settings.sources.clone()
    };
    Ok(KnowledgeBase::open(
        &roots,
        &settings.index_dir(),
        embedder,
    )?)
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
