use tokio::sync::mpsc;

use crate::domain::Wait;

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

    /// Reports what is waited for now.
    pub fn report(&self, wait: Wait) {
        let _ = self.0.try_send(wait);
    }
}
