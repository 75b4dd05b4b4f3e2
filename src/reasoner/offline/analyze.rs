//! What kind of question, and which way through the graph (R1–R6).
//!
//! A question is complex when it has sub-questions: parts that stand alone, or the steps of one that
//! learned weights take for several look-ups. They are what the complex path is for; a question that
//! is merely long gains nothing from it. Chinese is harder to part: there the weights alone may say so,
//! and the question is graded as a whole.

use crate::agent::ports::{Analysis, AnalyzeJob};
use crate::domain::{Complexity, Cue, QueryType, RoutingPlan, ToolName, ToolRecord, Usage};

use super::because;
use super::decompose::sub_questions;
use super::learned;
use super::literals::Literals;
use super::overview::asks_what_there_is;
use super::reply::reply;
use super::resolve::resolve;
use super::several::asks_for_several;
use super::social::{Social, small_talk_probability, social};
use super::words::{plain_words, terms};
use crate::text::is_chinese;

/// From this probability on a Chinese question without parts is complex: of ten so taken one is not.
const COMPLEX_ZH_FROM: f64 = 0.6;

/// Makes the routing plan; for small talk also the reply.
pub(super) fn analyze(job: &AnalyzeJob<'_>) -> Analysis {
    let usage = Usage::ONE_CALL;
    let small_talk = Some(small_talk_probability(job.query));
    let kind = match job.forced {
        None if job.failed.is_empty() && !asks_what_there_is(job.query) => social(job.query),
        Some(Complexity::Chitchat) => Some(social(job.query).unwrap_or(Social::Other)),
        _ => None,
    };
    if let Some(kind) = kind {
        return Analysis {
            plan: RoutingPlan {
                query_type: QueryType::Chitchat,
                complexity: Complexity::Chitchat,
                ..RoutingPlan::default()
            },
            reply: Some(reply(kind, job.query)),
            because: match job.forced {
                Some(_) => Vec::new(),
                None => because::of_small_talk(job.query),
            },
            small_talk,
            usage,
            warnings: Vec::new(),
        };
    }
    let plan = routing(job);
    Analysis {
        because: because(job, &plan),
        plan,
        reply: None,
        small_talk,
        usage,
        warnings: Vec::new(),
    }
}

/// What decided that route; nothing where the user did.
fn because(job: &AnalyzeJob<'_>, plan: &RoutingPlan) -> Vec<Cue> {
    match job.forced {
        Some(_) => Vec::new(),
        None if !job.failed.is_empty() => vec![because::said("nothing of use was found before")],
        None => {
            let query = resolve(job.query, job.history);
            because::of_question(&query, plan.complexity)
        }
    }
}

/// Whether the answer is a file rather than what it says.
pub(super) fn asks_for_files(query: &str) -> bool {
    if asks_what_there_is(query) {
        return true;
    }
    let line = format!(" {} ", plain_words(query).join(" "));
    // Papers that somebody has to bring are no files, and neither is what is said of all files.
    let papers = [
        "documents do i need",
        "documents do we need",
        "documents are needed",
        "documents are required",
        "documents must i bring",
        "documents must we bring",
    ];
    let kinds = [
        "file formats",
        "file format",
        "file types",
        "file type",
        "file extensions",
        "file names",
        "file name",
        "file sizes",
        "file size",
    ];
    let says = |cue: &&str| line.contains(&format!(" {cue} "));
    if papers.iter().any(says) || kinds.iter().any(says) && !line.contains(" files ") {
        return false;
    }
    DISCOVERY
        .iter()
        .any(|cue| line.contains(&format!(" {cue} ")))
        || DISCOVERY_ZH.iter().any(|cue| query.contains(cue))
}

/// Whether a Chinese question that could not be parted needs more than one look-up.
fn is_complex_zh(query: &str) -> bool {
    let one_list = asks_for_several(query) && !query.contains(['，', ',', '、', '和', '与', '及']);
    is_chinese(query) && !one_list && learned::complexity_zh(query) >= COMPLEX_ZH_FROM
}

fn routing(job: &AnalyzeJob<'_>) -> RoutingPlan {
    let query = resolve(job.query, job.history);
    let literals = Literals::of(&query);
    let sub_questions = match job.forced {
        Some(Complexity::Simple) => Vec::new(),
        _ => sub_questions(&query),
    };
    let complexity = match job.forced {
        Some(forced) => forced,
        // Only a complex question is graded, so one that comes back was complex.
        None if !sub_questions.is_empty() || !job.failed.is_empty() => Complexity::Complex,
        None if is_complex_zh(&query) => Complexity::Complex,
        None => Complexity::Simple,
    };
    let query_type = query_type(&query, &literals);
    let mut suggested_tools = tools_for(query_type, &literals, &sub_questions);
    if !job.failed.is_empty() {
        suggested_tools = other_tools(query_type, &suggested_tools, job.failed);
    }
    RoutingPlan {
        query_type,
        complexity,
        sub_questions,
        suggested_tools,
        grep_keywords: literals.keywords(),
    }
}

fn query_type(query: &str, literals: &Literals) -> QueryType {
    let words = plain_words(query);
    let line = format!(" {} ", words.join(" "));
    let says = |cues: &[&str]| cues.iter().any(|cue| line.contains(&format!(" {cue} ")));
    let contains = |cues: &[&str]| cues.iter().any(|cue| query.contains(cue));
    let named = !(literals.keywords().is_empty() && literals.files.is_empty());
    // Links are followed from something; without a name there is nothing to follow.
    if named && (says(RELATIONAL) || contains(RELATIONAL_ZH)) {
        QueryType::Relational
    } else if !literals.files.is_empty() || asks_for_files(query) {
        QueryType::FileDiscovery
    } else if literals.keywords().is_empty() {
        QueryType::Conceptual
    } else {
        QueryType::Exact
    }
}

fn tools_for(kind: QueryType, literals: &Literals, sub_questions: &[String]) -> Vec<ToolName> {
    match kind {
        QueryType::Exact if literal_throughout(sub_questions) => vec![ToolName::GrepSearch],
        QueryType::Exact => vec![ToolName::GrepSearch, ToolName::HybridSearch],
        QueryType::Relational => vec![ToolName::GraphRelated, ToolName::HybridSearch],
        QueryType::FileDiscovery if !literals.files.is_empty() => vec![ToolName::ReadFile],
        QueryType::FileDiscovery => vec![ToolName::LocalFileQa],
        QueryType::Conceptual | QueryType::Chitchat => vec![ToolName::HybridSearch],
    }
}

/// Whether each part asks for nothing but a literal, so that searching by meaning adds nothing.
fn literal_throughout(sub_questions: &[String]) -> bool {
    !sub_questions.is_empty()
        && sub_questions.iter().all(|part| {
            let literals = Literals::of(part);
            let mut rest = part.clone();
            for word in literals.keywords() {
                rest = rest.replace(&word, " ");
            }
            !literals.keywords().is_empty() && terms(&rest).is_empty()
        })
}

/// Another strategy: what was wished for and has not failed, then a search that was not tried.
///
/// Never [`ToolName::LocalFileQa`] unless a file is asked for: what it brings is approved unseen.
fn other_tools(kind: QueryType, wished: &[ToolName], failed: &[ToolRecord]) -> Vec<ToolName> {
    let tried = |tool: ToolName| failed.iter().any(|record| record.call.tool() == tool);
    let mut tools: Vec<ToolName> = wished
        .iter()
        .copied()
        .filter(|tool| !tried(*tool))
        .collect();
    let mut others = vec![
        ToolName::HybridSearch,
        ToolName::VectorSearch,
        ToolName::GrepSearch,
    ];
    if kind == QueryType::FileDiscovery {
        others.insert(0, ToolName::LocalFileQa);
    }
    for tool in others {
        if tools.is_empty() && !tried(tool) {
            tools.push(tool);
        }
    }
    // The plan asks in other words what was asked before.
    if !tools.contains(&ToolName::HybridSearch) {
        tools.push(ToolName::HybridSearch);
    }
    tools
}

#[rustfmt::skip]
const RELATIONAL: &[&str] = &[
    "depends on", "depend on", "depending on", "dependency", "dependencies", "dependent on", "blocks",
    "blocked by", "blocking", "block", "related to", "relates to", "relate to", "linked to", "links to", "link to",
    "linked with", "connected to", "connected with", "parent", "parents", "children", "child of", "subtasks",
    "subtask", "refers to", "references", "referenced by", "mentions", "associated with", "related documents",
    "related tickets", "upstream", "downstream", "duplicates",
];

const RELATIONAL_ZH: &[&str] = &[
    "关联",
    "依赖",
    "相关的文档",
    "相关文档",
    "相关的工单",
    "阻塞",
    "卡住",
    "挡住",
    "链接到",
    "引用了",
    "父任务",
    "子任务",
    "有关系",
    "关系到",
];

#[rustfmt::skip]
const DISCOVERY: &[&str] = &[
    "which file", "which files", "what file", "what files", "which document", "which documents",
    "what document", "what documents", "which page", "which pages", "which doc", "which docs", "find the file",
    "find file", "find files", "find the document", "find documents", "list files", "list the files",
    "list documents", "where is the file", "where is the document", "in which file", "in which document",
    "what docs", "open the file", "file about", "files about", "document about", "documents about",
    "file describes", "which notes", "which readme", "locate the file",
];

const DISCOVERY_ZH: &[&str] = &[
    "哪个文件",
    "哪些文件",
    "哪个文档",
    "哪些文档",
    "哪份文档",
    "哪篇",
    "什么文件",
    "找到文件",
    "查找文件",
    "列出文件",
    "在哪个文",
    "文件里",
    "文档里",
    "文件在哪",
    "文档在哪",
];
