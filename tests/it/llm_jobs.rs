//! What the tests of the endpoint engine hand to it, and how they hear its answer.

use std::time::Duration;

use kb_agent::agent::ports::{
    AnalyzeJob, AnswerSink, CallOrigin, GradeJob, PlanJob, Reasoner, ReasonerError, Synthesis,
    SynthesizeJob,
};
use kb_agent::domain::{
    Complexity, Evidence, EvidenceId, LineRange, NodeName, Question, RoutingPlan, Score, ToolName,
    Turn, Usage,
};
use kb_agent::protocol::RunId;
use kb_agent::reasoner::llm::{EndpointReasoner, EndpointSettings, Jobs};
use tokio::sync::mpsc;

use crate::scripted_endpoint::ScriptedEndpoint;
use crate::support::origin;

/// What the scripted endpoint counts for one call.
pub const COUNTED: Usage = Usage {
    calls: 1,
    prompt_tokens: Some(100),
    completion_tokens: Some(10),
    ..Usage::ONE_CALL
};

pub fn settings(base_url: String) -> EndpointSettings {
    EndpointSettings {
        base_url,
        api_key: None,
        model: Some("m".to_owned()),
        timeout: Duration::from_secs(10),
        retries: 0,
        server: None,
        context_tokens: None,
        authorities: Vec::new(),
        jobs: Jobs::default(),
        decides: kb_agent::reasoner::llm::Decides::Auto,
        evidence_tokens: None,
        overrides: None,
    }
}

pub async fn reasoner_at(endpoint: &ScriptedEndpoint) -> EndpointReasoner {
    EndpointReasoner::new(settings(endpoint.base_url())).unwrap()
}

/// A question as the endpoint engine reads it.
pub fn read(query: &str) -> Question {
    let settings = settings("http://127.0.0.1:9/v1".to_owned());
    EndpointReasoner::new(settings).unwrap().read(query, &[])
}

/// What a test's jobs borrow from.
pub struct Given {
    pub run: RunId,
    pub query: &'static str,
    pub question: Question,
    pub history: Vec<Turn>,
    pub routing: RoutingPlan,
    pub context: Vec<Evidence>,
    pub scores: Vec<Score>,
}

pub fn given(query: &'static str) -> Given {
    Given {
        run: RunId("run-1".into()),
        query,
        question: read(query),
        history: vec![],
        routing: RoutingPlan::default(),
        context: vec![
            item("a.md", "The threshold is 0.8."),
            item("b.md", "Nothing."),
        ],
        scores: vec![],
    }
}

impl Given {
    pub fn origin(&self, node: NodeName) -> CallOrigin<'_> {
        origin(&self.run, node)
    }

    pub fn analyze(&self) -> AnalyzeJob<'_> {
        AnalyzeJob {
            origin: self.origin(NodeName::AnalyzeAndRoute),
            query: self.query,
            question: &self.question,
            history: &self.history,
            forced: None,
            failed: &[],
            spoken_of: None,
        }
    }

    pub fn plan(&self) -> PlanJob<'_> {
        PlanJob {
            origin: self.origin(NodeName::Plan),
            query: self.query,
            question: &self.question,
            history: &self.history,
            routing: &self.routing,
            tool_history: &[],
            context: &[],
            scores: &self.scores,
            refine: false,
        }
    }

    pub fn grade(&self) -> GradeJob<'_> {
        GradeJob {
            origin: self.origin(NodeName::GradeEvidence),
            query: self.query,
            question: &self.question,
            history: &self.history,
            sub_questions: &self.routing.sub_questions,
            context: &self.context,
        }
    }

    pub fn synthesize(&self, complexity: Complexity) -> SynthesizeJob<'_> {
        SynthesizeJob {
            origin: self.origin(NodeName::Synthesize),
            query: self.query,
            question: &self.question,
            history: &self.history,
            complexity,
            sub_questions: &self.routing.sub_questions,
            absent_words: &[],
            context: if complexity == Complexity::Chitchat {
                &[]
            } else {
                &self.context
            },
            stance: kb_agent::agent::ports::AnswerStance::Answer,
        }
    }
}

pub fn item(source: &str, text: &str) -> Evidence {
    Evidence {
        id: EvidenceId("e1".to_owned()),
        source: source.to_owned(),
        lines: LineRange { start: 3, end: 7 },
        text: text.to_owned(),
        ..crate::support::item(3, ToolName::VectorSearch, 0.5)
    }
}

/// The pieces of an answer, and what it came to.
pub async fn answer(
    reasoner: &EndpointReasoner,
    job: SynthesizeJob<'_>,
) -> (Vec<String>, Result<Synthesis, ReasonerError>) {
    let (sender, mut receiver) = mpsc::channel(1);
    let reading = async {
        let mut pieces = Vec::new();
        while let Some(piece) = receiver.recv().await {
            pieces.push(piece);
        }
        pieces
    };
    let (result, pieces) = tokio::join!(reasoner.synthesize(job, AnswerSink(sender)), reading);
    (pieces, result)
}
