//! SIGINT and SIGTERM while files are written: a thread removes the temporary files before the
//! process ends by the signal.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, Once, PoisonError, mpsc};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Temporary names in use. A signal waits for the lock: a step that may not be interrupted
/// holds it.
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Locks the list of temporary names.
pub(crate) fn temporaries() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the thread that waits for signals. Where none can be started, signals keep their
/// default effect, which leaves the temporary files.
pub(crate) fn watch() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let (ready, started) = mpsc::channel();
        let wait = move || {
            let signals = Signals::new([SIGINT, SIGTERM]);
            let _ = ready.send(());
            let Ok(mut signals) = signals else { return };
            if let Some(signal) = signals.forever().next() {
                let names = temporaries();
                for name in &*names {
                    let _ = fs::remove_file(name);
                }
                let _ = emulate_default_handler(signal);
            }
        };
        if thread::Builder::new().spawn(wait).is_ok() {
            // The signals are caught from here on.
            let _ = started.recv();
        }
    });
}
