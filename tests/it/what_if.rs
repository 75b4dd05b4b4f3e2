//! What if: the prediction over a recorded run against a run that was made within those limits.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use kb_agent::agent::ports::{
    Analysis, AnalyzeJob, AnswerSink, GradeJob, Grades, Identity, PlanJob, PlannedCalls, Reasoner,
    ReasonerError, Synthesis, SynthesizeJob, ToolError, Toolbox, WaitSink,
};
use kb_agent::domain::{
    AutoApproveRule, Change, Complexity, Evidence, EvidenceId, Forecast, GradeThresholds, GradedBy,
    GraderAction, LineRange, NodeName, Outcome, RouteReason, RoutingLimits, Score, ToolCall,
    Unknown, Usage,
};
use kb_agent::protocol::{
    Event, EventBody, ItemScore, Mode, RecordedGradings, RunId, SCHEMA, Timestamp,
};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::prop_assert_eq;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::support::{Finished, item, plan_for, question_of, run};

/// What a search finds: file, first line, further lines, score.
type Found = Vec<(u8, usize, usize, f64)>;

#[derive(Debug, Clone)]
struct Case {
    complexity: Complexity,
    /// Of each round the calls, each with its tool and what it finds, or nothing where it fails.
    rounds: Vec<Vec<(u8, Option<Found>)>>,
    grades: Vec<f64>,
    unreadable: usize,
    recorded: RoutingLimits,
    wanted: RoutingLimits,
}

fn limits() -> impl Strategy<Value = RoutingLimits> {
    let step = |from: u32, to: u32| (from..to).prop_map(|at| f64::from(at) / 20.0);
    (1..5_u32, step(6, 20), 0..6_usize, step(2, 12), step(8, 19)).prop_map(
        |(cap, vector, items, keep_from, sufficient_from)| RoutingLimits {
            max_iterations: cap,
            vector_score_threshold: vector,
            auto_approve_max_items: items,
            thresholds: GradeThresholds {
                keep_from,
                sufficient_from,
            },
            ..RoutingLimits::default()
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let found = vec((0..3_u8, 1..40_usize, 0..8_usize, 0.3..1.0), 0..6);
    let call = (0..9_u8, proptest::option::weighted(0.9, found));
    let complexity = prop_oneof![
        8 => Just(Complexity::Complex),
        1 => Just(Complexity::Simple),
        1 => Just(Complexity::Chitchat),
    ];
    // Often only one limit is moved, as a person does.
    let wanted = (any::<u8>(), limits());
    (
        complexity,
        vec(vec(call, 1..3), 5),
        vec((0..20_u32).prop_map(|at| f64::from(at) / 20.0), 24),
        0..12_usize,
        prop_oneof![Just(RoutingLimits::default()), limits()],
        wanted,
    )
        .prop_map(
            |(complexity, rounds, grades, unreadable, recorded, (which, moved))| {
                let mut wanted = recorded;
                match which % 8 {
                    0 => wanted.max_iterations = moved.max_iterations,
                    1 => wanted.vector_score_threshold = moved.vector_score_threshold,
                    2 => wanted.auto_approve_max_items = moved.auto_approve_max_items,
                    3 => wanted.thresholds.keep_from = moved.thresholds.keep_from,
                    4 => wanted.thresholds.sufficient_from = moved.thresholds.sufficient_from,
                    5 => {}
                    _ => wanted = moved,
                }
                Case {
                    complexity,
                    rounds,
                    grades,
                    unreadable,
                    recorded,
                    wanted,
                }
            },
        )
}

fn called(tool: u8, name: String) -> ToolCall {
    match tool {
        0..4 => ToolCall::VectorSearch {
            query: name,
            k: None,
        },
        4 | 5 => ToolCall::HybridSearch {
            semantic_query: name,
            exact_keywords: Vec::new(),
        },
        6 => ToolCall::GrepSearch { query: name },
        7 => ToolCall::ReadFile {
            path: name,
            start_line: None,
            end_line: None,
        },
        _ => ToolCall::LocalFileQa {
            query: name,
            path: None,
            field: None,
            value: None,
        },
    }
}

/// Thinks and finds by the state of the run alone, so that equal states go on alike.
struct Scripted(Case);

#[async_trait]
impl Reasoner for Scripted {
    fn identity(&self) -> Identity {
        Identity {
            mode: Mode::Llm,
            model: "scripted".to_owned(),
        }
    }

    async fn analyze(&self, _: AnalyzeJob<'_>) -> Result<Analysis, ReasonerError> {
        Ok(Analysis {
            plan: plan_for(self.0.complexity),
            reply: (self.0.complexity == Complexity::Chitchat).then(|| "Hello!".to_owned()),
            usage: Usage::ONE_CALL,
            ..Analysis::default()
        })
    }

    async fn plan(&self, job: PlanJob<'_>) -> Result<PlannedCalls, ReasonerError> {
        let round = job.tool_history.last().map_or(0, |last| last.round + 1) as usize;
        let calls = self.0.rounds[round % self.0.rounds.len()].iter();
        let calls = calls.enumerate();
        Ok(PlannedCalls {
            calls: calls
                .map(|(at, (tool, _))| called(*tool, format!("{round} {at}")).into())
                .collect(),
            usage: Usage::ONE_CALL,
            warnings: Vec::new(),
            by: None,
        })
    }

    async fn grade(&self, job: GradeJob<'_>) -> Result<Grades, ReasonerError> {
        let grade = |item: &Evidence| {
            let file = item.source.len() + usize::from(item.source.as_bytes()[0]);
            self.0.grades[(file * 7 + item.lines.start + item.lines.end) % self.0.grades.len()]
        };
        let scores = if job.context.len() == self.0.unreadable {
            vec![Some(0.5)]
        } else {
            job.context.iter().map(grade).map(Some).collect()
        };
        Ok(Grades {
            scores: Ok(scores),
            usage: Usage::ONE_CALL,
            warnings: Vec::new(),
            by: None,
        })
    }

    async fn synthesize(
        &self,
        _: SynthesizeJob<'_>,
        out: AnswerSink,
    ) -> Result<Synthesis, ReasonerError> {
        out.push("So it is.").await;
        Ok(Synthesis {
            replacement: None,
            outcome: Outcome::Answered,
            confidence: None,
            quoted: Vec::new(),
            usage: Usage::ONE_CALL,
            warnings: Vec::new(),
        })
    }
}

#[async_trait]
impl Toolbox for Scripted {
    async fn run(&self, call: &ToolCall, _: Option<&WaitSink>) -> Result<Vec<Evidence>, ToolError> {
        let mut numbers = call.subject().split(' ').map(|n| n.parse().unwrap());
        let (round, at): (usize, usize) = (numbers.next().unwrap(), numbers.next().unwrap());
        let (_, found) = &self.0.rounds[round % self.0.rounds.len()][at];
        let Some(found) = found else {
            return Err(ToolError::NotFound {
                what: call.subject().to_owned(),
            });
        };
        let made = found.iter().map(|(file, line, more, score)| Evidence {
            source: format!("{file}.md"),
            lines: LineRange {
                start: *line,
                end: line + more,
            },
            ..item(*line, call.tool(), *score)
        });
        let mut made: Vec<Evidence> = made.collect();
        made.sort_by(|a, b| b.score.value().total_cmp(&a.score.value()));
        Ok(made)
    }
}

async fn answered(case: &Case, limits: RoutingLimits) -> Finished {
    let scripted = Arc::new(Scripted(case.clone()));
    let question = question_of("the question");
    run(scripted.clone(), scripted, limits, question).await
}

/// A run as the log holds it.
fn logged(finished: &Finished) -> Vec<Event> {
    let lines = finished.events.iter().map(|event| {
        let line = serde_json::to_string(event).unwrap();
        serde_json::from_str::<Event>(&line).unwrap()
    });
    let kept = |event: &Event| !matches!(event.body, EventBody::AnswerDelta { .. });
    lines.filter(kept).collect()
}

/// What a grading came to in a run that was made.
#[derive(Debug, PartialEq)]
struct Made {
    to: Option<NodeName>,
    reason: RouteReason,
    by: GradedBy,
    kept: Vec<bool>,
}

fn made(finished: &Finished) -> Vec<Made> {
    let mut gradings: Vec<Made> = Vec::new();
    let mut ids: Vec<EvidenceId> = Vec::new();
    for body in finished.bodies() {
        match body {
            EventBody::EvidenceGraded { scores, by, .. } => {
                ids = scores.iter().map(|item| item.id.clone()).collect();
                gradings.push(Made {
                    to: None,
                    reason: RouteReason::Forced,
                    by: *by,
                    kept: vec![true; ids.len()],
                });
            }
            EventBody::EvidenceRemoved { id, .. } => {
                let at = ids.iter().position(|known| known == id).unwrap();
                gradings.last_mut().unwrap().kept[at] = false;
            }
            EventBody::RouteDecided { from, to, reason } if *from == NodeName::GradeEvidence => {
                let last = gradings.last_mut().unwrap();
                (last.to, last.reason) = (Some(*to), *reason);
            }
            _ => {}
        }
    }
    gradings
}

fn agrees(case: &Case, change: &mut BTreeMap<&'static str, u32>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let (recorded, other) = runtime.block_on(async {
        (
            answered(case, case.recorded).await,
            answered(case, case.wanted).await,
        )
    });
    let gradings = RecordedGradings::from_events(&logged(&recorded));
    assert_eq!(gradings.limits, case.recorded);
    let result = gradings.what_if(&case.wanted);
    let (was, is) = (made(&recorded), made(&other));
    assert_eq!(gradings.rounds.len(), was.len());
    for (at, round) in result.rounds.iter().enumerate() {
        let taken = Made {
            to: round.taken.next(),
            reason: round.taken.reason,
            by: round.taken.by,
            kept: round.taken.kept.clone(),
        };
        assert_eq!(taken, was[at], "as it was, round {at}");
        match &round.would {
            Forecast::Decided(would) => {
                let would = Made {
                    to: would.next(),
                    reason: would.reason,
                    by: would.by,
                    kept: would.kept.clone(),
                };
                assert_eq!(would, is[at], "as it would be, round {at}");
            }
            Forecast::Unknown(why) => {
                assert_eq!(*why, Unknown::NotGraded);
                assert!(matches!(was[at].by, GradedBy::Rule(_)));
                assert!(!matches!(is[at].by, GradedBy::Rule(_)));
            }
        }
    }
    let last = result.rounds.len().saturating_sub(1);
    let name = match result.change {
        Change::Nothing => {
            assert_eq!(was, is);
            assert_eq!(recorded.path(), other.path());
            "nothing"
        }
        Change::Decider | Change::Reason => {
            assert_eq!(recorded.path(), other.path());
            assert!(was[last] != is[last] && was[last].kept == is[last].kept);
            "decider or reason"
        }
        Change::Evidence => {
            assert!(was[last].to == is[last].to && was[last].kept != is[last].kept);
            "evidence"
        }
        Change::Route => {
            assert_ne!(was[last].to, is[last].to);
            "route"
        }
        Change::Unknown(_) => "unknown",
    };
    *change.entry(name).or_default() += 1;
    assert_eq!(was[..last.min(was.len())], is[..last.min(was.len())]);
}

#[test]
fn what_if_agrees_with_a_run_within_those_limits() {
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(
        Config {
            cases: 500,
            ..config
        },
        rng,
    );
    let changes = std::cell::RefCell::new(BTreeMap::new());
    let case = case();
    runner
        .run(&case, |case| {
            agrees(&case, &mut changes.borrow_mut());
            Ok(())
        })
        .unwrap();
    // The cases reach every kind of difference.
    let changes = changes.into_inner();
    for kind in [
        "nothing",
        "decider or reason",
        "evidence",
        "route",
        "unknown",
    ] {
        assert!(changes.get(kind).is_some_and(|n| *n >= 10), "{changes:?}");
    }
}

fn of_log(scores: &str, threshold: f64) -> RecordedGradings {
    let event = |seq: u32, body: &str| -> Event {
        let line = format!(
            "{{\"schema\":1,\"ts\":\"2026-01-02T03:04:05.000Z\",\"run\":\"r\",\"seq\":{seq},{body}}}"
        );
        serde_json::from_str(&line).unwrap()
    };
    let call = r#""tool":"vector_search","args":{"query":"q"}"#;
    let items: Vec<String> = (1..4)
        .map(|n| {
            format!(
                r#"{{"id":"e{n}","source":"{n}.md","start_line":1,"end_line":2,"tool":"vector_search","score":0.9,"excerpt":"x"}}"#
            )
        })
        .collect();
    RecordedGradings::from_events(&[
        event(
            0,
            &format!(
                r#""event":"run_started","session":"s","query":"q","mode":"llm","model":"m","settings":{{"max_iterations":3,"vector_score_threshold":{threshold},"auto_approve_max_items":2}}"#
            ),
        ),
        event(1, &format!(r#""event":"tool_called",{call}"#)),
        event(
            2,
            &format!(r#""event":"tool_finished",{call},"items":3{scores},"ms":1.0"#),
        ),
        event(
            3,
            &format!(r#""event":"evidence_added","items":[{}]"#, items.join(",")),
        ),
        event(
            4,
            r#""event":"evidence_graded","scores":[{"id":"e1","score":0.4},{"id":"e2","score":0.4},{"id":"e3","score":0.4}],"average":0.4,"action":"REFINE","by":"grader""#,
        ),
    ])
}

#[test]
fn what_if_says_where_an_older_log_does_not_hold_what_decides() {
    let wanted = RoutingLimits {
        vector_score_threshold: 0.85,
        ..RoutingLimits::default()
    };
    let older = of_log("", 0.95);
    // What was not recorded of the thresholds is what they always were.
    assert_eq!(older.limits.thresholds, GradeThresholds::default());
    assert_eq!(
        older.what_if(&wanted).change,
        Change::Unknown(Unknown::NotRecorded)
    );
    let newer = of_log(r#","scores":[0.9,0.9,0.9]"#, 0.95);
    let result = newer.what_if(&wanted);
    assert_eq!(result.change, Change::Route);
    let Forecast::Decided(would) = &result.rounds[0].would else {
        panic!("{result:?}");
    };
    let rule = GradedBy::Rule(AutoApproveRule::HighVectorScore);
    assert_eq!((would.by, would.next()), (rule, Some(NodeName::Synthesize)));
    assert_eq!(would.kept_count(), 3);
    // A score that was dropped from the context in a merge decides as it did.
    let hidden = of_log(r#","scores":[0.9,0.9,0.5]"#, 0.95);
    assert_eq!(hidden.what_if(&wanted).change, Change::Nothing);
}

#[test]
fn what_if_of_a_log_that_was_changed_does_not_break() {
    let mut gradings = of_log("", 0.8);
    gradings.rounds[0].grades.push(Some(Score::FULL));
    gradings.rounds[0].round = u32::MAX;
    let result = gradings.what_if(&RoutingLimits::default());
    assert_eq!(result.change, Change::Unknown(Unknown::NotRecorded));
}

#[test]
fn what_if_reads_scores_from_the_log_to_the_last_bit() {
    let config = Config {
        cases: 500,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let scores = vec((any::<u64>(), 0..40_u32), 1..8).prop_map(|parts| {
        let score = |(bits, small): (u64, u32)| {
            bits as f64 / u64::MAX as f64 / f64::from(1 << small.min(30))
        };
        parts.into_iter().map(score).collect::<Vec<_>>()
    });
    let same = |scores: Vec<f64>| {
        let average = scores.iter().sum::<f64>() / scores.len() as f64;
        let items = scores.iter().enumerate();
        let items = items.map(|(at, score)| ItemScore {
            id: EvidenceId(format!("e{at}")),
            score: Score::clamped(*score),
            not_looked_at: false,
        });
        let body = EventBody::EvidenceGraded {
            scores: items.collect(),
            average,
            action: GraderAction::Refine,
            by: GradedBy::Grader,
        };
        let line = serde_json::to_string(&Event {
            schema: SCHEMA,
            ts: Timestamp(0),
            run: RunId("r".into()),
            seq: 0,
            body,
        });
        let read: Event = serde_json::from_str(&line.unwrap()).unwrap();
        let EventBody::EvidenceGraded {
            scores: read,
            average: read_average,
            ..
        } = read.body
        else {
            panic!("another event");
        };
        let read = read.iter().map(|item| item.score.value().to_bits());
        let read: Vec<u64> = read.collect();
        let written: Vec<u64> = scores.iter().map(|score| score.to_bits()).collect();
        prop_assert_eq!(read, written);
        prop_assert_eq!(read_average.to_bits(), average.to_bits());
        Ok(())
    };
    TestRunner::new_with_rng(config, rng)
        .run(&scores, same)
        .unwrap();
}
