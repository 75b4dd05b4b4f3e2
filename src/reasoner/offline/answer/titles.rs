//! What a passage is called, and which others speak of it by that name.
//!
//! A question that needs two documents often names only the first, which in turn names the second.
//! The second then shares few words with the question and is wanted all the same. So being named
//! counts, but only as much as the one that names is itself wanted: where nothing answers the
//! question, nothing is gained by it.

use crate::text::is_cjk;

use super::words::terms;

/// A shorter name, in letters of an alphabet and of Chinese, is as likely a word like any other.
const SHORTEST: usize = 4;
const SHORTEST_CJK: usize = 3;

/// The title of a passage.
pub(super) struct Title {
    name: String,
    terms: Vec<String>,
}

impl Title {
    /// Of the heading a passage begins with; what it adds in brackets, as in "Arrow (film)", only
    /// tells it from its namesakes.
    pub(super) fn of(heading: &str) -> Self {
        let name = heading.split(['(', '（']).next().unwrap_or_default();
        let name = name.trim().to_owned();
        Self {
            terms: terms(&name),
            name,
        }
    }

    /// As it stands, without what stands in brackets.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the question asks for what is called so, by its words in this order.
    pub(super) fn is_asked_for(&self, question: &[String]) -> bool {
        let length = self.terms.len();
        length > 0 && question.windows(length).any(|words| words == self.terms)
    }

    /// Whether the text says the name as it stands, capitals included: a title such as "Rules" is
    /// not named by every text that speaks of rules.
    pub(super) fn is_named_in(&self, text: &str) -> bool {
        let letters = self.name.chars().count();
        let cjk = self.name.chars().any(is_cjk);
        if letters < if cjk { SHORTEST_CJK } else { SHORTEST } {
            return false;
        }
        let apart = |c: Option<char>| cjk || !c.is_some_and(char::is_alphanumeric);
        text.match_indices(&self.name).any(|(at, name)| {
            let (before, after) = (&text[..at], &text[at + name.len()..]);
            apart(before.chars().next_back()) && apart(after.chars().next())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_asked_for_by_its_words() {
        let question = terms("Were Scott Derrickson and Ed Wood of the same nationality?");
        for (title, asked) in [
            ("Ed Wood (film)", true),
            ("Scott Derrickson", true),
            ("Wood Ed", false),
            ("The Ed Wood Story", false),
            ("", false),
            ("(2016)", false),
        ] {
            assert_eq!(Title::of(title).is_asked_for(&question), asked, "{title}");
        }
        let question = terms("《战国无双3》是由哪两个公司合作开发的？");
        assert!(Title::of("战国无双3").is_asked_for(&question));
    }

    #[test]
    fn a_title_is_named_as_it_stands() {
        for (title, text, named) in [
            ("Ada Stone (painter)", "It was painted by Ada Stone.", true),
            ("Ada Stone", "Stone, Ada", false),
            ("Rules", "the rules come first", false),
            ("Rule", "Rules come first", false),
            ("Oslo", "in Oslo, Norway", true),
            ("Rye", "made of Rye", false),
            ("评分规则", "详见评分规则一节", true),
            ("工具", "使用工具", false),
        ] {
            assert_eq!(Title::of(title).is_named_in(text), named, "{title}: {text}");
        }
    }
}
