//! The answer as an extract: the few units that cover the question, each with its source.
//!
//! Nothing is written that the evidence does not say. Whether it says anything is decided by an absolute
//! measure, because a simple question was never graded and nothing may be found for it (R23).

use crate::agent::ports::{EmbedError, Embedder};
use crate::domain::{Evidence, Language, Outcome};
use crate::text::is_chinese;

use super::super::language::sentences;
use super::asks_for_files;
use super::both_sides::{of_both, rows_of_both};
use super::choose::{Choice, Chosen, Sides, Wish, choose, opening};
use super::fit_to_say::{DEFINES, asks_what_it_is_about, definition, opening_of};
use super::frames::{Frames, filled};
use super::gate::{Gate, PLAINLY};
use super::labels::{label, led};
use super::named_files::asks_for_content;
use super::nearest::{NEAREST, nothing};
use super::passage::Passage;
use super::quoting::{quoted, written};
use super::relations::{asks_from_the_end, related, tells_relations, told};
use super::relevance::{ANSWERS_FROM, Features, features, relevance};
use super::script::is_mostly_chinese;
use super::sought::Sought;
use super::topic::topic_of;
use super::units::Kind;
use super::words::terms;

/// What an answer is made from.
pub(super) struct Answer<'a> {
    /// The parts of the question, or none.
    pub(super) parts: &'a [String],
    pub(super) items: &'a [Evidence],
    pub(super) passages: Vec<Passage>,
    /// What the piece of an answer to each part is headed with.
    pub(super) labels: &'a [String],
    /// The language that is wanted.
    pub(super) language: Language,
    pub(super) chinese: bool,
    /// See [`Wish::told`].
    pub(super) told: &'a str,
    pub(super) embedder: &'a dyn Embedder,
}

/// What was judged of one question.
struct Judged {
    /// How relevant each passage is.
    relevances: Vec<f64>,
    /// The places of the passages that may be quoted, and how relevant they are.
    fit: Vec<(usize, f64)>,
}

/// Whether the passage is relevant enough to be called an answer.
fn is_likely(judged: &[Judged], item: usize) -> bool {
    let mut relevances = judged.iter().map(|judged| judged.relevances[item]);
    relevances.any(|relevance| relevance >= ANSWERS_FROM)
}

impl Answer<'_> {
    /// The text of the answer, and whether it is one. Blocks while it embeds.
    pub(super) fn compose(&self, question: &str) -> Result<(String, Outcome), EmbedError> {
        let parts = self.parts;
        let mut questions = vec![question.to_owned()];
        questions.extend(parts.iter().cloned());
        let judged = self.judged(&questions)?;
        let asked = usize::from(!parts.is_empty())..questions.len();
        let passages = &self.passages;
        let fits = |at: usize| {
            let mut parts = judged[asked.clone()].iter();
            parts.any(|judged| judged.fit.iter().any(|(fit, _)| *fit == at))
        };
        let mut blocks = Vec::new();
        let mut unanswered = Vec::new();
        let mut used: Vec<Choice> = Vec::new();
        let rows = rows_of_both(parts, passages, fits);
        if let Some(rows) = &rows {
            blocks.push(written(rows, passages, false));
            used.extend(rows);
        }
        if let Some(steps) = steps_to(question, parts) {
            // The steps only help to find what answers the whole; that comes first.
            let whole = self.body(question, &judged[steps].fit, true, &mut used)?;
            if !whole.is_empty() {
                blocks.push(whole);
                for at in 1..steps {
                    blocks.extend(self.step(at, &questions[at], &judged[at].fit, &mut used)?);
                }
            }
        }
        // A step may say it all, but an amount or a time stands only where the whole is answered.
        let hangs = steps_to(question, parts).is_some()
            && Sought::of(question).is_some_and(Sought::is_plain);
        let each = if blocks.is_empty() && !hangs || rows.is_some() {
            asked.clone()
        } else {
            0..0
        };
        for at in each {
            let question = &questions[at];
            let fit = &judged[at].fit;
            let before = used.len();
            let body = self.body(question, fit, parts.is_empty(), &mut used)?;
            let speaks = || {
                used[before..]
                    .iter()
                    .any(|choice| self.tells(question, *choice))
            };
            if body.is_empty() || rows.is_some() && !speaks() {
                if fit.is_empty() && rows.is_none() {
                    unanswered.push(self.label(at, question));
                }
                used.truncate(before);
                continue;
            }
            blocks.push(if parts.is_empty() {
                body
            } else {
                led(&self.label(at, question), &body, self.chinese)
            });
        }
        if !unanswered.is_empty() {
            let alone = blocks.is_empty();
            let whole = self.taken_whole(question, &judged[0].fit, alone, &mut used)?;
            if alone && whole.is_some() {
                unanswered.clear();
            }
            blocks.extend(whole);
        }
        if blocks.is_empty() {
            let relevances: Vec<Vec<f64>> = judged.into_iter().map(|j| j.relevances).collect();
            let text = nothing(question, self.items, passages, &relevances, self.language);
            return Ok((text, Outcome::NotFound));
        }
        if let Some((label, both)) = of_both(parts, passages, fits, &used)
            .map(|(label, both)| (label, written(&both, passages, false)))
        {
            blocks.push(led(&label, &both, self.chinese));
        }
        let frames = Frames::of(self.language);
        for label in unanswered {
            blocks.push(filled(&frames.missing, &label));
        }
        let mut text = blocks.join("\n\n");
        let certain = || {
            asked
                .clone()
                .any(|at| !related(&questions[at], passages).is_empty())
        };
        if !used.iter().any(|choice| is_likely(&judged, choice.item)) && !certain() {
            text = format!("{text}\n\n{}", frames.uncertain);
        }
        let foreign = if self.chinese {
            !is_chinese(&text)
        } else {
            is_mostly_chinese(&text)
        };
        if foreign {
            text = format!("{text}\n\n{}", frames.untranslated);
        }
        Ok((text, Outcome::Answered))
    }

    /// What the answer to a part is headed with, or to the whole as the first.
    fn label(&self, at: usize, question: &str) -> String {
        let of_part = at.checked_sub(1).and_then(|at| self.labels.get(at));
        of_part.cloned().unwrap_or_else(|| label(question))
    }

    /// The answer to the whole question where a part of it found nothing: what was taken for parts may
    /// be one question after all. Labelled with it, unless it stands alone.
    fn taken_whole(
        &self,
        question: &str,
        fit: &[(usize, f64)],
        alone: bool,
        used: &mut Vec<Choice>,
    ) -> Result<Option<String>, EmbedError> {
        if self.parts.is_empty() || steps_to(question, self.parts).is_some() {
            return Ok(None);
        }
        let whole = self.body(question, fit, true, used)?;
        let whole = Some(whole).filter(|whole| !whole.is_empty());
        Ok(whole.map(|whole| {
            if alone {
                whole
            } else {
                led(&label(question), &whole, self.chinese)
            }
        }))
    }

    /// What tells the step to an answer, where a passage does that was not quoted yet.
    fn step(
        &self,
        at: usize,
        question: &str,
        fit: &[(usize, f64)],
        used: &mut Vec<Choice>,
    ) -> Result<Option<String>, EmbedError> {
        let told = question.starts_with("Which ") || is_chinese(question);
        let quoted: Vec<usize> = used.iter().map(|choice| choice.item).collect();
        let others = fit.iter().filter(|(at, _)| told && !quoted.contains(at));
        let others: Vec<(usize, f64)> = others.copied().collect();
        let body = self.body(question, &others, false, used)?;
        Ok((!body.is_empty()).then(|| led(&self.label(at, question), &body, self.chinese)))
    }

    /// Of each question, over all passages.
    fn judged(&self, questions: &[String]) -> Result<Vec<Judged>, EmbedError> {
        let features = features(questions, &self.passages, self.embedder)?;
        let of_one = |(row, question): (&Vec<Features>, &String)| {
            let measured: Vec<f64> = row.iter().map(|f| relevance(question, f)).collect();
            let gate = Gate::of(
                question,
                self.items,
                &self.passages,
                &measured,
                self.embedder,
            )?;
            let translates = self
                .items
                .iter()
                .map(|item| self.is_translation(question, item));
            let translates: Vec<bool> = translates.collect();
            let relevances: Vec<f64> = measured
                .iter()
                .enumerate()
                .map(|(at, measured)| {
                    let raised = gate.raised(at, *measured);
                    if translates[at] {
                        raised.max(PLAINLY)
                    } else {
                        raised
                    }
                })
                .collect();
            let only = translates.contains(&true);
            let fit = relevances
                .iter()
                .copied()
                .enumerate()
                .filter(|(at, relevance)| {
                    // Where some are translations, only those.
                    gate.lets_through(*at, *relevance) && (!only || translates[*at])
                })
                .collect();
            Ok(Judged { relevances, fit })
        };
        features.iter().zip(questions).map(of_one).collect()
    }

    /// Whether a unit tells what the question asks, beside a table that does.
    fn tells(&self, question: &str, choice: Choice) -> bool {
        let passage = &self.passages[choice.item];
        let unit = &passage.units[choice.unit];
        unit.row.is_none()
            && (definition(question, unit) >= DEFINES
                || opening_of(question, passage, choice.unit) >= DEFINES)
    }

    /// What the passage that answers is called, where the question asks what it is about.
    fn title(&self, question: &str, chosen: &[Choice]) -> Option<String> {
        let item = chosen
            .first()
            .filter(|_| asks_what_it_is_about(question))?
            .item;
        let topic = terms(&topic_of(question));
        let title = self.passages[item].title.name();
        let held = terms(title);
        let named = !topic.is_empty() && topic.iter().all(|term| held.contains(term));
        named.then(|| format!("**{}**\n\n", quoted(title, item + 1)))
    }

    /// Whether the item is in the language that is wanted instead of the question's own, and names
    /// what the question is about, as a page does that links to the other language's page.
    fn is_translation(&self, question: &str, item: &Evidence) -> bool {
        let topic = terms(&topic_of(question));
        let held = || terms(&format!("{} {}", item.source, item.text));
        self.chinese != is_chinese(question)
            && self.chinese == is_chinese(&item.text)
            && !topic.is_empty()
            && topic.iter().all(|term| held().contains(term))
    }

    /// Whether documents tell their relations in their heads, so that one which none tells is not there.
    fn knows_relations(&self) -> bool {
        self.passages.iter().any(tells_relations)
    }

    /// The answer to one question; empty where nothing fits.
    fn body(
        &self,
        question: &str,
        fit: &[(usize, f64)],
        whole: bool,
        used: &mut Vec<Choice>,
    ) -> Result<String, EmbedError> {
        if let Some((text, units)) = told(question, &self.passages) {
            used.extend(units);
            return Ok(text);
        }
        if fit.is_empty() || asks_from_the_end(question) && self.knows_relations() {
            return Ok(String::new());
        }
        let sides = if self.parts.iter().any(|part| part == question) {
            Sides::of(question, self.parts)
        } else {
            Sides::default()
        };
        let wish = Wish {
            question,
            sides: &sides,
            most: if whole { 3 } else { 2 },
            chinese: self.chinese,
            used,
            told: self.told,
        };
        if asks_for_files(question) {
            let chosen = self.files(wish, fit)?;
            let text = self.listed(&chosen);
            used.extend(chosen);
            return Ok(text);
        }
        let translated = fit
            .iter()
            .any(|(at, _)| self.is_translation(question, &self.items[*at]));
        let chosen = if asks_for_content(question) || translated {
            let first = fit.iter().map(|(at, _)| *at);
            let first = first.min_by_key(|at| self.items[*at].lines.start);
            let most = if translated { 2 } else { 4 };
            let units = first.map_or(Vec::new(), |at| opening(at, &self.passages[at], most));
            Chosen {
                units,
                is_list: false,
            }
        } else {
            choose(wish, &self.passages, fit, self.embedder)?
        };
        let title = self.title(question, &chosen.units).unwrap_or_default();
        let text = title + &written(&chosen.units, &self.passages, chosen.is_list);
        used.extend(chosen.units);
        Ok(text)
    }

    /// The best unit of each of the best files.
    fn files(&self, wish: Wish<'_>, fit: &[(usize, f64)]) -> Result<Vec<Choice>, EmbedError> {
        let asked = terms(wish.question);
        let mut order: Vec<(usize, f64)> = fit
            .iter()
            .map(|(at, relevance)| (*at, relevance + self.passages[*at].named_share(&asked)))
            .collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut chosen: Vec<Choice> = Vec::new();
        for fit in order {
            let source = |at: usize| &self.items[at].source;
            let known = |choice: &Choice| source(choice.item) == source(fit.0);
            if chosen.len() < NEAREST && !chosen.iter().any(known) {
                let one = Wish { most: 1, ..wish };
                let best = choose(one, &self.passages, &[fit], self.embedder)?;
                chosen.extend(best.units.into_iter().take(1));
            }
        }
        Ok(chosen)
    }

    fn listed(&self, chosen: &[Choice]) -> String {
        let lines: Vec<String> = chosen
            .iter()
            .map(|choice| {
                let unit = &self.passages[choice.item].units[choice.unit];
                let source = &self.items[choice.item].source;
                match unit.kind {
                    Kind::Code => format!("- `{source}`:\n{}\n[{}]", unit.text, choice.item + 1),
                    _ => format!("- `{source}`: {}", quoted(&unit.text, choice.item + 1)),
                }
            })
            .collect();
        lines.join("\n")
    }
}

/// The place of the last part among the questions, where it is the whole question and the parts
/// before it are steps towards it.
fn steps_to(question: &str, parts: &[String]) -> Option<usize> {
    let bare = |text: &str| {
        text.trim_end_matches(['?', '？', '.', '。', ' '])
            .to_owned()
    };
    let last = bare(parts.last()?);
    let asks = sentences(question)
        .into_iter()
        .map(|range| question[range].to_owned())
        .collect::<Vec<_>>()
        .pop()
        .is_some_and(|end| bare(&end) == last);
    (parts.len() > 1 && (asks || bare(question) == last)).then_some(parts.len())
}
