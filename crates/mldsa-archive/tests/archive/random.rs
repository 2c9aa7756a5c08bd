//! Files of random rows in every form: what is read is what was written.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, FixedSizeBinaryArray, RecordBatch};
use mldsa_archive::read;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::sync::Arc;

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

type Values = Vec<Option<Vec<u8>>>;

/// Values with repetitions, shared prefixes and nulls, of one length if `width` is there.
fn values(random: &mut Random, rows: usize, width: Option<usize>) -> Values {
    let (nulls, changes) = (random.below(3), 1 + random.below(4));
    let longest = 1 + random.below(3000);
    let mut last = vec![0; width.unwrap_or(longest)];
    let mut values = Vec::new();
    for _ in 0..rows {
        if nulls > 0 && random.below(1 + 4 * nulls) == 0 {
            values.push(None);
            continue;
        }
        if random.below(changes) == 0 {
            let len = width.unwrap_or_else(|| random.below(longest));
            last.truncate(random.below(last.len() + 1).min(len));
            while last.len() < len {
                last.push(random.below(256) as u8);
            }
        }
        values.push(Some(last.clone()));
    }
    values
}

fn column(values: &Values, width: Option<usize>) -> ArrayRef {
    match width {
        None => Arc::new(BinaryArray::from_iter(values)),
        Some(width) => {
            let values = values.iter().cloned();
            let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, width as i32);
            Arc::new(array.unwrap())
        }
    }
}

fn found(array: &ArrayRef) -> Values {
    let of = |row: usize| match array.as_binary_view_opt() {
        Some(views) => views.value(row).to_vec(),
        None => array.as_fixed_size_binary().value(row).to_vec(),
    };
    (0..array.len())
        .map(|row| array.is_valid(row).then(|| of(row)))
        .collect()
}

/// Writes and reads one file.
fn check(seed: u64) {
    let mut random = Random(seed);
    let rows = 1 + random.below(300);
    let widths = [None, None, Some(1 + random.below(40))];
    let columns = widths.map(|width| values(&mut random, rows, width));
    let encodings = [
        Encoding::PLAIN,
        Encoding::DELTA_LENGTH_BYTE_ARRAY,
        Encoding::DELTA_BYTE_ARRAY,
    ];
    let fixed = [
        Encoding::PLAIN,
        Encoding::DELTA_BYTE_ARRAY,
        Encoding::BYTE_STREAM_SPLIT,
    ];
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
    ];
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let mut properties = WriterProperties::builder()
        .set_writer_version(versions[random.below(2)])
        .set_compression(codecs[random.below(codecs.len())])
        .set_data_page_row_count_limit(1 + random.below(rows))
        .set_write_batch_size(1 + random.below(64))
        .set_dictionary_page_size_limit(1 + random.below(10_000))
        .set_max_row_group_row_count(Some(1 + random.below(rows)));
    let names = ["a", "b", "c"];
    for (name, width) in names.into_iter().zip(widths) {
        let of = if width.is_some() { fixed } else { encodings };
        properties = properties
            .set_column_dictionary_enabled(name.into(), random.below(2) == 0)
            .set_column_encoding(name.into(), of[random.below(3)]);
    }
    let arrays = columns
        .iter()
        .zip(widths)
        .map(|(values, width)| column(values, width));
    let arrays = names
        .into_iter()
        .zip(arrays)
        .map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(arrays).unwrap();
    let properties = Some(properties.build());
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), properties).unwrap();
    writer.write(&batch).unwrap();
    let bytes = writer.into_inner().unwrap();
    let mut read_columns = [(); 3].map(|()| Values::new());
    let at_once = [1, 64, 4096][random.below(3)];
    let done = read(bytes, &names, at_once, &mut |batch| {
        for (name, column) in names.iter().zip(&mut read_columns) {
            column.extend(found(batch.column_by_name(name).unwrap()));
        }
    });
    assert_eq!(done, Ok(()), "seed {seed}");
    assert!(read_columns == columns, "seed {seed}: other bytes");
}

/// The files of a seed, one for each of `MLDSA_FILES` numbers.
#[test]
fn bytes_are_those_that_were_written() {
    let files = std::env::var("MLDSA_FILES").map_or(200, |files| files.parse().unwrap());
    (0..files).for_each(check);
    println!("{files} files");
}
