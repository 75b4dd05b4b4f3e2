//! Takes out what a model thought aloud.
//!
//! Some servers pass `<think>…</think>` through as ordinary text. A thought that is never closed
//! at the beginning of a reply is the whole reply; one that opens later and never closes is more
//! likely an answer *about* the tag, and is given back at the end. For the same reason a tag in
//! backticks is text.

/// The pairs in use; case does not matter.
const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// Parts of the names of models that think.
const MODELS: &str = include_str!("../../../assets/llm/thinking_models.txt");

/// Whether the model of that name is known to think before it replies.
pub fn is_known_to_think(model: &str) -> bool {
    let model = model.to_lowercase();
    let name = model.rsplit('/').next().unwrap_or_default();
    let rows = MODELS.lines().map(str::trim);
    rows.filter(|row| !row.is_empty() && !row.starts_with('#'))
        .any(|row| match row.strip_prefix('^') {
            Some(start) => name.starts_with(start),
            None => model.contains(row),
        })
}

/// Whether the reply begins with a thought.
pub fn begins_with_thought(reply: &str) -> bool {
    let reply = reply.trim_start();
    TAGS.iter().any(|(open, _)| starts_with(reply, open))
}

/// Removes thoughts from text that arrives in pieces, and white space before the first word.
#[derive(Debug, Default)]
pub struct ThinkFilter {
    /// Not decided yet: the beginning of a tag, or of its end.
    held: String,
    /// The thought that goes on.
    inside: Option<Thought>,
    /// The last character shown; none before the first word.
    last: Option<char>,
}

#[derive(Debug)]
struct Thought {
    opened_by: &'static str,
    closed_by: &'static str,
    so_far: String,
    /// Whether nothing but thoughts came before it: then it is one, closed or not.
    opens_reply: bool,
}

impl ThinkFilter {
    /// What of the text so far can be shown now.
    pub fn push(&mut self, piece: &str) -> String {
        let mut text = std::mem::take(&mut self.held);
        text.push_str(piece);
        let mut shown = String::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            rest = if self.inside.is_some() {
                self.leave_thought(rest)
            } else {
                self.read_text(rest, &mut shown)
            };
        }
        shown
    }

    /// What came so far of a thought that opens the reply and goes on.
    pub fn thought(&self) -> Option<&str> {
        let thought = self.inside.as_ref().filter(|thought| thought.opens_reply)?;
        Some(&thought.so_far)
    }

    /// What is left at the end.
    pub fn finish(mut self) -> String {
        let mut shown = String::new();
        let rest = match self.inside.take() {
            None => std::mem::take(&mut self.held),
            Some(thought) if thought.opens_reply => String::new(),
            Some(thought) => format!("{}{}{}", thought.opened_by, thought.so_far, self.held),
        };
        self.show(&rest, &mut shown);
        shown
    }

    /// Shows everything up to the next tag; returns what comes after it, having held back what
    /// could become one.
    fn read_text<'a>(&mut self, text: &'a str, shown: &mut String) -> &'a str {
        let Some(at) = text.find('<') else {
            self.show(text, shown);
            return "";
        };
        self.show(&text[..at], shown);
        let tag = &text[at..];
        if self.last != Some('`') {
            for (open, close) in TAGS {
                if starts_with(tag, open) {
                    self.inside = Some(Thought {
                        opened_by: open,
                        closed_by: close,
                        so_far: String::new(),
                        opens_reply: self.last.is_none(),
                    });
                    return &tag[open.len()..];
                }
            }
            if TAGS.iter().any(|(open, _)| starts_with(open, tag)) {
                tag.clone_into(&mut self.held);
                return "";
            }
        }
        self.show("<", shown);
        &tag[1..]
    }

    /// Drops everything up to the end of the thought; returns what comes after it, having held
    /// back what could become that end.
    fn leave_thought<'a>(&mut self, text: &'a str) -> &'a str {
        let Some(thought) = &mut self.inside else {
            return text;
        };
        if let Some(at) = find(text, thought.closed_by) {
            let after = &text[at + thought.closed_by.len()..];
            self.inside = None;
            return after;
        }
        let keep_from =
            text.floor_char_boundary((text.len() + 1).saturating_sub(thought.closed_by.len()));
        thought.so_far.push_str(&text[..keep_from]);
        text[keep_from..].clone_into(&mut self.held);
        ""
    }

    fn show(&mut self, text: &str, shown: &mut String) {
        let text = if self.last.is_none() {
            text.trim_start()
        } else {
            text
        };
        if let Some(last) = text.chars().next_back() {
            self.last = Some(last);
            shown.push_str(text);
        }
    }
}

/// A whole reply without its thoughts.
///
/// Templates that open the thought themselves leave only its end in the reply: everything before
/// an end that nothing opened is thought too.
pub fn without_thoughts(reply: &str) -> String {
    let mut rest = reply;
    for (open, close) in TAGS {
        let opened = find(rest, open).unwrap_or(usize::MAX);
        if let Some(at) = find(rest, close)
            && at < opened
        {
            rest = &rest[at + close.len()..];
        }
    }
    let mut filter = ThinkFilter::default();
    let mut text = filter.push(rest);
    text.push_str(&filter.finish());
    text
}

fn starts_with(text: &str, tag: &str) -> bool {
    text.len() >= tag.len() && text.as_bytes()[..tag.len()].eq_ignore_ascii_case(tag.as_bytes())
}

fn find(text: &str, tag: &str) -> Option<usize> {
    text.as_bytes()
        .windows(tag.len())
        .position(|window| window.eq_ignore_ascii_case(tag.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: [(&str, &str); 14] = [
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
    ];

    #[test]
    fn thoughts_are_removed() {
        for (reply, text) in TABLE {
            assert_eq!(without_thoughts(reply), text, "{reply:?}");
        }
    }

    #[test]
    fn thoughts_are_removed_across_every_border() {
        for (reply, text) in TABLE {
            for cut in (0..=reply.len()).filter(|&at| reply.is_char_boundary(at)) {
                let mut filter = ThinkFilter::default();
                let mut shown = filter.push(&reply[..cut]);
                shown.push_str(&filter.push(&reply[cut..]));
                shown.push_str(&filter.finish());
                assert_eq!(shown, text, "{reply:?} cut at {cut}");
            }
            let mut filter = ThinkFilter::default();
            let mut shown: String = reply
                .chars()
                .map(|c| filter.push(c.encode_utf8(&mut [0; 4])))
                .collect();
            shown.push_str(&filter.finish());
            assert_eq!(shown, text, "{reply:?} one by one");
        }
    }

    #[test]
    fn text_is_shown_as_soon_as_it_cannot_be_a_tag() {
        let mut filter = ThinkFilter::default();
        assert_eq!(filter.push("one <th"), "one ");
        assert_eq!(filter.push("e end"), "<the end");
    }

    #[test]
    fn models_that_think_are_known_by_their_names() {
        for (model, thinks) in [
            ("o3-mini", true),
            ("openai/gpt-5-mini", true),
            ("gpt-4o", false),
            ("deepseek-ai/DeepSeek-R1", true),
            ("deepseek-chat", false),
            ("qwen3:4b", true),
            ("qwen2.5:7b", false),
            ("smollm2", false),
            ("llama-3.1-8b-instruct", false),
            ("", false),
        ] {
            assert_eq!(is_known_to_think(model), thinks, "{model}");
        }
        assert!(begins_with_thought("\n<Think>hm"));
        assert!(!begins_with_thought("{\"a\": \"<think>\"}"));
    }

    #[test]
    fn a_thought_whose_beginning_the_template_kept_is_removed() {
        assert_eq!(without_thoughts("hm [0.1]</think>\n[0.9]"), "[0.9]");
    }
}
