//! The endpoint tried out, with the prompts, the client and the readers of a run.
//!
//! What works here works in a run, because there is no second way to ask: one small judgement goes
//! down the ladder of structured replies, one small answer is streamed, and what went wrong is the
//! line that a question would have given. Who asks decides what to make of it.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::settings::ModelJob;
use super::{EndpointReasoner, IN_FLIGHT, ListedModel, ModelUse, Structured};
use crate::agent::ports::{
    AnswerSink, AnswerStance, CallOrigin, GradeJob, Grades, Reasoner, ReasonerError, Synthesis,
    SynthesizeJob,
};
use crate::domain::{Complexity, Evidence, Score};
use crate::protocol::RunId;
use crate::reasoner::offline;

const QUESTION: &str = "When does the east gate open?";
const EVIDENCE: &str = "The east gate opens at seven in the morning.";

/// A structured reply.
#[derive(Debug)]
pub struct StructuredReply {
    /// How it was held to its form in the end.
    pub form: Structured,
    /// What was read in it: one number, or why there is none.
    pub grades: Grades,
}

/// A streamed reply.
#[derive(Debug)]
pub struct Answered {
    /// Time until the first piece that a person sees.
    pub first: Duration,
    /// Time until the end of the reply.
    pub total: Duration,
    /// How many pieces the stream came in.
    pub pieces: usize,
    /// What it cost and what went on meanwhile; tokens that the endpoint did not count are estimated.
    pub synthesis: Synthesis,
}

impl Answered {
    /// Whether its end may be missing.
    pub fn is_cut_short(&self) -> bool {
        let mut warnings = self.synthesis.warnings.iter();
        warnings.any(|warning| warning.code == "answer_cut_short")
    }
}

impl EndpointReasoner {
    /// Host and port of the endpoint.
    pub fn host(&self) -> &str {
        self.exchange.endpoint.host()
    }

    /// What kind of server it is taken for, by its row of the table.
    pub fn server(&self) -> &str {
        &self.exchange.endpoint.server.name
    }

    /// The models that the endpoint lists; `None` where it lists none at all.
    pub async fn models(&self) -> Result<Option<Vec<ListedModel>>, ReasonerError> {
        self.exchange.models(None, true).await
    }

    /// The same for a person who waits for it: a server that fails is not asked again. A main model
    /// that is not known yet is known then.
    pub async fn models_now(&self) -> Result<Option<Vec<ListedModel>>, ReasonerError> {
        let listed = self.exchange.models(None, false).await?;
        let mut known = listed.iter().flatten();
        if let Some(model) = known.find(|model| model.purpose == ModelUse::Chat) {
            // One that was known before stays.
            let _ = self.model.set(model.clone());
        }
        Ok(listed)
    }

    /// The model of a job. Where none is named the endpoint is asked.
    pub async fn model_of(&self, job: ModelJob) -> Result<&str, ReasonerError> {
        Ok(&self.model_for(job, None).await?.name)
    }

    /// A small judgement by the model of that job, within the job's limits.
    pub async fn try_judging(&self, job: ModelJob) -> Result<StructuredReply, ReasonerError> {
        let (run, context) = (RunId::generate(), [evidence()]);
        let question = offline::read(QUESTION, &[]);
        let grading = GradeJob {
            origin: origin(&run, job),
            query: QUESTION,
            question: &question,
            history: &[],
            sub_questions: &[],
            context: &context,
        };
        let grades = self.grade_by(job, grading).await?;
        let model = self.model_of(job).await?;
        Ok(StructuredReply {
            form: self.exchange.dialects.of_model(model).structured,
            grades,
        })
    }

    /// A small answer, streamed.
    pub async fn try_answering(&self) -> Result<Answered, ReasonerError> {
        let (run, context) = (RunId::generate(), [evidence()]);
        let question = offline::read(QUESTION, &[]);
        let answering = SynthesizeJob {
            origin: origin(&run, ModelJob::Synthesize),
            query: QUESTION,
            question: &question,
            history: &[],
            complexity: Complexity::Simple,
            sub_questions: &[],
            context: &context,
            absent_words: &[],
            stance: AnswerStance::Answer,
        };
        let (said, mut pieces_in) = mpsc::channel(IN_FLIGHT);
        let begun = Instant::now();
        let asking = self.synthesize(answering, AnswerSink(said));
        let counting = async {
            let (mut first, mut pieces) = (None, 0);
            while pieces_in.recv().await.is_some() {
                first.get_or_insert_with(|| begun.elapsed());
                pieces += 1;
            }
            (first, pieces)
        };
        let (synthesis, (first, pieces)) = tokio::join!(asking, counting);
        let (synthesis, total) = (synthesis?, begun.elapsed());
        Ok(Answered {
            first: first.unwrap_or(total),
            total,
            pieces,
            synthesis,
        })
    }
}

fn origin(run: &RunId, job: ModelJob) -> CallOrigin<'_> {
    CallOrigin {
        run,
        node: job.node(),
        calls: None,
        waits: None,
        instruction: None,
    }
}

fn evidence() -> Evidence {
    Evidence {
        source: "gates.md".to_owned(),
        score: Score::clamped(1.0),
        ..Evidence::without_file(1, EVIDENCE)
    }
}
