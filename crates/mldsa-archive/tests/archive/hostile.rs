//! Files that are made to mislead, to end, to fill or to stop a run.

use std::fs;
use std::process::Output;

use batch_verify::{Context, MlDsa44, Randomness, SigningKey};

use crate::hand::{
    NAMES, Page, Struct, element, file, footer, group, number, plain, same, shared, signed,
    wrapping,
};
use crate::tool::{Folder, count, errors};

fn folder() -> Folder {
    Folder::new(64, &["--bad", "0"])
}

/// Verifies a file and `data.parquet` behind it, of which every row is valid.
fn beside(folder: &Folder, bytes: &[u8], options: &[&str]) -> Output {
    fs::write(folder.path("hostile.parquet"), bytes).unwrap();
    let files = [
        "verify",
        "--context",
        "archive/v1",
        "hostile.parquet",
        "data.parquet",
    ];
    folder.run(&[&files, options].concat())
}

fn refused(folder: &Folder, bytes: &[u8], why: &str) {
    let run = beside(folder, bytes, &[]);
    assert_eq!(run.status.code(), Some(2), "{why}: {run:?}");
    assert_eq!(count(&run, "valid"), 64, "{why}: {run:?}");
    assert_eq!(count(&run, "unreadable"), 1, "{why}: {run:?}");
    let text = errors(&run);
    assert!(
        text.contains("hostile.parquet") && text.contains(why),
        "{why}: {text}"
    );
}

fn key(seed: u8) -> (SigningKey<MlDsa44>, Vec<u8>) {
    let key = SigningKey::from_seed(&[seed; 32]);
    let public = key.verifying_key().as_ref().to_vec();
    (key, public)
}

fn sign(key: &SigningKey<MlDsa44>, message: &[u8]) -> Vec<u8> {
    let context = Context::new(b"archive/v1").unwrap();
    let signature = key.sign_with_context(message, context, Randomness::Deterministic);
    signature.unwrap().as_ref().to_vec()
}

/// Verdicts do not depend on how many rows are read at once.
#[test]
fn a_row_has_its_own_bytes() {
    let folder = folder();
    let signed = |seed, message: &[u8]| {
        let (signer, public) = key(seed);
        (public, sign(&signer, message))
    };
    let (small, large) = (
        wrapping(40, 3000, &signed),
        wrapping(4096, (1 << 32) - 22, &signed),
    );
    for rows in ["1", "64", "4096"] {
        let run = beside(&folder, &small, &["--batch-rows", rows]);
        assert_eq!(run.status.code(), Some(1), "{run:?}");
        assert_eq!(count(&run, "valid"), 64 + 39, "{run:?}");
        assert_eq!(count(&run, "challenge_mismatch"), 1, "{run:?}");
        let run = beside(&folder, &large, &["--batch-rows", rows]);
        assert_eq!(run.status.code(), Some(2), "{run:?}");
        assert_eq!(count(&run, "rows"), 64, "{run:?}");
    }
}

/// What a footer states neither reserves memory nor recurses nor keeps the run busy.
#[test]
fn footers_are_walked_to_the_end() {
    let folder = folder();
    let damaged = "the footer is damaged, or has fields that this program does not know";
    let many = [vec![0xfc], number((1 << 31) - 1)].concat();
    let of = |footer: Struct| refused(&folder, &file(&[], &footer.end()), damaged);
    // A second list of row groups, and unknown fields with lists of bools.
    of(footer(0, &[]).field(4, 9, &many));
    of(footer(0, &[]).field(19, 9, &[vec![0xf1], number((1 << 31) - 1)].concat()));
    of(footer(0, &[]).field(5, 9, &many));
    // The number of rows has another type, in whose bytes a walk could find one row group.
    let two = Struct::default()
        .i32(1, 1)
        .list(2, 12, &[element("root", None, None)]);
    of(two.field(3, 8, &[0x80, 1, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7]));
    let schema = |elements: &[Vec<u8>]| {
        let root = element("root", None, Some(4));
        let columns = NAMES.map(|name| element(name, Some(0), None));
        let all = [vec![root], columns.to_vec(), elements.to_vec()].concat();
        let footer = Struct::default().i32(1, 1).list(2, 12, &all);
        footer.i64(3, 0).list(4, 12, &[])
    };
    let leaf = || element("x", Some(0), None);
    of(schema(&[
        element("g", Some(0), Some((1 << 31) - 1)),
        leaf(),
    ]));
    let mut deep = vec![element("g", Some(0), Some(1)); 100_000];
    deep.push(leaf());
    of(schema(&deep));
    let encrypted = footer(0, &[]).structure(8, &[0]);
    refused(
        &folder,
        &file(&[], &encrypted.end()),
        "it is an encrypted Parquet file",
    );
}

/// What a page states is compared with what its bytes can give.
#[test]
fn sizes_are_those_of_the_bytes() {
    let folder = folder();
    let of = |codec, page: &Page| group(1, codec, &[(); 3].map(|()| vec![page.clone()]));
    let page = |size, stored: &[u8]| Page {
        size,
        stored: stored.to_vec(),
        ..plain(&[b""])
    };
    let header = "the header of a page is damaged";
    for codec in [1, 2, 4, 5, 6, 7] {
        refused(&folder, &of(codec, &page((1 << 31) - 48, &[0; 16])), header);
        refused(
            &folder,
            &of(codec, &page(1 << 28, &[0; 16])),
            "a page is damaged",
        );
    }
    refused(&folder, &of(0, &page(5, &[0; 4])), header);
    // 64 GiB of messages in less than 17 kB of prefixes.
    let long = vec![b'x'; 1 << 20];
    let mut values = vec![(0, &long[..])];
    values.resize(4096, (1 << 20, &[]));
    let columns = [same(b"", 4096), vec![shared(&values)], same(b"", 4096)];
    refused(&folder, &group(4096, 0, &columns), "a page is damaged");
    // A prefix that is longer than the value before.
    let values = shared(&[(0, b"abc"), (4, b"")]);
    let columns = [same(b"", 2), vec![values], same(b"", 2)];
    refused(&folder, &group(2, 0, &columns), "a page is damaged");
}

/// What other programs read, and this one does not, is not called damaged.
#[test]
fn what_is_not_supported_is_named() {
    let folder = folder();
    let of = |codec, page: Page| group(1, codec, &[(); 3].map(|()| vec![page.clone()]));
    let replaced = |bytes: &[u8], from: &[u8], to: &[u8]| {
        let mut bytes = bytes.to_vec();
        let found = |bytes: &[u8]| bytes.windows(from.len()).position(|at| at == from);
        let mut count = 0;
        while let Some(at) = found(&bytes) {
            bytes.splice(at..at + from.len(), to.iter().copied());
            count += 1;
        }
        assert_eq!(count, 3, "{from:?}");
        bytes
    };
    let lzo = "compression with LZO is not supported";
    refused(&folder, &of(3, plain(&[b""])), lzo);
    for encoding in [1, 4, 10] {
        let page = Page {
            encoding,
            ..plain(&[b""])
        };
        let why = "the encoding of a page is not supported";
        refused(&folder, &of(0, page), why);
    }
    // One value, in PLAIN, with levels in BIT_PACKED instead of RLE. Without nulls there are no levels.
    let values = [0x15, 2, 0x15, 0, 0x15];
    let [rle, packed] = [6, 8].map(|level| [&values[..], &[level]].concat());
    let packed = replaced(&of(0, plain(&[b""])), &rle, &packed);
    let run = beside(&folder, &packed, &[]);
    assert_eq!(count(&run, "public_key_length"), 1, "{run:?}");
    let nullable = replaced(&packed, &[0x15, 12, 0x25, 0], &[0x15, 12, 0x25, 2]);
    let why = "levels in another encoding than RLE are not supported";
    refused(&folder, &nullable, why);
}

/// Rows that need no bytes are bounded by the bytes of the file.
#[test]
fn rows_are_bounded_by_the_bytes() {
    let folder = folder();
    let of = |rows: u64| group(rows as i64, 0, &[(); 3].map(|()| same(b"", rows)));
    refused(&folder, &of(20_000_000), "states 20000000 rows");
    let run = beside(&folder, &of(60_000), &[]);
    assert_eq!(count(&run, "public_key_length"), 60_000, "{run:?}");
    // Messages that rows share are hashed, for each key that differs.
    let keys = [[0; 1312], [1; 1312]];
    let keys: Vec<&[u8]> = (0..2000).map(|n| &keys[n % 2][..]).collect();
    let message = vec![0; 1 << 24];
    let mut columns = [
        vec![plain(&keys)],
        same(&message, 2000),
        same(&[0; 2420], 2000),
    ];
    for page in columns.iter_mut().flatten() {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        page.stored = ruzstd::encoding::compress_to_vec(&page.stored[..], level);
    }
    refused(&folder, &group(2000, 6, &columns), "1,024 times");
}

/// A process that ends costs its file.
#[cfg(target_os = "linux")]
#[test]
fn a_process_that_ends_costs_its_file() {
    let folder = folder();
    let message = vec![0; 200 << 20];
    let columns = [same(b"", 1), vec![plain(&[&message])], same(b"", 1)];
    let bytes = group(1, 0, &columns);
    for out in [&[][..], &["--out", "out"]] {
        let run = beside(&folder, &bytes, &[out, &["--memory", "100"]].concat());
        assert_eq!(run.status.code(), Some(2), "{run:?}");
        assert_eq!(count(&run, "valid"), 64, "{run:?}");
        assert_eq!(count(&run, "unreadable"), 1, "{run:?}");
        assert!(errors(&run).contains("is --memory enough?"), "{run:?}");
    }
    let run = beside(&folder, &bytes, &[]);
    assert_eq!(count(&run, "rows"), 65, "{run:?}");
}

/// A page that is not what its checksum says is no forged signature.
#[test]
fn checksums_of_pages_are_verified() {
    let folder = folder();
    let (signer, public) = key(3);
    let signature = sign(&signer, b"m");
    let of = |has_checksum| {
        let values = [&public[..], b"m", &signature];
        let columns = values.map(|value| {
            let page = plain(&[value]);
            vec![Page {
                has_checksum,
                ..page
            }]
        });
        group(1, 0, &columns)
    };
    let without = count(&beside(&folder, &of(false), &[]), "pages_without_checksum");
    let run = beside(&folder, &of(true), &[]);
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    assert_eq!(
        count(&run, "pages_without_checksum"),
        without - 3,
        "{run:?}"
    );
    let mut damaged = of(true);
    let at = damaged
        .windows(9)
        .position(|bytes| bytes == &signature[100..109])
        .unwrap();
    damaged[at] ^= 1;
    refused(&folder, &damaged, "a page is damaged");
}

/// Every codec, with pages that another program has compressed.
#[test]
fn every_codec_is_read() {
    let folder = folder();
    let (signer, public) = key(4);
    let signature = sign(&signer, b"m");
    // One part that is not compressed, and an empty last one.
    let brotli = |bytes: &[u8]| {
        let bits = ((bytes.len() as u32 - 1) << 4) | 1 << 20;
        [&bits.to_le_bytes()[..3], bytes, &[3]].concat()
    };
    let zstd = |bytes: &[u8]| {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    };
    let hadoop = |bytes: &[u8]| {
        let block = lz4_flex::block::compress(bytes);
        let lengths = [bytes.len(), block.len()].map(|len| (len as u32).to_be_bytes());
        [&lengths.concat()[..], &block].concat()
    };
    type Codec<'a> = (i64, &'a dyn Fn(&[u8]) -> Vec<u8>);
    let codecs: [Codec<'_>; 6] = [
        (1, &|bytes| {
            snap::raw::Encoder::new().compress_vec(bytes).unwrap()
        }),
        (4, &brotli),
        (5, &hadoop),
        (5, &|bytes| lz4_flex::block::compress(bytes)),
        (6, &zstd),
        (7, &|bytes| lz4_flex::block::compress(bytes)),
    ];
    for (codec, compress) in codecs {
        let columns = [&public[..], b"m", &signature].map(|value| {
            let page = plain(&[value]);
            let stored = compress(&page.stored);
            vec![Page { stored, ..page }]
        });
        let run = beside(&folder, &group(1, codec, &columns), &[]);
        assert_eq!(run.status.code(), Some(0), "{codec}: {run:?}");
        assert_eq!(count(&run, "valid"), 65, "{codec}: {run:?}");
    }
    assert_eq!(signed(-1), [1]);
}
