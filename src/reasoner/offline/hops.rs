//! The steps of an English question that has no parts and yet needs more than one look-up.
//!
//! Such a question names something by what is said of it ("the town that …", "the author of …").
//! The first step asks for that something, the last is the question itself, so that what answers
//! either is found and kept. The ways to find the step are tried from the surest to the weakest.

use super::cutting::{clean, split_words, starts_question};
use super::ends::sentences;
use super::literals::Literals;
use super::words::{is_stop, plain_words, terms};

/// What asks whether something may be or can be done.
const MAY: [&str; 7] = ["can", "could", "may", "might", "will", "would", "should"];

/// At most so many names are looked up beside the question.
const MOST_NAMES: usize = 3;

/// The steps, at least two, the question itself the last; none where nothing can be told apart.
pub(super) fn hops(query: &str) -> Vec<String> {
    let body = query.trim().trim_end_matches(['?', '.', ' ']);
    // Of several sentences none is a phrase inside another.
    if sentences(body).len() > 1 || [" - ", " – ", " — "].iter().any(|dash| body.contains(dash))
    {
        return Vec::new();
    }
    let steps = premise(body)
        .or_else(|| relative(body))
        .or_else(|| names(body))
        .or_else(|| inner(body))
        .or_else(|| joined(body));
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
    let himself = matches!(
        bare(words[0]).as_str(),
        "who" | "what" | "which" | "whats" | "whos"
    );
    let leads_on = from > 1 && (!himself || !terms(&words[..from].join(" ")).is_empty());
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

/// "Which has more seats, the blue room than …": what stands on both sides of a joint.
fn joined(body: &str) -> Option<Vec<String>> {
    let first = body.split(' ').next().map(bare).unwrap_or_default();
    if MAY.contains(&first.as_str()) {
        // "Could it copy or move a file?" joins deeds.
        return None;
    }
    let (head, tail) = [" and ", " or ", " than ", " with ", " from "]
        .iter()
        .find_map(|joint| split_words(body, joint))?;
    let says = |word: &&str| !is_stop(&bare(word));
    let before: Vec<&str> = head
        .split_whitespace()
        .rev()
        .take_while(says)
        .take(3)
        .collect();
    let before: Vec<&str> = before.into_iter().rev().collect();
    let behind = tail
        .split_whitespace()
        .skip_while(|word| is_stop(&bare(word)));
    let behind: Vec<&str> = behind.take_while(says).take(3).collect();
    (!before.is_empty() && !behind.is_empty()).then(|| {
        [before, behind]
            .iter()
            .map(|name| format!("What is {}?", clean(&name.join(" "))))
            .collect()
    })
}

/// "Who leads the team that runs the mail service?": something definite, told by a clause of its
/// own, and more is asked than what it is.
pub(super) fn asks_behind_a_clause(query: &str) -> bool {
    let body = query.trim().trim_end_matches(['?', '.', ' ']);
    let words = plain_words(body);
    let told = words.windows(4).any(|run| {
        run[0] == "the"
            && !is_stop(&run[1])
            && [&run[2], &run[3]]
                .iter()
                .any(|word| matches!(word.as_str(), "that" | "which" | "whose" | "who"))
    });
    told && relative(body).is_some()
}

/// "When did the author of the handbook join?": asks for more than who holds a role.
pub(super) fn asks_behind_a_role(query: &str) -> bool {
    let words = plain_words(query);
    let holder = |at: &usize| {
        *at > 1
            && ROLES.contains(&words[*at].as_str())
            && matches!(words[at - 1].as_str(), "the" | "a" | "an")
            && words
                .get(at + 1)
                .is_some_and(|next| matches!(next.as_str(), "of" | "behind"))
    };
    let Some(at) = (0..words.len()).find(holder) else {
        return false;
    };
    // "Who is the owner of …" and "what is the name of the owner of …" ask for the owner.
    let asks_who = words[..at]
        .iter()
        .any(|word| matches!(word.as_str(), "who" | "whose" | "name" | "named"));
    let asks = words[..at].iter().any(|word| starts_question(word));
    asks && !asks_who && !terms(&words[at + 1..].join(" ")).is_empty()
}

#[rustfmt::skip]
const ROLES: &[&str] = &[
    "author", "manager", "owner", "director", "founder", "maintainer", "head", "ceo", "lead", "leader", "creator",
    "inventor", "writer", "editor", "reviewer", "president", "chair", "wife", "husband", "mother", "father", "son",
    "daughter", "capital", "producer", "composer", "singer", "architect", "developer", "supervisor", "sponsor",
];

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
    fn r03_a_role_is_a_step_only_where_more_than_the_holder_is_asked() {
        for (query, expected) in [
            ("When did the author of the deployment handbook join?", true),
            ("Where does the manager of the security team sit?", true),
            ("Who is the owner of the billing service?", false),
            ("What is the name of the director of finance?", false),
            ("How do I become the owner of", false),
            ("owner of the cache", false),
        ] {
            assert_eq!(asks_behind_a_role(query), expected, "{query}");
        }
    }

    #[test]
    fn r03_nothing_is_invented_where_nothing_can_be_told_apart() {
        for query in ["", "?", "pricing", "What is the fast path?", "the of the"] {
            assert!(hops(query).is_empty(), "{query}: {:?}", hops(query));
        }
    }
}
