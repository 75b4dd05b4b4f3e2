//! Panics: the main thread's end the program, any other's end what that thread did.

use std::{panic, thread};

use crate::tui::give_back_terminal;

/// Makes only a panic of the thread that calls this, the one that draws, give the terminal back
/// and print its message. Any other is caught where its thread was started, becomes an error or a
/// warning there, and leaves its message in the diagnostics.
pub fn install_panic_hook() {
    let print = panic::take_hook();
    let drawing = thread::current().id();
    panic::set_hook(Box::new(move |panicked| {
        let current = thread::current();
        if current.id() == drawing {
            give_back_terminal();
            print(panicked);
        } else {
            let thread = current.name().unwrap_or("unnamed");
            tracing::error!("the thread '{thread}' broke off: {panicked}");
        }
    }));
}
