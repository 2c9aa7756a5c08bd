//! The rows of a file of `mldsa-archive make` as slices in memory, verified by `batch-verify` on all cores:
//! what the columns cost is measured against this. Prints rows, valid rows and seconds.

use core::error::Error;
use core::time::Duration;
use std::fs::File;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use batch_verify::{BatchVerifier, Context, Item, MlDsa44, MlDsa65, MlDsa87, ParameterSet};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Verifies the rows of one set that have all columns.
fn of_set<P: ParameterSet>(batches: &[RecordBatch]) -> Result<(usize, Duration), Box<dyn Error>> {
    let mut items = Vec::new();
    for batch in batches {
        let column = |name| batch.column_by_name(name).ok_or("a column is missing");
        let bytes = |name| Ok::<_, Box<dyn Error>>(column(name)?.as_binary::<i32>());
        let (set, key) = (column("set")?.as_string::<i32>(), bytes("key")?);
        let (message, context) = (bytes("message")?, bytes("context")?);
        let signature = bytes("signature")?;
        for row in 0..batch.num_rows() {
            let columns: [&dyn Array; 4] = [set, key, message, signature];
            if columns.iter().any(|column| column.is_null(row)) || set.value(row) != P::NAME {
                continue;
            }
            if let Ok(context) = Context::new(context.value(row)) {
                let (key, message) = (key.value(row), message.value(row));
                items.push(Item::new(key, message, context, signature.value(row)));
            }
        }
    }
    let verifier = BatchVerifier::<P>::builder().build()?;
    let started = Instant::now();
    let report = verifier.verify_batch(items);
    Ok((report.valid_items(), started.elapsed()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("slices FILE")?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?.build()?;
    let batches = reader.collect::<Result<Vec<_>, _>>()?;
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let (mut valid, mut time) = (0, Duration::ZERO);
    for (of_one, of_time) in [
        of_set::<MlDsa44>(&batches)?,
        of_set::<MlDsa65>(&batches)?,
        of_set::<MlDsa87>(&batches)?,
    ] {
        valid += of_one;
        time += of_time;
    }
    println!(
        "rows {rows}\nvalid {valid}\nseconds {:.3}",
        time.as_secs_f64()
    );
    Ok(())
}
