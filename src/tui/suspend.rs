//! Being stopped and going on, as a shell's job does: Ctrl+Z, SIGTSTP, SIGCONT.

use std::io;

/// What the shell, or a user with `kill`, asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobSignal {
    /// To give the terminal back and stop.
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
        /// Starts to listen.
        pub fn listen() -> io::Result<Self> {
            let listen = |name: Name| signal(SignalKind::from_raw(name.as_raw()));
            Ok(Self {
                stop: listen(Name::TSTP)?,
                go_on: listen(Name::CONT)?,
            })
        }

        /// The next one.
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

    /// There are none.
    pub struct JobSignals;

    impl JobSignals {
        /// Starts to listen.
        pub fn listen() -> io::Result<Self> {
            Ok(Self)
        }

        /// Waits for ever.
        pub async fn next(&mut self) -> JobSignal {
            std::future::pending().await
        }
    }

    /// There is no such thing here.
    pub fn is_job() -> bool {
        false
    }

    /// Cannot be done.
    pub fn stop_job() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
