//! Text that keeps its lines, without what programs keep for themselves in it: Org without drawers and ids,
//! subtitles without numbers and tags.

use std::borrow::Cow;

use quick_xml::escape::unescape;

/// The same lines; what is out of sight is blank.
pub(crate) fn readable_org(text: &str) -> String {
    let mut is_in_drawer = false;
    let lines = text.split('\n').map(|line| {
        let mark = line.trim();
        if mark.eq_ignore_ascii_case(":properties:") || mark.eq_ignore_ascii_case(":logbook:") {
            is_in_drawer = true;
        }
        if !is_in_drawer {
            return without_ids(line);
        }
        is_in_drawer = !mark.eq_ignore_ascii_case(":end:");
        let is_kept = property(mark).is_some_and(|(name, _)| {
            !["id", "custom_id", "created", "properties", "logbook", "end"]
                .contains(&name.to_ascii_lowercase().as_str())
        });
        let kept = property(mark).filter(|_| is_kept);
        kept.map(|(name, value)| format!("{name}: {value}"))
            .unwrap_or_default()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `:NAME: value`.
fn property(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix(':')?.split_once(':')?;
    Some((name, value.trim()))
}

/// Links to an id say their text: `[[id:6f1c][Backup plan]]`.
fn without_ids(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, link)) = rest.split_once("[[id:") {
        let Some((inner, after)) = link.split_once("]]") else {
            // Nothing that opens later is closed either.
            break;
        };
        plain.push_str(before);
        plain.push_str(inner.split_once("][").map_or("", |(_, text)| text));
        rest = after;
    }
    plain.push_str(rest);
    plain
}

// Subtitles (SRT, WebVTT, SBV): what is said, and when.

/// The same lines, with the time at which each cue begins instead of its number and its span.
pub(crate) fn readable_subtitles(text: &str) -> String {
    let mut readable = String::with_capacity(text.len());
    let mut lines = text.split('\n').peekable();
    let mut is_of_player = false;
    while let Some(line) = lines.next() {
        // Styles and notes go on to a blank line.
        let is_block = ["STYLE", "NOTE", "REGION"].contains(&line.trim());
        is_of_player = (is_of_player || is_block) && !line.trim().is_empty();
        let is_number = !line.trim().is_empty() && line.trim().bytes().all(|c| c.is_ascii_digit());
        let is_before_span = lines.peek().is_some_and(|next| begin(next).is_some());
        if let Some(begin) = begin(line) {
            readable.push_str(&format!("[{begin}]"));
        } else if !(is_of_player || is_number && is_before_span) {
            let said = without_tags(line);
            readable.push_str(&unescape(&said).unwrap_or(Cow::Borrowed(&said)));
        }
        if lines.peek().is_some() {
            readable.push('\n');
        }
    }
    readable
}

/// When a cue begins, of the line that says so.
fn begin(line: &str) -> Option<&str> {
    let (from, _) = line.split_once("-->").or_else(|| line.split_once(','))?;
    let from = from.trim();
    let is_time = from.contains(':') && from.starts_with(|c: char| c.is_ascii_digit());
    let is_time = is_time
        && from
            .chars()
            .all(|c| c.is_ascii_digit() || ":.,".contains(c));
    is_time.then(|| from.split(['.', ',']).next().unwrap_or(from))
}

/// A line without tags of speakers, colours and slant.
fn without_tags(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, tag)) = rest.split_once('<') {
        let Some((inner, after)) = tag.split_once('>') else {
            // Nothing that opens later is closed either.
            break;
        };
        plain.push_str(before);
        if let Some(speaker) = inner.strip_prefix("v ") {
            plain.push_str(&format!("{speaker}: "));
        }
        rest = after;
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_no_words() {
        let org =
            "* Plan\n:PROPERTIES:\n:ID: 6f1c\n:Owner: Ann\n:END:\nSee [[id:6f1c][Backup plan]].";
        assert_eq!(
            readable_org(org),
            "* Plan\n\n\nOwner: Ann\n\nSee Backup plan."
        );
    }
}

#[cfg(test)]
mod tests_of_subtitles {
    use super::*;

    #[test]
    fn cues_keep_their_lines_and_their_times() {
        let srt = "1\n00:01:02,500 --> 00:01:04,000\n<i>We ship</i> on 3 May, 5:30 sharp.\n\n2\n";
        assert_eq!(
            readable_subtitles(srt),
            "\n[00:01:02]\nWe ship on 3 May, 5:30 sharp.\n\n2\n"
        );
        assert_eq!(
            readable_subtitles("WEBVTT\n\n00:05.000 --> 00:06.000 align:start\n<v Ann>Yes < no"),
            "WEBVTT\n\n[00:05]\nAnn: Yes < no"
        );
    }
}
