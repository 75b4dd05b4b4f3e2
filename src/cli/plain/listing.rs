//! What plain mode lists: commands, evidence, a passage.

use crate::domain::LineRange;
use crate::protocol::{DocumentText, EvidenceRecord, RunRecord};
use crate::report::wording;
use crate::text::{one_line, plural};
use crate::tui::slash;

/// Lines of a passage that are shown at most.
const LONGEST_PASSAGE: usize = 60;
/// Longer names on one line are cut, in characters.
const LONGEST: usize = 400;

/// The commands.
pub(super) const HELP: &str = "\
/help: list these commands.
/sources [NUMBER]: the evidence of the last answer, or one passage of it.
/route auto|simple|complex|chitchat: set the route of new questions.
/clear: forget the conversation.
/quit: leave.
Ctrl+C stops an answer; twice, or Ctrl+D, leaves.
";

/// The command on this line and its argument, also where only the screen has it; the error is for the
/// person who typed it.
pub(super) fn parse(line: &str) -> Result<(&'static str, &str), String> {
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    // The screen lacks these.
    match ["/help", "/sources"].into_iter().find(|own| *own == name) {
        Some(name) => Ok((name, argument.trim())),
        None => slash::parse(line, &[]).map(|(command, argument)| (&*command.name, argument)),
    }
}

/// The evidence of a run that has a number, in the order of the numbers, with its scores.
pub(super) fn sources(run: Option<&RunRecord>) -> String {
    let evidence = run.map_or_else(Vec::new, wording::in_order);
    let numbered = evidence.iter().filter(|known| known.n.is_some());
    let line = |known: &&EvidenceRecord| {
        let (number, place) = (wording::number(known), wording::place(known));
        format!("{number} {place}: {}\n", wording::scores(known))
    };
    let lines: String = numbered.map(line).collect();
    if lines.is_empty() {
        return "The last answer had no evidence.\n".to_owned();
    }
    lines
}

/// The lines of a passage as the index reads them.
pub(super) fn passage(text: &DocumentText, lines: LineRange) -> String {
    let source = one_line(&text.source, LONGEST);
    let part = match &text.part {
        Ok(part) => part,
        Err(why) => return format!("{source}: {}\n", one_line(why, LONGEST)),
    };
    let end = lines.end.min(lines.start + LONGEST_PASSAGE - 1);
    let shown = (lines.start..=end).filter_map(|number| part.line(number));
    let shown: String = shown.flat_map(|line| [line, "\n"]).collect();
    let more = (end < lines.end).then(|| format!("{} more.\n", plural(lines.end - end, "line")));
    let more = more.unwrap_or_default();
    format!("{source}, lines {} to {end}:\n{shown}{more}", lines.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_the_screen_reads_them() {
        assert_eq!(parse("/route  simple"), Ok(("/route", "simple")));
        assert_eq!(parse("/sources [2]"), Ok(("/sources", "[2]")));
        assert_eq!(parse("/stats"), Ok(("/stats", "")));
        for wrong in ["/route", "/route fast", "/quit now", "/sourced"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
