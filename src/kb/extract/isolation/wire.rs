//! What is said between the program and the process that takes documents apart for it.
//!
//! A request: what the document is called and how long it may take, then its bytes in pieces, of which
//! an empty one is the last. The reply: what was made, and its text. Every length has a
//! bound, also what the other side says it is: it has been reading what others wrote.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use crate::kb::extract::{
    Extraction, MAX_DOCUMENT_BYTES, MAX_ENCODED_BYTES, MAX_TEXT_BYTES, SkipReason,
};

const MAX_REQUEST: usize = 64 * 1024;
const MAX_PIECE: usize = 64 * 1024;

/// Which document is to be taken apart.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ExtractRequest {
    /// The name of its file, without folders.
    pub name: String,
    /// How many bytes it has, as far as is known.
    pub size: u64,
    /// How many seconds of a processor it may take.
    pub seconds: u64,
}

/// What came of it.
pub(crate) struct ExtractReply {
    /// The text, or why there is none.
    pub extracted: Result<Extraction, SkipReason>,
    /// Whether who made it has grown too large to be asked again.
    pub is_last: bool,
}

impl ExtractRequest {
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        write_block(to, &serde_json::to_vec(self)?)
    }

    /// `None` when nothing more is asked.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        match read_block(from, MAX_REQUEST) {
            Ok(request) => Ok(Some(serde_json::from_slice(&request)?)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Sends a document from where it lies, a piece at a time, for as long as `goes_on` says so. What
/// is over `limit` is not sent: then this is how much that is at least.
pub(crate) fn write_document(
    from: &mut impl Read,
    to: &mut impl Write,
    limit: u64,
    goes_on: impl Fn() -> bool,
) -> Result<Option<u64>, Sending> {
    let mut piece = vec![0; MAX_PIECE];
    let mut sent = 0;
    loop {
        let read = match from.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(Sending::From)?,
        };
        sent += read as u64;
        if sent > limit || !goes_on() {
            return Ok(Some(sent));
        }
        write_block(to, &piece[..read]).map_err(|_| Sending::To)?;
        if read == 0 {
            to.flush().map_err(|_| Sending::To)?;
            return Ok(None);
        }
    }
}

/// Which side of a sending is broken.
pub(crate) enum Sending {
    From(io::Error),
    To,
}

/// Reads what [`write_document`] sent.
pub(crate) fn read_document(from: &mut impl Read, size: u64) -> io::Result<Vec<u8>> {
    let expected = size.min(MAX_DOCUMENT_BYTES) as usize;
    let mut document = Vec::with_capacity(expected);
    loop {
        let piece = read_block(from, MAX_PIECE)?;
        if piece.is_empty() {
            return Ok(document);
        }
        document.extend_from_slice(&piece);
        if document.len() as u64 > MAX_DOCUMENT_BYTES {
            return Err(too_long());
        }
    }
}

impl ExtractReply {
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&[u8::from(self.is_last)])?;
        write_block(to, &Extraction::encode(&self.extracted)?)?;
        let text = self
            .extracted
            .as_ref()
            .map_or("", |document| &document.text);
        write_block(to, text.as_bytes())?;
        to.flush()
    }

    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut is_last = [0];
        from.read_exact(&mut is_last)?;
        let extracted = read_block(from, MAX_ENCODED_BYTES)?;
        // The last line may have an end of its own.
        let text = read_block(from, MAX_TEXT_BYTES + 1)?;
        let broken = || io::Error::new(io::ErrorKind::InvalidData, "no answer");
        let text = String::from_utf8(text).map_err(|_| broken())?;
        Ok(Self {
            extracted: Extraction::decode(&extracted, text).ok_or_else(broken)?,
            is_last: is_last != [0],
        })
    }
}

fn write_block(to: &mut impl Write, block: &[u8]) -> io::Result<()> {
    to.write_all(&(block.len() as u64).to_le_bytes())?;
    to.write_all(block)
}

fn read_block(from: &mut impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > limit as u64 {
        return Err(too_long());
    }
    let mut block = Vec::with_capacity(length as usize);
    from.take(length).read_to_end(&mut block)?;
    if (block.len() as u64) < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(block)
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "too long")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_arrives_whole_and_what_is_over_its_limit_does_not() {
        let document = vec![7; MAX_PIECE * 2 + 5];
        let mut sent = Vec::new();
        let size = document.len() as u64;
        let over = write_document(&mut document.as_slice(), &mut sent, size, || true);
        assert!(matches!(over, Ok(None)));
        assert_eq!(read_document(&mut sent.as_slice(), 3).unwrap(), document);
        let over = write_document(&mut document.as_slice(), &mut sent, size - 1, || true);
        assert!(matches!(over, Ok(Some(_))));
    }

    #[test]
    fn a_length_is_not_believed() {
        let mut lie = vec![0];
        lie.extend(u64::MAX.to_le_bytes());
        assert!(ExtractReply::read(&mut lie.as_slice()).is_err());
        let mut cut = vec![0];
        cut.extend(1_000_000_u64.to_le_bytes());
        cut.push(b'{');
        assert!(ExtractReply::read(&mut cut.as_slice()).is_err());
    }

    #[test]
    fn what_was_made_arrives() {
        let extracted = Err(SkipReason::Encrypted);
        let mut sent = Vec::new();
        let answer = ExtractReply {
            extracted: extracted.clone(),
            is_last: true,
        };
        answer.write(&mut sent).unwrap();
        let answer = ExtractReply::read(&mut sent.as_slice()).unwrap();
        assert_eq!((answer.extracted, answer.is_last), (extracted, true));
        let nothing: &[u8] = &[];
        assert!(ExtractRequest::read(&mut { nothing }).unwrap().is_none());
    }
}
