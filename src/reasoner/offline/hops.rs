//! The steps of an English question that has no parts and yet needs more than one look-up.
//!
//! Such a question names something by what is said of it ("the town that …", "the author of …").
//! The first step asks for that something, the last is the question itself, so that what answers
//! either is found and kept. The ways to find the step are tried from the surest to the weakest.

use super::cutting::{clean, starts_question};
use super::literals::Literals;
use super::words::{is_stop, plain_words, terms};

/// At most so many names are looked up beside the question.
const MOST_NAMES: usize = 3;

/// The steps, at least two, the question itself the last; none where nothing can be told apart.
pub(super) fn hops(query: &str) -> Vec<String> {
    let body = query.trim().trim_end_matches(['?', '.', ' ']);
    let steps = relative(body)
        .or_else(|| premise(body))
        .or_else(|| names(body))
        .or_else(|| inner(body));
    let whole = format!("{body}?");
    steps.map_or(Vec::new(), |mut steps| {
        steps.retain(|step| *step != whole && !terms(step).is_empty());
        if !steps.is_empty() {
            steps.push(whole);
        }
        steps
    })
}

/// "Who directed the film that stars A?": which film.
fn relative(body: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = body.split_whitespace().collect();
    let relative = (3..words.len().saturating_sub(2)).find(|at| {
        let before = bare(words[at - 1]);
        match bare(words[*at]).as_str() {
            "that" | "who" | "whose" | "which" | "where" => {
                !is_stop(&before) && !words[*at - 1].ends_with(['.', '?', '!'])
            }
            "written" | "known" | "set" | "starring" | "featuring" | "behind" => !is_stop(&before),
            word => word.len() > 5 && word.ends_with("ed") && !is_stop(&before),
        }
    })?;
    let mut from = relative;
    while from > 1 && from + 4 > relative && !is_stop(&bare(words[from - 1])) {
        from -= 1;
    }
    let noun = words[from..relative].join(" ");
    let clause = match bare(words[relative]).as_str() {
        "that" | "who" | "which" => words[relative + 1..].join(" "),
        _ => words[relative..].join(" "),
    };
    // "Who is the man that …" asks for the man himself: one hop.
    let leads_on = from > 1 && !terms(&words[..from].join(" ")).is_empty();
    let noun = if matches!(
        bare(words[from - 1]).as_str(),
        "a" | "an" | "the" | "this" | "same"
    ) {
        format!("Which {}", clean(&noun))
    } else {
        "What".to_owned()
    };
    (leads_on && terms(&clause).len() >= 2).then(|| vec![format!("{noun} {clause}?")])
}

/// "A wrote for B in the sixties, what did B coin?": the statement before the question.
fn premise(body: &str) -> Option<Vec<String>> {
    let (first, rest) = body.split_once(", ")?;
    let asked = plain_words(rest).iter().any(|word| starts_question(word));
    (asked && !starts_question(first) && terms(first).len() >= 2 && terms(rest).len() >= 2)
        .then(|| vec![format!("{}?", clean(first))])
}

/// Two and more names: each by itself.
fn names(body: &str) -> Option<Vec<String>> {
    let mut found = Literals::of(body).keywords();
    let words: Vec<&str> = body.split_whitespace().collect();
    let mut at = 1;
    while at < words.len() {
        let from = at;
        while at < words.len() && words[at].starts_with(char::is_uppercase) {
            at += 1;
            if words[at - 1].ends_with([',', '?']) {
                break;
            }
        }
        let name = clean(&words[from..at].join(" ")).to_owned();
        if name.chars().count() > 1 && !found.iter().any(|other| other.contains(&name)) {
            found.push(name);
        }
        at = at.max(from + 1);
    }
    found.truncate(MOST_NAMES);
    (found.len() > 1).then(|| {
        let about = found.iter().map(|name| format!("What is {name}?"));
        about.collect()
    })
}

/// "Where does the manager of the security team sit?": what the innermost preposition leads to.
fn inner(body: &str) -> Option<Vec<String>> {
    let mut words: Vec<&str> = body.split_whitespace().collect();
    let auxiliary = words
        .iter()
        .take(4)
        .position(|word| matches!(bare(word).as_str(), "do" | "does" | "did"));
    if auxiliary.is_some() && words.len() > 5 {
        // The verb stands last, behind its subject.
        words.pop();
    }
    let at = (2..words.len().saturating_sub(1)).rfind(|at| {
        let preposition = matches!(
            bare(words[*at]).as_str(),
            "of" | "in" | "for" | "by" | "at" | "on" | "from" | "with" | "behind" | "to"
        );
        preposition
            && terms(&words[at + 1..].join(" ")).len() >= 2
            && !terms(&words[..*at].join(" ")).is_empty()
    })?;
    Some(vec![format!(
        "What is {}?",
        clean(&words[at + 1..].join(" "))
    )])
}

fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r03_a_question_with_hops_has_its_inner_step_and_itself() {
        for (query, step) in [
            (
                "Who maintains the library that the billing service uses?",
                "Which library the billing service uses?",
            ),
            (
                "When was the feature that replaced legacy exports introduced?",
                "Which feature replaced legacy exports introduced?",
            ),
            (
                "Alex wrote the queue guide last year, which team does it name as owner?",
                "Alex wrote the queue guide last year?",
            ),
            (
                "Kim Berg now leads which Northern Region support team?",
                "What is Northern Region?",
            ),
            (
                "Where does the manager of the security team sit?",
                "What is the security team?",
            ),
        ] {
            let steps = hops(query);
            assert!(steps.contains(&step.to_owned()), "{query}: {steps:?}");
            assert_eq!(steps.last().map(String::as_str), Some(query), "{steps:?}");
        }
    }

    #[test]
    fn r03_nothing_is_invented_where_nothing_can_be_told_apart() {
        for query in ["", "?", "pricing", "What is the fast path?", "the of the"] {
            assert!(hops(query).is_empty(), "{query}: {:?}", hops(query));
        }
    }
}
