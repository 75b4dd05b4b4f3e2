//! Being stopped and going on, as a shell's job does: Ctrl+Z, SIGTSTP, SIGCONT.

use std::io;

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
