//! `mldsa-archive verify`.

use core::num::NonZeroUsize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use mldsa_arrow::Options;
#[cfg(feature = "gpu")]
use mldsa_arrow::mldsa_gpu::{Choice, GpuOptions};

use crate::columns::ColumnArgs;
use crate::files;
use crate::output::{self, Output, parts_of};
use crate::patterns;
use crate::source::Unit;
use crate::state::{self, State};
use crate::summary::Summary;
use crate::workers::{self, Job, Outcome};
use crate::{Failure, Status, named, say};

/// Verify the signatures of files
#[derive(clap::Args, Debug)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// Parquet files, CSV (.csv) and JSON lines (.json, .jsonl, .ndjson), whose bytes are hex; patterns
    /// with * and ? in quotes name many
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Write a verdict for each row: file, row, key, valid, reason. A run that was ended resumes
    #[arg(long, value_name = "PARQUET")]
    out: Option<PathBuf>,

    #[command(flatten)]
    columns: ColumnArgs,

    /// Worker threads [default: one per processor]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Rows that a worker reads at once
    #[arg(long, value_name = "N", default_value = "4096")]
    batch_rows: NonZeroUsize,

    /// Memory for prepared keys of each parameter set
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    key_cache: usize,

    /// Verify on a GPU (any, cuda or opencl; opencl-cpu is a test of the kernels); verdicts do not
    /// depend on it, and the CPU takes over where there is none
    #[cfg(feature = "gpu")]
    #[arg(long, value_name = "DEVICE", num_args = 0..=1, require_equals = true,
          default_missing_value = "any")]
    gpu: Option<Choice>,
}

const HELP: &str = "SUMMARY  On standard output, a name and a count a line: rows, valid, each reason, files and row
groups that are unreadable, keys; then the keys with most rejected rows. A key is its id, or the first 16 bytes of the
SHA-256 of its encoding.

RESUME  With --out, the verdicts of each file or row group that is complete are kept in PARQUET.parts until the output
is written. The same command continues after a crash, and the output is the same, byte for byte. If the options, the
files or the contents of the key table are others, it is refused.

EXAMPLES
  mldsa-archive verify 'history/*.parquet' --out verdicts.parquet
  mldsa-archive verify log.jsonl --set ML-DSA-65 --context 'audit/v1'
  mldsa-archive verify votes.parquet --keys validators.parquet --id-column validator

EXIT CODE  0 every row is valid, 1 some row is invalid, 2 some row or file is unusable, there was no row
at all, or the run could not finish.";

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let files = patterns::expand(&args.files)?;
    let table_file = args.columns.table_file();
    let inputs = || state::inputs(&files, table_file);
    let before = match &args.out {
        Some(out) => {
            let paths = files.iter().map(PathBuf::as_path).chain(table_file);
            files::check_outputs(out, paths)?;
            files::check_replaceable(out)?;
            inputs()?
        }
        None => String::new(),
    };
    let table = args.columns.table()?;
    let verifier = Options::default().key_cache_bytes(args.key_cache.saturating_mul(1 << 20));
    #[cfg(feature = "gpu")]
    let verifier = match args.gpu {
        Some(device) => verifier.gpu(&GpuOptions {
            // The thread that waits for the device has a batch of its own.
            threads: mldsa_arrow::batch_verify::Threads::Dedicated(1),
            on_fault: Some(|error| say(format_args!("on the CPU: {error}"))),
            ..GpuOptions::without_tables(device)
        }),
        None => verifier,
    };
    let verifier = verifier.build()?;
    let job = Job {
        columns: &args.columns,
        table: table.as_ref(),
        verifier: &verifier,
        batch_rows: args.batch_rows.get(),
        workers: match args.threads {
            Some(threads) => threads.get(),
            None => thread::available_parallelism().map_or(1, usize::from),
        },
    };
    let mut summary = Summary::default();
    let (mut units, mut places) = (Vec::new(), Vec::new());
    for path in &files {
        match job.open(path) {
            Ok(found) => {
                let mut row = 0;
                for unit in found {
                    let file = path.display().to_string();
                    places.push(Place { file, row });
                    row += unit.rows.unwrap_or(0);
                    units.push(unit);
                }
            }
            Err(error) => {
                say(error);
                summary.failures += 1;
            }
        }
    }
    let options = format!("{:?} {}", args.columns, args.batch_rows);
    let state = match &args.out {
        Some(out) => {
            let plan = format!("{before}{options} {places:?}\n");
            Some(State::open(out, &plan, units.len())?)
        }
        None => None,
    };
    let (mut summary, outcomes) = workers::verify(&job, &units, state.as_ref(), summary)?;
    if let (Some(out), Some(state)) = (&args.out, state) {
        if inputs()? != before {
            let why = "an input has changed since the run began; remove the folder to begin again";
            return Err(named(parts_of(out).display(), why));
        }
        let parts: Vec<_> = places.iter().zip(&units).zip(&outcomes).collect();
        merge(out, &state, &parts, &mut summary)?;
        state.remove()?;
    }
    write!(std::io::stdout(), "{summary}")?;
    Ok(summary.status())
}

/// Where a unit begins.
#[derive(Debug)]
struct Place {
    file: String,
    row: u64,
}

/// Writes the output from the verdicts of the units, in their order. All that have not failed must be
/// there.
fn merge(
    out: &Path,
    state: &State,
    parts: &[((&Place, &Unit), &Option<Outcome>)],
    summary: &mut Summary,
) -> Result<(), Failure> {
    let mut output = Output::create(out);
    output.write(&numbered(&output::none()?, "", 0)?)?;
    for (n, ((place, unit), outcome)) in parts.iter().enumerate() {
        let verified = match outcome {
            Some(Outcome::Failed) => continue,
            Some(Outcome::Rows(rows)) => Some(*rows),
            None => None,
        };
        let (stored, batches) = state.read(n)?;
        let expected = unit.rows.or(verified).unwrap_or(stored);
        let mut count = 0;
        for rows in batches {
            let rows = rows?;
            summary.add(&rows)?;
            output.write(&numbered(&rows, &place.file, place.row + count)?)?;
            count += rows.num_rows() as u64;
        }
        if count != expected {
            let why = format!(
                "it is damaged: verdicts of {count} rows instead of {expected}; remove it to verify them again"
            );
            return Err(named(state.name(n), why));
        }
        output.flush()?;
    }
    output.finish()
}

/// Makes rows of verdicts with their file and their numbers, of which `row` is the first.
fn numbered(rows: &RecordBatch, file: &str, row: u64) -> Result<RecordBatch, Failure> {
    let count = rows.num_rows();
    let files = StringArray::from_iter_values(core::iter::repeat_n(file, count));
    let numbers = UInt64Array::from_iter_values(row..row + count as u64);
    let mut columns: Vec<(String, ArrayRef, bool)> = vec![
        ("file".into(), Arc::new(files), false),
        ("row".into(), Arc::new(numbers), false),
    ];
    let schema = rows.schema();
    let fields = schema.fields().iter().zip(rows.columns());
    columns.extend(
        fields.map(|(field, array)| (field.name().clone(), Arc::clone(array), field.is_nullable())),
    );
    Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
}
