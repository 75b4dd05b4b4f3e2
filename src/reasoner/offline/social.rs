//! Tells small talk from questions.
//!
//! A false "small talk" costs an answer, a missed one costs a search. So a message counts as
//! social only when it holds a phrase from a list *and* nothing but social words and fillers
//! beside it: one unknown word makes it a question ("What can you do with grep?"). The phrases
//! follow the small-talk intents of CLINC150 (Larson 2019).

use super::literals::Literals;
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
        .find(|(_, phrases)| phrases.iter().any(|phrase| has(&phrase)))?;
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

/// More telling kinds first: "hi, who are you" is about identity.
#[rustfmt::skip]
const PHRASES: &[(Social, &[&str])] = &[
    (Social::Joke, &["joke", "jokes", "make me laugh", "something funny", "a pun", "cheer me up"]),
    (Social::Identity, &[
        "who are you", "what are you", "your name", "you a bot", "you a robot", "you an ai", "you ai",
        "you human", "you a human", "you real", "you a real person", "a real person", "real human",
        "a real human", "you a machine", "you a computer", "you a person", "a live person", "someone real",
        "a human or", "a robot or", "a bot or", "a computer or", "an ai or", "consider yourself",
        "call you", "refer to you", "about yourself", "introduce yourself", "made you", "created you",
        "built you", "designed you", "programmed you", "developed you", "invented you", "your creator",
        "your maker", "your developer", "your designer", "your programmer", "how old are you", "your age",
        "you born", "your birthday", "your birthdate", "old you are", "age are you", "are you old",
        "were you made", "were you created", "you were made", "you were created", "were you built",
        "you from", "you come from", "your origin", "your home", "your hometown", "your nationality",
        "your birthplace", "do you live", "you work for", "your boss", "your employer", "your owner",
        "you employed", "owns you", "employs you", "pays you", "you live", "years old are you",
        "you manufactured", "were you designed", "the ai from", "made this ai", "made the ai", "created the ai",
        "created this ai", "you a chatbot", "you artificial", "talking to a human", "talking to a bot",
        "talking to a robot", "talking to a computer", "talking to a machine", "speaking to a human",
        "talking with a human", "talking with a bot", "old is the ai", "your parents", "you programmed by",
        "you made by", "you created by", "born in", "you get made", "brought you to life", "your purpose",
    ]),
    (Social::Other, &[
        "your hobby", "your hobbies", "do you have hobbies", "any hobbies", "your free time", "your spare time",
        "you do for fun", "your interests", "your pastimes", "for fun", "hobbies do you", "hobby do you",
        "like to do", "enjoy doing", "your favorite", "your pet", "your pets", "have pets", "any pets",
        "have a pet", "own pets", "a pet", "a cat", "a dog", "pets do you", "pet do you", "kind of pets",
        "own any", "meaning of life", "purpose of life", "point of life", "meaning to life", "meaning in life",
        "life have meaning", "life mean", "fun fact", "fun facts", "some trivia", "interesting fact",
        "random fact", "something interesting", "do you love me", "i love you", "are you happy",
        "are you married", "i am bored", "sing me a song", "sing a song", "meaning of this life",
        "purpose in life", "reason for life", "why are we here", "why are we alive", "reason we exist",
    ]),
    (Social::Abilities, &[
        "what can you do", "what do you do", "what can i ask", "can i ask you", "how can you help",
        "what are you capable of", "can you help me", "help me", "what do you know", "what can you help",
        "i ask you", "can you answer", "you able to", "you know about", "things can you", "tasks can you",
        "subjects can you", "questions can i", "topics can you", "subjects do you know", "topics do you",
        "questions do you", "can you tell me about", "you capable of", "your capabilities",
    ]),
    (Social::Thanks, &[
        "thanks", "thank you", "thank", "thx", "ty", "cheers", "much appreciated", "appreciated",
        "i appreciate", "appreciate it", "appreciate you", "appreciate the", "appreciate your", "grateful",
        "well done", "good job", "nice work", "great job", "good work", "great work", "awesome job",
        "nice job", "you are the best", "you rock", "very helpful", "so helpful", "big help", "great help",
        "been helpful", "been a help", "lifesaver", "good bot", "been great", "you are so",
    ]),
    (Social::Wellbeing, &[
        "how are you", "how are things", "how is it going", "how is it hanging", "how do you do",
        "how have you been", "how you doing", "how is life", "how is your day", "how was your day",
        "how do you feel", "what is up", "whats up", "sup", "what is new", "how are we", "you doing",
        "how goes it", "how is everything", "what is going on", "what is happening", "how is your",
        "how was your", "you ok", "you okay", "you feeling", "day been", "day going", "are you well",
        "what is good", "what is cooking", "wazzup", "how you been",
    ]),
    (Social::Goodbye, &[
        "bye", "goodbye", "good bye", "see you", "see ya", "cya", "farewell", "good night", "take care",
        "talk to you later", "talk later", "until next time", "have a nice day", "have a good day",
        "have a great day", "have a good one", "so long", "catch you later", "later", "gotta go",
        "got to go", "talk soon", "see you soon", "ciao", "adios", "nice talking", "nice chatting",
        "good talking", "great talking", "nice talk", "good talk", "nice speaking", "pleasure talking",
        "nice to talk", "good to talk", "good chat", "nice chat", "good chatting", "pleasure speaking",
        "great chatting", "great to talk", "i am leaving", "we got to talk", "enjoyed talking",
        "enjoyed our", "glad we", "nice meeting you", "fun talking", "peace out", "toodles", "i am out",
        "this talk", "our talk", "our chat", "talking to you", "talking with you", "conversation with you",
        "chatting with you", "speaking with you", "have a great one",
    ]),
    (Social::Greeting, &[
        "hi", "hello", "hey", "howdy", "greetings", "good morning", "good afternoon", "good evening",
        "good day", "hiya", "yo", "hola", "hallo", "bonjour", "aloha", "salutations", "morning",
        "nice to meet you", "pleased to meet you", "good to see you", "nice to see you", "great to see you",
        "say hi", "say hello", "you there", "heya", "hi there", "glad to see you", "nice to hear from you",
        "are you here", "long time no see", "welcome",
    ]),
    (Social::Other, &["lol", "haha", "hahaha", "ok", "okay", "cool", "awesome", "great", "nice", "wow",
        "never mind", "nevermind", "sorry", "no problem", "got it", "perfect", "sounds good", "sure"]),
];

#[rustfmt::skip]
const SOCIAL_WORDS: &[&str] = &[
    "ai", "bot", "robot", "human", "person", "computer", "machine", "chatbot", "assistant", "buddy", "pal",
    "friend", "dude", "man", "mate", "sir", "dear", "everyone", "all", "team", "guys", "life", "birthday",
    "funny", "knock", "laugh", "good", "great", "nice", "awesome", "wonderful", "lovely", "amazing", "kind",
    "best", "favorite", "favourite", "hobbies", "hobby", "pets", "pet", "cat", "dog", "cats", "dogs",
    "boss", "company", "name", "age", "born", "creator", "maker", "help", "helping", "helpful", "assistance",
    "answer", "information", "info", "advice", "support", "today", "tonight", "tomorrow", "morning",
    "evening", "afternoon", "weekend", "day", "night", "week", "chat", "conversation", "talk", "fun",
    "exactly", "originally", "actually", "country", "city", "place", "year", "date", "laughing", "silly",
    "hilarious", "another", "original", "hear", "hearing", "interesting", "fact", "facts", "trivia", "purpose",
    "meaning", "people", "humans", "exist", "existence", "alive", "world", "universe", "earth", "gesture",
    "effort", "time", "patience", "sweet", "thoughtful", "smart", "clever", "stop", "start", "pleasure",
    "glad", "happy", "enjoy", "enjoyed", "soon", "later", "now", "again", "once", "bunch", "lot", "lots",
    "million", "ton", "tons", "things", "thing", "stuff", "questions", "question", "topics", "subjects",
    "type", "types", "sort", "sorts", "kinds", "responsible", "programming", "programmed", "designed",
    "made", "created", "built", "developed", "live", "located", "location", "area", "hail", "manufactured",
    "spend", "free", "spare", "activities", "interests", "passions", "animals", "animal", "own", "owned",
    "job", "work", "working", "employed", "employer", "owner", "report", "artificial", "intelligence",
    "actual", "real", "living", "being", "fake", "automated", "years", "old", "identity", "title",
];

/// Words that carry no topic.
#[rustfmt::skip]
const FILLERS: &[&str] = &[
    "a", "an", "the", "and", "or", "but", "so", "then", "to", "of", "in", "on", "at", "for", "with", "by",
    "about", "from", "as", "is", "are", "am", "was", "were", "be", "been", "do", "does", "did", "done",
    "have", "has", "had", "can", "could", "would", "will", "should", "may", "might", "i", "me", "my",
    "mine", "we", "us", "our", "you", "your", "yours", "yourself", "it", "its", "he", "she", "they", "this",
    "that", "these", "those", "there", "here", "what", "which", "who", "whom", "whose", "when", "where",
    "why", "how", "please", "tell", "say", "said", "give", "share", "let", "know", "want", "need", "like",
    "love", "wish", "ask", "asking", "asked", "wonder", "wondering", "curious", "get", "got", "getting",
    "go", "going", "think", "thought", "guess", "mean", "some", "any", "one", "more", "most", "much", "many",
    "very", "really", "super", "just", "only", "also", "too", "well", "yes", "no", "not", "yeah", "yep",
    "nope", "ok", "okay", "oh", "ah", "um", "hmm", "if", "than", "right", "sure", "maybe", "ever", "always",
    "everything", "something", "anything", "nothing", "else", "other", "others", "out", "up", "back",
    "around", "hold", "feel", "feeling", "such", "into", "way", "mind", "don't", "can't", "doing",
    "speaking", "talking", "chatting", "telling", "possible", "able", "happen", "happens", "come", "came",
    "see", "look", "find", "take", "make", "makes", "let's", "all", "bit", "little", "still", "currently",
    "because", "being", "consider", "believe", "supposed", "we'll", "it's", "thats", "that's", "kb-agent",
];

const CHINESE_PHRASES: &[(Social, &[&str])] = &[
    (
        Social::Joke,
        &[
            "讲个笑话",
            "说个笑话",
            "讲一个笑话",
            "来个笑话",
            "说一个笑话",
            "笑话",
            "逗我笑",
        ],
    ),
    (
        Social::Identity,
        &[
            "你是谁",
            "您是谁",
            "你叫什么名字",
            "你叫什么",
            "你的名字是什么",
            "你的名字",
            "你是什么",
            "你是机器人吗",
            "你是真人吗",
            "你是人吗",
            "机器人",
            "真人",
            "人工智能",
            "你几岁",
            "你多大",
            "谁创造了你",
            "谁开发了你",
            "谁制造了你",
            "谁做的你",
            "你来自哪里",
            "你从哪里来",
            "你是哪里人",
            "介绍一下你自己",
            "介绍你自己",
            "自我介绍",
            "你的生日",
            "你的老板",
        ],
    ),
    (
        Social::Abilities,
        &[
            "你能做什么",
            "你会做什么",
            "你会什么",
            "你能干什么",
            "你可以做什么",
            "你能帮我做什么",
            "你能帮我什么",
            "我能问你什么",
            "我可以问什么",
            "你有什么功能",
        ],
    ),
    (
        Social::Thanks,
        &[
            "谢谢",
            "多谢",
            "感谢",
            "太感谢",
            "辛苦了",
            "麻烦你了",
            "做得好",
            "干得好",
            "帮大忙了",
            "你真棒",
            "太棒了",
            "真厉害",
        ],
    ),
    (
        Social::Wellbeing,
        &[
            "你好吗",
            "最近怎么样",
            "最近好吗",
            "过得怎么样",
            "今天怎么样",
            "你怎么样",
            "还好吗",
            "吃了吗",
            "近来可好",
        ],
    ),
    (
        Social::Goodbye,
        &[
            "再见",
            "拜拜",
            "回头见",
            "明天见",
            "下次见",
            "晚安",
            "回见",
            "我走了",
            "保重",
            "回聊",
        ],
    ),
    (
        Social::Greeting,
        &[
            "你好",
            "您好",
            "大家好",
            "早上好",
            "上午好",
            "中午好",
            "下午好",
            "晚上好",
            "早安",
            "嗨",
            "哈喽",
            "哈啰",
            "在吗",
            "很高兴认识你",
            "很高兴见到你",
            "hello",
            "hi",
            "早",
        ],
    ),
    (
        Social::Other,
        &[
            "哈哈哈",
            "哈哈",
            "好的",
            "知道了",
            "明白了",
            "没事",
            "没问题",
            "不客气",
            "对不起",
            "我喜欢你",
            "我爱你",
            "生命的意义",
            "你的爱好",
            "你有宠物吗",
            "你喜欢什么",
        ],
    ),
];

const CHINESE_FILLERS: &[&str] = &[
    "非常",
    "今天",
    "最近",
    "大家",
    "朋友",
    "帮助",
    "帮忙",
    "回答",
    "真的",
    "可以",
    "给我",
    "一下",
    "什么",
    "是不是",
    "一个",
    "告诉我",
    "请问",
    "小助手",
    "助手",
    "啊",
    "呀",
    "吗",
    "呢",
    "了",
    "吧",
    "的",
    "你",
    "您",
    "我",
    "很",
    "太",
    "请",
    "再",
    "哦",
    "嗯",
    "个",
    "是",
    "还",
    "能",
    "会",
    "有",
    "给",
    "好",
    "那",
    "想",
    "听",
    "又",
    "都",
    "到",
    "就",
    "不",
    "和",
    "或",
    "还是",
    "也",
];

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
