//! Takes out what is no answer: thoughts, marks of chat templates, tags of the prompt.
//!
//! A thought that is never closed at the beginning of a reply is the whole reply; one that opens
//! later and never closes is more likely an answer *about* the mark, and is given back at the end.
//! Where a mark closes what nothing opened, the chat template opened it: all before it is thought, and is
//! taken back where it was shown. For the first of these reasons a mark in code or within a
//! sentence is text.

use std::sync::Arc;

use super::code::CodeState;
use super::marks::{Beginning, Mark, ReplyMarks};

/// Parts of the names of models that think.
const MODELS: &str = include_str!("../../../assets/llm/thinking_models.txt");
/// Of a model that is not known to think, so much is held back at most, until a first sentence.
const FIRST_WORDS: usize = 80;
/// Of one whose template opens the thought, so much.
const FIRST_THOUGHTS: usize = 4_000;
/// So much may be said after the end before it is not read any more.
const AFTERWORD: usize = 400;

/// How a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thinking {
    /// It does not, as far as is known.
    Unknown,
    /// Before it replies.
    First,
    /// And its template may open the thought, which the reply then only closes.
    PerhapsUnopened,
    /// Which a reply of it has shown.
    Unopened,
}

impl Thinking {
    /// What the name of the model tells.
    pub fn of_model(model: &str) -> Self {
        let model = model.to_lowercase();
        let name = model.rsplit('/').next().unwrap_or_default();
        let rows = MODELS.lines().map(str::trim);
        let known = rows
            .filter(|row| !row.is_empty() && !row.starts_with('#'))
            .map(|row| match row.strip_suffix('>') {
                Some(row) => (row.trim_end(), Self::PerhapsUnopened),
                None => (row, Self::First),
            })
            .filter(|(row, _)| match row.strip_prefix('^') {
                Some(start) => name.starts_with(start),
                None => model.contains(row),
            });
        known
            .map(|(_, thinking)| thinking)
            .max()
            .unwrap_or(Self::Unknown)
    }

    /// How much of a reply is held back while it may be thought.
    fn held_back(self) -> usize {
        match self {
            Self::Unknown | Self::First => FIRST_WORDS,
            Self::PerhapsUnopened => FIRST_THOUGHTS,
            Self::Unopened => usize::MAX,
        }
    }
}

/// What of a reply can be shown now.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The next text.
    pub text: String,
    /// Whether all that was shown before is thought.
    pub takes_back: bool,
}

/// Removes what is no answer from text that arrives in pieces, and white space before the first word.
#[derive(Debug)]
pub struct ThinkFilter {
    marks: Arc<ReplyMarks>,
    /// Not decided yet: the beginning of a mark.
    held: String,
    /// The thought that goes on.
    inside: Option<Thought>,
    /// The text so far, while it may turn out to be thought, and how much of it at most.
    first: Option<(String, usize)>,
    code: CodeState,
    /// The last character, and the last that is no white space.
    last: Option<char>,
    last_sign: Option<char>,
    /// Whether there is text.
    has_text: bool,
    /// Whether something was handed out.
    is_shown: bool,
    /// What was said after the mark that ended the answer.
    afterword: Option<usize>,
    is_answer: bool,
    /// What closed a thought that nothing opened, and no text came since.
    closed_by: Option<String>,
    /// How the reply has begun.
    pub began: Thinking,
}

#[derive(Debug)]
struct Thought {
    row: usize,
    /// As it was written, the mark included.
    text: String,
    mark: usize,
    /// Whether nothing but thoughts came before it: then it is one, closed or not.
    opens_reply: bool,
}

impl ThinkFilter {
    /// For an answer of a model that thinks like this.
    pub fn of_answer(marks: Arc<ReplyMarks>, thinking: Thinking) -> Self {
        Self {
            first: Some((String::new(), thinking.held_back())),
            is_answer: true,
            ..Self::of_judgement(marks)
        }
    }

    /// For a judgement, which no template's mark ends.
    pub fn of_judgement(marks: Arc<ReplyMarks>) -> Self {
        Self {
            marks,
            held: String::new(),
            inside: None,
            first: None,
            code: CodeState::default(),
            last: None,
            last_sign: None,
            has_text: false,
            is_shown: false,
            afterword: None,
            is_answer: false,
            closed_by: None,
            began: Thinking::Unknown,
        }
    }

    /// What of the text so far can be shown now.
    pub fn push(&mut self, piece: &str) -> Shown {
        self.read(piece, false)
    }

    /// What came so far of a thought that opens the reply and goes on, as far as is known.
    pub fn thought(&self) -> Option<&str> {
        match (&self.inside, &self.first) {
            (Some(thought), _) if thought.opens_reply => Some(&thought.text[thought.mark..]),
            (None, Some((text, most))) if *most > FIRST_WORDS => Some(text),
            _ => None,
        }
    }

    /// Whether the answer is over, and what follows goes on and on.
    pub fn is_over(&self) -> bool {
        self.afterword.is_some_and(|length| length > AFTERWORD)
    }

    /// Holds nothing back any more: thoughts come by another way.
    pub fn trust(&mut self) {
        if let Some((_, most)) = &mut self.first {
            *most = 0;
        }
    }

    /// Shows the first words, because nothing else comes for a while.
    pub fn show_first(&mut self) -> Shown {
        let mut shown = Shown::default();
        if self.thought().is_none() {
            self.release(&mut shown);
            self.is_shown |= !shown.text.is_empty();
        }
        shown
    }

    /// What is left at the end.
    pub fn finish(&mut self) -> Shown {
        let mut shown = self.read("", true);
        if let Some(thought) = self.inside.take()
            && !thought.opens_reply
        {
            self.show(&thought.text, &mut shown);
        }
        if let Some(mark) = self.closed_by.take()
            && self.is_within_sentence("")
        {
            self.show(&mark, &mut shown);
        }
        self.release(&mut shown);
        shown
    }

    fn read(&mut self, piece: &str, is_all: bool) -> Shown {
        let mut text = std::mem::take(&mut self.held);
        text.push_str(piece);
        let mut shown = Shown::default();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let read = if self.inside.is_some() {
                self.read_thought(rest, is_all)
            } else {
                self.read_text(rest, is_all, &mut shown)
            };
            let Some(read) = read else {
                rest.clone_into(&mut self.held);
                break;
            };
            rest = &rest[read..];
        }
        self.is_shown |= !shown.text.is_empty();
        shown
    }

    /// Reads text up to the next mark, or that mark: so many bytes of it; `None` where more must
    /// come first.
    fn read_text(&mut self, text: &str, is_all: bool, shown: &mut Shown) -> Option<usize> {
        let sign = self.marks.next_sign(text).unwrap_or(text.len());
        if sign > 0 {
            self.show(&text[..sign], shown);
            return Some(sign);
        }
        let first = text.ceil_char_boundary(1);
        let beginning = if self.code.is_code() {
            Beginning::Text
        } else {
            self.marks.beginning(text, is_all)
        };
        let (mark, length) = match beginning {
            Beginning::Open => return None,
            Beginning::Text => {
                self.show(&text[..first], shown);
                return Some(first);
            }
            Beginning::Mark(mark, length) => (mark, length),
        };
        let after = &text[length..];
        // Two characters tell whether a sentence goes on.
        if !is_all && self.last.is_some() && after.chars().nth(1).is_none() {
            return None;
        }
        let is_text = match mark {
            Mark::OwnTag => false,
            Mark::End { at_line_end } => {
                let ends_line = after.is_empty() || after.starts_with(['\n', '\r', '<', '[']);
                let may_end = ends_line || !(at_line_end || self.is_within_sentence(after));
                self.has_text && !may_end
            }
            Mark::Open(_) | Mark::Close => {
                self.has_text && !after.is_empty() && self.is_within_sentence(after)
            }
        };
        if is_text {
            self.show(&text[..length], shown);
            return Some(length);
        }
        match mark {
            Mark::Open(row) if self.afterword.is_none() => {
                if !self.has_text {
                    self.began = self.began.max(Thinking::First);
                }
                self.inside = Some(Thought {
                    row,
                    text: text[..length].to_owned(),
                    mark: length,
                    opens_reply: !self.has_text,
                });
            }
            Mark::Close => {
                self.closed_by = self.has_text.then(|| text[..length].to_owned());
                self.afterword = None;
                self.code = CodeState::default();
            }
            Mark::End { .. } if self.is_answer && self.has_text && self.closed_by.is_none() => {
                self.afterword.get_or_insert(0);
            }
            _ => {}
        }
        Some(length)
    }

    /// Drops everything up to the end of the thought.
    fn read_thought(&mut self, text: &str, is_all: bool) -> Option<usize> {
        let thought = self.inside.as_mut()?;
        if let Some((_, after)) = self.marks.end_of_thought(thought.row, text) {
            if thought.opens_reply {
                // It is clear where the answer begins.
                self.first = None;
            }
            self.inside = None;
            return Some(after);
        }
        let kept = if is_all {
            0
        } else {
            self.marks.longest_close(thought.row)
        };
        let read = text.floor_char_boundary((text.len() + 1).saturating_sub(kept.max(1)));
        thought.text.push_str(&text[..read]);
        (read > 0).then_some(read)
    }

    /// Whether what follows goes on with the sentence that came before: then a mark between them
    /// is spoken of.
    fn is_within_sentence(&self, after: &str) -> bool {
        let mut after = after.chars();
        let next = after.next();
        match self.last {
            Some('"' | '\'' | '“' | '‘' | '«' | '(') => {
                matches!(next, Some('"' | '\'' | '”' | '’' | '»' | ')'))
            }
            Some(' ')
                if self
                    .last_sign
                    .is_some_and(|c| c.is_alphanumeric() || c == ',') =>
            {
                match next {
                    None | Some('.' | ',' | ';' | ':' | '!' | '?' | ')') => true,
                    Some(' ') => after.next().is_some_and(char::is_lowercase),
                    _ => false,
                }
            }
            _ => false,
        }
    }

    fn show(&mut self, text: &str, shown: &mut Shown) {
        if let Some(said) = &mut self.afterword {
            *said += text.len();
            return;
        }
        let begins = !self.has_text || self.closed_by.is_some();
        let text = if begins { text.trim_start() } else { text };
        if text.is_empty() {
            return;
        }
        if self.closed_by.take().is_some() {
            shown.takes_back |= self.is_shown;
            shown.text.clear();
            self.began = Thinking::Unopened;
            self.first = None;
        }
        self.has_text = true;
        for c in text.chars() {
            self.code.push(c);
            self.last = Some(c);
            if !c.is_whitespace() {
                self.last_sign = self.last;
            }
        }
        let Some((first, most)) = &mut self.first else {
            shown.text.push_str(text);
            return;
        };
        first.push_str(text);
        if first.len() > *most || (*most == FIRST_WORDS && has_sentence(first)) {
            self.release(shown);
        }
    }

    /// Hands out what was held back.
    fn release(&mut self, shown: &mut Shown) {
        if let Some((first, _)) = self.first.take() {
            shown.text.push_str(&first);
        }
    }
}

/// Whether a sentence or a line of the text is whole.
fn has_sentence(text: &str) -> bool {
    text.contains(['\n', '。', '！', '？'])
        || [". ", "! ", "? ", ": "]
            .iter()
            .any(|end| text.contains(end))
}

/// A whole judgement without its thoughts.
pub fn without_thoughts(reply: &str) -> String {
    filtered(ThinkFilter::of_judgement(ReplyMarks::built_in()), reply)
}

/// The same with these marks.
pub fn filtered(mut filter: ThinkFilter, reply: &str) -> String {
    let mut text = filter.push(reply).text;
    let rest = filter.finish();
    if rest.takes_back {
        text.clear();
    }
    text + &rest.text
}

#[cfg(test)]
pub fn answer_of(reply: &str) -> String {
    let filter = ThinkFilter::of_answer(ReplyMarks::built_in(), Thinking::Unknown);
    filtered(filter, reply)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// What is left to see, piece by piece.
    fn seen<'a>(thinking: Thinking, pieces: impl Iterator<Item = &'a str>) -> String {
        let mut filter = ThinkFilter::of_answer(ReplyMarks::built_in(), thinking);
        let mut seen = String::new();
        let mut take = |shown: Shown| {
            if shown.takes_back {
                seen.clear();
            }
            seen.push_str(&shown.text);
        };
        pieces.for_each(|piece| take(filter.push(piece)));
        take(filter.finish());
        seen
    }

    #[test]
    fn r23_thoughts_are_removed_across_every_border() {
        let kinds = [
            Thinking::Unknown,
            Thinking::PerhapsUnopened,
            Thinking::Unopened,
        ];
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
        let mut filter = ThinkFilter::of_judgement(ReplyMarks::built_in());
        assert_eq!(filter.push("one <th").text, "one ");
        assert_eq!(filter.push("e end").text, "<the end");
    }

    #[test]
    fn r23_what_was_shown_is_taken_back_when_it_turns_out_to_be_thought() {
        let long = "The notes say that. ".repeat(30);
        let mut filter = ThinkFilter::of_answer(ReplyMarks::built_in(), Thinking::Unknown);
        assert_eq!(filter.push(&long).text, long);
        assert_eq!(filter.push("So.</think>").text, "So.");
        let back = Shown {
            text: "42".to_owned(),
            takes_back: true,
        };
        assert_eq!(filter.push("\n42"), back);
        assert_eq!(filter.began, Thinking::Unopened);
        for thinking in [Thinking::PerhapsUnopened, Thinking::Unopened] {
            let mut filter = ThinkFilter::of_answer(ReplyMarks::built_in(), thinking);
            assert_eq!(filter.push(&long), Shown::default());
            assert_eq!(filter.thought(), Some(long.as_str()));
            filter.push("So.</think>");
            let text = Shown {
                text: "42".to_owned(),
                takes_back: false,
            };
            assert_eq!(filter.push("\n42"), text);
        }
    }

    #[test]
    fn r23_an_answer_is_over_after_its_end() {
        let mut filter = ThinkFilter::of_answer(ReplyMarks::built_in(), Thinking::Unknown);
        let mut text = filter.push("Twelve.<|im_end|>\n").text;
        assert!(!filter.is_over());
        text += &filter.push(&"And now? ".repeat(99)).text;
        assert!(filter.is_over());
        assert_eq!(text + &filter.finish().text, "Twelve.");
    }

    #[test]
    fn models_that_think_are_known_by_their_names() {
        for (model, thinks) in [
            ("o3-mini", Thinking::First),
            ("openai/gpt-5-mini", Thinking::First),
            ("gpt-4o", Thinking::Unknown),
            ("deepseek-ai/DeepSeek-R1", Thinking::PerhapsUnopened),
            ("Qwen/Qwen3-4B-Thinking-2507", Thinking::PerhapsUnopened),
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
