use serde::{Deserialize, Serialize};

/// A question as it was read, once a turn: everything after that goes by this and not by its words
/// again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Question {
    /// The question as it was asked.
    pub text: String,
    /// What is asked of it, without polite frames and what only leads up to it: this is looked
    /// up and answered.
    pub asked: String,
    /// The language it is written in, which is that of its answer.
    pub language: Language,
    /// What must be found as it is written.
    pub literals: Literals,
    /// Its words that carry meaning, stemmed, in order; of scripts without spaces pairs of characters.
    pub terms: Vec<String>,
    /// The same words as they are written, of scripts with spaces only, each once.
    pub words: Vec<String>,
    /// Its words that a look-up could be about, as they are written: neither form nor politeness nor small talk; of
    /// scripts without spaces pairs of characters.
    pub topics: Vec<String>,
    /// What it is about, without the words that ask.
    pub subject: String,
    /// What kind of answer it wants.
    pub kind: QuestionKind,
    /// What it is made of.
    pub parts: Parts,
    /// What it continues, where it cannot be understood alone.
    pub continues: Option<Earlier>,
    /// Whether it leaves out what it is about, and there is nothing before it that says so.
    pub lacks_topic: bool,
}

/// What was asked before a question that goes on from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Earlier {
    /// The earlier question as it was asked.
    pub question: String,
    /// What is taken of it, as it is written, without the words that others take the place of.
    pub words: Vec<String>,
    /// Whether the question that goes on from it may as well name a topic of its own: "What about sick pay?"
    pub is_unsure: bool,
}

impl Question {
    /// What is searched: what is asked, with the words of what it continues.
    pub fn search_text(&self) -> String {
        match &self.continues {
            Some(earlier) => format!("{} {}", self.asked, earlier.words.join(" ")),
            None => self.asked.clone(),
        }
    }
}

/// A language that the program has a table of words for, by its code (ISO 639-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Language(pub &'static str);

impl Language {
    /// English, and what is in no known language.
    pub const EN: Self = Self("en");
    /// Chinese, whose words are not parted by spaces.
    pub const ZH: Self = Self("zh");
}

impl Default for Language {
    fn default() -> Self {
        Self::EN
    }
}

/// The literal parts of a question, each in order of appearance, without repetition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Literals {
    /// Such as `PROJ-123`, in the case it is kept in.
    pub ids: Vec<String>,
    /// Names of code and settings: `grep_keywords`, `RE_RETRIEVE`, `--verbose`.
    pub identifiers: Vec<String>,
    /// What stood between quotation marks or backticks.
    pub quotations: Vec<String>,
    /// Named files, with their lines where they were given.
    pub paths: Vec<NamedPath>,
}

/// A file that a question names, as in `guide.md:10-20`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPath {
    /// The path as it is written, without the lines.
    pub path: String,
    /// First line, from 1.
    pub start: Option<usize>,
    /// Last line.
    pub end: Option<usize>,
}

/// What kind of answer a question wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// The question asks what something is.
    Definition,
    /// How something is done or works.
    How,
    /// The question asks for a reason.
    Why,
    /// A date or a time.
    When,
    /// The question asks for a place.
    Where,
    /// A person or a body.
    Who,
    /// A number or an amount.
    Quantity,
    /// Several things of a kind.
    List,
    /// Two or more things side by side.
    Comparison,
    /// A file, or what a named file says.
    File,
    /// Which things are in a state: "which tickets are open".
    State,
    /// How things hang together: "what depends on X".
    Relation,
    /// What the whole knowledge base holds.
    Overview,
    /// Anything else.
    #[default]
    Other,
}

/// What a question is made of.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Parts {
    /// One look-up.
    #[default]
    One,
    /// Two sides of a comparison, as they are called.
    Sides {
        /// The first of the two sides.
        left: String,
        /// The second of the two sides.
        right: String,
    },
    /// Look-ups that do not need each other, as questions.
    Several {
        /// The parts of the question, in their order.
        questions: Vec<String>,
    },
}

impl Parts {
    /// Whether there is nothing to part.
    pub fn is_one(&self) -> bool {
        *self == Self::One
    }
}

impl Literals {
    /// Words to be searched as they are written: ids, identifiers and quotations.
    pub fn keywords(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for word in self
            .ids
            .iter()
            .chain(&self.identifiers)
            .chain(&self.quotations)
        {
            if !all.contains(word) {
                all.push(word.clone());
            }
        }
        all
    }
}

/// What texts are written in, as far as an embedding is chosen by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Languages {
    /// Hardly anything but English.
    English,
    /// Any language.
    #[serde(rename = "multilingual")]
    All,
}
