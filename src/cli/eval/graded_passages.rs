//! Questions with judged passages, and passages that have nothing to do with them.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

use super::records::record;

/// What a line looks like, for who wrote another one.
const FORM: &str = r#"{"query": "…", "passages": [{"text": "…", "relevant": true}]}"#;

/// One line of the file.
#[derive(Debug)]
pub(super) struct GradedQuestion {
    pub query: String,
    /// Its parts, as a run would have found them; mostly none.
    pub sub_questions: Vec<String>,
    /// The passages to grade, at least one.
    pub passages: Vec<GradedPassage>,
}

/// One judged passage.
#[derive(Debug)]
pub(super) struct GradedPassage {
    pub text: String,
    pub relevant: bool,
    /// Known to have nothing to do with the question; never relevant.
    pub far_off: bool,
}

impl GradedPassage {
    /// A passage of another question.
    pub fn far_off(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            relevant: false,
            far_off: true,
        }
    }
}

#[derive(Deserialize)]
struct PassageLine {
    query: String,
    passages: Vec<JudgedPassage>,
    #[serde(default)]
    sub_questions: Vec<String>,
}

#[derive(Deserialize)]
struct JudgedPassage {
    text: String,
    relevant: Value,
    #[serde(default)]
    far_off: bool,
}

/// Reads one line; what is wrong with it is said in a few words.
pub(super) fn question(line: &str) -> Result<GradedQuestion, String> {
    let line: PassageLine = record(line, FORM)?;
    if line.query.trim().is_empty() {
        return Err("the query is empty".to_owned());
    }
    if line.passages.is_empty() {
        return Err("there is no passage".to_owned());
    }
    let passages = line.passages.into_iter().enumerate();
    let passages = passages.map(|(at, judged)| {
        let wrong = |what: &str| format!("passage {}: {what}", at + 1);
        let relevant = match &judged.relevant {
            Value::Bool(relevant) => *relevant,
            // A grade, as in a BEIR folder.
            Value::Number(grade) if grade.is_i64() => grade.as_i64() > Some(0),
            _ => {
                return Err(wrong(
                    "relevant is neither true or false nor a whole number",
                ));
            }
        };
        if judged.text.trim().is_empty() {
            return Err(wrong("the text is empty"));
        }
        if relevant && judged.far_off {
            return Err(wrong("it is both relevant and far_off"));
        }
        Ok(GradedPassage {
            text: judged.text,
            relevant,
            far_off: judged.far_off,
        })
    });
    Ok(GradedQuestion {
        query: line.query,
        sub_questions: line.sub_questions,
        passages: passages.collect::<Result<_, String>>()?,
    })
}

/// For each question up to `count` different passages of questions that ask something else, the
/// same on every run. Chosen by hash and not by place, because neighbours in a file are often of one
/// subject.
pub(super) fn foreign(questions: &[GradedQuestion], count: usize) -> Vec<Vec<&str>> {
    let all: Vec<(&str, &str)> = questions
        .iter()
        .flat_map(|question| {
            let texts = question
                .passages
                .iter()
                .map(|passage| passage.text.as_str());
            texts.map(|text| (question.query.as_str(), text))
        })
        .collect();
    let draw = |question: &GradedQuestion| {
        let own = question
            .passages
            .iter()
            .map(|passage| passage.text.as_str());
        let mut taken: HashSet<&str> = own.collect();
        let mut drawn = Vec::new();
        for turn in 0..count {
            let start = place(&question.query, turn, all.len());
            let (before, after) = all.split_at(start);
            let found = after
                .iter()
                .chain(before)
                .find(|(query, text)| *query != question.query && !taken.contains(text));
            let Some((_, text)) = found else {
                break;
            };
            taken.insert(text);
            drawn.push(*text);
        }
        drawn
    };
    questions.iter().map(draw).collect()
}

fn place(query: &str, turn: usize, among: usize) -> usize {
    let mut hasher = blake3::Hasher::new();
    hasher.update(query.as_bytes());
    hasher.update(&(turn as u64).to_le_bytes());
    let hash = hasher.finalize();
    let [a, b, c, d, ..] = *hash.as_bytes();
    u32::from_le_bytes([a, b, c, d]) as usize % among.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str, texts: &[&str]) -> GradedQuestion {
        GradedQuestion {
            query: query.to_owned(),
            sub_questions: Vec::new(),
            passages: texts
                .iter()
                .map(|text| GradedPassage::far_off(text))
                .collect(),
        }
    }

    #[test]
    fn foreign_passages_are_of_other_questions_and_different() {
        let questions = [
            asked("a", &["one", "two", "shared"]),
            asked("b", &["three", "shared", "three"]),
            asked("a", &["four"]),
        ];
        let drawn = foreign(&questions, 5);
        let sorted = |at: usize| {
            let mut texts = drawn[at].clone();
            texts.sort_unstable();
            texts
        };
        assert_eq!(sorted(0), ["three"]);
        assert_eq!(sorted(1), ["four", "one", "two"]);
        assert_eq!(sorted(2), ["shared", "three"]);
        assert_eq!(foreign(&questions, 2), foreign(&questions, 2));
        assert!(foreign(&questions, 0).iter().all(Vec::is_empty));
        assert!(foreign(&questions[..1], 3)[0].is_empty());
    }
}
