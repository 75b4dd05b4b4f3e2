//! Event streams with fixed moments and names, as the agent would emit them.

use kb_agent::domain::{
    AutoApproveRule, Citation, Complexity, EvidenceId, GradedBy, GraderAction, LineRange, Measured,
    NodeName, Outcome, PathType, QueryType, RouteReason, RoutingPlan, Score, ToolCall, ToolName,
};
use kb_agent::protocol::{
    CostDetails, Event, EventBody, EvidenceItem, ItemScore, Mode, NumberedItem, QuestionPlace,
    RunId, SCHEMA, Timestamp,
};

use NodeName::{AnalyzeAndRoute, GradeEvidence, Plan, Synthesize, ToolExec};

/// 2026-03-02T12:01:05.000Z
const START: u64 = 1_772_452_865_000;

/// Collects events; each takes a moment.
pub struct Tape {
    run: RunId,
    now: u64,
    pub events: Vec<Event>,
}

impl Tape {
    pub fn new(run: &str) -> Self {
        Self {
            run: RunId(run.into()),
            now: START,
            events: Vec::new(),
        }
    }

    /// Lets so many milliseconds pass.
    pub fn after(&mut self, ms: u64) -> &mut Self {
        self.now += ms;
        self
    }

    pub fn add(&mut self, body: EventBody) {
        self.events.push(Event {
            schema: SCHEMA,
            ts: Timestamp(self.now),
            run: self.run.clone(),
            seq: self.events.len() as u64,
            body,
        });
    }

    pub fn start(&mut self, query: &str) {
        self.add(EventBody::RunStarted {
            session: "s1".to_owned(),
            single: false,
            place: QuestionPlace::default(),
            rerun: None,
            query: query.to_owned(),
            within: Vec::new(),
            filters: Vec::new(),
            mode: Mode::Offline,
            model: "extractive".to_owned(),
            forced_route: None,
            settings: Box::default(),
            base: None,
        });
    }

    pub fn enter(&mut self, node: NodeName, iteration: u32) {
        self.after(1)
            .add(EventBody::NodeEntered { node, iteration });
    }

    pub fn leave(&mut self, node: NodeName, iteration: u32, ms: u64, calls: u32) {
        self.after(ms).add(EventBody::NodeFinished {
            node,
            iteration,
            ms: ms as f64,
            reasoning_calls: calls,
            prompt_tokens: (calls > 0).then_some(240),
            completion_tokens: (calls > 0).then_some(30),
            spent: CostDetails::default(),
            by: None,
        });
    }

    pub fn route(&mut self, from: NodeName, to: NodeName, reason: RouteReason) {
        self.add(EventBody::RouteDecided { from, to, reason });
    }

    pub fn analyze(&mut self, complexity: Complexity, parts: &[&str]) {
        self.enter(AnalyzeAndRoute, 0);
        self.after(40).add(EventBody::RoutingPlan {
            plan: RoutingPlan {
                query_type: QueryType::Conceptual,
                complexity,
                sub_questions: parts.iter().map(|part| (*part).to_owned()).collect(),
                suggested_tools: vec![ToolName::HybridSearch, ToolName::GrepSearch],
                ..RoutingPlan::default()
            },
            because: Vec::new(),
            reason: None,
            built_in: None,
            built_in_because: Vec::new(),
        });
        self.leave(AnalyzeAndRoute, 0, 412, 1);
        let (to, reason) = match complexity {
            Complexity::Chitchat => (Synthesize, RouteReason::Chitchat),
            Complexity::Simple => (Plan, RouteReason::Simple),
            Complexity::Complex => (Plan, RouteReason::Complex),
        };
        self.route(AnalyzeAndRoute, to, reason);
    }

    pub fn retrieve(&mut self, iteration: u32, calls: Vec<ToolCall>, items: Vec<EvidenceItem>) {
        self.enter(Plan, iteration);
        self.leave(Plan, iteration, 88, 1);
        self.enter(ToolExec, iteration);
        for call in &calls {
            self.add(EventBody::ToolCalled {
                call: call.clone(),
                by: None,
            });
        }
        for call in calls {
            self.after(6).add(EventBody::ToolFinished {
                call,
                items: items.len(),
                scores: items.iter().map(|item| item.score).collect(),
                ms: 6.2,
                error: None,
                is_breakdown: false,
                by: None,
            });
        }
        if !items.is_empty() {
            self.add(EventBody::EvidenceAdded { items });
        }
        self.leave(ToolExec, iteration, 12, 0);
    }

    pub fn grade(&mut self, iteration: u32, scores: &[(&str, f64)], average: f64, by: GradedBy) {
        self.enter(GradeEvidence, iteration);
        if let GradedBy::Rule(rule) = by {
            self.add(EventBody::FastPathHit {
                path_type: PathType::RuleAutoApprove,
                rule_name: rule.as_str().to_owned(),
                query: "q".to_owned(),
            });
        }
        let action = if average >= 0.7 {
            GraderAction::Generate
        } else if average >= 0.3 {
            GraderAction::Refine
        } else {
            GraderAction::ReRetrieve
        };
        self.after(30).add(EventBody::EvidenceGraded {
            scores: scores
                .iter()
                .map(|(id, score)| ItemScore {
                    id: EvidenceId((*id).to_owned()),
                    score: Score::clamped(*score),
                    not_looked_at: false,
                })
                .collect(),
            average,
            action,
            by,
        });
        for (id, score) in scores.iter().filter(|(_, score)| *score < 0.3) {
            self.add(EventBody::EvidenceRemoved {
                id: EvidenceId((*id).to_owned()),
                score: Score::clamped(*score),
                not_looked_at: false,
            });
        }
        let calls = u32::from(by == GradedBy::Grader);
        self.leave(GradeEvidence, iteration, 640, calls);
        let to = match action {
            GraderAction::Generate => Synthesize,
            GraderAction::Refine => Plan,
            GraderAction::ReRetrieve => AnalyzeAndRoute,
        };
        self.route(GradeEvidence, to, action.into());
    }

    /// Numbers what is in the context, as the agent does before it asks.
    pub fn number(&mut self) {
        let mut context: Vec<EvidenceId> = Vec::new();
        for event in &self.events {
            match &event.body {
                EventBody::EvidenceAdded { items } => {
                    let ids = items.iter().map(|item| item.id.clone());
                    let new: Vec<_> = ids.filter(|id| !context.contains(id)).collect();
                    context.extend(new);
                }
                EventBody::EvidenceRemoved { id, .. } => context.retain(|known| known != id),
                _ => {}
            }
        }
        let numbered = context.into_iter().enumerate();
        let items = numbered.map(|(at, id)| NumberedItem {
            n: at + 1,
            id,
            sent: Vec::new(),
        });
        let items = items.collect();
        self.add(EventBody::EvidenceNumbered { items });
    }

    pub fn answer(&mut self, iteration: u32, text: &str, citations: Vec<Citation>) {
        self.enter(Synthesize, iteration);
        self.number();
        for piece in text.split_inclusive(' ') {
            self.after(3).add(EventBody::AnswerDelta {
                text: piece.to_owned(),
                supported: None,
            });
        }
        self.after(1).add(EventBody::AnswerFinished {
            text: text.to_owned(),
            citations,
            confidence: None,
            confidence_level: None,
            supported: Vec::new(),
            quotation_from: None,
        });
        self.leave(Synthesize, iteration, 700, 1);
    }

    pub fn end(&mut self, outcome: Outcome, calls: u32, saved: u32, error: Option<&str>) {
        let path = self
            .events
            .iter()
            .filter_map(|event| match &event.body {
                EventBody::NodeEntered { node, .. } => Some(*node),
                _ => None,
            })
            .collect();
        let ms = (self.now - START) as f64;
        self.after(1).add(EventBody::RunFinished {
            outcome,
            complexity: None,
            path,
            iterations: 1,
            reasoning_calls: calls,
            calls_saved: saved,
            prompt_tokens: u64::from(calls) * 240,
            completion_tokens: u64::from(calls) * 30,
            spent: CostDetails::default(),
            ms,
            error: error.map(str::to_owned),
        });
    }
}

pub fn item(
    n: usize,
    source: &str,
    (start, end): (usize, usize),
    tool: ToolName,
    score: f64,
) -> EvidenceItem {
    EvidenceItem {
        id: EvidenceId(format!("e{n}")),
        source: source.to_owned(),
        lines: LineRange { start, end },
        tool,
        score: Score::clamped(score),
        excerpt: format!(
            "Passage {n}: the pipeline reads a folder, cuts each document into chunks and embeds them."
        ),
        low: false,
        place: None,
        measured: Measured::default(),
        known_grade: None,
        by: None,
    }
}

pub fn cite(n: usize, source: &str, (start, end): (usize, usize)) -> Citation {
    Citation {
        n,
        id: EvidenceId(format!("e{n}")),
        source: source.to_owned(),
        lines: LineRange { start, end },
        place: None,
        quoted: Vec::new(),
    }
}

fn hybrid(query: &str) -> ToolCall {
    ToolCall::HybridSearch {
        semantic_query: query.to_owned(),
        exact_keywords: Vec::new(),
    }
}

fn grep(query: &str) -> ToolCall {
    ToolCall::GrepSearch {
        query: query.to_owned(),
    }
}

pub fn chitchat() -> Vec<Event> {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000c1");
    tape.start("Hello, who are you?");
    tape.analyze(Complexity::Chitchat, &[]);
    tape.add(EventBody::FastPathHit {
        path_type: PathType::Chitchat,
        rule_name: "chitchat".to_owned(),
        query: "Hello, who are you?".to_owned(),
    });
    tape.enter(Synthesize, 0);
    tape.after(1).add(EventBody::AnswerFinished {
        text: "Hello! I answer questions about the documents in this knowledge base.".to_owned(),
        citations: Vec::new(),
        confidence: None,
        confidence_level: None,
        supported: Vec::new(),
        quotation_from: None,
    });
    tape.leave(Synthesize, 0, 1, 0);
    tape.end(Outcome::Answered, 1, 3, None);
    tape.events
}

pub fn simple() -> Vec<Event> {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000b2");
    tape.start("What is the default chunk size?");
    tape.analyze(Complexity::Simple, &[]);
    tape.retrieve(
        0,
        vec![hybrid("default chunk size")],
        vec![
            item(1, "index.md", (10, 42), ToolName::HybridSearch, 0.82),
            item(
                2,
                "guide/settings.md",
                (3, 20),
                ToolName::HybridSearch,
                0.61,
            ),
            item(3, "faq.md", (88, 93), ToolName::HybridSearch, 0.33),
        ],
    );
    tape.route(ToolExec, Synthesize, RouteReason::Simple);
    tape.answer(
        0,
        "A chunk holds **512 tokens** by default [1]; `chunk_size` changes it [2].",
        vec![
            cite(1, "index.md", (10, 42)),
            cite(2, "guide/settings.md", (3, 20)),
        ],
    );
    tape.end(Outcome::Answered, 3, 1, None);
    tape.events
}

pub fn complex() -> Vec<Event> {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000a7");
    tape.start("compare the index pipeline with the query engine");
    tape.analyze(
        Complexity::Complex,
        &[
            "What does the index pipeline do?",
            "What does the query engine do?",
        ],
    );
    tape.retrieve(
        0,
        vec![hybrid("index pipeline"), hybrid("query engine")],
        vec![
            item(1, "index.md", (10, 42), ToolName::HybridSearch, 0.82),
            item(2, "engine.md", (3, 20), ToolName::HybridSearch, 0.64),
            item(3, "faq.md", (88, 93), ToolName::HybridSearch, 0.31),
        ],
    );
    tape.route(ToolExec, GradeEvidence, RouteReason::Complex);
    tape.grade(
        0,
        &[("e1", 0.82), ("e2", 0.46), ("e3", 0.12)],
        0.64,
        GradedBy::Grader,
    );
    tape.retrieve(
        1,
        vec![hybrid("query engine stages"), grep("rerank")],
        vec![item(
            4,
            "engine/rerank.md",
            (1, 30),
            ToolName::GrepSearch,
            0.71,
        )],
    );
    tape.route(ToolExec, GradeEvidence, RouteReason::Complex);
    tape.grade(
        1,
        &[("e1", 0.85), ("e2", 0.58), ("e4", 0.91)],
        0.78,
        GradedBy::Grader,
    );
    tape.answer(
        1,
        "Both read the same store, but at different times.\n\n\
         | | index pipeline | query engine |\n|---|---|---|\n| runs | when files change | per question |\n\
         | cost | per document | per query |\n\n\
         - The **pipeline** walks, chunks and embeds [1].\n\
         - The **engine** retrieves in parallel and fuses by rank [2], then reranks [3].\n\n\
         ```rust\nlet hits = engine.search(\"rerank\")?;\n```",
        vec![
            cite(1, "index.md", (10, 42)),
            cite(2, "engine.md", (3, 20)),
            Citation {
                n: 3,
                ..cite(4, "engine/rerank.md", (1, 30))
            },
        ],
    );
    tape.end(Outcome::Answered, 6, 0, None);
    tape.events
}

pub fn rule_hit() -> Vec<Event> {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000d4");
    tape.start("Which tickets does the rollout depend on, and why?");
    tape.analyze(Complexity::Complex, &["Which tickets?", "Why?"]);
    tape.retrieve(
        0,
        vec![ToolCall::GraphRelated {
            entity_id: "PROJ-123".to_owned(),
        }],
        vec![
            item(
                1,
                "tickets/PROJ-123.md",
                (1, 18),
                ToolName::GraphRelated,
                1.0,
            ),
            item(2, "tickets/PROJ-77.md", (4, 9), ToolName::GraphRelated, 0.5),
        ],
    );
    tape.route(ToolExec, GradeEvidence, RouteReason::Complex);
    tape.grade(
        0,
        &[("e1", 1.0), ("e2", 1.0)],
        1.0,
        GradedBy::Rule(AutoApproveRule::FewContext),
    );
    tape.answer(
        0,
        "The rollout waits for PROJ-77 [2], as PROJ-123 says [1].",
        vec![
            cite(1, "tickets/PROJ-123.md", (1, 18)),
            cite(2, "tickets/PROJ-77.md", (4, 9)),
        ],
    );
    tape.end(Outcome::Answered, 3, 1, None);
    tape.events
}

pub fn cancelled() -> Vec<Event> {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000e5");
    tape.start("What changed between the two releases?");
    tape.analyze(Complexity::Complex, &["old", "new"]);
    tape.retrieve(
        0,
        vec![hybrid("releases")],
        vec![
            item(1, "changes.md", (1, 9), ToolName::HybridSearch, 0.7),
            item(2, "changes.md", (20, 31), ToolName::HybridSearch, 0.6),
            item(3, "news.md", (2, 4), ToolName::HybridSearch, 0.5),
        ],
    );
    tape.route(ToolExec, GradeEvidence, RouteReason::Complex);
    tape.enter(GradeEvidence, 0);
    tape.end(Outcome::Cancelled, 2, 0, None);
    tape.events
}

pub fn failed() -> Vec<Event> {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000f6");
    tape.start("What is a chunk?");
    tape.enter(AnalyzeAndRoute, 0);
    tape.after(20).add(EventBody::Warning {
        code: "endpoint_retry".to_owned(),
        message: "the endpoint closed the connection; asking once more".to_owned(),
    });
    tape.end(
        Outcome::Failed,
        0,
        0,
        Some(
            "the endpoint http://localhost:11434/v1 refused the connection: is the server running?",
        ),
    );
    tape.events
}

pub fn not_found() -> Vec<Event> {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000a8");
    tape.start("How tall is the moon?");
    tape.analyze(Complexity::Simple, &[]);
    tape.retrieve(0, vec![grep("moon")], Vec::new());
    tape.route(ToolExec, Synthesize, RouteReason::Simple);
    tape.enter(Synthesize, 0);
    tape.after(1).add(EventBody::AnswerFinished {
        text: "Nothing about this was found in the knowledge base.".to_owned(),
        citations: Vec::new(),
        confidence: None,
        confidence_level: None,
        supported: Vec::new(),
        quotation_from: None,
    });
    tape.leave(Synthesize, 0, 1, 0);
    tape.end(Outcome::NotFound, 2, 2, None);
    tape.events
}
