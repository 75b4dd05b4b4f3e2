//! The program ends when it is asked to, and when its window goes: wherever the focus is, whatever
//! it is at, and with the terminal as it was found.
//!
//! `KB_AGENT_TEST_WINDOWS=200` and `KB_AGENT_TEST_SIGNALS=100` make the drawn moments many,
//! `KB_AGENT_TEST_SEED` draws them again.

#![cfg(unix)]
#![expect(
    clippy::print_stdout,
    reason = "the seed, and the slowest end, where they are asked for"
)]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kb_agent::cli::install_panic_hook;
use kb_agent::domain::RoutingLimits;
use kb_agent::protocol::{JobModels, Mode, NoticeLevel, Update};
use kb_agent::tui::{Setup, ThemeName};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::fault_server::{Act, FaultServer, stream_head};
use crate::support::Said;
use crate::terminal::Terminal;
use crate::workplace::{Demo, Workplace, events, signal, text};

const CTRL_C: &str = "\u{3}";
const CTRL_Z: &str = "\u{1a}";
/// No window may leave a process for longer.
const WINDOW: Duration = Duration::from_secs(3);
/// What hangs never ends; an end in order takes two seconds, and on a busy machine longer.
const IN_ORDER: Duration = Duration::from_secs(20);
/// Interrupted.
const INTERRUPTED: u32 = 130;

struct Seeded(u64);

impl Seeded {
    /// Drawn anew each time, unless a seed is given; it is printed where the test fails.
    fn new() -> Self {
        let drawn = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let given = std::env::var("KB_AGENT_TEST_SEED").ok();
        let seed = given.map_or_else(|| drawn().as_nanos() as u64, |seed| seed.parse().unwrap());
        println!("KB_AGENT_TEST_SEED={seed}");
        Self(seed | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % bound
    }

    fn pause(&mut self, most_ms: u64) {
        thread::sleep(Duration::from_millis(self.below(most_ms)));
    }
}

fn count(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |count| count.parse().unwrap())
}

/// A chat endpoint that begins to answer and never goes on.
fn silent_endpoint() -> FaultServer {
    FaultServer::start(&[("analyze_and_route", vec![Act::Hang(stream_head())])])
}

fn at_endpoint(demo: &Demo, server: &FaultServer) -> Command {
    let mut command = demo.command(&[]);
    command.envs(server.settings());
    command
}

fn open(command: &Command) -> Terminal {
    let terminal = Terminal::start(command, 100, 30);
    terminal.wait_for_text("38 docs");
    terminal
}

/// A screen whose question is at an endpoint that does not answer.
fn waiting(demo: &Demo, server: &FaultServer) -> Terminal {
    let mut terminal = open(&at_endpoint(demo, server));
    terminal.keys("what hangs?\r");
    let log = demo.place().audit_log();
    until("the run is at work", || {
        fs::read_to_string(&log).is_ok_and(|log| log.contains("node_entered"))
    });
    terminal
}

#[test]
fn ends_when_its_window_closes_wherever_the_focus_is() {
    let demo = Workplace::with_demo();
    for keys in ["", "\t", "\t\t", "\t\t\t", "\t\t\t/", "\u{1b}OP"] {
        let mut terminal = open(&demo.command(&[]));
        terminal.keys(keys);
        terminal.wait_for("its cursor", |screen| {
            screen.hide_cursor() != keys.is_empty() || keys.ends_with('/')
        });
        let ended = terminal.close_window(WINDOW);
        assert!(ended.is_some(), "left behind after {keys:?}");
    }
}

#[test]
fn ends_when_its_window_closes_during_a_run_and_the_run_is_closed() {
    let (demo, server) = (Workplace::with_demo(), silent_endpoint());
    let mut terminal = waiting(&demo, &server);
    terminal.keys("\t");
    assert!(terminal.close_window(WINDOW).is_some());
    assert_eq!(outcomes(&demo), ["cancelled"]);
}

fn outcomes(demo: &Demo) -> Vec<String> {
    let log = demo.place().audit();
    let ends = events(&log, "run_finished").into_iter();
    ends.map(|end| end["outcome"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn ends_at_any_moment_a_window_closes() {
    let (demo, server) = (Workplace::with_demo(), silent_endpoint());
    let mut random = Seeded::new();
    let mut slowest = Duration::ZERO;
    for turn in 0..count("KB_AGENT_TEST_WINDOWS", 4) {
        let command = match random.below(2) {
            0 => demo.command(&[]),
            _ => at_endpoint(&demo, &server),
        };
        let mut terminal = Terminal::start(&command, 100, 30);
        if random.below(4) > 0 {
            terminal.wait_for_text("38 docs");
            if random.below(2) == 0 {
                terminal.keys("Compare rules.md with thresholds.md\r");
            }
            for _ in 0..random.below(5) {
                terminal.keys("\t");
            }
        }
        random.pause(700);
        let ended = terminal.close_window(WINDOW);
        let (_, took) = ended.unwrap_or_else(|| panic!("turn {turn}: left behind"));
        slowest = slowest.max(took);
    }
    println!("the slowest window took {slowest:?}");
}

#[test]
fn ends_at_any_moment_a_signal_comes_with_the_terminal_as_found() {
    let (demo, server) = (Workplace::with_demo(), silent_endpoint());
    let mut random = Seeded::new();
    let mut all = Vec::new();
    for turn in 0..count("KB_AGENT_TEST_SIGNALS", 8) {
        let name = ["TERM", "INT", "HUP", "QUIT"][turn as usize % 4];
        let mut terminal = Terminal::start(&at_endpoint(&demo, &server), 100, 30);
        match random.below(3) {
            0 => random.pause(500),
            1 => {
                terminal.wait_for_text("38 docs");
            }
            _ => {
                terminal.wait_for_text("38 docs");
                terminal.keys("what hangs?\r\t");
                random.pause(300);
            }
        }
        terminal.signal(name);
        let (_, took) = terminal.end_timed();
        assert!(took < IN_ORDER, "turn {turn}: {name} took {took:?}");
        all.push(took);
    }
    all.sort();
    println!(
        "a signal took {:?}, at most {:?}",
        all[all.len() / 2],
        all.last()
    );
}

#[test]
fn ends_a_run_as_cancelled_at_each_signal() {
    let server = silent_endpoint();
    for name in ["TERM", "INT", "HUP", "QUIT"] {
        let demo = Workplace::with_demo();
        let terminal = waiting(&demo, &server);
        terminal.signal(name);
        let (code, took) = terminal.end_timed();
        assert_eq!(code, INTERRUPTED, "{name}");
        assert!(took < IN_ORDER, "{name} took {took:?}");
        assert_eq!(outcomes(&demo), ["cancelled"], "{name}");
    }
}

/// A terminal that takes no more, as one whose connection hangs: the thread that draws waits in
/// the middle of a picture.
#[cfg(target_os = "linux")]
#[test]
fn ends_also_where_the_thread_that_draws_is_stuck() {
    let demo = Workplace::with_demo();
    let mut asked_once = Duration::ZERO;
    for times in [1, 2] {
        let mut terminal = open(&demo.command(&[]));
        terminal.stall();
        let mut written = 0;
        let mut unmoved = 0;
        until("nothing more is written", || {
            terminal.keys("\u{1b}OP");
            let before = std::mem::replace(&mut written, io_of(terminal.pid(), "wchar"));
            unmoved = if before == written { unmoved + 1 } else { 0 };
            unmoved == 200
        });
        let asked = Instant::now();
        for _ in 0..times {
            terminal.signal("TERM");
            // Two that come at once are one to the system and to the thread that takes them.
            until("the end is asked for", || {
                has_thread(terminal.pid(), "deadline") || terminal.is_cooked()
            });
        }
        until("the line discipline is given back", || terminal.is_cooked());
        let took = asked.elapsed();
        assert!(took < IN_ORDER, "{took:?}");
        // The first asks and gives it time; the second ends it at once.
        if times == 1 {
            assert!(took >= Duration::from_millis(1_500), "{took:?}");
            asked_once = took;
        } else {
            assert!(took < asked_once, "{took:?}, asked once {asked_once:?}");
        }
        // It does not wait for the terminal to take the rest of the picture.
        until("it is gone", || {
            !Path::new(&format!("/proc/{}/fd/0", terminal.pid())).exists()
        });
        assert!(asked.elapsed() < IN_ORDER, "{:?}", asked.elapsed());
        terminal.kill();
    }
}

/// How many bytes a process has read, `rchar`, or written, `wchar`, so far.
#[cfg(target_os = "linux")]
fn io_of(pid: u32, name: &str) -> u64 {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    let mut lines = io.lines().filter_map(|line| line.split_once(": "));
    let (_, count) = lines.find(|(known, _)| *known == name).unwrap();
    count.parse().unwrap()
}

pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_mins(1), "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The masks of a process, where the system tells them.
fn mask(pid: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    u64::from_str_radix(line.trim_start_matches(':').trim(), 16).ok()
}

#[cfg(target_os = "linux")]
fn has_thread(pid: u32, name: &str) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads.flatten().any(|thread| {
        fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| comm.trim_end() == name)
    })
}

/// Waits until the process has said what it does at SIGINT and, last, at SIGHUP.
fn until_it_catches(child: &Child) {
    const INT: u64 = 1 << 1;
    const HUP: u64 = 1;
    if Path::new("/proc/self/status").exists() {
        until("it catches signals", || {
            let (caught, ignored) = (mask(child.id(), "SigCgt"), mask(child.id(), "SigIgn"));
            let known = caught.zip(ignored);
            known.is_none_or(|(caught, ignored)| caught & INT != 0 && (caught | ignored) & HUP != 0)
        });
    } else {
        thread::sleep(Duration::from_secs(1));
    }
}

fn ends_within(child: &mut Child, patience: Duration) -> Option<i32> {
    let begun = Instant::now();
    while begun.elapsed() < patience {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.code().unwrap_or(-1));
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

#[test]
fn ends_while_another_process_holds_the_start_of_sessions() {
    let demo = Workplace::with_demo();
    let folder = demo.place().data().join("audit.jsonl.live");
    fs::create_dir_all(&folder).unwrap();
    let gate = File::create(folder.join("gate")).unwrap();
    gate.lock().unwrap();
    for name in ["INT", "TERM", "HUP", "QUIT"] {
        // Where these tests were started to outlive their terminal, so is what they start.
        if name == "HUP" && mask(std::process::id(), "SigIgn").is_some_and(|mask| mask & 1 != 0) {
            continue;
        }
        let mut asking = demo.command(&["ask", "hello"]);
        asking.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = asking.spawn().unwrap();
        until_it_catches(&child);
        signal(name, child.id());
        assert_eq!(ends_within(&mut child, IN_ORDER), Some(130), "{name}");
    }
    let terminal = Terminal::start(&demo.command(&[]), 100, 30);
    until("it catches signals", || {
        mask(terminal.pid(), "SigCgt").is_none_or(|caught| caught & 2 != 0)
    });
    terminal.signal("TERM");
    let (code, took) = terminal.end_timed();
    assert!(
        code == INTERRUPTED && took < IN_ORDER,
        "{code} after {took:?}"
    );
    // Without a signal it says what it waited for.
    let output = demo.run(&["ask", "hello"]);
    assert_eq!(output.status.code(), Some(1));
    text(&output.stderr).must_hold("another kb-agent");
    drop(gate);
    demo.run_well(&["ask", "hello"]);
}

#[test]
fn ends_indexing_a_document_that_takes_long() {
    let place = Workplace::empty();
    let ids: Vec<String> = (0..400_000).map(|n| format!("PROJ-{n}")).collect();
    let text = ids.join(" ");
    place.file("kb/a.md", &text);
    for name in ["INT", "TERM"] {
        let mut indexing = place.command(&["index", "--kb", "kb"]);
        indexing.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = indexing.spawn().unwrap();
        until_it_catches(&child);
        #[cfg(target_os = "linux")]
        until("it has read the document", || {
            io_of(child.id(), "rchar") > text.len() as u64
        });
        signal(name, child.id());
        let code = ends_within(&mut child, IN_ORDER);
        assert_eq!(code, Some(130), "{name}");
    }
}

/// A program that was started to outlive its terminal does.
#[test]
fn ends_not_at_a_hangup_that_it_was_started_to_ignore() {
    let demo = Workplace::with_demo();
    let watching = demo.command(&["index", "--watch"]);
    let mut kept = Command::new("nohup");
    kept.arg(watching.get_program()).args(watching.get_args());
    kept.current_dir(demo.place().path()).env_clear();
    kept.envs(
        watching
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    kept.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = kept.spawn().unwrap();
    until_it_catches(&child);
    signal("HUP", child.id());
    assert_eq!(ends_within(&mut child, Duration::from_millis(500)), None);
}

fn at_the_shells_prompt(screen: &vt100::Screen) -> bool {
    !screen.alternate_screen() && screen.contents().trim_end().ends_with("shell>")
}

/// As a shell runs it: Ctrl+Z, and `fg`.
#[test]
fn ends_nothing_when_it_is_suspended_and_continued_in_a_shell() {
    let demo = Workplace::with_demo();
    let program = demo.command(&[]);
    let mut shell = Command::new("/bin/sh");
    shell.arg("-i").current_dir(demo.place().path());
    shell.envs(
        program
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    shell.env("PS1", "shell> ").env("ENV", "/dev/null");
    let mut terminal = Terminal::start(&shell, 100, 30);
    terminal.wait_for_text("shell> ");
    let program = program.get_program().to_string_lossy().into_owned();
    terminal.keys(format!("sh -c 'echo $$ > pid; exec {program}'\r"));
    for keys in ["half a question", "\t", "?"] {
        terminal.wait_for_text("38 docs");
        terminal.keys(keys);
        if keys == "?" {
            // Suspended from outside, with a window open.
            terminal.wait_for_text("─ Help ─");
            let pid = fs::read_to_string(demo.place().path().join("pid")).unwrap();
            let mut kill = Command::new("kill");
            assert!(
                kill.args(["-s", "TSTP", pid.trim()])
                    .status()
                    .unwrap()
                    .success()
            );
        } else {
            terminal.keys(CTRL_Z);
        }
        terminal.wait_for("the shell's own screen", at_the_shells_prompt);
        terminal.assert_as_found();
        terminal.keys("echo back in the $((40 + 2))nd shell\r");
        terminal.wait_for_text("back in the 42nd shell");
        terminal.keys("fg\r");
        terminal.wait_for("the whole picture again", |screen| {
            screen.alternate_screen() && screen.contents().contains("half a question")
        });
        assert!(!terminal.is_cooked());
    }
    // A third one would be the shell's.
    terminal.keys(CTRL_C);
    terminal.keys(CTRL_C);
    // What is typed before the shell asks for it may still be taken by the program that ends.
    terminal.wait_for("the shell", at_the_shells_prompt);
    terminal.keys("exit\r");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn ends_nothing_when_it_is_stopped_and_continued_from_outside() {
    let demo = Workplace::with_demo();
    let mut terminal = open(&demo.command(&[]));
    terminal.signal("STOP");
    // As a shell takes its terminal back: its screen, its modes, its line discipline.
    terminal.take_away();
    assert!(terminal.is_canonical());
    terminal.signal("CONT");
    terminal.wait_for("the whole picture again", |screen| {
        screen.alternate_screen()
            && screen.bracketed_paste()
            && screen.contents().contains("38 docs")
    });
    assert!(!terminal.is_canonical(), "keys come one by one again");
    // A window without a shell has nothing to go back to.
    terminal.press_until(CTRL_Z, "no shell to go back to");
    terminal.leave();
}

/// A screen whose passage is open in an editor that is this script.
fn in_the_editor(place: &Workplace, script: &str) -> Terminal {
    use std::os::unix::fs::PermissionsExt;

    place.file(
        "kb/notes.md",
        "# The gate\n\nThe gate threshold is seven.\n",
    );
    let script = format!("#!/bin/sh\necho $$ > pid\n{script}");
    let editor = place.file("bin/editor", script);
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = place.command(&["kb"]);
    command.env("EDITOR", format!("'{}'", editor.display()));
    let mut terminal = Terminal::start(&command, 120, 40);
    terminal.wait_for_text("1 doc");
    terminal.press_until("What is the gate threshold?\r", "saved 1");
    terminal.press_until("\u{1b}3", "▸ Evidence");
    terminal.press_until("\r", "▌ The gate threshold");
    terminal.press_until("o", "THE-EDITOR-IS-OPEN");
    terminal
}

#[test]
fn ends_nothing_when_the_editor_is_interrupted() {
    let place = Workplace::empty();
    let mut terminal = in_the_editor(
        &place,
        "trap 'echo IT-WAS-INTERRUPTED' INT\ntrap 'echo IT-WAS-TO-QUIT' QUIT\n\
         echo THE-EDITOR-IS-OPEN\nuntil read answer; do :; done\n",
    );
    for (key, said) in [(CTRL_C, "IT-WAS-INTERRUPTED"), ("\u{1c}", "IT-WAS-TO-QUIT")] {
        terminal.press_until(key, said);
    }
    terminal.press_until("\n", "▌ The gate threshold");
    // One that the key ends, as it ends most programs.
    let script = "#!/bin/sh\necho >> times\necho OPEN-$(($(wc -l < times)))\nread answer\n";
    fs::write(place.path().join("bin/editor"), script).unwrap();
    for time in 1..=3 {
        terminal.press_until("o", &format!("OPEN-{time}"));
        terminal.keys(CTRL_C);
        terminal.wait_for("the screen", |screen| {
            screen.alternate_screen() && screen.contents().contains("▌ The gate threshold")
        });
    }
    // Now they are for the program again.
    terminal.leave();
}

#[test]
fn ends_the_editor_that_is_open() {
    let place = Workplace::empty();
    let script = "echo THE-EDITOR-IS-OPEN\nread answer\n";
    let terminal = in_the_editor(&place, script);
    let editor = fs::read_to_string(place.path().join("pid")).unwrap();
    terminal.signal("TERM");
    let (code, took) = terminal.end_timed();
    assert_eq!(code, INTERRUPTED);
    assert!(took < IN_ORDER, "{took:?}");
    let lives = Command::new("kill")
        .args(["-s", "0", editor.trim()])
        .stderr(Stdio::null())
        .status();
    assert!(!lives.unwrap().success(), "the editor is left behind");
}

fn itself(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--nocapture", "--exact", test]);
    command.current_dir(std::env::temp_dir());
    command
}

fn screen_beside(meanwhile: impl Future<Output = ()>) {
    install_panic_hook();
    let (commands, _listening) = mpsc::channel(4);
    let (updates, received) = mpsc::channel(4);
    let setup = Setup {
        theme: ThemeName::default(),
        no_color: true,
        mode: Mode::Offline,
        models: JobModels::same_for_all("none"),
        limits: RoutingLimits::default(),
        samples: Vec::new(),
        notices: Vec::new(),
        ..Setup::default()
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let screen = kb_agent::tui::run(setup, commands, received, CancellationToken::new());
        let beside = async {
            meanwhile.await;
            let message = "it went on".to_owned();
            let level = NoticeLevel::Warning;
            updates
                .send(Update::Notice { level, message })
                .await
                .unwrap();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            ended = screen => ended.unwrap(),
            () = beside => {}
        }
    });
}

#[test]
#[ignore = "run by another test, in a terminal"]
fn a_screen_beside_threads_that_panic() {
    screen_beside(async {
        assert!(thread::spawn(|| panic!("a thread")).join().is_err());
        assert!(tokio::spawn(async { panic!("a task") }).await.is_err());
        let tool = tokio::task::spawn_blocking(|| panic!("a tool"));
        assert!(tool.await.is_err());
    });
}

#[test]
#[ignore = "run by another test, in a terminal"]
fn a_screen_whose_own_thread_panics() {
    screen_beside(async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        panic!("the thread that draws");
    });
}

#[test]
fn ends_nothing_when_another_thread_panics() {
    let command = itself("ends::a_screen_beside_threads_that_panic");
    let terminal = Terminal::start(&command, 100, 30);
    let screen = terminal.wait_for("the notice", |screen| {
        screen.alternate_screen() && screen.contents().contains("it went on")
    });
    assert!(!screen.contains("panicked"), "{screen}");
    terminal.leave();
}

#[test]
fn ends_with_the_message_when_the_thread_that_draws_panics() {
    let command = itself("ends::a_screen_whose_own_thread_panics");
    let terminal = Terminal::start(&command, 100, 30);
    terminal.wait_for("the message", |screen| {
        !screen.alternate_screen() && screen.contents().contains("the thread that draws")
    });
    assert_ne!(terminal.end(), 0);
}
