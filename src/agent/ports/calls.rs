use crate::domain::Wait;
use parking_lot::Mutex;
use tokio::sync::mpsc;

/// One call of a model, from its first request to its end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelCall {
    /// Which model.
    pub model: String,
    /// Milliseconds.
    pub ms: f64,
    /// Tokens sent, where they are known.
    pub prompt_tokens: Option<u64>,
    /// Tokens received, where they are known.
    pub completion_tokens: Option<u64>,
    /// Requests made after the first.
    pub retries: u32,
    /// What the last request said.
    pub prompt: String,
    /// What came back; `None` where nothing did that could be used.
    pub reply: Option<String>,
}

/// The calls of one run that an engine noted and that were not taken yet.
#[derive(Debug, Default)]
pub struct CallLog(Mutex<Vec<ModelCall>>);

impl CallLog {
    /// Notes a call that ended.
    pub fn note(&self, call: ModelCall) {
        self.0.lock().push(call);
    }

    /// Takes what was noted, oldest first.
    pub fn take(&self) -> Vec<ModelCall> {
        std::mem::take(&mut self.0.lock())
    }
}

/// Waits that may be reported before the agent looks.
const IN_FLIGHT: usize = 16;

/// Where an engine reports what its call waits for. Reporting never waits itself: what is not read in
/// time is dropped, and the next line says more.
#[derive(Debug, Clone)]
pub struct WaitSink(mpsc::Sender<Wait>);

impl WaitSink {
    /// A sink, and where what goes into it comes out.
    pub fn new() -> (Self, mpsc::Receiver<Wait>) {
        let (sink, waits) = mpsc::channel(IN_FLIGHT);
        (Self(sink), waits)
    }

    /// The channel behind it, for code that knows waits and no engine.
    pub fn sender(&self) -> &mpsc::Sender<Wait> {
        &self.0
    }

    /// Reports what is waited for now.
    pub fn report(&self, wait: Wait) {
        let _ = self.0.try_send(wait);
    }
}
