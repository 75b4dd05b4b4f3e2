//! The real binary in a pseudo-terminal: what a person types, and what the terminal shows.

use std::io::{Read, Write};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use tokio_util::sync::CancellationToken;

/// How long anything may take on a busy machine before the test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// What begins a frame, and what ends it.
const FRAME: &[u8] = b"\x1b[?2026h";
const FRAME_END: &[u8] = b"\x1b[?2026l";

/// A terminal with a program in it.
pub struct Terminal {
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    child: Box<dyn portable_pty::Child + Send + Sync>,
    shown: Arc<(Mutex<Shown>, Condvar)>,
    modes_before: String,
    reading: Arc<Reading>,
    reader: JoinHandle<()>,
}

/// Whether what the program writes is read.
#[derive(Default)]
struct Reading {
    stalled: AtomicBool,
    cancel: CancellationToken,
}

struct Shown {
    parser: vt100::Parser,
    written: Vec<u8>,
    /// How much of what was written the parser has.
    parsed: usize,
    ended: bool,
}

impl Shown {
    /// As a terminal does: what belongs to a frame is shown once the frame has ended.
    fn take(&mut self, bytes: &[u8]) {
        self.written.extend(bytes);
        self.ended = bytes.is_empty();
        // Its mark may have come in two reads.
        let from = self.parsed.saturating_sub(FRAME.len());
        let recent = &self.written[from..];
        let begun = last_of(recent, FRAME);
        let is_whole = begun <= last_of(recent, FRAME_END);
        let ready = match begun {
            Some(begun) if !is_whole && !self.ended => (from + begun).max(self.parsed),
            _ => self.written.len(),
        };
        self.parser.process(&self.written[self.parsed..ready]);
        self.parsed = ready;
    }
}

/// Where the last of these begins.
fn last_of(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).rposition(|at| at == wanted)
}

impl Terminal {
    /// Starts `command` in a terminal of that size.
    pub fn start(command: &Command, columns: u16, rows: u16) -> Self {
        let size = size(columns, rows);
        let pair = native_pty_system().openpty(size).unwrap();
        let mut inside = CommandBuilder::new(command.get_program());
        inside.args(command.get_args());
        inside.cwd(command.get_current_dir().unwrap());
        inside.env_clear();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                inside.env(name, value);
            }
        }
        if inside.get_env("TERM").is_none() {
            inside.env("TERM", "xterm-256color");
        }
        let modes_before = modes(pair.master.as_ref());
        let child = pair.slave.spawn_command(inside).unwrap();
        drop(pair.slave);
        let shown = Arc::new((
            Mutex::new(Shown {
                parser: vt100::Parser::new(cells(rows), cells(columns), 0),
                written: Vec::new(),
                parsed: 0,
                ended: false,
            }),
            Condvar::new(),
        ));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let reading = Arc::new(Reading::default());
        let (seen, state) = (shown.clone(), reading.clone());
        let reader = thread::spawn(move || {
            let mut bytes = [0; 8192];
            while !state.cancel.is_cancelled() {
                while state.stalled.load(Ordering::SeqCst) {
                    thread::park();
                }
                let read = reader.read(&mut bytes).unwrap_or(0);
                let mut shown = seen.0.lock();
                shown.take(&bytes[..read]);
                seen.1.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        Self {
            writer: pair.master.take_writer().unwrap(),
            master: pair.master,
            child,
            shown,
            modes_before,
            reading,
            reader,
        }
    }

    /// Takes nothing any more, as a terminal whose connection hangs.
    pub fn stall(&self) {
        self.reading.stalled.store(true, Ordering::SeqCst);
    }

    pub fn keys(&mut self, keys: impl AsRef<[u8]>) {
        self.writer.write_all(keys.as_ref()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Sends keys, and waits until this text is shown, which it returns with all else.
    pub fn press_until(&mut self, keys: impl AsRef<[u8]>, text: &str) -> String {
        self.keys(keys);
        self.wait_for_text(text)
    }

    /// As a terminal hands over what was pasted.
    pub fn paste(&mut self, text: &str) {
        self.keys(format!("\u{1b}[200~{text}\u{1b}[201~"));
    }

    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.shown
            .0
            .lock()
            .parser
            .screen_mut()
            .set_size(cells(rows), cells(columns));
        self.master.resize(size(columns, rows)).unwrap();
    }

    /// Waits until the screen shows what `holds` looks for, and returns its text.
    pub fn wait_for(&self, what: &str, holds: impl Fn(&vt100::Screen) -> bool) -> String {
        let (shown, changed) = &*self.shown;
        let mut shown = shown.lock();
        let lacks = |shown: &mut Shown| !holds(shown.parser.screen()) && !shown.ended;
        let timeout = changed.wait_while_for(&mut shown, lacks, PATIENCE);
        let screen = shown.parser.screen();
        assert!(
            holds(screen),
            "{what} never came ({}):\n{}",
            if timeout.timed_out() {
                "time is up"
            } else {
                "the program ended"
            },
            screen.contents()
        );
        screen.contents()
    }

    /// Looks at what is shown now.
    pub fn look(&self, look: impl FnOnce(&vt100::Screen)) {
        look(self.shown.0.lock().parser.screen());
    }

    pub fn wait_for_text(&self, text: &str) -> String {
        self.wait_for(text, |screen| screen.contents().contains(text))
    }

    /// Waits until the program has written this, whether it is shown or not.
    pub fn wait_for_written(&self, wanted: &str) {
        let (shown, changed) = &*self.shown;
        let lacks = |shown: &mut Shown| {
            let wanted = wanted.as_bytes();
            let holds = shown.written.windows(wanted.len()).any(|at| at == wanted);
            !holds && !shown.ended
        };
        let mut shown = shown.lock();
        changed.wait_while_for(&mut shown, lacks, PATIENCE);
        assert!(!lacks(&mut shown) && !shown.ended, "{wanted:?} never came");
    }

    #[cfg(unix)]
    pub fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Whether the line discipline is as it was before the program came.
    pub fn is_cooked(&self) -> bool {
        modes(self.master.as_ref()) == self.modes_before
    }

    /// Takes the terminal away as a shell does whose job is stopped: what is shown, the modes, and
    /// the line discipline.
    #[cfg(unix)]
    pub fn take_away(&self) {
        let shells = b"\x1b[2J\x1b[?1049l\x1b[?2004l\x1b[2J";
        self.shown.0.lock().parser.process(shells);
        let terminal = std::fs::File::open(self.master.tty_name().unwrap()).unwrap();
        let mut stty = Command::new("stty");
        assert!(stty.arg("sane").stdin(terminal).status().unwrap().success());
    }

    /// Whether keys come line by line.
    #[cfg(unix)]
    pub fn is_canonical(&self) -> bool {
        let terminal = std::fs::File::open(self.master.tty_name().unwrap()).unwrap();
        let modes = Command::new("stty")
            .arg("-a")
            .stdin(terminal)
            .output()
            .unwrap();
        let modes = String::from_utf8(modes.stdout).unwrap();
        modes.split([' ', ';', '\n']).any(|mode| mode == "icanon")
    }

    /// Closes the window, and waits for the program's end for so long: the exit code and the time
    /// it took, or nothing for a program that stays, which is killed.
    #[cfg(unix)]
    pub fn close_window(mut self, patience: Duration) -> Option<(u32, Duration)> {
        self.reading.cancel.cancel();
        // The reader wakes up once more: a key is echoed, or drawn.
        let _ = self.writer.write_all(b"x");
        self.reader.join().unwrap();
        drop((self.writer, self.master));
        let closed = Instant::now();
        while closed.elapsed() < patience {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some((status.exit_code(), closed.elapsed()));
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        None
    }

    #[cfg(unix)]
    pub fn signal(&self, name: &str) {
        crate::workplace::signal(name, self.child.process_id().unwrap());
    }

    /// Ends the program as the system would: with no chance to say goodbye.
    #[cfg(unix)]
    pub fn kill(mut self) {
        self.signal("KILL");
        self.child.wait().unwrap();
    }

    /// Waits for the program's end; the terminal must be as it was before.
    pub fn end(self) -> u32 {
        self.end_timed().0
    }

    /// Leaves by Ctrl+C twice: the first clears what is typed, or stops what runs.
    pub fn leave(mut self) {
        self.keys("\u{3}");
        self.keys("\u{3}");
        assert_eq!(self.end(), 0);
    }

    /// [`Terminal::end`], and what is shown then.
    pub fn end_with_text(self) -> (u32, String) {
        let shown = self.shown.clone();
        let code = self.end();
        let text = shown.0.lock().parser.screen().contents();
        (code, text)
    }

    /// [`Terminal::end`], and everything that was written.
    pub fn end_with_written(self) -> (u32, String) {
        let shown = self.shown.clone();
        let code = self.end();
        let written = shown.0.lock().written.clone();
        (code, String::from_utf8_lossy(&written).into_owned())
    }

    /// [`Terminal::end`], and how long that took.
    pub fn end_timed(mut self) -> (u32, Duration) {
        let begun = Instant::now();
        let (shown, changed) = &*self.shown;
        let mut shown = shown.lock();
        changed.wait_while_for(&mut shown, |shown| !shown.ended, PATIENCE);
        assert!(
            shown.ended,
            "still there:\n{}",
            shown.parser.screen().contents()
        );
        let took = begun.elapsed();
        drop(shown);
        self.assert_as_found();
        (self.child.wait().unwrap().exit_code(), took)
    }

    /// The terminal is as it was found: the shell's screen, the cursor, plain pasting, no mouse,
    /// and the line discipline's settings.
    pub fn assert_as_found(&self) {
        let shown = self.shown.0.lock();
        let screen = shown.parser.screen();
        assert!(!screen.alternate_screen(), "the alternate screen is left");
        assert!(!screen.hide_cursor(), "the cursor is back");
        assert!(!screen.bracketed_paste(), "pasting is plain again");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        drop(shown);
        assert!(self.is_cooked(), "the line discipline is set back");
    }
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}

/// The line discipline's settings: echo, canonical mode, signals.
fn modes(master: &(dyn MasterPty + Send)) -> String {
    #[cfg(unix)]
    return format!("{:?}", master.get_termios());
    #[cfg(not(unix))]
    String::new()
}

fn cells(count: u16) -> std::num::NonZero<u16> {
    std::num::NonZero::new(count).unwrap()
}
