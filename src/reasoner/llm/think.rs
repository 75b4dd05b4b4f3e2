//! Takes out what is no answer: thoughts, marks of chat templates, tags of the prompt.
//!
//! A thought that is never closed at the beginning of a reply is the whole reply; one that opens
//! later and never closes is more likely an answer *about* the mark, and is given back at the end.
//! Where a mark closes what nothing opened, the chat template opened it: all before it is thought, and
//! where that was shown the text at the end takes its place. A mark in code or within a sentence is
//! spoken of, and is text.
//!
//! What can be told apart only with more text waits for it, so there is one reading of a reply,
//! however it was cut.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use super::repetition::CodeState;
use crate::files::read_tables;
use crate::text::is_blank;
use crate::text::{begins_own_tag, own_tag};

/// Parts of the names of models that think.
const MODELS: &str = include_str!("../../../assets/llm/thinking_models.txt");
/// The first sentence of an answer is held back up to so many bytes, as it may be a thought.
const FIRST_WORDS: usize = 80;
/// No mark of the table is longer.
const LONGEST_MARK: usize = 64;
/// So much may be said after the end before it is not read any more.
const MOST_AFTER_END: usize = 400;

/// How a model thinks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thinking {
    /// It is not known to think.
    #[default]
    Unknown,
    /// It thinks before it replies.
    First,
    /// It thinks first, and its template opens the thought, which the reply then only closes.
    Unopened,
}

impl Thinking {
    /// What the name of the model tells.
    pub fn of_model(model: &str) -> Self {
        let model = model.to_lowercase();
        let name = model.rsplit('/').next().unwrap_or_default();
        let rows = MODELS.lines().map(str::trim);
        let rows = rows.filter(|row| !row.is_empty() && !row.starts_with('#'));
        let rows = rows.map(|row| match row.strip_suffix('>') {
            Some(row) => (row.trim_end(), Self::Unopened),
            None => (row, Self::First),
        });
        let known = rows.filter(|(row, _)| match row.strip_prefix('^') {
            Some(start) => name.starts_with(start),
            None => model.contains(row),
        });
        let known = known.map(|(_, thinking)| thinking);
        known.max().unwrap_or_default()
    }
}

/// Removes what is no answer from text that arrives in pieces, and white space before the first word.
#[derive(Debug)]
pub struct ThinkFilter {
    marks: Arc<ReplyMarks>,
    thinking: Thinking,
    /// The whole reply so far.
    pub reply: String,
    /// The answer in it, as far as it was handed out.
    pub shown: String,
    /// Whether what was handed out before turned out to be thought.
    pub is_taken_back: bool,
    /// What it is, as far as can be told by now.
    pub reading: Reading,
}

impl ThinkFilter {
    /// For a reply of a model that thinks like this.
    pub fn new(marks: Arc<ReplyMarks>, thinking: Thinking) -> Self {
        Self {
            marks,
            thinking,
            reply: String::new(),
            shown: String::new(),
            is_taken_back: false,
            reading: Reading::default(),
        }
    }

    /// What of the text so far can be shown now.
    pub fn push(&mut self, piece: &str) -> String {
        self.reply.push_str(piece);
        self.reading.read(&self.marks, &self.reply, false, true);
        let text = &self.reading.text;
        let may_be_thought = match self.thinking {
            Thinking::Unopened => true,
            Thinking::Unknown | Thinking::First => {
                self.shown.is_empty() && text.len() <= FIRST_WORDS && !has_sentence(text)
            }
        };
        if may_be_thought && !self.reading.is_answering {
            return String::new();
        }
        self.show()
    }

    /// What came so far of a thought that opens the reply and goes on, as far as is known.
    pub fn thought(&self) -> Option<&str> {
        match self.reading.thought_at {
            Some(at) => Some(&self.reply[at..]),
            None if self.thinking == Thinking::Unopened && self.shown.is_empty() => {
                Some(&self.reading.text)
            }
            None => None,
        }
    }

    /// Holds no thoughts back any more: they come by another way.
    pub fn trust(&mut self) {
        self.thinking = Thinking::First;
    }

    /// What is left at the end.
    pub fn finish(&mut self) -> String {
        self.reading.read(&self.marks, &self.reply, true, true);
        self.show()
    }

    /// Nothing goes out before there is something to see: an answer of blanks, escape sequences and
    /// invisible characters is an empty one, and may be asked for again.
    fn show(&mut self) -> String {
        if std::mem::take(&mut self.reading.begins_anew) {
            self.is_taken_back |= !self.shown.is_empty();
            self.shown.clear();
        }
        let text = &self.reading.text;
        if self.shown.is_empty() && is_blank(text) {
            return String::new();
        }
        let more = text[self.shown.len()..].to_owned();
        self.shown.push_str(&more);
        more
    }
}

/// A reply, or the beginning of one, with thoughts and marks told apart from the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// The answer.
    pub text: String,
    /// Where the thought begins that opens the reply and goes on.
    thought_at: Option<usize>,
    /// Up to here the reply is read.
    read_to: usize,
    /// Up to here the thought that goes on has no end.
    searched_to: usize,
    /// What closed a thought that nothing opened, and no text came since.
    closed_by: Option<String>,
    /// Whether all text so far turned out to be thought, and the answer begins anew.
    begins_anew: bool,
    /// How the model thought before it answered.
    pub thinking: Thinking,
    /// Whether a thought has ended, so that what follows is certainly answer.
    is_answering: bool,
    /// Bytes after the mark that ended the answer.
    after_end: Option<usize>,
    code: CodeState,
}

impl Reading {
    /// Whether the answer is over, and what follows goes on and on.
    pub fn has_ended(&self) -> bool {
        self.after_end.is_some_and(|length| length > MOST_AFTER_END)
    }

    /// Reads on in a reply that begins as it did before; `is_all` when no more of it comes.
    fn read(&mut self, marks: &ReplyMarks, reply: &str, is_all: bool, is_answer: bool) {
        while self.read_to < reply.len() {
            let rest = &reply[self.read_to..];
            let plain = marks.next_sign(rest).unwrap_or(rest.len());
            let (mark, length) = if plain > 0 {
                (None, plain)
            } else if self.code.is_code() {
                (None, rest.ceil_char_boundary(1))
            } else {
                match marks.beginning(rest, is_all) {
                    Beginning::Open => break,
                    Beginning::Text => (None, rest.ceil_char_boundary(1)),
                    Beginning::Mark(mark, length) => (Some(mark), length),
                }
            };
            let (read, after) = rest.split_at(length);
            // Two characters tell whether a sentence goes on.
            let is_known = is_all || self.text.is_empty() || after.chars().nth(1).is_some();
            if mark.is_some() && !is_known {
                break;
            }
            let after_at = self.read_to + length;
            match mark.filter(|mark| !self.is_spoken_of(*mark, after)) {
                None => self.add(read),
                Some(Mark::Open(row)) if self.after_end.is_none() => {
                    let opens_reply = self.text.is_empty();
                    if opens_reply {
                        self.thinking = self.thinking.max(Thinking::First);
                    }
                    let from = reply.floor_char_boundary(self.searched_to.max(after_at));
                    match marks.end_of_thought(row, &reply[from..]) {
                        Some(end) => {
                            self.is_answering |= opens_reply;
                            self.thought_at = None;
                            self.read_to = from + end;
                            continue;
                        }
                        None if opens_reply || !is_all => {
                            self.thought_at = opens_reply.then_some(after_at);
                            self.searched_to = reply.len().saturating_sub(LONGEST_MARK);
                            return;
                        }
                        None => {
                            self.add(read);
                            self.add(after);
                            self.read_to = reply.len();
                            break;
                        }
                    }
                }
                Some(Mark::Close) => {
                    self.closed_by = (!self.text.is_empty()).then(|| read.to_owned());
                    self.after_end = None;
                    self.code = CodeState::default();
                }
                Some(Mark::End { .. })
                    if is_answer && !self.text.is_empty() && self.closed_by.is_none() =>
                {
                    self.after_end.get_or_insert(0);
                }
                Some(_) => {}
            }
            self.read_to = after_at;
        }
        if is_all
            && is_within_sentence(&self.text, "")
            && let Some(mark) = self.closed_by.take()
        {
            self.text.push_str(&mark);
        }
    }

    /// Whether a mark is part of the text, because the answer is about it.
    fn is_spoken_of(&self, mark: Mark, after: &str) -> bool {
        if self.text.is_empty() {
            return false;
        }
        let is_within = is_within_sentence(&self.text, after);
        match mark {
            Mark::OwnTag => false,
            Mark::End { at_line_end } => {
                let ends_line = after.is_empty() || after.starts_with(['\n', '\r', '<', '[']);
                !ends_line && (at_line_end || is_within)
            }
            Mark::Open(_) | Mark::Close => !after.is_empty() && is_within,
        }
    }

    fn add(&mut self, text: &str) {
        if let Some(length) = &mut self.after_end {
            *length += text.len();
            return;
        }
        let begins = self.text.is_empty() || self.closed_by.is_some();
        let text = if begins { text.trim_start() } else { text };
        if text.is_empty() {
            return;
        }
        if self.closed_by.take().is_some() {
            self.text.clear();
            self.begins_anew = true;
            self.thinking = Thinking::Unopened;
            self.is_answering = true;
        }
        text.chars().for_each(|c| self.code.push(c));
        self.text.push_str(text);
    }
}

/// Whether what follows goes on with the sentence that came before: then a mark between them is
/// spoken of.
fn is_within_sentence(before: &str, after: &str) -> bool {
    let mut after = after.chars();
    let next = after.next();
    let last_sign = before.trim_end().chars().next_back();
    match before.chars().next_back() {
        Some('"' | '\'' | '“' | '‘' | '«' | '(') => {
            matches!(next, Some('"' | '\'' | '”' | '’' | '»' | ')'))
        }
        Some(' ') if last_sign.is_some_and(|c| c.is_alphanumeric() || c == ',') => match next {
            None | Some('.' | ',' | ';' | ':' | '!' | '?' | ')') => true,
            Some(' ') => after.next().is_some_and(char::is_lowercase),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a sentence or a line of the text is whole.
fn has_sentence(text: &str) -> bool {
    let ends = [". ", "! ", "? ", ": "];
    text.contains(['\n', '。', '！', '？']) || ends.iter().any(|end| text.contains(end))
}

/// A whole judgement without its thoughts; no template's mark ends it.
pub fn judgement_in(marks: &ReplyMarks, reply: &str) -> String {
    let mut reading = Reading::default();
    reading.read(marks, reply, true, false);
    reading.text
}

/// The same with the built-in marks.
pub fn without_thoughts(reply: &str) -> String {
    judgement_in(&ReplyMarks::built_in(), reply)
}

// What stands in replies beside their text, and why they end, as rows of a table that users can add
// to: marks of thought, marks of chat templates, reasons.

const TABLE: &str = include_str!("../../../assets/llm/replies.toml");

static BUILT_IN: LazyLock<Arc<ReplyMarks>> =
    LazyLock::new(|| Arc::new(ReplyMarks::with_user_rows(None).unwrap_or_default()));

/// The table, the user's own rows first.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReplyMarks {
    thought: Vec<Thought>,
    token: Vec<Token>,
    ending: Vec<Ending>,
    /// Every mark and what it does, the longest first.
    #[serde(skip)]
    marks: Vec<(String, Mark)>,
    /// The characters that marks begin with.
    #[serde(skip)]
    signs: BTreeSet<char>,
}

/// What a mark does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It opens the thought of this row.
    Open(usize),
    /// It closes a thought.
    Close,
    /// It ends an answer; one that is `at_line_end` only where nothing follows on its line.
    End { at_line_end: bool },
    /// It is a tag of the prompt.
    OwnTag,
}

/// What a text begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// The text begins with no mark.
    Text,
    /// Perhaps with a mark: that is known when more has come.
    Open,
    /// The text begins with a mark of so many bytes.
    Mark(Mark, usize),
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyEnd {
    /// The server has not said that the reply is complete.
    #[default]
    #[serde(skip)]
    Unsaid,
    /// It went on beyond all limits, and was ended here.
    #[serde(skip)]
    Endless,
    /// It said the same again and again, and was ended here.
    #[serde(skip)]
    Repeating,
    /// Some of it could not be read.
    #[serde(skip)]
    Damaged,
    /// The reply is complete.
    Complete,
    /// It reached a limit of tokens.
    Limit,
    /// The server's rules kept the rest back.
    Withheld,
    /// Something went wrong at the server.
    BrokeOff,
}

/// What a model thinks aloud.
#[derive(Debug, Deserialize)]
struct Thought {
    open: Option<String>,
    close: Vec<String>,
}

/// A mark of a chat template.
#[derive(Debug, Deserialize)]
struct Token {
    mark: String,
    #[serde(default)]
    at_line_end: bool,
}

/// A server's words for why a reply ended.
#[derive(Debug, Deserialize)]
struct Ending {
    means: ReplyEnd,
    said: Vec<String>,
}

impl ReplyMarks {
    /// What is built in.
    pub fn built_in() -> Arc<Self> {
        Arc::clone(&BUILT_IN)
    }

    /// The built-in table behind the rows of a file of the user's. The error is one line.
    pub fn with_user_rows(own: Option<&str>) -> Result<Self, String> {
        let mut table: Self = read_tables(own, TABLE)?;
        for (row, thought) in table.thought.iter().enumerate() {
            let opens = thought
                .open
                .iter()
                .map(|mark| (mark.clone(), Mark::Open(row)));
            let closes = thought.close.iter().map(|mark| (mark.clone(), Mark::Close));
            table.marks.extend(opens.chain(closes));
        }
        let ends = table.token.iter().map(|token| {
            let at_line_end = token.at_line_end;
            (token.mark.clone(), Mark::End { at_line_end })
        });
        table.marks.extend(ends);
        table.marks.sort_by_key(|(mark, _)| Reverse(mark.len()));
        let firsts = table.marks.iter().map(|(mark, _)| mark.chars().next());
        let firsts: Option<Vec<char>> = firsts.chain([Some('<')]).collect();
        for first in firsts.ok_or("a mark is empty")? {
            let cases = [first.to_ascii_lowercase(), first.to_ascii_uppercase()];
            table.signs.extend(cases);
        }
        Ok(table)
    }

    /// Where the next mark may begin.
    pub fn next_sign(&self, text: &str) -> Option<usize> {
        text.find(|c| self.signs.contains(&c))
    }

    /// Tells what the text begins with, the longest mark first; `is_all` when no more of it comes.
    pub fn beginning(&self, text: &str, is_all: bool) -> Beginning {
        if let Some(length) = own_tag(text) {
            return Beginning::Mark(Mark::OwnTag, length);
        }
        let goes_on =
            |(mark, _): &(String, Mark)| mark.len() > text.len() && starts_with(mark, text);
        if !is_all && (begins_own_tag(text) || self.marks.iter().any(goes_on)) {
            return Beginning::Open;
        }
        let found = self.marks.iter().find(|(mark, _)| starts_with(text, mark));
        found.map_or(Beginning::Text, |(mark, does)| {
            Beginning::Mark(*does, mark.len())
        })
    }

    /// Where what follows the thought of that row begins.
    pub fn end_of_thought(&self, row: usize, text: &str) -> Option<usize> {
        let closes = self.thought.get(row)?.close.iter();
        let ends = closes.filter_map(|close| {
            let mut places = text.match_indices(|c| self.signs.contains(&c));
            let (at, _) = places.find(|(at, _)| starts_with(&text[*at..], close))?;
            Some(at + close.len())
        });
        ends.min()
    }

    /// What the server's word for the end means.
    pub fn end_for_reason(&self, reason: &str) -> ReplyEnd {
        let is_said = |row: &&Ending| row.said.iter().any(|it| it.eq_ignore_ascii_case(reason));
        let row = self.ending.iter().find(is_said);
        if row.is_none() {
            tracing::info!(reason, "a reply ended for a reason that is not known");
        }
        row.map_or(ReplyEnd::Complete, |row| row.means)
    }
}

fn starts_with(text: &str, mark: &str) -> bool {
    let start = text.get(..mark.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn answer_of(reply: &str) -> String {
        let mut reading = Reading::default();
        reading.read(&ReplyMarks::built_in(), reply, true, true);
        reading.text
    }

    const TABLE: [(&str, &str); 38] = [
        ("plain", "plain"),
        ("<think>a</think>b", "b"),
        ("\n<think>\na [0.5]\n</think>\n\nb", "b"),
        ("<THINK>a</Think>b", "b"),
        ("<thinking>a</thinking>b", "b"),
        ("<think>a</think><think>b</think>c", "c"),
        ("one <think>a</think>two", "one two"),
        ("<think>never closed", ""),
        ("one <think>never closed", "one <think>never closed"),
        (
            "the `<think>` tag, and `</think>`",
            "the `<think>` tag, and `</think>`",
        ),
        ("a < b <thi", "a < b <thi"),
        ("a <thin b> <t>", "a <thin b> <t>"),
        ("比<think>想</think>较", "比较"),
        ("", ""),
        (
            "Let me look at the notes.</think>\n\nThe answer is 42 [1].",
            "The answer is 42 [1].",
        ),
        (
            "It may be [2] or [3]. So 42.\n</think>\nThe answer is 42 [1].",
            "The answer is 42 [1].",
        ),
        ("hm</THINK>b", "b"),
        ("</think>b", "b"),
        ("a</think>b</think>c", "c"),
        ("<think>a <think>b</think> c.</think>d", "d"),
        ("An answer.</think>", "An answer."),
        ("An answer.\n</think>\n", "An answer.\n"),
        (
            "It closes its thoughts with </think> and then answers.",
            "It closes its thoughts with </think> and then answers.",
        ),
        (
            "The marks are <think>, </think>.",
            "The marks are <think>, </think>.",
        ),
        ("Say \"</think>\" twice.", "Say \"</think>\" twice."),
        (
            "```xml\n<think>a</think>\n```\nb",
            "```xml\n<think>a</think>\n```\nb",
        ),
        ("analysisSix.assistantfinalTwelve.", "Twelve."),
        (
            "Six.<|end|><|start|>assistant<|channel|>final<|message|>Twelve.<|return|>",
            "Twelve.",
        ),
        ("<|channel|>final<|message|>Twelve.", "Twelve."),
        ("Twelve.<|im_end|>", "Twelve."),
        ("Twelve [1] <|im_end|>", "Twelve [1] "),
        (
            "Qwen ends its turns with <|im_end|> and goes on.",
            "Qwen ends its turns with <|im_end|> and goes on.",
        ),
        ("`<|im_end|>` ends a turn.", "`<|im_end|>` ends a turn."),
        ("arr[0] = [INST", "arr[0] = [INST"),
        (
            "<evidence-3f9c21ab n=\"1\" source=\"a.md\">\nSeven.\n</evidence-3f9c21ab> [1]",
            "Seven.\n [1]",
        ),
        ("<evidence> and <part-time>", "<evidence> and <part-time>"),
        ("a <evidence-3f9c", "a <evidence-3f9c"),
        ("a </evidence-3f9c21ab> b", "a  b"),
    ];

    #[test]
    fn r23_thoughts_are_removed() {
        for (reply, text) in TABLE {
            assert_eq!(answer_of(reply), text, "{reply:?}");
        }
    }

    /// What the answer is in the end, read piece by piece; what was shown of it is the same unless it was taken back.
    fn seen<'a>(thinking: Thinking, pieces: impl Iterator<Item = &'a str>) -> String {
        let mut filter = ThinkFilter::new(ReplyMarks::built_in(), thinking);
        let mut seen: String = pieces.map(|piece| filter.push(piece)).collect();
        seen += &filter.finish();
        assert!(filter.is_taken_back || seen == filter.shown);
        filter.shown
    }

    #[test]
    fn r23_thoughts_are_removed_across_every_border() {
        let kinds = [Thinking::Unknown, Thinking::First, Thinking::Unopened];
        for (thinking, (reply, text)) in kinds.into_iter().flat_map(|it| TABLE.map(|row| (it, row)))
        {
            for cut in (0..=reply.len()).filter(|&at| reply.is_char_boundary(at)) {
                let (start, end) = reply.split_at(cut);
                let shown = seen(thinking, [start, end].into_iter());
                assert_eq!(shown, text, "{reply:?} cut at {cut}");
            }
            let pieces = reply
                .char_indices()
                .map(|(at, c)| &reply[at..at + c.len_utf8()]);
            assert_eq!(seen(thinking, pieces), text, "{reply:?} one by one");
        }
    }

    #[test]
    fn text_is_shown_as_soon_as_it_cannot_be_a_mark() {
        let mut filter = ThinkFilter::new(ReplyMarks::built_in(), Thinking::Unknown);
        assert_eq!(filter.push("One. Two <th"), "One. Two ");
        assert_eq!(filter.push("e end"), "<the end");
    }

    #[test]
    fn r23_what_was_shown_and_turns_out_to_be_thought_is_no_answer() {
        let long = "The notes say that. ".repeat(30);
        for (thinking, shown) in [(Thinking::Unknown, &*long), (Thinking::Unopened, "")] {
            let mut filter = ThinkFilter::new(ReplyMarks::built_in(), thinking);
            assert_eq!(filter.push(&long), shown);
            let thought = (thinking == Thinking::Unopened).then_some(long.as_str());
            assert_eq!(filter.thought(), thought);
            filter.push("So.</think>");
            assert_eq!(filter.push("\n42"), "42");
            let is_taken_back = !shown.is_empty();
            assert_eq!(
                (&*filter.shown, filter.is_taken_back),
                ("42", is_taken_back)
            );
            assert_eq!(filter.reading.thinking, Thinking::Unopened);
        }
    }

    #[test]
    fn r23_an_answer_is_over_after_its_end() {
        let mut filter = ThinkFilter::new(ReplyMarks::built_in(), Thinking::Unknown);
        let mut text = filter.push("Twelve.<|im_end|>\n");
        assert!(!filter.reading.has_ended());
        text += &filter.push(&"And now? ".repeat(99));
        assert!(filter.reading.has_ended());
        assert_eq!(text + &filter.finish(), "Twelve.");
    }

    #[test]
    fn models_that_think_are_known_by_their_names() {
        for (model, thinks) in [
            ("o3-mini", Thinking::First),
            ("openai/gpt-5-mini", Thinking::First),
            ("gpt-4o", Thinking::Unknown),
            ("deepseek-ai/DeepSeek-R1", Thinking::Unopened),
            ("Qwen/Qwen3-4B-Thinking-2507", Thinking::Unopened),
            ("deepseek-chat", Thinking::Unknown),
            ("qwen3:4b", Thinking::First),
            ("qwen2.5:7b", Thinking::Unknown),
            ("smollm2", Thinking::Unknown),
            ("llama-3.1-8b-instruct", Thinking::Unknown),
            ("", Thinking::Unknown),
        ] {
            assert_eq!(Thinking::of_model(model), thinks, "{model}");
        }
    }

    #[test]
    fn r17_a_judgement_is_what_comes_after_its_thoughts() {
        for (reply, judgement) in [
            ("hm [0.1]</think>\n[0.9]", "[0.9]"),
            (
                "<|channel|>analysis<|message|>[0.1]<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>[0.9]",
                "[0.9]",
            ),
            (
                "{\"reply\": \"Hello!<|im_end|>\"}<|im_end|>",
                "{\"reply\": \"Hello!\"}",
            ),
            ("{\"reply\": \"</think>\"}", "{\"reply\": \"</think>\"}"),
        ] {
            assert_eq!(without_thoughts(reply), judgement);
        }
    }
}

#[cfg(test)]
mod marks_tests {
    use super::tests::answer_of;
    use super::*;

    #[test]
    fn r23_every_mark_of_the_table_does_what_its_example_shows() {
        let table: toml::Table = toml::from_str(TABLE).unwrap();
        let rows = ["thought", "token"].map(|kind| table[kind].as_array().unwrap());
        for row in rows.into_iter().flatten() {
            let said = |field: &str| row[field].as_str().unwrap();
            assert!(!said("by").is_empty());
            assert_eq!(answer_of(said("example")), said("answer"), "{row:?}");
            for mark in ["open", "mark"].iter().filter_map(|field| row.get(field)) {
                let mark = mark.as_str().unwrap();
                let example = said("example").to_lowercase();
                let is_template = mark == "<think>";
                assert!(
                    is_template || example.contains(&mark.to_lowercase()),
                    "{row:?}"
                );
                let prose = format!("The mark `{mark}` is one of them.");
                assert_eq!(answer_of(&prose), prose);
                assert_eq!(without_thoughts(&prose), prose);
            }
        }
    }

    #[test]
    fn r23_reasons_of_ending_are_known_in_any_case() {
        let table = ReplyMarks::built_in();
        for (reason, means) in [
            ("stop", ReplyEnd::Complete),
            ("STOP", ReplyEnd::Complete),
            ("EOS", ReplyEnd::Complete),
            ("end_turn", ReplyEnd::Complete),
            ("tool_calls", ReplyEnd::Complete),
            ("something new", ReplyEnd::Complete),
            ("length", ReplyEnd::Limit),
            ("MAX_TOKENS", ReplyEnd::Limit),
            ("max_tokens", ReplyEnd::Limit),
            ("model_length", ReplyEnd::Limit),
            ("content_filter", ReplyEnd::Withheld),
            ("SAFETY", ReplyEnd::Withheld),
            ("PROHIBITED_CONTENT", ReplyEnd::Withheld),
            ("RECITATION", ReplyEnd::Withheld),
            ("error", ReplyEnd::BrokeOff),
            ("abort", ReplyEnd::BrokeOff),
            ("insufficient_system_resource", ReplyEnd::BrokeOff),
        ] {
            assert_eq!(table.end_for_reason(reason), means, "{reason}");
        }
        let said: Vec<_> = table.ending.iter().flat_map(|row| &row.said).collect();
        for (at, word) in said.iter().enumerate() {
            assert!(!said[..at].contains(word), "{word} means two things");
        }
    }

    #[test]
    fn r27_rows_of_the_users_come_first_and_bad_ones_are_one_line() {
        let own = "[[thought]]\nopen = '<hm>'\nclose = ['</hm>']\n\n[[ending]]\nmeans = 'limit'\nsaid = ['stop']\n";
        let table = ReplyMarks::with_user_rows(Some(own)).unwrap();
        assert_eq!(table.end_for_reason("stop"), ReplyEnd::Limit);
        let opens = Beginning::Mark(Mark::Open(0), 4);
        assert_eq!(table.beginning("<hm>so", false), opens);
        assert_eq!(table.beginning("<h", false), Beginning::Open);
        assert_eq!(table.beginning("<h", true), Beginning::Text);
        for bad in [
            "nonsense",
            "[[token]]\nby = 'x'\n",
            "[[token]]\nmark = ''\n",
        ] {
            let line = ReplyMarks::with_user_rows(Some(bad)).unwrap_err();
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }
}
