//! The knowledge base: its files, its index, its embedding, and the verbs over them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::budget::ByteBudget;
use super::error::KbError;
use super::extract::{Extraction, SkipReason, TextRecognition};
use super::grep::{GrepPassage, ReadAs};
use super::index::{ChunkKey, EmbeddedStore, Lease, Limits, Reader, Store, Within, tokens};
use super::languages::LanguageChoice;
use super::search::{Hit, PassageLines, SearchMode};
use super::source::{Roots, Skipped, TextCache};
use super::update::{Changes, Job, Progress, RefusedChunks, SkippedFiles, UpdateReport};
use super::{grep, left_out, search};
use crate::agent::ports::{BulkPriority, EmbedError, Embedder, EmbeddingChoice, ToolError};
use crate::domain::{Languages, ListPlace, PassageRanks};
use crate::embed::BuiltInModel;

/// What one passage in so many holds, or at most [`FEW`] hold, is spoken of; what more hold is said in passing.
const COMMON: usize = 10;
const FEW: usize = 3;
/// Words of a message that are looked for: a long one is no small talk.
const MOST_TOPICS: usize = 24;

/// How long the leadership in keeping an index up to date lasts without being renewed.
pub const LEASE: Duration = Duration::from_mins(2);

/// Told how far an update is.
type OnProgress<'a> = &'a (dyn Fn(Progress) + Sync);
type UpdateResult = Result<UpdateReport, KbError>;

/// Where a shared base is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedStore {
    /// The address without the password.
    pub address: String,
    /// The name of the base there.
    pub space: String,
}

/// A set of folders and files with their index.
///
/// Opening is quick and reads no document; [`KnowledgeBase::update`] brings the index up to date.
/// All methods take `&self`, so that one base in an `Arc` serves the update and every search.
pub struct KnowledgeBase {
    roots: Roots,
    name: String,
    shared: Option<SharedStore>,
    home: PathBuf,
    embedder: Arc<dyn Embedder>,
    /// Why the last embedding failed: a search goes on without it, and must not be silent.
    embedding_error: Mutex<Option<EmbedError>>,
    store: Box<dyn Store>,
    texts: TextCache,
    skipped_files: SkippedFiles,
    budget: ByteBudget,
    /// Chunks that the embedding has refused in this process.
    refused: Mutex<RefusedChunks>,
    /// The status at the last time it was asked for.
    last: Mutex<KbStatus>,
}

impl KnowledgeBase {
    pub(super) fn with_store(
        roots: Roots,
        store: Box<dyn Store>,
        home: PathBuf,
        shared: Option<SharedStore>,
        embedder: Arc<dyn Embedder>,
    ) -> Self {
        let has_files = roots.paths().next().is_some();
        let name = match &shared {
            Some(shared) if has_files => format!("{} (store)", shared.space),
            Some(shared) => format!("{} (store, no files here)", shared.space),
            None => roots.name(),
        };
        let last = KbStatus {
            name: name.clone(),
            ..KbStatus::default()
        };
        Self {
            roots,
            name,
            shared,
            refused: Mutex::default(),
            last: Mutex::new(last),
            embedder,
            embedding_error: Mutex::default(),
            store,
            texts: TextCache::open(&home),
            skipped_files: SkippedFiles::default(),
            budget: ByteBudget::default(),
            home,
        }
    }

    /// The store that the base shares with others; `None` for an index in the data folder.
    pub fn shared_store(&self) -> Option<&SharedStore> {
        self.shared.as_ref()
    }

    /// Lets processes of `program`, which is kb-agent itself, parse the documents: a malicious document
    /// can then only end its own process. Without this, documents are parsed on threads, which cannot
    /// be stopped and share our memory.
    #[must_use]
    pub fn reading_by(mut self, program: Option<&Path>) -> Self {
        if let Some(program) = program {
            self.texts.extractor.read_by(program.to_owned());
        }
        self
    }

    /// Lets the base recognise the text of scans and pictures.
    #[must_use]
    pub fn recognising(mut self, recognition: Option<TextRecognition>) -> Self {
        if let Some(recognition) = recognition {
            self.texts.extractor.recognise(recognition);
        }
        self
    }

    /// Brings the index up to date with the files; blocks.
    ///
    /// First the words: what changed is read, cut and committed at once, and can be searched.
    /// Then the meaning: chunks without a vector are embedded in small batches, each kept as it
    /// comes. Cancelling `cancel` ends it early without losing what is done; the next update goes on.
    /// While another process reads or embeds, this is [`KbError::Locked`], after the words have
    /// been brought up to date where only the embedding is taken; searching goes on with what is
    /// there.
    pub fn update(&self, progress: OnProgress<'_>, cancel: &CancellationToken) -> UpdateResult {
        self.run(progress, cancel, |job| {
            let mut report = job.read_changes(&Changes::Everything)?;
            report.embedded = self.embed_by_language(job)?;
            Ok(report)
        })
    }

    /// [`KnowledgeBase::update`] from nothing: every document is read and embedded again.
    pub fn rebuild(&self, progress: OnProgress<'_>, cancel: &CancellationToken) -> UpdateResult {
        self.run(progress, cancel, |job| {
            let mut report = self.read_afresh(job)?;
            report.embedded = self.embed_by_language(job)?;
            Ok(report)
        })
    }

    /// The first half of [`KnowledgeBase::update`]: reads what changed and makes its words
    /// searchable, in seconds also where the other half takes minutes.
    pub fn update_words(
        &self,
        progress: OnProgress<'_>,
        cancel: &CancellationToken,
    ) -> UpdateResult {
        self.update_changed(&Changes::Everything, progress, cancel)
    }

    /// [`KnowledgeBase::update_words`] where it is known what has changed: then only that is looked
    /// at. After an update that did not end well, everything is all the same.
    pub fn update_changed(
        &self,
        changes: &Changes,
        progress: OnProgress<'_>,
        cancel: &CancellationToken,
    ) -> UpdateResult {
        self.run(progress, cancel, |job| job.read_changes(changes))
    }

    /// [`KnowledgeBase::update_words`] from nothing; the vectors are gone with the words.
    pub fn rebuild_words(
        &self,
        progress: OnProgress<'_>,
        cancel: &CancellationToken,
    ) -> UpdateResult {
        self.run(progress, cancel, |job| self.read_afresh(job))
    }

    /// Reads everything again. The vectors are gone only when that has come to its end.
    fn read_afresh(&self, job: &Job<'_>) -> UpdateResult {
        let mut vectors = job.store.begin_vectors(job.limits())?;
        left_out::forget_missing_text(&self.home);
        let report = job.read_everything()?;
        vectors.clear(job.limits())?;
        LanguageChoice::forget(&self.home);
        Ok(report)
    }

    /// The second half, for a caller who waits for it: embeds what has no vector yet. Its report tells
    /// only how many.
    pub fn embed_pending(
        &self,
        progress: OnProgress<'_>,
        cancel: &CancellationToken,
    ) -> UpdateResult {
        self.run(progress, cancel, |job| self.embed(job))
    }

    /// [`KnowledgeBase::embed_pending`] for a caller with more urgent things to do: it leaves the cores
    /// to everything else on the machine, and once `pause` is cancelled it ends with the batch that is going on, or with
    /// the first.
    pub fn embed_some(
        &self,
        progress: OnProgress<'_>,
        pause: &CancellationToken,
        cancel: &CancellationToken,
    ) -> UpdateResult {
        self.run(progress, cancel, |job| {
            self.embed(&Job {
                priority: BulkPriority::Idle,
                pause: Some(pause),
                ..*job
            })
        })
    }

    fn embed(&self, job: &Job<'_>) -> UpdateResult {
        Ok(UpdateReport {
            embedded: self.embed_by_language(job)?,
            ..UpdateReport::default()
        })
    }

    fn run(
        &self,
        progress: OnProgress<'_>,
        cancel: &CancellationToken,
        work: impl FnOnce(&Job<'_>) -> UpdateResult,
    ) -> UpdateResult {
        let job = Job {
            roots: &self.roots,
            store: self.store.as_ref(),
            texts: &self.texts,
            embedder: self.embedder.as_ref(),
            skipped_files: &self.skipped_files,
            budget: &self.budget,
            refused: &self.refused,
            progress,
            cancel,
            priority: BulkPriority::Normal,
            pause: None,
        };
        match self.refresh() {
            // The work makes it anew, or says the same.
            Ok(()) | Err(KbError::Damaged(_)) => {}
            Err(error) => return Err(error),
        }
        let mut report = work(&job);
        match &report {
            Ok(report) if report.embedded > 0 => self.note_embedding(None),
            Ok(_) => {}
            Err(error) => self.note_embedding(Some(error)),
        }
        if let Ok(report) = &mut report {
            report.unembedded = self.refused.lock().values().cloned().collect();
            report
                .unembedded
                .sort_by(|a, b| (&a.path, a.lines.start).cmp(&(&b.path, b.lines.start)));
        }
        // An embedding looks at no files.
        if let Ok(report) = &mut report
            && (report.looked_at > 0 || !report.missing_texts.is_empty())
        {
            left_out::keep_missing_text(&self.home, report);
        }
        if matches!(report, Err(KbError::Locked | KbError::ReadOnly))
            && let Err(error) = self.refresh()
        {
            // What the other process is about to replace need not be readable.
            tracing::debug!(%error, "searching goes on with what was there");
        }
        report
    }

    /// The leadership in keeping the index up to date: of several processes that stay, one has it and
    /// the others take over what it has done. It lasts for [`LEASE`] and is to be renewed meanwhile;
    /// `None` while another one has it. Processes with different embeddings do not do each other's work.
    pub fn claim_upkeep(&self) -> Result<Option<Box<dyn Lease>>, KbError> {
        self.store
            .lease(self.embedder.model_id(), LEASE, Limits::without_cancel())
    }

    /// Which model makes the vectors.
    pub fn model_id(&self) -> &str {
        self.embedder.model_id()
    }

    /// The files that no process has reported before. From now on all of `skipped` count as reported, and
    /// no others.
    pub fn new_among(&self, skipped: &[Skipped]) -> Vec<Skipped> {
        left_out::new_among(&self.home, skipped)
    }

    pub(super) fn roots(&self) -> &Roots {
        &self.roots
    }

    pub(super) fn reader(&self) -> Arc<dyn Reader> {
        self.store.reader()
    }

    pub(super) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    pub(super) fn texts(&self) -> &TextCache {
        &self.texts
    }

    /// Whether the last update of this process ended well and none is going on.
    pub(super) fn is_up_to_date(&self) -> bool {
        self.skipped_files.is_known()
    }

    /// Takes over what another process has indexed since.
    pub fn refresh(&self) -> Result<(), KbError> {
        self.follow_shared_model()?;
        self.store
            .refresh(self.embedder.model_id(), Limits::without_cancel())
    }

    /// The user's patterns for files to be read in any case that included none, as far as folders
    /// were gone through by now.
    pub fn unused_patterns(&self) -> Vec<String> {
        self.roots.unused_patterns()
    }

    /// Its name for people: the folders' names, or the space of the store.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether documents of it lie on this machine.
    pub fn has_files(&self) -> bool {
        !self.roots.is_empty()
    }

    /// The counts of the index; the last known ones while it cannot be asked. Blocks where the base is
    /// shared: the store is asked.
    pub fn status(&self) -> KbStatus {
        let reader = self.reader();
        let now = || -> Result<KbStatus, KbError> {
            let counts = reader.counts(Limits::without_cancel())?;
            let pending = reader.pending_count(Limits::without_cancel())?;
            let refused = pending.min(self.refused.lock().len());
            Ok(KbStatus {
                name: self.name.clone(),
                documents: counts.documents,
                chunks: counts.chunks,
                words_only: counts.words_only + refused,
                pending: pending - refused,
                languages: self.embedder.choice().map(EmbeddingChoice::current),
            })
        };
        let now = now();
        let mut last = self.last.lock();
        match now {
            Ok(status) => *last = status,
            Err(error) => tracing::warn!(%error, "what the index holds is not known"),
        }
        last.clone()
    }

    /// Why the last embedding failed, of a question or of chunks; `None` when it did not.
    pub fn embedding_trouble(&self) -> Option<EmbedError> {
        self.embedding_error.lock().clone()
    }

    /// The canonical path of a file or folder of the base. Symlinks and `..` are resolved before
    /// it is asked whether the path lies inside.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, ToolError> {
        self.roots.resolve(path)
    }

    /// The name under which a resolved path appears as evidence.
    pub fn source_of(&self, resolved: &Path) -> Option<String> {
        self.roots.source_of(resolved)
    }

    /// A resolved file as the index reads it: its text, and where its places are.
    pub fn read(&self, resolved: &Path) -> Result<Extraction, ToolError> {
        self.read_unless(resolved, &CancellationToken::new())
    }

    /// [`KnowledgeBase::read`], which gives up soon after `cancel` is cancelled.
    pub(crate) fn read_unless(
        &self,
        resolved: &Path,
        cancel: &CancellationToken,
    ) -> Result<Extraction, ToolError> {
        let name = self
            .source_of(resolved)
            .unwrap_or_else(|| resolved.to_string_lossy().into_owned());
        let file = self.roots.open_file(resolved).map_err(SkipReason::from);
        file.and_then(|file| self.texts.document_unless(&file, &name, cancel))
            .map_err(|reason| ToolError::Failed(format!("{name}: {reason}")))
    }

    /// Passages for a query, best first. Blocks.
    pub fn search(&self, mode: SearchMode, query: &str, k: usize) -> Result<Vec<Hit>, KbError> {
        self.search_within(mode, query, k, Within::all(&CancellationToken::new()))
    }

    /// Passages within these limits for a query, best first. Blocks.
    pub fn search_within(
        &self,
        mode: SearchMode,
        query: &str,
        k: usize,
        within: Within<'_>,
    ) -> Result<Vec<Hit>, KbError> {
        match mode {
            SearchMode::Vector => self.vector(query, k, within),
            SearchMode::Lexical => self.filtered(within, |reader, within| {
                search::lexical(reader, query, k, within)
            }),
            SearchMode::Hybrid => self.hybrid(query, &[], k, within),
            SearchMode::Grep => Ok(self.search_files(query, k, within)?.0),
        }
    }

    /// The hits of [`SearchMode::Grep`], and how the query was read. Blocks.
    pub fn search_files(
        &self,
        query: &str,
        k: usize,
        within: Within<'_>,
    ) -> Result<(Vec<Hit>, ReadAs), KbError> {
        let (passages, read_as) = grep::grep(&self.roots, &self.texts, query, k, within)?;
        Ok((search::grep_hits(passages), read_as))
    }

    /// Where a passage stands in the lists of a hybrid search for the best `k`. Blocks.
    pub(crate) fn ranks(
        &self,
        query: &str,
        keywords: &[String],
        k: usize,
        passage: PassageLines<'_>,
        within: Within<'_>,
    ) -> Result<PassageRanks, KbError> {
        self.filtered(within, |reader, within| {
            let asked = search::HybridQuery {
                query,
                keywords,
                k,
                within,
            };
            search::ranks(reader, self.embedder.as_ref(), &asked, passage)
        })
    }

    /// Where a passage stands by meaning. Blocks.
    pub(crate) fn ranks_by_meaning(
        &self,
        query: &str,
        passage: PassageLines<'_>,
        within: Within<'_>,
    ) -> Result<PassageRanks, KbError> {
        let embedder = self.embedder.as_ref();
        let meaning = self.filtered(within, |reader, within| {
            search::rank_by_meaning(reader, embedder, query, passage, within)
        })?;
        Ok(PassageRanks {
            meaning,
            ..PassageRanks::default()
        })
    }

    /// Where lines of a passage stand among the first `depth` passages of a search of the files. Blocks.
    pub(crate) fn ranks_in_files(
        &self,
        query: &str,
        depth: usize,
        passage: PassageLines<'_>,
        within: Within<'_>,
    ) -> Result<PassageRanks, KbError> {
        let found = self.grep(query, depth, within)?;
        let place = found.iter().position(|found| {
            found.source == passage.source && found.matching.overlaps(passage.lines)
        });
        Ok(PassageRanks {
            words: place.map(|at| ListPlace {
                rank: at + 1,
                score: found[at].score.value(),
            }),
            ..PassageRanks::default()
        })
    }

    /// Searches the passages that the words in quotes and the `-word`s of a question leave.
    fn filtered<T>(
        &self,
        within: Within<'_>,
        search: impl FnOnce(&dyn Reader, Within<'_>) -> Result<T, KbError>,
    ) -> Result<T, KbError> {
        let reader = self.reader();
        let chunks = search::chunk_filter(reader.as_ref(), within)?;
        search(reader.as_ref(), within.with_chunks(chunks.as_ref()))
    }

    /// How many passages say what they must within these limits; `None` where they must say nothing. Blocks.
    pub(super) fn passages_saying(&self, within: Within<'_>) -> Result<Option<usize>, KbError> {
        let filter = search::chunk_filter(self.reader().as_ref(), within)?;
        let only = filter.as_ref().and_then(|filter| filter.only.as_ref());
        Ok(only.map(HashSet::len))
    }

    /// How many passages the `-word`s of these limits leave out; 0 beside words in quotes, which bound more. Blocks.
    pub(super) fn passages_left_out(&self, within: Within<'_>) -> Result<usize, KbError> {
        let filter = search::chunk_filter(self.reader().as_ref(), within)?;
        Ok(filter.map_or(0, |filter| filter.without.len()))
    }

    /// Whether a word occurs in no passage within, not even under another spelling. Blocks.
    pub(crate) fn is_absent(&self, word: &str, within: Within<'_>) -> Result<bool, KbError> {
        self.filtered(within, |reader, within| {
            Ok(reader.lexical(word, None, 1, within)?.matches.is_empty())
        })
    }

    /// Which of the topics of a question few passages within hold, and its subject where a heading or a document is called
    /// so. A slip of the keyboard is forgiven. Blocks.
    pub(crate) fn spoken_of(
        &self,
        subject: &str,
        topics: &[String],
        within: Within<'_>,
    ) -> Result<Vec<String>, KbError> {
        self.filtered(within, |reader, within| {
            let chunks = reader.counts(within.limits())?.chunks;
            let most = (chunks / COMMON).max(FEW);
            let mut found = Vec::new();
            for topic in topics.iter().take(MOST_TOPICS) {
                let held = reader.lexical(topic, None, most + 1, within)?.matches.len();
                if (1..=most).contains(&held) {
                    found.push(topic.clone());
                }
            }
            let name = tokens::name_key(subject);
            if let Some(name) = name
                && !reader
                    .lexical(subject, Some(&name), 1, within)?
                    .named
                    .is_empty()
            {
                found.push(subject.to_owned());
            }
            Ok(found)
        })
    }

    /// Passages nearest in meaning.
    pub(crate) fn vector(
        &self,
        query: &str,
        k: usize,
        within: Within<'_>,
    ) -> Result<Vec<Hit>, KbError> {
        let embedder = self.embedder.as_ref();
        let found = self.filtered(within, |reader, within| {
            search::vector(reader, embedder, query, k, within)
        });
        self.note_embedding(found.as_ref().err());
        found
    }

    /// Passages by words and meaning together. `keywords` add to the words only.
    pub(crate) fn hybrid(
        &self,
        query: &str,
        keywords: &[String],
        k: usize,
        within: Within<'_>,
    ) -> Result<Vec<Hit>, KbError> {
        let found = self.filtered(within, |reader, within| {
            let asked = search::HybridQuery {
                query,
                keywords,
                k,
                within,
            };
            search::hybrid(reader, self.embedder.as_ref(), &asked)
        });
        self.note_embedding(match &found {
            Ok((_, failure)) => failure.as_ref(),
            Err(error) => Some(error),
        });
        Ok(found?.0)
    }

    /// Keeps why an embedding failed; one that worked ends the notice. An embedding that came and cannot
    /// be compared with what is kept has failed too.
    fn note_embedding(&self, failure: Option<&KbError>) {
        let error = match failure {
            None => None,
            Some(KbError::Embed(error)) => Some(error.clone()),
            Some(_) => return,
        };
        *self.embedding_error.lock() = error;
    }

    /// Passages around the lines that hold words of the query or match it as a pattern; read from
    /// the files as they are now.
    pub(crate) fn grep(
        &self,
        query: &str,
        k: usize,
        within: Within<'_>,
    ) -> Result<Vec<GrepPassage>, KbError> {
        Ok(grep::grep(&self.roots, &self.texts, query, k, within)?.0)
    }
}

/// What the index holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KbStatus {
    /// Its name for people: the folders' names.
    pub name: String,
    /// Documents indexed.
    pub documents: usize,
    /// Chunks indexed.
    pub chunks: usize,
    /// Chunks that are found by their words only and never embedded.
    pub words_only: usize,
    /// Chunks that still wait for their embedding.
    pub pending: usize,
    /// The languages of its embedding, where there is a choice.
    pub languages: Option<Languages>,
}

impl KbStatus {
    /// How many chunks are to be embedded in all, with those that are by now.
    pub fn to_embed(&self) -> usize {
        let to_embed = self.chunks.saturating_sub(self.words_only);
        to_embed.max(self.pending)
    }

    /// A line about passages that are not embedded yet; `None` when all are.
    pub fn incomplete(&self) -> Option<String> {
        if self.pending == 0 {
            return None;
        }
        let all = self.to_embed();
        if all == 1 {
            let line = "the only passage is not embedded yet; it is found by its words only";
            return Some(line.to_owned());
        }
        Some(format!(
            "{} of {all} passages are embedded; the others are found by their words only",
            all - self.pending
        ))
    }
}

// Which embedding a base gets where there is a choice, and how it turns from one to the other.
//
// An index in the data folder keeps the choice beside it and turns where its text has changed by much. A
// shared store keeps the model of its vectors itself: the first writer chooses, everyone else follows.

impl KnowledgeBase {
    /// Embeds what has no vector yet, by the model for what the base is written in; returns how many
    /// passages that were.
    ///
    /// A base that turns to another model is embedded by that one from the start, and searched by the vectors
    /// that it has until that is done.
    pub(super) fn embed_by_language(&self, job: &Job<'_>) -> Result<usize, KbError> {
        let Some(choice) = self.embedder.choice() else {
            return job.embed_pending();
        };
        let before = self.choice_before(job, choice)?;
        let reader = job.store.reader();
        let now = match before {
            Some(before) if self.shared.is_some() && choice.fixed().is_none() => before,
            _ => LanguageChoice::make(before, choice.fixed(), reader.as_ref(), job.limits())?,
        };
        let turns = before.is_some_and(|before| before.languages != now.languages);
        if turns && self.shared.is_none() {
            return self.turn_to(now, job, choice);
        }
        if before != Some(now) {
            choice.choose(now.languages);
            self.refresh()?;
            now.write(&self.home);
        }
        job.embed_pending()
    }

    /// The choice that the vectors of the base were made by; `None` of a base without vectors.
    fn choice_before(
        &self,
        job: &Job<'_>,
        choice: &dyn EmbeddingChoice,
    ) -> Result<Option<LanguageChoice>, KbError> {
        if self.shared.is_some() {
            let languages = languages_in_use(job.store, job.limits())?;
            return Ok(languages.map(LanguageChoice::unsampled));
        }
        if job.store.dimensions(job.limits())?.is_none() {
            return Ok(None);
        }
        let kept = LanguageChoice::read(&self.home);
        Ok(Some(kept.unwrap_or_else(|| {
            LanguageChoice::unsampled(choice.current())
        })))
    }

    fn turn_to(
        &self,
        now: LanguageChoice,
        job: &Job<'_>,
        choice: &dyn EmbeddingChoice,
    ) -> Result<usize, KbError> {
        let embedder = choice.embedder_for(now.languages);
        let store = EmbeddedStore::open(&self.home, embedder.model_id())?;
        store.refresh(embedder.model_id(), job.limits())?;
        let count = Job {
            store: &store,
            embedder: embedder.as_ref(),
            ..*job
        }
        .embed_pending()?;
        if store.reader().pending_count(Limits::without_cancel())? == 0 {
            choice.choose(now.languages);
            now.write(&self.home);
            self.refresh()?;
        }
        Ok(count)
    }

    /// Searches a shared base by the model that its vectors were made by, unless the user fixed one.
    pub(super) fn follow_shared_model(&self) -> Result<(), KbError> {
        let choice = self.embedder.choice().filter(|it| it.fixed().is_none());
        if let Some(choice) = choice.filter(|_| self.shared.is_some())
            && let Some(languages) =
                languages_in_use(self.store.as_ref(), Limits::without_cancel())?
        {
            choice.choose(languages);
        }
        Ok(())
    }

    /// What its embedding was chosen by; `None` where nothing was chosen yet or there is no choice.
    pub fn language_choice(&self) -> Option<LanguageChoice> {
        self.embedder.choice()?;
        LanguageChoice::read(&self.home)
    }
}

/// The languages of the built-in model whose vectors a store has; `None` where it has none.
fn languages_in_use(store: &dyn Store, limits: Limits<'_>) -> Result<Option<Languages>, KbError> {
    let model = store.model_in_use(limits)?;
    Ok(model
        .and_then(|id| BuiltInModel::from_id(&id))
        .map(BuiltInModel::languages))
}

/// Chunks between two looks at whether to go on.
const AT_ONCE: usize = 1024;

impl KnowledgeBase {
    /// Takes over the vectors that another base of the same embedding has for what this one says too,
    /// and tells how many those were. Blocks. While another process embeds, this is
    /// [`KbError::Locked`].
    pub fn take_vectors_of(
        &self,
        other: &KnowledgeBase,
        cancel: &CancellationToken,
    ) -> Result<usize, KbError> {
        if self.model_id() != other.model_id() {
            return Ok(0);
        }
        let limits = || Limits::of_a_call(cancel);
        let mut vectors = self.store().begin_vectors(limits())?;
        let (reader, known) = (self.reader(), other.reader());
        let (mut taken, mut cursor) = (0, None);
        while !cancel.is_cancelled() {
            let page = reader.pending(cursor, AT_ONCE, limits())?;
            let keys: Vec<ChunkKey> = page.chunks.iter().map(|(_, key)| *key).collect();
            let found = keys.iter().copied().zip(known.vectors(&keys, limits())?);
            let rows: Vec<(ChunkKey, Vec<f32>)> = found
                .filter_map(|(key, vector)| Some((key, vector?)))
                .collect();
            vectors.put_vectors(&rows, limits())?;
            taken += rows.len();
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        drop(vectors);
        self.refresh()?;
        Ok(taken)
    }
}
