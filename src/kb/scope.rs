//! What a question is kept within: the documents that it names after an `@`, and its filters.

use std::collections::{BTreeSet, HashSet};

use tokio_util::sync::CancellationToken;

use super::base::KnowledgeBase;
use super::error::KbError;
use super::index::phrases::PhraseFilter;
use super::index::{DocumentFacts, Limits, NameQuery, Within};
use crate::agent::ports::{Caller, ToolError};
use crate::domain::{
    Condition, Filter, filters, mentions, with_quoted_names, without_filters, without_mentions,
};
use crate::text::{extension, plural};

/// The documents and passages that a question is about.
#[derive(Debug, Default)]
pub struct Scope {
    /// Names of the documents; `None` for all.
    documents: Option<HashSet<String>>,
    /// The documents that the question names.
    named: Option<HashSet<String>>,
    names: Vec<String>,
    filters: Vec<Filter>,
    phrase_filter: PhraseFilter,
}

/// A question and what it is kept within.
#[derive(Debug)]
pub struct ScopedQuestion {
    /// What it is kept within.
    pub scope: Scope,
    /// The question without what only says where to look.
    pub query: String,
    /// What looks like a filter and has no effect, a sentence each.
    pub remarks: Vec<String>,
}

impl Scope {
    /// Finds what the question is kept within; `None` where it says nothing of that. Blocks.
    pub fn from_question(
        base: &KnowledgeBase,
        question: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<ScopedQuestion>, ToolError> {
        let read = filters(question);
        let mut scope = Self {
            filters: read.list,
            ..Self::default()
        };
        let rest = scope.take_names(base, &without_filters(question), cancel)?;
        let mut remarks = read.refused;
        remarks.extend(scope.drop_ineffective_filters(base, cancel)?);
        if scope.is_unlimited() && remarks.is_empty() {
            return Ok(None);
        }
        let query = without_mentions(&rest);
        if !query.contains(char::is_alphanumeric) {
            let names = scope.names.iter().map(|name| format!("@{name}"));
            let said: Vec<String> = names.chain(scope.filter_texts()).collect();
            return Err(ToolError::BadArguments(format!(
                "{} says where to look; say what to look for, too",
                said.join(" ")
            )));
        }
        scope.phrase_filter = PhraseFilter::new(scope.conditions());
        let of_documents: Vec<&Condition> = scope
            .conditions()
            .filter(|condition| !condition.is_of_passages())
            .collect();
        scope.documents = documents_with(base, scope.named.as_ref(), &of_documents, cancel)?;
        Ok(Some(ScopedQuestion {
            scope,
            query,
            remarks,
        }))
    }

    /// Finds the documents that the question names, and returns it with quotes around their names.
    fn take_names(
        &mut self,
        base: &KnowledgeBase,
        question: &str,
        cancel: &CancellationToken,
    ) -> Result<String, ToolError> {
        if !question.contains('@') {
            return Ok(question.to_owned());
        }
        let first_name = |names: &[&str]| {
            let found = base.documents_named(names.iter().copied(), cancel).ok()?;
            found.iter().position(|sources| !sources.is_empty())
        };
        let question = with_quoted_names(question, first_name);
        let mentions = mentions(&question);
        if mentions.is_empty() {
            return Ok(question);
        }
        let mut documents = HashSet::new();
        let asked = mentions.iter().map(|mention| mention.name.as_str());
        let found = base.documents_named(asked, cancel)?;
        for (mention, found) in mentions.into_iter().zip(found) {
            if found.is_empty() {
                return Err(ToolError::BadArguments(format!(
                    "@{} names nothing in the knowledge base; Tab completes names after an @, and \
                     in quotes (\"@{}\") it is text",
                    mention.name, mention.name
                )));
            }
            documents.extend(found);
            if !self.names.contains(&mention.name) {
                self.names.push(mention.name);
            }
        }
        self.named = Some(documents);
        Ok(question)
    }

    /// Drops filters that no passage can be told apart by, and says so.
    fn drop_ineffective_filters(
        &mut self,
        base: &KnowledgeBase,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, KbError> {
        let mut remarks = Vec::new();
        let mut kept = Vec::new();
        for filter in std::mem::take(&mut self.filters) {
            let written = &filter.written;
            let phrase_filter = PhraseFilter::new(std::iter::once(&filter.condition));
            let words = phrase_filter.phrases.iter().chain(&phrase_filter.without);
            if words.clone().any(|words| words.terms().is_empty()) {
                remarks.push(format!(
                    "{written} has no effect: its words are not in the index, which leaves out the \
                     most common ones"
                ));
                continue;
            }
            if !phrase_filter.without.is_empty() {
                let within = Within::all(cancel).saying(&phrase_filter);
                let left_out = base.passages_left_out(within)?;
                let remark = if left_out == 0 {
                    format!("{written} leaves out nothing: no passage holds it")
                } else {
                    // A `-word` may be meant as a word, so that it is always told.
                    let all = plural(base.status().chunks, "passage");
                    format!("{written} leaves out {left_out} of {all}, which hold it")
                };
                remarks.push(remark);
            }
            kept.push(filter);
        }
        self.filters = kept;
        Ok(remarks)
    }

    fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.filters.iter().map(|filter| &filter.condition)
    }

    /// The names that the question gives, in its order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Its filters as they are written.
    pub fn filter_texts(&self) -> impl Iterator<Item = String> {
        self.filters.iter().map(|filter| filter.written.clone())
    }

    /// Whether it holds everything.
    pub fn is_unlimited(&self) -> bool {
        self.named.is_none() && self.filters.is_empty()
    }

    /// How many filters it has.
    pub fn filter_count(&self) -> usize {
        self.filters.len()
    }

    /// The same scope without one of its filters.
    pub fn without_filter(
        &self,
        base: &KnowledgeBase,
        at: usize,
        cancel: &CancellationToken,
    ) -> Result<Self, KbError> {
        let mut filters = self.filters.clone();
        filters.remove(at);
        let conditions: Vec<&Condition> = filters
            .iter()
            .map(|filter| &filter.condition)
            .filter(|condition| !condition.is_of_passages())
            .collect();
        Ok(Self {
            documents: documents_with(base, self.named.as_ref(), &conditions, cancel)?,
            named: self.named.clone(),
            names: self.names.clone(),
            phrase_filter: PhraseFilter::new(filters.iter().map(|filter| &filter.condition)),
            filters,
        })
    }

    /// Which of the filters leave nothing of the base, as a sentence; `None` where something is left. Blocks.
    pub fn why_empty(
        &self,
        base: &KnowledgeBase,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, KbError> {
        if self.documents.as_ref().is_some_and(HashSet::is_empty) {
            let mut blamed = BTreeSet::new();
            for filter in &self.filters {
                let condition = &filter.condition;
                let alone = documents_with(base, self.named.as_ref(), &[condition], cancel)?;
                if !condition.is_of_passages() && alone.is_some_and(|left| left.is_empty()) {
                    blamed.insert(filter.written.as_str());
                }
            }
            let written = self.filters.iter();
            let written = written.filter(|filter| !filter.condition.is_of_passages());
            let (blamed, together): (Vec<&str>, &str) = if blamed.is_empty() {
                let all = written.map(|filter| filter.written.as_str());
                (all.collect(), " together")
            } else {
                (blamed.into_iter().collect(), "")
            };
            let of_names = match &self.names[..] {
                [] => String::new(),
                names => format!(" of {}", names.join(", ")),
            };
            let filters = blamed.join(" and ");
            let why = format!("No document{of_names} is left by {filters}{together}");
            return Ok(Some(why));
        }
        for (filter, words) in self.phrases() {
            let only = PhraseFilter {
                phrases: vec![words.clone()],
                without: Vec::new(),
            };
            let within = self.limits(cancel.into()).saying(&only);
            if base.passages_saying(within)? == Some(0) {
                let where_left = if self.documents.is_some() {
                    " of the documents left"
                } else {
                    ""
                };
                return Ok(Some(format!(
                    "No passage{where_left} holds {}",
                    filter.written
                )));
            }
        }
        Ok(None)
    }

    fn phrases(&self) -> impl Iterator<Item = (&Filter, &super::index::phrases::Phrase)> {
        let is_phrase = |filter: &&Filter| matches!(filter.condition, Condition::Phrase(_));
        let filters = self.filters.iter().filter(is_phrase);
        filters.zip(&self.phrase_filter.phrases)
    }

    /// Converts the scope into the limits of a search.
    pub fn limits<'a>(&'a self, caller: Caller<'a>) -> Within<'a> {
        let within = match &self.documents {
            Some(documents) => Within::these(documents, caller),
            None => Within::all(caller),
        };
        within.saying(&self.phrase_filter)
    }

    /// The same limits for these documents, which are among its own.
    pub fn limits_among<'a>(
        &'a self,
        documents: &'a HashSet<String>,
        caller: impl Into<Caller<'a>>,
    ) -> Within<'a> {
        Within::these(documents, caller).saying(&self.phrase_filter)
    }

    /// Whether this document is one of them.
    pub fn holds(&self, source: &str) -> bool {
        self.documents
            .as_ref()
            .is_none_or(|documents| documents.contains(source))
    }

    /// Whether a passage says what it must, and not what it must not.
    pub fn lets_through(&self, text: &str) -> bool {
        self.phrase_filter.is_empty() || self.phrase_filter.lets_through(text)
    }

    /// Drops the documents that are none of them; an error where none of these is left.
    pub fn narrow(
        &self,
        mut found: HashSet<String>,
        asked: &str,
    ) -> Result<HashSet<String>, ToolError> {
        let before = found.len();
        found.retain(|source| self.holds(source));
        if found.is_empty() && before > 0 {
            return Err(self.outside(asked));
        }
        Ok(found)
    }

    /// Why something is not looked at.
    pub fn outside(&self, asked: &str) -> ToolError {
        let limits: Vec<String> = self
            .names
            .iter()
            .cloned()
            .chain(self.filter_texts())
            .collect();
        ToolError::BadArguments(format!(
            "{asked} is outside {}, within which the question is kept",
            limits.join(", ")
        ))
    }
}

/// The documents among the named ones that meet all conditions; `None` where nothing limits them.
fn documents_with(
    base: &KnowledgeBase,
    named: Option<&HashSet<String>>,
    conditions: &[&Condition],
    cancel: &CancellationToken,
) -> Result<Option<HashSet<String>>, KbError> {
    if conditions
        .iter()
        .all(|condition| condition.is_of_passages())
    {
        return Ok(named.cloned());
    }
    let reader = base.reader();
    let limits = || Limits::of_a_call(cancel);
    let mut globs: Vec<HashSet<String>> = Vec::new();
    for condition in conditions {
        if let Condition::File(pattern) = condition
            && is_glob(pattern)
        {
            let found = reader.find(&NameQuery::Given(pattern), limits())?;
            globs.push(found.sources.into_iter().collect());
        }
    }
    let mut is_wanted = |facts: &DocumentFacts<'_>| {
        named.is_none_or(|named| named.contains(facts.source)) && meets(facts, conditions, &globs)
    };
    let found = reader.documents_that(&mut is_wanted, limits())?;
    Ok(Some(found.into_iter().collect()))
}

/// Whether a document meets all conditions; of those that widen the search, one of each kind will do.
/// `globs` is what the patterns among them match.
fn meets(facts: &DocumentFacts<'_>, conditions: &[&Condition], globs: &[HashSet<String>]) -> bool {
    let mut globs = globs.iter();
    let (mut in_file, mut of_type) = (None, None);
    for condition in conditions {
        match condition {
            Condition::File(pattern) if is_glob(pattern) => {
                let fits = globs
                    .next()
                    .is_some_and(|found| found.contains(facts.source));
                in_file = Some(in_file.unwrap_or(false) || fits);
            }
            Condition::File(part) => {
                let fits = facts.source.to_lowercase().contains(&part.to_lowercase());
                in_file = Some(in_file.unwrap_or(false) || fits);
            }
            Condition::Type(endings) => {
                let fits = endings.contains(&extension(facts.source).as_str());
                of_type = Some(of_type.unwrap_or(false) || fits);
            }
            Condition::After(day) if facts.day < *day => return false,
            Condition::Before(day) if facts.day >= *day => return false,
            Condition::Tag(asked) => {
                let is_asked = |tag: &String| {
                    let below = tag.strip_prefix(asked.as_str());
                    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
                };
                if !facts.tags.iter().any(is_asked) {
                    return false;
                }
            }
            Condition::After(_)
            | Condition::Before(_)
            | Condition::Phrase(_)
            | Condition::Without(_) => {}
        }
    }
    in_file.unwrap_or(true) && of_type.unwrap_or(true)
}

fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '{'])
}
