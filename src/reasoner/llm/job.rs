//! The jobs, and what each may ask of a model.

/// A reasoning job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelJob {
    /// R1–R6.
    Analyze,
    /// R11, R21.
    Plan,
    /// R17.
    Grade,
    /// R23.
    Synthesize,
    /// R24: an answer to small talk, with the settings of any answer.
    SmallTalk,
}

/// What a model that thinks may think before it judges, in tokens.
const THOUGHTS: u32 = 4_096;

impl ModelJob {
    /// Those that have settings of their own, in the order of the graph.
    pub const ALL: [Self; 4] = [Self::Analyze, Self::Plan, Self::Grade, Self::Synthesize];

    /// Where a reply ends when no limit is set: about twice what the schema's bounds come to in
    /// words that mean something. `items` are graded; a model that `thinks` gets more, because its
    /// thoughts count.
    pub fn tokens(self, items: usize, thinks: bool) -> u32 {
        let judgement = match self {
            Self::Analyze => 800,
            Self::Plan => 1_000,
            Self::Grade => 128 + 16 * u32::try_from(items).unwrap_or(u32::MAX / 32),
            Self::SmallTalk => 300,
            // An answer has room for both.
            Self::Synthesize => return 8_192,
        };
        judgement + if thinks { THOUGHTS } else { 0 }
    }

    /// The same for a person.
    pub fn tokens_text(self) -> &'static str {
        match self {
            Self::Analyze => "800, with thinking 4096 more",
            Self::Plan => "1000, with thinking 4096 more",
            Self::Grade => "128 and 16 an item, with thinking 4096 more",
            Self::Synthesize => "8192",
            Self::SmallTalk => "300, with thinking 4096 more",
        }
    }
}

/// With which model a job is done, and within which limits.
#[derive(Debug, Clone, PartialEq)]
pub struct JobSettings {
    /// The model; `None` is the main one.
    pub model: Option<String>,
    /// 0 is repeatable.
    pub temperature: f64,
    /// A reply is over after so many tokens, with thoughts; `None` is as [`ModelJob::tokens`] says.
    pub max_tokens: Option<u32>,
}

/// The settings of every job.
#[derive(Debug, Clone, PartialEq)]
pub struct Jobs {
    /// R1–R6.
    pub analyze: JobSettings,
    /// R11, R21.
    pub plan: JobSettings,
    /// R17.
    pub grade: JobSettings,
    /// R23, R24.
    pub synthesize: JobSettings,
}

impl Jobs {
    /// Those of one job.
    pub fn of(&self, job: ModelJob) -> &JobSettings {
        match job {
            ModelJob::Analyze => &self.analyze,
            ModelJob::Plan => &self.plan,
            ModelJob::Grade => &self.grade,
            ModelJob::Synthesize | ModelJob::SmallTalk => &self.synthesize,
        }
    }

    /// The same, to be changed.
    pub fn of_mut(&mut self, job: ModelJob) -> &mut JobSettings {
        match job {
            ModelJob::Analyze => &mut self.analyze,
            ModelJob::Plan => &mut self.plan,
            ModelJob::Grade => &mut self.grade,
            ModelJob::Synthesize | ModelJob::SmallTalk => &mut self.synthesize,
        }
    }
}

impl Jobs {
    /// The model that answers, when every job has one of its own: the endpoint need not be asked for a main
    /// one then.
    pub fn answering_model(&self) -> Option<&str> {
        ModelJob::ALL
            .iter()
            .all(|&job| self.of(job).model.is_some())
            .then_some(self.synthesize.model.as_deref())?
    }
}

impl Default for Jobs {
    /// Judging is to be repeatable; only the wording of an answer may vary.
    fn default() -> Self {
        let judging = JobSettings {
            model: None,
            temperature: 0.0,
            max_tokens: None,
        };
        Self {
            analyze: judging.clone(),
            plan: judging.clone(),
            grade: judging,
            synthesize: JobSettings {
                model: None,
                temperature: 0.2,
                max_tokens: None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_the_limits_is_what_they_are() {
        for job in ModelJob::ALL.into_iter().chain([ModelJob::SmallTalk]) {
            let written = job.tokens_text();
            let numbers: Vec<u32> = written
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|digits| digits.parse().ok())
                .collect();
            let per_item = job.tokens(1, false) - job.tokens(0, false);
            let thoughts = job.tokens(0, true) - job.tokens(0, false);
            let parts = [job.tokens(0, false), per_item, thoughts];
            let parts: Vec<u32> = parts.into_iter().filter(|part| *part > 0).collect();
            assert_eq!(numbers, parts, "{written}");
        }
    }
}
