//! A task of Embassy that signs in slices what a flash holds, beside a task that blinks. Then the same with a flash
//! that fails, lies or changes between two passes, which has to be an error.
#![no_std]
#![no_main]

mod flash;
mod source;
mod time;

use core::sync::atomic::{AtomicU32, Ordering};

use boards::{exit, println};
use embassy_executor::Spawner;
use embassy_time::{Duration, Ticker};
use mldsa_lowmem::{Minimal, MlDsa44, ParameterSet, SignError, SliceMemory};

use flash::{Fault, Flash};
use source::{Error, MESSAGE};

#[allow(dead_code, reason = "shared with other programs")]
mod inputs {
    include!("../../inputs.rs");
}

/// Lamps of the board.
const LAMPS: *mut u32 = 0x4002_8000 as *mut u32;
/// Instructions after its time at which the lamp may change: ten permutations and the work between them.
const LATEST: u32 = 250_000;

static BLINKS: AtomicU32 = AtomicU32::new(0);
static LATENESS: AtomicU32 = AtomicU32::new(0);

#[embassy_executor::task]
async fn blink() {
    let mut ticker = Ticker::every(Duration::from_ticks(1));
    loop {
        ticker.next().await;
        let late = time::instructions_since_tick();
        LATENESS.store(
            LATENESS.load(Ordering::Relaxed).max(late),
            Ordering::Relaxed,
        );
        let blinks = BLINKS.load(Ordering::Relaxed) + 1;
        BLINKS.store(blinks, Ordering::Relaxed);
        // SAFETY: the register of the lamps, which nothing else uses.
        unsafe { LAMPS.write_volatile(blinks & 1) };
    }
}

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    time::start();
    spawner.spawn(blink().expect("a free task"));

    let expected = include_bytes!(concat!(env!("OUT_DIR"), "/ML-DSA-44.sig"));
    let mut memory = SliceMemory::<MlDsa44, _, Minimal>::ZERO;
    let mut out = [0; MlDsa44::SIG_LEN];
    let mut sign = async |fault| {
        let mut flash = Flash::new(fault);
        let len = flash.message_len();
        let outcome = source::sign(&mut flash, len, &inputs::RND, &mut memory, &mut out).await;
        let released = out == *expected;
        let kept = outcome.is_ok() == released && (released || out == [0; MlDsa44::SIG_LEN]);
        (outcome, kept, flash.reads())
    };

    let (outcome, mut kept, reads) = sign(Fault::None).await;
    let (blinks, late) = (
        BLINKS.load(Ordering::Relaxed),
        LATENESS.load(Ordering::Relaxed),
    );
    println!(
        "{{\"signed\":{:?},\"reads\":{},\"blinks\":{},\"latest_blink\":{},\"limit\":{}}}",
        outcome, reads, blinks, late, LATEST
    );
    // A blink of a million instructions each.
    kept &= outcome == Ok(()) && blinks >= 5 && late <= LATEST;

    let half = reads / 2;
    let changed = Err(Error::Changed);
    let damaged = Err(Error::Damaged);
    let bounds = Err(Error::Read(
        embedded_storage::nor_flash::NorFlashErrorKind::OutOfBounds,
    ));
    let other = Err(Error::Read(
        embedded_storage::nor_flash::NorFlashErrorKind::Other,
    ));
    for (fault, expected) in [
        (Fault::Fails(0), other),
        (Fault::Fails(half - 1), other),
        (Fault::Fails(half), other),
        (Fault::Fails(reads - 1), other),
        (Fault::Short, bounds),
        (Fault::Flips { from: 0, at: 5 }, damaged),
        (Fault::Flips { from: 0, at: 40 }, damaged),
        (Fault::Flips { from: 0, at: 100 }, damaged),
        (Fault::Flips { from: 0, at: 130 }, damaged),
        (
            Fault::Flips {
                from: 0,
                at: MESSAGE,
            },
            damaged,
        ),
        (Fault::Flips { from: half, at: 5 }, changed),
        (Fault::Flips { from: half, at: 40 }, changed),
        (
            Fault::Flips {
                from: half,
                at: MESSAGE + 3,
            },
            changed,
        ),
        (Fault::OtherMessage { from: half - 1 }, damaged),
        (Fault::OtherMessage { from: half }, changed),
        (Fault::OtherKey { from: half }, changed),
        (
            Fault::WrongTr,
            Err(Error::Sign(SignError::SelfVerification)),
        ),
    ] {
        let (outcome, right, _) = sign(fault).await;
        kept &= right && outcome == expected;
        println!(
            "{{\"fault\":\"{:?}\",\"outcome\":\"{:?}\",\"wiped\":{}}}",
            fault, outcome, right
        );
    }
    exit(i32::from(!kept))
}
