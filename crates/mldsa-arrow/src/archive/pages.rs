//! Pages of a row group. Decoders reserve memory for as many values as a page states, which is checked before.

use std::fs::File;
use std::sync::Arc;

use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::SerializedPageReader;

use crate::footer::Rest;

/// One row group of a file.
pub(crate) struct Group {
    pub(crate) file: Arc<File>,
    pub(crate) metadata: Arc<ParquetMetaData>,
    pub(crate) at: usize,
}

impl Group {
    fn group(&self) -> &RowGroupMetaData {
        self.metadata.row_group(self.at)
    }
}

impl RowGroups for Group {
    fn num_rows(&self) -> usize {
        usize::try_from(self.group().num_rows()).unwrap_or(0)
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let column = self.group().column(column);
        let file = Arc::clone(&self.file);
        let pages = SerializedPageReader::new(file, column, self.num_rows(), None)?;
        let of = column.column_descr();
        let levels = [of.max_rep_level(), of.max_def_level()];
        let levels = levels.iter().filter(|most| **most > 0).count();
        Ok(Box::new(Chunk(Some(Pages { pages, levels }))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(core::iter::once(self.group()))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The pages of one column.
struct Chunk(Option<Pages>);

impl Iterator for Chunk {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(Ok(Box::new(self.0.take()?)))
    }
}

impl PageIterator for Chunk {}

struct Pages {
    pages: SerializedPageReader<File>,
    /// Sequences of levels before the values.
    levels: usize,
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        match page.as_ref().map(|page| check(page, self.levels)) {
            Some(None) => Err(ParquetError::General("a page is damaged".into())),
            _ => Ok(page),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

/// Checks that a page has no more values than it can have; `None` if it has.
fn check(page: &Page, levels: usize) -> Option<()> {
    let mut rest = Rest(page.buffer());
    match page {
        // A value has a byte at least.
        Page::DictionaryPage {
            num_values, buf, ..
        } => {
            return (*num_values as usize <= buf.len()).then_some(());
        }
        Page::DataPage { .. } if sequences(page) == 0 => {}
        Page::DataPage { .. } => {
            for _ in 0..levels {
                let (len, _) = rest.0.split_first_chunk()?;
                rest.skip(4)?;
                rest.skip(u32::from_le_bytes(*len).into())?;
            }
        }
        Page::DataPageV2 {
            def_levels_byte_len,
            rep_levels_byte_len,
            ..
        } => rest.skip(u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len))?,
    }
    (0..sequences(page)).try_for_each(|_| lengths(&mut rest, page.num_values().into()))
}

/// Returns how many sequences of lengths precede the values of a page.
fn sequences(page: &Page) -> usize {
    match page.encoding() {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => 0,
    }
}

/// Reads packed differences of at most `most` lengths.
fn lengths(rest: &mut Rest<'_>, most: u64) -> Option<()> {
    let (block, groups) = (rest.number()?, rest.number()?);
    let count = rest.number().filter(|count| *count <= most)?;
    rest.number()?;
    let of_group = block.checked_div(groups).filter(|values| *values > 0)?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        rest.number()?;
        let widths = rest.0.split_off(..usize::try_from(groups).ok()?)?;
        for width in widths {
            if left > 0 {
                rest.skip(of_group.checked_mul((*width).into())? / 8)?;
            }
            left = left.saturating_sub(of_group);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stated_numbers_of_values_are_bounded() {
        let is_sound = |encoding, parts: &[&[u8]]| {
            let page = Page::DataPage {
                buf: parts.concat().into(),
                num_values: 100,
                encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            check(&page, 1).is_some()
        };
        let levels = &[2, 0, 0, 0, 200, 1][..];
        // 90 lengths in a block of 128 values in 4 groups, of which the last needs no bytes.
        let good = &[0x80, 1, 4, 90, 2, 0, 0, 1, 0, 9, 7, 7, 7, 7][..];
        let many = &[
            0x80, 1, 4, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 2, 0, 0, 0, 0, 0,
        ][..];
        for (encoding, lengths) in [
            (Encoding::DELTA_LENGTH_BYTE_ARRAY, &[good][..]),
            (Encoding::DELTA_BYTE_ARRAY, &[good, good]),
        ] {
            assert!(is_sound(encoding, &[&[levels], lengths].concat()));
            assert!(!is_sound(encoding, &[&[levels], &lengths[1..]].concat()));
            for at in 0..lengths.len() {
                let mut parts = [&[levels], lengths].concat();
                parts[at + 1] = many;
                assert!(!is_sound(encoding, &parts), "{encoding} {at}");
            }
        }
        assert!(is_sound(Encoding::PLAIN, &[]));
        let of = |num_values| Page::DictionaryPage {
            buf: vec![0; 8].into(),
            num_values,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        assert!(check(&of(2), 1).is_some() && check(&of(1 << 31), 1).is_none());
    }
}
