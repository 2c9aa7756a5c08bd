//! The pages of a column in a row group.
//!
//! What a header states is compared with the bytes that are there before anything is reserved.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

use bytes::Bytes;
use mldsa_arrow::thrift::{self, Note, Rest};
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;

use crate::codec::decompress;
use crate::delta::{expand, lengths};
use crate::input::Input;
use crate::source::Work;
use crate::{Failure, named};

/// Bytes of a page, before and after decompression, and of its values.
pub(crate) const MAX_PAGE: usize = 1 << 28;

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
    /// `None` if it is not known.
    encoding: Option<Encoding>,
    kind: Kind,
}

impl Header {
    /// Checks that this program has what decodes the values and levels of a type.
    fn supported(&self, of: Type, is_nullable: bool) -> core::result::Result<(), &'static str> {
        match (&self.kind, self.encoding) {
            (Kind::V1 { has_runs: false }, _) if is_nullable => {
                Err("levels in another encoding than RLE are not supported")
            }
            (_, Some(Encoding::DELTA_BYTE_ARRAY))
                if matches!(of, Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY) =>
            {
                Ok(())
            }
            (_, Some(Encoding::DELTA_LENGTH_BYTE_ARRAY)) if of == Type::BYTE_ARRAY => Ok(()),
            (_, None | Some(Encoding::DELTA_BYTE_ARRAY | Encoding::DELTA_LENGTH_BYTE_ARRAY)) => {
                Err("the encoding of a page is not supported")
            }
            _ => Ok(()),
        }
    }
}

enum Kind {
    Dictionary,
    V1 {
        /// Whether the definition levels are in RLE.
        has_runs: bool,
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
        let is_nullable = of.max_def_level() > 0;
        if column.compression() == Compression::LZO {
            return Err(fail("compression with LZO is not supported"));
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
            // What is read at a time for a header.
            work.charge((behind - at).max(1 << 10))?;
            at = behind;
            let Some(header) = header else { continue };
            header
                .supported(of.physical_type(), is_nullable)
                .map_err(fail)?;
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
            is_nullable,
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
        let encoding = header.encoding?;
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
                return is_sound.then(|| data(header, bytes, encoding));
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
        let shared = match encoding {
            Encoding::DELTA_BYTE_ARRAY => Some(lengths(&mut rest, most)?),
            Encoding::DELTA_LENGTH_BYTE_ARRAY => None,
            _ => return Some(data(header, bytes, encoding)),
        };
        let own = lengths(&mut rest, most)?;
        let shared = shared.unwrap_or_else(|| vec![0; own.len()]);
        let values = expand(&shared, &own, rest.0, self.width)?;
        let bytes = [&bytes[..before], &values].concat().into();
        Some(data(header, bytes, Encoding::PLAIN))
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
        // Others are refused where there are levels.
        Kind::V1 { .. } => Page::DataPage {
            buf,
            num_values: header.values,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
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
    let read = |at, len: u64| input.bytes(at, len as usize).ok();
    let (header, begin) = thrift::Header::read(at, end, read)?;
    let natural = |note| header.natural(note);
    let [stored, size] = [Note::Stored, Note::Size].map(natural);
    let (stored, size) = (stored? as usize, size? as usize);
    let behind = begin
        .checked_add(stored as u64)
        .filter(|behind| *behind <= end)?;
    let levels = [
        natural(Note::DefinitionLevels),
        natural(Note::RepetitionLevels),
    ];
    let kind = match (header.number(Note::PageType)?, levels) {
        (0, [Some(definition), Some(_)]) if header.number(Note::Rows).is_none() => Kind::V1 {
            has_runs: encoding(definition) == Some(Encoding::RLE),
        },
        (2, [None, None]) => Kind::Dictionary,
        (3, [Some(definition), Some(repetition)]) => {
            let sum = definition.checked_add(repetition)? as usize;
            let is_sound = natural(Note::Rows)? == natural(Note::Values)? && repetition == 0;
            (is_sound && sum <= stored && sum <= size).then_some(())?;
            Kind::V2 {
                levels: [definition, repetition],
                nulls: natural(Note::Nulls)?,
                is_compressed: header.number(Note::IsCompressed) != Some(0),
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
        at: begin,
        stored,
        size,
        crc: header.number(Note::Crc).map(|crc| crc as u32),
        values: natural(Note::Values)?,
        encoding: encoding(natural(Note::Encoding)?),
        kind,
    };
    Some((Some(header), behind))
}

fn encoding(number: u32) -> Option<Encoding> {
    Some(match number {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return None,
    })
}
