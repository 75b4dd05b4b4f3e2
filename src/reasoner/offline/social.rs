//! Tells small talk from questions.
//!
//! A false "small talk" costs an answer, a missed one costs a search, so the doubt is knowledge's.
//! Two ways lead to small talk. A message that holds a phrase from a list *and* nothing but social
//! words and fillers beside it is small talk unless the learned weights find that absurd ("what is
//! artificial intelligence" is made of such words too). Any other is when the learned weights are
//! sure, of the whole message and of what stands behind a greeting. What must be taken literally, an
//! identifier or a file, is never small talk. The phrases follow the small-talk intents of CLINC150
//! (Larson 2019).

use super::learned;
use super::learned_features::tokens;
use super::literals::Literals;
use super::social_phrases::{
    BESIDE_INTERJECTIONS, CHINESE_FILLERS, CHINESE_PHRASES, FILLERS, INTERJECTIONS, PHRASES,
    SOCIAL_WORDS,
};
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

/// From this probability on a message is small talk: of a hundred so taken, three are none.
pub(super) const SMALL_TALK_FROM: f64 = 0.7;
/// Below this the learned weights overrule the phrases, in messages long enough to be about anything.
const ABSURD_BELOW: f64 = 0.2;
/// Phrases of so many words and no more stand for themselves.
const SHORT_WORDS: usize = 3;
const SHORT_CHARS: usize = 4;
/// What phrases are worth as a probability: measured on CLINC150, of which nothing was fitted here.
const PHRASED: f64 = 0.97;
/// Below this, what stands behind a greeting is a question.
const QUESTION_BELOW: f64 = 0.3;
const SENTENCE_ENDS: [char; 13] = [
    ',', '.', '!', '?', ';', '，', '。', '！', '？', '；', '~', '～', '\n',
];
/// Whom small talk is with.
const ADDRESSED: [&str; 4] = ["你", "您", "咱", "陪我"];
/// What asks in Chinese.
#[rustfmt::skip]
const ASKING_ZH: [&str; 14] = [
    "?", "？", "吗", "是不是", "什么", "怎么", "怎样", "如何", "哪", "多少", "几个", "几次", "为何", "谁",
];
/// The first words of a question for a thing.
const ASKING: [&str; 7] = ["what", "which", "where", "when", "why", "how", "who"];
/// Whom English small talk is with, or what stands in its set phrases: "what's up", "how is it going".
#[rustfmt::skip]
const PEOPLE: [&str; 16] = [
    "you", "your", "yours", "youre", "you're", "u", "ya", "yourself", "i", "me", "my", "we", "us", "our", "it", "up",
];
/// A message of nothing else is small talk.
#[rustfmt::skip]
const INTERJECTIONS_ZH: [&str; 20] = [
    "好家伙", "不会吧", "行吧", "收到", "绝了", "哇塞", "卧槽", "天哪", "天啊", "哎呀", "哈喽", "嗯", "哦", "喔", "哇", "唉", "嘿", "哈",
    "嘻", "呵",
];
/// These hold on to the answer before, and so to the knowledge base.
#[rustfmt::skip]
const ASKING_ON: [&str; 25] = [
    "are you sure", "you mean", "mean by that", "explain", "elaborate", "an example", "more detail", "more details",
    "go on", "continue", "say that again", "you know that", "told you", "you find that", "that wrong", "is wrong",
    "not right", "not correct", "do you call a", "do you call an", "do you call the", "source", "sources", "this week", "this month",
];
/// These report that something does not work.
#[rustfmt::skip]
const TROUBLE: [&str; 12] = [
    "crashed", "crashes", "broken", "broke", "stuck", "failed", "fails", "error", "errors", "works", "frozen", "loading",
];
/// A sentence that begins so wants something looked up.
#[rustfmt::skip]
const ORDERS: [&str; 8] = ["compare", "list", "explain", "summarize", "summarise", "find", "search", "describe"];
const ABOUT: [&str; 5] = [
    "tell me about",
    "anything about",
    "something about",
    "know about",
    "information about",
];
/// What people say before they come to it.
#[rustfmt::skip]
const OPENINGS: [&str; 16] = [
    "hi", "hello", "hey", "please", "ok", "okay", "now", "so", "and", "then", "thanks", "can", "could", "you", "just", "great",
];
const MAY: [&str; 8] = ["do", "does", "did", "can", "could", "will", "would", "may"];
const MINE: [&str; 4] = ["my", "mine", "our", "ours"];
/// Of a message in another language most words are foreign.
const FOREIGN_MOST: f64 = 0.5;
/// At most so likely is a single word, and a message in another language.
const ALONE: f64 = 0.4;
/// At most so likely is small talk with nobody, unless the weights say at least this.
const UNADDRESSED: f64 = 0.4;
/// So few words may be a topic to search for.
const TOPIC_WORDS: usize = 3;
const UNADDRESSED_FROM: f64 = 0.9;
const TOPIC_FROM: f64 = 0.98;
const UNADDRESSED_FROM_ZH: f64 = 0.8;
/// The same of Chinese, where it asks.
const ASKS_OF_NOBODY_ZH: f64 = 0.96;
/// Longer messages have something to say.
const LONGEST: usize = 160;

/// The kind of small talk, or `None` for everything that may touch knowledge.
pub(super) fn social(text: &str) -> Option<Social> {
    let (probability, kind) = judged(text);
    (probability >= SMALL_TALK_FROM).then_some(kind.unwrap_or(Social::Other))
}

/// How likely this is small talk, 0 to 1: the weights and the rules together.
pub(super) fn small_talk_probability(text: &str) -> f64 {
    judged(text).0
}

fn judged(text: &str) -> (f64, Option<Social>) {
    let shouted = !text.contains(char::is_lowercase) && !text.contains(['_', '-', '.', '/']);
    let lower = if shouted {
        text.to_lowercase()
    } else {
        String::new()
    };
    let text = if shouted { lower.as_str() } else { text };
    let literals = Literals::of(text);
    let literal = !literals.keywords().is_empty() || !literals.files.is_empty();
    if literal || text.chars().count() > LONGEST || !text.contains(char::is_alphanumeric) {
        return (0.0, None);
    }
    if is_chinese(text) {
        chinese(text)
    } else {
        english(text)
    }
}

fn english(text: &str) -> (f64, Option<Social>) {
    let words: Vec<String> = plain_words(text).into_iter().map(unstretched).collect();
    let line = format!(" {} ", words.join(" "));
    let has = |phrase: &&str| line.contains(&format!(" {phrase} "));
    let kind = PHRASES
        .iter()
        .find(|(_, phrases)| phrases.iter().any(&has))
        .map(|(kind, _)| *kind);
    if let Some(kind) = interjected(&words) {
        return (PHRASED, Some(kind));
    }
    let mut learned = learned::small_talk(text).min(behind_greeting(text, learned::small_talk));
    let among = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    // "Do you keep my data?" is asked of what the program does.
    let of_mine = among(&MINE)
        && words
            .first()
            .is_some_and(|word| MAY.contains(&word.as_str()));
    // "Compare cats and dogs" and "tell me about the soup" want something looked up.
    let order = words.iter().find(|word| !OPENINGS.contains(&word.as_str()));
    let ordered = order.is_some_and(|word| ORDERS.contains(&word.as_str()));
    let about =
        ABOUT.iter().any(has) && kind.is_none() && !among(&["you", "your", "yourself", "u"]);
    if ASKING_ON.iter().any(has) || among(&TROUBLE) || of_mine || ordered || about {
        return (learned.min(ALONE), kind);
    }
    if learned::foreign_share(text) > FOREIGN_MOST {
        learned = learned.min(ALONE);
    }
    if kind.is_none() && words.len() < 2 {
        // One word that is no phrase is a topic, or asks on.
        learned = learned.min(ALONE);
    }
    // A question that names nobody and no social thing is of a thing, and so are a few words that nobody
    // calls out: "happy path".
    let asks = words
        .first()
        .is_some_and(|word| ASKING.contains(&word.as_str()));
    let topic = words.len() <= TOPIC_WORDS && !text.contains('!');
    let addressed = words.iter().any(|word| PEOPLE.contains(&word.as_str()));
    let sure = if topic { TOPIC_FROM } else { UNADDRESSED_FROM };
    if (asks || topic) && kind.is_none() && !addressed && learned < sure {
        learned = learned.min(UNADDRESSED);
    }
    let phrased = kind.is_some_and(|kind| only_social(&words, kind))
        && (words.len() <= SHORT_WORDS || learned >= ABSURD_BELOW);
    (
        if phrased {
            PHRASED.max(learned)
        } else {
            learned
        },
        kind,
    )
}

/// "Heyyy" as "hey" and "hahahaha" as "haha", where that makes a word of small talk.
fn unstretched(word: String) -> String {
    if word.len() > 4 && word.split("ha").all(|rest| matches!(rest, "" | "h")) {
        return "haha".to_owned();
    }
    let letters: Vec<char> = word.chars().collect();
    if !letters
        .windows(3)
        .any(|run| run[0] == run[1] && run[1] == run[2])
    {
        return word;
    }
    let shortened = |most: usize| -> String {
        let runs = letters.chunk_by(|a, b| a == b);
        runs.flat_map(|run| &run[..run.len().min(if run.len() > 2 { most } else { 2 })])
            .collect()
    };
    [shortened(1), shortened(2)]
        .into_iter()
        .find(|short| is_social_word(short) || is_filler(short) || is_interjection(short))
        .unwrap_or(word)
}

/// The kind of a message that is nothing but something let out, such as "oh wow, impressive".
fn interjected(words: &[String]) -> Option<Social> {
    let line = format!(" {} ", words.join(" "));
    let (kind, phrase) = INTERJECTIONS.iter().find_map(|(kind, phrases)| {
        let mut phrases = phrases.iter();
        let said = phrases.find(|phrase| line.contains(&format!(" {phrase} ")))?;
        Some((*kind, *said))
    })?;
    let asks = ["is", "was", "so"].contains(&words.first()?.as_str());
    let rest = line.replacen(&format!(" {phrase} "), " ", 1);
    let beside = |word: &str| BESIDE_INTERJECTIONS.contains(&word) || is_interjection(word);
    (!asks && rest.split_whitespace().all(beside)).then_some(kind)
}

fn is_interjection(word: &str) -> bool {
    let mut all = INTERJECTIONS.iter().flat_map(|(_, phrases)| phrases.iter());
    all.any(|phrase| *phrase == word)
}

/// Whether nothing but social words and fillers stands in a message.
fn only_social(words: &[String], kind: Social) -> bool {
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
    unknown == 0
}

/// The lowest probability of what stands behind a greeting, where that sounds like a question;
/// 1 where nothing does.
fn behind_greeting(text: &str, learned: impl Fn(&str) -> f64) -> f64 {
    text.split(SENTENCE_ENDS)
        .skip(1)
        .map(|part| (part, tokens(part)))
        .filter(|(_, words)| words.len() >= SHORT_WORDS)
        .map(|(part, words)| {
            let orders = words[..2]
                .iter()
                .any(|word| ORDERS.contains(&word.as_str()));
            if orders { 0.0 } else { learned(part) }
        })
        .filter(|probability| *probability < QUESTION_BELOW)
        .fold(1.0, f64::min)
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

fn chinese(text: &str) -> (f64, Option<Social>) {
    let mut rest: String = text
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric())
        .collect();
    if !rest.is_empty()
        && INTERJECTIONS_ZH
            .iter()
            .fold(rest.clone(), |rest, it| rest.replace(it, ""))
            .is_empty()
    {
        return (PHRASED, Some(Social::Other));
    }
    let length = rest.chars().count();
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
    let mut learned =
        learned::small_talk_zh(text).min(behind_greeting(text, learned::small_talk_zh));
    // "什么是人工智能" asks what a word means that small talk uses too.
    let defines = text.contains("什么是") || text.contains("是什么");
    if defines
        && !["你", "您", "生命", "人生"]
            .iter()
            .any(|word| text.contains(word))
    {
        return (learned.min(UNADDRESSED), kind);
    }
    let phrased =
        kind.is_some() && rest.is_empty() && (length <= SHORT_CHARS || learned >= ABSURD_BELOW);
    // What addresses nobody must be surer, and say something.
    let addressed = kind.is_some() || ADDRESSED.iter().any(|word| text.contains(word));
    let asks = ASKING_ZH.iter().any(|word| text.contains(word));
    if !addressed && asks && learned < ASKS_OF_NOBODY_ZH {
        return (learned.min(UNADDRESSED), kind);
    }
    if !addressed && (learned < UNADDRESSED_FROM_ZH || length < SHORT_CHARS) {
        learned = learned.min(UNADDRESSED);
    }
    let probability = if phrased {
        PHRASED.max(learned)
    } else {
        learned
    };
    (probability, kind)
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
            ("THANK YOU SO MUCH", Social::Thanks),
            ("heyyy", Social::Greeting),
            ("thankssss soooo much", Social::Thanks),
            ("hahahahah", Social::Other),
            ("tysm!!!", Social::Thanks),
            ("ttyl", Social::Goodbye),
            ("omg", Social::Other),
            ("thanks a million, you saved my weekend", Social::Thanks),
            ("do you ever get tired?", Social::Other),
            ("我好喜欢和你聊天", Social::Other),
            ("嗯嗯，收到", Social::Other),
            ("哇塞！", Social::Other),
            ("生命的意义是什么", Social::Other),
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
            "hi how do I reset the cache",
            "Hello! Could you tell me where backups are kept?",
            "thanks, and what about the retention period?",
            "what is artificial intelligence",
            "pricing?",
            "why?",
            "are you sure?",
            "what did you mean by that?",
            "what's new this week",
            "What is OMG?",
            "which one makes sense?",
            "what is brb",
            "makes sense. why?",
            "interesting - what else?",
            "evening support",
            "is the evening free?",
            "it crashed",
            "happy path",
            "compare the pancakes with the lentil soup",
            "compare cats and dogs",
            "tell me about the lentil soup",
            "is there anything about soup?",
            "thanks!! now compare that with last year's numbers",
            "Wer hat im August Kellerdienst?",
            "Où se trouve la clé du local?",
            "Do you have all my files?",
            "nothing works",
            "do you send my files anywhere?",
            "do you keep my data?",
            "thank you letter",
            "lunch break",
            "say hello in main.rs",
            "who made guide.md",
            "什么是人工智能",
            "机器人是什么",
            "早上好，我想查一下会议室的地址",
            "你知道怎么清理索引吗？",
            "为什么？",
            "谁？",
            "😀😀",
        ] {
            assert_eq!(social(text), None, "{text}");
        }
    }
}
