//! The bytes of a response, within limits of silence, time and length.
//!
//! One rule holds for every body: silence for as long as the setting says ends it, and so does the
//! whole of it when it takes ten times as long. Only a stream that keeps saying something may go on,
//! and who reads it sees to that.

use std::time::Duration;

use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
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
/// As much of an error page as is worth reading.
const ERROR_BYTES: usize = 64 * 1024;

/// A body in pieces.
pub type Body = BoxStream<'static, Result<Vec<u8>, Broken>>;

/// Why a body is not read any further.
#[derive(Debug)]
pub enum Broken {
    /// This went wrong.
    Failed(Failure),
    /// It went on and on.
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
    pub fn whole(&self) -> Duration {
        crate::http::whole(self.silence)
    }

    /// More text than this is no reply.
    pub fn text_bytes(&self) -> usize {
        self.tokens as usize * TEXT_BYTES_PER_TOKEN
    }
}

impl Broken {
    /// What went wrong, of that site.
    pub fn failure_at(self, site: &ChatSite) -> Failure {
        match self {
            Self::Failed(failure) => failure,
            Self::TooMuch => site.too_much(),
        }
    }
}

/// The body in pieces, with the limits on silence and length applied.
pub fn guarded(response: Response, site: ChatSite, bounds: Bounds) -> Body {
    stream::unfold(Some((response, 0_usize)), move |state| {
        let (site, bounds) = (site.clone(), bounds.clone());
        async move {
            let (mut response, received) = state?;
            let failed = |failure| Some((Err(Broken::Failed(failure)), None));
            let bytes = response.chunk();
            let waiting = &bounds.waiting;
            match waiting.wait_for(bounds.silence, received > 0, bytes).await {
                Err(_) => failed(site.silent(bounds.silence, received > 0)),
                Ok(Err(error)) => failed(site.transport(&error)),
                Ok(Ok(None)) => None,
                Ok(Ok(Some(bytes))) => {
                    let received = received + bytes.len();
                    if received > bounds.wire_bytes() {
                        return Some((Err(Broken::TooMuch), None));
                    }
                    Some((Ok(bytes.to_vec()), Some((response, received))))
                }
            }
        }
    })
    .fuse()
    .boxed()
}

/// All of a small body, such as a listing.
pub async fn collect(
    response: Response,
    site: &ChatSite,
    bounds: Bounds,
) -> Result<Vec<u8>, Failure> {
    let whole = bounds.whole();
    let body = guarded(response, site.clone(), bounds);
    let all = body.try_fold(Vec::new(), |mut all, bytes| async move {
        all.extend_from_slice(&bytes);
        Ok(all)
    });
    match timeout(whole, all).await {
        Ok(all) => all.map_err(|broken| broken.failure_at(site)),
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

/// A body line by line.
pub struct Lines {
    body: Body,
    /// What came and is no line yet, from `start` on.
    begun: Vec<u8>,
    start: usize,
    /// Up to here it holds no end of a line.
    searched: usize,
    /// Whether the last line ended with a carriage return.
    is_after_return: bool,
}

impl Lines {
    /// The lines of this body.
    pub fn of(body: Body) -> Self {
        Self {
            body,
            begun: Vec::new(),
            start: 0,
            searched: 0,
            is_after_return: false,
        }
    }

    /// No lines.
    pub fn none() -> Self {
        Self::of(stream::empty().boxed())
    }

    /// Whether some of the next line has come.
    pub fn is_within_line(&self) -> bool {
        self.start < self.begun.len()
    }

    /// The next line without the white space around it; `None` at the end. A byte that is no UTF-8
    /// becomes U+FFFD.
    pub async fn next(&mut self) -> Result<Option<String>, Broken> {
        let line = loop {
            let end = memchr::memchr2(b'\n', b'\r', &self.begun[self.searched..]);
            if let Some(end) = end {
                let end = self.searched + end;
                let line = &self.begun[self.start..end];
                // The second half of CR LF ends no line of its own.
                let is_second_half =
                    line.is_empty() && self.is_after_return && self.begun[end] == b'\n';
                self.is_after_return = self.begun[end] == b'\r';
                self.start = end + 1;
                self.searched = self.start;
                if is_second_half {
                    continue;
                }
                break line;
            }
            self.begun.drain(..self.start);
            self.start = 0;
            self.searched = self.begun.len();
            match self.body.next().await {
                Some(piece) => self.begun.extend(piece?),
                None if self.begun.is_empty() => return Ok(None),
                None => {
                    self.start = self.begun.len();
                    self.searched = self.start;
                    break &self.begun[..];
                }
            }
        };
        let line = String::from_utf8_lossy(line);
        let line = line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        Ok(Some(line.to_owned()))
    }
}
