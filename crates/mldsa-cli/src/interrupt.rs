//! SIGINT and SIGTERM while files are written: the command removes its temporary files before it
//! ends by the signal. A second signal ends it at once.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::io;
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

struct Signals {
    /// Whether a signal has its default effect.
    ends: Arc<AtomicBool>,
    /// The signal that arrived while it had none, or 0.
    caught: Arc<AtomicUsize>,
}

static SIGNALS: OnceLock<Signals> = OnceLock::new();

/// While it exists, the first signal is noted only.
pub(crate) struct Hold(&'static Signals);

impl Hold {
    pub(crate) fn new() -> Self {
        let signals = SIGNALS.get_or_init(Signals::install);
        signals.ends.store(false, Ordering::SeqCst);
        Self(signals)
    }

    /// Returns an error if a signal was caught.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self.0.caught.load(Ordering::SeqCst) {
            0 => Ok(()),
            _ => Err(io::ErrorKind::Interrupted.into()),
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.ends.store(true, Ordering::SeqCst);
    }
}

impl Signals {
    fn install() -> Self {
        let signals = Self {
            ends: Arc::new(AtomicBool::new(true)),
            caught: Arc::default(),
        };
        for signal in [SIGINT, SIGTERM] {
            // Without a handler the signal keeps its default effect.
            let _ = flag::register_conditional_default(signal, Arc::clone(&signals.ends))
                .and_then(|_| flag::register(signal, Arc::clone(&signals.ends)))
                .and_then(|_| {
                    let caught = Arc::clone(&signals.caught);
                    flag::register_usize(signal, caught, signal.unsigned_abs() as usize)
                });
        }
        signals
    }
}

/// Ends the process by the signal that was caught, if one was.
pub(crate) fn end_if_caught() {
    if let Some(signals) = SIGNALS.get() {
        let signal = signals.caught.load(Ordering::SeqCst);
        if signal == SIGINT as usize || signal == SIGTERM as usize {
            let _ = low_level::emulate_default_handler(signal as i32);
        }
    }
}
