//! The terminal, borrowed: raw mode and all that, and given back as it was found.
//!
//! Given back on return, on error, on a panic of the thread that draws (before the message is
//! printed), while the program is suspended, and by [`give_back_terminal`] where the program ends
//! beside this room. What says that it is borrowed is one for the process, as the terminal is.

use std::ffi::OsString;
use std::io::{Stdout, Write, stdout};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, io};

use base64::Engine as _;
use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableFocusChange, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::style::Print;
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, supports_keyboard_enhancement,
};
use crossterm::{Command, execute};
use parking_lot::Mutex;
use tokio::process::{Child, Command as Process};

static TAKEN: AtomicBool = AtomicBool::new(false);
static ENHANCED: AtomicBool = AtomicBool::new(false);
static MOUSE: AtomicBool = AtomicBool::new(true);
static LENT: AtomicBool = AtomicBool::new(false);

/// Puts the window's title aside, and back.
const PUSH_TITLE: &str = "\x1b[22;2t";
const POP_TITLE: &str = "\x1b[23;2t";
/// Ends what the terminal shows as progress.
pub const NO_PROGRESS: &str = "\x1b]9;4;0\x1b\\";

/// What the terminal can show beside the cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities {
    /// A title that can be put aside and back.
    pub title: bool,
    /// A progress bar, by OSC 9;4.
    pub progress: bool,
    /// Notices on the desktop.
    pub notices: DesktopNotification,
    /// Links to files of this machine, by OSC 8.
    pub links: bool,
}

/// How a terminal is told to show a notice on the desktop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DesktopNotification {
    /// It shows none, or it is not known to.
    #[default]
    None,
    /// OSC 9, as iTerm2 and those that follow it.
    Osc9,
    /// OSC 777, as urxvt and those that follow it.
    Osc777,
}

impl DesktopNotification {
    fn from_variables(term: &str, program: &str) -> Self {
        let program = program.to_lowercase();
        let is = |names: &str| {
            let mut names = names.split(' ');
            names.any(|name| term.contains(name) || program.contains(name))
        };
        if is("foot rxvt") {
            Self::Osc777
        } else if is("kitty ghostty wezterm iterm") {
            Self::Osc9
        } else {
            Self::None
        }
    }

    /// What has the terminal say that this question is answered, which is one clean line.
    pub fn sequence(self, question: &str) -> String {
        match self {
            Self::None => String::new(),
            Self::Osc9 => format!("\x1b]9;kb-agent answered: {question}\x1b\\"),
            // A semicolon begins another field.
            Self::Osc777 => {
                let question = question.replace(';', ",");
                format!("\x1b]777;notify;kb-agent;answered: {question}\x1b\\")
            }
        }
    }
}

impl Abilities {
    /// Detects what the terminal can do from its environment variables.
    pub fn from_variables(variable: impl Fn(&str) -> String) -> Self {
        let term = variable("TERM");
        // A console has no window.
        let title = !matches!(term.as_str(), "" | "dumb" | "linux");
        // These take OSC 9 for a message to show, whatever follows.
        let is_iterm = variable("TERM_PROGRAM") == "iTerm.app";
        let shows_messages = term.starts_with("rxvt")
            || term.starts_with("foot")
            || is_iterm && !variable("TERM_FEATURES").contains('P');
        Self {
            title,
            progress: title && !shows_messages,
            notices: DesktopNotification::from_variables(&term, &variable("TERM_PROGRAM")),
            // A terminal on another machine would look for the files there.
            links: title && variable("SSH_CONNECTION").is_empty(),
        }
    }

    fn detect() -> Self {
        Self::from_variables(|name| env::var(name).unwrap_or_default())
    }
}

/// A program between this one and the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Multiplexer {
    Tmux,
    Screen,
}

impl Multiplexer {
    fn detect(variable: impl Fn(&str) -> String) -> Option<Self> {
        if !variable("TMUX").is_empty() {
            return Some(Self::Tmux);
        }
        (!variable("STY").is_empty()).then_some(Self::Screen)
    }
}

/// GNU screen drops a longer string.
const SCREEN_STRING: usize = 700;

/// What has the terminal put this text on the clipboard (OSC 52), through tmux and GNU screen too.
///
/// tmux takes the sequence itself with `set-clipboard on` and hands it on with `allow-passthrough on`;
/// it gets both.
pub fn copy_sequences(text: &str) -> String {
    let multiplexer = Multiplexer::detect(|name| env::var(name).unwrap_or_default());
    copy_sequences_through(multiplexer, text)
}

fn copy_sequences_through(multiplexer: Option<Multiplexer>, text: &str) -> String {
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    let plain = format!("\x1b]52;c;{encoded}\x1b\\");
    match multiplexer {
        None => plain,
        Some(Multiplexer::Tmux) => {
            let doubled = plain.replace('\x1b', "\x1b\x1b");
            format!("{plain}\x1bPtmux;{doubled}\x1b\\")
        }
        Some(Multiplexer::Screen) => {
            // A string of screen ends at the first ST: BEL ends the sequence within it.
            let whole = format!("\x1b]52;c;{encoded}\x07");
            let pieces = whole.as_bytes().chunks(SCREEN_STRING);
            let wrap = |piece| format!("\x1bP{}\x1b\\", String::from_utf8_lossy(piece));
            pieces.map(wrap).collect()
        }
    }
}

/// While this lives, the terminal is ours.
#[derive(Debug)]
pub struct TerminalGuard {
    failure: WriteFailure,
    /// What the terminal can show beside the cells.
    pub abilities: Abilities,
}

/// The first write that failed.
type WriteFailure = Arc<Mutex<Option<io::Error>>>;

impl TerminalGuard {
    /// Takes the terminal.
    pub fn take() -> io::Result<Self> {
        let guard = Self {
            failure: WriteFailure::default(),
            abilities: Abilities::detect(),
        };
        TAKEN.store(true, Ordering::SeqCst);
        enter()?;
        Ok(guard)
    }

    /// Where to draw. A write that fails is reported by [`TerminalGuard::failure`] and not to who
    /// draws: ratatui reports it on standard error while it is dropped, which panics when that is
    /// gone with the terminal.
    pub fn output(&self) -> Output {
        Output {
            out: stdout(),
            failure: Arc::clone(&self.failure),
        }
    }

    /// Why the terminal cannot be written, once it could not.
    pub fn failure(&self) -> Option<io::Error> {
        self.failure.lock().take()
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        LENT.store(false, Ordering::SeqCst);
        give_back_terminal();
    }
}

/// Asks for keys that tell Shift+Enter from Enter, where that is worth asking: a terminal that does
/// not answer costs two seconds, and has no such keys.
pub fn enhance() -> io::Result<()> {
    if answers_queries() && supports_keyboard_enhancement().unwrap_or(false) {
        push_enhancement()?;
        ENHANCED.store(true, Ordering::SeqCst);
    }
    Ok(())
}

/// Whether the terminal is borrowed at the moment.
pub fn is_ours() -> bool {
    TAKEN.load(Ordering::SeqCst)
}

/// Gives the terminal to the person's editor, until it is taken again.
pub fn lend() {
    LENT.store(true, Ordering::SeqCst);
    give_back_terminal();
}

/// Whether the person's editor has the terminal: Ctrl+C and its like are for the editor then,
/// although the terminal sends the signal to this program too.
pub fn editor_has_terminal() -> bool {
    LENT.load(Ordering::SeqCst)
}

/// Takes the terminal again, whatever has become of its modes since.
pub fn take_again() -> io::Result<()> {
    if TAKEN.swap(true, Ordering::SeqCst) {
        // Stopped without a warning: what is remembered as set may not be set any more.
        disable_raw_mode()?;
        if ENHANCED.load(Ordering::SeqCst) {
            execute!(stdout(), PopKeyboardEnhancementFlags)?;
        }
        if Abilities::detect().title {
            execute!(stdout(), Print(POP_TITLE))?;
        }
    }
    enter()?;
    if ENHANCED.load(Ordering::SeqCst) {
        push_enhancement()?;
    }
    // From here on Ctrl+C is a key.
    LENT.store(false, Ordering::SeqCst);
    Ok(())
}

/// Gives the terminal back as it was found, if it is borrowed. Any thread may do that, whatever
/// the one that draws is doing; who comes second finds it done. A failure has no reader to be
/// reported to.
pub fn give_back_terminal() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut sequences = String::new();
    // It may end in the middle of a frame.
    add(&mut sequences, EndSynchronizedUpdate);
    if ENHANCED.load(Ordering::SeqCst) {
        add(&mut sequences, PopKeyboardEnhancementFlags);
    }
    let abilities = Abilities::detect();
    if abilities.progress {
        sequences.push_str(NO_PROGRESS);
    }
    if abilities.title {
        sequences.push_str(POP_TITLE);
    }
    add(&mut sequences, DisableFocusChange);
    add(&mut sequences, DisableMouseCapture);
    add(&mut sequences, DisableBracketedPaste);
    add(&mut sequences, LeaveAlternateScreen);
    add(&mut sequences, Show);
    // A terminal that takes nothing at the moment must not keep the modes from being set back.
    let takes_it = takes_writes();
    if takes_it {
        write_past_the_lock(&sequences);
    }
    let _ = disable_raw_mode();
    if !takes_it {
        write_past_the_lock(&sequences);
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    if Abilities::detect().title {
        execute!(stdout(), Print(PUSH_TITLE))?;
    }
    execute!(
        stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        EnableFocusChange
    )?;
    if MOUSE.load(Ordering::SeqCst) {
        report_mouse(true)?;
    }
    Ok(())
}

/// Whether the mouse is to be reported when the terminal is taken.
pub fn set_mouse(wanted: bool) {
    MOUSE.store(wanted, Ordering::SeqCst);
}

/// Has the terminal report the mouse from now on, or not.
pub fn report_mouse(wanted: bool) -> io::Result<()> {
    set_mouse(wanted);
    if wanted {
        execute!(stdout(), EnableButtons)
    } else {
        execute!(stdout(), DisableMouseCapture)
    }
}

/// Asks for the background (OSC 11); the answer comes as input.
pub fn ask_background() -> io::Result<()> {
    let mut out = stdout();
    out.write_all(b"\x1b]11;?\x1b\\")?;
    out.flush()
}

/// Buttons, wheel, and movements while a button is down; `EnableMouseCapture` asks for every
/// movement, of which each would wake the program for nothing.
struct EnableButtons;

impl Command for EnableButtons {
    fn write_ansi(&self, out: &mut impl std::fmt::Write) -> std::fmt::Result {
        out.write_str("\u{1b}[?1000h\u{1b}[?1002h\u{1b}[?1006h")
    }

    #[cfg(windows)]
    fn execute_winapi(&self) -> io::Result<()> {
        crossterm::event::EnableMouseCapture.execute_winapi()
    }
}

fn push_enhancement() -> io::Result<()> {
    execute!(
        stdout(),
        PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES)
    )
}

fn add(sequences: &mut String, command: impl Command) {
    let _ = command.write_ansi(sequences);
}

#[cfg(unix)]
fn takes_writes() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let out = rustix::stdio::stdout();
    let mut asked = [PollFd::new(&out, PollFlags::OUT)];
    poll(&mut asked, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

#[cfg(not(unix))]
fn takes_writes() -> bool {
    true
}

/// The thread that draws may hold the lock of standard output, waiting for a terminal that takes
/// no more.
#[cfg(unix)]
fn write_past_the_lock(text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), rest) {
            Ok(written) if written > 0 => rest = &rest[written..],
            Err(rustix::io::Errno::INTR) => {}
            _ => return,
        }
    }
}

#[cfg(not(unix))]
fn write_past_the_lock(text: &str) {
    let mut out = stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Standard output that keeps its failure to itself.
#[derive(Debug)]
pub struct Output {
    out: Stdout,
    failure: WriteFailure,
}

impl Output {
    fn keep(&self, error: io::Error) {
        self.failure.lock().get_or_insert(error);
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.out.write(bytes) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                self.keep(error);
                Ok(bytes.len())
            }
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Err(error) = self.out.flush() {
            self.keep(error);
        }
        Ok(())
    }
}

fn answers_queries() -> bool {
    let says = |name: &str, words: &str| says(&env::var(name).unwrap_or_default(), words);
    env::var_os("KITTY_WINDOW_ID").is_some()
        || says("TERM", "kitty ghostty foot alacritty wezterm rio contour")
        || says("TERM_PROGRAM", "wezterm ghostty iterm rio")
}

/// Whether the terminal is known to mark what is pasted.
pub fn brackets_pastes() -> bool {
    brackets_pastes_by(|name| env::var(name).unwrap_or_default())
}

fn brackets_pastes_by(variable: impl Fn(&str) -> String) -> bool {
    let is_set = |name: &str| !variable(name).is_empty();
    // What they are shown on may mark nothing.
    if is_set("TMUX") || is_set("STY") || says(&variable("TERM"), "screen tmux linux") {
        return false;
    }
    [
        "KITTY_WINDOW_ID",
        "WT_SESSION",
        "KONSOLE_VERSION",
        "VTE_VERSION",
    ]
    .into_iter()
    .any(is_set)
        || says(
            &variable("TERM"),
            "kitty ghostty foot alacritty wezterm contour",
        )
        || says(
            &variable("TERM_PROGRAM"),
            "wezterm ghostty iterm apple_terminal vscode",
        )
}

/// Whether one of these words stands in a variable.
fn says(value: &str, words: &str) -> bool {
    let value = value.to_lowercase();
    words.split(' ').any(|word| value.contains(word))
}

// Being stopped and going on, as a shell's job does: Ctrl+Z, SIGTSTP, SIGCONT.

/// What the shell, or a user with `kill`, asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobSignal {
    /// Give the terminal back and stop the process.
    Stop,
    /// The program has been stopped, whether it was asked or not, and goes on.
    Continue,
}

#[cfg(unix)]
pub use unix::{JobSignals, is_job, stop_job};

#[cfg(unix)]
mod unix {
    use rustix::process::{Signal as Name, getpgrp, getsid, kill_current_process_group};
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::{JobSignal, io};

    /// Listens from its making on.
    pub struct JobSignals {
        stop: Signal,
        go_on: Signal,
    }

    impl JobSignals {
        /// Subscribes to the signals.
        pub fn listen() -> io::Result<Self> {
            let listen = |name: Name| signal(SignalKind::from_raw(name.as_raw()));
            Ok(Self {
                stop: listen(Name::TSTP)?,
                go_on: listen(Name::CONT)?,
            })
        }

        /// Waits for the next signal.
        pub async fn next(&mut self) -> JobSignal {
            tokio::select! {
                _ = self.stop.recv() => JobSignal::Stop,
                _ = self.go_on.recv() => JobSignal::Continue,
            }
        }
    }

    /// Whether a shell could continue what is stopped: one that controls jobs gives each a group
    /// of its own. A window that was opened for this program would stand still for ever.
    pub fn is_job() -> bool {
        getsid(None).is_ok_and(|session| session != getpgrp())
    }

    /// Stops all processes of this job until the shell continues them; the terminal must have
    /// been given back.
    pub fn stop_job() -> io::Result<()> {
        Ok(kill_current_process_group(Name::STOP)?)
    }
}

#[cfg(not(unix))]
pub use elsewhere::{JobSignals, is_job, stop_job};

#[cfg(not(unix))]
mod elsewhere {
    use super::{JobSignal, io};

    /// Job signals, which this platform does not have.
    pub struct JobSignals;

    impl JobSignals {
        /// Subscribes to the signals.
        pub fn listen() -> io::Result<Self> {
            Ok(Self)
        }

        /// Never returns, as there are no such signals.
        pub async fn next(&mut self) -> JobSignal {
            std::future::pending().await
        }
    }

    /// Returns false: this platform has no job control.
    pub fn is_job() -> bool {
        false
    }

    /// Returns an error: this platform has no job control.
    pub fn stop_job() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

// The person's own editor, as `$VISUAL` or `$EDITOR` names it.
//
// The variable holds words, not a script: they are split as a shell would, and started without
// one. Each editor takes a line number in its own way; one that is not known gets the file alone.

/// How long the end of an editor is waited for when the program ends.
const ENDS_WITHIN: Duration = Duration::from_millis(500);

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorCommand {
    /// What to start.
    pub program: String,
    /// Arguments of the program, the file among them.
    pub arguments: Vec<OsString>,
}

/// What the editor is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// A file that stays, whether the editor is still open or not.
    Alone,
    /// A text that is taken back, and so waited for.
    Awaited,
}

/// Starts the editor of `$VISUAL` or `$EDITOR` with this file at this line, once `give_away` has
/// given the terminal back. An error is one line.
pub fn start_editor(
    path: &Path,
    line: usize,
    opening: Opening,
    give_away: impl FnOnce(),
) -> Result<Child, String> {
    let named = ["VISUAL", "EDITOR"].map(|name| env::var(name).unwrap_or_default());
    let variable = named.iter().find(|value| !value.trim().is_empty());
    let variable = variable.map_or("", String::as_str);
    let command = editor_command(variable, path, line, opening)?;
    give_away();
    let child = Process::new(&command.program)
        .args(&command.arguments)
        .spawn();
    child.map_err(|error| format!("{} cannot be started: {error}", command.program))
}

/// Ends an editor that is still open when the program ends, or it would read the shell's keys.
pub async fn end_editor(mut editor: Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process};
        let id = editor.id().and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = id.and_then(Pid::from_raw) {
            // It may keep what was written in it, and set the terminal back.
            let _ = kill_process(pid, Signal::TERM);
        }
    }
    #[cfg(not(unix))]
    let _ = editor.start_kill();
    let _ = tokio::time::timeout(ENDS_WITHIN, editor.wait()).await;
}

/// What starts the editor of `variable` with this file at this line; an error is one line.
pub fn editor_command(
    variable: &str,
    path: &Path,
    line: usize,
    opening: Opening,
) -> Result<EditorCommand, String> {
    let Some(words) = shlex::split(variable) else {
        return Err(format!(
            "the editor cannot be started: a quote in {variable} is not closed; set VISUAL anew"
        ));
    };
    let mut words = words.into_iter();
    let Some(program) = words.next().filter(|program| !program.is_empty()) else {
        return Err("no editor is set; set VISUAL or EDITOR to one, such as 'vim'".to_owned());
    };
    let given: Vec<String> = words.collect();
    let name = Path::new(&program).file_stem().unwrap_or_default();
    let name = name.to_string_lossy();
    let editor = EDITORS.iter().find(|editor| editor.is_called(&name));
    let waiting = editor.map_or(&[][..], |editor| editor.waiting);
    let waits = given.iter().any(|word| waiting.contains(&word.as_str()));
    let mut arguments: Vec<OsString> = given.into_iter().map(Into::into).collect();
    if let Some(wait) = waiting.first().filter(|_| !waits) {
        arguments.extend((opening == Opening::Awaited).then(|| wait.into()));
    }
    let at_line = || {
        let mut place = path.as_os_str().to_owned();
        place.push(format!(":{line}"));
        place
    };
    match editor.map(|editor| editor.line) {
        Some(LineArgument::Plus) => arguments.extend([format!("+{line}").into(), path.into()]),
        Some(LineArgument::Colon) => arguments.push(at_line()),
        Some(LineArgument::Goto) => arguments.extend(["--goto".into(), at_line()]),
        None => arguments.push(path.into()),
    }
    Ok(EditorCommand { program, arguments })
}

/// Editors that take a line and a file in the same way.
struct Editors {
    /// Their names, parted by spaces.
    names: &'static str,
    line: LineArgument,
    /// What has one that opens a window stay until the file is closed, the first one to be given; nothing
    /// for those that stay anyway.
    waiting: &'static [&'static str],
}

/// How an editor is given a line.
#[derive(Clone, Copy)]
enum LineArgument {
    /// `+LINE FILE`
    Plus,
    /// `FILE:LINE`
    Colon,
    /// `--goto FILE:LINE`
    Goto,
}

impl Editors {
    fn is_called(&self, name: &str) -> bool {
        self.names.split(' ').any(|known| known == name)
    }
}

const EDITORS: [Editors; 6] = [
    Editors {
        names: "vi vim nvim view nano rnano pico emacs emacsclient kak micro joe jmacs jed mg ne mcedit \
                less vis nvi elvis zile",
        line: LineArgument::Plus,
        waiting: &[],
    },
    Editors {
        names: "gvim gview mvim",
        line: LineArgument::Plus,
        waiting: &["-f", "--nofork"],
    },
    Editors {
        names: "gedit",
        line: LineArgument::Plus,
        waiting: &["--wait", "-w"],
    },
    Editors {
        names: "hx helix",
        line: LineArgument::Colon,
        waiting: &[],
    },
    Editors {
        names: "subl zed zeditor",
        line: LineArgument::Colon,
        waiting: &["--wait", "-w"],
    },
    Editors {
        names: "code code-insiders codium vscodium cursor windsurf",
        line: LineArgument::Goto,
        waiting: &["--wait", "-w"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_shows_progress_is_sent_any() {
        let of = |set: &[(&str, &str)]| {
            Abilities::from_variables(|name| {
                let found = set.iter().find(|(variable, _)| *variable == name);
                found.map_or_else(String::new, |(_, value)| (*value).to_owned())
            })
        };
        let both = of(&[("TERM", "xterm-256color")]);
        assert!(both.title && both.progress);
        for term in ["", "dumb", "linux"] {
            assert_eq!(of(&[("TERM", term)]), Abilities::default());
        }
        let foot = of(&[("TERM", "foot")]);
        assert!(foot.title && !foot.progress);
        let iterm = [("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")];
        assert!(!of(&iterm).progress);
        let newer = [iterm[0], iterm[1], ("TERM_FEATURES", "T3CwPB")];
        assert!(of(&newer).progress);
        let notices = [both, foot, of(&newer)].map(|one| one.notices);
        assert_eq!(
            notices,
            [
                DesktopNotification::None,
                DesktopNotification::Osc777,
                DesktopNotification::Osc9
            ]
        );
    }
}

#[cfg(test)]
mod paste_tests {
    use super::*;

    #[test]
    fn only_a_terminal_that_is_known_marks_pastes() {
        let by = |set: &[(&str, &str)]| {
            brackets_pastes_by(|name| {
                let found = set.iter().find(|(variable, _)| *variable == name);
                found.map_or_else(String::new, |(_, value)| (*value).to_owned())
            })
        };
        for known in [
            ("TERM", "xterm-kitty"),
            ("TERM_PROGRAM", "iTerm.app"),
            ("VTE_VERSION", "7800"),
        ] {
            assert!(by(&[known]), "{known:?}");
            // Another terminal may be attached to these.
            assert!(!by(&[known, ("TMUX", "/tmp/tmux,1,0")]), "{known:?}");
            assert!(!by(&[known, ("STY", "1.pts")]), "{known:?}");
        }
        for term in [
            "",
            "linux",
            "xterm",
            "xterm-256color",
            "screen-256color",
            "tmux-256color",
        ] {
            assert!(!by(&[("TERM", term)]), "{term}");
        }
    }
}

#[cfg(test)]
mod copy_tests {
    use super::*;

    #[test]
    fn a_copy_goes_through_tmux_and_screen() {
        let through = |multiplexer| copy_sequences_through(multiplexer, "a b");
        assert_eq!(through(None), "\x1b]52;c;YSBi\x1b\\");
        let tmux = through(Some(Multiplexer::Tmux));
        let handed_on = "\x1bPtmux;\x1b\x1b]52;c;YSBi\x1b\x1b\\\x1b\\";
        assert_eq!(tmux, format!("{}{handed_on}", through(None)));
        let long = copy_sequences_through(Some(Multiplexer::Screen), &"x".repeat(2000));
        let strings: Vec<_> = long.split_terminator("\x1b\\").collect();
        assert!(strings.len() > 3 && strings.iter().all(|one| one.len() <= SCREEN_STRING + 2));
        let joined: String = strings
            .iter()
            .map(|one| one.strip_prefix("\x1bP").unwrap())
            .collect();
        assert!(joined.starts_with("\x1b]52;c;") && joined.ends_with('\x07'));
    }

    #[test]
    fn a_multiplexer_is_told_by_its_variable() {
        let set = |name: &'static str| {
            Multiplexer::detect(move |asked| {
                if asked == name {
                    "1".to_owned()
                } else {
                    String::new()
                }
            })
        };
        assert_eq!(set("TMUX"), Some(Multiplexer::Tmux));
        assert_eq!(set("STY"), Some(Multiplexer::Screen));
        assert_eq!(set("TERM"), None);
    }
}

#[cfg(test)]
mod editor_tests {
    use super::*;

    fn started(variable: &str, opening: Opening) -> String {
        let command = editor_command(variable, Path::new("/kb/a b.md"), 12, opening).unwrap();
        let arguments = command.arguments.iter().map(|word| word.to_string_lossy());
        let words: Vec<_> = std::iter::once(command.program.as_str().into())
            .chain(arguments)
            .collect();
        words.join("|")
    }

    #[test]
    fn editors_are_given_the_line_as_they_take_it() {
        for (variable, words) in [
            ("vim", "vim|+12|/kb/a b.md"),
            ("/usr/bin/nvim -R", "/usr/bin/nvim|-R|+12|/kb/a b.md"),
            ("emacsclient -t", "emacsclient|-t|+12|/kb/a b.md"),
            ("hx", "hx|/kb/a b.md:12"),
            ("code --wait", "code|--wait|--goto|/kb/a b.md:12"),
            (
                "'/my tools/edit' \"a b\" c\\ d",
                "/my tools/edit|a b|c d|/kb/a b.md",
            ),
            ("vim; rm -rf $HOME `x`", "vim;|rm|-rf|$HOME|`x`|/kb/a b.md"),
        ] {
            assert_eq!(started(variable, Opening::Alone), words);
        }
    }

    #[test]
    fn an_editor_with_a_window_is_waited_for_where_its_text_is_taken_back() {
        for (variable, words) in [
            ("code", "code|--wait|--goto|/kb/a b.md:12"),
            ("code -w", "code|-w|--goto|/kb/a b.md:12"),
            ("cursor", "cursor|--wait|--goto|/kb/a b.md:12"),
            ("subl", "subl|--wait|/kb/a b.md:12"),
            ("zed", "zed|--wait|/kb/a b.md:12"),
            ("gedit", "gedit|--wait|+12|/kb/a b.md"),
            ("gvim", "gvim|-f|+12|/kb/a b.md"),
            ("gvim --nofork", "gvim|--nofork|+12|/kb/a b.md"),
            ("vim", "vim|+12|/kb/a b.md"),
            ("mine", "mine|/kb/a b.md"),
        ] {
            assert_eq!(started(variable, Opening::Awaited), words);
        }
        assert_eq!(started("code", Opening::Alone), "code|--goto|/kb/a b.md:12");
    }

    #[test]
    fn what_is_no_editor_is_said_in_one_line() {
        for (variable, said) in [
            ("", "no editor is set"),
            ("  ", "no editor is set"),
            ("vim 'a", "not closed"),
        ] {
            let said_so = editor_command(variable, Path::new("/kb/a.md"), 1, Opening::Alone);
            let said_so = said_so.unwrap_err();
            assert!(
                said_so.contains(said) && !said_so.contains('\n'),
                "{said_so}"
            );
        }
    }
}
