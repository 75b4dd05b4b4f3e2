//! How well the tokens of a block match those of a question, by a small network.
//!
//! Late interaction adds up how near each token's nearest one is, and cannot tell a block that is about the same things
//! from one that answers. The network sees what each token is matched by, and then all of them together (compare and
//! aggregate: Wang and Jiang, A Compare-Aggregate Model for Matching Text Sequences, 2017). It is trained for the English
//! embedding; `assets/judge/NOTICE` says on what.

use std::sync::{Arc, LazyLock};

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, op_registry};
use rten_tensor::prelude::AsView;
use rten_tensor::{NdTensor, Tensor};

use crate::agent::ports::{EmbedError, TokenVectors};

/// The log-odds of a block without a token that the embedding knows.
const NOTHING_MATCHES: f64 = -9.0;

/// The network with the names of its inputs and its output.
struct Network {
    model: Model,
    question: NodeId,
    block: NodeId,
    score: NodeId,
    /// It is too small to share.
    pool: Arc<ThreadPool>,
}

static ENGLISH: LazyLock<Result<Network, EmbedError>> = LazyLock::new(|| {
    let operators = op_registry!(
        Abs,
        Add,
        Concat,
        Div,
        Exp,
        Gelu,
        LayerNormalization,
        Log,
        MatMul,
        Mul,
        ReduceMax,
        ReduceMean,
        ReduceSum,
        Reshape,
        Slice,
        Softmax,
        Sub,
        Transpose
    );
    let bytes = include_bytes!("../../../../assets/judge/matching_en.rten");
    let model = ModelOptions::with_ops(operators)
        .load_static_slice(bytes)
        .map_err(failed)?;
    let node = |name| model.node_id(name).map_err(failed);
    Ok(Network {
        question: node("question")?,
        block: node("block")?,
        score: node("score")?,
        pool: Arc::new(ThreadPool::with_num_threads(1)),
        model,
    })
});

/// The log-odds that each of these blocks answers the question, by the network for the English embedding.
pub(super) fn log_odds_in_english(
    question: &TokenVectors,
    blocks: &[TokenVectors],
) -> Result<Vec<f64>, EmbedError> {
    let network = ENGLISH.as_ref().map_err(Clone::clone)?;
    let score = |block| network.score(question, block);
    blocks.iter().map(score).collect()
}

impl Network {
    fn score(&self, question: &TokenVectors, block: &TokenVectors) -> Result<f64, EmbedError> {
        let (Some(question), Some(block)) = (matrix(question), matrix(block)) else {
            return Ok(NOTHING_MATCHES);
        };
        let inputs = vec![(self.question, question.into()), (self.block, block.into())];
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&self.pool)));
        let run = self.model.run_n(inputs, [self.score], Some(options));
        let [score] = run.map_err(failed)?;
        let score: Tensor<f32> = score.try_into().map_err(failed)?;
        let score = score.iter().next().copied();
        Ok(score.map_or(NOTHING_MATCHES, f64::from))
    }
}

/// The vectors as rows; `None` of none.
fn matrix(text: &TokenVectors) -> Option<NdTensor<f32, 2>> {
    let width = text.vectors.first()?.len();
    let rows = text.vectors.len();
    Some(NdTensor::from_data([rows, width], text.vectors.concat()))
}

fn failed(error: impl std::fmt::Display) -> EmbedError {
    EmbedError(error.to_string().into())
}
