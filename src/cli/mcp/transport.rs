//! Standard input and output as a client uses them.
//!
//! A client that closes standard input may still wait for replies, as a script does that pipes its
//! calls: what is running ends first, for as long as somebody reads standard output.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{GetExtensions, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{Stdin, Stdout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cli::interruption::output_hangup;

/// How long running calls have once nothing more is asked.
const LAST_CALLS: Duration = Duration::from_mins(1);

/// A client on the standard streams.
pub(super) struct StandardStreams {
    streams: AsyncRwTransport<RoleServer, Stdin, Stdout>,
    /// Requests that are not answered yet.
    calls: TaskTracker,
    /// Cancelled where running calls are not waited for any more.
    cancel: CancellationToken,
    /// Ends with the patience, once standard input has ended.
    patience: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl StandardStreams {
    pub(super) fn new(calls: TaskTracker, cancel: CancellationToken) -> Self {
        let (input, output) = rmcp::transport::stdio();
        Self {
            streams: AsyncRwTransport::new(input, output),
            calls,
            cancel,
            patience: None,
        }
    }
}

impl Transport<RoleServer> for StandardStreams {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.streams.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if self.patience.is_none()
            && let Some(mut message) = self.streams.receive().await
        {
            if let JsonRpcMessage::Request(request) = &mut message {
                // It goes with the request, and is dropped with it.
                let running = self.calls.token();
                request.request.extensions_mut().insert(running);
            }
            return Some(message);
        }
        self.calls.close();
        let patience = self.patience.get_or_insert_with(|| {
            Box::pin(async {
                let _ = tokio::time::timeout(LAST_CALLS, output_hangup()).await;
            })
        });
        tokio::select! {
            () = self.calls.wait() => {}
            () = patience => self.cancel.cancel(),
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.streams.close().await
    }
}
