//! The events of a run, made small to be kept for as long as the program runs.

use std::borrow::Cow;
use std::sync::Arc;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Event, EventBody, RunId, Timestamp};

/// Events of one run, as compressed JSON. What comes out is what went in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedEvents {
    run: RunId,
    bytes: Box<[u8]>,
    /// How long the JSON is.
    length: usize,
    /// What was sent to models and came back, left out of the events above.
    prompts: Option<PackedPrompts>,
}

/// [`PromptAndReply`] of all calls of a run, as compressed JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PackedPrompts {
    bytes: Box<[u8]>,
    length: usize,
}

impl PackedEvents {
    /// How many bytes they take.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether they take none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How many bytes prompts and replies take besides.
    pub fn prompts_len(&self) -> usize {
        self.prompts
            .as_ref()
            .map_or(0, |prompts| prompts.bytes.len())
    }

    /// Leaves out prompts and replies for good, see [`Event::drop_prompts`].
    pub fn drop_prompts(&mut self) {
        self.prompts = None;
    }
}

/// Packs events, and takes them out again.
///
/// What it needs for that is made once: made for every run anew, and with what is kept in between,
/// such large pieces leave holes in memory that nothing else fills.
#[derive(Debug, Default)]
pub struct EventPacker {
    compress: Option<Compress>,
    decompress: Option<Decompress>,
    json: Vec<u8>,
    packed: Vec<u8>,
}

impl Clone for EventPacker {
    /// Nothing of it but room to work in.
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// An event without what all have in common; its moment counts from the one before.
#[derive(Serialize, Deserialize)]
struct PackedLine<'e>(u32, i64, u64, Cow<'e, EventBody>);

/// Prompt and reply of the event at this place.
#[derive(Serialize, Deserialize)]
struct PromptAndReply(usize, Option<String>, Option<String>);

impl EventPacker {
    /// Packs these; `None` where they are not of one run or cannot be written.
    pub fn pack(&mut self, events: &[Arc<Event>]) -> Option<PackedEvents> {
        let run = events.first()?.run.clone();
        let mut before = 0_u64;
        let mut prompts = Vec::new();
        let mut lines = Vec::with_capacity(events.len());
        for (at, event) in events.iter().enumerate() {
            if event.run != run {
                return None;
            }
            let since = event.ts.0.wrapping_sub(before).cast_signed();
            before = event.ts.0;
            let body = without_prompts(at, event, &mut prompts);
            lines.push(PackedLine(event.schema, since, event.seq, body));
        }
        let (bytes, length) = self.deflate(&lines)?;
        let prompts = if prompts.is_empty() {
            None
        } else {
            let (bytes, length) = self.deflate(&prompts)?;
            Some(PackedPrompts { bytes, length })
        };
        self.bound();
        Some(PackedEvents {
            run,
            bytes,
            length,
            prompts,
        })
    }

    /// The events; `None` where they cannot be read, which does not happen to what was packed.
    pub fn unpack(&mut self, packed: &PackedEvents) -> Option<Vec<Event>> {
        let lines: Vec<PackedLine<'static>> = self.inflate(&packed.bytes, packed.length)?;
        let mut before = 0_u64;
        let events = lines
            .into_iter()
            .map(|PackedLine(schema, since, seq, body)| {
                before = before.wrapping_add(since.cast_unsigned());
                Event {
                    schema,
                    ts: Timestamp(before),
                    run: packed.run.clone(),
                    seq,
                    body: body.into_owned(),
                }
            });
        let mut events: Vec<Event> = events.collect();
        if let Some(prompts) = &packed.prompts {
            let calls: Vec<PromptAndReply> = self.inflate(&prompts.bytes, prompts.length)?;
            for PromptAndReply(at, sent, received) in calls {
                if let EventBody::ModelCalled { prompt, reply, .. } = &mut events.get_mut(at)?.body
                {
                    (*prompt, *reply) = (sent, received);
                }
            }
        }
        self.bound();
        Some(events)
    }

    fn deflate(&mut self, value: &impl Serialize) -> Option<(Box<[u8]>, usize)> {
        self.json.clear();
        serde_json::to_writer(&mut self.json, value).ok()?;
        let compress = self
            .compress
            .get_or_insert_with(|| Compress::new(Compression::fast(), false));
        compress.reset();
        self.packed.clear();
        // More than what cannot be made smaller takes.
        self.packed
            .reserve(self.json.len() + self.json.len() / 8 + 1024);
        let status = compress.compress_vec(&self.json, &mut self.packed, FlushCompress::Finish);
        let is_whole = status.ok()? == Status::StreamEnd;
        is_whole.then(|| (Box::from(&*self.packed), self.json.len()))
    }

    fn inflate<T: DeserializeOwned>(&mut self, bytes: &[u8], length: usize) -> Option<T> {
        let decompress = self
            .decompress
            .get_or_insert_with(|| Decompress::new(false));
        decompress.reset(false);
        self.json.clear();
        self.json.reserve(length + 1);
        let finish = FlushDecompress::Finish;
        let status = decompress.decompress_vec(bytes, &mut self.json, finish);
        if status.ok()? != Status::StreamEnd {
            return None;
        }
        serde_json::from_slice(&self.json).ok()
    }

    /// Gives back what an unusually long run took.
    fn bound(&mut self) {
        const MOST: usize = 1 << 20;
        for room in [&mut self.json, &mut self.packed] {
            room.clear();
            room.shrink_to(MOST);
        }
    }
}

/// The body of the event, its prompt and reply moved into `prompts`.
fn without_prompts<'e>(
    at: usize,
    event: &'e Event,
    prompts: &mut Vec<PromptAndReply>,
) -> Cow<'e, EventBody> {
    if !event.holds_prompts() {
        return Cow::Borrowed(&event.body);
    }
    let mut body = event.body.clone();
    if let EventBody::ModelCalled { prompt, reply, .. } = &mut body {
        prompts.push(PromptAndReply(at, prompt.take(), reply.take()));
    }
    Cow::Owned(body)
}
