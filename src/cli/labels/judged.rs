use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::audit::{Labels, Lookup};
use crate::cli::output::{CommandFailure, print_notices};
use crate::config::Settings;
use crate::domain::{Complexity, LabelTarget, LabelVerdict, other_routes};
use crate::protocol::{Label, RunId, RunRecord, RunSummary};

/// What to say where there is no label.
pub(super) const NOTHING_LABELLED: &str = "nothing is judged yet: + and - on the screen, or 'kb-agent label', judge a route, \
     a passage or an answer ('kb-agent help evaluating')";

/// The labels as far as they can be read; one line on standard error tells of what cannot.
pub(crate) fn read_labels(log: &Path) -> Labels {
    let (labels, complaint) = Labels::read_or_complain(log);
    print_notices(complaint);
    labels
}

/// The labels that hold, and the runs that they are about.
pub(super) struct JudgedRuns {
    pub labels: Vec<Label>,
    /// The judged runs that the log still has, with their labels, in the order in which they began.
    pub runs: Vec<RunRecord>,
    /// What each of them is called.
    names: BTreeMap<String, String>,
    /// How many are not in the log.
    pub missing: usize,
}

impl JudgedRuns {
    pub(super) fn read(settings: &Settings) -> Result<Self, CommandFailure> {
        let labels = Labels::read(&settings.audit_log).map_err(CommandFailure::failed)?;
        print_notices(labels.complaint());
        let current: Vec<Label> = labels.current().into_iter().cloned().collect();
        let judged: BTreeSet<&RunId> = current.iter().map(|label| &label.run).collect();
        let lookup = Lookup::open(&settings.audit_log)?;
        let is_judged = |run: &&RunSummary| judged.contains(&run.id);
        let wanted: Vec<_> = lookup.runs().iter().filter(is_judged).collect();
        let mut runs = lookup.records(&wanted)?;
        labels.attach_to(&mut runs);
        let names = lookup.short_names().into_iter();
        let names = names.map(|(id, name)| (id.to_owned(), name.to_owned()));
        Ok(Self {
            missing: judged.len() - runs.len(),
            names: names.collect(),
            labels: current,
            runs,
        })
    }

    /// The run of that id, where the log still has it.
    pub(super) fn run(&self, id: &RunId) -> Option<&RunRecord> {
        self.runs.iter().find(|run| run.summary.id == *id)
    }

    /// What a run is called.
    pub(super) fn name<'n>(&'n self, id: &'n RunId) -> &'n str {
        self.names.get(&*id.0).map_or(&*id.0, String::as_str)
    }

    /// The questions whose route was judged, each once; the last word holds.
    pub(super) fn routes(&self) -> Vec<JudgedRoute<'_>> {
        let mut last: BTreeMap<&str, usize> = BTreeMap::new();
        let mut routes: Vec<JudgedRoute<'_>> = Vec::new();
        for label in &self.labels {
            let (LabelTarget::Route, Some(run)) = (&label.target, self.run(&label.run)) else {
                continue;
            };
            let Some(taken) = run.summary.route else {
                continue;
            };
            let query = run.summary.question.as_str();
            let route = JudgedRoute {
                query,
                expected: expected(taken, label.verdict),
                taken: run.summary.forced_route.is_none().then_some(taken),
            };
            if let Some(at) = last.get(query) {
                routes[*at] = route;
            } else {
                last.insert(query, routes.len());
                routes.push(route);
            }
        }
        routes
    }
}

/// A question whose route was judged.
pub(super) struct JudgedRoute<'r> {
    pub query: &'r str,
    /// The routes that are right, the likeliest first.
    pub expected: Vec<Complexity>,
    /// The route that it took by itself.
    pub taken: Option<Complexity>,
}

fn expected(taken: Complexity, verdict: LabelVerdict) -> Vec<Complexity> {
    match verdict {
        LabelVerdict::Bad {
            should_be: Some(route),
        } => vec![route],
        LabelVerdict::Bad { should_be: None } => other_routes(taken).to_vec(),
        LabelVerdict::Good | LabelVerdict::TakenBack => vec![taken],
    }
}
