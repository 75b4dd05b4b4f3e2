use std::collections::VecDeque;

use tokio::sync::mpsc;

use super::super::narrator::{Detail, Narrator};
use super::super::output::{CommandFailure, print_notice, print_text};
use super::input::{InputLine, StandardInput};
use super::listing;
use crate::domain::{Complexity, Wait, WarningKind};
use crate::protocol::{Command, EventBody, QuestionPlace, RunRecord, Update};
use crate::text::one_line;
use crate::tui::WalkStep;
use crate::tui::slash::route_called;

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
    /// The last run of the conversation.
    pub(super) last: Option<RunRecord>,
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
            return self.ask(&step.question, None, true).await;
        }
        if self.is_typed {
            print_text(PROMPT)?;
        }
        loop {
            match self.next(true).await? {
                Incoming::Update(update) => print_news(&update),
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

    fn send(&self, command: Command) -> Result<(), CommandFailure> {
        let sent = self.commands.try_send(command);
        sent.map_err(|_| CommandFailure::failed("the engine is busy and takes no command"))
    }

    /// Does what a line asks for.
    async fn obey(&mut self, line: &str) -> Result<(), CommandFailure> {
        if line.is_empty() {
            return Ok(());
        }
        if !line.starts_with('/') {
            return self.ask(line, self.route, false).await;
        }
        let (name, argument) = listing::parse(line).map_err(CommandFailure::usage)?;
        let text = match name {
            "/help" => listing::HELP.to_owned(),
            "/sources" if argument.is_empty() => listing::sources(self.last.as_ref()),
            "/sources" => return self.passage(argument).await,
            "/route" => {
                self.route = route_called(argument).and_then(|(_, route)| route);
                format!("Route for new questions: {argument}\n")
            }
            "/clear" => {
                self.last = None;
                self.send(Command::Forget)?;
                "Another conversation begins.\n".to_owned()
            }
            "/quit" => return Err(CommandFailure::finished()),
            other => {
                return Err(CommandFailure::usage(format!(
                    "{other} is for the screen; a shell has kb-agent stats, runs, export and -c"
                )));
            }
        };
        Ok(print_text(text)?)
    }

    async fn ask(
        &mut self,
        question: &str,
        route: Option<Complexity>,
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
            place: QuestionPlace::default(),
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
                    narrator = narrator.or_else(|| Narrator::begin(&event, self.detail));
                    let Some(narrator) = &mut narrator else {
                        continue;
                    };
                    print_text(narrator.render(&event))?;
                    if matches!(event.body, EventBody::RunFinished { .. }) {
                        self.last = Some(narrator.record().clone());
                        return self.end_of_run(narrator);
                    }
                }
                other => print_news(&other),
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

    /// Prints the passage of one item of the last run's evidence.
    async fn passage(&mut self, number: &str) -> Result<(), CommandFailure> {
        let number = number.trim_matches(['[', ']']);
        let mut evidence = self.last.iter().flat_map(|run| &run.evidence);
        let found = evidence.find(|known| known.n.is_some_and(|n| n.to_string() == number));
        let Some(item) = found.map(|known| &known.item) else {
            let number = one_line(number, 20);
            return Err(CommandFailure::usage(format!(
                "there is no evidence {number}; /sources lists what there is"
            )));
        };
        let (source, lines) = (item.source.clone(), item.lines);
        self.send(Command::ReadDocument {
            source: source.clone(),
            line: lines.start,
        })?;
        loop {
            let Incoming::Update(update) = self.next(false).await? else {
                return Ok(());
            };
            match *update {
                Update::Document(text) if text.source == source => {
                    return Ok(print_text(listing::passage(&text, lines))?);
                }
                other => print_news(&other),
            }
        }
    }
}

/// Prints what is for the person alone.
fn print_news(update: &Update) {
    if let Update::Notice { message, .. } = update {
        print_notice(message);
    }
}

#[cfg(test)]
mod tests {
    use super::super::last_run;
    use super::*;
    use crate::protocol::Event;

    /// What is sent to an engine that answers nothing when these lines are typed after a run; Ctrl+C
    /// follows the first command.
    async fn typed(lines: &[&str]) -> Vec<Command> {
        let recorded = include_str!("../../../tests/it/fixtures/picture.jsonl");
        let events = recorded
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let events: Vec<Event> = events.collect();
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
            last: last_run(&events),
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
    async fn ctrl_c_ends_the_waiting_for_a_passage_that_does_not_come() {
        let sent = typed(&["/sources [1]", "/clear", "/sources 1"]).await;
        let [Command::ReadDocument { source, line: 12 }, Command::Forget] = &sent[..] else {
            panic!("{sent:?}");
        };
        assert_eq!(source, "corrective-grading.md");
    }
}
