use std::sync::{Arc, Mutex, PoisonError};

use super::ports::Reasoner;

/// What thinks from the next question on, shared with who may put another in its place.
#[derive(Clone)]
pub struct CurrentReasoner(Arc<Mutex<Arc<dyn Reasoner>>>);

impl CurrentReasoner {
    /// This one.
    pub fn new(reasoner: Arc<dyn Reasoner>) -> Self {
        Self(Arc::new(Mutex::new(reasoner)))
    }

    /// From now on this one; a run that goes on keeps its own.
    pub fn replace(&self, reasoner: Arc<dyn Reasoner>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = reasoner;
    }

    /// What it is now.
    pub fn get(&self) -> Arc<dyn Reasoner> {
        let current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }
}
