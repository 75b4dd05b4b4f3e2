//! The events of a run, made small to be kept for as long as the program runs.

use std::sync::Arc;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use serde::{Deserialize, Serialize};

use super::{Event, EventBody, RunId, Timestamp};

/// Events of one run, as compressed JSON. What comes out is what went in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedEvents {
    run: RunId,
    bytes: Box<[u8]>,
    /// How long the JSON is.
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

/// An event without what all have in common; its moment is told from the one before.
#[derive(Serialize)]
struct Line<'e>(u32, i64, u64, &'e EventBody);

#[derive(Deserialize)]
struct ReadLine(u32, i64, u64, EventBody);

impl EventPacker {
    /// Packs these; `None` where they are not of one run or cannot be written.
    pub fn pack(&mut self, events: &[Arc<Event>]) -> Option<PackedEvents> {
        let run = events.first()?.run.clone();
        let mut before = 0_u64;
        let mut lines = Vec::with_capacity(events.len());
        for event in events {
            if event.run != run {
                return None;
            }
            let since = event.ts.0.wrapping_sub(before).cast_signed();
            before = event.ts.0;
            lines.push(Line(event.schema, since, event.seq, &event.body));
        }
        self.json.clear();
        serde_json::to_writer(&mut self.json, &lines).ok()?;
        let compress = self
            .compress
            .get_or_insert_with(|| Compress::new(Compression::fast(), false));
        compress.reset();
        self.packed.clear();
        // More than what cannot be made smaller takes.
        self.packed
            .reserve(self.json.len() + self.json.len() / 8 + 1024);
        let status = compress.compress_vec(&self.json, &mut self.packed, FlushCompress::Finish);
        let bytes = Box::from(&*self.packed);
        let length = self.json.len();
        self.bound();
        (status.ok()? == Status::StreamEnd).then_some(PackedEvents { run, bytes, length })
    }

    /// The events; `None` where they cannot be read, which does not happen to what was packed.
    pub fn unpack(&mut self, packed: &PackedEvents) -> Option<Vec<Event>> {
        let decompress = self
            .decompress
            .get_or_insert_with(|| Decompress::new(false));
        decompress.reset(false);
        self.json.clear();
        self.json.reserve(packed.length + 1);
        let finish = FlushDecompress::Finish;
        let status = decompress.decompress_vec(&packed.bytes, &mut self.json, finish);
        if status.ok()? != Status::StreamEnd {
            return None;
        }
        let lines: Vec<ReadLine> = serde_json::from_slice(&self.json).ok()?;
        self.bound();
        let mut before = 0_u64;
        let events = lines.into_iter().map(|ReadLine(schema, since, seq, body)| {
            before = before.wrapping_add(since.cast_unsigned());
            Event {
                schema,
                ts: Timestamp(before),
                run: packed.run.clone(),
                seq,
                body,
            }
        });
        Some(events.collect())
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
