use std::sync::Arc;

use crate::agent::ports::Embedder;
use crate::config::Settings;
use crate::kb::KnowledgeBase;

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
