//! Tells small talk from questions.
//!
//! A false "small talk" costs an answer, a missed one costs a search. So a message counts as
//! social only when it holds a phrase from a list *and* nothing but social words and fillers
//! beside it: one unknown word makes it a question ("What can you do with grep?"). The phrases
//! follow the small-talk intents of CLINC150 (Larson 2019).

use super::literals::Literals;
use super::social_phrases::{CHINESE_FILLERS, CHINESE_PHRASES, FILLERS, PHRASES, SOCIAL_WORDS};
use super::words::plain_words;
use crate::text::is_chinese;

/// What kind of small talk; decides the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Social {
    Greeting,
    Thanks,
    Goodbye,
    Identity,
    Abilities,
    Wellbeing,
    Joke,
    Other,
}

/// The kind of small talk, or `None` for everything that may touch knowledge.
pub(super) fn social(text: &str) -> Option<Social> {
    if text.chars().count() > 160 {
        return None;
    }
    let literals = Literals::of(text);
    if !literals.keywords().is_empty() || !literals.files.is_empty() {
        return None;
    }
    if is_chinese(text) {
        chinese(text)
    } else {
        english(text)
    }
}

fn english(text: &str) -> Option<Social> {
    let words = plain_words(text);
    let line = format!(" {} ", words.join(" "));
    let has = |phrase: &&str| line.contains(&format!(" {phrase} "));
    let (kind, _) = PHRASES
        .iter()
        .find(|(_, phrases)| phrases.iter().any(&has))?;
    let mut unknown = words
        .iter()
        .filter(|word| !is_social_word(word) && !is_filler(word))
        .count();
    if matches!(kind, Social::Joke)
        && let Some(at) = words.iter().position(|word| word == "about")
    {
        // The topic of a joke is not a topic of the knowledge base.
        unknown = unknown.saturating_sub(words.len().saturating_sub(at + 1).min(2));
    }
    (unknown == 0).then_some(*kind)
}

fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word) || (word.len() == 1 && !word.chars().all(char::is_numeric))
}

fn is_social_word(word: &str) -> bool {
    SOCIAL_WORDS.contains(&word)
        || PHRASES
            .iter()
            .flat_map(|(_, phrases)| phrases.iter())
            .any(|phrase| phrase.split(' ').any(|part| part == word))
}

fn chinese(text: &str) -> Option<Social> {
    let mut rest: String = text
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric())
        .collect();
    let mut kind = None;
    for (of, phrases) in CHINESE_PHRASES {
        for phrase in *phrases {
            if rest.contains(phrase) {
                rest = rest.replace(phrase, "");
                kind = kind.or(Some(*of));
            }
        }
    }
    for filler in CHINESE_FILLERS {
        rest = rest.replace(filler, "");
    }
    kind.filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r02_purely_social_messages() {
        for (text, kind) in [
            ("hi", Social::Greeting),
            ("Hello there!", Social::Greeting),
            ("thanks a lot, that was very helpful", Social::Thanks),
            ("hi, who are you?", Social::Identity),
            ("What's your name?", Social::Identity),
            ("how are you today", Social::Wellbeing),
            ("tell me a joke about zebras", Social::Joke),
            ("what can you do?", Social::Abilities),
            ("bye, see you later", Social::Goodbye),
            ("你好", Social::Greeting),
            ("你是谁？", Social::Identity),
            ("非常感谢你的帮助！", Social::Thanks),
            ("给我讲个笑话吧", Social::Joke),
            ("再见", Social::Goodbye),
        ] {
            assert_eq!(social(text), Some(kind), "{text}");
        }
    }

    #[test]
    fn r02_what_touches_knowledge_is_not_social() {
        for text in [
            "",
            "hi, what is the vector threshold?",
            "What can you do with the grep tool?",
            "thanks, and what is its default?",
            "How are you supposed to set KB_AGENT_THEME?",
            "who made the decision in PROJ-103",
            "what is a greeting",
            "is chitchat graded",
            "你好，请问有几种路由？",
            "谢谢，那阈值是多少？",
            "什么是闲聊路径",
            "😀😀",
        ] {
            assert_eq!(social(text), None, "{text}");
        }
    }
}
