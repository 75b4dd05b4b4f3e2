//! Which tools to call (R11), and in a later round what is still missing (R21).
//!
//! A round searches for every reading of the question and every part, by the tools that the route
//! suggests. No call is made twice: what led nowhere is asked in other words or by other means.

mod refine;
mod reword;

use crate::agent::ports::{PlanJob, Planned};
use crate::domain::{Complexity, KEEP_FROM, Question, QuestionKind, ToolCall, ToolName, Usage};

use self::refine::{missing, refinement_terms};
use self::reword::reworded;
use super::question::{Part, state_values};

/// At most this many calls a round.
const MOST_CALLS: usize = 6;
/// The query that stands for all documents.
const EVERYTHING: &str = "*";
/// How many passages a wider search brings.
const WIDE: usize = 20;
const WIDER: usize = 40;

/// The calls of this round, most promising first.
pub(super) fn plan(job: &PlanJob<'_>, question: &Question, parts: &[Part]) -> Planned {
    let mut calls = Calls {
        job,
        question,
        parts,
        made: Vec::new(),
    };
    if job.refine {
        calls.refine();
    } else {
        calls.first();
    }
    if calls.made.is_empty() {
        calls.last_resort();
    }
    calls.made.truncate(MOST_CALLS);
    Planned {
        calls: calls.made,
        usage: Usage::ONE_CALL,
        warnings: Vec::new(),
    }
}

struct Calls<'a> {
    job: &'a PlanJob<'a>,
    question: &'a Question,
    parts: &'a [Part],
    made: Vec<ToolCall>,
}

impl<'a> Calls<'a> {
    fn first(&mut self) {
        let again = !self.job.tool_history.is_empty();
        let asked: Vec<(Question, String)> = self
            .asked()
            .into_iter()
            .map(|question| {
                // The same words have led nowhere once.
                let text = if again {
                    reworded(question)
                } else {
                    question.search_text()
                };
                (question.clone(), text)
            })
            .collect();
        for tool in self.tools() {
            match tool {
                ToolName::ReadFile => self.read_files(&asked),
                ToolName::GraphRelated => self.related(),
                ToolName::GrepSearch => self.grep(&asked),
                ToolName::LocalFileQa => self.in_files(),
                ToolName::HybridSearch => {
                    for (question, text) in &asked {
                        self.hybrid(question, text);
                    }
                }
                ToolName::VectorSearch => {
                    for (_, text) in &asked {
                        self.vector(text, None);
                    }
                }
            }
        }
    }

    /// The tools that the route suggests, those that the kind of question needs before them.
    fn tools(&self) -> Vec<ToolName> {
        let mut tools = self.job.routing.suggested_tools.clone();
        let kind = self.question.kind;
        let named = !self.question.literals.paths.is_empty();
        let states = kind == QuestionKind::State && !state_values(self.question).is_empty();
        if states && self.job.routing.complexity == Complexity::Complex {
            // Its fields answer by themselves; where none does, another round searches.
            return vec![ToolName::LocalFileQa];
        }
        let needed = match kind {
            QuestionKind::Overview => Some(ToolName::LocalFileQa),
            QuestionKind::State if states => Some(ToolName::LocalFileQa),
            QuestionKind::Relation => Some(ToolName::GraphRelated),
            _ if named => Some(ToolName::ReadFile),
            _ => None,
        };
        if let Some(tool) = needed.filter(|tool| !tools.contains(tool)) {
            tools.insert(0, tool);
        }
        tools
    }

    /// What no good evidence speaks of yet, asked with what good evidence says about the rest.
    fn refine(&mut self) {
        let good = good(self.job);
        let asked = self.asked();
        let missing = missing(&asked, &good);
        let hints = refinement_terms(&asked, &good, self.job.context);
        let missing: Vec<(Question, String)> = missing
            .into_iter()
            .map(|question| (question.clone(), reworded(question)))
            .collect();
        for (question, plain) in &missing {
            self.vector(&question.search_text(), None);
            let refined = [plain.as_str()]
                .into_iter()
                .chain(hints.iter().map(String::as_str));
            let refined: Vec<&str> = refined.filter(|words| !words.is_empty()).collect();
            self.hybrid(question, &refined.join(" "));
        }
        self.grep(&missing);
    }

    /// Everything thought of was tried before: a wider net, then other words.
    fn last_resort(&mut self) {
        let asked: Vec<Question> = self.asked().into_iter().cloned().collect();
        for question in &asked {
            let plain = reworded(question);
            for call in [
                hybrid(&question.search_text(), Vec::new()),
                vector(&question.search_text(), Some(WIDE)),
                hybrid(&plain, Vec::new()),
                vector(&plain, Some(WIDER)),
            ] {
                if self.made.is_empty() {
                    self.add(call);
                }
            }
        }
    }

    /// What is looked up: the whole question, and its parts.
    fn asked(&self) -> Vec<&'a Question> {
        let parts = self.parts.iter().map(|part| &part.question);
        std::iter::once(self.question).chain(parts).collect()
    }

    fn hybrid(&mut self, question: &Question, text: &str) {
        self.add(hybrid(text, question.literals.keywords()));
    }

    fn vector(&mut self, text: &str, k: Option<usize>) {
        self.add(vector(text, k));
    }

    /// One call for all keywords; without keywords, the words that carry the meaning.
    fn grep(&mut self, asked: &[(Question, String)]) {
        let mut words: Vec<String> = Vec::new();
        for (question, _) in asked {
            words.extend(question.literals.keywords());
        }
        if words.is_empty() {
            words.clone_from(&self.job.routing.grep_keywords);
        }
        if words.is_empty() {
            words.extend(asked.iter().map(|(question, _)| reworded(question)));
        }
        words.retain(|word| !word.trim().is_empty());
        let mut known: Vec<String> = Vec::new();
        for word in words {
            if !known.contains(&word) {
                known.push(word);
            }
        }
        let query = match known.as_slice() {
            [only] if !only.contains(is_special) => only.clone(),
            several => several
                .iter()
                .map(|word| escaped(word))
                .collect::<Vec<_>>()
                .join("|"),
        };
        self.add(ToolCall::GrepSearch { query });
    }

    /// The named files; a search beside them, unless nothing is asked but what they say.
    fn read_files(&mut self, asked: &[(Question, String)]) {
        for file in &self.question.literals.paths {
            self.add(ToolCall::ReadFile {
                path: file.path.clone(),
                start_line: file.start,
                end_line: file.end,
            });
        }
        let only_files = matches!(
            self.question.kind,
            QuestionKind::File | QuestionKind::Comparison
        );
        if self.question.literals.paths.is_empty() {
            self.in_files();
        } else if !only_files {
            for (question, text) in asked {
                self.hybrid(question, text);
            }
        }
    }

    fn in_files(&mut self) {
        let question = self.question;
        let values = state_values(question);
        let query = if question.kind == QuestionKind::Overview {
            EVERYTHING.to_owned()
        } else {
            question.search_text()
        };
        self.add(ToolCall::LocalFileQa {
            query,
            path: None,
            field: None,
            value: (!values.is_empty()).then(|| values.join("|")),
        });
    }

    /// What is linked with what the question names.
    fn related(&mut self) {
        let literals = self.question.literals.clone();
        let paths = literals.paths.into_iter().map(|file| file.path);
        let mut entities: Vec<String> = literals.ids.into_iter().chain(paths).collect();
        if entities.is_empty() {
            entities.extend(literals.quotations.into_iter().chain(literals.identifiers));
        }
        for entity_id in entities {
            self.add(ToolCall::GraphRelated { entity_id });
        }
    }

    fn add(&mut self, call: ToolCall) {
        let before = self
            .job
            .tool_history
            .iter()
            .any(|record| record.call == call);
        if !before && !self.made.contains(&call) && !call.subject().trim().is_empty() {
            self.made.push(call);
        }
    }
}

/// The texts that were graded well enough to stay, or the best of them where those above the average are
/// fewer: what they say is taken for what is known.
fn good<'a>(job: &'a PlanJob<'_>) -> Vec<&'a str> {
    let graded = || job.context.iter().zip(job.scores);
    let kept: Vec<f64> = graded()
        .map(|(_, score)| score.value())
        .filter(|score| *score >= KEEP_FROM)
        .collect();
    let average = kept.iter().sum::<f64>() / kept.len().max(1) as f64;
    let good = graded().filter(|(_, score)| score.value() >= average.max(KEEP_FROM));
    good.map(|(item, _)| item.text.as_str()).collect()
}

fn hybrid(text: &str, exact_keywords: Vec<String>) -> ToolCall {
    ToolCall::HybridSearch {
        semantic_query: text.to_owned(),
        exact_keywords,
    }
}

fn vector(text: &str, k: Option<usize>) -> ToolCall {
    ToolCall::VectorSearch {
        query: text.to_owned(),
        k,
    }
}

fn is_special(c: char) -> bool {
    "\\.+*?()|[]{}^$".contains(c)
}

fn escaped(word: &str) -> String {
    let mut escaped = String::with_capacity(word.len());
    for c in word.chars() {
        if is_special(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::ports::CallOrigin;
    use crate::domain::{
        Earlier, Evidence, EvidenceId, LineRange, Literals, Measured, NodeName, RoutingPlan, Score,
        ToolRecord, Topic,
    };
    use crate::protocol::RunId;
    use crate::reasoner::offline::language::terms;
    use crate::reasoner::offline::question::Part;

    fn asks(text: &str) -> Question {
        Question {
            text: text.to_owned(),
            asked: text.to_owned(),

            terms: terms(text, crate::domain::Language::En),
            ..Question::default()
        }
    }

    fn parts(texts: &[&str]) -> Vec<Part> {
        let part = |text: &&str| Part {
            question: asks(text),
            label: (*text).to_owned(),
        };
        texts.iter().map(part).collect()
    }

    struct Round<'a> {
        tools: &'a [ToolName],
        made: &'a [ToolCall],
        context: &'a [(&'a str, f64)],
        refine: bool,
    }

    const FIRST: Round<'_> = Round {
        tools: &[ToolName::HybridSearch],
        made: &[],
        context: &[],
        refine: false,
    };

    fn calls(question: &Question, parts: &[Part], round: &Round<'_>) -> Vec<ToolCall> {
        let run = RunId::generate();
        let record = |call: &ToolCall| ToolRecord {
            call: call.clone(),
            round: 0,
            scores: Vec::new(),
            error: None,
        };
        let item = |(text, _): &(&str, f64)| Evidence {
            id: EvidenceId("e1".to_owned()),
            source: "a.md".to_owned(),
            lines: LineRange { start: 1, end: 9 },
            place: None,
            tool: ToolName::HybridSearch,
            score: Score::UNKNOWN,
            measured: Measured::default(),
            text: (*text).to_owned(),
            topic: Topic::default(),
            low: false,
        };
        let job = PlanJob {
            origin: CallOrigin {
                run: &run,
                node: NodeName::Plan,
                calls: None,
                waits: None,
            },
            query: &question.text,
            question,
            history: &[],
            routing: &RoutingPlan {
                suggested_tools: round.tools.to_vec(),
                ..RoutingPlan::default()
            },
            tool_history: &round.made.iter().map(record).collect::<Vec<_>>(),
            context: &round.context.iter().map(item).collect::<Vec<_>>(),
            scores: &round
                .context
                .iter()
                .map(|(_, score)| Score::clamped(*score))
                .collect::<Vec<_>>(),
            refine: round.refine,
        };
        plan(&job, question, parts).calls
    }

    #[test]
    fn r11_a_question_that_goes_on_is_searched_with_the_words_before_it() {
        let mut question = asks("And its default?");
        question.continues = Some(Earlier {
            question: "What is the threshold?".to_owned(),
            words: vec!["threshold".to_owned()],
        });
        let made = calls(&question, &[], &FIRST);
        let subjects: Vec<&str> = made.iter().map(ToolCall::subject).collect();
        assert_eq!(subjects, ["And its default? threshold"]);
    }

    #[test]
    fn r11_parts_are_searched_beside_the_whole() {
        let texts = ["Who made the pump?", "When was the pump made?"];
        let whole = "Who made it and when?";
        let made = calls(&asks(whole), &parts(&texts), &FIRST);
        let subjects: Vec<&str> = made.iter().map(ToolCall::subject).collect();
        assert_eq!(subjects, [whole, texts[0], texts[1]]);
    }

    #[test]
    fn r11_what_is_written_exactly_is_searched_exactly() {
        let mut question = asks("What blocks PROJ-7?");
        question.literals = Literals {
            ids: vec!["PROJ-7".to_owned()],
            ..Literals::default()
        };
        question.kind = QuestionKind::Relation;
        let made = calls(
            &question,
            &[],
            &Round {
                tools: &[ToolName::GrepSearch, ToolName::HybridSearch],
                ..FIRST
            },
        );
        let related = ToolCall::GraphRelated {
            entity_id: "PROJ-7".to_owned(),
        };
        let grep = ToolCall::GrepSearch {
            query: "PROJ-7".to_owned(),
        };
        assert_eq!(
            made,
            [
                related,
                grep,
                hybrid("What blocks PROJ-7?", vec!["PROJ-7".to_owned()])
            ]
        );
    }

    #[test]
    fn r21_what_is_missing_is_asked_with_what_good_evidence_says() {
        let question = asks("Which queue does Kestrel use and how often does it try again?");
        let texts = [
            "Which queue does Kestrel use?",
            "How many attempts does it make?",
        ];
        let good = "Kestrel uses the Ibis queue for its jobs. Lunch is at noon in Rome.";
        let round = Round {
            context: &[(good, 0.9), ("The jobs of the shop.", 0.4)],
            refine: true,
            ..FIRST
        };
        let made = calls(&question, &parts(&texts), &round);
        let subjects: Vec<&str> = made.iter().map(ToolCall::subject).collect();
        assert!(
            subjects.iter().all(|subject| *subject != texts[0]),
            "{subjects:?}"
        );
        assert!(
            subjects
                .iter()
                .any(|subject| subject.contains("attempts") && subject.contains("Ibis")),
            "{subjects:?}"
        );
        assert!(
            subjects.iter().all(|subject| !subject.contains("Rome")),
            "{subjects:?}"
        );
    }

    #[test]
    fn r21_no_call_is_made_twice() {
        let question = asks("How deep is the well?");
        let mut made: Vec<ToolCall> = Vec::new();
        for _ in 0..4 {
            let round = Round {
                made: &made,
                ..FIRST
            };
            let more = calls(&question, &[], &round);
            assert!(
                !more.is_empty() && more.iter().all(|call| !made.contains(call)),
                "{more:?}"
            );
            made.extend(more);
        }
    }
}
