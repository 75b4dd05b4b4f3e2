use serde::{Deserialize, Serialize};

use super::{Parts, ToolName};

/// What kind of looking-up a question asks for (D1 of the routing design).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryType {
    /// A name, an id, a literal: `PROJ-123`, `grep_keywords`.
    Exact,
    /// What something is, how or why it works.
    #[default]
    Conceptual,
    /// How documents or tickets hang together.
    Relational,
    /// Which file holds something, or what a named file says.
    FileDiscovery,
    /// Purely social.
    Chitchat,
}

/// How much of the graph a question needs (after Adaptive-RAG, Jeong 2024).
///
/// Whatever is missing or unknown counts as [`Complexity::Complex`]: the long way is never wrong.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Complexity {
    /// Purely social: straight to the answer.
    Chitchat,
    /// One intent: retrieval without grading.
    Simple,
    /// Several intents, comparison or several rounds: the whole path.
    #[default]
    Complex,
}

words!(Complexity: Chitchat "chitchat", Simple "simple", Complex "complex");

/// Something that spoke for the route, in the words of the engine that decided it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cue {
    /// A sentence for people, a rule, a word of the question, or the route that a threshold decides over.
    pub cue: String,
    /// The part of the probability that is lost without a word, 0–1; in older logs also a probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The probability of the route that `cue` names, 0–1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// The lowest probability with which that route is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
}

impl Cue {
    /// A reason for people.
    pub fn sentence(reason: &str) -> Self {
        Self {
            cue: reason.to_owned(),
            ..Self::default()
        }
    }

    /// A word of the question, or a doubt, with its weight.
    pub fn with_weight(cue: String, weight: f64) -> Self {
        Self {
            cue,
            weight: Some(weight),
            ..Self::default()
        }
    }

    /// A route over which a threshold decides.
    pub fn measured(route: Complexity, probability: f64, threshold: f64) -> Self {
        Self {
            cue: route.as_str().to_owned(),
            probability: Some(probability),
            threshold: Some(threshold),
            ..Self::default()
        }
    }

    /// Probability and threshold, where both were measured.
    pub fn measure(&self) -> Option<(f64, f64)> {
        self.probability.zip(self.threshold)
    }

    /// Its numbers: `0.69 < 0.70` of a measure, `+0.20` of a word; `None` of a sentence.
    pub fn figure(&self) -> Option<String> {
        let Some((probability, threshold)) = self.measure() else {
            let sign = if self.cue.starts_with('"') { "+" } else { "" };
            return self.weight.map(|weight| format!("{sign}{weight:.2}"));
        };
        let is_taken = if probability >= threshold { "≥" } else { "<" };
        let figure = |decimals: usize| {
            let [probability, threshold] =
                [probability, threshold].map(|value| format!("{value:.decimals$}"));
            (probability != threshold).then(|| format!("{probability} {is_taken} {threshold}"))
        };
        // As many decimals as tell the two apart.
        let apart = (2..6).find_map(figure);
        Some(apart.unwrap_or_else(|| format!("{probability:.2} {is_taken} {threshold:.2}")))
    }
}

/// The probability and the threshold of a route, where a threshold decided over it.
pub fn measure_of(because: &[Cue], route: Complexity) -> Option<(f64, f64)> {
    let measured = because.iter().find(|cue| cue.cue == route.as_str())?;
    measured.measure()
}

/// What thresholds decided over, in words: `complex 0.69 < 0.70 · chitchat 0.02 < 0.80`; `None` where nothing
/// was measured.
pub fn measures_in_words(because: &[Cue]) -> Option<String> {
    let measured = because.iter().filter(|cue| cue.measure().is_some());
    let measured = measured.filter_map(|cue| Some(format!("{} {}", cue.cue, cue.figure()?)));
    let measured: Vec<String> = measured.collect();
    (!measured.is_empty()).then(|| measured.join(" · "))
}

/// The reasons as people are told them: the cues that are sentences, which have no number. Where all
/// have a weight it is the first, which decided.
pub fn spoken_reasons(because: &[Cue]) -> impl Iterator<Item = &str> {
    let all_are_weighed = because.iter().all(|cue| cue.weight.is_some());
    let is_spoken = move |(at, cue): &(usize, &Cue)| match cue.figure() {
        None => true,
        Some(_) => all_are_weighed && *at == 0,
    };
    let spoken = because.iter().enumerate().filter(is_spoken);
    spoken.map(|(_, cue)| cue.cue.as_str())
}

/// What `analyze_and_route` decided, kept in the state as `routing_plan`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RoutingPlan {
    /// What kind of looking-up is asked for.
    pub query_type: QueryType,
    /// Which way through the graph.
    pub complexity: Complexity,
    /// The parts of a complex question; empty for the others.
    pub sub_questions: Vec<String>,
    /// What the question is made of, where it was parted; the questions of that are `sub_questions`.
    #[serde(default, skip_serializing_if = "Parts::is_one")]
    pub parts: Parts,
    /// The tools worth trying, best first; empty for chitchat.
    pub suggested_tools: Vec<ToolName>,
    /// Words that must be found literally.
    pub grep_keywords: Vec<String>,
    /// The question as it can be understood alone, where it lacked its topic and a model wrote it anew. It is looked up
    /// in the place of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<String>,
}

impl RoutingPlan {
    /// The way out when an analysis cannot be read (R4): complex, conceptual, hybrid search.
    pub fn fallback() -> Self {
        Self {
            suggested_tools: vec![ToolName::HybridSearch],
            ..Self::default()
        }
    }

    /// Makes the fields agree with `complexity`, which alone decides the path.
    ///
    /// Chitchat has no tools, keywords or parts (R2) and is of type chitchat; simple has no parts
    /// (R3); a question about knowledge is never of type chitchat. Returns what had to change,
    /// one phrase each, for the audit log.
    pub fn reconcile(&mut self) -> Vec<&'static str> {
        let mut changes = Vec::new();
        match self.complexity {
            Complexity::Chitchat => {
                if self.query_type != QueryType::Chitchat {
                    self.query_type = QueryType::Chitchat;
                    changes.push("query_type set to chitchat");
                }
                let before = self.suggested_tools.len()
                    + self.sub_questions.len()
                    + self.grep_keywords.len();
                if before > 0 {
                    self.suggested_tools.clear();
                    self.sub_questions.clear();
                    self.grep_keywords.clear();
                    self.parts = Parts::One;
                    self.rewritten = None;
                    changes.push("tools, parts and keywords dropped: chitchat");
                }
                return changes;
            }
            Complexity::Simple => {
                self.parts = Parts::One;
                if !self.sub_questions.is_empty() {
                    self.sub_questions.clear();
                    changes.push("parts dropped: simple");
                }
            }
            Complexity::Complex => {
                if self.sub_questions.len() == 1 {
                    changes.push("complex with a single part");
                }
            }
        }
        if self.query_type == QueryType::Chitchat {
            self.query_type = QueryType::Conceptual;
            changes.push("query_type set to conceptual: not chitchat");
        }
        if self.suggested_tools.is_empty() {
            self.suggested_tools.push(ToolName::HybridSearch);
            changes.push("no tool suggested: hybrid_search");
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ui_reasons_are_told_without_their_weights() {
        let cues = |of: &[(&str, Option<f64>)]| -> Vec<Cue> {
            let cues = of.iter().map(|(cue, weight)| Cue {
                cue: (*cue).to_owned(),
                weight: *weight,
                ..Cue::default()
            });
            cues.collect()
        };
        for (because, told) in [
            (
                cues(&[("one fact is asked for", None), ("\"the\"", Some(0.2))]),
                vec!["one fact is asked for"],
            ),
            (
                cues(&[("a single look-up", Some(0.96)), ("\"the\"", Some(0.19))]),
                vec!["a single look-up"],
            ),
            (cues(&[("rule: greeting", None)]), vec!["rule: greeting"]),
            (Vec::new(), vec![]),
            (vec![Cue::measured(Complexity::Complex, 0.69, 0.7)], vec![]),
        ] {
            assert_eq!(spoken_reasons(&because).collect::<Vec<_>>(), told);
        }
    }

    #[test]
    fn ui_a_probability_stands_beside_its_threshold() {
        for (probability, threshold, figure) in [
            (0.69, 0.7, "0.69 < 0.70"),
            (0.9, 0.7, "0.90 ≥ 0.70"),
            (0.6972, 0.7, "0.697 < 0.700"),
            (0.7, 0.7, "0.70 ≥ 0.70"),
        ] {
            let cue = Cue::measured(Complexity::Complex, probability, threshold);
            assert_eq!(cue.figure().as_deref(), Some(figure));
            let words = measures_in_words(&[Cue::sentence("a reason"), cue]);
            assert_eq!(words, Some(format!("complex {figure}")));
        }
        assert_eq!(measures_in_words(&[Cue::sentence("a reason")]), None);
    }
}
