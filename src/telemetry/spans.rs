//! A trace from the events of its run: a span for the run, each visit of a node, each call of a model and
//! each call of a tool; decisions are events of the node's span.
//!
//! The names of attributes are those of OpenTelemetry's conventions for generative AI (`gen_ai.*`) and of
//! OpenInference (`openinference.*`, `llm.*`, `retrieval.*`, `input.*`, `output.*`), and `kb_agent.*` for
//! what neither has a name for. Ids follow from the id of the run, so that a run is the same trace
//! whenever it is made: the trace is found by the run's id without its hyphens.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event as SpanEvent, Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use serde_json::Value;

use crate::domain::{Complexity, Cue, NodeName, Outcome, measure_of};
use crate::protocol::{Event, EventBody, EvidenceItem, Mode, RunId};

/// What the program is called in a trace.
const PROGRAM: &str = env!("CARGO_PKG_NAME");

/// How much of a run its trace tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceDetail {
    /// Numbers, decisions and names of files and models.
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

/// The fields of events that hold no text of a question, an answer or a document.
const PLAIN_FIELDS: [(&str, &[&str]); 7] = [
    ("route_decided", &["from", "to", "reason"]),
    (
        "routing_plan",
        &["complexity", "query_type", "suggested_tools"],
    ),
    ("fast_path_hit", &["path_type", "rule_name"]),
    ("evidence_graded", &["scores", "average", "action", "by"]),
    ("evidence_removed", &["id", "score", "not_looked_at"]),
    ("evidence_numbered", &["items"]),
    ("warning", &["code"]),
];

/// The traces of these runs, as a collector takes them. The events of a run are in their order.
pub fn trace_request(events: &[Event], detail: TraceDetail) -> ExportTraceServiceRequest {
    let mut traces: Vec<RunTrace> = Vec::new();
    for event in events {
        match traces.iter_mut().rfind(|trace| trace.run == event.run) {
            Some(trace) => trace.apply(event),
            None => traces.extend(RunTrace::begin(event, detail)),
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
    /// Passages that the span of that node lists.
    documents: usize,
}

impl RunTrace {
    /// The trace of the run that this event begins; `None` when it begins none.
    fn begin(event: &Event, detail: TraceDetail) -> Option<Self> {
        let EventBody::RunStarted {
            session,
            place,
            query,
            mode,
            model,
            forced_route,
            ..
        } = &event.body
        else {
            return None;
        };
        let mut trace = Self {
            run: event.run.clone(),
            detail,
            mode: *mode,
            spans: Vec::new(),
            node: 0,
            documents: 0,
        };
        trace.open(&format!("invoke_agent {PROGRAM}"), "AGENT", nanos(event));
        trace.set(0, "gen_ai.operation.name", text("invoke_agent"));
        trace.set(0, "gen_ai.agent.name", text(PROGRAM));
        trace.set(0, "gen_ai.conversation.id", text(session));
        trace.set(0, "session.id", text(session));
        trace.set(0, "kb_agent.run", text(&event.run.0));
        if *mode == Mode::Llm {
            trace.set(0, "gen_ai.request.model", text(model));
        } else {
            trace.set(0, "gen_ai.provider.name", text(PROGRAM));
        }
        if let Some(route) = forced_route {
            trace.set(0, "kb_agent.forced_route", text(route.as_str()));
        }
        trace.set_text(0, "input.value", query);
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
            EventBody::ToolFinished { .. } => self.add_tool_call(event),
            EventBody::EvidenceAdded { items } => {
                for item in items {
                    self.add_document(item);
                }
            }
            EventBody::AnswerFinished {
                text: answer,
                citations,
                confidence,
                ..
            } => {
                self.set(0, "kb_agent.citations", number(citations.len() as u32));
                if let Some(confidence) = confidence {
                    self.set(0, "kb_agent.confidence", double(confidence.value()));
                }
                self.set_text(0, "output.value", answer);
            }
            EventBody::RunFinished { .. } => self.end(event),
            body => {
                if let EventBody::RoutingPlan { because, .. } = body {
                    self.set_measures(because);
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
        let earliest = self.spans[parent].start_time_unix_nano;
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
        self.documents = 0;
        self.set(self.node, "kb_agent.iteration", number(iteration));
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
        self.set(at, "gen_ai.request.model", text(model));
        self.set(at, "llm.model_name", text(model));
        self.set(at, "kb_agent.retries", number(*retries));
        self.set_usage(at, *prompt_tokens, *completion_tokens);
        // On the calls alone: who reads these adds them up.
        self.set_count(at, "llm.token_count.prompt", *prompt_tokens);
        self.set_count(at, "llm.token_count.completion", *completion_tokens);
        for (name, value) in [("input.value", prompt), ("output.value", reply)] {
            if let Some(value) = value {
                self.set_text(at, name, value);
            }
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
        self.set(at, "gen_ai.operation.name", text("execute_tool"));
        self.set(at, "gen_ai.tool.name", text(tool));
        self.set(at, "tool.name", text(tool));
        self.set(at, "kb_agent.items", number(*items as u32));
        let scores = scores.iter().map(|score| double(score.value())).collect();
        self.set(at, "kb_agent.scores", array(scores));
        if let Ok(arguments) = serde_json::to_string(call) {
            self.set_text(at, "input.value", &arguments);
        }
        if let Some(error) = error {
            let why = if self.detail == TraceDetail::Texts {
                error
            } else {
                "failed"
            };
            self.spans[at].status = Some(failure(why));
        }
    }

    fn add_document(&mut self, item: &EvidenceItem) {
        let (at, n) = (self.node, self.documents);
        self.documents += 1;
        let name = |field: &str| format!("retrieval.documents.{n}.document.{field}");
        let id = format!("{}:{}", item.source, item.lines);
        self.set(at, &name("id"), text(&id));
        self.set(at, &name("score"), double(item.score.value()));
        self.set_text(at, &name("content"), &item.excerpt);
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
        if *outcome == Outcome::Failed {
            let error = error
                .as_deref()
                .filter(|_| self.detail == TraceDetail::Texts);
            self.spans[0].status = Some(failure(error.unwrap_or("failed")));
        }
    }

    fn set(&mut self, at: usize, name: &str, value: Any) {
        self.spans[at].attributes.push(key_value(name, value));
    }

    /// Sets what only a trace with texts has.
    fn set_text(&mut self, at: usize, name: &str, value: &str) {
        if self.detail == TraceDetail::Texts {
            self.set(at, name, text(value));
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

fn nanos(event: &Event) -> u64 {
    event.ts.0.saturating_mul(1_000_000)
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
