//! The bytes of a response, within limits of silence, time and length.
//!
//! One rule holds for every body: silence for as long as the setting says ends it, and so does the
//! whole of it when it takes ten times as long. Only a stream that keeps saying something may go on,
//! and who reads it sees to that.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use tokio::time::timeout;

use super::fault::{Failure, Site};
use super::waits::CallWaits;

/// Most bytes of an error page that are read.
const ERROR_BYTES: usize = 64 * 1024;

/// Nothing arrived for as long as we were willing to wait.
pub const SILENT: &str = "sent nothing for {}";
const STOPPED: &str = "stopped in the middle of a reply and sent nothing for {}";
/// It sends a byte now and then, and comes to no end.
pub const UNFINISHED: &str = "was still sending one reply after {}";
/// It says that it is alive, and nothing else.
pub const STALLED: &str = "kept the connection alive for {} without a word";

/// Why a body is not read any further.
#[derive(Debug)]
pub enum Broken {
    /// The connection failed.
    Failed(Failure),
    /// The body is longer than allowed.
    TooMuch,
}

/// A body, with the limits on silence and length applied.
pub struct Body<'a> {
    /// `None` once it was closed.
    response: Option<Response>,
    received: usize,
    /// Whether what came was no part of the reply yet.
    pub is_unbegun: bool,
    /// Who sends it.
    pub site: &'a Site,
    /// Where waiting is reported.
    pub waits: &'a CallWaits,
    silence: Duration,
    most: usize,
}

impl<'a> Body<'a> {
    /// Wraps a response of which nothing was read yet, and of which no more than so many bytes are.
    pub fn new(
        response: Response,
        site: &'a Site,
        waits: &'a CallWaits,
        silence: Duration,
        most: usize,
    ) -> Self {
        Self {
            response: Some(response),
            received: 0,
            is_unbegun: false,
            site,
            waits,
            silence,
            most,
        }
    }

    /// How long the whole of it may take: who sends a byte now and then is alive, and may still never
    /// come to an end.
    pub fn longest(&self) -> Duration {
        self.silence.saturating_mul(10)
    }

    /// Ends the connection; nothing more comes.
    pub fn close(&mut self) {
        self.response = None;
    }

    /// The next bytes; `None` at the end.
    pub async fn next_piece(&mut self) -> Result<Option<Bytes>, Broken> {
        let Some(response) = &mut self.response else {
            return Ok(None);
        };
        let has_begun = self.received > 0 && !self.is_unbegun;
        let piece = self
            .waits
            .wait_for(self.silence, has_begun, response.chunk());
        let piece = match piece.await {
            Ok(piece) => piece.map_err(|error| self.site.transport(&error)),
            Err(_) if has_begun => Err(self.site.late(STOPPED, self.silence)),
            Err(_) => Err(self.site.late(SILENT, self.silence)),
        };
        let piece = piece.map_err(Broken::Failed)?;
        self.received += piece.as_ref().map_or(0, Bytes::len);
        if self.received > self.most {
            return Err(Broken::TooMuch);
        }
        Ok(piece)
    }

    /// All of a small body, such as a listing.
    pub async fn collect(mut self) -> Result<Vec<u8>, Failure> {
        let (site, longest) = (self.site, self.longest());
        let reading = async {
            let mut all = Vec::new();
            while let Some(piece) = self.next_piece().await? {
                all.extend_from_slice(&piece);
            }
            Ok(all)
        };
        match timeout(longest, reading).await {
            Ok(Err(Broken::Failed(failure))) => Err(failure),
            Ok(Err(Broken::TooMuch)) => Err(site.too_much()),
            Ok(Ok(all)) => Ok(all),
            Err(_) => Err(site.late(UNFINISHED, longest)),
        }
    }
}

/// The beginning of an error's body; what cannot be read of it is not missed. Its status tells most,
/// so the whole of it gets no more time than silence would.
pub async fn words_of_error(mut response: Response, silence: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    let reading = async {
        while body.len() < ERROR_BYTES {
            match response.chunk().await {
                Ok(Some(bytes)) => body.extend_from_slice(&bytes),
                _ => break,
            }
        }
    };
    let _ = timeout(silence, reading).await;
    body
}
