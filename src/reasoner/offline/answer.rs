//! The answer as an extract: what the evidence says of the question, each piece with its source.
//!
//! Nothing is written but frames. Of two readings of a question the better graded one is answered,
//! and the answer says so.

mod asking;
mod beside;
mod choose;
mod fitting;
mod found;
mod frames;
mod lists;
mod nearest;
mod overview;
mod quoting;
mod relations;
#[cfg(test)]
mod samples;
mod states;

use crate::domain::{Language, Outcome, Parts, Question, QuestionKind, Turn};

use self::asking::Wish;
use self::beside::{of_both, rows_of_both};
use self::choose::choose;
use self::fitting::{Fitting, fitting};
pub(super) use self::found::Found;
use self::found::{Choice, LONGEST_LIST};
use self::frames::{Frames, filled};
use self::nearest::nothing;
use self::overview::overview;
use self::quoting::{led, listed, quoted, written};
use self::relations::related;
use self::states::in_state;
use super::evidence::UnitKind;
use super::judge::{Judged, JudgedReading};
use super::language::{language_of, says_name, terms};
use super::question::{Part, Reading, state_values};

/// A quoted piece is at most so many units of prose for a whole question, and for a part of one.
const OF_WHOLE: usize = 3;
const OF_PART: usize = 2;
/// From here on it is more likely than not that something found answers.
const LIKELY: f64 = 0.5;
/// Files that are listed where files are asked for.
const FILES: usize = 3;

/// The text of the answer to the better graded reading, and whether it is one.
pub(super) fn compose(
    readings: &[(Reading, JudgedReading)],
    history: &[Turn],
    found: Found<'_>,
) -> (String, Outcome) {
    let Some(first) = readings.first() else {
        return (String::new(), Outcome::NotFound);
    };
    let mut best = first;
    for other in &readings[1..] {
        if other.1.best() > best.1.best() {
            best = other;
        }
    }
    let (asked, question) = (&first.0.question, &best.0.question);
    let whole = match question.kind {
        QuestionKind::Overview => overview(found, asked.language),
        QuestionKind::State => in_state(&state_values(question), found),
        _ => None,
    };
    let text = whole.unwrap_or_else(|| {
        let mut answer = Answer {
            found,
            language: asked.language,
            told: told_before(asked, history),
            used: Vec::new(),
            fits: Vec::new(),
        };
        answer.of(&best.0, &best.1)
    });
    if text.is_empty() {
        let text = nothing(question, found, &best.1.grades, asked.language);
        return (text, Outcome::NotFound);
    }
    if question.text == asked.text {
        return (text, Outcome::Answered);
    }
    let understood = filled(&Frames::of(asked.language).understood, &question.text);
    (format!("{understood}\n\n{text}"), Outcome::Answered)
}

/// The answer before, where nothing is asked but the reason of what was said: that is not said again.
fn told_before<'a>(question: &Question, history: &'a [Turn]) -> &'a str {
    let only_why = question.kind == QuestionKind::Why && question.terms.is_empty();
    let last = history.last().filter(|_| only_why);
    last.map_or("", |turn| turn.answer.as_str())
}

/// An answer in the making.
struct Answer<'a> {
    found: Found<'a>,
    /// The language of its frames.
    language: Language,
    told: &'a str,
    /// What has been quoted.
    used: Vec<Choice>,
    /// The passages that were fit to be.
    fits: Vec<usize>,
}

impl Answer<'_> {
    /// The answer to a reading; empty where nothing fits.
    fn of(&mut self, reading: &Reading, judged: &JudgedReading) -> String {
        let Some((whole, of_parts)) = judged.questions.split_first() else {
            return String::new();
        };
        let question = &reading.question;
        let mut blocks = match &question.parts {
            _ if reading.parts.is_empty() => Vec::new(),
            Parts::Steps { .. } => self.of_steps(reading, whole, of_parts),
            _ => self.of_parts(reading, of_parts),
        };
        if blocks.is_empty() {
            // What was taken for parts may be one question after all.
            blocks.extend(self.body(question, whole, None, OF_WHOLE));
        }
        if blocks.is_empty() {
            return String::new();
        }
        let frames = Frames::of(self.language);
        let likely = |judged: &Judged| judged.answered(self.fits.iter().copied()) >= LIKELY;
        if !self.fits.is_empty() && !judged.questions.iter().any(likely) {
            blocks.push(frames.uncertain.clone());
        }
        if self.is_foreign() {
            blocks.push(frames.untranslated.clone());
        }
        blocks.join("\n\n")
    }

    /// Whether what was quoted, but for code, is in another language than the question.
    fn is_foreign(&self) -> bool {
        let units = self
            .used
            .iter()
            .map(|choice| &self.found.passages[choice.item].units[choice.unit]);
        let told: Vec<&str> = units
            .filter(|unit| unit.kind != UnitKind::Code)
            .map(|unit| unit.text.as_str())
            .collect();
        let chinese = language_of(&told.join("\n")) == Language::Zh;
        !told.is_empty() && chinese != (self.language == Language::Zh)
    }

    /// The whole first, since the steps only help to find it; then what tells of a step elsewhere.
    fn of_steps(&mut self, reading: &Reading, whole: &Judged, judged: &[Judged]) -> Vec<String> {
        let body = self.body(&reading.question, whole, None, OF_WHOLE);
        let Some(body) = body else {
            return Vec::new();
        };
        let quoted: Vec<usize> = self.used.iter().map(|choice| choice.item).collect();
        let mut blocks = vec![body];
        let steps = reading.parts.len().saturating_sub(1);
        for (part, judged) in reading.parts.iter().zip(judged).take(steps) {
            let before = (self.used.len(), self.fits.len());
            let body = self.body(&part.question, judged, None, OF_PART);
            let elsewhere = self.used[before.0..]
                .iter()
                .all(|choice| !quoted.contains(&choice.item));
            if let Some(body) = body.filter(|_| elsewhere) {
                blocks.push(led(&part.label, &body, self.language));
            } else {
                self.used.truncate(before.0);
                self.fits.truncate(before.1);
            }
        }
        blocks
    }

    /// A block for each part that has an answer, and a line for each that has none; nothing where none
    /// has one.
    fn of_parts(&mut self, reading: &Reading, judged: &[Judged]) -> Vec<String> {
        let mut blocks = Vec::new();
        let fits: Vec<usize> = reading
            .parts
            .iter()
            .zip(judged)
            .flat_map(|(part, judged)| fitting(&part.question, judged, self.found).passages)
            .collect();
        let sides = sides_of(&reading.parts);
        let rows = sides
            .and_then(|sides| rows_of_both(sides, reading.question.language, self.found, &fits));
        if let Some(rows) = &rows {
            blocks.push(written(rows, self.found, false));
            self.used.extend(rows);
        }
        let mut missing = Vec::new();
        for (part, judged) in reading.parts.iter().zip(judged) {
            match self.body(&part.question, judged, part.other.as_deref(), OF_PART) {
                Some(body) => blocks.push(led(&part.label, &body, self.language)),
                None => missing.push(&part.label),
            }
        }
        if blocks.is_empty() {
            return blocks;
        }
        let frames = Frames::of(self.language);
        if rows.is_none() {
            let lines = missing
                .into_iter()
                .map(|label| filled(&frames.missing, label));
            blocks.extend(lines);
        }
        if let Some(sides) = sides {
            blocks.extend(self.of_both(sides, reading.question.language, &fits));
        }
        blocks
    }

    /// What is said of both sides of a comparison at once.
    fn of_both(&mut self, sides: [&str; 2], language: Language, fits: &[usize]) -> Option<String> {
        let both = of_both(sides, language, self.found, fits, &self.used);
        if both.is_empty() {
            return None;
        }
        let frame = Frames::of(self.language).both.clone();
        let label = sides.iter().fold(frame, |frame, side| filled(&frame, side));
        let text = written(&both, self.found, false);
        self.used.extend(both);
        Some(led(&label, &text, self.language))
    }

    /// The answer to one question; nothing where nothing fits. `other` is the other side of a comparison.
    fn body(
        &mut self,
        question: &Question,
        judged: &Judged,
        other: Option<&str>,
        most: usize,
    ) -> Option<String> {
        if question.kind == QuestionKind::Relation
            && let Some(lines) = related(question, self.found)
        {
            return Some(lines.join("\n"));
        }
        let fit: Fitting = fitting(question, judged, self.found);
        if fit.passages.is_empty() {
            return None;
        }
        self.fits.extend(&fit.passages);
        let wish = Wish {
            question,
            judged,
            other,
            most,
            used: &self.used,
            told: self.told,
        };
        if question.kind == QuestionKind::File && question.literals.paths.is_empty() {
            let chosen = self.of_files(wish, &fit.passages);
            let text = listed(&chosen, self.found);
            self.used.extend(chosen);
            return Some(text).filter(|text| !text.is_empty());
        }
        let (mut chosen, is_list) = if fit.content_only {
            let first = fit.passages.iter().copied();
            let first = first.min_by_key(|at| self.found.passages[*at].start)?;
            let units = self.found.passages[first].units.len().min(most + 1);
            let units = (0..units).map(|unit| Choice { item: first, unit });
            (units.collect(), false)
        } else {
            choose(&wish, self.found, &fit.passages)
        };
        let is_cut = chosen.len() > LONGEST_LIST;
        chosen.truncate(LONGEST_LIST);
        let title = chosen
            .first()
            .and_then(|first| self.title(question, *first));
        let mut text = title.unwrap_or_default() + &written(&chosen, self.found, is_list);
        if is_cut {
            let cut = &Frames::of(self.language).cut;
            text = format!("{text}\n\n{}", filled(cut, LONGEST_LIST));
        }
        self.used.extend(chosen);
        Some(text).filter(|text| !text.is_empty())
    }

    /// What the document is called that a question asks about by its name alone, where it begins here.
    fn title(&self, question: &Question, first: Choice) -> Option<String> {
        let passage = &self.found.passages[first.item];
        let only = |id: &String| terms(id, question.language) == question.terms;
        let mut ids = question.literals.ids.iter().filter(|id| only(id));
        let named = ids.any(|id| says_name(&passage.title, id) && *id != passage.title);
        (named && passage.start == 1)
            .then(|| format!("**{}**\n\n", quoted(&passage.title, first.item + 1)))
    }

    /// The best unit of each of the best files.
    fn of_files(&self, wish: Wish<'_>, fit: &[usize]) -> Vec<Choice> {
        let mut chosen: Vec<Choice> = Vec::new();
        for at in fit {
            let source = |at: usize| &self.found.items[at].source;
            let known = |choice: &Choice| source(choice.item) == source(*at);
            if chosen.len() < FILES && !chosen.iter().any(known) {
                let one = Wish { most: 1, ..wish };
                let best = choose::best(&one, self.found, &[*at]);
                chosen.extend(best);
            }
        }
        chosen
    }
}

/// The two sides of a comparison, as they are called.
fn sides_of(parts: &[Part]) -> Option<[&str; 2]> {
    match parts {
        [a, b] if a.other.is_some() => Some([&a.label, &b.label]),
        _ => None,
    }
}
