use std::collections::VecDeque;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::domain::{Complexity, LineRange};
use crate::protocol::{
    Command, Event, EventBody, IndexCommand, ModelCommand, ModelRequest, ModelUpdate, NoticeLevel,
    OFFLINE_HAS_NO_MODELS, RunId, RunRecord, SessionCommand, SessionUpdate, Update,
};
use crate::text::one_line;
use crate::tui::WalkStep;

use super::super::output::{CommandFailure, print_notice, print_text};
use super::super::stats::in_lines;
use super::command::PlainCommand;
use super::conversation_info::ConversationInfo;
use super::input::{InputLine, StandardInput};
use super::listing::{help, models, numbered, passage, runs, sessions, sources};
use super::narrator::{Narrator, before_the_run, line};
use super::samples::NumberedSamples;

/// What stands before a line that is typed.
const PROMPT: &str = "ask> ";

/// What the next line waits for.
pub(super) enum PendingReply {
    Nothing,
    /// A question was sent whose run has not begun.
    Asking,
    Answering(Box<Narrator>),
    /// A passage with these lines was asked for.
    Reading(LineRange),
    /// The questions to try, or one of them, before they are known.
    Trying(Option<usize>),
    /// What the knowledge base holds, before that is known.
    Describing,
    /// All recorded runs are summed up.
    SummingUp,
    /// Recorded conversations were asked for.
    ListingSessions,
    /// This conversation is written to a file.
    Exporting,
    /// The models were asked for.
    ListingModels,
    /// A model is being checked.
    ChoosingModel,
    /// Another folder or file is read.
    Adding,
}

/// Whether the conversation goes on.
#[derive(PartialEq, Eq)]
enum NextStep {
    GoesOn,
    Ends,
}

/// A conversation in lines.
pub(super) struct Plain {
    pub(super) commands: mpsc::Sender<Command>,
    /// Whether a person types; else the questions are repeated, so that the answers have them.
    pub(super) is_typed: bool,
    pub(super) samples: NumberedSamples,
    pub(super) about: ConversationInfo,
    /// Questions to be asked unasked.
    pub(super) walk: VecDeque<WalkStep>,
    pub(super) route: Option<Complexity>,
    pub(super) runs: Vec<RunRecord>,
    pub(super) doing: PendingReply,
}

impl Plain {
    /// Answers what is typed until the lines end.
    pub(super) async fn answer_lines(
        &mut self,
        input: &mut StandardInput,
        updates: &mut mpsc::Receiver<Update>,
        interrupts: &mut mpsc::Receiver<()>,
        cancel: &CancellationToken,
    ) -> Result<(), CommandFailure> {
        let mut interrupted = false;
        self.rest()?;
        loop {
            let is_idle = self.takes_a_line();
            if is_idle && let Some(step) = self.walk.pop_front() {
                print_text(format!("\n{}\n", step.about))?;
                self.ask(&step.question, self.route, None)?;
                continue;
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(CommandFailure::interrupted()),
                Some(()) = interrupts.recv() => {
                    if !self.is_typed {
                        return Err(CommandFailure::interrupted());
                    }
                    if std::mem::replace(&mut interrupted, true) {
                        print_text("\n")?;
                        return Ok(());
                    }
                    self.walk.clear();
                    self.interrupted()?;
                }
                update = updates.recv() => match update {
                    Some(update) => self.take(update)?,
                    None => return Err(CommandFailure::failed("the engine stopped")),
                },
                // A line ends a walk.
                typed = input.next(), if is_idle || !self.walk.is_empty() && self.is_typed => {
                    interrupted = false;
                    if !std::mem::take(&mut self.walk).is_empty() {
                        print_text("The walk ends here.\n")?;
                        self.send(Command::Cancel)?;
                        continue;
                    }
                    if self.typed(typed)? == NextStep::Ends {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// A person waits for nothing that was not begun for them.
    fn takes_a_line(&self) -> bool {
        match self.doing {
            PendingReply::Nothing => true,
            PendingReply::Trying(_) | PendingReply::Describing => self.is_typed,
            _ => false,
        }
    }

    fn interrupted(&mut self) -> Result<(), CommandFailure> {
        if self.takes_a_line() {
            print_text("\nCtrl+C again leaves, as Ctrl+D does.\n")?;
            self.rest()?;
        } else if matches!(self.doing, PendingReply::SummingUp) {
            self.send(Command::LeaveStatistics)?;
            print_text("\nStopped. Ctrl+C again leaves.\n")?;
            self.rest()?;
        } else {
            print_text("\nStopping. Ctrl+C again leaves.\n")?;
            self.send(Command::Cancel)?;
        }
        Ok(())
    }

    /// Nothing is going on: what is typed next is taken.
    fn rest(&mut self) -> Result<(), CommandFailure> {
        self.doing = PendingReply::Nothing;
        if self.is_typed && self.walk.is_empty() {
            print_text(PROMPT)?;
        }
        Ok(())
    }

    fn typed(&mut self, typed: InputLine) -> Result<NextStep, CommandFailure> {
        let text = match typed {
            InputLine::Line(text) => text,
            InputLine::TooLong => {
                print_notice("that line is longer than 64 kB and was not sent");
                self.rest()?;
                return Ok(NextStep::GoesOn);
            }
            InputLine::End => {
                if self.is_typed {
                    print_text("\n")?;
                }
                return Ok(NextStep::Ends);
            }
        };
        match PlainCommand::parse(&text) {
            Ok(PlainCommand::Quit) => return Ok(NextStep::Ends),
            Ok(line) => self.line(line)?,
            Err(why) => {
                print_notice(&why);
                self.rest()?;
            }
        }
        Ok(NextStep::GoesOn)
    }

    fn line(&mut self, line: PlainCommand) -> Result<(), CommandFailure> {
        match line {
            PlainCommand::Question(text) => return self.ask(&text, self.route, None),
            PlainCommand::Retry(route) => {
                let Some(last) = self.runs.last().map(|run| run.summary.clone()) else {
                    print_notice("nothing to ask again yet");
                    return self.rest();
                };
                let first = last.retry_of.unwrap_or(last.id);
                return self.ask(&last.question, route.or(self.route), Some(first));
            }
            PlainCommand::Sources(Some(number)) => return self.passage(number),
            PlainCommand::Try(number) => return self.try_one(number),
            PlainCommand::Base => return self.describe(),
            PlainCommand::Add(path) => {
                return self.wait_for(PendingReply::Adding, Command::AddSource(path));
            }
            PlainCommand::Stats => {
                return self.wait_for(PendingReply::SummingUp, Command::ReadStatistics);
            }
            PlainCommand::Sessions => {
                let list = Command::Session(SessionCommand::List);
                return self.wait_for(PendingReply::ListingSessions, list);
            }
            PlainCommand::Export => {
                let Some(last) = self.runs.last() else {
                    print_notice("nothing to export yet");
                    return self.rest();
                };
                let export = SessionCommand::Export(last.summary.session.clone());
                return self.wait_for(PendingReply::Exporting, Command::Session(export));
            }
            PlainCommand::Model(ModelRequest::List(_)) => {
                print_text(self.about.engine(self.route))?;
                if self.about.has_endpoint() {
                    let list = Command::Model(ModelCommand::List);
                    return self.wait_for(PendingReply::ListingModels, list);
                }
                print_text(format!("{OFFLINE_HAS_NO_MODELS}\n"))?;
            }
            PlainCommand::Model(ModelRequest::Choose(wish)) => {
                let choose = Command::Model(ModelCommand::Choose(wish));
                return self.wait_for(PendingReply::ChoosingModel, choose);
            }
            PlainCommand::Sources(None) => print_text(sources(self.runs.last()))?,
            PlainCommand::Runs => print_text(runs(&self.runs))?,
            PlainCommand::Help => print_text(help())?,
            PlainCommand::Route(route) => {
                self.route = route;
                print_text(match route {
                    None => "Route for new questions: auto\n".to_owned(),
                    Some(route) => format!("Route for new questions: {}\n", route.as_str()),
                })?;
            }
            PlainCommand::Index(command) => {
                self.send(Command::Index(command))?;
                print_text(match command {
                    IndexCommand::Stop => "Indexing stops; /index goes on.\n",
                    IndexCommand::Resume => "The index is kept up to date.\n",
                })?;
            }
            PlainCommand::Clear => {
                self.runs.clear();
                self.send(Command::Forget)?;
                print_text("Another conversation begins.\n")?;
            }
            PlainCommand::Empty | PlainCommand::Quit => {}
        }
        self.rest()
    }

    /// Lists the questions to try, or asks one of them.
    fn try_one(&mut self, number: Option<usize>) -> Result<(), CommandFailure> {
        if !self.samples.are_known() {
            self.doing = PendingReply::Trying(number);
            return Ok(());
        }
        let Some(number) = number else {
            print_text(self.samples.listed())?;
            return self.rest();
        };
        if let Some(question) = self.samples.get(number).map(str::to_owned) {
            return self.ask(&question, self.route, None);
        }
        print_notice(&format!("there is no question {number} to try"));
        self.rest()
    }

    fn ask(
        &mut self,
        question: &str,
        route: Option<Complexity>,
        retry_of: Option<RunId>,
    ) -> Result<(), CommandFailure> {
        self.doing = PendingReply::Asking;
        self.send(Command::Ask {
            query: question.to_owned(),
            route,
            retry_of,
        })
    }

    /// Sends what is answered by an update.
    fn wait_for(&mut self, doing: PendingReply, command: Command) -> Result<(), CommandFailure> {
        self.doing = doing;
        self.send(command)
    }

    /// Says what the knowledge base holds, once that is known.
    fn describe(&mut self) -> Result<(), CommandFailure> {
        let Some(base) = self.about.base() else {
            self.doing = PendingReply::Describing;
            return Ok(());
        };
        print_text(base)?;
        self.rest()
    }

    fn passage(&mut self, number: usize) -> Result<(), CommandFailure> {
        let numbered = self.runs.last().map_or_else(Vec::new, numbered);
        let found = numbered.iter().find(|(n, _)| *n == number);
        let Some((source, lines)) = found.map(|(_, item)| (item.source.clone(), item.lines)) else {
            print_notice(&format!(
                "there is no evidence {number}; /sources lists what there is"
            ));
            return self.rest();
        };
        self.doing = PendingReply::Reading(lines);
        let line = lines.start;
        self.send(Command::ReadDocument { source, line })
    }

    fn take(&mut self, update: Update) -> Result<(), CommandFailure> {
        match update {
            Update::Event(event) => self.event(&event)?,
            Update::Document(text) => {
                if let PendingReply::Reading(lines) = self.doing {
                    print_text(passage(&text, lines))?;
                    self.rest()?;
                }
            }
            Update::Starting { wait, .. } => print_text(before_the_run(&wait))?,
            Update::Notice { level, message } => {
                let is_answer = matches!(self.doing, PendingReply::Exporting);
                match level {
                    NoticeLevel::Info if is_answer => print_text(format!("{}.\n", line(&message)))?,
                    _ => print_notice(&message),
                }
                if is_answer {
                    self.rest()?;
                }
            }
            Update::NotAsked { reason: why, .. } | Update::SourceAdded(Err(why)) => {
                print_notice(&why);
                self.rest()?;
            }
            Update::SourceAdded(Ok(line)) => {
                // What they are now is sent anew.
                self.about.contents = None;
                print_text(line + "\n")?;
                self.rest()?;
            }
            Update::Session(SessionUpdate::NotResumed(line)) => print_notice(&line),
            Update::Contents(contents) => {
                if !contents.samples_are_sought {
                    self.samples.take(contents.samples.clone());
                }
                self.about.contents = Some(contents);
                match self.doing {
                    PendingReply::Trying(number) => self.try_one(number)?,
                    PendingReply::Describing => self.describe()?,
                    _ => {}
                }
            }
            Update::Model(update) => self.model_update(update)?,
            Update::Knowledge(status) => self.about.knowledge = status,
            Update::Statistics(read) => {
                if matches!(self.doing, PendingReply::SummingUp) {
                    match read {
                        Ok(history) if history.total.runs == 0 => print_notice("no runs yet"),
                        Ok(history) => print_text(in_lines(&history.total, None))?,
                        Err(why) => print_notice(&why),
                    }
                    self.rest()?;
                }
            }
            Update::Session(SessionUpdate::Listed(listed)) => {
                if matches!(self.doing, PendingReply::ListingSessions) {
                    print_text(sessions(&listed))?;
                    self.rest()?;
                }
            }
            Update::Paths { .. } | Update::Session(_) => {}
        }
        Ok(())
    }

    fn model_update(&mut self, update: ModelUpdate) -> Result<(), CommandFailure> {
        match update {
            ModelUpdate::Listed(Ok(listing)) => {
                print_text(models(&listing))?;
                self.about.models = listing.in_use;
            }
            ModelUpdate::Listed(Err(why)) | ModelUpdate::NotChosen(why) => print_notice(&why),
            ModelUpdate::Chosen(models) => {
                self.about.models = models;
                print_text(format!(
                    "From the next question on:\n{}",
                    self.about.models()
                ))?;
            }
        }
        if matches!(
            self.doing,
            PendingReply::ListingModels | PendingReply::ChoosingModel
        ) {
            self.rest()?;
        }
        Ok(())
    }

    fn event(&mut self, event: &Event) -> Result<(), CommandFailure> {
        if let Some(narrator) = Narrator::begin(event) {
            if !self.is_typed || !self.walk.is_empty() {
                let asked = one_line(&narrator.record().summary.question, 2000);
                print_text(format!("Question: {asked}\n"))?;
            }
            self.doing = PendingReply::Answering(Box::new(narrator));
            return Ok(());
        }
        let PendingReply::Answering(narrator) = &mut self.doing else {
            return Ok(());
        };
        print_text(narrator.render(event))?;
        if matches!(event.body, EventBody::RunFinished { .. }) {
            self.runs.push(narrator.record().clone());
            print_text("\n")?;
            self.rest()?;
        }
        Ok(())
    }

    fn send(&self, command: Command) -> Result<(), CommandFailure> {
        let sent = self.commands.try_send(command);
        sent.map_err(|_| CommandFailure::failed("the engine is busy and takes no command"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// What is typed where the questions to try never become known.
    async fn typed(lines: &[&str]) -> (Result<(), CommandFailure>, Vec<Command>) {
        let (type_in, typed) = mpsc::channel(8);
        for line in lines {
            let line = InputLine::Line((*line).to_owned());
            type_in.send(line).await.unwrap();
        }
        drop(type_in);
        let (commands, mut sent) = mpsc::channel(8);
        let (_updating, mut updates) = mpsc::channel(8);
        let (_interrupting, mut interrupts) = mpsc::channel(8);
        let mut plain = Plain {
            commands,
            is_typed: true,
            samples: NumberedSamples::for_base(false),
            about: ConversationInfo::of_nothing(),
            walk: VecDeque::new(),
            route: None,
            runs: Vec::new(),
            doing: PendingReply::Nothing,
        };
        let cancel = CancellationToken::new();
        let mut input = StandardInput::from_channel(typed);
        let answered = plain.answer_lines(&mut input, &mut updates, &mut interrupts, &cancel);
        let answered = tokio::time::timeout(Duration::from_mins(1), answered).await;
        let mut all = Vec::new();
        while let Ok(command) = sent.try_recv() {
            all.push(command);
        }
        (answered.expect("it ends"), all)
    }

    #[tokio::test(start_paused = true)]
    async fn samples_that_do_not_come_hold_up_neither_a_line_nor_the_end() {
        assert!(typed(&["/try"]).await.0.is_ok());
        let (answered, sent) = typed(&["/try 2", "/index stop"]).await;
        assert!(answered.is_ok());
        assert_eq!(sent, [Command::Index(IndexCommand::Stop)]);
    }

    #[test]
    fn ctrl_c_ends_the_waiting_for_samples() {
        let (commands, mut sent) = mpsc::channel(1);
        let mut plain = Plain {
            commands,
            is_typed: true,
            samples: NumberedSamples::for_base(false),
            about: ConversationInfo::of_nothing(),
            walk: VecDeque::new(),
            route: None,
            runs: Vec::new(),
            doing: PendingReply::Trying(None),
        };
        plain.interrupted().unwrap_or_else(|_| panic!("it fails"));
        assert!(matches!(plain.doing, PendingReply::Nothing));
        assert!(sent.try_recv().is_err());
    }
}
