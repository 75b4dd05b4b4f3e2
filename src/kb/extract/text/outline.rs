//! Org without what its editor keeps for itself: drawers of properties, ids as the targets of
//! links.

/// The same lines; what is out of sight is blank.
pub(crate) fn readable(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_no_words() {
        let org =
            "* Plan\n:PROPERTIES:\n:ID: 6f1c\n:Owner: Ann\n:END:\nSee [[id:6f1c][Backup plan]].";
        assert_eq!(readable(org), "* Plan\n\n\nOwner: Ann\n\nSee Backup plan.");
    }
}
