//! The records that a workbook's stream is made of, each with those that continue it.

use crate::kb::extract::SkipReason;

const CONTINUES: u16 = 0x003c;
const HEAD_BYTES: usize = 4;

/// The records of a stream, in order.
pub(super) struct Records<'a> {
    stream: &'a [u8],
    at: usize,
}

/// A record; what is read of it has to be there.
pub(super) struct Record<'a> {
    pub kind: u16,
    data: &'a [u8],
    /// The records that continue it.
    more: &'a [u8],
}

impl<'a> Records<'a> {
    pub fn of(stream: &'a [u8]) -> Self {
        Self { stream, at: 0 }
    }

    /// How many bytes have been read.
    pub fn read(&self) -> usize {
        self.at
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, SkipReason>;

    fn next(&mut self) -> Option<Self::Item> {
        // Streams end in zeros that fill their last sector.
        let (kind, data) = match record_at(&self.stream[self.at..])? {
            (0, []) => return None,
            record => record,
        };
        if self.stream.len() - self.at - HEAD_BYTES < data.len() {
            self.at = self.stream.len();
            return Some(Err(ends()));
        }
        self.at += HEAD_BYTES + data.len();
        let more = &self.stream[self.at..];
        while let Some((CONTINUES, data)) = record_at(&self.stream[self.at..]) {
            self.at += HEAD_BYTES + data.len();
        }
        let more = &more[..more.len() - (self.stream.len() - self.at)];
        Some(Ok(Record { kind, data, more }))
    }
}

/// The record that a stream begins with; its data may be cut short.
fn record_at(stream: &[u8]) -> Option<(u16, &[u8])> {
    let (head, rest) = stream.split_first_chunk::<HEAD_BYTES>()?;
    let length = usize::from(u16::from_le_bytes([head[2], head[3]]));
    let kind = u16::from_le_bytes([head[0], head[1]]);
    Some((kind, &rest[..length.min(rest.len())]))
}

impl<'a> Record<'a> {
    /// Without those that continue it.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    pub fn u8(&self, at: usize) -> Result<u8, SkipReason> {
        Ok(u8::from_le_bytes(self.bytes(at)?))
    }

    pub fn u16(&self, at: usize) -> Result<u16, SkipReason> {
        Ok(u16::from_le_bytes(self.bytes(at)?))
    }

    pub fn u32(&self, at: usize) -> Result<u32, SkipReason> {
        Ok(u32::from_le_bytes(self.bytes(at)?))
    }

    pub fn bytes<const N: usize>(&self, at: usize) -> Result<[u8; N], SkipReason> {
        let rest = self.data.get(at..).ok_or_else(ends)?;
        rest.first_chunk().copied().ok_or_else(ends)
    }

    /// What follows a place in it, and then what continues it.
    pub fn from(&self, at: usize) -> Result<Pieces<'a>, SkipReason> {
        Ok(Pieces {
            data: self.data.get(at..).ok_or_else(ends)?,
            more: self.more,
        })
    }
}

/// The rest of a record piece by piece: where one ends, a text says anew how it goes on.
#[derive(Clone)]
pub(super) struct Pieces<'a> {
    data: &'a [u8],
    more: &'a [u8],
}

impl<'a> Pieces<'a> {
    /// Whether nothing is left in any piece.
    pub fn is_empty(&mut self) -> bool {
        while self.data.is_empty() {
            if !self.turn() {
                return true;
            }
        }
        false
    }

    /// Goes on to the next piece, if there is one.
    pub fn turn(&mut self) -> bool {
        let Some((_, data)) = record_at(self.more) else {
            return false;
        };
        self.more = &self.more[HEAD_BYTES + data.len()..];
        self.data = data;
        true
    }

    /// What is left of this piece, at most so many bytes.
    pub fn take(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.data.split_at(most.min(self.data.len()));
        self.data = rest;
        taken
    }

    /// Bytes that are never parted.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], SkipReason> {
        self.take(N).try_into().map_err(|_| ends())
    }

    /// Passes over bytes that may be parted.
    pub fn skip(&mut self, mut bytes: usize) -> Result<(), SkipReason> {
        while bytes > 0 {
            if self.is_empty() {
                return Err(ends());
            }
            bytes -= self.take(bytes).len();
        }
        Ok(())
    }
}

pub(super) fn ends() -> SkipReason {
    damaged("a record ends too early")
}

pub(super) fn damaged(what: &str) -> SkipReason {
    SkipReason::Damaged(what.to_owned())
}
