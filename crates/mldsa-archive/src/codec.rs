//! Decompression. What is reserved follows the bytes that come out, not the length that is stated.

use std::io::Read;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use parquet::basic::Compression;
use ruzstd::decoding::StreamingDecoder;

/// Decompresses to exactly `size` bytes.
pub(crate) fn decompress(codec: Compression, stored: Bytes, size: usize) -> Option<Bytes> {
    let is_plain = codec == Compression::UNCOMPRESSED;
    if is_plain || (size == 0 && stored.is_empty()) {
        return (stored.len() == size).then_some(stored);
    }
    let bytes = match codec {
        Compression::SNAPPY => {
            // At most 64 bytes for 3.
            let is_sound = snap::raw::decompress_len(&stored).ok()? == size;
            (is_sound && size <= most(&stored, 22)).then_some(())?;
            snap::raw::Decoder::new().decompress_vec(&stored).ok()?
        }
        Compression::GZIP(_) => read(MultiGzDecoder::new(&*stored), size)?,
        Compression::BROTLI(_) => {
            read(brotli_decompressor::Decompressor::new(&*stored, 4096), size)?
        }
        Compression::ZSTD(_) => zstd(&stored, size)?,
        Compression::LZ4_RAW => block(&stored, size)?,
        Compression::LZ4 => lz4(&stored, size)?,
        _ => return None,
    };
    (bytes.len() == size).then(|| bytes.into())
}

/// Returns the bytes that compressed ones can give, with `ratio` for each and a little more.
fn most(stored: &[u8], ratio: usize) -> usize {
    stored.len().saturating_mul(ratio).saturating_add(64)
}

/// Reads at most one byte more than `size`.
fn read(from: impl Read, size: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(size as u64 + 1).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Decompresses one frame or several.
fn zstd(mut stored: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while !stored.is_empty() && bytes.len() <= size {
        let frame = StreamingDecoder::new(&mut stored).ok()?;
        bytes.extend(read(frame, size - bytes.len())?);
    }
    Some(bytes)
}

fn block(stored: &[u8], size: usize) -> Option<Vec<u8>> {
    if size > most(stored, 255) {
        return None;
    }
    lz4_flex::block::decompress(stored, size).ok()
}

/// Decompresses what was called LZ4 before there was a definition: blocks with two lengths, a frame, or one block.
fn lz4(stored: &[u8], size: usize) -> Option<Vec<u8>> {
    let framed = || read(lz4_flex::frame::FrameDecoder::new(stored), size);
    let is_whole = |bytes: &Vec<u8>| bytes.len() == size;
    hadoop(stored, size)
        .or_else(|| framed().filter(is_whole))
        .or_else(|| block(stored, size))
}

fn hadoop(mut stored: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while !stored.is_empty() {
        let mut length = || {
            let (length, rest) = stored.split_first_chunk()?;
            stored = rest;
            Some(u32::from_be_bytes(*length) as usize)
        };
        let (whole, part) = (length()?, length()?);
        if whole > size - bytes.len() {
            return None;
        }
        bytes.extend(block(stored.split_off(..part)?, whole)?);
    }
    (bytes.len() == size).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stated size that the bytes cannot give reserves nothing.
    #[test]
    fn stated_sizes_are_bounded_by_the_bytes() {
        let size = (1 << 31) - 1;
        let snappy = [&[0xff, 0xff, 0xff, 0xff, 7][..], &[0; 9]].concat();
        for (codec, stored) in [
            (Compression::UNCOMPRESSED, vec![0; 16]),
            (Compression::SNAPPY, snappy),
            (Compression::GZIP(Default::default()), vec![0; 16]),
            (Compression::BROTLI(Default::default()), vec![0; 16]),
            (Compression::ZSTD(Default::default()), vec![0; 16]),
            (Compression::LZ4, vec![0; 16]),
            (Compression::LZ4_RAW, vec![0; 16]),
            (Compression::LZO, vec![0; 16]),
        ] {
            assert_eq!(decompress(codec, stored.into(), size), None, "{codec:?}");
        }
    }
}
