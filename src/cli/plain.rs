//! Plain mode: one column, a line for each thing that happens, everything asked by typed lines.
//!
//! For terminals that cannot move a cursor, for screen readers, for pipes. It reads the same
//! stream of events as the screen.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, stdin, stdout};
use std::thread;

use clap::ValueEnum;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::ask::RouteOption;
use super::catch_up::{ProgressForm, SearchNeeds, bring_up_to_date};
use super::interruption::interruptible_lines;
use super::narrator::{Detail, Narrator};
use super::output::{CommandFailure, print_notice, print_notices, print_text};
use super::resumable::{EndedConversation, StartOptions, name_of, take_up};
use crate::config::Settings;
use crate::domain::{Complexity, LineRange, Wait, WarningKind};
use crate::engine::{Conversation, Engine, Resume};
use crate::protocol::{
    Command, DocumentText, Event, EventBody, Mode, QuestionPlace, RunRecord, Update,
};
use crate::report::wording;
use crate::text::{one_line, plural};
use crate::tui::WalkStep;

/// What stands before a line that is typed.
const PROMPT: &str = "ask> ";
/// A longer line is a document, in bytes.
const LONGEST_LINE: usize = 64 << 10;
/// Lines of a passage that are shown at most.
const LONGEST_PASSAGE: usize = 60;

/// The commands.
const HELP: &str = "\
/help: list these commands.
/sources [NUMBER]: the evidence of the last answer, or one passage of it.
/route auto|simple|complex|chitchat: set the route of new questions.
/clear: forget the conversation.
/quit: leave.
Ctrl+C stops an answer; twice, or Ctrl+D, leaves.
";

/// Answers what is typed, line by line, until the lines end; `walk` is asked before the first.
pub(super) fn run(
    settings: &Settings,
    resume: Option<Resume>,
    walk: Vec<WalkStep>,
    start: &StartOptions,
) -> Result<(), CommandFailure> {
    let detail = if start.is_quiet {
        Detail::Answer
    } else {
        Detail::Nodes
    };
    interruptible_lines(async |cancel, interrupts| {
        let talk = converse(settings, resume, walk, detail, cancel, interrupts);
        let left = Box::pin(talk).await?;
        if stdin().is_terminal() {
            let start = StartOptions {
                is_plain: true,
                ..start.clone()
            };
            start.print_resume_command(&settings.audit_log, &left);
        }
        Ok(())
    })
}

/// Whether a terminal is no place for the screen, so that plain mode takes its place.
pub(super) fn is_needed() -> bool {
    let has_terminal = stdin().is_terminal() && stdout().is_terminal();
    !has_terminal || cfg!(unix) && is_dumb()
}

/// Whether the terminal cannot move its cursor, by what it says.
fn is_dumb() -> bool {
    let term = std::env::var("TERM").unwrap_or_default();
    // The names that terminfo knows without an address for the cursor.
    let names = "dumb unknown emacs glasstty lpr printer network ethernet dialup plugboard switch";
    term.is_empty() || names.split(' ').any(|name| name == term) || term.starts_with("dumb-")
}

async fn converse(
    settings: &Settings,
    resume: Option<Resume>,
    walk: Vec<WalkStep>,
    detail: Detail,
    cancel: CancellationToken,
    mut interrupts: mpsc::Receiver<()>,
) -> Result<EndedConversation, CommandFailure> {
    let opened = async {
        let mut engine = Engine::open(settings).await?;
        let resumed = take_up(&mut engine, resume, name_of(&walk)).await?;
        print_notices(engine.notices());
        let (knowledge, form) = (engine.knowledge(), ProgressForm::Lines);
        let embedding = bring_up_to_date(&knowledge, SearchNeeds::Dense, form, &cancel).await?;
        // What is left of it goes on behind the conversation.
        embedding.end().await;
        Ok::<_, CommandFailure>((engine, resumed))
    };
    let (engine, resumed) = tokio::select! {
        opened = opened => opened?,
        () = cancel.cancelled() => return Err(CommandFailure::interrupted()),
        _ = interrupts.recv() => return Err(CommandFailure::interrupted()),
    };
    let is_typed = stdin().is_terminal();
    if is_typed && detail == Detail::Nodes {
        print_text(greeting(&engine))?;
    }
    let (conversation, commands, updates) = Conversation::begin(engine)?;
    let mut plain = Plain {
        commands,
        updates,
        interrupts,
        lines: read_lines()?,
        is_typed,
        is_interrupted: false,
        detail,
        walk: walk.into(),
        route: None,
        last: resumed.and_then(|recorded| last_run(&recorded.events)),
    };
    let end = tokio::select! {
        biased;
        () = cancel.cancelled() => CommandFailure::interrupted(),
        end = plain.answer_lines() => end,
    };
    drop(plain);
    let left = EndedConversation::close(conversation).await;
    if end.is_finished() {
        Ok(left)
    } else {
        Err(end)
    }
}

/// What is said at the beginning.
fn greeting(engine: &Engine) -> String {
    let knowledge = engine.knowledge().status();
    let mode = match engine.identity().mode {
        Mode::Offline => "offline, extractive".to_owned(),
        Mode::Llm => engine.models().in_words(),
    };
    format!(
        "kb-agent in plain mode over {}: {} in {}; {mode}.\n\
         Type a question; /help lists the commands, Ctrl+D leaves.\n",
        one_line(&knowledge.name, 60),
        plural(knowledge.documents, "document"),
        plural(knowledge.chunks, "passage"),
    )
}

/// The run that began last among these events.
fn last_run(events: &[Event]) -> Option<RunRecord> {
    let mut last_first = events.iter().enumerate().rev();
    let begun = last_first.find_map(|(at, event)| Some((at, RunRecord::begin(event)?)));
    let (at, mut run) = begun?;
    for event in &events[at + 1..] {
        if event.run == run.summary.id {
            run.apply(event);
        }
    }
    Some(run)
}

/// The lines of standard input, read on a thread of their own: nothing else waits for them.
fn read_lines() -> io::Result<mpsc::Receiver<String>> {
    let (send, lines) = mpsc::channel(1);
    let reader = thread::Builder::new().name("lines".to_owned());
    reader.spawn(move || {
        let mut input = BufReader::new(stdin());
        while let Some(line) = next_line(&mut input)
            && send.blocking_send(line).is_ok()
        {}
    })?;
    Ok(lines)
}

/// The next line, or the beginning of one that is too long; `None` at the end, and where nothing can
/// be read any more.
fn next_line(input: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    let mut bounded = input.by_ref().take(LONGEST_LINE as u64 + 1);
    if bounded.read_until(b'\n', &mut line).ok()? == 0 {
        return None;
    }
    if line.len() > LONGEST_LINE && !line.ends_with(b"\n") {
        input.skip_until(b'\n').ok()?;
    }
    Some(String::from_utf8_lossy(&line).into_owned())
}

/// A conversation in lines.
struct Plain {
    commands: mpsc::Sender<Command>,
    updates: mpsc::Receiver<Update>,
    interrupts: mpsc::Receiver<()>,
    lines: mpsc::Receiver<String>,
    /// Whether a person types; else the questions are repeated, so that the answers have them.
    is_typed: bool,
    /// Whether Ctrl+C was pressed since the last line.
    is_interrupted: bool,
    detail: Detail,
    /// Questions to be asked unasked.
    walk: VecDeque<WalkStep>,
    /// The route of the questions to come; `None`: the agent decides.
    route: Option<Complexity>,
    /// The last run of the conversation.
    last: Option<RunRecord>,
}

/// What comes next.
enum Incoming {
    Update(Box<Update>),
    /// A typed line; `None` where no more come.
    Line(Option<String>),
    /// Ctrl+C, the first.
    Interrupt,
}

impl Plain {
    /// Answers what is typed until the lines end, or something fails.
    async fn answer_lines(&mut self) -> CommandFailure {
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
                Incoming::Line(Some(line)) if line.trim_end().len() > LONGEST_LINE => {
                    let why = "that line is longer than 64 kB and was not sent";
                    return Err(CommandFailure::usage(why));
                }
                Incoming::Line(Some(line)) => return self.obey(line.trim()).await,
                Incoming::Line(None) => {
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
            line = self.lines.recv(), if takes_a_line => {
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
        let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let argument = argument.trim();
        let text = match name {
            "/help" => HELP.to_owned(),
            "/sources" if argument.is_empty() => sources(self.last.as_ref()),
            "/sources" => return self.passage(argument).await,
            "/route" => {
                let route = RouteOption::from_str(argument, true).map_err(|_| {
                    CommandFailure::usage("/route takes auto, simple, complex or chitchat")
                })?;
                self.route = route.forced();
                format!("Route for new questions: {argument}\n")
            }
            "/clear" => {
                self.last = None;
                self.send(Command::Forget)?;
                "Another conversation begins.\n".to_owned()
            }
            "/quit" => return Err(CommandFailure::finished()),
            other => {
                let other = one_line(other, 40);
                return Err(CommandFailure::usage(format!(
                    "there is no {other} in lines: /help lists what there is; a shell has kb-agent \
                     stats, runs, export and -c"
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
                    return Ok(print_text(passage(&text, lines))?);
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

/// The evidence of a run that has a number, in the order of the numbers, with its scores.
fn sources(run: Option<&RunRecord>) -> String {
    let evidence = run.map_or_else(Vec::new, wording::in_order);
    let numbered = evidence.iter().filter(|known| known.n.is_some());
    let lines = numbered.map(|known| {
        let (number, place) = (wording::number(known), wording::place(known));
        format!("{number} {place}: {}\n", wording::scores(known))
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        return "The last answer had no evidence.\n".to_owned();
    }
    lines
}

/// The lines of a passage as the index reads them.
fn passage(text: &DocumentText, lines: LineRange) -> String {
    let source = one_line(&text.source, 400);
    let part = match &text.part {
        Ok(part) => part,
        Err(why) => return format!("{source}: {}\n", one_line(why, 400)),
    };
    let end = lines.end.min(lines.start + LONGEST_PASSAGE - 1);
    let mut said = format!("{source}, lines {} to {end}:\n", lines.start);
    for line in (lines.start..=end).filter_map(|number| part.line(number)) {
        said.push_str(line);
        said.push('\n');
    }
    if end < lines.end {
        said.push_str(&format!("{} more.\n", plural(lines.end - end, "line")));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is sent to an engine that answers nothing when these lines are typed after a run; Ctrl+C
    /// follows the first command.
    async fn typed(lines: &[&str]) -> Vec<Command> {
        let recorded = include_str!("../../tests/it/fixtures/picture.jsonl");
        let events = recorded
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let events: Vec<Event> = events.collect();
        let (type_in, typed) = mpsc::channel(8);
        for line in lines {
            type_in.send((*line).to_owned()).await.unwrap();
        }
        drop(type_in);
        let (commands, mut sent) = mpsc::channel(8);
        let (_updating, updates) = mpsc::channel(8);
        let (interrupting, interrupts) = mpsc::channel(8);
        let mut plain = Plain {
            commands,
            updates,
            interrupts,
            lines: typed,
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

    #[test]
    fn a_line_that_is_too_long_costs_itself_only() {
        let text = format!("one\n{}\nthree", "x".repeat(3 * LONGEST_LINE));
        let mut input = text.as_bytes();
        let lines = std::iter::from_fn(|| next_line(&mut input).map(|line| line.len()));
        assert_eq!(lines.collect::<Vec<_>>(), [4, LONGEST_LINE + 1, 5]);
    }
}
