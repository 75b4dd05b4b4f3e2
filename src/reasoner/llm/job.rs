//! The four jobs, and what each may ask of a model.

/// A reasoning job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Job {
    /// R1–R6.
    Analyze,
    /// R11, R21.
    Plan,
    /// R17.
    Grade,
    /// R23, R24.
    Synthesize,
}

impl Job {
    /// All of them, in the order of the graph.
    pub const ALL: [Self; 4] = [Self::Analyze, Self::Plan, Self::Grade, Self::Synthesize];
}

/// With which model a job is done, and within which limits.
#[derive(Debug, Clone, PartialEq)]
pub struct JobSettings {
    /// The model; `None` is the main one.
    pub model: Option<String>,
    /// 0 is repeatable.
    pub temperature: f64,
    /// A reply is over after so many tokens, thoughts included.
    pub max_tokens: u32,
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
    pub fn of(&self, job: Job) -> &JobSettings {
        match job {
            Job::Analyze => &self.analyze,
            Job::Plan => &self.plan,
            Job::Grade => &self.grade,
            Job::Synthesize => &self.synthesize,
        }
    }
}

impl Jobs {
    /// The model that answers, when every job has one of its own: nobody need be asked for a main
    /// one then.
    pub fn answering_model(&self) -> Option<&str> {
        Job::ALL
            .iter()
            .all(|&job| self.of(job).model.is_some())
            .then_some(self.synthesize.model.as_deref())?
    }
}

impl Default for Jobs {
    /// Judging is to be repeatable; only the wording of an answer may vary. The limits leave room
    /// for a model that thinks before it replies.
    fn default() -> Self {
        let judging = JobSettings {
            model: None,
            temperature: 0.0,
            max_tokens: 4_096,
        };
        Self {
            analyze: judging.clone(),
            plan: judging.clone(),
            grade: judging,
            synthesize: JobSettings {
                model: None,
                temperature: 0.2,
                max_tokens: 8_192,
            },
        }
    }
}
