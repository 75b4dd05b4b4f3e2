//! A recorded run as a recording of the terminal: what a person would see who replays it.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Rect, Size};
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::protocol::{RecordedRun, Timestamp};

use super::error::TuiError;
use super::model::{FRAME, Msg, Setup};
use super::screen::Screen;

/// What is written to the terminal, and when: seconds from the start.
pub type TimedOutput = (f64, String);

/// Longer recordings end here, frames.
const MAX_FRAMES: usize = 20_000;

/// Records the replay of a run on a terminal of this size; one that was too fast to be followed
/// is slowed. `None` where its events begin none.
pub fn record_replay(
    setup: Setup,
    run: impl Into<RecordedRun>,
    size: Size,
) -> Result<Option<Vec<TimedOutput>>, TuiError> {
    let mut screen = Screen::new(setup)?;
    if !screen.replay_recorded(run) {
        return Ok(None);
    }
    let written = WrittenBytes::default();
    let backend = RecordedTerminal {
        drawn: CrosstermBackend::new(written.clone()),
        size,
    };
    let viewport = Viewport::Fixed(Rect::from((Position::ORIGIN, size)));
    let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
    terminal.clear()?;
    screen.draw(&mut terminal)?;
    let mut outputs = vec![(0.0, written.take())];
    screen.play();
    for frame in 1..=MAX_FRAMES {
        let now = FRAME * frame as u32;
        screen.handle(Msg::Tick(Timestamp(now.as_millis() as u64)));
        screen.draw(&mut terminal)?;
        let text = written.take();
        if !text.is_empty() {
            outputs.push((now.as_secs_f64(), text));
        }
        if !screen.is_animated() {
            break;
        }
    }
    Ok(Some(outputs))
}

/// Collects what is written to the terminal.
#[derive(Clone, Default)]
struct WrittenBytes(Rc<RefCell<Vec<u8>>>);

impl WrittenBytes {
    fn take(&self) -> String {
        String::from_utf8_lossy(&self.0.take()).into_owned()
    }
}

impl Write for WrittenBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A terminal of fixed size that only records.
struct RecordedTerminal {
    drawn: CrosstermBackend<WrittenBytes>,
    size: Size,
}

impl Backend for RecordedTerminal {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.drawn.draw(content)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.drawn.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.drawn.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.drawn.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.drawn.clear()
    }

    fn clear_region(&mut self, part: ClearType) -> io::Result<()> {
        self.drawn.clear_region(part)
    }

    fn size(&self) -> io::Result<Size> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize {
            columns_rows: self.size,
            pixels: Size::ZERO,
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Write::flush(&mut self.drawn)
    }
}
