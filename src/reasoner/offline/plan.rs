//! Which tools to call (R11), and in a later round what is still missing (R21).
//!
//! A round searches for the question and for each of its parts, by the tools that the route suggests. No call is made
//! twice: what led nowhere is asked in other words or by other means.

use std::collections::HashSet;

use crate::agent::ports::{PlanJob, Planned};
use crate::domain::{
    Complexity, KEEP_FROM, Language, Question, QuestionKind, ToolCall, ToolName, Usage,
};

use super::language::{Sign, identifier_parts, sentences, terms, tokens};
use super::question::{Part, state_values};

/// At most this many calls a round.
const MOST_CALLS: usize = 6;
/// The query that stands for all documents.
const EVERYTHING: &str = "*";
/// How many passages a wider search brings.
const WIDE: usize = 20;
const WIDER: usize = 40;
/// A part is covered when good evidence holds this share of its terms: of four words one is often said in
/// another way.
const COVERED_FROM: f64 = 0.75;
/// Words of good evidence that join a search; more would only be more noise.
const MOST_WORDS: usize = 4;
/// So many good passages are read for them.
const MOST_PASSAGES: usize = 3;

/// The calls of this round, most promising first.
pub(super) fn plan(job: &PlanJob<'_>, question: &Question, parts: &[Part]) -> Planned {
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
        round.add_wider_search();
    }
    round.calls.truncate(MOST_CALLS);
    Planned {
        calls: round.calls,
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
                ToolName::ReadFile => self.add_files(text),
                ToolName::GraphRelated => self.add_related(),
                ToolName::GrepSearch => self.add_grep(&asked),
                ToolName::LocalFileQa => self.add_file_search(),
                ToolName::HybridSearch => self.add_hybrid_searches(text),
                ToolName::VectorSearch => {
                    for question in &asked {
                        self.add(vector_search(&text(question), None));
                    }
                }
            }
        }
    }

    /// The tools that the route suggests, and in front of them the one that the kind of question needs.
    fn tools(&self) -> Vec<ToolName> {
        let mut tools = self.job.routing.suggested_tools.clone();
        let asks_state = !state_values(self.question).is_empty();
        if asks_state && self.job.routing.complexity == Complexity::Complex {
            // Its fields answer by themselves; where none does, another round searches.
            return vec![ToolName::LocalFileQa];
        }
        let needed = match self.question.kind {
            QuestionKind::Overview => Some(ToolName::LocalFileQa),
            QuestionKind::State if asks_state => Some(ToolName::LocalFileQa),
            QuestionKind::Relation => Some(ToolName::GraphRelated),
            _ if !self.question.literals.paths.is_empty() => Some(ToolName::ReadFile),
            _ => None,
        };
        if let Some(tool) = needed.filter(|tool| !tools.contains(tool)) {
            tools.insert(0, tool);
        }
        tools
    }

    /// Adds searches for what no good evidence covers yet, with words of good evidence about the rest.
    fn add_refined_calls(&mut self) {
        let good = good_texts(self.job);
        let is_missing = |question: &&Question| !is_covered(question, &good);
        let mut missing: Vec<&Question> = self.asked.iter().copied().filter(is_missing).collect();
        if missing.is_empty() {
            // All are covered, and that was not enough.
            missing.clone_from(&self.asked);
        }
        let hints = self.refinement_words(&good);
        for question in &missing {
            self.add(vector_search(&question.search_text(), None));
            let text = [vec![plain_words(question)], hints.clone()]
                .concat()
                .join(" ");
            self.add(hybrid_search(&text, question.literals.keywords()));
        }
        self.add_grep(&missing);
    }

    /// Words of the good sentence that holds most of the question's terms, to search with for what is missing; names
    /// come before other words.
    ///
    /// "Which queue does Kestrel use and how often does it try again?" The first part's evidence says that the
    /// queue is Ibis, and only with that name is the second part found.
    fn refinement_words(&self, good: &[&str]) -> Vec<String> {
        let language = self.question.language;
        let known: HashSet<&String> = self.asked.iter().flat_map(|it| &it.terms).collect();
        let is_known = |term: &String| known.contains(term);
        let good = good.iter().take(MOST_PASSAGES);
        let all = good.flat_map(|text| sentences(text).into_iter().map(|range| &text[range]));
        let shared = |text: &&str| {
            term_set(text, language)
                .iter()
                .filter(|it| is_known(it))
                .count()
        };
        let Some(sentence) = all.filter(|text| shared(text) > 0).max_by_key(shared) else {
            return Vec::new();
        };
        let tokens = tokens(sentence)
            .into_iter()
            .filter(|it| it.sign == Sign::Word);
        let words = tokens.map(|it| &sentence[it.range]).enumerate();
        let mut words: Vec<(bool, &str)> = words
            .map(|(place, word)| (is_name(word, place == 0), word))
            .filter(|(_, word)| {
                let terms = terms(word, language);
                !terms.is_empty() && !terms.iter().any(is_known)
            })
            .collect();
        words.sort_by_key(|(is_name, _)| !is_name);
        words.dedup();
        let words = words.into_iter().take(MOST_WORDS);
        words.map(|(_, word)| word.to_owned()).collect()
    }

    /// Adds the first new one of a wider search and searches in other words, once everything else was tried.
    fn add_wider_search(&mut self) {
        for question in self.asked.clone() {
            let (text, plain) = (question.search_text(), plain_words(question));
            for call in [
                hybrid_search(&text, Vec::new()),
                vector_search(&text, Some(WIDE)),
                hybrid_search(&plain, Vec::new()),
                vector_search(&plain, Some(WIDER)),
            ] {
                if self.calls.is_empty() {
                    self.add(call);
                }
            }
        }
    }

    fn add_hybrid_searches(&mut self, text: impl Fn(&Question) -> String) {
        for question in self.asked.clone() {
            self.add(hybrid_search(&text(question), question.literals.keywords()));
        }
    }

    /// Adds one call for all keywords; without keywords, for the words that carry the meaning.
    fn add_grep(&mut self, asked: &[&Question]) {
        let mut words: Vec<String> = Vec::new();
        words.extend(
            asked
                .iter()
                .flat_map(|question| question.literals.keywords()),
        );
        if words.is_empty() {
            words.clone_from(&self.job.routing.grep_keywords);
        }
        if words.is_empty() {
            words.extend(asked.iter().map(|question| plain_words(question)));
        }
        let mut seen = HashSet::new();
        words.retain(|word| !word.trim().is_empty() && seen.insert(word.clone()));
        let escaped: Vec<String> = words.iter().map(|word| escape(word)).collect();
        let query = escaped.join("|");
        self.add(ToolCall::GrepSearch { query });
    }

    /// Adds the named files; searches beside them, unless nothing is asked but what they say.
    fn add_files(&mut self, text: impl Fn(&Question) -> String) {
        let paths = &self.question.literals.paths;
        for file in paths {
            self.add(ToolCall::ReadFile {
                path: file.path.clone(),
                start_line: file.start,
                end_line: file.end,
            });
        }
        if paths.is_empty() {
            self.add_file_search();
        } else if !matches!(
            self.question.kind,
            QuestionKind::File | QuestionKind::Comparison
        ) {
            self.add_hybrid_searches(text);
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

    /// Adds a call that was not made before and says what it looks for.
    fn add(&mut self, call: ToolCall) {
        let mut history = self.job.tool_history.iter();
        let is_new = !self.calls.contains(&call) && !history.any(|record| record.call == call);
        if is_new && !call.subject().trim().is_empty() {
            self.calls.push(call);
        }
    }
}

/// The texts that were graded well enough to stay and no worse than the average of those: what they say is taken for
/// known.
fn good_texts<'a>(job: &'a PlanJob<'_>) -> Vec<&'a str> {
    let graded = job.context.iter().zip(job.scores);
    let kept = graded.filter(|(_, score)| score.value() >= KEEP_FROM);
    let kept: Vec<(&str, f64)> = kept
        .map(|(it, score)| (it.text.as_str(), score.value()))
        .collect();
    let average = kept.iter().map(|(_, score)| score).sum::<f64>() / kept.len().max(1) as f64;
    let good = kept.into_iter().filter(|(_, score)| *score >= average);
    good.map(|(text, _)| text).collect()
}

fn is_covered(question: &Question, good: &[&str]) -> bool {
    let wanted: HashSet<&String> = question.terms.iter().collect();
    let covers = |text: &&str| {
        let held = term_set(text, question.language);
        let found = wanted.iter().filter(|term| held.contains(**term)).count();
        found as f64 >= COVERED_FROM * wanted.len() as f64
    };
    good.iter().any(covers)
}

fn term_set(text: &str, language: Language) -> HashSet<String> {
    terms(text, language).into_iter().collect()
}

/// Whether a word is written as a name: with a capital that does not begin the sentence, or with what no plain word
/// holds.
fn is_name(word: &str, is_first: bool) -> bool {
    word.chars()
        .skip(usize::from(is_first))
        .any(char::is_uppercase)
        || word.contains(|c: char| c.is_numeric() || c == '_')
}

/// The words that carry the meaning of a question, identifiers as words: "maxItems" is "max Items". The question
/// itself where none does.
fn plain_words(question: &Question) -> String {
    let earlier = question.continues.iter().flat_map(|earlier| &earlier.words);
    let words: Vec<String> = if question.language == Language::Zh {
        question.terms.clone()
    } else {
        let spelt = |word: &String| {
            let pieces = word
                .split('-')
                .map(|piece| identifier_parts(piece).join(" "));
            pieces.collect::<Vec<_>>().join("-")
        };
        // A number in groups stays whole: what is masked elsewhere must be recognised here too.
        let carries = |word: &&str| {
            question
                .words
                .iter()
                .any(|known| word.contains(known.as_str()))
        };
        let asked = question.asked.split_whitespace().filter(carries);
        let trimmed =
            asked.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned());
        trimmed
            .chain(earlier.cloned())
            .map(|word| spelt(&word))
            .collect()
    };
    if words.is_empty() {
        question.search_text()
    } else {
        words.join(" ")
    }
}

/// A word as a regular expression, which a person reads too: only what has a meaning there is escaped.
fn escape(word: &str) -> String {
    let is_special = |c: char| "\\.+*?()|[]{}^$".contains(c);
    let escape = |c: char| is_special(c).then_some('\\').into_iter().chain([c]);
    word.chars().flat_map(escape).collect()
}

fn hybrid_search(text: &str, exact_keywords: Vec<String>) -> ToolCall {
    ToolCall::HybridSearch {
        semantic_query: text.to_owned(),
        exact_keywords,
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
                .filter(|word| !terms(word, Language::En).is_empty())
                .map(str::to_owned)
                .collect(),
            terms: terms(text, Language::En),
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
                hybrid_search("What blocks PROJ-7?", vec!["PROJ-7".to_owned()])
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
