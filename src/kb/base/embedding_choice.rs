//! Which embedding a base gets where there is a choice, and how it turns from one to the other.
//!
//! An index in the data folder keeps the choice beside it and turns where its text has changed by much. A
//! shared store keeps the model of its vectors itself: the first writer chooses, everyone else follows.

use super::{KnowledgeBase, call};
use crate::agent::ports::{Embedder, EmbeddingChoice};
use crate::domain::Languages;
use crate::embed::BuiltInModel;
use crate::kb::error::KbError;
use crate::kb::index::{EmbeddedStore, Limits, Store};
use crate::kb::languages::LanguageChoice;
use crate::kb::update::Job;

impl KnowledgeBase {
    /// Embeds what has no vector yet, by the model for what the base is written in; returns how many
    /// passages that were.
    ///
    /// A base that turns to another model is embedded by that one from the start, and searched by the vectors
    /// that it has until that is done.
    pub(super) fn embed_by_language(&self, job: &Job<'_>) -> Result<usize, KbError> {
        let Some(choice) = self.embedder.choice() else {
            return job.meaning();
        };
        let before = self.choice_before(job, choice)?;
        let reader = job.store.reader();
        let now = match before {
            Some(before) if self.shared.is_some() && choice.fixed().is_none() => before,
            _ => LanguageChoice::make(before, choice.fixed(), reader.as_ref(), job.limits())?,
        };
        let turns = before.is_some_and(|before| before.languages != now.languages);
        if turns && self.shared.is_none() {
            return self.turn_to(now, job, choice);
        }
        if before != Some(now) {
            choice.choose(now.languages);
            self.refresh()?;
            now.write(&self.home);
        }
        job.meaning()
    }

    /// The choice that the vectors of the base were made by; `None` of a base without vectors.
    fn choice_before(
        &self,
        job: &Job<'_>,
        choice: &dyn EmbeddingChoice,
    ) -> Result<Option<LanguageChoice>, KbError> {
        if self.shared.is_some() {
            let languages = languages_in_use(job.store, job.limits())?;
            return Ok(languages.map(LanguageChoice::unsampled));
        }
        if job.store.dimensions(job.limits())?.is_none() {
            return Ok(None);
        }
        let kept = LanguageChoice::read(&self.home);
        Ok(Some(kept.unwrap_or_else(|| {
            LanguageChoice::unsampled(choice.current())
        })))
    }

    fn turn_to(
        &self,
        now: LanguageChoice,
        job: &Job<'_>,
        choice: &dyn EmbeddingChoice,
    ) -> Result<usize, KbError> {
        let embedder = choice.embedder_for(now.languages);
        let store = EmbeddedStore::open(&self.home, embedder.model_id())?;
        store.refresh(embedder.model_id(), job.limits())?;
        let count = Job {
            store: &store,
            embedder: embedder.as_ref(),
            ..*job
        }
        .meaning()?;
        if store.reader().pending_count(call())? == 0 {
            choice.choose(now.languages);
            now.write(&self.home);
            self.refresh()?;
        }
        Ok(count)
    }

    /// Searches a shared base by the model that its vectors were made by, unless the user fixed one.
    pub(super) fn follow_shared_model(&self) -> Result<(), KbError> {
        let choice = self.embedder.choice().filter(|it| it.fixed().is_none());
        if let Some(choice) = choice.filter(|_| self.shared.is_some())
            && let Some(languages) = languages_in_use(self.store.as_ref(), call())?
        {
            choice.choose(languages);
        }
        Ok(())
    }

    /// What its embedding was chosen by; `None` where nothing was chosen yet or there is no choice.
    pub fn language_choice(&self) -> Option<LanguageChoice> {
        self.embedder.choice()?;
        LanguageChoice::read(&self.home)
    }
}

/// The languages of the built-in model whose vectors a store has; `None` where it has none.
fn languages_in_use(store: &dyn Store, limits: Limits<'_>) -> Result<Option<Languages>, KbError> {
    let model = store.model_in_use(limits)?;
    Ok(model
        .and_then(|id| BuiltInModel::from_id(&id))
        .map(BuiltInModel::languages))
}
