//! Texts in the cells: as bytes in the code page of the computer up to Excel 95, as Unicode since.

use encoding_rs::Encoding;

use super::record::{Pieces, Record, ends};
use crate::kb::extract::SkipReason;
use crate::kb::extract::draft::{self, MAX_TEXT_BYTES};

/// The version from which on texts are Unicode.
const UNICODE: u16 = 0x0600;
/// Two bytes a character, not one.
const WIDE: u8 = 1;
/// Marks of pronunciation follow the text.
const EXTENDED: u8 = 4;
/// Marks of style follow the text.
const RICH: u8 = 8;

/// How the texts of a workbook are written.
pub(super) struct Strings {
    /// Of texts that are not Unicode.
    encoding: &'static Encoding,
    unicode: bool,
}

impl Default for Strings {
    fn default() -> Self {
        Self {
            encoding: encoding_rs::WINDOWS_1252,
            unicode: true,
        }
    }
}

impl Strings {
    /// The version of the format, as a stream says at its beginning.
    pub fn are_of(&mut self, version: u16) {
        self.unicode = version >= UNICODE || version == 0;
    }

    /// The number of a code page.
    pub fn are_in(&mut self, page: u16) {
        self.encoding = match page {
            874 => encoding_rs::WINDOWS_874,
            932 => encoding_rs::SHIFT_JIS,
            936 => encoding_rs::GBK,
            949 => encoding_rs::EUC_KR,
            950 => encoding_rs::BIG5,
            1250 => encoding_rs::WINDOWS_1250,
            1251 => encoding_rs::WINDOWS_1251,
            1253 => encoding_rs::WINDOWS_1253,
            1254 => encoding_rs::WINDOWS_1254,
            1255 => encoding_rs::WINDOWS_1255,
            1256 => encoding_rs::WINDOWS_1256,
            1257 => encoding_rs::WINDOWS_1257,
            1258 => encoding_rs::WINDOWS_1258,
            10_000 | 0x8000 => encoding_rs::MACINTOSH,
            65_001 => encoding_rs::UTF_8,
            _ => encoding_rs::WINDOWS_1252,
        };
    }

    /// A text whose length is a byte.
    pub fn short(&self, mut pieces: Pieces<'_>) -> Result<String, SkipReason> {
        let [length] = pieces.array()?;
        self.of(&mut pieces, usize::from(length))
    }

    /// A text whose length is two bytes.
    pub fn long(&self, mut pieces: Pieces<'_>) -> Result<String, SkipReason> {
        let length = u16::from_le_bytes(pieces.array()?);
        self.of(&mut pieces, usize::from(length))
    }

    /// The code of a number format.
    pub fn format(&self, record: &Record<'_>) -> Result<String, SkipReason> {
        let code = record.from(2)?;
        if self.unicode {
            self.long(code)
        } else {
            self.short(code)
        }
    }

    fn of(&self, pieces: &mut Pieces<'_>, length: usize) -> Result<String, SkipReason> {
        if length == 0 {
            return Ok(String::new());
        }
        if self.unicode {
            let [flags] = pieces.array()?;
            let mut text = String::new();
            characters(pieces, length, flags, &mut text)?;
            return Ok(text);
        }
        Ok(self
            .encoding
            .decode_without_bom_handling(pieces.take(length))
            .0
            .into_owned())
    }
}

/// The texts that cells share, one after the other.
#[derive(Default)]
pub(super) struct SharedStrings {
    text: String,
    /// Where each ends.
    ends: Vec<u32>,
}

impl SharedStrings {
    /// Reads them all. A table that ends too early is short of what is missing.
    pub fn of(record: &Record<'_>) -> Result<Self, SkipReason> {
        let mut pieces = record.from(8)?;
        let mut shared = Self::default();
        while !pieces.is_empty() {
            if shared.add(&mut pieces).is_err() {
                break;
            }
            if shared.text.len() > MAX_TEXT_BYTES {
                return Err(draft::too_much_text());
            }
            shared.ends.push(shared.text.len() as u32);
        }
        Ok(shared)
    }

    /// The text of that number, from 0.
    pub fn text(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)? as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]) as usize;
        self.text.get(start..end)
    }

    fn add(&mut self, pieces: &mut Pieces<'_>) -> Result<(), SkipReason> {
        let length = u16::from_le_bytes(pieces.array()?);
        let [flags] = pieces.array()?;
        let styles = match flags & RICH {
            0 => 0,
            _ => u16::from_le_bytes(pieces.array()?),
        };
        let extension = match flags & EXTENDED {
            0 => 0,
            _ => u32::from_le_bytes(pieces.array()?),
        };
        characters(pieces, usize::from(length), flags, &mut self.text)?;
        pieces.skip(usize::from(styles) * 4 + extension as usize)
    }
}

/// Adds so many characters; each piece after the first says anew how wide they are.
fn characters(
    pieces: &mut Pieces<'_>,
    mut left: usize,
    mut flags: u8,
    text: &mut String,
) -> Result<(), SkipReason> {
    let mut units = Vec::new();
    loop {
        if flags & WIDE == 0 {
            units.extend(pieces.take(left).iter().map(|byte| u16::from(*byte)));
        } else {
            let pairs = pieces.take(left * 2).as_chunks().0.iter();
            units.extend(pairs.map(|unit| u16::from_le_bytes(*unit)));
        }
        if units.len() >= left {
            break;
        }
        if !pieces.turn() {
            return Err(ends());
        }
        [flags] = pieces.array()?;
        left -= units.len();
        text.push_str(&String::from_utf16_lossy(&units));
        units.clear();
    }
    text.push_str(&String::from_utf16_lossy(&units));
    Ok(())
}
