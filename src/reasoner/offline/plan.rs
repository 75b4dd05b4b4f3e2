//! Which tools to call (R11), and in a later round what is still missing (R21).
//!
//! A round searches for the question and for each of its parts, by the tools that the route suggests. No call is made
//! twice: what led nowhere is asked in other words or by other means.

use std::collections::HashSet;

use super::language::terms;
use super::question::{Part, state_values};
use crate::agent::ports::{PlanJob, PlannedCalls};
use crate::domain::{
    Complexity, Language, PlannedCall, Question, QuestionKind, SUFFICIENT_FROM, ToolCall, ToolName,
    Usage,
};

/// Most tool calls of one round.
const MOST_CALLS: usize = 6;
/// The query that stands for all documents.
const EVERYTHING: &str = "*";
/// How many passages wider searches bring.
const WIDER: [usize; 2] = [20, 40];
/// A part is covered when good evidence holds this share of its terms: of four words one is often said in
/// another way.
const COVERED_FROM: f64 = 0.75;

/// The calls of this round, most promising first.
pub fn plan(job: &PlanJob<'_>, question: &Question, parts: &[Part]) -> PlannedCalls {
    let parts = parts.iter().map(|part| &part.question);
    let mut round = Round {
        job,
        question,
        asked: std::iter::once(question).chain(parts).collect(),
        calls: Vec::new(),
    };
    if job.refine {
        round.add_refined_calls();
    } else {
        round.add_suggested_calls();
    }
    if round.calls.is_empty() {
        let search = |question: &&Question, k| vector_search(&question.search_text(), Some(k));
        let wider = WIDER.into_iter();
        let mut wider = wider.flat_map(|k| round.asked.iter().map(move |it| search(it, k)));
        let call = wider.find(|call| round.is_new(call));
        round.calls.extend(call);
    }
    round.calls.truncate(MOST_CALLS);
    PlannedCalls {
        calls: round.calls.into_iter().map(PlannedCall::from).collect(),
        by: None,
        usage: Usage::ONE_CALL,
        warnings: Vec::new(),
    }
}

struct Round<'a> {
    job: &'a PlanJob<'a>,
    question: &'a Question,
    /// The whole question, and its parts.
    asked: Vec<&'a Question>,
    calls: Vec<ToolCall>,
}

impl Round<'_> {
    fn add_suggested_calls(&mut self) {
        // The same words have led nowhere once.
        let text = if self.job.tool_history.is_empty() {
            Question::search_text
        } else {
            plain_words
        };
        let asked = self.asked.clone();
        for tool in self.tools() {
            match tool {
                ToolName::ReadFile => self.add_named_files(),
                ToolName::GraphRelated => self.add_related(),
                ToolName::GrepSearch => self.add_grep(&asked),
                ToolName::LocalFileQa => self.add_file_search(),
                other => {
                    let Some(search) = other.descriptor().search else {
                        continue;
                    };
                    for question in &asked {
                        self.add(search(text(question), &question.literals.keywords()));
                    }
                }
            }
        }
    }

    /// The tools that the route suggests; where a state is asked for, the one that reads fields comes first.
    fn tools(&self) -> Vec<ToolName> {
        let mut tools = self.job.routing.suggested_tools.clone();
        if self.question.kind == QuestionKind::State {
            tools.insert(0, ToolName::LocalFileQa);
        }
        // Fields and named files answer by themselves; where none does, another round searches.
        let is_complex = self.job.routing.complexity == Complexity::Complex;
        if is_complex && let [ToolName::LocalFileQa | ToolName::ReadFile, ..] = tools[..] {
            tools.truncate(1);
        }
        tools
    }

    /// Adds searches for what no good evidence covers yet.
    fn add_refined_calls(&mut self) {
        let graded = self.job.context.iter().zip(self.job.scores);
        let good = graded.filter(|(_, score)| score.value() >= SUFFICIENT_FROM);
        let good: Vec<&str> = good.map(|(item, _)| item.text.as_str()).collect();
        let mut missing = self.asked.clone();
        missing.retain(|question| !is_covered(question, &good));
        if missing.is_empty() {
            // All are covered, and that was not enough.
            missing.clone_from(&self.asked);
        }
        for question in &missing {
            self.add(vector_search(&question.search_text(), None));
            self.add(hybrid_search(plain_words(question), question));
        }
        self.add_grep(&missing);
    }

    /// Adds one call for all keywords; without keywords, for the words that carry the meaning.
    fn add_grep(&mut self, asked: &[&Question]) {
        let keywords = asked.iter().map(|question| question.literals.keywords());
        let mut words: Vec<String> = keywords.flatten().collect();
        if words.is_empty() {
            words.extend(asked.iter().map(|question| plain_words(question)));
        }
        let mut seen = HashSet::new();
        words.retain(|word| !word.trim().is_empty() && seen.insert(word.clone()));
        let escaped: Vec<String> = words.iter().map(|word| escape(word)).collect();
        let query = escaped.join("|");
        self.add(ToolCall::GrepSearch { query });
    }

    fn add_named_files(&mut self) {
        for file in self.question.literals.paths.clone() {
            self.add(ToolCall::ReadFile {
                path: file.path,
                start_line: file.start,
                end_line: file.end,
            });
        }
    }

    fn add_file_search(&mut self) {
        let values = state_values(self.question);
        let query = match self.question.kind {
            QuestionKind::Overview => EVERYTHING.to_owned(),
            _ => self.question.search_text(),
        };
        self.add(ToolCall::LocalFileQa {
            query,
            path: None,
            field: None,
            value: (!values.is_empty()).then(|| values.join("|")),
        });
    }

    /// Adds what is linked with what the question names.
    fn add_related(&mut self) {
        let literals = &self.question.literals;
        let paths = literals.paths.iter().map(|file| file.path.clone());
        for entity_id in literals.keywords().into_iter().chain(paths) {
            self.add(ToolCall::GraphRelated { entity_id });
        }
    }

    fn add(&mut self, call: ToolCall) {
        if self.is_new(&call) && !self.calls.contains(&call) {
            self.calls.push(call);
        }
    }

    /// Whether a call was not made before and says what it looks for.
    fn is_new(&self, call: &ToolCall) -> bool {
        let mut history = self.job.tool_history.iter();
        !history.any(|record| record.call == *call) && !call.subject().trim().is_empty()
    }
}

fn is_covered(question: &Question, good: &[&str]) -> bool {
    let wanted: HashSet<&String> = question.terms.iter().collect();
    good.iter().any(|text| {
        let held: HashSet<String> = terms(text, question.language).into_iter().collect();
        let found = wanted.iter().filter(|term| held.contains(**term)).count();
        found as f64 >= COVERED_FROM * wanted.len() as f64
    })
}

/// The words that carry the meaning of a question; the question itself where none does. A number in groups stays whole:
/// what is masked elsewhere must be recognised here too.
fn plain_words(question: &Question) -> String {
    if question.terms.is_empty() {
        return question.search_text();
    }
    if question.language == Language::ZH {
        return question.terms.join(" ");
    }
    let text = question.search_text();
    let carries = |word: &&str| !terms(word, question.language).is_empty();
    let words = text.split_whitespace().filter(carries);
    let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    words.collect::<Vec<_>>().join(" ")
}

/// A word as a regular expression, which a person reads too: only what has a meaning there is escaped.
fn escape(word: &str) -> String {
    let is_special = |c: char| "\\.+*?()|[]{}^$".contains(c);
    let escape = |c: char| is_special(c).then_some('\\').into_iter().chain([c]);
    word.chars().flat_map(escape).collect()
}

fn hybrid_search(semantic_query: String, question: &Question) -> ToolCall {
    ToolCall::HybridSearch {
        semantic_query,
        exact_keywords: question.literals.keywords(),
    }
}

fn vector_search(text: &str, k: Option<usize>) -> ToolCall {
    ToolCall::VectorSearch {
        query: text.to_owned(),
        k,
    }
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

    fn asks(text: &str) -> Question {
        Question {
            text: text.to_owned(),
            asked: text.to_owned(),
            words: text
                .split([' ', '?'])
                .filter(|word| !terms(word, Language::EN).is_empty())
                .map(str::to_owned)
                .collect(),
            terms: terms(text, Language::EN),
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
            is_breakdown: false,
            by: None,
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
            by: None,
        };
        let job = PlanJob {
            origin: CallOrigin {
                run: &run,
                node: NodeName::Plan,
                calls: None,
                waits: None,
                instruction: None,
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
        let planned = plan(&job, question, parts).calls.into_iter();
        planned.map(|planned| planned.call).collect()
    }

    #[test]
    fn r11_a_question_that_goes_on_is_searched_with_the_words_before_it() {
        let mut question = asks("And its default?");
        question.continues = Some(Earlier {
            question: "What is the threshold?".to_owned(),
            words: vec!["threshold".to_owned()],
            is_unsure: false,
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
                tools: &[
                    ToolName::GraphRelated,
                    ToolName::GrepSearch,
                    ToolName::HybridSearch,
                ],
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
                hybrid_search("What blocks PROJ-7?".to_owned(), &question)
            ]
        );
    }

    #[test]
    fn r21_only_what_is_missing_is_asked_again() {
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
            subjects.iter().any(|subject| subject.contains("attempts")),
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
