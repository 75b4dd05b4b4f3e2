//! Documents that no program wrote.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;

use tokio_util::sync::CancellationToken;

use super::format::{kind_of, reading};
use super::isolation::extract_bytes;
use super::{Extraction, SNIFF_BYTES, decode};
use crate::fuzz::{DOCUMENT_TARGETS, packed};
use crate::kb::chunk;
use crate::kb::links::links;

/// Stack size of the fuzzing thread, the same as of a process that reads documents.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// Reads the input as documents of the target's formats: there is a text whose places lie within
/// it, or a reason.
///
/// # Panics
/// Where what is read does not hold together, or no target is called so.
pub fn document(target: &str, input: &[u8]) {
    let mut targets = DOCUMENT_TARGETS.iter();
    let target = targets.find(|own| own.name == target).expect("a target");
    let bytes = if target.is_packed {
        packed(input)
    } else {
        input.to_vec()
    };
    thread::scope(|scope| {
        let read = || target.endings.iter().for_each(|ending| one(ending, &bytes));
        let reader = thread::Builder::new().stack_size(STACK_BYTES);
        reader.spawn_scoped(scope, read).expect("a thread");
    });
}

fn one(ending: &str, bytes: &[u8]) {
    let name = format!("a.{ending}");
    let read = || {
        let head = &bytes[..bytes.len().min(SNIFF_BYTES)];
        match reading(kind_of(Path::new(&name), head)).of_lines() {
            Some((shape, readable)) => {
                let text = decode::decode(bytes.to_vec())?;
                let text = readable.map_or_else(|| text.clone(), |readable| readable(&text));
                let made = Extraction::of_text(&name, text);
                Ok(Extraction { shape, ..made })
            }
            None => extract_bytes(Path::new(&name), bytes.to_vec()),
        }
    };
    let Ok(Ok(made)) = catch_unwind(AssertUnwindSafe(read)) else {
        return;
    };
    let lines = made.text.lines().count();
    let within = |line: usize| (1..=lines + 1).contains(&line);
    assert!(made.places.iter().all(|mark| within(mark.line)));
    assert!(made.places.is_sorted_by_key(|mark| mark.line));
    let (_, chunks) = chunk(&name, &made);
    assert!(
        chunks
            .iter()
            .all(|chunk| within(chunk.lines.start) && within(chunk.lines.end))
    );
    let _ = links(&name, &made.text, &CancellationToken::new());
}
