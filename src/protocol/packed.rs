//! The events of a run, made small to be kept for as long as the screen is open.

use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Event, EventBody};

/// Events of one run, as compressed JSON. What comes out is what went in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedEvents {
    events: Box<[u8]>,
    /// What was sent to models and came back, left out of the events; the longest part by far.
    prompts: Option<Box<[u8]>>,
}

/// Prompt and reply of the event at this place.
#[derive(Serialize, Deserialize)]
struct PromptAndReply(usize, Option<String>, Option<String>);

impl PackedEvents {
    /// Packs events; `None` where they cannot be written.
    pub fn pack(events: &[Arc<Event>]) -> Option<Self> {
        let mut prompts = Vec::new();
        let mut bare = Vec::with_capacity(events.len());
        for (at, event) in events.iter().enumerate() {
            let mut event = Cow::Borrowed(&**event);
            if event.holds_prompts()
                && let EventBody::ModelCalled { prompt, reply, .. } = &mut event.to_mut().body
            {
                prompts.push(PromptAndReply(at, prompt.take(), reply.take()));
            }
            bare.push(event);
        }
        Some(Self {
            events: deflate(&bare)?,
            prompts: (!prompts.is_empty()).then(|| deflate(&prompts)).flatten(),
        })
    }

    /// The events; `None` where they cannot be read, which does not happen to what was packed.
    pub fn unpack(&self) -> Option<Vec<Event>> {
        let mut events: Vec<Event> = inflate(&self.events)?;
        let prompts = self.prompts.as_deref().map(inflate::<Vec<PromptAndReply>>);
        for PromptAndReply(at, sent, received) in prompts.flatten().into_iter().flatten() {
            if let EventBody::ModelCalled { prompt, reply, .. } = &mut events.get_mut(at)?.body {
                (*prompt, *reply) = (sent, received);
            }
        }
        Some(events)
    }

    /// How many bytes prompts and replies take.
    pub fn prompts_len(&self) -> usize {
        self.prompts.as_ref().map_or(0, |prompts| prompts.len())
    }

    /// Leaves out prompts and replies for good, see [`Event::drop_prompts`].
    pub fn drop_prompts(&mut self) {
        self.prompts = None;
    }

    /// How many bytes the other events take.
    #[cfg(test)]
    pub fn events_len(&self) -> usize {
        self.events.len()
    }
}

fn deflate(value: &impl Serialize) -> Option<Box<[u8]>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    serde_json::to_writer(&mut encoder, value).ok()?;
    Some(encoder.finish().ok()?.into())
}

fn inflate<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let mut json = Vec::new();
    DeflateDecoder::new(bytes).read_to_end(&mut json).ok()?;
    serde_json::from_slice(&json).ok()
}
