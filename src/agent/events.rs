//! The one writer of a run's stream.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use crate::protocol::{Event, EventBody, RunId, SCHEMA, Timestamp};

use super::ports::Caveat;

/// Numbers and stamps what happens, and sends it on.
///
/// Sending waits while the reader is behind: a slow screen slows the agent and nothing is lost.
/// When the reader is gone the event is dropped; what dropped it also cancels the run.
#[derive(Debug)]
pub struct EventWriter {
    run: RunId,
    next_seq: AtomicU64,
    out: mpsc::Sender<Event>,
}

impl EventWriter {
    /// A stream that begins at `seq` 0.
    pub fn new(run: RunId, out: mpsc::Sender<Event>) -> Self {
        Self {
            run,
            next_seq: AtomicU64::new(0),
            out,
        }
    }

    /// The run this stream is of.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Sends the next event.
    pub async fn emit(&mut self, body: EventBody) {
        // Mostly there is room, and to wait for it costs more than to take it.
        if let Ok(place) = self.out.try_reserve() {
            return place.send(self.next(body));
        }
        // The place is taken first: a cancelled run drops a wait, and a number must not go with it.
        let Ok(place) = self.out.reserve().await else {
            return;
        };
        place.send(self.next(body));
    }

    /// Sends what matters only now: where the reader is behind it is dropped instead of waited for.
    ///
    /// Needs no more than a shared reference, for nodes that are waiting for a port: all of a run is
    /// one task, so its events keep their order.
    pub fn emit_if_room(&self, body: EventBody) {
        if let Ok(place) = self.out.try_reserve() {
            place.send(self.next(body));
        }
    }

    fn next(&self, body: EventBody) -> Event {
        Event {
            schema: SCHEMA,
            ts: Timestamp::now(),
            run: self.run.clone(),
            seq: self.next_seq.fetch_add(1, Ordering::Relaxed),
            body,
        }
    }

    /// Sends a warning; the run goes on.
    pub async fn warn(&mut self, code: &str, message: impl Into<String>) {
        self.emit(EventBody::Warning {
            code: code.to_owned(),
            message: message.into(),
        })
        .await;
    }

    /// Sends what a port found odd.
    pub async fn caveats(&mut self, caveats: Vec<Caveat>) {
        for caveat in caveats {
            self.warn(caveat.code, caveat.message).await;
        }
    }
}
