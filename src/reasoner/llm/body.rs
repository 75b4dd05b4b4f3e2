//! The bytes of a response, within limits of silence, time and length.
//!
//! One rule holds for every body: silence for as long as the setting says ends it, and so does the
//! whole of it when it takes ten times as long. Only a stream that keeps saying something may go on,
//! and who reads it sees to that.

use std::time::Duration;

use encoding_rs::UTF_8;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
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
    .boxed()
}

/// All of a small body, such as a listing.
pub async fn collect(
    response: Response,
    site: &ChatSite,
    bounds: Bounds,
) -> Result<Vec<u8>, Failure> {
    let whole = bounds.whole();
    let all = all_of(guarded(response, site.clone(), bounds), site);
    let in_time = timeout(whole, all).await;
    in_time.unwrap_or_else(|_| Err(site.unfinished(whole)))
}

/// The rest of a body.
pub async fn all_of(mut body: Body, site: &ChatSite) -> Result<Vec<u8>, Failure> {
    let mut all = Vec::new();
    while let Some(bytes) = body.next().await {
        all.extend_from_slice(&bytes.map_err(|broken| broken.failure_at(site))?);
    }
    Ok(all)
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

/// The same body in whole characters of UTF-8: a byte that is none becomes U+FFFD, and a character
/// that comes in two pieces is in the second.
pub fn readable(body: Body) -> Body {
    let mut decoder = UTF_8.new_decoder_without_bom_handling();
    body.map(move |piece| {
        piece.map(|bytes| {
            let most = decoder.max_utf8_buffer_length(bytes.len());
            let mut text = String::with_capacity(most.unwrap_or(bytes.len() * 3));
            let _ = decoder.decode_to_string(&bytes, &mut text, false);
            text.into_bytes()
        })
    })
    .boxed()
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The first byte that is neither white space nor of a byte order mark, once it is known.
pub fn first_sign(start: &[u8]) -> Option<u8> {
    let text = after_marks(start);
    let cut_mark = BOM.starts_with(text);
    text.first().copied().filter(|_| !cut_mark)
}

/// What follows leading white space and byte order marks.
pub fn after_marks(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes.trim_ascii_start();
    while let Some(after) = rest.strip_prefix(BOM) {
        rest = after.trim_ascii_start();
    }
    rest
}
