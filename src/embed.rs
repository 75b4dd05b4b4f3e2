//! Texts to vectors, by the sentence embeddings carried in the binary.
//!
//! all-MiniLM-L6-v2 for English, multilingual-e5-small for everything else, both with 8-bit weights
//! (see `assets/embedding/NOTICE`) and run by `rten`: pure Rust, small and fast enough to be asked on
//! every keystroke.
//!
//! One text is one run of the model. The activations are quantised with one scale per run, so a
//! batch would make a vector depend on its neighbours; parallelism is over texts instead, each
//! worker with a pool of one thread.

mod bridge;
mod by_language;
mod endpoint;
mod judging;
mod multilingual;
mod precomputed;
mod remembering;
mod unigram;
mod wordpiece;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, ValueOrView, op_registry};
use rten_tensor::prelude::AsView;
use rten_tensor::{NdTensor, Tensor};
use thread_priority::ThreadPriority;
use tokio_util::sync::CancellationToken;

use crate::agent::ports::{BulkPriority, Caller, EmbedError, Embedder, TokenVectors, TokensWanted};
use crate::domain::Languages;
use crate::threads;
use crate::threads::InBulk;

pub use by_language::EmbedderByLanguage;
pub use endpoint::{EmbeddingData, EmbeddingEndpoint, EndpointEmbedder};
pub use judging::JudgeEmbedder;
pub use precomputed::Precomputed;
pub use remembering::CachedEmbedder;
pub use wordpiece::WordPiece;

use unigram::Unigram;

/// How long each vector is.
pub const DIMENSIONS: usize = 384;

/// A model that is carried in the binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BuiltInModel {
    /// all-MiniLM-L6-v2: the better one for English.
    #[default]
    English,
    /// multilingual-e5-small: for a hundred languages, at twice the work a token.
    Multilingual,
}

impl BuiltInModel {
    /// What vectors are kept under; another one whenever a vector of the same text would change.
    pub fn id(self) -> &'static str {
        match self {
            Self::English => "all-MiniLM-L6-v2-int8-256",
            Self::Multilingual => "multilingual-e5-small-int8-512",
        }
    }

    /// The built-in model of this id.
    pub fn from_id(id: &str) -> Option<Self> {
        let all = [Self::English, Self::Multilingual];
        all.into_iter().find(|model| model.id() == id)
    }

    /// The languages that the model is for.
    pub fn languages(self) -> Languages {
        match self {
            Self::English => Languages::English,
            Self::Multilingual => Languages::All,
        }
    }

    /// How many tokens of a text are read, both marks included; the rest is not seen.
    pub fn max_tokens(self) -> usize {
        match self {
            Self::English => 256,
            Self::Multilingual => 512,
        }
    }

    fn graph(self) -> &'static [u8] {
        match self {
            Self::English => &ENGLISH_GRAPH.0,
            Self::Multilingual => &MULTILINGUAL_GRAPH.0,
        }
    }
}

/// What a text is to a search, which multilingual-e5-small is told in front of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Question,
    Passage,
}
/// What the asset calls the output whose states are compared token by token.
const TOKENS: &str = "tokens";

/// Bytes aligned for the widest registers of processors, so that weights are read in place.
#[repr(align(64))]
struct Aligned<B: ?Sized>(B);

// One mention each: every further one is another copy in what the compiler writes about this crate.
static ENGLISH_GRAPH: &Aligned<[u8]> = &Aligned(*include_bytes!(
    "../assets/embedding/all-minilm-l6-v2-int8.rten"
));
static MULTILINGUAL_GRAPH: &Aligned<[u8]> = &Aligned(*include_bytes!(
    "../assets/embedding/multilingual/e5-small-int8.rten"
));

/// A model of the binary. Nothing is loaded before the first text; then it stays.
///
/// Deterministic: the same text gives the same vector, whatever else is embedded with it.
#[derive(Default)]
pub struct SentenceEmbedding {
    model: BuiltInModel,
    loaded: OnceLock<Result<Loaded, EmbedError>>,
}

impl SentenceEmbedding {
    /// An embedding by that model, which has not loaded anything yet.
    pub fn new(model: BuiltInModel) -> Self {
        Self {
            model,
            loaded: OnceLock::new(),
        }
    }

    fn loaded(&self) -> Result<&Loaded, EmbedError> {
        self.loaded
            .get_or_init(|| Loaded::load(self.model))
            .as_ref()
            .map_err(Clone::clone)
    }
}

impl Embedder for SentenceEmbedding {
    fn model_id(&self) -> &str {
        self.model.id()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let made = self.embed_stoppable(texts, (&CancellationToken::new()).into())?;
        made.ok_or_else(|| EmbedError("it was stopped".into()))
    }

    fn embed_stoppable(
        &self,
        texts: &[&str],
        caller: Caller<'_>,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        if texts.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let loaded = self.loaded()?;
        let made = match texts {
            [text] => loaded.at_once(text).map(|made| vec![made]),
            _ => loaded.embed(
                texts,
                Side::Question,
                &loaded.pools,
                |_| true,
                caller.cancel,
            ),
        };
        if caller.cancel.is_cancelled() {
            return Ok(None);
        }
        made.map(Some)
    }

    fn embed_tokens(
        &self,
        texts: &[&str],
        tokens: TokensWanted,
        caller: Caller<'_>,
    ) -> Result<Option<Vec<TokenVectors>>, EmbedError> {
        let loaded = self.loaded()?;
        let each = |text: &str, pool: &_| loaded.tokens_of(text, tokens, pool);
        let made = loaded.each(texts, &loaded.pools, |_| true, each, caller.cancel);
        if caller.cancel.is_cancelled() {
            return Ok(None);
        }
        made.map(Some)
    }

    fn embed_unless(
        &self,
        texts: &[&str],
        priority: BulkPriority,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        if texts.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let loaded = self.loaded()?;
        let pools = match priority {
            BulkPriority::Normal => &loaded.pools,
            BulkPriority::Idle => loaded.behind.get_or_init(|| {
                let pools = loaded.pools.iter().map(|_| {
                    let pool = pool_of_one();
                    pool.run(step_back);
                    pool
                });
                pools.collect()
            }),
        };
        let _in_bulk = InBulk::begin();
        let is_free = |worker| worker < threads::for_bulk();
        let made = loaded.embed(texts, Side::Passage, pools, is_free, cancel);
        if cancel.is_cancelled() {
            return Ok(None);
        }
        made.map(Some)
    }

    fn is_cpu_bound(&self) -> bool {
        true
    }

    /// A word that its vocabulary has whole.
    fn knows(&self, word: &str) -> bool {
        self.loaded().is_ok_and(|loaded| loaded.tokens.has(word))
    }
}

/// How a model cuts a text into tokens, and what its graph takes for them.
enum Tokens {
    WordPiece {
        tokens: WordPiece,
        ids: NodeId,
        mask: NodeId,
    },
    Unigram {
        tokens: Unigram,
        rows: NodeId,
    },
}

impl Tokens {
    fn encode(&self, text: &str, side: Side, most: usize) -> Vec<i32> {
        match self {
            Self::WordPiece { tokens, .. } => tokens.encode(text, most),
            Self::Unigram { tokens, .. } => {
                let side = match side {
                    Side::Question => "query: ",
                    Side::Passage => "passage: ",
                };
                tokens.encode(&[side, text].concat(), most)
            }
        }
    }

    /// The tokens of the text alone, with nothing in front of it.
    fn encode_bare(&self, text: &str, most: usize) -> Vec<i32> {
        match self {
            Self::WordPiece { tokens, .. } => tokens.encode(text, most),
            Self::Unigram { tokens, .. } => tokens.encode(text, most),
        }
    }

    fn is_known(&self, token: i32) -> bool {
        match self {
            Self::WordPiece { tokens, .. } => tokens.is_known(token),
            Self::Unigram { .. } => Unigram::is_known(token),
        }
    }

    /// Whether a word is one token.
    fn has(&self, word: &str) -> bool {
        const MARKS: usize = 2;
        self.encode_bare(word, MARKS + 2).len() == MARKS + 1
    }

    fn inputs(&self, tokens: Vec<i32>) -> Vec<(NodeId, ValueOrView<'static>)> {
        let length = tokens.len();
        match self {
            Self::WordPiece { ids, mask, .. } => {
                let tokens = NdTensor::from_data([1, length], tokens);
                let all = NdTensor::from_data([1, length], vec![1.0_f32; length]);
                vec![(*ids, tokens.into()), (*mask, all.into())]
            }
            Self::Unigram { rows, .. } => {
                let numbers = multilingual::token_rows(&tokens);
                let numbers = NdTensor::from_data([1, length, DIMENSIONS], numbers);
                vec![(*rows, numbers.into())]
            }
        }
    }
}

struct Loaded {
    model: Model,
    max_tokens: usize,
    tokens: Tokens,
    out: NodeId,
    /// The vectors of the tokens, of which `out` is the mean.
    states: NodeId,
    pools: Vec<Arc<ThreadPool>>,
    /// The same number of pools for work in bulk, which leaves the cores to whatever else wants them. They
    /// are made when there is such work.
    behind: OnceLock<Vec<Arc<ThreadPool>>>,
    /// All cores on one text: a user waits for it.
    all: Arc<ThreadPool>,
    /// Where the next call starts, so that calls at the same time do not queue on one pool.
    turn: AtomicUsize,
}

impl Loaded {
    fn load(built_in: BuiltInModel) -> Result<Self, EmbedError> {
        // Only what the graph uses: the other operators would add 1.8 MB to the binary.
        let operators = op_registry!(
            Add,
            Cast,
            Div,
            DynamicQuantizeLinear,
            Gather,
            Gelu,
            LayerNormalization,
            MatMul,
            MatMulInteger,
            Mul,
            ReduceMean,
            ReduceSum,
            Reshape,
            Shape,
            Slice,
            Softmax,
            Split,
            Sub,
            Transpose,
            Unsqueeze
        );
        let model = ModelOptions::with_ops(operators)
            .prepack_weights(true)
            .load_static_slice(built_in.graph())
            .map_err(failed)?;
        let node = |name| model.node_id(name).map_err(failed);
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let tokens = match built_in {
            BuiltInModel::English => Tokens::WordPiece {
                tokens: WordPiece::bert_uncased(),
                ids: node("ids")?,
                mask: node("mask")?,
            },
            BuiltInModel::Multilingual => Tokens::Unigram {
                tokens: Unigram::xlm_roberta().map_err(failed)?,
                rows: node("rows")?,
            },
        };
        Ok(Self {
            max_tokens: built_in.max_tokens(),
            tokens,
            out: node("out")?,
            states: node(TOKENS)?,
            pools: (0..workers).map(|_| pool_of_one()).collect(),
            behind: OnceLock::new(),
            all: Arc::new(ThreadPool::with_num_threads(workers)),
            turn: AtomicUsize::new(0),
            model,
        })
    }

    /// A text that a user waits for: on one core while work in bulk has the others.
    fn at_once(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        threads::search_begins();
        let pool = match threads::for_a_search() {
            1 => &self.pools[0],
            _ => &self.all,
        };
        self.one(text, Side::Question, pool)
    }

    /// Only part of it is made once `cancel` is cancelled.
    fn embed(
        &self,
        texts: &[&str],
        side: Side,
        pools: &[Arc<ThreadPool>],
        may_go_on: impl Fn(usize) -> bool + Sync,
        cancel: &CancellationToken,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let each = |text: &str, pool: &_| self.one(text, side, pool);
        self.each(texts, pools, may_go_on, each, cancel)
    }

    /// Runs the model for each text, some at a time.
    fn each<T: Send + Sync>(
        &self,
        texts: &[&str],
        pools: &[Arc<ThreadPool>],
        may_go_on: impl Fn(usize) -> bool + Sync,
        make: impl Fn(&str, &Arc<ThreadPool>) -> Result<T, EmbedError> + Sync,
        cancel: &CancellationToken,
    ) -> Result<Vec<T>, EmbedError> {
        let is_wanted = || !cancel.is_cancelled();
        let workers = pools.len().min(texts.len());
        let start = self.turn.fetch_add(workers, Ordering::Relaxed);
        let pool = |worker: usize| &pools[start.wrapping_add(worker) % pools.len()];
        if workers == 1 {
            let texts = texts.iter().take_while(|_| is_wanted());
            return texts.map(|text| make(text, pool(0))).collect();
        }
        let next = AtomicUsize::new(0);
        let slots: Vec<OnceLock<Result<T, EmbedError>>> =
            texts.iter().map(|_| OnceLock::new()).collect();
        thread::scope(|scope| {
            for worker in 0..workers {
                let (pool, next, slots) = (pool(worker), &next, &slots);
                let (may_go_on, make) = (&may_go_on, &make);
                scope.spawn(move || {
                    while is_wanted()
                        && may_go_on(worker)
                        && let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed))
                            .filter(|at| *at < texts.len())
                    {
                        slots[at].get_or_init(|| make(texts[at], pool));
                    }
                });
            }
        });
        slots
            .into_iter()
            .map(|slot| {
                slot.into_inner()
                    .unwrap_or_else(|| Err(EmbedError("a text was skipped".into())))
            })
            .collect()
    }

    fn one(&self, text: &str, side: Side, pool: &Arc<ThreadPool>) -> Result<Vec<f32>, EmbedError> {
        let ids = self.tokens.encode(text, side, self.max_tokens);
        let vector = self.run(ids, self.out, DIMENSIONS, pool)?;
        Ok(normalised(vector))
    }

    fn tokens_of(
        &self,
        text: &str,
        wanted: TokensWanted,
        pool: &Arc<ThreadPool>,
    ) -> Result<TokenVectors, EmbedError> {
        let most = wanted.most.min(self.max_tokens);
        let tokens = self.tokens.encode_bare(text, most);
        let states = self.run(tokens.clone(), self.states, tokens.len() * DIMENSIONS, pool)?;
        let known = tokens.iter().zip(states.chunks(DIMENSIONS));
        let known = known.filter(|(token, _)| self.tokens.is_known(**token));
        let (tokens, vectors) = known
            .map(|(token, state)| (*token, normalised(state.to_vec())))
            .unzip();
        Ok(TokenVectors { tokens, vectors })
    }

    /// The numbers of one node for one text, which must be so many.
    fn run(
        &self,
        ids: Vec<i32>,
        node: NodeId,
        numbers: usize,
        pool: &Arc<ThreadPool>,
    ) -> Result<Vec<f32>, EmbedError> {
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
        let inputs = self.tokens.inputs(ids);
        let run = self.model.run_n(inputs, [node], Some(options));
        let [out] = run.map_err(failed)?;
        let out: Tensor<f32> = out.try_into().map_err(failed)?;
        let made = out.to_vec();
        if made.len() != numbers {
            let what = format!("the model gave {} numbers instead of {numbers}", made.len());
            return Err(EmbedError(what.into()));
        }
        Ok(made)
    }
}

fn pool_of_one() -> Arc<ThreadPool> {
    Arc::new(ThreadPool::with_num_threads(1))
}

/// Gives this thread a core only when nothing else wants it: at the lowest priority alone, a search
/// that wakes up still waits for the system's next tick now and then.
fn step_back() {
    #[cfg(target_os = "linux")]
    let set = {
        use thread_priority::unix::{
            NormalThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
            thread_native_id,
        };
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle)
    };
    #[cfg(not(target_os = "linux"))]
    let set = thread_priority::set_current_thread_priority(ThreadPriority::Min);
    if let Err(error) = set {
        tracing::debug!(?error, "the embedding runs beside everything else");
    }
}

fn normalised(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        for x in &mut vector {
            *x /= length;
        }
    }
    vector
}

fn failed(error: impl std::fmt::Display) -> EmbedError {
    EmbedError(error.to_string().into())
}
