//! Makes a PDF harmless before it is read.
//!
//! The reading library trusts what it reads: it unpacks whatever is packed, follows references
//! for as long as they go on, and draws what is drawn. So the packed parts are unpacked once for
//! nothing and counted; forms that contain themselves are emptied; and pages and forms are cut down
//! to the operations that show text, which also keeps away whatever colours, patterns and pictures
//! could do.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use flate2::read::ZlibDecoder;
use memchr::memmem;
use pdf_extract::content::Content;
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream};

use crate::kb::extract::SkipReason;

mod forms;

use forms::{Form, MAX_DRAWN, MAX_NAMES, drawn, excessive, referred};

const MEGABYTE: usize = 1024 * 1024;
/// Of all packed parts that are no pictures.
const MAX_UNPACKED: usize = 256 * MEGABYTE;
/// Of the parts that hold other parts: each byte of them costs a hundred.
const MAX_OBJECTS: usize = 24 * MEGABYTE;
/// Of what one page or form draws.
const MAX_CONTENT: usize = 16 * MEGABYTE;
/// Of the words of that: each is kept with its state.
const MAX_WORDS: usize = 1_000_000;
/// Folders of pages within folders of pages.
const MAX_PAGE_TREE: usize = 64;
/// How far before a stream its description is looked for.
const DESCRIPTION: usize = 4096;

/// What text is made of; `Do` draws a form.
const TEXT: &[&str] = &[
    "BT", "ET", "Tf", "Td", "TD", "Tm", "T*", "Tj", "TJ", "'", "\"", "Tc", "Tw", "Tz", "TL", "Ts",
    "Tr", "q", "Q", "cm", "Do",
];

/// How much each stream unpacks to.
pub(super) type Sizes = HashMap<ObjectId, usize>;

/// Whether the parts that are unpacked while a file is opened stay within bounds. The file's own
/// table of contents is one of them, so they are looked for from the beginning to the end.
pub(super) fn check_packed(bytes: &[u8]) -> Result<(), SkipReason> {
    let (mut all, mut objects) = (0, 0);
    for at in memmem::find_iter(bytes, b"stream") {
        let begins = bytes[..at].ends_with(b"end");
        let description = &bytes[at.saturating_sub(DESCRIPTION)..at];
        let from = memmem::rfind(description, b"obj").unwrap_or(0);
        let description = &description[from..];
        let says = |word: &[u8]| memmem::find(description, word).is_some();
        if begins || says(b"/Image") {
            continue;
        }
        let content = bytes[at + b"stream".len()..].trim_ascii_start();
        let left = (MAX_UNPACKED - all) as u64;
        let unpacked = inflated(content, left);
        all += unpacked;
        if says(b"/ObjStm") || says(b"/XRef") {
            objects += unpacked;
        }
        if all >= MAX_UNPACKED || objects > MAX_OBJECTS {
            return Err(SkipReason::UnpacksTooMuch(format!(
                "the limit is {} MB",
                MAX_UNPACKED / MEGABYTE
            )));
        }
    }
    Ok(())
}

/// Empties pictures, reduces forms to their text, and says how large everything else is.
pub(super) fn streams(pdf: &mut Document) -> Sizes {
    let mut sizes = Sizes::new();
    let mut forms: BTreeMap<ObjectId, Form> = BTreeMap::new();
    let mut names = 0;
    let referred = referred(pdf);
    let ids: Vec<ObjectId> = pdf.objects.keys().copied().collect();
    for id in ids {
        let Some(Object::Stream(stream)) = pdf.objects.get(&id) else {
            continue;
        };
        let subtype = stream.dict.get_deref(b"Subtype", pdf);
        let subtype = subtype.and_then(Object::as_name).map(<[u8]>::to_vec);
        let drawn = drawn(pdf, &stream.dict);
        let Some(Object::Stream(stream)) = pdf.objects.get_mut(&id) else {
            continue;
        };
        let subtype = subtype.unwrap_or_default();
        let size = unpacked_size(stream);
        if subtype == b"Image" || size > MAX_CONTENT {
            empty(stream);
            continue;
        }
        sizes.insert(id, size);
        if subtype == b"Form" || referred.contains(&id) {
            let content = match stream.decompressed_content() {
                Ok(content) => content,
                Err(_) => stream.content.clone(),
            };
            names += drawn.as_ref().map_or(0, Vec::len);
            let drawn = drawn.filter(|_| names <= MAX_NAMES);
            let (text, uses) = text_only(&content, drawn.is_some()).unwrap_or_default();
            empty(stream);
            stream.set_content(text);
            let drawn = drawn.unwrap_or_default();
            forms.insert(id, Form { draws: uses, drawn });
        }
    }
    for id in excessive(&forms) {
        if let Some(Object::Stream(stream)) = pdf.objects.get_mut(&id) {
            empty(stream);
        }
    }
    sizes
}

/// Reduces a page to its text; `None` when it is not fit to be read.
pub(super) fn page(pdf: &mut Document, page: ObjectId, sizes: &Sizes) -> Option<()> {
    let has_size = inherits(pdf, page)?;
    let size: usize = pdf
        .get_page_contents(page)
        .iter()
        .map(|id| sizes.get(id).copied().unwrap_or(0))
        .sum();
    if size > MAX_CONTENT {
        return None;
    }
    let content = pdf.get_page_content(page).ok()?;
    let (mut text, draws) = text_only(&content, true)?;
    if draws > MAX_DRAWN {
        (text, _) = text_only(&content, false)?;
    }
    let shown = pdf.add_object(Stream::new(Dictionary::new(), text));
    let dict = pdf.get_dictionary_mut(page).ok()?;
    dict.set("Contents", Object::Reference(shown));
    if !has_size {
        // Letter; it only tells where the top of the page is.
        dict.set("MediaBox", [0, 0, 612, 792].map(Object::from).to_vec());
    }
    Some(())
}

/// Forgets what [`page`] made.
pub(super) fn release(pdf: &mut Document, page: ObjectId) {
    let shown = pdf.get_page_contents(page);
    if let [shown] = shown.as_slice() {
        pdf.objects.remove(shown);
    }
}

/// Whether the page or a folder above it says how large it is; `None` when the folders have no
/// end.
fn inherits(pdf: &Document, page: ObjectId) -> Option<bool> {
    let mut has_size = false;
    let mut dict = pdf.get_dictionary(page).ok()?;
    for _ in 0..MAX_PAGE_TREE {
        has_size |= dict.has(b"MediaBox");
        let Ok(parent) = dict.get(b"Parent").and_then(Object::as_reference) else {
            return Some(has_size);
        };
        let Ok(above) = pdf.get_dictionary(parent) else {
            return Some(has_size);
        };
        dict = above;
    }
    None
}

/// The operations that show text, and how many of them draw a form. A form without names of its own uses those of the content that draws it,
/// so what it would draw is unknown: then it draws nothing.
fn text_only(content: &[u8], may_draw: bool) -> Option<(Vec<u8>, usize)> {
    let words = content.split(u8::is_ascii_whitespace);
    if words
        .filter(|word| !word.is_empty())
        .nth(MAX_WORDS)
        .is_some()
    {
        return None;
    }
    let mut content = Content::decode(content).ok()?;
    content.operations.retain(|operation| {
        let name = operation.operator.as_str();
        TEXT.contains(&name) && (may_draw || name != "Do")
    });
    let draws = content.operations.iter();
    let draws = draws.filter(|operation| operation.operator == "Do").count();
    Some((content.encode().ok()?, draws))
}

fn empty(stream: &mut Stream) {
    stream.dict.remove(b"Filter");
    stream.dict.remove(b"DecodeParms");
    stream.set_content(Vec::new());
}

/// How much comes out of a stream: counted, not believed. More than is allowed where it
/// cannot be counted.
fn unpacked_size(stream: &Stream) -> usize {
    let filters: Vec<Vec<u8>> = stream
        .filters()
        .map(|filters| filters.into_iter().map(<[u8]>::to_vec).collect())
        .unwrap_or_default();
    let packings = filters
        .iter()
        .filter(|filter| matches!(filter.as_slice(), b"FlateDecode" | b"LZWDecode"))
        .count();
    if packings > 1 {
        return usize::MAX;
    }
    let mut content = stream.content.clone();
    for filter in filters {
        match filter.as_slice() {
            b"FlateDecode" => return inflated(&content, MAX_CONTENT as u64 + 1),
            b"LZWDecode" => return lzw_size(&content),
            b"ASCII85Decode" => {
                let mut dict = Dictionary::new();
                dict.set("Filter", Object::Name(b"ASCII85Decode".to_vec()));
                let packed = Stream::new(dict, content);
                content = packed.decompressed_content().unwrap_or_default();
            }
            // The library does not unpack it either.
            _ => break,
        }
    }
    content.len()
}

/// Counts what comes out, up to `limit`. Also where the checksum or the header is broken, since
/// the library reads those too.
fn inflated(content: &[u8], limit: u64) -> usize {
    let mut buffer = vec![0; 32 * 1024];
    let mut count = |source: &mut dyn Read| {
        let mut unpacked = 0;
        while let Ok(read) = source.read(&mut buffer) {
            if read == 0 || unpacked as u64 >= limit {
                break;
            }
            unpacked += read;
        }
        unpacked
    };
    let unpacked = count(&mut ZlibDecoder::new(content).take(limit));
    if unpacked > 0 || content.len() < 3 {
        return unpacked;
    }
    count(&mut flate2::read::DeflateDecoder::new(&content[2..]).take(limit))
}

/// The length of what LZW unpacks to. A code stands for a known run or for the last one and one
/// byte more, so the lengths are all that has to be kept.
fn lzw_size(content: &[u8]) -> usize {
    const CLEAR: usize = 256;
    const END: usize = 257;
    let mut lengths: Vec<usize> = Vec::new();
    let mut last: Option<usize> = None;
    let (mut bits, mut have, mut width, mut total) = (0_u32, 0_u32, 9_u32, 0_usize);
    for &byte in content {
        bits = (bits << 8) | u32::from(byte);
        have += 8;
        if have < width {
            continue;
        }
        let code = ((bits >> (have - width)) & ((1 << width) - 1)) as usize;
        have -= width;
        match code {
            CLEAR => {
                lengths.clear();
                last = None;
                width = 9;
                continue;
            }
            END => break,
            _ => {}
        }
        let length = match code {
            0..CLEAR => 1,
            code => lengths
                .get(code - END - 1)
                .copied()
                .or(last.map(|n| n + 1))
                .unwrap_or(1),
        };
        total += length;
        if total > MAX_CONTENT {
            break;
        }
        if let Some(before) = last
            && lengths.len() < 4096 - END - 1
        {
            lengths.push(before + 1);
        }
        last = Some(length);
        // The width grows one code early, as PDF does unless it says otherwise.
        width = match lengths.len() + END + 2 {
            0..512 => 9,
            512..1024 => 10,
            1024..2048 => 11,
            _ => 12,
        };
    }
    total
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn deflated(bytes: usize) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        let zeros = vec![0; MEGABYTE];
        for _ in 0..bytes / MEGABYTE {
            encoder.write_all(&zeros).unwrap();
        }
        encoder.finish().unwrap()
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused_before_it_is_opened() {
        let bomb = |kind: &str, megabytes: usize| {
            let mut pdf = format!("%PDF-1.5\n1 0 obj\n<</Type/{kind}>>\nstream\n").into_bytes();
            pdf.extend(deflated(megabytes * MEGABYTE));
            pdf.extend(b"\nendstream\nendobj\n");
            check_packed(&pdf)
        };
        assert!(bomb("ObjStm", 32).is_err());
        assert!(bomb("Metadata", 32).is_ok());
    }

    #[test]
    fn packed_twice_and_circles_are_known() {
        let mut dict = Dictionary::new();
        let flate = || Object::Name(b"FlateDecode".to_vec());
        dict.set("Filter", vec![flate(), flate()]);
        assert_eq!(unpacked_size(&Stream::new(dict, Vec::new())), usize::MAX);
        let id = |n| (n, 0);
        let form = |draws, drawn| Form { draws, drawn };
        let forms = BTreeMap::from([
            (id(1), form(1, vec![id(2)])),
            (id(2), form(2, vec![id(3), id(4)])),
            (id(3), form(1, vec![id(1)])),
            (id(4), form(0, vec![])),
        ]);
        assert_eq!(excessive(&forms), [id(1)]);
        let chain = (1..=40).map(|n| (id(n), form(1, vec![id(n + 1)])));
        assert_eq!(excessive(&chain.collect()).len(), 1);
        let tenfold = (1..=6).map(|n| (id(n), form(10, vec![id(n + 1)])));
        assert_eq!(excessive(&tenfold.collect()).len(), 1);
    }

    #[test]
    fn what_is_drawn_without_a_type_is_a_form() {
        let mut pdf = Document::new();
        let id = pdf.new_object_id();
        let mut objects = Dictionary::new();
        objects.set("X", Object::Reference(id));
        let mut names = Dictionary::new();
        names.set("XObject", objects);
        let mut dict = Dictionary::new();
        dict.set("Resources", names);
        let stream = Stream::new(dict, b"/X Do".to_vec());
        pdf.objects.insert(id, Object::Stream(stream));
        streams(&mut pdf);
        let stream = pdf.get_object(id).and_then(Object::as_stream).unwrap();
        assert!(stream.content.is_empty());
    }

    #[test]
    fn lzw_is_counted() {
        // The example of the PDF reference (7.4.4.2): 45 45 45 45 45 65 45 45 45 66.
        let packed = [0x80, 0x0b, 0x60, 0x50, 0x22, 0x0c, 0x0c, 0x85, 0x01];
        assert_eq!(lzw_size(&packed), 10);
    }
}
