//! Questions about two things at once, parted into one question each; see [`super::decompose`].

use super::cutting::{clean, find_words, split_words, starts_question};
use super::words::{is_stop, plain_words};

/// "Compare A with B", "the difference between A and B", "A vs B", "how does A differ from B".
pub(super) fn comparison(query: &str) -> Option<Vec<String>> {
    let lower = query.to_ascii_lowercase();
    if let Some(found) = in_one_respect(query, &lower).or_else(|| same_of_the_other(query, &lower))
    {
        return Some(found);
    }
    let after = |cue: &str| find_words(&lower, cue).map(|at| &query[at + cue.len()..]);
    let joined = [
        (
            "compare",
            &[
                " with ",
                " to ",
                " against ",
                " and ",
                " versus ",
                " vs. ",
                " vs ",
                ", ",
            ][..],
        ),
        ("comparison of", &[" with ", " and ", " to "]),
        ("comparison between", &[" and "]),
        ("difference between", &[" and ", " versus ", " vs "]),
        ("differences between", &[" and ", " versus ", " vs "]),
        ("distinction between", &[" and "]),
        ("distinguish between", &[" and "]),
        ("distinguish", &[" from "]),
        ("distinguishes", &[" from "]),
        ("similarities between", &[" and "]),
        ("similarities of", &[" and "]),
        ("relationship between", &[" and "]),
        ("choose between", &[" and ", " or "]),
        ("in common between", &[" and "]),
        ("contrast", &[" with ", " and "]),
        ("advantages of", &[" over ", " compared to ", " and "]),
        ("advantage of", &[" over ", " compared to "]),
        ("benefits of", &[" over ", " compared to "]),
    ];
    for (cue, joints) in joined {
        if let Some(rest) = after(cue).filter(|rest| !rest.trim().is_empty()) {
            let found = pair(rest, joints);
            if found.is_some() {
                return found;
            }
        }
    }
    for cue in [
        "differ from",
        "different from",
        "compare with",
        "compare to",
        "compare against",
    ] {
        if let Some(at) = find_words(&lower, cue) {
            return about(&[strip_lead(&query[..at]), &query[at + cue.len()..]]);
        }
    }
    if let Some(at) = find_words(&lower, "have in common").or_else(|| find_words(&lower, "differ"))
    {
        let found = pair(strip_lead(&query[..at]), &[" and ", " or "]);
        if found.is_some() {
            return found;
        }
    }
    for cue in [
        " versus ",
        " vs. ",
        " vs ",
        " compared to ",
        " compared with ",
        " as opposed to ",
        " in contrast to ",
    ] {
        if let Some(at) = lower.find(cue) {
            return about(&[strip_lead(&query[..at]), &query[at + cue.len()..]]);
        }
    }
    None
}

/// "Which was released first, A or B?" and "Are A and B both …?"
pub(super) fn choice(query: &str) -> Option<Vec<String>> {
    let body = query.trim().trim_end_matches(['?', '.', ' ']);
    if let Some((head, tail)) = body
        .split_once([',', ':', '-'].as_slice())
        .filter(|(head, _)| {
            plain_words(head).iter().any(|word| {
                matches!(
                    word.as_str(),
                    "which" | "who" | "what" | "whose" | "between" | "where"
                )
            })
        })
    {
        let (a, b) = split_words(tail, " or ")?;
        if name_like(a) && name_like(b) {
            return Some(vec![
                format!("{}: {}?", clean(a), clean(head)),
                format!("{}: {}?", clean(b), clean(head)),
            ]);
        }
    }
    let words = plain_words(body);
    let first = words.first().map(String::as_str)?;
    let yes_no = matches!(
        first,
        "are" | "were" | "is" | "was" | "do" | "did" | "does" | "have" | "can"
    );
    let equal = words.iter().any(|word| {
        matches!(
            word.as_str(),
            "both" | "same" | "either" | "neither" | "different" | "similar"
        )
    });
    if yes_no && equal {
        let rest = body.split_once(' ')?.1;
        let (a, tail) = split_words(rest, " and ")?;
        let cut = [
            " both ",
            " the same ",
            " same ",
            " from ",
            " located ",
            " in the ",
            " in ",
            " of ",
            " members ",
        ]
        .iter()
        .filter_map(|stop| tail.find(stop))
        .min()
        .unwrap_or(tail.len());
        let (b, predicate) = tail.split_at(cut);
        let a = clean(a).trim_start_matches("both ");
        return Some(vec![
            format!("{a}{predicate}?"),
            format!("{}{predicate}?", clean(b)),
        ]);
    }
    if yes_no && let Some((head, b)) = split_words(body, " or ") {
        let a = head.split_once(' ')?.1;
        let words: Vec<&str> = b.split_whitespace().collect();
        let length = a.split_whitespace().count();
        if length > 3 || words.len() <= length {
            return about(&[a, b]);
        }
        // "Do cats or dogs sleep more?": what is said of both stands behind the second.
        let said = words[length..].join(" ");
        let b = words[..length].join(" ");
        return Some(vec![format!("{a} {said}?"), format!("{b} {said}?")]);
    }
    let (head, b) = split_words(body, " or ")?;
    let (rest, a) = head.rsplit_once(", ")?;
    (name_like(a) && name_like(b) && starts_question(rest))
        .then(|| about(&[a, b]))
        .flatten()
}

/// "What is set by both A and B?"
pub(super) fn both(query: &str) -> Option<Vec<String>> {
    let lower = query.to_ascii_lowercase();
    let at = find_words(&lower, "both")?;
    let (head, rest) = (
        &query[..at],
        query[at + 4..].trim_end_matches(['?', '.', ' ']),
    );
    let (a, b) = split_words(rest, " and ")?;
    Some(vec![
        format!("{}{}?", head, clean(a)),
        format!("{}{}?", head, clean(b)),
    ])
}

/// "The difference in price between A and B": the price of each.
fn in_one_respect(query: &str, lower: &str) -> Option<Vec<String>> {
    let body = query.trim_end_matches(['?', '.', ' ']);
    let cue = [
        "difference in ",
        "differences in ",
        "compare the ",
        "difference of ",
    ];
    let (at, cue) = cue.iter().find_map(|cue| Some((lower.find(cue)?, cue)))?;
    let rest = body.get(at + cue.len()..)?;
    let (respect, names) = split_words(rest, " between ").or_else(|| split_words(rest, " of "))?;
    let (a, b) = split_words(names, " and ").or_else(|| split_words(names, " with "))?;
    let short = |name: &str| name_like(clean(name));
    (short(respect) && short(a) && short(b)).then(|| {
        [a, b]
            .map(|name| format!("{}, {}?", clean(strip_lead(name)), clean(respect)))
            .to_vec()
    })
}

/// "When does the old mill close compared to the new mill?": the question of the other too, where
/// it is plain by a word of both what the other takes the place of.
fn same_of_the_other(query: &str, lower: &str) -> Option<Vec<String>> {
    let joints = [
        " compared to ",
        " compared with ",
        " as opposed to ",
        " versus ",
    ];
    let (at, joint) = joints
        .iter()
        .find_map(|joint| Some((lower.find(joint)?, joint)))?;
    let (head, other) = (query.get(..at)?, clean(query.get(at + joint.len()..)?));
    let words: Vec<&str> = head.split_whitespace().collect();
    let of_other: Vec<&str> = other.split_whitespace().collect();
    let length = of_other.len();
    if !starts_question(head) || words.len() < length + 3 {
        return None;
    }
    let shared = |run: &[&str]| {
        let pairs = run.iter().zip(&of_other);
        let same = pairs.filter(|(a, b)| a.eq_ignore_ascii_case(b));
        same.filter(|(a, _)| !is_stop(&a.to_lowercase())).count()
    };
    let best = (0..=words.len() - length).max_by_key(|at| shared(&words[*at..at + length]))?;
    if shared(&words[best..best + length]) == 0 {
        return None;
    }
    let mut instead = words[..best].to_vec();
    instead.extend(&of_other);
    instead.extend(&words[best + length..]);
    Some(vec![format!("{head}?"), format!("{}?", instead.join(" "))])
}

fn pair(rest: &str, joints: &[&str]) -> Option<Vec<String>> {
    let (a, b) = joints.iter().find_map(|joint| split_words(rest, joint))?;
    about(&[a, b])
}

pub(super) fn about(names: &[&str]) -> Option<Vec<String>> {
    let names: Vec<&str> = names.iter().map(|name| subject(name)).collect();
    names.iter().all(|name| !name.is_empty()).then(|| {
        names
            .iter()
            .map(|name| format!("What is {name}?"))
            .collect()
    })
}

/// The name at the beginning of what follows a joint.
fn subject(text: &str) -> &str {
    let text = clean(text);
    let lower = text.to_ascii_lowercase();
    let end = [
        " in terms of ",
        " regarding ",
        " with respect to ",
        " when ",
        ", ",
        " and what ",
        " and how ",
        " – ",
        " — ",
        "? ",
        "; ",
    ]
    .iter()
    .filter_map(|stop| lower.find(stop))
    .filter(|at| *at > 0)
    .min()
    .unwrap_or(text.len());
    let text = clean(&text[..end]);
    text.strip_prefix("the difference between ").unwrap_or(text)
}

fn strip_lead(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let word = text.split_whitespace().next().unwrap_or_default();
        if word.len() < text.len()
            && matches!(
                word.to_ascii_lowercase().as_str(),
                "how"
                    | "what"
                    | "do"
                    | "does"
                    | "did"
                    | "is"
                    | "are"
                    | "which"
                    | "explain"
                    | "describe"
                    | "the"
                    | "when"
                    | "should"
                    | "i"
                    | "use"
                    | "to"
                    | "why"
                    | "better"
                    | "please"
                    | "and"
                    | "thanks"
                    | "using"
                    | "a"
                    | "an"
            )
        {
            text = text[word.len()..].trim_start();
        } else {
            return text;
        }
    }
}

fn name_like(text: &str) -> bool {
    (1..=8).contains(&text.split_whitespace().count())
}
