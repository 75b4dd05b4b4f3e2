//! The models to choose from, and for which job one is chosen.

use crate::protocol::{JobModels, JobName, ModelListing, ModelOffer};
use crate::text::one_line;

use super::filtered_list::{FilteredList, MatchMode};

/// A longer name is cut.
const LONGEST_NAME: usize = 120;
/// What is looked into for the first row, which goes back to the settings.
const AS_SET: &str = "default: as the settings say";

/// What a window shows of models. The first row goes back to the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelList {
    /// `None` until they are here; why they are not known in one line.
    listing: Option<Result<ModelListing, String>>,
    /// What is looked into for each row, clean.
    texts: Vec<String>,
    /// For which job; `None`: for all.
    pub job: Option<JobName>,
    /// What is typed and selected.
    pub narrowed: FilteredList,
}

/// A row of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelRow<'a> {
    /// Goes back to what the settings say.
    AsSet,
    /// A model.
    Offer(&'a ModelOffer),
}

impl ModelList {
    /// One that is not here yet.
    pub fn for_job(job: Option<JobName>) -> Self {
        Self {
            job,
            ..Self::default()
        }
    }

    /// Takes the list, and selects the model that does the job now.
    pub fn take(&mut self, listing: Result<ModelListing, String>, in_use: &JobModels) {
        let models = listing.as_ref().map(|listing| listing.models.as_slice());
        let models = models.unwrap_or_default().iter();
        let names = models.map(|model| one_line(&model.name, LONGEST_NAME));
        self.texts = [AS_SET.to_owned()].into_iter().chain(names).collect();
        self.listing = Some(listing.map_err(|why| one_line(&why, 400)));
        self.narrow();
        self.select_used(in_use);
    }

    /// The list; nothing while it is asked for.
    pub fn listing(&self) -> Option<&Result<ModelListing, String>> {
        self.listing.as_ref()
    }

    /// How many models there are.
    pub fn count(&self) -> usize {
        self.models().len()
    }

    /// How many of them match what is typed.
    pub fn count_left(&self) -> usize {
        let left = self.narrowed.matches().iter();
        left.filter(|place| **place > 0).count()
    }

    /// Leaves those that match what is typed.
    pub fn narrow(&mut self) {
        let texts = self.texts.iter().map(String::as_str);
        self.narrowed.narrow(texts, MatchMode::Letters);
    }

    /// The next job, or the one before; all of them come first.
    pub fn step_job(&mut self, by: isize, in_use: &JobModels) {
        let all = [None].into_iter().chain(JobName::ALL.map(Some));
        let all: Vec<Option<JobName>> = all.collect();
        let at = all.iter().position(|job| *job == self.job).unwrap_or(0);
        let at = (at.cast_signed() + by).rem_euclid(all.len().cast_signed());
        self.job = all[at.cast_unsigned()];
        if self.narrowed.typed().is_empty() {
            self.select_used(in_use);
        }
    }

    /// The selected row; nothing where none is left or the models are not known.
    pub fn selected(&self) -> Option<ModelRow<'_>> {
        let place = self.narrowed.selected()?;
        let is_known = matches!(self.listing, Some(Ok(_)));
        is_known.then(|| self.row(place))
    }

    /// Returns `rows` rows from the row `from` on, each with whether it is selected.
    pub fn rows(&self, from: usize, rows: usize) -> Vec<(ModelRow<'_>, bool)> {
        let selected = self.narrowed.selected();
        let left = self.narrowed.matches().iter().skip(from).take(rows);
        left.map(|place| (self.row(*place), Some(*place) == selected))
            .collect()
    }

    fn select_used(&mut self, in_use: &JobModels) {
        let used = in_use.model(self.job.unwrap_or(JobName::Answer));
        let place = self.models().iter().position(|model| model.name == used);
        self.narrowed.select(place.map_or(0, |place| place + 1));
    }

    fn row(&self, place: usize) -> ModelRow<'_> {
        let at = place.checked_sub(1);
        let offer = at.and_then(|at| self.models().get(at));
        offer.map_or(ModelRow::AsSet, ModelRow::Offer)
    }

    fn models(&self) -> &[ModelOffer] {
        match &self.listing {
            Some(Ok(listing)) => &listing.models,
            _ => &[],
        }
    }
}
