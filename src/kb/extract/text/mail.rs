//! E-mail: who wrote what to whom and when, the text, and the text of what was attached.

use mail_parser::{Address, Message, MessageParser, MessagePart, MimeHeaders, PartType};

use super::html;
use crate::kb::extract::draft::Draft;
use crate::kb::extract::{Extraction, SkipReason, TextLayout};

/// Messages within messages are read down to here.
const MAX_DEPTH: usize = 3;
/// An attached text that is longer is data.
const MAX_ATTACHED_BYTES: usize = 256 * 1024;

/// Reads one message.
pub(in crate::kb::extract) fn document(bytes: &[u8]) -> Result<Extraction, SkipReason> {
    let message = MessageParser::default()
        .parse(bytes)
        .filter(|message| {
            message.from().is_some() || message.subject().is_some() || message.date().is_some()
        })
        .ok_or_else(|| {
            SkipReason::Damaged("it is not a mail: it has no sender, subject or date".to_owned())
        })?;
    let mut draft = Draft::default();
    write_message(&mut draft, &message, 0)?;
    let title = message.subject().map(str::to_owned);
    draft.finish(TextLayout::Plain, title, "it is empty")
}

fn write_message(draft: &mut Draft, message: &Message<'_>, depth: usize) -> Result<(), SkipReason> {
    draft.part();
    for (name, value) in [
        ("Subject", message.subject().map(str::to_owned)),
        ("From", message.from().map(people)),
        ("To", message.to().map(people)),
        ("Cc", message.cc().map(people)),
        (
            "Date",
            message.date().map(mail_parser::DateTime::to_rfc3339),
        ),
    ] {
        if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
            draft.push(&format!("{name}: {}", value.replace(['\r', '\n'], " ")));
        }
    }
    for part in message.text_bodies() {
        write_body(draft, part)?;
    }
    for part in message.attachments() {
        attached(draft, part, depth)?;
    }
    Ok(())
}

/// The text itself; of a message that is only HTML, its Markdown.
fn write_body(draft: &mut Draft, part: &MessagePart<'_>) -> Result<(), SkipReason> {
    match &part.body {
        PartType::Text(text) => draft.push_apart(text),
        PartType::Html(page) => draft.push_apart(&html::to_markdown(page)?.0),
        _ => {}
    }
    Ok(())
}

fn attached(draft: &mut Draft, part: &MessagePart<'_>, depth: usize) -> Result<(), SkipReason> {
    let name = part.attachment_name().unwrap_or("without a name");
    match &part.body {
        PartType::Message(inner) if depth < MAX_DEPTH => {
            draft.push_apart("Attached message:");
            write_message(draft, inner, depth + 1)
        }
        PartType::Text(text) => {
            draft.push_apart(&format!("Attachment: {name}"));
            draft.push_apart(&text[..text.floor_char_boundary(MAX_ATTACHED_BYTES)]);
            Ok(())
        }
        PartType::Html(page) => {
            draft.push_apart(&format!("Attachment: {name}"));
            let page = &page[..page.floor_char_boundary(MAX_ATTACHED_BYTES)];
            draft.push_apart(&html::to_markdown(page)?.0);
            Ok(())
        }
        _ => {
            draft.push_apart(&format!("Attachment: {name}"));
            Ok(())
        }
    }
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
