//! The JSON within the body of a reply: a stream of events, or one object from a server that does not
//! stream.
//!
//! Both are read line by line, and what a line holds tells what it is, because content types cannot be
//! trusted: errors come as JSON on streaming requests, some gateways label everything as a stream,
//! some streams have no empty lines between their events or nothing but JSON.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Deserializer, Value};

/// What came where JSON should be.
#[derive(Debug, PartialEq)]
pub enum LineError {
    /// Something that is no part of a reply.
    NotAReply(&'static str),
    /// JSON that ends in the middle.
    CutOff,
    /// An event that tells of an error.
    Error(Value),
}

/// Takes bytes, hands out JSON.
pub struct Lines {
    line: Vec<u8>,
    last_byte: u8,
    /// The name of the event that is being read.
    event: String,
    /// JSON that goes on in the next line.
    begun: String,
    /// The first half of a character whose other half is in a later event.
    half: Option<u16>,
    /// Whether the body is JSON, and no stream of events.
    pub is_json: bool,
    /// What came in place of a reply; `None` once some of one has come.
    pub other: Option<&'static str>,
    /// Whether the end was marked.
    pub is_done: bool,
    /// Whether an event in the middle could not be read.
    pub is_damaged: bool,
    /// Read and not yet taken.
    pub found: VecDeque<Result<Value, LineError>>,
}

impl Lines {
    pub fn new() -> Self {
        Self {
            line: Vec::new(),
            last_byte: 0,
            event: String::new(),
            begun: String::new(),
            half: None,
            is_json: false,
            other: Some("nothing"),
            is_done: false,
            is_damaged: false,
            found: VecDeque::new(),
        }
    }

    /// Whether some of a line or of JSON has come, and not all of it.
    pub fn is_within(&self) -> bool {
        !self.line.is_empty() || !self.begun.is_empty()
    }

    /// Drops what was not taken yet.
    pub fn clear(&mut self) {
        self.line.clear();
        self.begun.clear();
        self.found.clear();
    }

    /// Drops the line of which only a part has come.
    pub fn drop_line(&mut self) {
        self.line.clear();
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            // The second half of CR LF ends no line of its own.
            let is_second_half = *byte == b'\n' && self.last_byte == b'\r';
            self.last_byte = *byte;
            match byte {
                b'\n' if is_second_half => {}
                b'\n' | b'\r' => self.end_line(),
                byte => self.line.push(*byte),
            }
        }
    }

    /// No more bytes come.
    pub fn end(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_event(true);
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if line.starts_with(['{', '[']) || (self.is_json && !line.starts_with("data:")) {
            self.is_json |= self.other.is_some();
            return self.read_data(line);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        match field {
            "" if line.is_empty() => self.end_event(false),
            "data" => self.read_data(value.trim()),
            "event" => value.trim().clone_into(&mut self.event),
            _ if line.starts_with('<') => self.note_unreadable("a web page"),
            // Comments and fields that are not known.
            _ => self.other = self.other.and(Some("something else")),
        }
    }

    /// Reads the JSON of one line. An event may go on in the next one.
    fn read_data(&mut self, mut data: &str) {
        if let Some(rest) = data.strip_suffix("[DONE]") {
            data = rest.trim_end().trim_end_matches("data:").trim_end();
            self.is_done = true;
        }
        // Signs of life of gateways.
        if data.is_empty() || data == "null" || data.starts_with(':') {
            return;
        }
        if self.event == "error" {
            let error = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
            return self.found.push_back(Err(LineError::Error(error)));
        }
        let data = join_surrogates(data, &mut self.half);
        // A line within JSON that goes over several may look like a value of its own.
        let is_alone = |chunk: &Value| self.begun.is_empty() || chunk.get("choices").is_some();
        match values_in(&data) {
            Ok(values) if values.iter().all(is_alone) => {
                self.end_event(false);
                self.add(values);
            }
            _ => {
                self.begun.push_str(&data);
                self.begun.push('\n');
            }
        }
    }

    /// An event is over, and perhaps the body.
    fn end_event(&mut self, is_last: bool) {
        let begun = std::mem::take(&mut self.begun);
        let event = std::mem::take(&mut self.event);
        match values_in(&begun) {
            Ok(values) => self.add(values),
            Err(_) if !is_last && !matches!(&*event, "" | "message") => {}
            Err(error) if error.is_eof() && (is_last || self.other.is_some()) => {
                self.found.push_back(Err(LineError::CutOff));
            }
            Err(_) if self.is_json => self.note_unreadable("broken JSON"),
            Err(_) => self.note_unreadable("an event that is not JSON"),
        }
    }

    fn add(&mut self, values: Vec<Value>) {
        for value in values {
            let is_reply = value.get("choices").is_some();
            self.other = self.other.and((!is_reply).then_some("other JSON"));
            self.found.push_back(Ok(value));
        }
    }

    /// Something came that is no part of a reply: in the middle of one, the rest is read all the same.
    fn note_unreadable(&mut self, what: &'static str) {
        if self.other.is_some() {
            self.found.push_back(Err(LineError::NotAReply(what)));
        } else {
            self.is_damaged = true;
        }
    }
}

/// The values of a text, one after the other.
fn values_in(text: &str) -> Result<Vec<Value>, serde_json::Error> {
    Deserializer::from_str(text).into_iter().collect()
}

/// An escape: a first half of a character beyond U+FFFF, perhaps with its second half or the end of the
/// string behind it; a second half that stands alone; or any other.
#[expect(
    clippy::expect_used,
    reason = "the pattern is a constant, and a test uses it"
)]
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?is)\\u(?<first>d[89ab][0-9a-f]{2})(?:(?<pair>\\ud[c-f][0-9a-f]{2})|(?<end>"))?|\\u(?<second>d[c-f][0-9a-f]{2})|\\."#,
    )
    .expect("a pattern of the program")
});

/// The JSON with every half of a character put right, which servers that part their text by such units
/// send in two events: a first half at the end of a string waits in `half` for the string that begins
/// with the other; one that stays alone becomes U+FFFD or goes.
fn join_surrogates<'a>(json: &'a str, half: &mut Option<u16>) -> Cow<'a, str> {
    ESCAPE.replace_all(json, |found: &Captures<'_>| {
        let written = &found[0];
        match (found.name("first"), found.name("second")) {
            (Some(first), _) if found.name("end").is_some() => {
                *half = u16::from_str_radix(first.as_str(), 16).ok();
                "\"".to_owned()
            }
            (None, Some(_)) if let Some(first) = half.take() => format!("\\u{first:04x}{written}"),
            (None, Some(_)) => "\\ufffd".to_owned(),
            (Some(_), _) if found.name("pair").is_none() => "\\ufffd".to_owned(),
            _ => written.to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in a body that comes in pieces of that size, the strings in `choices` in one text.
    fn read(body: &str, size: usize) -> String {
        let mut lines = Lines::new();
        body.as_bytes().chunks(size).for_each(|it| lines.push(it));
        lines.end();
        let found = lines.found.iter().map(|found| match found {
            Ok(value) => match value["choices"].as_str() {
                Some(said) => said.to_owned(),
                None => format!("<{value}>"),
            },
            Err(error) => format!("<{error:?}>"),
        });
        let mut found: String = found.collect();
        if lines.is_done {
            found.push('.');
        }
        if lines.is_damaged {
            found.push('!');
        }
        found
    }

    #[test]
    fn bodies_are_read_however_they_are_cut_and_wrapped() {
        let (a, b) = (r#"{"choices": "a"}"#, r#"{"choices": "b"}"#);
        for (body, found) in [
            (format!("data: {a}\n\ndata: {b}\n\ndata: [DONE]\n\n"), "ab."),
            (format!("\u{feff}data:{a}\r\n\r\ndata: {b}\r\n\r\n"), "ab"),
            (format!("data: {a}\r\rdata: {b}"), "ab"),
            (format!("data: {a}\ndata: {b}\ndata: [DONE]"), "ab."),
            (format!("{a}\n{b}\n"), "ab"),
            (format!("data: {a}{b}[DONE]"), "ab."),
            (" \n\n{\"choices\":\n\"a\"\n}\n".to_owned(), "a"),
            (
                "data: {\"choices\":\r\ndata: \"a\"}\r\n\r\n".to_owned(),
                "a",
            ),
            (
                format!(": alive\nid: 7\nretry: soon\nx\nevent: message\ndata: {a}\n\n"),
                "a",
            ),
            (
                format!("data:\n\ndata: null\n\ndata: : alive\n\ndata: {a}\n\n"),
                "a",
            ),
            (format!("event: ping\ndata: pong\n\ndata: {a}\n\n"), "a"),
            (format!("data: {a}\n\ndata: <html>\n\ndata: {b}\n\n"), "ab!"),
            (format!("data: {a}\n\ndata: {{\"choices\":"), "a<CutOff>"),
            (
                format!("data: {a}\n\nevent: error\ndata: no\n\n"),
                "a<Error(String(\"no\"))>",
            ),
            (
                "data: no\n\n".to_owned(),
                "<NotAReply(\"an event that is not JSON\")>",
            ),
            ("<html>".to_owned(), "<NotAReply(\"a web page\")>"),
            ("{\"choices\": ]".to_owned(), "<NotAReply(\"broken JSON\")>"),
            ("[]".to_owned(), "<[]>"),
        ] {
            for size in [1, 2, 7, body.len()] {
                assert_eq!(read(&body, size), found, "{body} in pieces of {size}");
            }
        }
    }

    #[test]
    fn shown_halves_find_each_other_or_go() {
        for (events, texts) in [
            (&[r#""a\ud83d""#, r#""\ude00b""#][..], &["a", "😀b"][..]),
            (
                &[r#""a\uD83D""#, r#""""#, r#""\uDE00b""#],
                &["a", "", "😀b"],
            ),
            (&[r#""\ud83d\ude00""#], &["😀"]),
            (&[r#""a\ud83db""#], &["a\u{fffd}b"]),
            (&[r#""\ude00b""#], &["\u{fffd}b"]),
            (&[r#""\ud83d\ud83d\ude00""#], &["\u{fffd}😀"]),
            (&[r#""\\ud83d""#], &["\\ud83d"]),
            (&[r#""\ud83d\n""#], &["\u{fffd}\n"]),
            (&[r#""比\\\ud83d""#], &["比\\"]),
        ] {
            let mut half = None;
            for (event, text) in events.iter().zip(texts) {
                let read: String =
                    serde_json::from_str(&join_surrogates(event, &mut half)).unwrap();
                assert_eq!(read, *text, "{event}");
            }
        }
    }

    #[test]
    fn what_is_no_json_ends_all_the_same() {
        for text in [
            "\\ud",
            "\\ud83",
            "\\ud83d",
            "\\ud83d\\",
            "\\ud83d\\u比比",
            "\\",
        ] {
            join_surrogates(text, &mut None);
        }
    }
}
