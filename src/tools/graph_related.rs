//! What a document or ticket is linked with, in both directions.
//!
//! The evidence is the lines on which the links stand, as they are, so that the kind of relation
//! is read where it is written: `Blocks: PROJ-105`. Where it is written further up, as a heading,
//! a key or the head of a table, the lines begin there; and where a line says of a ticket what it
//! blocks without saying which ticket, they begin at the heading that does. The score says how
//! plainly a line states the link: 1.0 a line that names the relation, 0.8 a link, 0.6 a mention.

use std::collections::{BTreeMap, HashMap, HashSet};

use tokio_util::sync::CancellationToken;

use super::grow::with_topics;
use crate::agent::ports::{Caller, ToolError};
use crate::domain::{Evidence, EvidenceId, LineRange, Measured, Score, ToolName, Topic};
use crate::kb::{Extraction, KnowledgeBase, LinkKind, LinkTargets, Scope, holds_ticket};
use crate::text::{spaced, stem};

const MAX_PASSAGES: usize = 20;
/// Linking lines this close together are one passage.
const GAP: usize = 3;
/// How far above a link the relation may be named.
const MAX_ABOVE: usize = 40;
/// How far above a link the heading may stand that says of which ticket it speaks.
const MAX_HEADING_ABOVE: usize = 12;

pub(super) fn run(
    base: &KnowledgeBase,
    entity: &str,
    scope: &Scope,
    Caller { cancel, .. }: Caller<'_>,
) -> Result<Vec<Evidence>, ToolError> {
    let entity = entity.trim();
    if entity.is_empty() {
        return Err(ToolError::BadArguments(
            "entity_id is empty; give a document or an id such as PROJ-123".to_owned(),
        ));
    }
    let node = GraphNode::find(base, entity, cancel)?;
    let own: Vec<&str> = node.documents.iter().map(String::as_str).collect();
    let mut linking = Vec::new();
    for (source, mut links) in base.links_of(&own)? {
        links.retain(|link| !node.targets.are_meant_by(link));
        linking.push((source, true, links));
    }
    let others = base.links_to(&node.targets, cancel)?.into_iter();
    let others = others.filter(|(source, _)| !node.documents.contains(source));
    linking.extend(others.map(|(source, links)| (source, false, links)));
    linking.retain(|(source, ..)| scope.holds(source));
    linking.sort_by(|a, b| a.0.cmp(&b.0));
    let mut passages: Vec<LinkPassage> = Vec::new();
    for (source, own, links) in linking {
        let mut lines: BTreeMap<usize, RelationLine> = BTreeMap::new();
        for link in &links {
            lines.entry(link.line).or_default().add(&link.kind);
        }
        collect(&source, own, lines, &mut passages);
    }
    if passages.is_empty() && node.documents.is_empty() {
        return Err(ToolError::NotFound {
            what: entity.to_owned(),
        });
    }
    // Stable: equally plain lines stay in the order of their files.
    passages.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.own.cmp(&a.own)));
    passages.truncate(MAX_PASSAGES);
    Ok(with_topics(base, read(base, passages, cancel), cancel))
}

/// What was asked for: an id, documents, or both (`PROJ-101` is a ticket and `PROJ-101.md`).
struct GraphNode {
    documents: HashSet<String>,
    targets: LinkTargets,
}

impl GraphNode {
    fn find(
        base: &KnowledgeBase,
        entity: &str,
        cancel: &CancellationToken,
    ) -> Result<Self, ToolError> {
        let mut found: HashSet<String> = base.find_documents(entity, cancel)?.into_iter().collect();
        if found.is_empty() && entity.contains('/') {
            let resolved = base.resolve(entity)?;
            found.extend(base.source_of(&resolved));
        }
        let (mut paths, mut names) = (HashSet::new(), HashSet::new());
        let known: Vec<&str> = found.iter().map(String::as_str).collect();
        for document in base.documents_of(&known)? {
            let source = document.source.to_lowercase();
            let file = source.rsplit('/').next().unwrap_or(&source);
            let name = stem(file);
            let folder = source.strip_suffix(file).unwrap_or_default();
            let plain = format!("{folder}{name}");
            let title = document.title.to_lowercase();
            names.extend([plain.as_str(), name, file, &source, &title].map(spaced));
            if matches!(name, "readme" | "index" | "_index") {
                paths.insert(folder.trim_end_matches('/').to_owned());
            }
            paths.insert(plain);
            paths.insert(source);
        }
        let name = match found.iter().next() {
            Some(one) if found.len() == 1 => stem(one).split('.').next(),
            _ => None,
        };
        let id = [Some(entity), name]
            .into_iter()
            .flatten()
            .map(str::to_uppercase)
            .find(|name| is_ticket(name));
        Ok(Self {
            documents: found,
            targets: LinkTargets { id, paths, names },
        })
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

/// What the links of one line say.
#[derive(Default)]
struct RelationLine {
    score: f64,
    relations: Vec<String>,
}

impl RelationLine {
    fn add(&mut self, kind: &LinkKind) {
        self.score = self.score.max(plainness(kind));
        if let LinkKind::Relation(name) = kind
            && !self.relations.contains(name)
        {
            self.relations.push(name.clone());
        }
    }
}

struct LinkPassage {
    source: String,
    lines: LineRange,
    score: f64,
    own: bool,
    /// The relations with the line on which each holds.
    relations: Vec<(usize, String)>,
}

/// Linking lines to passages, those near each other together.
fn collect(
    source: &str,
    own: bool,
    lines: BTreeMap<usize, RelationLine>,
    passages: &mut Vec<LinkPassage>,
) {
    let from = passages.len();
    for (number, line) in lines {
        let relations = line.relations.into_iter().map(|name| (number, name));
        let fresh = passages.len() > from;
        if let Some(open) = passages.last_mut().filter(|_| fresh)
            && number <= open.lines.end + GAP
        {
            open.lines.end = number;
            open.score = open.score.max(line.score);
            open.relations.extend(relations);
            continue;
        }
        passages.push(LinkPassage {
            source: source.to_owned(),
            lines: LineRange {
                start: number,
                end: number,
            },
            score: line.score,
            own,
            relations: relations.collect(),
        });
    }
}

/// The passages from the files as they are now, best first; without those whose file has become
/// shorter since it was indexed.
fn read(
    base: &KnowledgeBase,
    passages: Vec<LinkPassage>,
    cancel: &CancellationToken,
) -> Vec<Evidence> {
    let mut documents: HashMap<String, Option<Extraction>> = HashMap::new();
    let mut found: Vec<Evidence> = Vec::new();
    for passage in passages {
        let document = documents.entry(passage.source.clone()).or_insert_with(|| {
            let resolved = base.resolve(&passage.source).ok()?;
            base.read_unless(&resolved, cancel).ok()
        });
        let Some(document) = document else { continue };
        let text: Vec<&str> = document.text.lines().collect();
        let mut lines = passage.explained(&text);
        if lines.end > text.len() {
            continue;
        }
        let known = found
            .iter_mut()
            .find(|item| item.source == passage.source && item.lines.overlaps(lines));
        if let Some(item) = &known {
            lines = lines.hull(item.lines);
        }
        let place = document.place(lines);
        let said = text[lines.start - 1..lines.end].join("\n");
        if let Some(item) = known {
            (item.lines, item.place, item.text) = (lines, place, said);
            continue;
        }
        found.push(Evidence {
            id: EvidenceId(String::new()),
            source: passage.source,
            place,
            lines,
            tool: ToolName::GraphRelated,
            score: Score::clamped(passage.score),
            text: said,
            topic: Topic::default(),
            low: false,
            measured: Measured::default(),
            by: None,
        });
    }
    found
}

impl LinkPassage {
    /// Returns the lines that explain a relation: from the one that names it on.
    fn explained(&self, text: &[&str]) -> LineRange {
        let mut lines = self.lines;
        let above = |from: usize, most: usize| {
            (from.saturating_sub(most).max(1)..from)
                .rev()
                .filter_map(|number| {
                    let line = text.get(number - 1)?;
                    Some((number, *line))
                })
        };
        for (number, name) in &self.relations {
            let said = text
                .get(number - 1)
                .is_some_and(|line| line.contains(name.as_str()));
            if !said {
                let named =
                    above(*number, MAX_ABOVE).find(|(_, line)| line.contains(name.as_str()));
                lines.start = lines.start.min(named.map_or(*number, |(number, _)| number));
            }
        }
        let of_whom = is_ticket(&stem(&self.source).to_uppercase());
        if !self.own && !self.relations.is_empty() && !of_whom {
            let heading = above(lines.start, MAX_HEADING_ABOVE)
                .find(|(_, line)| line.starts_with(['#', '=', '*']) && holds_ticket(line));
            if let Some((number, _)) = heading {
                lines.start = number;
            }
        }
        lines
    }
}
