//! Plain mode: one column, a line for each thing that happens, everything asked by typed lines.
//!
//! For terminals that cannot move a cursor, for screen readers, for pipes. It reads the same
//! stream of events as the screen.

mod command;
mod doing;
mod input;
mod listing;
mod narrator;
mod samples;

use std::collections::VecDeque;
use std::io::{IsTerminal, Write, stderr, stdin, stdout};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::domain::Complexity;
use crate::engine::{Conversation, Engine, Resume};
use crate::protocol::{
    Command, Event, EventBody, IndexCommand, RunId, RunRecord, SessionUpdate, Update,
};
use crate::text::one_line;
use crate::tui::WalkStep;

use super::catch_up::{Needs, Shows, bring_up_to_date_showing};
use super::chat::DEMO;
use super::interruption::interruptible_lines;
use super::output::{Failure, complain, say};
use super::resumable::Start;
use command::Line;
use doing::{Doing, Flow};
use input::{Input, Typed};
use listing::{greeting, help, numbered, passage, runs, runs_of, sources};
use narrator::Narrator;
use samples::Samples;

/// What stands before a line that is typed.
const PROMPT: &str = "ask> ";

/// Whether a terminal is no place for the screen, so that plain mode takes its place.
pub(super) fn is_needed() -> bool {
    let has_terminal = stdin().is_terminal() && stdout().is_terminal();
    !has_terminal || cfg!(unix) && is_dumb()
}

/// Whether the terminal cannot move its cursor, by what it says.
fn is_dumb() -> bool {
    let term = std::env::var("TERM").unwrap_or_default();
    // The names that terminfo knows without an address for the cursor.
    let names = [
        "",
        "dumb",
        "unknown",
        "emacs",
        "glasstty",
        "lpr",
        "printer",
        "network",
        "ethernet",
        "dialup",
        "plugboard",
        "switch",
    ];
    names.contains(&term.as_str()) || term.starts_with("dumb-")
}

/// Answers what is typed, line by line, until the lines end; `walk` is asked before the first.
pub(super) fn run(
    settings: &Settings,
    resume: Option<Resume>,
    walk: Vec<WalkStep>,
    start: &Start,
) -> Result<(), Failure> {
    interruptible_lines(async |cancel, interrupts| {
        let session = converse(settings, resume, walk, cancel, interrupts).await?;
        let line = start.in_lines().resuming(&settings.audit_log, &session);
        if let Some(line) = line.filter(|_| stdin().is_terminal()) {
            let _ = writeln!(stderr(), "kb-agent: {line}");
        }
        Ok(())
    })
}

async fn converse(
    settings: &Settings,
    resume: Option<Resume>,
    walk: Vec<WalkStep>,
    cancel: CancellationToken,
    mut interrupts: mpsc::Receiver<()>,
) -> Result<String, Failure> {
    let opened = async {
        let mut engine = Engine::open(settings).await?;
        let resumed = match resume {
            Some(which) => Some(engine.resume(which).await?),
            None => None,
        };
        for notice in engine.notices() {
            complain(notice);
        }
        let shows = Shows::Lines;
        let knowledge = engine.knowledge();
        let embedding = bring_up_to_date_showing(knowledge, Needs::Meaning, shows, &cancel).await?;
        // What is left of it goes on behind the conversation.
        embedding.end().await;
        Ok::<_, Failure>((engine, resumed))
    };
    let (engine, resumed) = tokio::select! {
        opened = opened => opened?,
        () = cancel.cancelled() => return Err(Failure::interrupted()),
        _ = interrupts.recv() => return Err(Failure::interrupted()),
    };
    if !walk.is_empty() {
        engine.name_conversation(DEMO).await;
    }
    let is_typed = stdin().is_terminal();
    let samples = Samples::of(engine.is_demo());
    let greeting = greeting(&engine);
    let (conversation, commands, mut updates) = Conversation::begin(engine)?;
    let mut plain = Plain {
        commands,
        is_typed,
        samples,
        walk: walk.into(),
        route: None,
        runs: resumed.map_or_else(Vec::new, |recorded| runs_of(&recorded.events)),
        doing: Doing::Nothing,
    };
    if is_typed {
        say(&greeting)?;
    }
    let mut input = Input::begin()?;
    let result = plain
        .answer_lines(&mut input, &mut updates, &mut interrupts, &cancel)
        .await;
    drop((plain, updates));
    let session = conversation.end().await;
    result.map(|()| session)
}

/// A conversation in lines.
struct Plain {
    commands: mpsc::Sender<Command>,
    /// Whether a person types; else the questions are repeated, so that the answers have them.
    is_typed: bool,
    samples: Samples,
    /// Questions to be asked unasked.
    walk: VecDeque<WalkStep>,
    route: Option<Complexity>,
    runs: Vec<RunRecord>,
    doing: Doing,
}

impl Plain {
    async fn answer_lines(
        &mut self,
        input: &mut Input,
        updates: &mut mpsc::Receiver<Update>,
        interrupts: &mut mpsc::Receiver<()>,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        let mut interrupted = false;
        self.rest()?;
        loop {
            let is_idle = matches!(self.doing, Doing::Nothing);
            if is_idle && let Some(step) = self.walk.pop_front() {
                say(format!("\n{}\n", step.about))?;
                self.ask(&step.question, self.route, None)?;
                continue;
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Failure::interrupted()),
                Some(()) = interrupts.recv() => {
                    if !self.is_typed {
                        return Err(Failure::interrupted());
                    }
                    if std::mem::replace(&mut interrupted, true) {
                        say("\n")?;
                        return Ok(());
                    }
                    self.walk.clear();
                    self.interrupted()?;
                }
                update = updates.recv() => match update {
                    Some(update) => self.take(update)?,
                    None => return Err(Failure::failed("the engine stopped")),
                },
                // A line ends a walk.
                typed = input.next(), if is_idle || !self.walk.is_empty() && self.is_typed => {
                    interrupted = false;
                    if !std::mem::take(&mut self.walk).is_empty() {
                        say("The walk ends here.\n")?;
                        self.send(Command::Cancel)?;
                        continue;
                    }
                    if self.typed(typed)? == Flow::Ends {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn interrupted(&mut self) -> Result<(), Failure> {
        if matches!(self.doing, Doing::Nothing) {
            say("\nCtrl+C again leaves, as Ctrl+D does.\n")?;
            self.rest()?;
        } else {
            say("\nStopping. Ctrl+C again leaves.\n")?;
            self.send(Command::Cancel)?;
        }
        Ok(())
    }

    /// Nothing is going on: what is typed next is taken.
    fn rest(&mut self) -> Result<(), Failure> {
        self.doing = Doing::Nothing;
        if self.is_typed && self.walk.is_empty() {
            say(PROMPT)?;
        }
        Ok(())
    }

    fn typed(&mut self, typed: Typed) -> Result<Flow, Failure> {
        let text = match typed {
            Typed::Line(text) => text,
            Typed::TooLong => {
                complain("that line is longer than 64 kB and was not sent");
                self.rest()?;
                return Ok(Flow::GoesOn);
            }
            Typed::End => {
                if self.is_typed {
                    say("\n")?;
                }
                return Ok(Flow::Ends);
            }
        };
        match Line::parse(&text) {
            Ok(Line::Quit) => return Ok(Flow::Ends),
            Ok(line) => self.line(line)?,
            Err(why) => {
                complain(&why);
                self.rest()?;
            }
        }
        Ok(Flow::GoesOn)
    }

    fn line(&mut self, line: Line) -> Result<(), Failure> {
        match line {
            Line::Question(text) => return self.ask(&text, self.route, None),
            Line::Retry(route) => {
                let Some(last) = self.runs.last().map(|run| run.summary.clone()) else {
                    complain("nothing to ask again yet");
                    return self.rest();
                };
                let first = last.retry_of.unwrap_or(last.id);
                return self.ask(&last.question, route.or(self.route), Some(first));
            }
            Line::Sources(Some(number)) => return self.passage(number),
            Line::Try(number) => return self.try_one(number),
            Line::Sources(None) => say(sources(self.runs.last()))?,
            Line::Runs => say(runs(&self.runs))?,
            Line::Help => say(help())?,
            Line::Route(route) => {
                self.route = route;
                say(match route {
                    None => "The agent decides the route again.\n".to_owned(),
                    Some(route) => format!("Questions go by {} from now on.\n", route.as_str()),
                })?;
            }
            Line::Index(command) => {
                self.send(Command::Index(command))?;
                say(match command {
                    IndexCommand::Stop => "Indexing stops; /index goes on.\n",
                    IndexCommand::Resume => "The index is kept up to date.\n",
                })?;
            }
            Line::Clear => {
                self.runs.clear();
                self.send(Command::Forget)?;
                say("Another conversation begins.\n")?;
            }
            Line::Empty | Line::Quit => {}
        }
        self.rest()
    }

    /// Lists the questions to try, or asks one of them.
    fn try_one(&mut self, number: Option<usize>) -> Result<(), Failure> {
        if !self.samples.are_known() {
            self.doing = Doing::Trying(number);
            return Ok(());
        }
        let Some(number) = number else {
            say(self.samples.listed())?;
            return self.rest();
        };
        if let Some(question) = self.samples.get(number).map(str::to_owned) {
            return self.ask(&question, self.route, None);
        }
        complain(&format!("there is no question {number} to try"));
        self.rest()
    }

    fn ask(
        &mut self,
        question: &str,
        route: Option<Complexity>,
        retry_of: Option<RunId>,
    ) -> Result<(), Failure> {
        self.doing = Doing::Asking;
        self.send(Command::Ask {
            query: question.to_owned(),
            route,
            retry_of,
        })
    }

    fn passage(&mut self, number: usize) -> Result<(), Failure> {
        let numbered = self.runs.last().map_or_else(Vec::new, numbered);
        let found = numbered.iter().find(|(n, _)| *n == number);
        let Some((source, lines)) = found.map(|(_, item)| (item.source.clone(), item.lines)) else {
            complain(&format!(
                "there is no evidence {number}; /sources lists what there is"
            ));
            return self.rest();
        };
        self.doing = Doing::Reading(lines);
        let line = lines.start;
        self.send(Command::ReadDocument { source, line })
    }

    fn take(&mut self, update: Update) -> Result<(), Failure> {
        match update {
            Update::Event(event) => self.event(&event)?,
            Update::Document(text) => {
                if let Doing::Reading(lines) = self.doing {
                    say(passage(&text, lines))?;
                    self.rest()?;
                }
            }
            Update::Notice { message, .. } => complain(&message),
            Update::NotAsked { reason, .. } => {
                complain(&reason);
                self.rest()?;
            }
            Update::Session(SessionUpdate::NotResumed(line)) => complain(&line),
            Update::Contents(contents) => {
                self.samples.take(contents.samples);
                if let Doing::Trying(number) = self.doing {
                    self.try_one(number)?;
                }
            }
            Update::Knowledge(_) | Update::Session(_) | Update::Statistics(_) => {}
        }
        Ok(())
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        if let Some(narrator) = Narrator::begin(event) {
            if !self.is_typed || !self.walk.is_empty() {
                let asked = one_line(&narrator.record().summary.question, 2000);
                say(format!("Question: {asked}\n"))?;
            }
            self.doing = Doing::Answering(Box::new(narrator));
            return Ok(());
        }
        let Doing::Answering(narrator) = &mut self.doing else {
            return Ok(());
        };
        say(narrator.say(event))?;
        if matches!(event.body, EventBody::RunFinished { .. }) {
            self.runs.push(narrator.record().clone());
            say("\n")?;
            self.rest()?;
        }
        Ok(())
    }

    fn send(&self, command: Command) -> Result<(), Failure> {
        let sent = self.commands.try_send(command);
        sent.map_err(|_| Failure::failed("the engine is busy and takes no command"))
    }
}
