//! Calendars (iCalendar, RFC 5545) and contacts (vCard, RFC 6350): each entry a section.

use std::path::Path;

use mail_parser::decoders::quoted_printable::quoted_printable_decode;

use super::draft::Draft;
use super::{Extraction, SkipReason};

/// Entries that are read; others describe the file.
const ENTRIES: &[&str] = &["VEVENT", "VTODO", "VJOURNAL", "VCARD"];
/// What an entry is called by.
const TITLES: &[&str] = &["SUMMARY", "FN"];

/// Properties that say something to people, and their names for them.
const PROPERTIES: &[(&str, &str)] = &[
    ("DTSTART", "Start"),
    ("DTEND", "End"),
    ("DUE", "Due"),
    ("COMPLETED", "Completed"),
    ("DURATION", "Duration"),
    ("RRULE", "Repeats"),
    ("LOCATION", "Location"),
    ("STATUS", "Status"),
    ("ORGANIZER", "Organizer"),
    ("ATTENDEE", "Attendee"),
    ("CATEGORIES", "Categories"),
    ("DESCRIPTION", "Description"),
    ("COMMENT", "Comment"),
    ("URL", "Address on the web"),
    ("ORG", "Organization"),
    ("TITLE", "Position"),
    ("ROLE", "Role"),
    ("NICKNAME", "Nickname"),
    ("EMAIL", "E-mail"),
    ("TEL", "Telephone"),
    ("ADR", "Address"),
    ("BDAY", "Birthday"),
    ("NOTE", "Note"),
];

/// Reads a calendar or a file of contacts.
pub(crate) fn document(_: &Path, text: &str) -> Result<Extraction, SkipReason> {
    let mut draft = Draft::default();
    let mut title = None;
    let mut entry: Option<Entry> = None;
    for line in unfolded(text) {
        let Some(property) = Property::parse(&line) else {
            continue;
        };
        let is_entry = ENTRIES.contains(&property.value.to_ascii_uppercase().as_str());
        match (property.name.as_str(), &mut entry) {
            ("BEGIN", None) if is_entry => entry = Some(Entry::default()),
            ("BEGIN", Some(open)) => open.nested += 1,
            ("END", Some(open)) if open.nested > 0 => open.nested -= 1,
            ("END", Some(_)) => {
                entry.take().unwrap_or_default().write(&mut draft);
            }
            ("X-WR-CALNAME", None) => title = Some(property.value),
            (_, Some(open)) if open.nested == 0 => open.take(property),
            _ => {}
        }
    }
    draft.finish_sections(title, "it has no events and no contacts")
}

/// Lines that were folded are whole again, also in the way of version 2.1: by a `=` at the end.
fn unfolded(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let folds = lines
            .last()
            .is_some_and(|last| last.ends_with('=') && is_quoted_printable(last));
        if let Some(last) = lines.last_mut().filter(|_| folds) {
            last.pop();
            last.push_str(line);
            continue;
        }
        match (line.strip_prefix([' ', '\t']), lines.last_mut()) {
            (Some(rest), Some(last)) => last.push_str(rest),
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

/// Whether what a line says of its value is that it is quoted-printable.
fn is_quoted_printable(line: &str) -> bool {
    let name = line.split(':').next().unwrap_or_default();
    name.to_ascii_uppercase().contains("QUOTED-PRINTABLE")
}

/// A value without its escapes: `\\n`, `\\,`, `\\;` and `\\\\`.
fn unescaped(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut signs = value.chars();
    while let Some(sign) = signs.next() {
        if sign != '\\' {
            plain.push(sign);
            continue;
        }
        match signs.next() {
            Some('n' | 'N') => plain.push('\n'),
            Some(escaped) => plain.push(escaped),
            None => plain.push(sign),
        }
    }
    plain
}

/// `NAME;PARAMETER=x:value`, its value without escapes.
struct Property {
    name: String,
    parameters: String,
    value: String,
}

impl Property {
    fn parse(line: &str) -> Option<Self> {
        let mut is_quoted = false;
        let colon = line.find(|c| {
            is_quoted ^= c == '"';
            c == ':' && !is_quoted
        })?;
        let (name, parameters) = line[..colon]
            .split_once(';')
            .unwrap_or((&line[..colon], ""));
        // Apple writes `item1.EMAIL`.
        let name = name.rsplit('.').next().unwrap_or(name);
        let value = &line[colon + 1..];
        let decoded = is_quoted_printable(line)
            .then(|| quoted_printable_decode(value.as_bytes()))
            .flatten();
        let value = match decoded {
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            None => unescaped(value),
        };
        Some(Self {
            name: name.to_ascii_uppercase(),
            parameters: parameters.to_owned(),
            value: value.trim().to_owned(),
        })
    }

    /// The value as people write it.
    fn display_value(&self) -> String {
        let common_name = self
            .parameters
            .split(';')
            .find_map(|one| one.strip_prefix("CN="));
        let value = self
            .value
            .trim_start_matches("mailto:")
            .trim_start_matches("MAILTO:");
        match self.name.as_str() {
            "ADR" | "ORG" => {
                let parts = value
                    .split(';')
                    .map(str::trim)
                    .filter(|part| !part.is_empty());
                parts.collect::<Vec<_>>().join(", ")
            }
            "ATTENDEE" | "ORGANIZER" => match common_name {
                Some(name) => format!("{} <{value}>", name.trim_matches('"')),
                None => value.to_owned(),
            },
            _ => date(value).unwrap_or_else(|| value.to_owned()),
        }
    }
}

/// `20240501T093000Z` as `2024-05-01 09:30 UTC`.
fn date(value: &str) -> Option<String> {
    let (day, time) = value.split_once('T').unwrap_or((value, ""));
    let is_number = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    if day.len() != 8 || !is_number(day) {
        return None;
    }
    let day = format!("{}-{}-{}", &day[..4], &day[4..6], &day[6..]);
    let zone = if time.ends_with('Z') { " UTC" } else { "" };
    match time.get(..4).filter(|time| is_number(time)) {
        Some(time) => Some(format!("{day} {}:{}{zone}", &time[..2], &time[2..])),
        None => Some(day),
    }
}

#[derive(Default)]
struct Entry {
    title: Option<String>,
    lines: Vec<String>,
    /// Alarms and the like that are open within it.
    nested: usize,
}

impl Entry {
    fn take(&mut self, property: Property) {
        if property.name == "N" && self.title.is_none() {
            // Family name, given name and others; `FN` says it better where it is there.
            let names = property.value.split(';').map(str::trim);
            let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
            let given = names.iter().skip(1).chain(names.first());
            let whole = given.copied().collect::<Vec<_>>().join(" ");
            self.title = Some(whole).filter(|name| !name.is_empty());
        } else if TITLES.contains(&property.name.as_str()) {
            self.title = Some(property.value);
        } else if let Some((_, name)) = PROPERTIES.iter().find(|(own, _)| *own == property.name) {
            let shown = property.display_value();
            if !shown.is_empty() {
                self.lines.push(format!("{name}: {shown}"));
            }
        }
    }

    fn write(self, draft: &mut Draft) {
        let title = self
            .title
            .unwrap_or_else(|| "Entry without a title".to_owned());
        draft.push_apart(&format!("## {}", title.replace('\n', " ")));
        draft.push_apart(&self.lines.join("\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sections_that_say_when_and_who() {
        let text = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Board meeting\\, spring\r\n\
                    DTSTART:20240501T093000Z\r\nDESCRIPTION:Budget and\r\n  plans\r\n\
                    BEGIN:VALARM\r\nDESCRIPTION:Reminder\r\nEND:VALARM\r\n\
                    ATTENDEE;CN=\"Ann: X\":mailto:ann@example.com\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
        let made = document(Path::new("a.ics"), text).unwrap();
        assert_eq!(
            made.text,
            "## Board meeting, spring\n\nStart: 2024-05-01 09:30 UTC\nDescription: Budget and plans\n\
             Attendee: Ann: X <ann@example.com>\n"
        );
        assert_eq!(made.places[0].place.to_string(), "§ Board meeting, spring");
    }
}
