//! Values whose lengths are packed differences, and of which each may share a prefix with the one before.
//!
//! They are handed on as plain ones: the decoder of the crate `parquet` writes offsets of 32 bits, which the values of a
//! small page can exceed.

use mldsa_arrow::thrift::Rest;

use crate::pages::MAX_PAGE;

/// Writes values in the plain encoding: `shared` bytes of the value before and `own` ones of `bytes`. `width` is the
/// length of each where all have one.
pub(crate) fn expand(
    shared: &[u32],
    own: &[u32],
    bytes: &[u8],
    width: Option<usize>,
) -> Option<Vec<u8>> {
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
pub(crate) fn lengths(rest: &mut Rest<'_>, most: usize) -> Option<Vec<u32>> {
    let (block, groups) = (rest.number()?, rest.number()?);
    let count = usize::try_from(rest.number()?)
        .ok()
        .filter(|count| *count <= most)?;
    let mut last = i32::try_from(rest.signed()?).ok()?;
    let of_group = block.checked_div(groups).filter(|values| *values > 0)?;
    let of_group = usize::try_from(of_group)
        .ok()
        .filter(|values| values % 8 == 0)?;
    let mut lengths = Vec::new();
    if count > 0 {
        lengths.push(u32::try_from(last).ok()?);
    }
    while lengths.len() < count {
        let least = i32::try_from(rest.signed()?).ok()?;
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
