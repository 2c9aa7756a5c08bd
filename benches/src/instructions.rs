//! Instructions executed, counted one by one: figures without noise, also where
//! a machine hides its performance counters, and for instructions that simulators
//! do not know.

use std::io;
use std::process::Command;

use mldsa_gates::stepping::{Event, pause, step};

use crate::Contender;

/// The stepped side: counts nothing itself. Each contender warms up, so that what
/// is done once per process is not counted.
///
/// # Errors
/// If there is nobody on the other side.
pub fn traced(contenders: &mut [Contender]) -> io::Result<()> {
    for contender in contenders {
        contender.call(0);
        pause()?;
        contender.call(0);
        pause()?;
    }
    Ok(())
}

/// Runs `command`, whose process calls `wait_for_tracer` and [`traced`], and
/// returns the instructions of every call, those of the two stops included: about
/// a hundred.
///
/// # Errors
/// If the process cannot be started or stepped, or fails.
pub fn count(command: &mut Command) -> io::Result<Vec<u64>> {
    let mut counts = Vec::new();
    let mut steps = 0;
    step(command, |_, event| {
        match event {
            Event::Begin => steps = 0,
            Event::Instruction => steps += 1,
            Event::End => counts.push(steps),
        }
        Ok(())
    })?;
    Ok(counts)
}
