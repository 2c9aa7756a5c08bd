//! `mldsa-archive make`.

use core::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use arrow_array::{ArrayRef, BinaryArray, RecordBatch, StringArray, UInt64Array};
use indicatif::ProgressBar;
use mldsa_arrow::Set;
use mldsa_arrow::batch_verify::mldsa_core::{
    AnyPreparedSigningKey, AnySigningKey, Context, Randomness,
};
use sha2::{Digest, Sha256};

use crate::classes::{CLASSES, Row};
use crate::output::{Output, temporary_of};
use crate::{Failure, Status, files};

/// Write test data: signed rows, of which some are bad. The keys are known to everybody
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The Parquet file, with columns set, key, message, context, signature, expected (the reason of a
    /// bad row), block (as many rows as keys), and weight of the key
    out: PathBuf,

    #[arg(long, value_name = "N", default_value_t = 100_000)]
    rows: usize,

    #[arg(long, value_name = "N", default_value = "500")]
    keys: NonZeroUsize,

    /// Parameter sets, in turn
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "ML-DSA-44,ML-DSA-65"
    )]
    sets: Vec<Set>,

    /// Bad rows in a thousand, of each class in turn
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(..=1000))]
    bad: u32,

    /// Rows of a row group, at least 512
    #[arg(long, value_name = "N", default_value = "65536")]
    group_rows: NonZeroUsize,

    /// Other rows for another number
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

/// Rows that a thread signs at once.
const CHUNK: usize = 512;

const CONTEXT: &[u8] = b"archive/v1";

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    files::check_replaceable(&args.out)?;
    let digest = |what: &str, n: usize| -> [u8; 32] {
        let text = format!("mldsa-archive {what} {} {n}", args.seed);
        Sha256::digest(text).into()
    };
    let keys: Vec<_> = (0..args.keys.get())
        .map(|n| {
            AnySigningKey::from_seed(args.sets[n % args.sets.len()], &digest("key", n)).prepare()
        })
        .collect();
    let plans: Vec<usize> = (0..args.rows).step_by(CHUNK).collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let progress = ProgressBar::new(args.rows as u64);
    let mut output: Option<Output> = None;
    let mut written = 0;
    for chunks in plans.chunks(threads) {
        let sign = &|start: usize| {
            let rows = start..args.rows.min(start + CHUNK);
            let drawn = rows.map(|row| Drawn::new(args, row, digest("row", row)));
            chunk(&keys, &drawn.collect::<Vec<_>>())
        };
        let signed = thread::scope(|scope| {
            let start = |&start: &usize| {
                let thread = thread::Builder::new().spawn_scoped(scope, move || sign(start));
                thread.map_err(|_| start)
            };
            let running: Vec<_> = chunks.iter().map(start).collect();
            let end = |one: Result<thread::ScopedJoinHandle<'_, _>, usize>| match one {
                Ok(thread) => thread.join().map_err(|_| "a thread panicked"),
                // Where the system refuses a thread, this one does its work.
                Err(start) => Ok(sign(start)),
            };
            running.into_iter().map(end).collect::<Vec<_>>()
        });
        for batch in signed {
            let batch = batch??;
            let output = match &mut output {
                Some(output) => output,
                None => output.insert(Output::create(
                    &args.out,
                    temporary_of(&args.out),
                    batch.schema(),
                )?),
            };
            output.write(&batch)?;
            written += batch.num_rows();
            progress.inc(batch.num_rows() as u64);
            if written % args.group_rows < CHUNK {
                output.flush()?;
            }
        }
    }
    progress.finish_and_clear();
    output.map_or(Ok(()), Output::finish)?;
    Ok(Status::Good)
}

/// What a row is to be.
struct Drawn {
    block: usize,
    key: usize,
    message: Vec<u8>,
    class: Option<usize>,
}

impl Drawn {
    fn new(args: &Args, row: usize, digest: [u8; 32]) -> Self {
        let number = |n: usize| u32::from_le_bytes([0, 1, 2, 3].map(|at| digest[4 * n + at]));
        let bad = number(1) % 1000 < args.bad;
        let length = 32 + number(3) as usize % 100;
        Self {
            block: row / args.keys,
            key: number(0) as usize % args.keys,
            message: digest.iter().cycle().take(length).copied().collect(),
            class: bad.then(|| number(2) as usize % CLASSES.len()),
        }
    }
}

/// Signs rows, and spoils the bad ones.
fn chunk(keys: &[AnyPreparedSigningKey], drawn: &[Drawn]) -> Result<RecordBatch, Failure> {
    let context = Context::new(CONTEXT)?;
    let sign = |drawn: &Drawn| {
        let key = &keys[drawn.key];
        let signature =
            key.sign_with_context(&drawn.message, context, Randomness::Deterministic)?;
        let mut row = Row {
            set: Some(key.set().name().to_owned()),
            key: Some(key.verifying_key().as_ref().to_vec()),
            message: Some(drawn.message.clone()),
            context: Some(CONTEXT.to_vec()),
            signature: Some(signature),
            expected: None,
        };
        if let Some((reason, change)) = drawn.class.map(|class| CLASSES[class]) {
            change(&mut row, key.set());
            row.expected = Some(reason);
        }
        Ok::<_, Failure>(row)
    };
    let rows = drawn.iter().map(sign).collect::<Result<Vec<_>, _>>()?;
    let number = |of: fn(&Drawn) -> usize| -> ArrayRef {
        let numbers = drawn.iter().map(|row| of(row) as u64);
        Arc::new(UInt64Array::from_iter_values(numbers))
    };
    let text = |of: fn(&Row) -> Option<&str>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<StringArray>())
    };
    let bytes = |of: fn(&Row) -> Option<&[u8]>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<BinaryArray>())
    };
    Ok(RecordBatch::try_from_iter_with_nullable([
        ("set", text(|row| row.set.as_deref()), true),
        ("key", bytes(|row| row.key.as_deref()), true),
        ("message", bytes(|row| row.message.as_deref()), true),
        ("context", bytes(|row| row.context.as_deref()), true),
        ("signature", bytes(|row| row.signature.as_deref()), true),
        ("expected", text(|row| row.expected), true),
        ("block", number(|row| row.block), false),
        ("weight", number(|row| row.key + 1), false),
    ])?)
}
