//! What a document or ticket is linked with, in both directions.
//!
//! The evidence is the lines on which the links stand, as they are, so that the kind of relation
//! ("Blocks: PROJ-105") is read where it is written. The score says how plainly a line states
//! the link: 1.0 a line that names the relation, 0.8 a link, 0.6 a mention.

use std::collections::BTreeMap;

use crate::agent::ports::ToolError;
use crate::domain::{Evidence, EvidenceId, LineRange, Measured, Score, ToolName};
use crate::kb::{Document, KnowledgeBase, Link, LinkKind, LinkTarget, stem};

const MAX_PASSAGES: usize = 20;
/// Linking lines this close together are one passage.
const GAP: usize = 3;

pub(super) fn run(base: &KnowledgeBase, entity: &str) -> Result<Vec<Evidence>, ToolError> {
    let entity = entity.trim();
    if entity.is_empty() {
        return Err(ToolError::BadArguments(
            "entity_id is empty; give a document or an id such as PROJ-123".to_owned(),
        ));
    }
    let documents = base.documents()?;
    let node = Node::find(base, &documents, entity)?;
    let mut passages: Vec<Passage> = Vec::new();
    for document in documents.iter() {
        let own = node.is_document(document);
        let mut lines: BTreeMap<usize, f64> = BTreeMap::new();
        for link in &document.links() {
            let counts = if own {
                !node.is_meant_by(link)
            } else {
                node.is_meant_by(link)
            };
            if counts {
                let plain = lines.entry(link.line).or_default();
                *plain = plain.max(plainness(&link.kind));
            }
        }
        collect(&document.source, own, &lines, &mut passages);
    }
    if passages.is_empty() && node.documents.is_empty() {
        return Err(ToolError::NotFound {
            what: entity.to_owned(),
        });
    }
    // Stable: equally plain lines stay in the order of their files.
    passages.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.own.cmp(&a.own)));
    passages.truncate(MAX_PASSAGES);
    Ok(passages
        .into_iter()
        .filter_map(|passage| passage.read(base))
        .collect())
}

/// What was asked for: an id, documents, or both (`PROJ-101` is a ticket and `PROJ-101.md`).
struct Node {
    id: Option<String>,
    documents: Vec<String>,
    /// The names by which wiki links call the documents.
    names: Vec<String>,
}

impl Node {
    fn find(base: &KnowledgeBase, documents: &[Document], entity: &str) -> Result<Self, ToolError> {
        let mut found = base.find_documents(entity)?;
        if found.is_empty() && entity.contains('/') {
            let resolved = base.resolve(entity)?;
            found.extend(base.source_of(&resolved));
        }
        let names = documents
            .iter()
            .filter(|document| found.contains(&document.source))
            .flat_map(|document| {
                let source = document.source.to_lowercase();
                let file = source.rsplit('/').next().unwrap_or(&source).to_owned();
                let name = stem(&file).to_owned();
                let folder = source.strip_suffix(&file).unwrap_or_default();
                [
                    format!("{folder}{name}"),
                    name,
                    file,
                    source,
                    document.title.to_lowercase(),
                ]
            })
            .collect();
        let name = match found.as_slice() {
            [one] => stem(one).split('.').next(),
            _ => None,
        };
        let id = [Some(entity), name]
            .into_iter()
            .flatten()
            .map(str::to_uppercase)
            .find(|name| is_ticket(name));
        Ok(Self {
            id,
            documents: found,
            names,
        })
    }

    fn is_document(&self, document: &Document) -> bool {
        self.documents.contains(&document.source)
    }

    fn is_meant_by(&self, link: &Link) -> bool {
        match &link.target {
            LinkTarget::Id(id) => self.id.as_ref() == Some(id),
            LinkTarget::Path(path) => self.documents.iter().any(|source| {
                source == path || source.strip_suffix(".md").is_some_and(|stem| stem == path)
            }),
            LinkTarget::Name(name) => self.names.contains(name),
        }
    }
}

fn is_ticket(name: &str) -> bool {
    name.rsplit_once('-').is_some_and(|(project, number)| {
        project.len() > 1
            && project.starts_with(|c: char| c.is_ascii_uppercase())
            && project.chars().all(|c| c.is_ascii_alphanumeric())
            && !number.is_empty()
            && number.chars().all(|c| c.is_ascii_digit())
    })
}

fn plainness(kind: &LinkKind) -> f64 {
    match kind {
        LinkKind::Relation(_) => 1.0,
        LinkKind::Markdown | LinkKind::Wiki => 0.8,
        LinkKind::Mention => 0.6,
    }
}

struct Passage {
    source: String,
    lines: LineRange,
    score: f64,
    own: bool,
}

impl Passage {
    /// From the file as it is now; `None` when it has become shorter since it was indexed.
    fn read(self, base: &KnowledgeBase) -> Option<Evidence> {
        let document = base.read(&base.resolve(&self.source).ok()?).ok()?;
        let lines: Vec<&str> = document.text.lines().collect();
        let within = lines.get(self.lines.start - 1..self.lines.end)?;
        Some(Evidence {
            id: EvidenceId(String::new()),
            source: self.source,
            place: document.place(self.lines),
            lines: self.lines,
            tool: ToolName::GraphRelated,
            score: Score::clamped(self.score),
            text: within.join("\n"),
            low: false,
            measured: Measured::default(),
        })
    }
}

fn collect(source: &str, own: bool, lines: &BTreeMap<usize, f64>, passages: &mut Vec<Passage>) {
    let from = passages.len();
    for (&line, &score) in lines {
        let fresh = passages.len() > from;
        if let Some(open) = passages.last_mut().filter(|_| fresh)
            && line <= open.lines.end + GAP
        {
            open.lines.end = line;
            open.score = open.score.max(score);
            continue;
        }
        passages.push(Passage {
            source: source.to_owned(),
            lines: LineRange {
                start: line,
                end: line,
            },
            score,
            own,
        });
    }
}
