//! The bytes of a response, within limits of silence, time and length.
//!
//! One rule holds for every body: silence for as long as the setting says ends it, and so does the
//! whole of it when it takes ten times as long. Only a stream that keeps saying something may go on,
//! and who reads it sees to that.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use tokio::time::timeout;

use super::failure::{ChatSite, Failure};
use crate::agent::ports::CallWaits;

/// A token is a word at most; even runs of spaces in a vocabulary are shorter.
const TEXT_BYTES_PER_TOKEN: usize = 32;
/// Each token may come in an event of its own, with the names of model and request around it.
const WIRE_BYTES_PER_TOKEN: usize = 768;
/// What comes beside the tokens: counts, filters' verdicts, signs of life.
const WIRE_BYTES_BESIDE: usize = 128 * 1024;
/// Most bytes of an error page that are read.
const ERROR_BYTES: usize = 64 * 1024;

/// Why a body is not read any further.
#[derive(Debug)]
pub enum Broken {
    /// The connection failed.
    Failed(Failure),
    /// The body is longer than allowed.
    TooMuch,
}

/// How long and how much is waited for.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// No byte for this long is an error.
    pub silence: Duration,
    /// Tokens that were asked for.
    pub tokens: u32,
    /// Where waiting is reported.
    pub waiting: CallWaits,
}

impl Bounds {
    fn wire_bytes(&self) -> usize {
        WIRE_BYTES_BESIDE + self.tokens as usize * WIRE_BYTES_PER_TOKEN
    }

    /// How long a whole response may take.
    pub fn response_timeout(&self) -> Duration {
        crate::http::response_timeout(self.silence)
    }

    /// More text than this is no reply.
    pub fn text_bytes(&self) -> usize {
        self.tokens as usize * TEXT_BYTES_PER_TOKEN
    }
}

/// All of a small body, such as a listing.
pub async fn collect(
    response: Response,
    site: &ChatSite,
    bounds: Bounds,
) -> Result<Vec<u8>, Failure> {
    let whole = bounds.response_timeout();
    let mut body = Body::new(response, site.clone(), bounds);
    let reading = async {
        let mut all = Vec::new();
        while let Some(piece) = body.next_piece().await? {
            all.extend_from_slice(&piece);
        }
        Ok(all)
    };
    match timeout(whole, reading).await {
        Ok(Err(Broken::Failed(failure))) => Err(failure),
        Ok(Err(Broken::TooMuch)) => Err(site.too_much()),
        Ok(Ok(all)) => Ok(all),
        Err(_) => Err(site.unfinished(whole)),
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

/// A body, with the limits on silence and length applied.
pub struct Body {
    response: Option<Response>,
    received: usize,
    site: ChatSite,
    bounds: Bounds,
    /// Lines that were not taken yet.
    lines: VecDeque<String>,
    /// What came of the next line.
    begun: Vec<u8>,
    /// Whether the last line ended with a carriage return.
    is_after_return: bool,
}

impl Body {
    /// Wraps a response of which nothing was read yet.
    pub fn new(response: Response, site: ChatSite, bounds: Bounds) -> Self {
        Self {
            response: Some(response),
            received: 0,
            site,
            bounds,
            lines: VecDeque::new(),
            begun: Vec::new(),
            is_after_return: false,
        }
    }

    /// Ends the connection; nothing more comes.
    pub fn close(&mut self) {
        self.response = None;
        self.lines.clear();
        self.begun.clear();
    }

    /// Whether some of the next line has come.
    pub fn is_within_line(&self) -> bool {
        !self.begun.is_empty()
    }

    /// The next line without the white space around it; `None` at the end. A byte that is no UTF-8
    /// becomes U+FFFD.
    pub async fn next_line(&mut self) -> Result<Option<String>, Broken> {
        while self.lines.is_empty() {
            match self.next_piece().await? {
                Some(piece) => piece.into_iter().for_each(|byte| self.push(byte)),
                None if self.begun.is_empty() => return Ok(None),
                None => self.end_line(),
            }
        }
        Ok(self.lines.pop_front())
    }

    async fn next_piece(&mut self) -> Result<Option<Bytes>, Broken> {
        let Some(response) = &mut self.response else {
            return Ok(None);
        };
        let (silence, has_begun) = (self.bounds.silence, self.received > 0);
        let waiting = &self.bounds.waiting;
        let piece = match waiting.wait_for(silence, has_begun, response.chunk()).await {
            Ok(piece) => piece.map_err(|error| self.site.transport(&error)),
            Err(_) => Err(self.site.silent(silence, has_begun)),
        };
        let piece = piece.map_err(Broken::Failed)?;
        self.received += piece.as_ref().map_or(0, Bytes::len);
        if self.received > self.bounds.wire_bytes() {
            return Err(Broken::TooMuch);
        }
        Ok(piece)
    }

    fn push(&mut self, byte: u8) {
        // The second half of CR LF ends no line of its own.
        let is_second_half = byte == b'\n' && self.is_after_return;
        self.is_after_return = byte == b'\r';
        match byte {
            b'\n' if is_second_half => {}
            b'\n' | b'\r' => self.end_line(),
            other => self.begun.push(other),
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.begun);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        self.lines.push_back(line.to_owned());
    }
}
