//! A trace from the events of its run: a span for the run, each visit of a node, each call of a model and
//! each call of a tool; decisions are events of the node's span.
//!
//! The names of attributes are those of OpenTelemetry's conventions for generative AI (`gen_ai.*`) and of
//! OpenInference (`openinference.*`, `llm.*`, `retrieval.*`, `input.*`, `output.*`), and `kb_agent.*` for
//! what neither has a name for. Ids follow from the id of the run, so that a run is the same trace
//! whenever it is made: the trace is found by the run's id without its hyphens.

use std::collections::{BTreeMap, HashMap, HashSet};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event as SpanEvent, Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use serde_json::{Value, json};

use crate::domain::{Complexity, Cue, EvidenceId, NodeName, Outcome, Score, ToolName, measure_of};
use crate::protocol::{Event, EventBody, EvidenceItem, Mode, RunId};

/// What the program is called in a trace.
const PROGRAM: &str = env!("CARGO_PKG_NAME");

/// How much of a run its trace tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TraceDetail {
    /// Numbers, decisions and names of files and models.
    #[default]
    Figures,
    /// Questions, answers, prompts and passages too.
    Texts,
}

impl TraceDetail {
    /// Texts go where the audit log has prompts and replies, too.
    pub fn from_audit_prompts(prompts: bool) -> Self {
        if prompts { Self::Texts } else { Self::Figures }
    }
}

/// What the traces of runs are made like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceForm {
    /// How much of a run is told.
    pub detail: TraceDetail,
    /// The name of the settings, where they are measured.
    pub eval_settings: Option<String>,
}

/// The fields of events that hold no text of a question, an answer or a document.
const PLAIN_FIELDS: [(&str, &[&str]); 7] = [
    ("route_decided", &["from", "to", "reason"]),
    (
        "routing_plan",
        &[
            "complexity",
            "query_type",
            "suggested_tools",
            "probability",
            "threshold",
        ],
    ),
    ("fast_path_hit", &["path_type", "rule_name"]),
    ("evidence_graded", &["scores", "average", "action", "by"]),
    ("evidence_removed", &["id", "score", "not_looked_at"]),
    ("evidence_numbered", &["items"]),
    ("warning", &["code"]),
];

/// The fields by which spans are looked for: attributes of the node's span, and of the run's span what the last
/// event said.
const SPAN_FIELDS: [(&str, &[&str]); 4] = [
    ("route_decided", &["to", "reason"]),
    (
        "routing_plan",
        &["complexity", "query_type", "probability", "threshold"],
    ),
    ("fast_path_hit", &["path_type", "rule_name"]),
    ("evidence_graded", &["average", "action", "by"]),
];

/// What is on the wire of the endpoints that are asked: their API is that of OpenAI.
const PROVIDER: &str = "openai";
const TEXT: &str = "text/plain";
const JSON: &str = "application/json";

/// The traces of these runs, as a collector takes them. The events of a run are in their order.
pub fn trace_request(events: &[Event], form: &TraceForm) -> ExportTraceServiceRequest {
    let mut traces: Vec<RunTrace> = Vec::new();
    for event in events {
        match traces.iter_mut().rfind(|trace| trace.run == event.run) {
            Some(trace) => trace.apply(event),
            None => traces.extend(RunTrace::begin(event, form)),
        }
    }
    let spans = traces.into_iter().flat_map(RunTrace::finish).collect();
    let scope = InstrumentationScope {
        name: PROGRAM.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let attributes = vec![
        key_value("service.name", text(PROGRAM)),
        key_value("service.version", text(env!("CARGO_PKG_VERSION"))),
        key_value("openinference.project.name", text(PROGRAM)),
    ];
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes,
                ..Resource::default()
            }),
            scope_spans: vec![ScopeSpans {
                scope: Some(scope),
                spans,
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}

/// The trace of a run that is being read.
struct RunTrace {
    run: RunId,
    detail: TraceDetail,
    mode: Mode,
    /// The run's own span, and behind it those of nodes and calls.
    spans: Vec<Span>,
    /// The span of the node that was entered last.
    node: usize,
    /// The tool calls of that node: tool, scores of what it returned, and place of the span.
    tools: Vec<(ToolName, Vec<Score>, usize)>,
    query: String,
    /// The calls of that node as JSON.
    calls: Vec<Value>,
    /// The passages that spans list, in their order.
    documents: BTreeMap<usize, Vec<EvidenceItem>>,
    grades: HashMap<EvidenceId, f64>,
    cited: HashSet<EvidenceId>,
}

impl RunTrace {
    /// The trace of the run that this event begins; `None` when it begins none.
    fn begin(event: &Event, form: &TraceForm) -> Option<Self> {
        let EventBody::RunStarted {
            session,
            place,
            query,
            mode,
            model,
            forced_route,
            settings,
            ..
        } = &event.body
        else {
            return None;
        };
        let mut trace = Self {
            run: event.run.clone(),
            detail: form.detail,
            mode: *mode,
            spans: Vec::new(),
            node: 0,
            tools: Vec::new(),
            query: query.clone(),
            calls: Vec::new(),
            documents: BTreeMap::new(),
            grades: HashMap::new(),
            cited: HashSet::new(),
        };
        trace.open(&format!("invoke_agent {PROGRAM}"), "AGENT", nanos(event));
        trace.set(0, "gen_ai.operation.name", text("invoke_agent"));
        trace.set(0, "gen_ai.agent.name", text(PROGRAM));
        trace.set(0, "gen_ai.conversation.id", text(session));
        trace.set(0, "session.id", text(session));
        trace.set(0, "kb_agent.run", text(&event.run.0));
        if *mode == Mode::Llm {
            trace.set(0, "gen_ai.request.model", text(model));
        }
        let provider = if *mode == Mode::Llm {
            PROVIDER
        } else {
            PROGRAM
        };
        trace.set(0, "gen_ai.provider.name", text(provider));
        if let Some(name) = &form.eval_settings {
            trace.set(0, "eval.settings", text(name));
        }
        if let Ok(Value::Object(limits)) = serde_json::to_value(settings) {
            for (name, value) in &limits {
                trace.set(
                    0,
                    &format!("kb_agent.settings.{name}"),
                    attribute_value(value),
                );
            }
        }
        if let Some(route) = forced_route {
            trace.set(0, "kb_agent.forced_route", text(route.as_str()));
        }
        trace.set_text(0, "input", TEXT, query);
        if let Some(first) = &place.retry_of {
            trace.spans[0].links.push(Link {
                trace_id: trace_id(first),
                span_id: span_id(first, 0),
                ..Link::default()
            });
        }
        Some(trace)
    }

    fn apply(&mut self, event: &Event) {
        match &event.body {
            EventBody::NodeEntered { node, iteration } => self.enter(event, *node, *iteration),
            EventBody::NodeFinished {
                reasoning_calls, ..
            } => {
                self.spans[self.node].end_time_unix_nano = nanos(event);
                self.set(
                    self.node,
                    "kb_agent.reasoning_calls",
                    number(*reasoning_calls),
                );
            }
            EventBody::ModelCalled { .. } => self.add_model_call(event),
            EventBody::ToolCalled { call, .. } => {
                self.calls.extend(serde_json::to_value(call).ok());
                let calls = Value::from(self.calls.clone()).to_string();
                self.set_text(self.node, "input", JSON, &calls);
            }
            EventBody::ToolFinished { .. } => self.add_tool_call(event),
            EventBody::EvidenceAdded { items } => {
                for item in items {
                    for span in self.call_of(item).into_iter().chain([self.node]) {
                        self.documents.entry(span).or_default().push(item.clone());
                    }
                }
            }
            EventBody::AnswerFinished {
                text: answer,
                citations,
                confidence,
                ..
            } => {
                self.cited
                    .extend(citations.iter().map(|citation| citation.id.clone()));
                self.set(0, "kb_agent.citations", number(citations.len() as u32));
                if let Some(confidence) = confidence {
                    self.set(0, "kb_agent.confidence", double(confidence.value()));
                }
                self.set_text(0, "output", TEXT, answer);
                self.set_text(self.node, "output", TEXT, answer);
            }
            EventBody::RunFinished { .. } => self.end(event),
            body => {
                if let EventBody::RoutingPlan { because, .. } = body {
                    self.set_measures(because);
                }
                if let EventBody::EvidenceGraded { scores, .. } = body {
                    let grades = scores.iter().filter(|one| !one.not_looked_at);
                    let grades = grades.map(|one| (one.id.clone(), one.score.value()));
                    self.grades.extend(grades);
                }
                let fields = PLAIN_FIELDS.iter().find(|(name, _)| *name == body.name());
                if let Some((name, fields)) = fields {
                    self.add_event(event, name, fields);
                }
            }
        }
    }

    /// Ends open spans at the last known time and marks them as broken off.
    fn finish(mut self) -> Vec<Span> {
        for (span, items) in std::mem::take(&mut self.documents) {
            self.set_documents(span, &items);
        }
        let last = self
            .spans
            .iter()
            .map(|span| span.end_time_unix_nano.max(span.start_time_unix_nano));
        let last = last.max().unwrap_or_default();
        let is_ended = self.spans[0].end_time_unix_nano > 0;
        for span in &mut self.spans {
            if span.end_time_unix_nano == 0 {
                span.end_time_unix_nano = last;
                span.status = Some(failure("broke off"));
            }
        }
        if !is_ended {
            self.set(0, "kb_agent.outcome", text("no end recorded"));
        }
        self.spans
    }

    /// Adds a span below the run's own and says where it is.
    fn open(&mut self, name: &str, kind: &str, start: u64) -> usize {
        let at = self.spans.len();
        let parent = self.spans.first().map(|run| run.span_id.clone());
        self.spans.push(Span {
            trace_id: trace_id(&self.run),
            span_id: span_id(&self.run, at),
            parent_span_id: parent.unwrap_or_default(),
            name: name.to_owned(),
            kind: SpanKind::Internal.into(),
            start_time_unix_nano: start,
            ..Span::default()
        });
        self.set(at, "openinference.span.kind", text(kind));
        at
    }

    /// Adds the span of a call that ended with this event, below the node that made it.
    fn open_call(&mut self, event: &Event, name: &str, kind: &str, ms: f64) -> usize {
        let (parent, end) = (self.node, nanos(event));
        // Not at the very same moment as another call, or they would be out of order.
        let begun = self.spans[parent].start_time_unix_nano;
        let earliest = begun.saturating_add(self.spans.len() as u64);
        let at = self.open(name, kind, end.saturating_sub(duration(ms)).max(earliest));
        let id = self.spans[parent].span_id.clone();
        let span = &mut self.spans[at];
        span.parent_span_id = id;
        span.end_time_unix_nano = end;
        at
    }

    fn enter(&mut self, event: &Event, node: NodeName, iteration: u32) {
        let kind = match node {
            NodeName::ToolExec => "RETRIEVER",
            NodeName::GradeEvidence => "EVALUATOR",
            NodeName::AnalyzeAndRoute | NodeName::Plan | NodeName::Synthesize => "CHAIN",
        };
        self.node = self.open(node.as_str(), kind, nanos(event));
        self.tools.clear();
        self.calls.clear();
        self.set(self.node, "kb_agent.iteration", number(iteration));
        let query = self.query.clone();
        self.set_text(self.node, "input", TEXT, &query);
    }

    fn add_model_call(&mut self, event: &Event) {
        let EventBody::ModelCalled {
            model,
            ms,
            prompt_tokens,
            completion_tokens,
            retries,
            prompt,
            reply,
            ..
        } = &event.body
        else {
            return;
        };
        let at = self.open_call(event, &format!("chat {model}"), "LLM", *ms);
        self.spans[at].kind = SpanKind::Client.into();
        self.set(at, "gen_ai.operation.name", text("chat"));
        self.set(at, "gen_ai.provider.name", text(PROVIDER));
        self.set(at, "gen_ai.request.model", text(model));
        self.set(at, "llm.model_name", text(model));
        self.set(at, "kb_agent.retries", number(*retries));
        self.set_usage(at, *prompt_tokens, *completion_tokens);
        // On the calls alone: who reads these adds them up.
        self.set_count(at, "llm.token_count.prompt", *prompt_tokens);
        self.set_count(at, "llm.token_count.completion", *completion_tokens);
        if let Some(prompt) = prompt {
            self.set_text(at, "input", TEXT, prompt);
            self.set_messages(at, "llm.input_messages", messages_of(prompt));
        }
        if let Some(reply) = reply {
            self.set_text(at, "output", TEXT, reply);
            self.set_messages(
                at,
                "llm.output_messages",
                vec![("assistant", reply.as_str())],
            );
        } else if prompt.is_some() {
            self.fail(at, "no usable reply", "_OTHER");
        }
    }

    fn set_messages(&mut self, at: usize, list: &str, messages: Vec<(&str, &str)>) {
        if self.detail == TraceDetail::Figures {
            return;
        }
        for (n, (role, content)) in messages.into_iter().enumerate() {
            self.set(at, &format!("{list}.{n}.message.role"), text(role));
            self.set(at, &format!("{list}.{n}.message.content"), text(content));
        }
    }

    fn add_tool_call(&mut self, event: &Event) {
        let EventBody::ToolFinished {
            call,
            items,
            scores,
            ms,
            error,
            ..
        } = &event.body
        else {
            return;
        };
        let tool = call.tool().as_str();
        let at = self.open_call(event, &format!("execute_tool {tool}"), "TOOL", *ms);
        self.tools.push((call.tool(), scores.clone(), at));
        self.set(at, "gen_ai.operation.name", text("execute_tool"));
        self.set(at, "gen_ai.tool.name", text(tool));
        self.set(at, "tool.name", text(tool));
        self.set(at, "kb_agent.items", number(*items as u32));
        let scores = scores.iter().map(|score| double(score.value())).collect();
        self.set(at, "kb_agent.scores", array(scores));
        if let Ok(arguments) = serde_json::to_string(call) {
            self.set_text(at, "input", JSON, &arguments);
        }
        if let Some(error) = error {
            let why = if self.detail == TraceDetail::Texts {
                error
            } else {
                "failed"
            };
            self.fail(at, why, "_OTHER");
        }
    }

    /// The span of the call that found a passage: of several calls of one tool the first that returned its score.
    fn call_of(&self, item: &EvidenceItem) -> Option<usize> {
        let mut calls = self.tools.iter().filter(|(tool, ..)| *tool == item.tool);
        let found = calls.find(|(_, scores, _)| scores.contains(&item.score));
        found.map(|(_, _, span)| *span)
    }

    /// Lists the passages that a call or a node found, with what became of them.
    fn set_documents(&mut self, at: usize, items: &[EvidenceItem]) {
        for (n, item) in items.iter().enumerate() {
            let name = |field: &str| format!("retrieval.documents.{n}.document.{field}");
            self.set(
                at,
                &name("id"),
                text(&format!("{}:{}", item.source, item.lines)),
            );
            self.set(at, &name("score"), double(item.score.value()));
            let metadata = json!({
                "id": item.id,
                "tool": item.tool,
                "bm25": item.measured.bm25,
                "cosine": item.measured.cosine,
                "grade": self.grades.get(&item.id),
                "cited": self.cited.contains(&item.id),
            });
            self.set(at, &name("metadata"), text(&metadata.to_string()));
            if self.detail == TraceDetail::Texts {
                self.set(at, &name("content"), text(&item.excerpt));
            }
        }
        let found = items
            .iter()
            .map(|item| json!({"id": item.id, "text": item.excerpt}));
        let found = Value::from(found.collect::<Vec<_>>()).to_string();
        self.set_text(at, "output", JSON, &found);
    }

    /// Says what was held against thresholds.
    fn set_measures(&mut self, because: &[Cue]) {
        for route in Complexity::ALL {
            if let Some((probability, threshold)) = measure_of(because, route) {
                let name = |what: &str| format!("kb_agent.{}_{what}", route.as_str());
                self.set(self.node, &name("probability"), double(probability));
                self.set(self.node, &name("threshold"), double(threshold));
            }
        }
    }

    /// Adds a decision to the node's span.
    fn add_event(&mut self, event: &Event, name: &str, fields: &[&str]) {
        let Ok(Value::Object(body)) = serde_json::to_value(&event.body) else {
            return;
        };
        let is_told = |field: &str| {
            field != "event" && (self.detail == TraceDetail::Texts || fields.contains(&field))
        };
        let told = body.iter().filter(|(field, _)| is_told(field));
        let attributes = told
            .map(|(field, value)| key_value(&format!("kb_agent.{field}"), attribute_value(value)));
        let attributes = attributes.collect();
        let found = SPAN_FIELDS.iter().filter(|(of, _)| *of == name);
        for field in found.flat_map(|(_, fields)| *fields) {
            if let Some(value) = body.get(*field) {
                for span in [self.node, 0] {
                    self.set(span, &format!("kb_agent.{field}"), attribute_value(value));
                }
            }
        }
        if matches!(name, "routing_plan" | "evidence_graded") {
            self.set_text(self.node, "output", JSON, &Value::Object(body).to_string());
        }
        self.spans[self.node].events.push(SpanEvent {
            time_unix_nano: nanos(event),
            name: name.to_owned(),
            attributes,
            ..SpanEvent::default()
        });
    }

    fn end(&mut self, event: &Event) {
        let EventBody::RunFinished {
            outcome,
            complexity,
            iterations,
            reasoning_calls,
            calls_saved,
            prompt_tokens,
            completion_tokens,
            spent,
            error,
            ..
        } = &event.body
        else {
            return;
        };
        self.spans[0].end_time_unix_nano = nanos(event);
        self.set(0, "kb_agent.outcome", text(outcome.as_str()));
        if let Some(route) = complexity.map(Complexity::as_str) {
            self.set(0, "kb_agent.route", text(route));
        }
        self.set(0, "kb_agent.iterations", number(*iterations));
        self.set(0, "kb_agent.reasoning_calls", number(*reasoning_calls));
        self.set(0, "kb_agent.calls_saved", number(*calls_saved));
        if self.mode == Mode::Llm {
            self.set_usage(0, Some(*prompt_tokens), Some(*completion_tokens));
        }
        if let Some(cost) = spent.cost_usd {
            self.set(0, "kb_agent.cost_usd", double(cost));
        }
        let error = error.as_deref().unwrap_or("failed");
        let kind = match outcome {
            Outcome::Failed => error_type(error),
            Outcome::Cancelled => "cancelled",
            Outcome::Answered | Outcome::NotFound => return,
        };
        let is_told = self.detail == TraceDetail::Texts && *outcome == Outcome::Failed;
        let why = if is_told { error } else { outcome.as_str() };
        self.fail(0, why, kind);
        // The node that did not end, and the last call that it made: what went wrong is there.
        if self.spans[self.node].end_time_unix_nano == 0 {
            let node = self.node;
            self.spans[node].end_time_unix_nano = nanos(event);
            self.fail(node, why, kind);
            let parent = self.spans[node].span_id.clone();
            let is_call = |span: &Span| {
                span.parent_span_id == parent && span.kind == i32::from(SpanKind::Client)
            };
            let last = self.spans.iter().rposition(is_call);
            // A run that was cancelled says nothing of the call before.
            if let Some(call) = last.filter(|_| *outcome == Outcome::Failed) {
                self.fail(call, why, kind);
            }
        }
    }

    /// Marks a span as failed; `kind` is what such failures are grouped by.
    fn fail(&mut self, at: usize, why: &str, kind: &str) {
        self.spans[at].status = Some(failure(why));
        self.set(at, "error.type", text(kind));
    }

    /// Sets an attribute, in the place of one of that name.
    fn set(&mut self, at: usize, name: &str, value: Any) {
        let attribute = key_value(name, value);
        let attributes = &mut self.spans[at].attributes;
        match attributes.iter_mut().find(|one| one.key == name) {
            Some(there) => *there = attribute,
            None => attributes.push(attribute),
        }
    }

    /// Sets what went in or came out, which only a trace with texts has.
    fn set_text(&mut self, at: usize, side: &str, mime_type: &str, value: &str) {
        if self.detail == TraceDetail::Texts {
            self.set(at, &format!("{side}.value"), text(value));
            self.set(at, &format!("{side}.mime_type"), text(mime_type));
        }
    }

    fn set_usage(&mut self, at: usize, sent: Option<u64>, received: Option<u64>) {
        self.set_count(at, "gen_ai.usage.input_tokens", sent);
        self.set_count(at, "gen_ai.usage.output_tokens", received);
    }

    fn set_count(&mut self, at: usize, name: &str, count: Option<u64>) {
        if let Some(count) = count {
            self.set(
                at,
                name,
                Any::IntValue(i64::try_from(count).unwrap_or(i64::MAX)),
            );
        }
    }
}

/// The time of an event. Those of one millisecond are told apart by their number in the run, in microseconds, so
/// that the order of spans is that of the events.
fn nanos(event: &Event) -> u64 {
    let number = event.seq.saturating_mul(1_000);
    event.ts.0.saturating_mul(1_000_000).saturating_add(number)
}

/// What a failure is grouped by: the status that a server answered, which stands in brackets.
fn error_type(error: &str) -> &str {
    let in_brackets = error
        .split('(')
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    let mut statuses = in_brackets.map(|(within, _)| within);
    let is_status = |word: &&str| word.len() == 3 && word.bytes().all(|b| b.is_ascii_digit());
    statuses.find(is_status).unwrap_or("_OTHER")
}

/// The messages of a prompt, each below a line with its role in brackets.
fn messages_of(prompt: &str) -> Vec<(&str, &str)> {
    let mut messages = Vec::new();
    let mut rest = prompt;
    while let Some((role, content)) = message_head(rest) {
        let mut ends = content.match_indices("\n\n[").map(|(at, _)| at);
        let end = ends.find(|at| message_head(&content[at + 2..]).is_some());
        let end = end.unwrap_or(content.len());
        messages.push((role, &content[..end]));
        rest = content.get(end + 2..).unwrap_or_default();
    }
    messages
}

/// The role of the message that begins here, and what follows its line.
fn message_head(text: &str) -> Option<(&str, &str)> {
    let (head, content) = text.split_once('\n')?;
    let role = head.strip_prefix('[')?.strip_suffix(']')?;
    matches!(role, "system" | "user" | "assistant").then_some((role, content))
}

fn duration(ms: f64) -> u64 {
    (ms.max(0.0) * 1e6) as u64
}

/// The id of a run is one already; that of a log from elsewhere is hashed.
fn trace_id(run: &RunId) -> Vec<u8> {
    match uuid::Uuid::parse_str(&run.0) {
        Ok(id) => id.into_bytes().to_vec(),
        Err(_) => blake3::hash(run.0.as_bytes()).as_bytes()[..16].to_vec(),
    }
}

/// The id of the span of that number.
fn span_id(run: &RunId, number: usize) -> Vec<u8> {
    let name = format!("{run} {number}");
    blake3::hash(name.as_bytes()).as_bytes()[..8].to_vec()
}

fn failure(why: &str) -> Status {
    Status {
        message: why.to_owned(),
        code: StatusCode::Error.into(),
    }
}

fn key_value(name: &str, value: Any) -> KeyValue {
    KeyValue {
        key: name.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

fn text(value: &str) -> Any {
    Any::StringValue(value.to_owned())
}

fn number(value: u32) -> Any {
    Any::IntValue(i64::from(value))
}

fn double(value: f64) -> Any {
    Any::DoubleValue(value)
}

fn array(values: Vec<Any>) -> Any {
    let values = values.into_iter();
    let values = values.map(|value| AnyValue { value: Some(value) });
    Any::ArrayValue(ArrayValue {
        values: values.collect(),
    })
}

/// A field of an event.
fn attribute_value(value: &Value) -> Any {
    match value {
        Value::Null => text(""),
        Value::Bool(value) => Any::BoolValue(*value),
        Value::Number(value) => match value.as_i64() {
            Some(whole) => Any::IntValue(whole),
            None => double(value.as_f64().unwrap_or_default()),
        },
        Value::String(value) => text(value),
        Value::Array(values) => array(values.iter().map(attribute_value).collect()),
        Value::Object(fields) => Any::KvlistValue(KeyValueList {
            values: fields
                .iter()
                .map(|(name, value)| key_value(name, attribute_value(value)))
                .collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_taken_apart_into_its_messages() {
        let prompt = "[system]\nBe brief.\n\n[user]\nSee [1]:\n\n[note]\nx\n\n[assistant]\nYes.";
        let expected = [
            ("system", "Be brief."),
            ("user", "See [1]:\n\n[note]\nx"),
            ("assistant", "Yes."),
        ];
        assert_eq!(messages_of(prompt), expected);
        assert!(messages_of("no role").is_empty());
        assert_eq!(
            error_type("the server at 127.0.0.1:9 failed (500): no"),
            "500"
        );
        assert_eq!(error_type("no connection (refused)"), "_OTHER");
    }
}
