//! What a client is told while its call goes on, where it asked to be told.

use std::sync::atomic::{AtomicU32, Ordering};

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};

use crate::text::one_line;

/// The longest line that is sent, in characters.
const LONGEST: usize = 200;

/// Tells a client how far its call is.
pub(super) struct ProgressReporter {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    told: AtomicU32,
}

impl ProgressReporter {
    /// The token of that call.
    pub(super) fn new(context: &RequestContext<RoleServer>) -> Self {
        Self {
            peer: context.peer.clone(),
            token: context.meta.get_progress_token(),
            told: AtomicU32::new(0),
        }
    }

    /// Tells the next step. Nobody knows how many there will be: a number only says that they get on.
    pub(super) async fn tell(&self, line: &str) {
        let Some(token) = self.token.clone() else {
            return;
        };
        let count = self.told.fetch_add(1, Ordering::Relaxed) + 1;
        let step = ProgressNotificationParam::new(token, f64::from(count));
        let step = step.with_message(one_line(line, LONGEST));
        // A client that is gone is told nothing; that ends the call elsewhere.
        let _ = self.peer.notify_progress(step).await;
    }
}
