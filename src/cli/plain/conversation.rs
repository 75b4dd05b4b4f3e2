use std::collections::{BTreeMap, VecDeque};

use tokio::sync::mpsc;

use super::super::narrator::{Detail, Narrator};
use super::super::output::{CommandFailure, print_notice, print_text};
use super::super::runs::in_table;
use super::super::stats::in_lines;
use super::input::{InputLine, StandardInput};
use super::listing;
use crate::domain::{Complexity, LineRange, Wait, WarningKind};
use crate::engine::SAMPLES;
use crate::protocol::{
    Branches, Command, EventBody, IndexCommand, JobModels, KnowledgeContents, KnowledgeStatus,
    ModelCommand, ModelRequest, ModelUpdate, NoticeLevel, QuestionPlace, RunRecord, SessionCommand,
    SessionUpdate, Update,
};
use crate::text::one_line;
use crate::tui::WalkStep;
use crate::tui::slash::{self, route_called};

/// What stands before a line that is typed.
const PROMPT: &str = "ask> ";

/// A conversation in lines.
pub(super) struct Plain {
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) updates: mpsc::Receiver<Update>,
    pub(super) interrupts: mpsc::Receiver<()>,
    pub(super) input: StandardInput,
    /// Whether a person types; else the questions are repeated, so that the answers have them.
    pub(super) is_typed: bool,
    /// Whether Ctrl+C was pressed since the last line.
    pub(super) is_interrupted: bool,
    pub(super) detail: Detail,
    /// Questions to be asked unasked.
    pub(super) walk: VecDeque<WalkStep>,
    /// The route of the questions to come; `None`: the agent decides.
    pub(super) route: Option<Complexity>,
    pub(super) runs: Vec<RunRecord>,
    /// The branches of the conversation, that in which it goes on among them.
    pub(super) branches: Branches,
    /// The lines of the document that was asked for last.
    pub(super) passage: LineRange,
    /// What is said of the engine beside its models.
    pub(super) engine: String,
    pub(super) models: JobModels,
    pub(super) is_demo: bool,
    pub(super) knowledge: KnowledgeStatus,
    /// What the documents are, once that is known.
    pub(super) contents: Option<KnowledgeContents>,
}

/// What comes next.
enum Incoming {
    Update(Box<Update>),
    Line(InputLine),
    /// Ctrl+C, the first.
    Interrupt,
}

impl Plain {
    /// Answers what is typed until the lines end, or something fails.
    pub(super) async fn answer_lines(&mut self) -> CommandFailure {
        loop {
            match self.answer_line().await {
                Ok(()) => {}
                // What was typed cannot be done, which is said; the next line is taken.
                Err(failure) if failure.is_usage() => drop(failure.report()),
                Err(failure) => return failure,
            }
        }
    }

    async fn answer_line(&mut self) -> Result<(), CommandFailure> {
        if let Some(step) = self.walk.pop_front() {
            print_text(format!("\n{}\n", step.about))?;
            let place = QuestionPlace::default();
            return self.ask(&step.question, None, place, true).await;
        }
        if self.is_typed {
            print_text(PROMPT)?;
        }
        loop {
            match self.next(true).await? {
                Incoming::Update(update) => drop(self.take(*update)?),
                Incoming::Interrupt => return Ok(()),
                Incoming::Line(InputLine::Line(text)) => return self.obey(text.trim()).await,
                Incoming::Line(InputLine::TooLong) => {
                    let why = "that line is longer than 64 kB and was not sent";
                    return Err(CommandFailure::usage(why));
                }
                Incoming::Line(InputLine::End) => {
                    print_text(if self.is_typed { "\n" } else { "" })?;
                    return Err(CommandFailure::finished());
                }
            }
        }
    }

    /// What comes next; a line only where one is taken.
    async fn next(&mut self, takes_a_line: bool) -> Result<Incoming, CommandFailure> {
        tokio::select! {
            biased;
            Some(()) = self.interrupts.recv() => {
                if !self.is_typed {
                    return Err(CommandFailure::interrupted());
                }
                if std::mem::replace(&mut self.is_interrupted, true) {
                    print_text("\n")?;
                    return Err(CommandFailure::finished());
                }
                print_text("\nCtrl+C again leaves, as Ctrl+D does.\n")?;
                self.walk.clear();
                Ok(Incoming::Interrupt)
            }
            update = self.updates.recv() => {
                let stopped = || CommandFailure::failed("the engine stopped");
                update
                    .map(|update| Incoming::Update(Box::new(update)))
                    .ok_or_else(stopped)
            }
            line = self.input.next(), if takes_a_line => {
                self.is_interrupted = false;
                Ok(Incoming::Line(line))
            }
        }
    }

    /// Prints what an update says and keeps what it tells; whether it answers a command.
    fn take(&mut self, update: Update) -> Result<bool, CommandFailure> {
        let answer = match update {
            Update::Notice { message, .. } => {
                print_notice(&message);
                return Ok(false);
            }
            Update::Knowledge(status) => {
                self.knowledge = status;
                return Ok(false);
            }
            Update::Contents(contents) => {
                self.contents = Some(contents);
                return Ok(false);
            }
            Update::Document(text) => Ok(listing::passage(&text, self.passage)),
            Update::SourceAdded(added) => {
                // What the documents are now is sent anew.
                self.contents = self.contents.take().filter(|_| added.is_err());
                added.map(|line| line + "\n")
            }
            Update::Statistics(history) => history.and_then(|history| match history.total.runs {
                0 => Err("no runs yet".to_owned()),
                _ => Ok(in_lines(&history.total, None)),
            }),
            Update::Session(SessionUpdate::Listed(listed)) => {
                listed.map(|listed| listing::sessions(&listed))
            }
            Update::Model(ModelUpdate::NotChosen(why)) => Err(why),
            Update::Model(ModelUpdate::Listed(listed)) => listed.map(|listed| {
                let text = listing::models(&listed);
                self.models = listed.in_use;
                text
            }),
            Update::Model(ModelUpdate::Engine { mode, endpoint }) => {
                self.engine = listing::engine(mode, endpoint.as_deref());
                return Ok(false);
            }
            Update::Model(ModelUpdate::Chosen(models)) => {
                self.models = models;
                let models = self.models.in_words();
                Ok(format!("From the next question on: {models}.\n"))
            }
            _ => return Ok(false),
        };
        match answer {
            Ok(text) => print_text(text)?,
            Err(why) => print_notice(&why),
        }
        Ok(true)
    }

    fn send(&self, command: Command) -> Result<(), CommandFailure> {
        let sent = self.commands.try_send(command);
        sent.map_err(|_| CommandFailure::failed("the engine is busy and takes no command"))
    }

    /// Sends a command and waits until it is answered, or for Ctrl+C.
    async fn request(&mut self, command: Command) -> Result<(), CommandFailure> {
        self.send(command)?;
        loop {
            let Incoming::Update(update) = self.next(false).await? else {
                return self.send(Command::LeaveStatistics);
            };
            if self.take(*update)? {
                return Ok(());
            }
        }
    }

    /// Does what a line asks for.
    async fn obey(&mut self, line: &str) -> Result<(), CommandFailure> {
        if !line.starts_with('/') {
            return match line {
                "" => Ok(()),
                question => self.ask_next(question).await,
            };
        }
        let (name, argument) = parse(line).map_err(CommandFailure::usage)?;
        let text = match name {
            "/help" => listing::help(),
            "/runs" => self.runs_in_table(),
            "/sources" if argument.is_empty() => listing::sources(self.runs.last()),
            "/sources" => return self.passage(argument).await,
            "/try" => return self.try_one(argument).await,
            "/retry" => return self.retry(argument).await,
            "/edit" => return self.edit(argument).await,
            "/branch" => self.step_branch()?,
            "/kb" => return self.describe().await,
            "/add" if argument.is_empty() => {
                return Err(CommandFailure::usage("/add needs a folder or a file"));
            }
            "/add" => return self.request(Command::AddSource(argument.to_owned())).await,
            "/engine" => self.engine_in_words(),
            "/model" => {
                let command = match ModelRequest::parse(argument) {
                    ModelRequest::Choose(wish) => ModelCommand::Choose(wish),
                    ModelRequest::List(_) => ModelCommand::List,
                };
                if command == ModelCommand::List {
                    print_text(self.engine_in_words())?;
                }
                return self.request(Command::Model(command)).await;
            }
            "/stats" => return self.request(Command::ReadStatistics).await,
            "/sessions" => {
                let list = Command::Session(SessionCommand::List);
                return self.request(list).await;
            }
            "/export" => return self.export().await,
            "/route" => {
                self.route = route_called(argument).and_then(|(_, route)| route);
                format!("Route for new questions: {argument}\n")
            }
            "/index" if argument == "stop" => {
                self.send(Command::Index(IndexCommand::Stop))?;
                "Indexing stops; /index goes on.\n".to_owned()
            }
            "/index" => {
                self.send(Command::Index(IndexCommand::Resume))?;
                "The index is kept up to date.\n".to_owned()
            }
            "/clear" => {
                self.runs.clear();
                self.branches = Branches::default();
                self.send(Command::Forget)?;
                "Another conversation begins.\n".to_owned()
            }
            "/quit" => return Err(CommandFailure::finished()),
            other => {
                return Err(CommandFailure::usage(format!(
                    "{other} is for the screen; /help lists what is here"
                )));
            }
        };
        Ok(print_text(text)?)
    }

    async fn ask(
        &mut self,
        question: &str,
        route: Option<Complexity>,
        place: QuestionPlace,
        mut is_walk: bool,
    ) -> Result<(), CommandFailure> {
        let is_repeated = !self.is_typed || is_walk;
        if is_repeated && self.detail == Detail::Nodes {
            print_text(format!("Question: {}\n", one_line(question, 2000)))?;
        }
        let query = question.to_owned();
        self.send(Command::Ask {
            query,
            route,
            place,
        })?;
        let mut narrator: Option<Narrator> = None;
        loop {
            // A line ends a walk.
            let ends_walk = self.is_typed && is_walk;
            let update = match self.next(ends_walk).await? {
                Incoming::Update(update) => *update,
                Incoming::Line(_) | Incoming::Interrupt => {
                    if ends_walk {
                        print_text("The walk ends here.\n")?;
                    }
                    self.walk.clear();
                    is_walk = false;
                    self.send(Command::Cancel)?;
                    continue;
                }
            };
            match update {
                Update::NotAsked { reason, .. } => return Err(CommandFailure::usage(reason)),
                Update::Starting { wait, .. } if matches!(wait, Wait::Retry { .. }) => {
                    print_text(format!("  Waiting: {}.\n", wait.line_of(None, 0.0)))?;
                }
                Update::Event(event) => {
                    if let EventBody::RunStarted { place, .. } = &event.body {
                        self.branches.add(&event.run, place);
                    }
                    narrator = narrator.or_else(|| Narrator::begin(&event, self.detail));
                    let Some(narrator) = &mut narrator else {
                        continue;
                    };
                    print_text(narrator.render(&event))?;
                    if matches!(event.body, EventBody::RunFinished { .. }) {
                        self.runs.push(narrator.record().clone());
                        return self.end_of_run(narrator);
                    }
                }
                other => drop(self.take(other)?),
            }
        }
    }

    fn end_of_run(&self, narrator: &Narrator) -> Result<(), CommandFailure> {
        if self.detail == Detail::Nodes {
            return Ok(print_text("\n")?);
        }
        let error = narrator.record().summary.error.iter().cloned();
        let warnings = narrator.warnings().map(WarningKind::line);
        warnings.chain(error).for_each(|line| print_notice(&line));
        Ok(())
    }

    async fn retry(&mut self, route: &str) -> Result<(), CommandFailure> {
        let Some(last) = self.runs.last().map(|run| run.summary.clone()) else {
            return Err(CommandFailure::usage("nothing to ask again yet"));
        };
        let route = route_called(route).and_then(|(_, route)| route);
        let first = last.retry_of.unwrap_or(last.id);
        let route = route.or(self.route);
        let place = QuestionPlace::retry_of(first);
        self.ask(&last.question, route, place, false).await
    }

    /// Asks what follows the last question of the branch in which the conversation goes on.
    async fn ask_next(&mut self, question: &str) -> Result<(), CommandFailure> {
        let place = self.branches.next_place();
        self.ask(question, self.route, place, false).await
    }

    /// Asks a question in other words, as if what came after it had not been said; without one lists
    /// those of the branch with their numbers.
    async fn edit(&mut self, argument: &str) -> Result<(), CommandFailure> {
        let asked = self.branches.shown_questions();
        if argument.is_empty() {
            return Ok(print_text(listing::questions(&asked, &self.runs))?);
        }
        let (number, question) = argument.split_once(' ').unwrap_or((argument, ""));
        let at = number.parse().ok().and_then(|n: usize| n.checked_sub(1));
        let Some(first) = at.and_then(|at| asked.get(at).copied().cloned()) else {
            let number = one_line(number, 20);
            return Err(CommandFailure::usage(format!(
                "there is no question {number}; /edit lists what can be edited"
            )));
        };
        if question.trim().is_empty() {
            return Err(CommandFailure::usage(
                "/edit needs the question in its new words",
            ));
        }
        let place = QuestionPlace::edit_of(first);
        self.ask(question.trim(), self.route, place, false).await
    }

    /// Goes on in the next of the branches that part last.
    fn step_branch(&mut self) -> Result<String, CommandFailure> {
        let asked = self.branches.shown_questions().into_iter().rev();
        let mut forks = asked.filter(|first| self.branches.fork_at(first).is_some());
        let beside = forks
            .next()
            .and_then(|first| self.branches.sibling(first, 1));
        let Some(first) = beside.cloned() else {
            let why = "this conversation has one branch; /edit begins another";
            return Err(CommandFailure::usage(why));
        };
        self.branches.show(&first);
        let fork = self.branches.fork_at(&first);
        let fork = fork.map_or_else(String::new, |fork| {
            format!("Branch {} of {}:\n", fork.at, fork.of)
        });
        Ok(fork + &listing::questions(&self.branches.shown_questions(), &self.runs))
    }

    fn runs_in_table(&self) -> String {
        if self.runs.is_empty() {
            return "Nothing was asked yet.\n".to_owned();
        }
        let runs: Vec<_> = self.runs.iter().map(|run| &run.summary).collect();
        in_table(&runs, &BTreeMap::new(), None)
    }

    /// Prints the passage of one item of the last run's evidence.
    async fn passage(&mut self, number: &str) -> Result<(), CommandFailure> {
        let number = number.trim_matches(['[', ']']);
        let mut evidence = self.runs.last().into_iter().flat_map(|run| &run.evidence);
        let found = evidence.find(|known| known.n.is_some_and(|n| n.to_string() == number));
        let Some(item) = found.map(|known| &known.item) else {
            let number = one_line(number, 20);
            return Err(CommandFailure::usage(format!(
                "there is no evidence {number}; /sources lists what there is"
            )));
        };
        self.passage = item.lines;
        let (source, line) = (item.source.clone(), item.lines.start);
        self.request(Command::ReadDocument { source, line }).await
    }

    /// Waits until it is known what the documents are, and which questions to try there are where
    /// those are wanted; a person waits for no questions.
    async fn knows_contents(&mut self, wants_samples: bool) -> Result<bool, CommandFailure> {
        loop {
            let contents = self.contents.as_ref();
            if contents.is_some_and(|known| !(wants_samples && known.samples_are_sought)) {
                return Ok(true);
            }
            if wants_samples && self.is_typed {
                print_notice("the questions to try are still being made: ask again in a moment");
                return Ok(false);
            }
            match self.next(false).await? {
                Incoming::Update(update) => drop(self.take(*update)?),
                _ => return Ok(false),
            }
        }
    }

    /// Lists the questions to try, or asks one of them.
    async fn try_one(&mut self, number: &str) -> Result<(), CommandFailure> {
        if !self.is_demo && !self.knows_contents(true).await? {
            return Ok(());
        }
        let made = self.contents.iter().flat_map(|known| &known.samples);
        let made = made
            .flatten()
            .map(|made| (made.route.as_str(), &*made.text));
        let demo = SAMPLES.iter().copied().filter(|_| self.is_demo);
        let samples: Vec<_> = demo.chain(made).collect();
        if number.is_empty() {
            return Ok(print_text(listing::samples(&samples))?);
        }
        let found = samples
            .iter()
            .zip(1..)
            .find(|(_, at)| at.to_string() == number);
        let Some(question) = found.map(|((_, question), _)| (*question).to_owned()) else {
            let number = one_line(number, 20);
            return Err(CommandFailure::usage(format!(
                "there is no question {number} to try"
            )));
        };
        self.ask_next(&question).await
    }

    /// Says what the knowledge base holds, once that is known.
    async fn describe(&mut self) -> Result<(), CommandFailure> {
        self.knows_contents(false).await?;
        let contents = self.contents.iter();
        let text: String = contents
            .map(|contents| listing::base(&self.knowledge, contents))
            .collect();
        Ok(print_text(text)?)
    }

    /// Which engine answers, by which models and which route.
    fn engine_in_words(&self) -> String {
        let route = self.route.map_or("auto", Complexity::as_str);
        let (engine, models) = (&self.engine, self.models.in_words());
        format!("{engine}Model: {models}.\nRoute: {route}; /route sets it.\n")
    }

    /// Writes this conversation to a file; the notice that says where is the answer.
    async fn export(&mut self) -> Result<(), CommandFailure> {
        let Some(last) = self.runs.last() else {
            return Err(CommandFailure::usage("nothing to export yet"));
        };
        let export = SessionCommand::Export(last.summary.session.clone());
        self.send(Command::Session(export))?;
        loop {
            let Incoming::Update(update) = self.next(false).await? else {
                return Ok(());
            };
            match *update {
                Update::Notice { level, message } => {
                    return match level {
                        NoticeLevel::Info => Ok(print_text(one_line(&message, 300) + ".\n")?),
                        NoticeLevel::Warning => Err(CommandFailure::usage(message)),
                    };
                }
                update => drop(self.take(update)?),
            }
        }
    }
}

/// The command on this line and its argument; the error is for the person who typed it.
fn parse(line: &str) -> Result<(&'static str, &str), String> {
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match listing::OWN_COMMANDS.iter().find(|(own, ..)| *own == name) {
        Some((name, ..)) => Ok((name, argument.trim())),
        None => slash::parse(line, &[]).map(|(command, argument)| (&*command.name, argument)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is sent to an engine that answers nothing when these lines are typed; Ctrl+C follows
    /// the first command.
    async fn typed(lines: &[&str]) -> Vec<Command> {
        let (type_in, typed) = mpsc::channel(8);
        for line in lines {
            let line = InputLine::Line((*line).to_owned());
            type_in.send(line).await.unwrap();
        }
        drop(type_in);
        let (commands, mut sent) = mpsc::channel(8);
        let (_updating, updates) = mpsc::channel(8);
        let (interrupting, interrupts) = mpsc::channel(8);
        let mut plain = Plain {
            commands,
            updates,
            interrupts,
            input: StandardInput::from_channel(typed),
            is_typed: true,
            is_interrupted: false,
            detail: Detail::Nodes,
            walk: VecDeque::new(),
            route: None,
            runs: Vec::new(),
            branches: Branches::default(),
            passage: LineRange { start: 1, end: 1 },
            engine: String::new(),
            models: JobModels::default(),
            is_demo: false,
            knowledge: KnowledgeStatus::default(),
            contents: None,
        };
        let talk = async {
            let end = plain.answer_lines().await;
            drop(plain);
            end
        };
        let take = async {
            let mut all = Vec::new();
            while let Some(command) = sent.recv().await {
                all.push(command);
                if all.len() == 1 {
                    let _ = interrupting.send(()).await;
                }
            }
            all
        };
        let (end, all) = tokio::join!(talk, take);
        assert!(end.is_finished(), "{end:?}");
        all
    }

    #[tokio::test]
    async fn samples_that_do_not_come_hold_up_neither_a_line_nor_the_end() {
        assert_eq!(typed(&["/try"]).await, []);
        let stop = Command::Index(IndexCommand::Stop);
        assert_eq!(typed(&["/try 2", "/index stop"]).await, [stop]);
    }

    #[tokio::test]
    async fn ctrl_c_ends_the_waiting_for_an_answer_that_does_not_come() {
        let sent = [Command::ReadStatistics, Command::LeaveStatistics];
        assert_eq!(typed(&["/stats"]).await, sent);
    }

    #[test]
    fn lines_are_read_as_the_screen_reads_them() {
        assert_eq!(parse("/route  simple"), Ok(("/route", "simple")));
        assert_eq!(parse("/sources [2]"), Ok(("/sources", "[2]")));
        assert_eq!(parse("/try 2"), Ok(("/try", "2")));
        assert_eq!(parse("/add my notes"), Ok(("/add", "my notes")));
        for wrong in ["/route", "/route fast", "/quit now", "/sourced"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
