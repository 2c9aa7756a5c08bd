//! The pages of a column in a row group.
//!
//! What a header states is compared with the bytes that are there before anything is reserved. Values that share prefixes
//! are handed on as plain ones: the decoder of the crate `parquet` writes offsets of 32 bits, which a small page can
//! exceed.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;

use crate::codec::decompress;
use crate::input::Input;
use crate::source::Work;
use crate::thrift::{Note, Rest};
use crate::{Failure, named};

/// Bytes of a page, before and after decompression, and of its values.
const MAX_PAGE: usize = 1 << 28;

/// Bytes of a header, which has statistics.
const MAX_HEADER: u64 = 1 << 24;

/// Bytes of pages that are read for one batch.
pub(crate) const MAX_BATCH: usize = 1 << 29;

/// A page whose header is sound.
struct Header {
    /// Where the page begins in the file.
    at: u64,
    stored: usize,
    size: usize,
    crc: Option<u32>,
    values: u32,
    encoding: Encoding,
    kind: Kind,
}

enum Kind {
    Dictionary,
    V1 {
        levels: [Encoding; 2],
    },
    V2 {
        levels: [u32; 2],
        nulls: u32,
        is_compressed: bool,
    },
}

/// The pages of a column of values without repetition, of which `row` groups has as many as rows.
pub(crate) struct Pages {
    input: Input,
    headers: Arc<[Header]>,
    next: usize,
    codec: Compression,
    is_nullable: bool,
    /// Length of each value where all have one.
    width: Option<usize>,
    /// Bytes of pages since the batch began.
    read: Arc<AtomicUsize>,
}

impl Pages {
    /// Reads the headers of all pages.
    ///
    /// # Errors
    /// A header states what cannot be, or the pages have other than `rows` values.
    pub(crate) fn open(
        input: &Input,
        column: &ColumnChunkMetaData,
        rows: u64,
        work: &Work,
    ) -> core::result::Result<Self, Failure> {
        let of = column.column_descr();
        let fail = |why: &str| named(of.name(), why);
        if of.max_rep_level() > 0 || of.max_def_level() > 1 {
            return Err(fail("it is in a list or in a group"));
        }
        let begin = match column.dictionary_page_offset() {
            Some(at) if at > 0 => at.min(column.data_page_offset()),
            _ => column.data_page_offset(),
        };
        let span = u64::try_from(begin)
            .ok()
            .zip(u64::try_from(column.compressed_size()).ok());
        let span = span.and_then(|(begin, len)| Some((begin, begin.checked_add(len)?)));
        let (mut at, end) = span
            .filter(|(_, end)| *end <= input.len())
            .ok_or_else(|| fail("its pages are outside of the file"))?;
        let (mut headers, mut left) = (Vec::new(), rows);
        while left > 0 {
            if at == end {
                return Err(fail("it has fewer values than rows"));
            }
            let (header, behind) = header(input, at, end, column.compression())
                .ok_or_else(|| fail("the header of a page is damaged"))?;
            at = behind;
            let Some(header) = header else { continue };
            work.charge(header.size as u64)?;
            match header.kind {
                Kind::Dictionary if headers.is_empty() => {}
                Kind::Dictionary => return Err(fail("a dictionary is not the first page")),
                _ => {
                    let rest = left.checked_sub(header.values.into());
                    left = rest.ok_or_else(|| fail("it has more values than rows"))?;
                }
            }
            headers.push(header);
        }
        let is_fixed = of.physical_type() == Type::FIXED_LEN_BYTE_ARRAY;
        Ok(Self {
            input: input.clone(),
            headers: headers.into(),
            next: 0,
            codec: column.compression(),
            is_nullable: of.max_def_level() > 0,
            width: is_fixed.then(|| usize::try_from(of.type_length()).unwrap_or(0)),
            read: Arc::default(),
        })
    }

    /// Returns the number of pages that have no checksum.
    pub(crate) fn without_checksum(&self) -> u64 {
        self.headers
            .iter()
            .filter(|page| page.crc.is_none())
            .count() as u64
    }

    /// Begins at the first page again, and counts bytes in `read`.
    pub(crate) fn counted(&self, read: &Arc<AtomicUsize>) -> Self {
        Self {
            input: self.input.clone(),
            headers: Arc::clone(&self.headers),
            read: Arc::clone(read),
            ..*self
        }
    }

    fn page(&self, header: &Header) -> Option<Page> {
        let stored = self.input.bytes(header.at, header.stored).ok()?;
        if header
            .crc
            .is_some_and(|crc| crc != crc32fast::hash(&stored))
        {
            return None;
        }
        // Levels of pages of version 2 are not compressed.
        let (levels, codec) = match header.kind {
            Kind::V2 {
                levels: [a, b],
                is_compressed,
                ..
            } => {
                let codec = if is_compressed {
                    self.codec
                } else {
                    Compression::UNCOMPRESSED
                };
                ((a + b) as usize, codec)
            }
            _ => (0, self.codec),
        };
        let before = stored.slice(..levels);
        let values = decompress(codec, stored.slice(levels..), header.size - levels)?;
        let bytes = match levels {
            0 => values,
            _ => [before, values].concat().into(),
        };
        let mut rest = Rest(&bytes);
        match header.kind {
            // A value has a byte at least.
            Kind::Dictionary => {
                let is_sound = header.values as usize <= bytes.len();
                return is_sound.then_some(Page::DictionaryPage {
                    buf: bytes,
                    num_values: header.values,
                    encoding: header.encoding,
                    is_sorted: false,
                });
            }
            Kind::V1 { .. } if self.is_nullable => {
                let len = rest.take(4)?.first_chunk().copied()?;
                rest.take(u32::from_le_bytes(len).into())?;
            }
            Kind::V1 { .. } => {}
            Kind::V2 { .. } => drop(rest.take(levels as u64)?),
        }
        let before = bytes.len() - rest.0.len();
        let most = header.values as usize;
        let (bytes, encoding) = match header.encoding {
            Encoding::DELTA_BYTE_ARRAY => {
                let (shared, own) = (lengths(&mut rest, most)?, lengths(&mut rest, most)?);
                let values = expand(&shared, &own, rest.0, self.width)?;
                let bytes = [&bytes[..before], &values].concat();
                (bytes.into(), Encoding::PLAIN)
            }
            Encoding::DELTA_LENGTH_BYTE_ARRAY => {
                lengths(&mut rest, most)?;
                (bytes, header.encoding)
            }
            encoding => (bytes, encoding),
        };
        Some(data(header, bytes, encoding))
    }
}

fn data(header: &Header, buf: Bytes, encoding: Encoding) -> Page {
    match header.kind {
        Kind::V2 {
            levels,
            nulls,
            is_compressed,
        } => Page::DataPageV2 {
            buf,
            num_values: header.values,
            encoding,
            num_nulls: nulls,
            num_rows: header.values,
            def_levels_byte_len: levels[0],
            rep_levels_byte_len: levels[1],
            is_compressed,
            statistics: None,
        },
        Kind::Dictionary => Page::DictionaryPage {
            buf,
            num_values: header.values,
            encoding,
            is_sorted: false,
        },
        Kind::V1 {
            levels: [definition, repetition],
        } => Page::DataPage {
            buf,
            num_values: header.values,
            encoding,
            def_level_encoding: definition,
            rep_level_encoding: repetition,
            statistics: None,
        },
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        let header = self.headers.get(self.next)?;
        self.next += 1;
        let damaged = || ParquetError::General("a page is damaged".into());
        let page = self.page(header).ok_or_else(damaged);
        let page = page.and_then(|page| {
            let len = page.buffer().len();
            let sum = self.read.fetch_add(len, Relaxed).saturating_add(len);
            match sum > MAX_BATCH {
                true => Err(ParquetError::General(format!(
                    "more than {MAX_BATCH} bytes at once: choose a smaller --batch-rows"
                ))),
                false => Ok(page),
            }
        });
        Some(page)
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.next().transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        Ok(self.headers.get(self.next).map(|header| {
            let values = Some(header.values as usize);
            let is_dict = matches!(header.kind, Kind::Dictionary);
            PageMetadata {
                num_rows: values.filter(|_| !is_dict),
                num_levels: values.filter(|_| !is_dict),
                is_dict,
            }
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.next += 1;
        Ok(())
    }
}

/// Reads the header of a page at `at`, and where the next one begins. A page that is no page of values has none.
fn header(input: &Input, at: u64, end: u64, codec: Compression) -> Option<(Option<Header>, u64)> {
    let mut numbers = [None; Note::IsCompressed as usize + 1];
    let mut window = 1 << 10;
    let len = loop {
        let most = end.checked_sub(at)?.min(window);
        let bytes = input.bytes(at, most as usize).ok()?;
        let mut rest = Rest(&bytes);
        numbers.fill(None);
        // A page has one header of its kind, which alone has fields of values.
        let mut is_single = true;
        let walked = rest.page(&mut |note, number| {
            let before = numbers[note as usize].replace(number);
            is_single &= before.is_none() || note == Note::Nothing;
        });
        if walked.is_some() {
            is_single.then_some(())?;
            break most - rest.0.len() as u64;
        }
        if most < window || window >= MAX_HEADER {
            return None;
        }
        window <<= 4;
    };
    let number = |note: Note| numbers[note as usize];
    let natural = |note| u32::try_from(number(note)?).ok();
    let [stored, size] = [Note::Stored, Note::Size].map(natural);
    let (stored, size) = (stored? as usize, size? as usize);
    let behind = (at + len)
        .checked_add(stored as u64)
        .filter(|behind| *behind <= end)?;
    let levels = [
        natural(Note::DefinitionLevels),
        natural(Note::RepetitionLevels),
    ];
    let kind = match (number(Note::PageType)?, levels) {
        (0, [Some(definition), Some(repetition)]) if number(Note::Rows).is_none() => Kind::V1 {
            levels: [encoding(definition)?, encoding(repetition)?],
        },
        (2, [None, None]) => Kind::Dictionary,
        (3, [Some(definition), Some(repetition)]) => {
            let sum = definition.checked_add(repetition)? as usize;
            let is_sound = natural(Note::Rows)? == natural(Note::Values)? && repetition == 0;
            (is_sound && sum <= stored && sum <= size).then_some(())?;
            Kind::V2 {
                levels: [definition, repetition],
                nulls: natural(Note::Nulls)?,
                is_compressed: number(Note::IsCompressed) != Some(0),
            }
        }
        (1, _) => return Some((None, behind)),
        _ => return None,
    };
    if size > MAX_PAGE
        || stored > MAX_PAGE
        || (codec == Compression::UNCOMPRESSED && size != stored)
    {
        return None;
    }
    let header = Header {
        at: at + len,
        stored,
        size,
        crc: number(Note::Crc).map(|crc| crc as u32),
        values: natural(Note::Values)?,
        encoding: encoding(natural(Note::Encoding)?)?,
        kind,
    };
    Some((Some(header), behind))
}

fn encoding(number: u32) -> Option<Encoding> {
    Some(match number {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        #[expect(deprecated, reason = "old files have it as the encoding of levels")]
        4 => Encoding::BIT_PACKED,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return None,
    })
}

fn expand(shared: &[u32], own: &[u32], bytes: &[u8], width: Option<usize>) -> Option<Vec<u8>> {
    let lengths = || {
        shared
            .iter()
            .zip(own)
            .map(|(a, b)| u64::from(*a) + u64::from(*b))
    };
    let all = lengths().try_fold(0_u64, |sum, len| sum.checked_add(len + 4))?;
    if shared.len() != own.len() || all > MAX_PAGE as u64 {
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

/// Reads at most `most` lengths, packed as differences.
fn lengths(rest: &mut Rest<'_>, most: usize) -> Option<Vec<u32>> {
    let (block, groups) = (rest.number()?, rest.number()?);
    let count = usize::try_from(rest.number()?)
        .ok()
        .filter(|count| *count <= most)?;
    let mut last = rest.signed()? as i32;
    let of_group = block.checked_div(groups).filter(|values| *values > 0)?;
    let of_group = usize::try_from(of_group)
        .ok()
        .filter(|values| values % 8 == 0)?;
    let mut lengths = Vec::new();
    if count > 0 {
        lengths.push(u32::try_from(last).ok()?);
    }
    while lengths.len() < count {
        let least = rest.signed()? as i32;
        let widths = rest.take(groups)?;
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
#[cfg(test)]
mod tests {
    use super::*;

    /// Two lengths, as packed differences: one of 32 values and no bits in a block.
    fn two([first, second]: [u32; 2]) -> Vec<u8> {
        let mut bytes = vec![32, 1, 2];
        let mut number = |number: i64| {
            let mut number = (number << 1) as u64 ^ (number >> 63) as u64;
            while number > 127 {
                bytes.push(number as u8 | 128);
                number >>= 7;
            }
            bytes.push(number as u8);
        };
        number(first.into());
        number(i64::from(second) - i64::from(first));
        bytes.push(0);
        bytes
    }

    #[test]
    fn stated_numbers_of_lengths_are_bounded() {
        // 90 empty lengths in a block of 128 values in 4 groups, of which none needs bytes.
        let good = [0x80, 1, 4, 90, 0, 0, 0, 0, 0, 0];
        let found = |bytes: &[u8], most| lengths(&mut Rest(bytes), most);
        assert_eq!(found(&good, 90), Some(vec![0; 90]));
        assert_eq!(found(&good, 89), None);
        assert_eq!(found(&good[..9], 90), None);
        let many = [
            0x80, 1, 4, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(found(&many, 100), None);
        assert_eq!(found(&two([7, 3]), 2), Some(vec![7, 3]));
    }

    /// The sum of the values is bounded, and no prefix is longer than the value that it is of.
    #[test]
    fn shared_prefixes_are_expanded_within_a_bound() {
        let of = |shared: [u32; 2], own: [u32; 2], bytes: &[u8]| expand(&shared, &own, bytes, None);
        let values = b"\x03\0\0\0abc\x03\0\0\0abd";
        assert_eq!(of([0, 2], [3, 1], b"abcd").unwrap(), values);
        assert_eq!(
            expand(&[0, 2], &[3, 1], b"abcd", Some(3)).unwrap(),
            b"abcabd"
        );
        assert!(expand(&[0, 2], &[3, 1], b"abcd", Some(4)).is_none());
        assert!(of([0, 4], [3, 1], b"abcd").is_none());
        assert!(of([1, 0], [3, 1], b"abcd").is_none());
        assert!(of([0, 2], [3, 1], b"abc").is_none());
        assert!(of([0, 2], [3, 1], b"abcde").is_none());
        let half = vec![0; 1 << 27];
        assert!(of([0, 1 << 27], [1 << 27, 0], &half).is_none());
        assert!(of([0, 1 << 26], [1 << 26, 1], &half[..(1 << 26) + 1]).is_some());
        assert!(of([0, u32::MAX], [u32::MAX, u32::MAX], b"").is_none());
    }
}
