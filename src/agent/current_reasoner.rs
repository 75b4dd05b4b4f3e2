//! The reasoner that a run takes when it starts, which may be replaced between two runs.

use std::sync::Arc;

use parking_lot::Mutex;

use super::ports::Reasoner;

/// A reasoner shared by the worker, which reads it, and the engine, which replaces it.
#[derive(Clone)]
pub struct CurrentReasoner(Arc<Mutex<Arc<dyn Reasoner>>>);

impl CurrentReasoner {
    /// Starts with this reasoner.
    pub fn new(reasoner: Arc<dyn Reasoner>) -> Self {
        Self(Arc::new(Mutex::new(reasoner)))
    }

    /// Replaces the reasoner for the runs that start from now on; a run in progress keeps its own.
    pub fn replace(&self, reasoner: Arc<dyn Reasoner>) {
        *self.0.lock() = reasoner;
    }

    /// Returns the reasoner that the next run uses.
    pub fn get(&self) -> Arc<dyn Reasoner> {
        Arc::clone(&self.0.lock())
    }
}
