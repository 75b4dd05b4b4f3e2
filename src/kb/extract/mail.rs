//! Mail: who wrote what to whom and when, the text, and the text of what was attached.

use std::io::Cursor;
use std::path::Path;

use encoding_rs::Encoding;
use mail_parser::mailbox::mbox::MessageIterator;
use mail_parser::{Address, Message, MessageParser, MessagePart, MimeHeaders, PartType};
use msg_parser::{Outlook, Person};
use office_oxide::cfb::CfbReader;

use super::decode::decode;
use super::draft::Draft;
use super::{Extraction, SkipReason, TextLayout, html};
use crate::domain::PlaceUnit;
use crate::text::plural;

/// Messages within messages are read down to here.
const MAX_DEPTH: usize = 3;
/// An attached text that is longer is data.
const MAX_ATTACHED_BYTES: usize = 256 * 1024;
/// A page that says so many times more than the text beside it is what was meant.
const PAGE_SAYS_MORE: usize = 4;

/// Reads one message.
pub(crate) fn document(_: &Path, bytes: Vec<u8>) -> Result<Extraction, SkipReason> {
    let bytes = match Encoding::for_bom(&bytes) {
        Some((encoding, _)) if encoding != encoding_rs::UTF_8 => decode(bytes)?.into_bytes(),
        _ => bytes,
    };
    let message = parse(without_count(&bytes)).ok_or_else(|| {
        SkipReason::Damaged("it is not a mail: it has no sender, subject or date".to_owned())
    })?;
    let mut draft = Draft::default();
    write_message(&mut draft, &message, 0)?;
    let title = message.subject().map(str::to_owned);
    draft.finish(TextLayout::Plain, title, "it is empty")
}

/// Apple's mail program writes the count of a message's bytes before it, and what it knows of the
/// message after it.
fn without_count(bytes: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'\n', bytes).unwrap_or(0);
    let first = std::str::from_utf8(&bytes[..end]).unwrap_or_default();
    match first.trim().parse::<usize>() {
        Ok(count) => &bytes[end + 1..][..count.min(bytes.len() - end - 1)],
        Err(_) => bytes,
    }
}

fn parse(bytes: &[u8]) -> Option<Message<'_>> {
    let message = MessageParser::default().parse(bytes)?;
    let is_one =
        message.from().is_some() || message.subject().is_some() || message.date().is_some();
    is_one.then_some(message)
}

/// Reads a mailbox, message by message.
pub(crate) fn mailbox(_: &Path, bytes: &[u8]) -> Result<Extraction, SkipReason> {
    let mut draft = Draft::default();
    let mut broken = 0;
    let bytes = with_escaped_lines(bytes);
    for (at, message) in MessageIterator::new(bytes.as_slice()).enumerate() {
        let contents = message?.unwrap_contents();
        let Some(message) = parse(&contents) else {
            broken += 1;
            continue;
        };
        draft.part();
        draft.begin(PlaceUnit::Message, message.subject(), at + 1);
        write_message(&mut draft, &message, 0)?;
        if draft.is_full() {
            break;
        }
    }
    if broken > 0 {
        let messages = plural(broken, "message");
        draft.note_missing(format!("{messages} without sender, subject and date"));
    }
    draft.finish(TextLayout::Plain, None, "it holds no messages")
}

/// The same mailbox; a line that begins with `From ` and names no year is no beginning of a message.
fn with_escaped_lines(bytes: &[u8]) -> Vec<u8> {
    let names_year = |line: &[u8]| {
        let mut words = line.trim_ascii().split(|byte| *byte == b' ');
        words.any(|word| word.len() == 4 && word.iter().all(u8::is_ascii_digit))
    };
    let mut escaped = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"From ") && !names_year(line) {
            escaped.push(b'>');
        }
        escaped.extend_from_slice(line);
    }
    escaped
}

/// Reads a page that a browser saved with all its parts (MHTML, RFC 2557).
pub(crate) fn saved_page(name: &Path, bytes: &[u8]) -> Result<Extraction, SkipReason> {
    let parsed = MessageParser::default().parse(bytes);
    let page = parsed
        .iter()
        .flat_map(|message| &message.parts)
        .find_map(|part| match &part.body {
            PartType::Html(page) => Some(page),
            _ => None,
        });
    let page = page.ok_or_else(|| SkipReason::Damaged("there is no page in it".to_owned()))?;
    html::document(name, page)
}

/// Reads a message of Outlook.
pub(crate) fn outlook(bytes: &[u8]) -> Result<Extraction, SkipReason> {
    let mut message =
        Outlook::from_slice(bytes).map_err(|error| SkipReason::Damaged(error.to_string()))?;
    fill_from_code_pages(&mut message, bytes);
    let mut draft = Draft::default();
    write_outlook(&mut draft, &message, 0)?;
    let title = Some(message.subject.clone());
    draft.finish(TextLayout::Plain, title, "it is empty")
}

/// Older programs write text in the code page of their machine, which the parser leaves out where
/// it is not UTF-8.
fn fill_from_code_pages(message: &mut Outlook, bytes: &[u8]) {
    let Ok(mut parts) = CfbReader::new(Cursor::new(bytes)) else {
        return;
    };
    for (property, value) in [
        ("0037", &mut message.subject),
        ("0C1A", &mut message.sender.name),
        ("1000", &mut message.body),
        ("1013", &mut message.html),
    ] {
        let part = format!("__substg1.0_{property}001E");
        if value.trim().is_empty()
            && let Ok(bytes) = parts.open_stream_by_path(&part)
            && let Ok(text) = decode(bytes)
        {
            text.trim_end_matches('\0').clone_into(value);
        }
    }
}

fn write_outlook(draft: &mut Draft, message: &Outlook, depth: usize) -> Result<(), SkipReason> {
    let people = |people: &[Person]| {
        let named = people.iter().map(person);
        named.collect::<Vec<_>>().join(", ")
    };
    let date = [
        &message.client_submit_time,
        &message.message_delivery_time,
        &message.headers.date,
    ];
    let date = date.into_iter().find(|date| !date.is_empty());
    draft.part();
    write_head(
        draft,
        [
            ("Subject", Some(message.subject.clone())),
            ("From", Some(person(&message.sender))),
            ("To", Some(people(&message.to))),
            ("Cc", Some(people(&message.cc))),
            ("Bcc", Some(people(&message.bcc))),
            ("Date", date.cloned()),
        ],
    );
    let page = unhexed(&message.html).or_else(|| message.html_from_rtf());
    let page = page.map(|page| html::to_markdown(&page)).transpose()?;
    let page = page.map_or_else(String::new, |(markdown, _)| markdown);
    draft.push_apart(better_of(&message.body, &page));
    for attachment in &message.attachments {
        let names = [
            &attachment.long_file_name,
            &attachment.file_name,
            &attachment.display_name,
        ];
        let name = names.into_iter().find(|name| !name.is_empty());
        let name = name.map_or("without a name", String::as_str);
        if depth < MAX_DEPTH
            && let Some(Ok(inner)) = attachment.as_message()
        {
            draft.push_apart("Attached message:");
            write_outlook(draft, &inner, depth + 1)?;
            continue;
        }
        draft.push_apart(&format!("Attachment: {name}"));
        let is_text = attachment.mime_tag.starts_with("text/")
            || [".txt", ".md", ".csv", ".log"]
                .iter()
                .any(|end| name.ends_with(end));
        if is_text && attachment.payload_bytes.len() <= MAX_ATTACHED_BYTES {
            draft.push_apart(&String::from_utf8_lossy(&attachment.payload_bytes));
        } else {
            miss_attachment(draft, name);
        }
    }
    Ok(())
}

fn person(person: &Person) -> String {
    match (person.name.as_str(), person.email.as_str()) {
        (name, address) if name == address || address.is_empty() => name.to_owned(),
        ("", address) => address.to_owned(),
        (name, address) => format!("{name} <{address}>"),
    }
}

/// The parser gives bytes in hexadecimal.
fn unhexed(hex: &str) -> Option<String> {
    let digits = hex.as_bytes();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Some(hex.to_owned()).filter(|page| !page.trim().is_empty());
    }
    let pairs = digits.chunks_exact(2).filter_map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    decode(pairs.collect()).ok()
}

/// The text of a message, or its page where the text only says that there is one.
fn better_of<'t>(text: &'t str, page: &'t str) -> &'t str {
    let words = |text: &str| text.split_whitespace().count();
    let is_page = words(page) > PAGE_SAYS_MORE * words(text);
    if is_page { page } else { text }
}

fn write_head<const N: usize>(draft: &mut Draft, head: [(&str, Option<String>); N]) {
    for (name, value) in head {
        if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
            draft.push(&format!("{name}: {}", value.replace(['\r', '\n'], " ")));
        }
    }
}

fn write_message(draft: &mut Draft, message: &Message<'_>, depth: usize) -> Result<(), SkipReason> {
    draft.part();
    write_head(
        draft,
        [
            ("Subject", message.subject().map(str::to_owned)),
            ("From", message.from().map(people)),
            ("To", message.to().map(people)),
            ("Cc", message.cc().map(people)),
            ("Bcc", message.bcc().map(people)),
            (
                "Date",
                message.date().map(mail_parser::DateTime::to_rfc3339),
            ),
        ],
    );
    let text = bodies(message.text_bodies())?;
    let page = bodies(message.html_bodies())?;
    draft.push_apart(better_of(&text, &page));
    for part in message.attachments() {
        write_attachment(draft, part, depth)?;
    }
    Ok(())
}

/// The parts of a body, pages as Markdown.
fn bodies<'m>(parts: impl Iterator<Item = &'m MessagePart<'m>>) -> Result<String, SkipReason> {
    let mut said = String::new();
    for part in parts {
        match &part.body {
            PartType::Text(text) => said.push_str(text),
            PartType::Html(page) => said.push_str(&html::to_markdown(page)?.0),
            _ => continue,
        }
        said.push_str("\n\n");
    }
    Ok(said)
}

fn write_attachment(
    draft: &mut Draft,
    part: &MessagePart<'_>,
    depth: usize,
) -> Result<(), SkipReason> {
    let name = part.attachment_name().unwrap_or("without a name");
    if let PartType::Message(inner) = &part.body
        && depth < MAX_DEPTH
    {
        draft.push_apart("Attached message:");
        return write_message(draft, inner, depth + 1);
    }
    draft.push_apart(&format!("Attachment: {name}"));
    match &part.body {
        PartType::Text(text) if text.len() <= MAX_ATTACHED_BYTES => draft.push_apart(text),
        PartType::Html(page) if page.len() <= MAX_ATTACHED_BYTES => {
            draft.push_apart(&html::to_markdown(page)?.0);
        }
        _ => miss_attachment(draft, name),
    }
    Ok(())
}

fn miss_attachment(draft: &mut Draft, name: &str) {
    draft.note_missing(format!(
        "attachment {name}: save it into the folder to have it read"
    ));
}

fn people(address: &Address<'_>) -> String {
    let people: Vec<String> = address
        .iter()
        .map(|one| match (one.name(), one.address()) {
            (Some(name), Some(address)) => format!("{name} <{address}>"),
            (Some(one), None) | (None, Some(one)) => one.to_owned(),
            (None, None) => String::new(),
        })
        .collect();
    people.join(", ")
}
