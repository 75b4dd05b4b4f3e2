//! Which tools to call (R11), and in a later round what is still missing (R21).

use crate::agent::ports::{PlanJob, Planned};
use crate::domain::{QueryType, ToolCall, ToolName, Usage};
use crate::text::is_chinese;

use super::bridges::bridges;
use super::fit_to_say::asks_what_it_is_about;
use super::literals::{Literals, is_ticket};
use super::named_files::asks_for_content;
use super::overview::{EVERYTHING, asks_what_there_is};
use super::relevance::in_words;
use super::resolve::{resolve, topic_of};
use super::states::{STATE_LINES, asks_for_state};
use super::topic_zh::chinese_subject;
use super::words::terms;

/// At most this many calls a round.
const MOST_CALLS: usize = 6;
/// Evidence graded from here on covers the part of the question it speaks of.
const GOOD_FROM: f64 = 0.5;
/// A part is covered when good evidence holds this share of its words.
const COVERED_FROM: f64 = 0.75;

/// The calls of this round, most promising first.
pub(super) fn plan(job: &PlanJob<'_>) -> Planned {
    let query = resolve(job.query, job.history);
    let mut calls = Calls {
        job,
        made: Vec::new(),
    };
    if job.refine {
        calls.refine(&query);
    } else {
        calls.first(&query);
    }
    if calls.made.is_empty() {
        calls.last_resort(&query);
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
    made: Vec<ToolCall>,
}

impl Calls<'_> {
    fn first(&mut self, query: &str) {
        let literals = Literals::of(query);
        let mut questions = self.questions(query);
        if !self.job.tool_history.is_empty() {
            // The same words have led nowhere once.
            questions = questions.iter().map(|part| reworded(part)).collect();
        }
        let mut tools = self.job.routing.suggested_tools.clone();
        if self.job.routing.query_type == QueryType::FileDiscovery && tools.is_empty() {
            tools.push(ToolName::LocalFileQa);
        }
        if asks_for_state(query) {
            self.add(ToolCall::GrepSearch {
                query: STATE_LINES.to_owned(),
            });
        }
        // What a ticket is about stands in its own file, in whatever words and language.
        let about =
            is_chinese(query) && asks_what_it_is_about(query) && literals.tickets.len() == 1;
        if about && !tools.contains(&ToolName::LocalFileQa) {
            tools.push(ToolName::LocalFileQa);
        }
        for tool in tools {
            match tool {
                ToolName::ReadFile => {
                    self.read_files(&literals);
                    if !literals.files.is_empty() && !asks_for_content(query) {
                        // The name may be given without its folder, or be spoken of elsewhere.
                        self.hybrid(query);
                    }
                }
                ToolName::GraphRelated => self.related(query, &literals),
                ToolName::GrepSearch => self.grep(&questions, &self.keywords(&literals)),
                ToolName::LocalFileQa => self.add(ToolCall::LocalFileQa {
                    query: if asks_what_there_is(query) {
                        EVERYTHING.to_owned()
                    } else {
                        query.to_owned()
                    },
                    path: None,
                }),
                ToolName::HybridSearch => {
                    for question in &questions {
                        self.hybrid(question);
                    }
                }
                ToolName::VectorSearch => {
                    for question in &questions {
                        self.add(ToolCall::VectorSearch {
                            query: question.clone(),
                            k: None,
                        });
                    }
                }
            }
        }
    }

    /// What no good evidence speaks of yet, asked with what good evidence says about the rest.
    fn refine(&mut self, query: &str) {
        let good: Vec<&str> = self
            .job
            .context
            .iter()
            .zip(self.job.scores)
            .filter(|(_, score)| score.value() >= GOOD_FROM)
            .map(|(item, _)| item.text.as_str())
            .collect();
        let questions = self.questions(query);
        let missing: Vec<String> = questions
            .iter()
            .filter(|question| !covered(question, &good))
            .cloned()
            .collect();
        // When all is spoken of and still not good enough, the words were the wrong ones.
        let missing = if missing.is_empty() {
            questions
                .iter()
                .map(|question| reworded(question))
                .collect()
        } else {
            missing
        };
        let hints = bridges(&good, &questions, &missing);
        for question in &missing {
            let topic = topic_of(question);
            let refined = match (hints.is_empty(), topic.is_empty()) {
                (true, true) => question.clone(),
                (true, false) => topic,
                (false, _) => format!("{} {}", in_words(question), hints.join(" ")),
            };
            self.add(ToolCall::VectorSearch {
                query: question.clone(),
                k: None,
            });
            self.hybrid(&refined);
        }
        let literals = Literals::of(&missing.join("\n"));
        let keywords = self.keywords(&literals);
        self.grep(&missing, &keywords);
    }

    /// Everything thought of was tried before: a wider net, then other words.
    fn last_resort(&mut self, query: &str) {
        let query = if query.trim().is_empty() {
            self.job.query
        } else {
            query
        };
        let topic = topic_of(query);
        for call in [
            ToolCall::HybridSearch {
                semantic_query: query.to_owned(),
                exact_keywords: Vec::new(),
            },
            ToolCall::VectorSearch {
                query: query.to_owned(),
                k: Some(20),
            },
            ToolCall::HybridSearch {
                semantic_query: reworded(query),
                exact_keywords: Vec::new(),
            },
            ToolCall::HybridSearch {
                semantic_query: topic.clone(),
                exact_keywords: Vec::new(),
            },
            ToolCall::VectorSearch {
                query: topic,
                k: Some(40),
            },
        ] {
            if self.made.is_empty() && !call.subject().trim().is_empty() {
                self.add(call);
            }
        }
    }

    fn questions(&self, query: &str) -> Vec<String> {
        if self.job.routing.sub_questions.is_empty() {
            vec![query.to_owned()]
        } else {
            self.job.routing.sub_questions.clone()
        }
    }

    fn keywords(&self, literals: &Literals) -> Vec<String> {
        let own = literals.keywords();
        if own.is_empty() {
            self.job.routing.grep_keywords.clone()
        } else {
            own
        }
    }

    fn hybrid(&mut self, question: &str) {
        let exact_keywords = Literals::of(question).keywords();
        let subject = if is_chinese(question) {
            chinese_subject(question)
        } else {
            String::new()
        };
        // A name alone, without a Chinese word, would find the documents of any language.
        let semantic_query = if subject.is_empty() || !is_chinese(&subject) {
            question.to_owned()
        } else {
            subject
        };
        self.add(ToolCall::HybridSearch {
            semantic_query,
            exact_keywords,
        });
    }

    /// One call for all keywords; without keywords, the word that narrows most.
    fn grep(&mut self, questions: &[String], keywords: &[String]) {
        let words: Vec<String> = if keywords.is_empty() {
            questions
                .iter()
                .map(|question| topic_of(question))
                .filter(|topic| !topic.is_empty())
                .collect()
        } else {
            keywords.to_vec()
        };
        if words.is_empty() {
            return;
        }
        let query = match words.as_slice() {
            [only] if !has_special(only) => only.clone(),
            several => several
                .iter()
                .map(|word| escaped(word))
                .collect::<Vec<_>>()
                .join("|"),
        };
        self.add(ToolCall::GrepSearch { query });
    }

    fn read_files(&mut self, literals: &Literals) {
        for file in &literals.files {
            self.add(ToolCall::ReadFile {
                path: file.path.clone(),
                start_line: file.start,
                end_line: file.end,
            });
        }
        if literals.files.is_empty() {
            self.add(ToolCall::LocalFileQa {
                query: self.job.query.to_owned(),
                path: None,
            });
        }
    }

    fn related(&mut self, query: &str, literals: &Literals) {
        let tickets = literals.tickets.iter().cloned();
        let named = tickets.chain(literals.files.iter().map(|file| file.path.clone()));
        let mut entities: Vec<String> = named.collect();
        if entities.is_empty() {
            let others = self.job.routing.grep_keywords.iter();
            entities.extend(others.filter(|word| is_ticket(word)).cloned());
        }
        if entities.is_empty() {
            entities.extend(literals.quoted.iter().chain(&literals.identifiers).cloned());
        }
        for entity_id in entities {
            self.add(ToolCall::GraphRelated { entity_id });
        }
        if self.made.is_empty() && !topic_of(query).is_empty() {
            self.hybrid(query);
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

/// The question by its topic, and its identifiers in words: "maxItems" is "max items".
fn reworded(question: &str) -> String {
    let mut words = topic_of(question);
    if words.is_empty() {
        question.clone_into(&mut words);
    }
    in_words(&words)
}

fn covered(question: &str, good: &[&str]) -> bool {
    let wanted = terms(question);
    if wanted.is_empty() {
        return !good.is_empty();
    }
    good.iter().any(|text| {
        let held = terms(text);
        let found = wanted.iter().filter(|term| held.contains(term)).count();
        found as f64 >= COVERED_FROM * wanted.len() as f64
    })
}

fn has_special(word: &str) -> bool {
    word.contains(|c: char| "\\.+*?()|[]{}^$".contains(c))
}

fn escaped(word: &str) -> String {
    let mut escaped = String::with_capacity(word.len());
    for c in word.chars() {
        if has_special(&c.to_string()) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
