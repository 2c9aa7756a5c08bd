//! Pages of a row group. Decoders reserve memory for as many values as a page states, which is checked before.

use std::fs::File;
use std::sync::Arc;

use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Encoding, Type};
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
        let is_fixed = of.physical_type() == Type::FIXED_LEN_BYTE_ARRAY;
        let width = is_fixed.then(|| usize::try_from(of.type_length()).unwrap_or(0));
        Ok(Box::new(Chunk(Some(Pages {
            pages,
            levels,
            width,
        }))))
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
    /// Length of each value where all have one.
    width: Option<usize>,
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
        let Some(page) = page else { return Ok(None) };
        let page = checked(page, self.levels, self.width);
        let damaged = || ParquetError::General("a page is damaged".into());
        page.ok_or_else(damaged).map(Some)
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

/// Bytes that the values of a page of shared prefixes may have.
const MAX_EXPANDED: u64 = 1 << 28;

/// Returns the page, whose values are plain ones if they had shared prefixes: the decoder of the crate `parquet`
/// writes offsets of 32 bits, which such values exceed although the page is small. `width` is the length of a value
/// where all have one. `None` if the page has other values than it states.
fn checked(page: Page, levels: usize, width: Option<usize>) -> Option<Page> {
    let mut rest = Rest(page.buffer());
    match &page {
        // A value has a byte at least.
        Page::DictionaryPage {
            num_values, buf, ..
        } => {
            return (*num_values as usize <= buf.len()).then_some(page);
        }
        Page::DataPage { .. } if !has_lengths(&page) => {}
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
    let most = page.num_values().into();
    let before = page.buffer().len() - rest.0.len();
    match page.encoding() {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => {
            lengths(&mut rest, most)?;
            Some(page)
        }
        Encoding::DELTA_BYTE_ARRAY => {
            let shared = lengths(&mut rest, most)?;
            let own = lengths(&mut rest, most)?;
            let values = expand(&shared, &own, rest.0, width)?;
            let values = [&page.buffer()[..before], &values].concat();
            Some(plain(page, values))
        }
        _ => Some(page),
    }
}

fn has_lengths(page: &Page) -> bool {
    let encodings = [
        Encoding::DELTA_LENGTH_BYTE_ARRAY,
        Encoding::DELTA_BYTE_ARRAY,
    ];
    encodings.contains(&page.encoding())
}

/// Writes values that share prefixes with the ones before them in the plain encoding.
fn expand(shared: &[u32], own: &[u32], bytes: &[u8], width: Option<usize>) -> Option<Vec<u8>> {
    let lengths = || {
        shared
            .iter()
            .zip(own)
            .map(|(a, b)| u64::from(*a) + u64::from(*b))
    };
    let all = lengths().try_fold(0_u64, |sum, len| sum.checked_add(len + 4))?;
    if shared.len() != own.len() || all > MAX_EXPANDED {
        return None;
    }
    let mut values = Vec::with_capacity(usize::try_from(all).ok()?);
    let (mut rest, mut last) = (bytes, 0..0);
    for (shared, own) in shared.iter().zip(own) {
        let shared = *shared as usize;
        let suffix = rest.split_off(..*own as usize)?;
        if shared > last.len() || width.is_some_and(|width| width != shared + suffix.len()) {
            return None;
        }
        if width.is_none() {
            values.extend(u32::try_from(shared + suffix.len()).ok()?.to_le_bytes());
        }
        let start = values.len();
        values.extend_from_within(last.start..last.start + shared);
        values.extend(suffix);
        last = start..values.len();
    }
    rest.is_empty().then_some(values)
}

/// Replaces the values of a data page.
fn plain(page: Page, values: Vec<u8>) -> Page {
    let mut page = page;
    if let Page::DataPage { buf, encoding, .. } | Page::DataPageV2 { buf, encoding, .. } = &mut page
    {
        (*buf, *encoding) = (values.into(), Encoding::PLAIN);
    }
    page
}

/// Reads at most `most` lengths, packed as differences.
fn lengths(rest: &mut Rest<'_>, most: u64) -> Option<Vec<u32>> {
    let (block, groups) = (rest.number()?, rest.number()?);
    let count = rest.number().filter(|count| *count <= most)?;
    let count = usize::try_from(count).ok()?;
    let mut last = zigzag(rest.number()?);
    let of_group = block.checked_div(groups).filter(|values| *values > 0)?;
    let of_group = usize::try_from(of_group)
        .ok()
        .filter(|values| values % 8 == 0)?;
    let mut lengths = Vec::new();
    if count > 0 {
        lengths.push(u32::try_from(last).ok()?);
    }
    while lengths.len() < count {
        let least = zigzag(rest.number()?);
        let widths = rest.0.split_off(..usize::try_from(groups).ok()?)?;
        for width in widths.iter().map(|width| usize::from(*width)) {
            let left = of_group.min(count - lengths.len());
            if left == 0 {
                break;
            }
            let packed = rest.0.split_off(..of_group.checked_mul(width)? / 8)?;
            for n in 0..left {
                last = last
                    .wrapping_add(least)
                    .wrapping_add(bits(packed, n, width)?);
                lengths.push(u32::try_from(last).ok()?);
            }
        }
    }
    Some(lengths)
}

fn zigzag(number: u64) -> i32 {
    ((number >> 1) as i32) ^ -((number & 1) as i32)
}

/// Returns the number at a position of packed ones, each of which has `width` bits.
fn bits(packed: &[u8], n: usize, width: usize) -> Option<i32> {
    if width > 32 {
        return None;
    }
    let (at, shift) = (n * width / 8, n * width % 8);
    let mut word = [0; 8];
    let bytes = packed.get(at..)?;
    let len = bytes.len().min(8);
    word[..len].copy_from_slice(&bytes[..len]);
    let mask = (1_u64 << width) - 1;
    Some((u64::from_le_bytes(word) >> shift & mask) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(encoding: Encoding, parts: &[&[u8]]) -> Option<Page> {
        let page = Page::DataPage {
            buf: parts.concat().into(),
            num_values: 100,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        checked(page, 1, None)
    }

    const LEVELS: &[u8] = &[2, 0, 0, 0, 200, 1];

    #[test]
    fn stated_numbers_of_values_are_bounded() {
        let is_sound = |encoding, parts: &[&[u8]]| page(encoding, parts).is_some();
        // 90 empty lengths in a block of 128 values in 4 groups, of which none needs bytes.
        let good = &[0x80, 1, 4, 90, 0, 0, 0, 0, 0, 0][..];
        let many = &[
            0x80, 1, 4, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0, 0, 0, 0, 0, 0,
        ][..];
        for (encoding, lengths) in [
            (Encoding::DELTA_LENGTH_BYTE_ARRAY, &[good][..]),
            (Encoding::DELTA_BYTE_ARRAY, &[good, good]),
        ] {
            assert!(is_sound(encoding, &[&[LEVELS], lengths].concat()));
            assert!(!is_sound(encoding, &[&[LEVELS], &lengths[1..]].concat()));
            for at in 0..lengths.len() {
                let mut parts = [&[LEVELS], lengths].concat();
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
        assert!(checked(of(2), 1, None).is_some() && checked(of(1 << 31), 1, None).is_none());
    }

    /// Two lengths, as packed differences: one of 32 values and `width` bits in a block.
    fn two([first, second]: [u32; 2]) -> Vec<u8> {
        let mut bytes = vec![32, 1, 2];
        let mut number = |mut number: u64| {
            while number > 127 {
                bytes.push(number as u8 | 128);
                number >>= 7;
            }
            bytes.push(number as u8);
        };
        number(u64::from(first) << 1);
        let step = i64::from(second) - i64::from(first);
        number(((step << 1) ^ (step >> 63)) as u64);
        bytes.push(0);
        bytes
    }

    /// Values of shared prefixes become plain ones; their sum is bounded, and no prefix is longer than the
    /// value that it is of.
    #[test]
    fn shared_prefixes_are_expanded_within_a_bound() {
        let of = |shared, own, bytes: &[u8]| {
            let parts = [LEVELS, &two(shared), &two(own), bytes];
            page(Encoding::DELTA_BYTE_ARRAY, &parts)
        };
        let found = of([0, 2], [3, 1], b"abcd").unwrap();
        assert_eq!(found.encoding(), Encoding::PLAIN);
        let values = b"\x03\0\0\0abc\x03\0\0\0abd";
        assert_eq!(found.buffer()[..], [LEVELS, values].concat());
        assert!(of([0, 4], [3, 1], b"abcd").is_none());
        assert!(of([1, 0], [3, 1], b"abcd").is_none());
        assert!(of([0, 2], [3, 1], b"abc").is_none());
        assert!(of([0, 2], [3, 1], b"abcde").is_none());
        let half = vec![0; 1 << 27];
        assert!(of([0, 1 << 27], [1 << 27, 0], &half).is_none());
        assert!(of([0, 1 << 26], [1 << 26, 1], &half[..(1 << 26) + 1]).is_some());
        let most = u32::MAX >> 1;
        assert!(of([0, most], [most, most], b"").is_none());
    }
}
