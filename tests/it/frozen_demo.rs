//! The demo's pages as they were when the golden questions over them were written.
//!
//! The pages that the program carries may be edited without a question losing its answer here. Their
//! vectors lie beside them, so that no test waits for an embedding; after a change of how text is
//! cut, `write_the_vectors_of_the_frozen_pages` writes them anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use kb_agent::agent::ports::Embedder;
use kb_agent::embed::{BuiltInModel, Precomputed, SentenceEmbedding};
use kb_agent::kb::KnowledgeBase;
use tokio_util::sync::CancellationToken;

fn fixture(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures");
    fixtures.join(name)
}

/// The folder of the pages.
pub fn pages() -> PathBuf {
    fixture("demo-kb")
}

/// The file of their vectors.
pub fn vectors() -> PathBuf {
    fixture("demo-kb.vectors")
}

/// The same model, which is not asked for the passages of the pages.
pub fn knowing_the_pages(model: Arc<dyn Embedder>) -> Arc<dyn Embedder> {
    static VECTORS: OnceLock<&'static [u8]> = OnceLock::new();
    let vectors = VECTORS.get_or_init(|| fs::read(vectors()).unwrap().leak());
    Arc::new(Precomputed::new(model, vectors))
}

/// The pages with words and meaning indexed below `index_home`, where the program finds them too.
pub fn indexed(index_home: &Path) -> KnowledgeBase {
    let model = knowing_the_pages(Arc::new(SentenceEmbedding::new(BuiltInModel::English)));
    let base = KnowledgeBase::open(&[pages()], index_home, model).unwrap();
    base.update(&|_| {}, &CancellationToken::new()).unwrap();
    base
}
