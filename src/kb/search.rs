//! Searching the index: by meaning, and by words and meaning together.

mod calibration;
mod chunk_filter;

use std::collections::{HashMap, HashSet};
use std::sync::mpsc;
use std::{iter, thread};

use super::error::KbError;
use super::grep::{GrepPassage, MAX_LINE_BYTES, not_empty};
use super::index::{
    ChunkId, FetchOptions, FetchedChunk, LexicalMatches, Match, Passage, Reader, Within, rewritten,
    tokens,
};
use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::{LineRange, ListPlace, Measured, PassageRanks, Place, Score};
use calibration::{Cosines, RankBasis, Sides, share};
pub(super) use chunk_filter::chunk_filter;

/// How many passages each side offers to the fusion at least.
const POOL: usize = 50;
/// How many passages come first because of their heading: many documents may have a section of one
/// name.
const MOST_NAMED: usize = 3;

/// The best so many of each side are found whatever the other side says.
const BEST_BY_WORDS: usize = 2;
const BEST_BY_MEANING: usize = 4;
/// One in so many of the hits may be there for that alone.
const BEST_OF_ALL: usize = 3;

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SearchMode {
    /// Searches by meaning.
    Vector,
    /// Searches the words in the index alone.
    Lexical,
    /// Searches the files, by words or a pattern.
    Grep,
    /// Searches by words and meaning together.
    Hybrid,
}

/// A passage that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its file, as evidence names it.
    pub source: String,
    /// Where in the file.
    pub lines: LineRange,
    /// Where in a format that has places.
    pub place: Option<Place>,
    /// The headings above it; empty where they are not known.
    pub heading: String,
    /// The text of these lines.
    pub text: String,
    /// How likely it is relevant; of grep, the share of the query's words that it holds.
    pub score: Score,
    /// The measurements that the score was computed from.
    pub measured: Measured,
    /// Its position in the list of hits, from 1.
    pub rank: usize,
}

/// The input of a hybrid search.
#[derive(Debug, Clone, Copy)]
pub(super) struct HybridQuery<'a> {
    pub query: &'a str,
    /// Words that are added to the lexical side only.
    pub keywords: &'a [String],
    pub k: usize,
    pub within: Within<'a>,
}

/// The passages nearest in meaning; the score is the calibrated cosine.
pub(super) fn vector(
    reader: &dyn Reader,
    embedder: &dyn Embedder,
    query: &str,
    k: usize,
    within: Within<'_>,
) -> Result<Vec<Hit>, KbError> {
    let query = not_empty(query)?;
    // More than asked for, because pieces of one line become one hit.
    let found = reader.semantic(&embed(embedder, query, within)?, pool(k), within)?;
    let cosines = Cosines::new(embedder.model_id(), query, &found);
    let (candidates, _) = merge_matches(Vec::new(), Vec::new(), found);
    let found = rank(candidates, RankBasis::Meaning, cosines, 0.0);
    hits(reader, found, HashMap::new(), (k, within))
}

/// The passages that hold the query's words, by BM25; the score is its calibrated share of a full
/// match.
pub(super) fn lexical(
    reader: &dyn Reader,
    query: &str,
    k: usize,
    within: Within<'_>,
) -> Result<Vec<Hit>, KbError> {
    let found = ranked_by_words(reader, query, k, within)?;
    hits(reader, found, HashMap::new(), (k, within))
}

fn ranked_by_words(
    reader: &dyn Reader,
    query: &str,
    k: usize,
    within: Within<'_>,
) -> Result<Vec<RankedMatch>, KbError> {
    let name = tokens::name_key(query);
    let mut lexical = reader.lexical(not_empty(query)?, name.as_deref(), pool(k), within)?;
    let named = take_named_matches(&mut lexical);
    let full = lexical.full_score();
    let (candidates, _) = merge_matches(lexical.matches, Vec::new(), Vec::new());
    let mut found = rank(candidates, RankBasis::Words, Cosines::default(), full);
    put_named_first(&mut found, &named);
    Ok(found)
}

/// The passages best by words and meaning. Works when either side finds nothing, and without the
/// semantic side when the embedding does not read the query, or fails, which is said beside them then.
pub(super) fn hybrid(
    reader: &dyn Reader,
    embedder: &dyn Embedder,
    asked: &HybridQuery<'_>,
) -> Result<(Vec<Hit>, Option<KbError>), KbError> {
    let fused = fuse(reader, embedder, asked)?;
    let hits = hits(reader, fused.found, fused.passages, (asked.k, asked.within))?;
    Ok((hits, fused.failed))
}

/// The candidates of both sides as one list.
#[derive(Default)]
struct FusedMatches {
    /// The candidates, best first.
    found: Vec<RankedMatch>,
    /// The chunks that are known by now.
    passages: HashMap<ChunkId, Passage>,
    /// Why the semantic side is missing, where it failed.
    failed: Option<KbError>,
}

impl HybridQuery<'_> {
    /// What is searched by its words.
    fn words(&self) -> Result<String, KbError> {
        let both = format!("{} {}", self.query, self.keywords.join(" "));
        not_empty(&both).map(str::to_owned)
    }
}

fn fuse(
    reader: &dyn Reader,
    embedder: &dyn Embedder,
    asked: &HybridQuery<'_>,
) -> Result<FusedMatches, KbError> {
    let words = asked.words()?;
    let lexical_query = words.as_str();
    let dense_query = if asked.query.trim().is_empty() {
        lexical_query
    } else {
        asked.query.trim()
    };
    if !calibration::can_read(embedder.model_id(), dense_query) {
        return Ok(FusedMatches {
            found: ranked_by_words(reader, lexical_query, asked.k, asked.within)?,
            ..FusedMatches::default()
        });
    }
    let pool = pool(asked.k);
    let near = |vector: Vec<f32>| {
        let matches = reader.semantic(&vector, pool, asked.within)?;
        Ok::<_, KbError>((vector, matches))
    };
    let name = tokens::name_key(dense_query);
    let lexical = || reader.lexical(lexical_query, name.as_deref(), pool, asked.within);
    let (done, is_done) = mpsc::channel::<()>();
    let (lexical, semantic) = thread::scope(|scope| {
        let semantic = scope.spawn(move || {
            let vector = embed(embedder, dense_query, asked.within);
            drop(done);
            near(vector?)
        });
        if embedder.is_cpu_bound() {
            // The cores of an embedding wait for each other many times; one that is busy with the
            // words stops them all.
            let _ = is_done.recv();
        }
        let lexical = lexical();
        // A search goes on without an embedding that panics.
        let panicked = |_| Err(EmbedError("the search by meaning panicked".into()).into());
        (lexical, semantic.join().unwrap_or_else(panicked))
    });
    let mut lexical = lexical?;
    asked.within.go_on()?;
    let rewritten = rewritten(dense_query, &lexical.corrections, |word| {
        embedder.knows(word)
    });
    let mut failed = None;
    let (dense_query, semantic) = match &rewritten {
        None => (dense_query, semantic),
        Some(meant) => match embed(embedder, meant, asked.within).and_then(near) {
            Ok(found) => (meant.as_str(), Ok(found)),
            Err(error) => {
                tracing::warn!(%error, "the corrected query is searched by its words alone");
                failed = Some(error);
                (dense_query, semantic)
            }
        },
    };
    asked.within.go_on()?;
    let (vector, semantic) = match semantic {
        Ok((vector, matches)) => (Some(vector), matches),
        Err(error) if !lexical.matches.is_empty() => {
            tracing::warn!(%error, "hybrid search goes on without the semantic side");
            failed = Some(error);
            (None, Vec::new())
        }
        Err(error) => return Err(error),
    };
    let cosines = Cosines::new(embedder.model_id(), dense_query, &semantic);
    let by = match &vector {
        Some(_) => RankBasis::Both,
        None => RankBasis::Words,
    };
    let full = lexical.full_score();
    let named = take_named_matches(&mut lexical);
    // A corrected query has asked once more already: then everything is fetched in one call.
    let wanted = FetchOptions {
        passages: rewritten.is_some(),
        cosine_with: vector.as_deref(),
    };
    let chunks: Vec<ChunkId> = lexical.matches.iter().map(|found| found.chunk).collect();
    let fetched = match vector {
        Some(_) if !chunks.is_empty() => reader.fetch(&chunks, wanted, asked.within.limits())?,
        _ => Vec::new(),
    };
    let (candidates, passages) = merge_matches(lexical.matches, fetched, semantic);
    let mut found = rank(candidates, by, cosines, full);
    put_named_first(&mut found, &named);
    keep_best_of_each_side(&mut found, asked.k);
    Ok(FusedMatches {
        found,
        passages,
        failed,
    })
}

/// How far a list is looked through for one passage.
const DEPTH: usize = 5_000;

/// The lines of a passage of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassageLines<'p> {
    /// Its document, as evidence names it.
    pub source: &'p str,
    /// Its lines.
    pub lines: LineRange,
}

impl PassageLines<'_> {
    fn is_at(&self, found: &Match) -> bool {
        found.source == self.source && found.lines == self.lines
    }

    fn place_in(&self, found: &[Match]) -> Option<ListPlace> {
        let at = found.iter().position(|found| self.is_at(found))?;
        Some(ListPlace {
            rank: at + 1,
            score: found[at].score,
        })
    }
}

/// Where a passage stands in the lists of a hybrid search; in those of words and meaning also far beyond what
/// the search looks at.
pub(super) fn ranks(
    reader: &dyn Reader,
    embedder: &dyn Embedder,
    asked: &HybridQuery<'_>,
    passage: PassageLines<'_>,
) -> Result<PassageRanks, KbError> {
    let words = asked.words()?;
    let by_words = reader.lexical(&words, None, DEPTH, asked.within)?;
    let query = if asked.query.trim().is_empty() {
        &words
    } else {
        asked.query
    };
    let fused = join_lines(fuse(reader, embedder, asked)?.found);
    let place = fused
        .iter()
        .position(|line| passage.is_at(&line.best.found));
    Ok(PassageRanks {
        words: passage.place_in(&by_words.matches),
        meaning: rank_by_meaning(reader, embedder, query, passage, asked.within)?,
        fused: place.map(|at| ListPlace {
            rank: at + 1,
            score: fused[at].score(),
        }),
    })
}

/// Where a passage stands by meaning; `None` where it has no vector, or the query is not read.
pub(super) fn rank_by_meaning(
    reader: &dyn Reader,
    embedder: &dyn Embedder,
    query: &str,
    passage: PassageLines<'_>,
    within: Within<'_>,
) -> Result<Option<ListPlace>, KbError> {
    if !calibration::can_read(embedder.model_id(), query) {
        return Ok(None);
    }
    let vector = match embed(embedder, query, within) {
        Err(KbError::Embed(_)) => return Ok(None),
        vector => vector?,
    };
    let found = reader.semantic(&vector, DEPTH, within)?;
    Ok(passage.place_in(&found))
}

/// Takes the chunks whose heading or document is called what the query asks for and nothing else.
/// Those that the words have not found are added to the matches.
fn take_named_matches(lexical: &mut LexicalMatches) -> HashSet<ChunkId> {
    let known: HashSet<ChunkId> = lexical.matches.iter().map(|found| found.chunk).collect();
    let named: HashSet<ChunkId> = lexical.named.iter().map(|found| found.chunk).collect();
    let more = std::mem::take(&mut lexical.named).into_iter();
    lexical
        .matches
        .extend(more.filter(|found| !known.contains(&found.chunk)));
    named
}

/// Moves the best of what is called as was asked before all others. Its score is better than theirs by
/// as much as it would be in a base without them.
fn put_named_first(found: &mut Vec<RankedMatch>, named: &HashSet<ChunkId>) {
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for item in std::mem::take(found) {
        let is_first = first.len() < MOST_NAMED && named.contains(&item.found.chunk);
        if is_first {
            first.push(item);
        } else {
            rest.push(item);
        }
    }
    let best = rest.first().map_or(0.0, |item| item.found.score);
    for item in &mut first {
        item.found.score = best + (1.0 - best) * item.found.score;
    }
    found.extend(first);
    found.extend(rest);
}

/// Moves the best of each side, which the other ranks so badly that they would be left out, to the end of the first `k`.
fn keep_best_of_each_side(found: &mut Vec<RankedMatch>, k: usize) {
    let is_best = |measured: &Measured| {
        let within = |rank: Option<usize>, most| rank.is_some_and(|rank| rank <= most);
        within(measured.lexical_rank, BEST_BY_WORDS)
            || within(measured.vector_rank, BEST_BY_MEANING)
    };
    let left_out = found.split_off(k.min(found.len()));
    let mut room = k / BEST_OF_ALL;
    let (best, rest): (Vec<_>, Vec<_>) = left_out.into_iter().partition(|item| {
        let is_kept = room > 0 && is_best(&item.measured);
        room -= usize::from(is_kept);
        is_kept
    });
    let at = found.len().saturating_sub(best.len());
    found.splice(at..at, best);
    found.extend(rest);
}

/// Grep's passages as hits.
pub(super) fn grep_hits(passages: Vec<GrepPassage>) -> Vec<Hit> {
    passages
        .into_iter()
        .enumerate()
        .map(|(at, found)| Hit {
            source: found.source,
            lines: found.lines,
            place: found.place,
            heading: String::new(),
            text: found.text,
            score: found.score,
            measured: Measured {
                lexical_rank: Some(at + 1),
                ..Measured::default()
            },
            rank: at + 1,
        })
        .collect()
}

struct SearchCandidate {
    found: Match,
    bm25: Option<f64>,
    cosine: Option<f64>,
    lexical_rank: Option<usize>,
    vector_rank: Option<usize>,
}

/// Merges both lists, so that each passage occurs once; with the passages that are known by now. `fetched` is
/// what is known of the lexical matches, which the vector scan did not list.
fn merge_matches(
    lexical: Vec<Match>,
    fetched: Vec<Option<FetchedChunk>>,
    semantic: Vec<Match>,
) -> (Vec<SearchCandidate>, HashMap<ChunkId, Passage>) {
    let mut candidates: Vec<SearchCandidate> = Vec::new();
    let mut places: HashMap<ChunkId, usize> = HashMap::new();
    let mut passages = HashMap::new();
    let fetched = fetched.into_iter().chain(iter::repeat(None));
    for (at, (found, fetched)) in lexical.into_iter().zip(fetched).enumerate() {
        let fetched = fetched.unwrap_or_default();
        passages.extend(fetched.passage.map(|passage| (found.chunk, passage)));
        places.insert(found.chunk, at);
        candidates.push(SearchCandidate {
            bm25: Some(found.score),
            cosine: fetched.cosine,
            lexical_rank: Some(at + 1),
            vector_rank: None,
            found,
        });
    }
    for (at, found) in semantic.into_iter().enumerate() {
        if let Some(&place) = places.get(&found.chunk) {
            candidates[place].vector_rank = Some(at + 1);
        } else {
            candidates.push(SearchCandidate {
                bm25: None,
                cosine: Some(found.score),
                lexical_rank: None,
                vector_rank: Some(at + 1),
                found,
            });
        }
    }
    (candidates, passages)
}

/// Scores the candidates and sorts them, best first.
fn rank(
    candidates: Vec<SearchCandidate>,
    by: RankBasis,
    cosines: Cosines,
    full: f64,
) -> Vec<RankedMatch> {
    let usual = usual_meaning(&candidates, cosines);
    let mut found: Vec<(f64, RankedMatch)> = candidates
        .into_iter()
        .map(|c| {
            let sides = Sides {
                share: c.bm25.map(|bm25| share(bm25, full)),
                meaning: c.cosine.map(|cosine| cosines.read(cosine)).or(usual),
            };
            let measure = by.measure(sides);
            let found = RankedMatch {
                found: Match {
                    score: by.probability(measure, cosines.curves),
                    ..c.found
                },
                measured: Measured {
                    bm25: c.bm25,
                    share: sides.share,
                    cosine: c.cosine,
                    lexical_rank: c.lexical_rank,
                    vector_rank: c.vector_rank,
                },
            };
            (measure, found)
        })
        .collect();
    found.sort_by(|(a, left), (b, right)| {
        let (left, right) = (&left.found, &right.found);
        b.total_cmp(a)
            .then_with(|| left.source.cmp(&right.source))
            .then_with(|| left.chunk.cmp(&right.chunk))
    });
    found.into_iter().map(|(_, found)| found).collect()
}

/// The cosine that is assumed for passages without a vector, where others have one: the mean of those
/// that the words found too, else the best. Otherwise their words alone would compete with words and
/// meaning of the others.
fn usual_meaning(candidates: &[SearchCandidate], cosines: Cosines) -> Option<f64> {
    let known = |only_by_words: bool| {
        let known = candidates
            .iter()
            .filter(move |c| c.bm25.is_some() || !only_by_words);
        known
            .filter_map(|c| c.cosine)
            .map(|cosine| cosines.read(cosine))
    };
    let (count, sum) = known(true).fold((0.0, 0.0), |(n, sum), one| (n + 1.0, sum + one));
    if count > 0.0 {
        Some(sum / count)
    } else {
        known(false).reduce(f64::max)
    }
}

fn pool(k: usize) -> usize {
    POOL.max(2 * k)
}

/// The first `k` as hits; what has gone since it was found is passed over. What is known of the
/// passages need not be fetched.
fn hits(
    reader: &dyn Reader,
    found: Vec<RankedMatch>,
    mut passages: HashMap<ChunkId, Passage>,
    (k, within): (usize, Within<'_>),
) -> Result<Vec<Hit>, KbError> {
    let mut shown = join_lines(found);
    shown.truncate(k);
    let chunks = shown.iter().flat_map(LineMatch::chunks);
    let missing: Vec<ChunkId> = chunks
        .filter(|chunk| !passages.contains_key(chunk))
        .collect();
    if !missing.is_empty() {
        let fetched = reader.fetch(&missing, FetchOptions::PASSAGES, within.limits())?;
        let fetched = missing.into_iter().zip(fetched);
        passages.extend(fetched.filter_map(|(chunk, fetched)| Some((chunk, fetched?.passage?))));
    }
    let hits = shown.into_iter().filter_map(|line| {
        let passage = line.passage(&passages)?;
        Some(Hit {
            source: passage.source,
            lines: passage.lines,
            place: passage.place,
            heading: passage.heading,
            text: passage.text,
            score: Score::clamped(line.score()),
            measured: line.measured(),
            rank: 0,
        })
    });
    let ranked = hits.zip(1..).map(|(hit, rank)| Hit { rank, ..hit });
    Ok(ranked.collect())
}

fn embed(embedder: &dyn Embedder, text: &str, within: Within<'_>) -> Result<Vec<f32>, KbError> {
    let missing = || EmbedError("no vector came back for the query".into());
    let made = embedder.embed_stoppable(&[text], within.caller())?;
    let mut made = made.ok_or(KbError::Stopped)?;
    Ok(made.pop().ok_or_else(missing)?)
}

// Pieces of one line as one hit.
//
// A line over the chunk limit is cut into pieces that share its number. Each is found for itself,
// but a citation can only name the line: so what was found of one line is shown together, in the
// order of the line, at the place of its best piece. What the pieces say is fetched only for the
// lines that are shown.

/// A match with what both sides said about it.
#[derive(Debug)]
pub(crate) struct RankedMatch {
    pub found: Match,
    pub measured: Measured,
}

/// The matches at the same lines of a file: one chunk, or pieces of one line.
#[derive(Debug)]
pub(crate) struct LineMatch {
    best: RankedMatch,
    others: Vec<ChunkId>,
}

/// Stands where something of the line is left out.
const GAP: &str = " … ";

/// Joins matches at the same lines; takes and returns them best first.
pub(crate) fn join_lines(found: Vec<RankedMatch>) -> Vec<LineMatch> {
    let mut places: HashMap<(String, usize, usize), usize> = HashMap::new();
    let mut lines: Vec<LineMatch> = Vec::with_capacity(found.len());
    for item in found {
        let Match {
            source, lines: at, ..
        } = &item.found;
        let place = (source.clone(), at.start, at.end);
        if let Some(&at) = places.get(&place) {
            let LineMatch { best, others } = &mut lines[at];
            best.found.score = best.found.score.max(item.found.score);
            let (own, other) = (&mut best.measured, item.measured);
            own.lexical_rank = better(own.lexical_rank, other.lexical_rank);
            own.vector_rank = better(own.vector_rank, other.vector_rank);
            others.push(item.found.chunk);
        } else {
            places.insert(place, lines.len());
            lines.push(LineMatch {
                best: item,
                others: Vec::new(),
            });
        }
    }
    lines
}

impl LineMatch {
    /// The score of its best piece.
    pub fn score(&self) -> f64 {
        self.best.found.score
    }

    /// The measures of its best piece, with the best ranks of all pieces.
    pub fn measured(&self) -> Measured {
        self.best.measured
    }

    /// Its pieces, the best first.
    pub fn chunks(&self) -> impl Iterator<Item = ChunkId> {
        let others = self.others.iter().copied();
        iter::once(self.best.found.chunk).chain(others)
    }

    /// The text of its best pieces, as much as grep shows, each text once. `None` where no piece is in
    /// `known`.
    pub fn passage(&self, known: &HashMap<ChunkId, Passage>) -> Option<Passage> {
        let passages = self.chunks();
        let passages = passages.filter_map(|chunk| Some((chunk, known.get(&chunk)?)));
        let passages: Vec<(ChunkId, &Passage)> = passages.collect();
        let (_, best) = *passages.first()?;
        if self.others.is_empty() {
            return Some(best.clone());
        }
        let mut bytes = 0;
        let mut pieces: Vec<(ChunkId, &str)> = Vec::new();
        for (chunk, passage) in &passages {
            if pieces.iter().any(|(_, text)| *text == passage.text) {
                continue;
            }
            bytes += passage.text.len() + GAP.len();
            if bytes > MAX_LINE_BYTES {
                break;
            }
            pieces.push((*chunk, &passage.text));
        }
        pieces.sort_by_key(|(chunk, _)| *chunk);
        let texts: Vec<&str> = pieces.into_iter().map(|(_, text)| text).collect();
        Some(Passage {
            text: texts.join(GAP),
            ..best.clone()
        })
    }
}

fn better(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    a.into_iter().chain(b).min()
}
