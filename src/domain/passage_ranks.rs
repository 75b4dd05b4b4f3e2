use serde::Serialize;

/// Where a passage stands in the lists of a search.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct PassageRanks {
    /// Among the passages that hold words of the query, with its BM25, or its share of the words in files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<ListPlace>,
    /// Among the passages by meaning, with its cosine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<ListPlace>,
    /// Among the candidates of both lists, with its score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fused: Option<ListPlace>,
}

/// A place in a list.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ListPlace {
    /// The place, from 1.
    pub rank: usize,
    /// What the list is ordered by.
    pub score: f64,
}

impl PassageRanks {
    /// The best of its places.
    pub fn best(&self) -> Option<usize> {
        let places = [self.words, self.meaning, self.fused].into_iter().flatten();
        places.map(|place| place.rank).min()
    }
}

/// What cut a passage off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// Its document is not in the index.
    NotIndexed,
    /// The run called no tool.
    NoTool,
    /// The question was kept within something else.
    Filter,
    /// The call was for something else: another file, another entity.
    Elsewhere,
    /// It is in no list.
    NoMatch,
    /// It is not among the candidates that words and meaning put together.
    Candidates,
    /// More came before it than the call returns.
    #[serde(rename = "k")]
    BeyondK,
    /// It has too little to do with the query.
    Floor,
    /// The call failed.
    Failed,
    /// It was graded too low.
    Grade,
    /// The grader did not look at it.
    NotLookedAt,
    /// More came before it than the answer was given.
    Prompt,
    /// The run ended before an answer.
    End,
}
