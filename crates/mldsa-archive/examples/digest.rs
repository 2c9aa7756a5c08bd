//! Prints the SHA-256 of what is read from columns `a`, `b` and `c` of each file: of the length of each value and its bytes,
//! column by column. Null has the length -1. `tests/second_reader.py` compares it with another reader.

use core::error::Error;
use std::fs;

use arrow_array::Array;
use mldsa_archive::read;
use mldsa_arrow::Column;
use sha2::{Digest, Sha256};

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args().skip(1) {
        let names = ["a", "b", "c"];
        let mut hashes = names.map(|_| Sha256::new());
        read(fs::read(&path)?, &names, 64, &mut |batch| {
            for (name, hash) in names.iter().zip(&mut hashes) {
                let array = batch
                    .column_by_name(name)
                    .map_or(batch.column(0), |array| array);
                let values = Column::new(name, array as &dyn Array).bytes();
                for value in values.unwrap_or_default() {
                    let len = value.map_or(-1, |value| value.len() as i64);
                    hash.update(len.to_le_bytes());
                    hash.update(value.unwrap_or_default());
                }
            }
        })?;
        let mut all = Sha256::new();
        hashes
            .into_iter()
            .for_each(|hash| all.update(hash.finalize()));
        println!("{}", base16ct::lower::encode_string(&all.finalize()));
    }
    Ok(())
}
