//! The compound files that Office 97 to 2003 wrote: a small file system in one file.
//!
//! A part is a chain of sectors, and a chain may be made to run in a circle or to visit a sector
//! twice. No chain is followed for more sectors than the file has, so what comes out of it is
//! never larger than the file. Layout: [MS-CFB], Compound File Binary File Format.
//!
//! [MS-CFB]: https://learn.microsoft.com/en-us/openspecs/windows_protocols/ms-cfb/

use crate::kb::extract::SkipReason;

const HEADER_BYTES: usize = 512;
/// How many sectors of the allocation table the header itself names.
const IN_HEADER: usize = 109;
const ENTRY_BYTES: usize = 128;
/// A part smaller than this lies in small sectors, which lie together in the part of the root.
const SMALL_PART: usize = 4096;
const SMALL_SECTOR_BITS: u32 = 6;
/// The first of the numbers that mark instead of naming a sector.
const FIRST_MARK: u32 = 0xffff_fffa;
/// As a number of an entry: none.
const NONE: u32 = 0xffff_ffff;

/// A compound file in memory.
pub(in crate::kb::extract) struct Compound<'a> {
    bytes: &'a [u8],
    sector_bits: u32,
    /// For each sector, which comes after it.
    next: Vec<u32>,
    /// The same for the small sectors.
    next_small: Vec<u32>,
    small: Vec<u8>,
    /// The parts that lie in no folder of the file.
    parts: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    name: String,
    start: u32,
    size: usize,
    left: u32,
    right: u32,
    child: u32,
}

impl<'a> Compound<'a> {
    /// Reads the tables of the file.
    pub fn of(bytes: &'a [u8]) -> Result<Self, SkipReason> {
        if bytes.len() < HEADER_BYTES {
            return Err(damaged("it ends within its header"));
        }
        let sector_bits = u32::from(u16_at(bytes, 30));
        if !matches!(sector_bits, 9 | 12) {
            return Err(damaged("its sectors have no known size"));
        }
        let mut file = Self {
            bytes,
            sector_bits,
            next: Vec::new(),
            next_small: Vec::new(),
            small: Vec::new(),
            parts: Vec::new(),
        };
        file.next = file.allocation()?;
        let entries = file.entries()?;
        let root = entries
            .first()
            .ok_or_else(|| damaged("it lists no parts"))?;
        file.small = file.chain(root.start, root.size)?;
        file.next_small = numbers(&file.chain(u32_at(bytes, 60), usize::MAX)?);
        file.parts = tree(&entries, root.child);
        Ok(file)
    }

    /// Whether there is a part of that name outside of any folder.
    pub fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// The bytes of such a part; `None` when there is none.
    pub fn part(&self, name: &str) -> Result<Option<Vec<u8>>, SkipReason> {
        let Some(entry) = self.entry(name) else {
            return Ok(None);
        };
        let bytes = if entry.size < SMALL_PART {
            follow(
                &self.small,
                SMALL_SECTOR_BITS,
                &self.next_small,
                entry.start,
                entry.size,
            )
        } else {
            self.chain(entry.start, entry.size)
        };
        bytes.map(Some)
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.parts
            .iter()
            .find(|entry| entry.name.eq_ignore_ascii_case(name))
    }

    /// The sectors, without the header that fills the first of them.
    fn sectors(&self) -> &'a [u8] {
        self.bytes.get(1 << self.sector_bits..).unwrap_or_default()
    }

    fn chain(&self, start: u32, size: usize) -> Result<Vec<u8>, SkipReason> {
        follow(self.sectors(), self.sector_bits, &self.next, start, size)
    }

    /// The table that says which sector comes after which; it is in sectors itself, and where
    /// those are is in the header and, for large files, in a chain of its own.
    fn allocation(&self) -> Result<Vec<u32>, SkipReason> {
        let sectors = self.sectors();
        let most = (sectors.len() >> self.sector_bits) + 1;
        let sector = |at: u32| piece(sectors, self.sector_bits, at).ok_or_else(beyond);
        let mut places = numbers(&self.bytes[76..76 + IN_HEADER * 4]);
        let mut more = u32_at(self.bytes, 68);
        let mut followed = 0;
        while more < FIRST_MARK {
            followed += 1;
            if followed > most {
                return Err(circle());
            }
            let mut named = numbers(sector(more)?);
            more = named.pop().unwrap_or(NONE);
            places.extend(named);
        }
        places.retain(|place| *place < FIRST_MARK);
        if places.len() > most {
            return Err(circle());
        }
        let mut table = Vec::new();
        for place in places {
            table.extend(numbers(sector(place)?));
        }
        Ok(table)
    }

    fn entries(&self) -> Result<Vec<Entry>, SkipReason> {
        let directory = self.chain(u32_at(self.bytes, 48), usize::MAX)?;
        let wide = self.sector_bits == 12;
        let entries = directory.as_chunks::<ENTRY_BYTES>().0.iter();
        Ok(entries
            .map(|entry| {
                let name: Vec<u16> = entry[..64]
                    .as_chunks()
                    .0
                    .iter()
                    .map(|unit| u16::from_le_bytes(*unit))
                    .take_while(|unit| *unit != 0)
                    .collect();
                // Half of it may hold anything where the sectors are small.
                let high = if wide { u32_at(entry, 124) } else { 0 };
                let size = u64::from(high) << 32 | u64::from(u32_at(entry, 120));
                Entry {
                    name: String::from_utf16_lossy(&name),
                    start: u32_at(entry, 116),
                    size: usize::try_from(size).unwrap_or(usize::MAX),
                    left: u32_at(entry, 68),
                    right: u32_at(entry, 72),
                    child: u32_at(entry, 76),
                }
            })
            .collect())
    }
}

/// What is in one folder: its entries are a tree, and each is visited once.
fn tree(entries: &[Entry], top: u32) -> Vec<Entry> {
    let mut seen = vec![false; entries.len()];
    let mut open = vec![top];
    let mut found = Vec::new();
    while let Some(at) = open.pop() {
        let at = at as usize;
        let (Some(entry), Some(seen)) = (entries.get(at), seen.get_mut(at)) else {
            continue;
        };
        if !std::mem::replace(seen, true) {
            open.extend([entry.left, entry.right]);
            found.push(entry.clone());
        }
    }
    found
}

/// The bytes of a chain of sectors, at most `size`.
fn follow(
    sectors: &[u8],
    bits: u32,
    next: &[u32],
    start: u32,
    size: usize,
) -> Result<Vec<u8>, SkipReason> {
    let most = (sectors.len() >> bits) + 1;
    let mut chain = Vec::new();
    let mut at = start;
    for _ in 0..=most {
        if at >= FIRST_MARK || chain.len() >= size {
            chain.truncate(size);
            return Ok(chain);
        }
        chain.extend_from_slice(piece(sectors, bits, at).ok_or_else(beyond)?);
        at = *next.get(at as usize).ok_or_else(beyond)?;
    }
    Err(circle())
}

/// One sector; the last of a file may be cut short.
fn piece(sectors: &[u8], bits: u32, at: u32) -> Option<&[u8]> {
    let rest = sectors.get((at as usize).checked_shl(bits)?..)?;
    let piece = &rest[..rest.len().min(1 << bits)];
    (!piece.is_empty()).then_some(piece)
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    let numbers = bytes.as_chunks().0.iter();
    numbers.map(|number| u32::from_le_bytes(*number)).collect()
}

/// The bytes must be there.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The bytes must be there.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at + 2)) << 16 | u32::from(u16_at(bytes, at))
}

fn beyond() -> SkipReason {
    damaged("it ends before its parts do")
}

fn circle() -> SkipReason {
    damaged("its sectors run in a circle")
}

fn damaged(what: &str) -> SkipReason {
    SkipReason::Damaged(what.to_owned())
}
