//! A question without what is said around it.
//!
//! "Could you please tell me what the plan is?" asks what the plan is. Whoever asks politely should
//! get the answer that the bare question gets, so the frame goes before anything looks at the words.

use super::cutting::starts_question;
use super::elliptic::kind_of;
use super::ends::sentences;
use super::literals::Literals;
use super::words::terms;
use crate::text::is_chinese;

/// A frame ends this early, in bytes.
const FRAME_WITHIN: usize = 90;
/// "Before I forget: …" is led to by at most so many words.
const LEAD_WORDS: usize = 16;

/// The question itself; the text as it is where there is no frame around it.
pub(super) fn plainly(query: &str) -> String {
    if is_chinese(query) {
        return chinese(query);
    }
    let framed = without_tail(without_frame(without_lead(without_opening(query))));
    let plain = asked_why(framed)
        .or_else(|| as_definition(framed))
        .unwrap_or_else(|| inverted(framed));
    if terms(&plain).is_empty() {
        query.to_owned()
    } else {
        plain
    }
}

/// "So what is it?" and "Sorry if I missed it, but where is it?" without what comes before.
fn without_opening(query: &str) -> &str {
    let mut rest = query;
    for _ in 0..OPENINGS {
        let lower = rest.to_ascii_lowercase();
        let word = OPENING
            .iter()
            .find(|word| lower.starts_with(**word) && lower[word.len()..].starts_with([' ', ',']));
        if let Some(word) = word {
            rest = rest[word.len()..].trim_start_matches([' ', ',']);
            continue;
        }
        let head = &lower[..lower.find([',', '-']).unwrap_or(lower.len())];
        let excuses = EXCUSES.iter().any(|excuse| lower.starts_with(excuse))
            && MODEST.iter().any(|word| head.contains(word));
        let asked = [", but ", " but ", " - ", ", "]
            .iter()
            .filter_map(|joint| rest.split_once(joint))
            .map(|(_, asked)| asked)
            .find(|asked| excuses && starts_question(asked));
        match asked {
            Some(asked) => rest = asked,
            None if starts_question(rest) => return rest,
            None => return query,
        }
    }
    query
}

/// "One more thing: where is it?" without the thing.
fn without_lead(query: &str) -> &str {
    let Some((lead, rest)) = query.split_once(": ") else {
        return query;
    };
    let short = lead.split_whitespace().count() <= LEAD_WORDS;
    let names = !Literals::of(lead).keywords().is_empty();
    // "The blue pump: how does it start?" asks of the pump.
    let leans = kind_of(rest).is_some();
    if short && !names && !leans && starts_question(rest) && !starts_question(lead) {
        rest
    } else {
        query
    }
}

/// "I would like to know whether …" without all up to that.
fn without_frame(query: &str) -> &str {
    let lower = query.to_ascii_lowercase();
    let mut cut = 0;
    for verb in FRAMING {
        for (at, _) in lower.match_indices(verb) {
            let behind = at + verb.len();
            let word = lower[behind..].split(' ').next().unwrap_or_default();
            let asked_before = lower[..at].split(' ').any(|word| ASKED.contains(&word));
            if at > FRAME_WITHIN || asked_before {
                continue;
            }
            if ASKED.contains(&word) {
                cut = cut.max(behind);
            } else if matches!(word, "whether" | "if") {
                cut = cut.max((behind + word.len() + 1).min(query.len()));
            }
        }
    }
    query.get(cut..).unwrap_or(query)
}

fn without_tail(query: &str) -> &str {
    let body = query.trim_end_matches(['?', '.', '!', ' ']);
    let lower = body.to_ascii_lowercase();
    TAILS
        .iter()
        .find_map(|tail| lower.strip_suffix(tail))
        .map_or(query, |rest| {
            body[..rest.len()].trim_end_matches([',', ' '])
        })
}

/// "The window is blank, why is that?" as "why the window is blank".
fn asked_why(query: &str) -> Option<String> {
    let body = query.trim_end_matches(['?', '.', '!', ' ']);
    let lower = body.to_ascii_lowercase();
    let told = WHY.iter().find_map(|end| lower.strip_suffix(end))?;
    let told = body[..told.len()].trim_end_matches([',', '.', ';', '-', ' ']);
    let first = told.split(' ').next().unwrap_or_default();
    let first = first.to_ascii_lowercase();
    let asks = starts_question(told) || ASKING_MAY.contains(&first.as_str());
    let names = terms(told).len() > 1 && !asks;
    names.then(|| format!("why {told}"))
}

/// "What the plan is" as "What is the plan?".
fn inverted(query: &str) -> String {
    let body = query.trim_end_matches(['?', '.', '!', ' ']);
    let words: Vec<&str> = body.split_whitespace().collect();
    let [first, middle @ .., last] = words.as_slice() else {
        return query.to_owned();
    };
    let asks = matches!(first.to_ascii_lowercase().as_str(), "what" | "who");
    let direct = middle.first().is_none_or(|word| {
        matches!(
            *word,
            "is" | "are" | "does" | "do" | "did" | "was" | "were" | "can"
        )
    });
    match *last {
        "is" | "are" if asks && !direct => format!("{first} {last} {}?", middle.join(" ")),
        "means" if asks && !direct => format!("{first} does {} mean?", middle.join(" ")),
        _ => query.to_owned(),
    }
}

/// "Define X", "what is meant by X" and "… the phrase "X" - what does it mean" as "What is X?".
fn as_definition(query: &str) -> Option<String> {
    let body = query.trim_end_matches(['?', '.', '!', ' ']);
    let lower = body.to_ascii_lowercase();
    let asked = DEFINING.iter().find_map(|lead| {
        let rest = lower.strip_prefix(lead)?;
        let rest = &body[body.len() - rest.len()..];
        Some(rest).filter(|rest| rest.split_whitespace().count() <= DEFINED_WORDS)
    });
    let quoted = || {
        let asks = MEANING.iter().any(|end| lower.ends_with(end));
        let inside = body.split(['"', '“', '”']).nth(1).filter(|_| asks)?;
        Some(inside).filter(|inside| !inside.trim().is_empty())
    };
    // "There is an X_Y in the list. What is it?"
    let named = || {
        let asks = MEANING.iter().any(|end| lower.ends_with(end)) && sentences(body).len() > 1;
        let names = Literals::of(body).identifiers;
        let [name] = names.as_slice() else {
            return None;
        };
        let at = body.find(name.as_str()).filter(|_| asks)?;
        body.get(at..at + name.len())
    };
    let bare = |name: &str| {
        name.trim_matches(['"', '“', '”', '\'', '‘', '’', ' '])
            .to_owned()
    };
    asked
        .or_else(quoted)
        .or_else(named)
        .map(|name| format!("What is {}?", bare(name)))
}

fn chinese(query: &str) -> String {
    let mut rest = query.trim_start();
    while let Some(behind) = CHINESE_FRAMES
        .iter()
        .find_map(|frame| rest.strip_prefix(frame))
    {
        rest = behind.trim_start_matches(['，', ',', '：', ':', ' ']);
    }
    let plain = rest.replace("比起来", "相比");
    let rest = plain.as_str();
    let body = rest.trim_end_matches(['？', '?', '。', ' ']);
    let defined = CHINESE_DEFINING
        .iter()
        .find_map(|end| body.strip_suffix(end))
        .map(|name| name.trim_end_matches(['的', ' ', '，']))
        .filter(|name| !terms(name).is_empty());
    match defined {
        Some(name) => format!("{name}是什么？"),
        None if terms(rest).is_empty() => query.to_owned(),
        None => rest.to_owned(),
    }
}

/// So many are taken away at most.
const OPENINGS: usize = 6;

/// What a question is opened with.
#[rustfmt::skip]
const OPENING: &[&str] = &["so", "ok", "okay", "well", "alright", "right", "now", "hm", "hmm", "um", "please", "sorry", "excuse me", "pardon"];

/// And what is said sorry with.
const EXCUSES: &[&str] = &[
    "if this is",
    "if that is",
    "sorry",
    "i may have",
    "i might have",
    "maybe",
    "this may be",
    "this might be",
    "forgive",
    "apologies",
    "stupid question",
    "dumb question",
    "silly question",
];

/// What makes an excuse of it: "if this is a PDF" is a condition.
#[rustfmt::skip]
const MODEST: &[&str] = &[
    "obvious", "silly", "stupid", "dumb", "basic", "answered", "asked", "missed", "bother", "ignorance", "sorry",
    "apologies",
];

/// What leads to a question, with the blank behind it.
#[rustfmt::skip]
const FRAMING: &[&str] = &[
    "know ", "tell me ", "tell us ", "explain ", "explain to me ", "wonder ", "wondering ", "remind me ", "show me ",
    "find out ", "figure out ", "understand ", "clarify ", "question is ", "idea ",
];

/// What leads to what should be defined, and of how many words that is at most.
#[rustfmt::skip]
const DEFINING: &[&str] = &[
    "define ", "what is meant by ", "what do you mean by ", "what do you call ", "what's meant by ", "whats ", "what s ",
    "what exactly is ", "what exactly are ", "what actually is ", "what really is ", "definition of ", "meaning of ", "what is the meaning of ", "what is the definition of ",
];
const DEFINED_WORDS: usize = 5;

/// What is asked of a quoted phrase.
#[rustfmt::skip]
const MEANING: &[&str] = &[
    "what does it mean", "what does that mean", "what is it", "what's that", "what is that", "meaning what", "what is this",
    "what does this mean",
];

/// What begins a question too.
const ASKING_MAY: [&str; 7] = ["would", "could", "will", "has", "have", "may", "must"];

/// What asks for the reason of what was just told.
const WHY: &[&str] = &[
    ", why is that",
    ". why is that",
    ", why",
    ". why",
    " - why",
    ", how come",
    ", is something broken",
    ", is something wrong",
    ", is that normal",
    ", what is wrong",
    ", what's wrong",
    ". what is wrong",
    ". what's wrong",
];

const ASKED: &[&str] = &[
    "what", "which", "who", "whose", "where", "when", "why", "how",
];

#[rustfmt::skip]
const TAILS: &[&str] = &[
    ", exactly", " exactly", ", please", " please", ", thanks", ", thank you very much", ", thank you", " thank you", " at the moment", " right now", ", by the way", " actually",
    " anyway", " in the end",
];

#[rustfmt::skip]
const CHINESE_FRAMES: &[&str] = &[
    "请问一下", "请问", "麻烦问一下", "麻烦问下", "麻烦你", "想问一下", "想问下", "问一下", "问下", "我想知道", "想知道",
    "能不能告诉我", "可以告诉我", "能告诉我", "请告诉我", "告诉我", "我想问一下", "我想问",
];

/// What asks in Chinese what something is.
#[rustfmt::skip]
const CHINESE_DEFINING: &[&str] = &[
    "是怎么定义的", "是如何定义的", "怎么定义", "的定义是什么", "是什么意思", "什么意思", "指的是什么", "是指什么",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r05_what_is_said_around_a_question_does_not_count() {
        for (query, plain) in [
            (
                "Could you please tell me what the plan is?",
                "what is the plan?",
            ),
            (
                "The auditors would like to know whether it writes files.",
                "it writes files.",
            ),
            ("so what exactly is a pane?", "What is a pane?"),
            (
                "Sorry if this is obvious, but does it scroll?",
                "does it scroll?",
            ),
            (
                "The window is blank, why is that?",
                "why The window is blank",
            ),
            ("Is it blank, why?", "Is it blank, why?"),
            (
                "If this is a PDF, which tool reads it?",
                "If this is a PDF, which tool reads it?",
            ),
            ("Right panes of the screen", "Right panes of the screen"),
            ("So long", "So long"),
            (
                "Before I forget: does the pane scroll?",
                "does the pane scroll?",
            ),
            (
                "What do you call a cold start, exactly?",
                "What is a cold start?",
            ),
            (
                "I wonder how often the key is changed",
                "how often the key is changed",
            ),
            ("请问，怎样退出？", "怎样退出？"),
            ("缓存是怎么定义的", "缓存是什么？"),
            ("whats a flat file", "What is a flat file?"),
            (
                "I keep reading \"cold start\" - what does it mean?",
                "What is cold start?",
            ),
            (
                "There is a cold_start in the list. What is it?",
                "What is cold_start?",
            ),
            (
                "The blue pump: how does it start?",
                "The blue pump: how does it start?",
            ),
            (
                "Please tell me what a lock is, thank you very much",
                "what is a lock?",
            ),
            // What only looks like a frame stays.
            ("What does RULES: what mean?", "What does RULES: what mean?"),
            (
                "Who can tell me what a chunk is?",
                "Who can tell me what a chunk is?",
            ),
            ("How do I explain the score?", "How do I explain the score?"),
            ("What is it?", "What is it?"),
            ("please", "please"),
        ] {
            assert_eq!(plainly(query), plain, "{query}");
        }
    }
}
