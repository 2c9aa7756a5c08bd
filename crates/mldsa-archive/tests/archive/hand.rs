//! Parquet files that are written by hand, so that they can state anything.

/// A struct in the compact protocol of Thrift.
#[derive(Default)]
pub(crate) struct Struct(Vec<u8>, i16);

pub(crate) fn number(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 127 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

pub(crate) fn signed(value: i64) -> Vec<u8> {
    number((value << 1) as u64 ^ (value >> 63) as u64)
}

impl Struct {
    pub(crate) fn field(mut self, id: i16, kind: u8, value: &[u8]) -> Self {
        match id - self.1 {
            step @ 1..=15 => self.0.push((step as u8) << 4 | kind),
            _ => {
                self.0.push(kind);
                self.0.extend(signed(id.into()));
            }
        }
        self.1 = id;
        self.0.extend(value);
        self
    }

    pub(crate) fn i32(self, id: i16, value: i64) -> Self {
        self.field(id, 5, &signed(value))
    }

    pub(crate) fn i64(self, id: i16, value: i64) -> Self {
        self.field(id, 6, &signed(value))
    }

    pub(crate) fn bytes(self, id: i16, value: &[u8]) -> Self {
        let value = [number(value.len() as u64), value.to_vec()].concat();
        self.field(id, 8, &value)
    }

    pub(crate) fn list(self, id: i16, kind: u8, items: &[Vec<u8>]) -> Self {
        let mut value = vec![0xf0 | kind];
        value.extend(number(items.len() as u64));
        value.extend(items.concat());
        self.field(id, 9, &value)
    }

    pub(crate) fn structure(self, id: i16, value: &[u8]) -> Self {
        self.field(id, 12, value)
    }

    pub(crate) fn end(mut self) -> Vec<u8> {
        self.0.push(0);
        self.0
    }
}

/// An element of a schema: bytes, or a group.
pub(crate) fn element(name: &str, repetition: Option<i64>, children: Option<i64>) -> Vec<u8> {
    let mut element = Struct::default();
    if children.is_none() {
        element = element.i32(1, 6);
    }
    if let Some(repetition) = repetition {
        element = element.i32(3, repetition);
    }
    element = element.bytes(4, name.as_bytes());
    if let Some(children) = children {
        element = element.i32(5, children);
    }
    element.end()
}

/// The names of the columns.
pub(crate) const NAMES: [&str; 3] = ["key", "message", "signature"];

/// A footer without its end, so that fields can follow.
pub(crate) fn footer(rows: i64, groups: &[Vec<u8>]) -> Struct {
    let columns = NAMES.map(|name| element(name, Some(0), None));
    let schema = [vec![element("root", None, Some(3))], columns.to_vec()].concat();
    let footer = Struct::default().i32(1, 1).list(2, 12, &schema);
    footer.i64(3, rows).list(4, 12, groups)
}

/// A file of pages and a footer.
pub(crate) fn file(pages: &[u8], footer: &[u8]) -> Vec<u8> {
    let len = (footer.len() as u32).to_le_bytes();
    [b"PAR1", pages, footer, &len, b"PAR1"].concat()
}

/// A page of required values: its kind, encoding, number of values and bytes.
#[derive(Clone)]
pub(crate) struct Page {
    pub(crate) is_dictionary: bool,
    pub(crate) encoding: i64,
    pub(crate) values: i64,
    pub(crate) size: usize,
    pub(crate) stored: Vec<u8>,
    pub(crate) has_checksum: bool,
}

/// One row group, whose columns have pages under a codec.
pub(crate) fn group(rows: i64, codec: i64, columns: &[Vec<Page>]) -> Vec<u8> {
    let mut pages = Vec::new();
    let mut chunks = Vec::new();
    for (name, column) in NAMES.iter().zip(columns) {
        let start = pages.len() as i64 + 4;
        let (mut data, mut size) = (start, 0);
        for page in column {
            let values = Struct::default().i32(1, page.values).i32(2, page.encoding);
            let mut header = Struct::default().i32(1, if page.is_dictionary { 2 } else { 0 });
            header = header
                .i32(2, page.size as i64)
                .i32(3, page.stored.len() as i64);
            if page.has_checksum {
                header = header.i32(4, crc32fast::hash(&page.stored) as i32 as i64);
            }
            header = match page.is_dictionary {
                true => header.structure(7, &values.end()),
                false => header.structure(5, &values.i32(3, 3).i32(4, 3).end()),
            };
            pages.extend(header.end());
            pages.extend(&page.stored);
            size += page.size as i64;
            if page.is_dictionary {
                data = pages.len() as i64 + 4;
            }
        }
        let len = pages.len() as i64 + 4 - start;
        let encodings = [0, 3, 7, 8].map(signed);
        let path = [number(name.len() as u64), name.as_bytes().to_vec()].concat();
        let mut column = Struct::default().i32(1, 6).list(2, 5, &encodings);
        column = column.list(3, 8, &[path]).i32(4, codec).i64(5, rows);
        column = column.i64(6, size).i64(7, len).i64(9, data);
        if data != start {
            column = column.i64(11, start);
        }
        chunks.push(
            Struct::default()
                .i64(2, start)
                .structure(3, &column.end())
                .end(),
        );
    }
    let len = pages.len() as i64;
    let group = Struct::default()
        .list(1, 12, &chunks)
        .i64(2, len)
        .i64(3, rows);
    file(&pages, &footer(rows, &[group.end()]).end())
}

/// A data page of values, each in full.
pub(crate) fn plain(values: &[&[u8]]) -> Page {
    let parts = values.iter().map(|value| {
        let len = (value.len() as u32).to_le_bytes();
        [&len[..], value].concat()
    });
    let stored = parts.collect::<Vec<_>>().concat();
    Page {
        is_dictionary: false,
        encoding: 0,
        values: values.len() as i64,
        size: stored.len(),
        stored,
        has_checksum: false,
    }
}

/// A dictionary of one value, and a page of `rows` rows that have it.
pub(crate) fn same(value: &[u8], rows: u64) -> Vec<Page> {
    let dictionary = Page {
        is_dictionary: true,
        ..plain(&[value])
    };
    // One bit for each index, and one run of zeros.
    let stored = [vec![1], number(rows << 1), vec![0]].concat();
    let page = Page {
        is_dictionary: false,
        encoding: 8,
        values: rows as i64,
        size: stored.len(),
        stored,
        has_checksum: false,
    };
    vec![dictionary, page]
}

/// A page of values that share prefixes: how many bytes of the one before, and the others.
pub(crate) fn shared(values: &[(usize, &[u8])]) -> Page {
    let of = |lengths: Vec<i64>| {
        // Blocks of 128 differences in four groups, of 32 bits each.
        let mut bytes = [
            number(128),
            vec![4],
            number(lengths.len() as u64),
            signed(lengths[0]),
        ]
        .concat();
        let steps: Vec<_> = lengths.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for block in steps.chunks(128) {
            // Groups that no difference needs are not there.
            let widths = (0..4).map(|group| if group * 32 < block.len() { 32 } else { 0 });
            bytes.extend(signed(0).into_iter().chain(widths));
            let padded = block.iter().copied().chain(core::iter::repeat(0));
            let padded = padded.take(block.len().next_multiple_of(32));
            padded.for_each(|step| bytes.extend((step as i32).to_le_bytes()));
        }
        bytes
    };
    let prefixes = of(values.iter().map(|(prefix, _)| *prefix as i64).collect());
    let suffixes = of(values
        .iter()
        .map(|(_, suffix)| suffix.len() as i64)
        .collect());
    let bytes = values.iter().flat_map(|(_, suffix)| suffix.iter().copied());
    let stored: Vec<u8> = prefixes.into_iter().chain(suffixes).chain(bytes).collect();
    Page {
        is_dictionary: false,
        encoding: 7,
        values: values.len() as i64,
        size: stored.len(),
        stored,
        has_checksum: false,
    }
}

/// Returns the key of a seed, and its signature of a message.
pub(crate) type Sign<'a> = dyn Fn(u8, &[u8]) -> (Vec<u8>, Vec<u8>) + 'a;

/// The last row has a message that nobody signed, with the signature of the first. Between them are so many bytes
/// that an offset of 32 bits to the last message is one to the first.
pub(crate) fn wrapping(rows: usize, total: usize, sign: &Sign<'_>) -> Vec<u8> {
    let (signed, forged) = (b"pay    1 coin to Alice", b"pay 9999 coins to Carl");
    let between = rows - 2;
    let long = total / between;
    let longer = vec![b'x'; total - long * (between - 1)];
    let (of_victim, genuine) = sign(1, signed);
    let (of_mine, first) = sign(2, &longer);
    let (_, second) = sign(2, &longer[..long]);
    let mut columns = [
        vec![(0, &of_victim[..]), (0, &of_mine[..])],
        vec![(0, &signed[..]), (0, &longer[..])],
        vec![(0, &genuine[..]), (0, &first[..]), (0, &second[..])],
    ];
    columns[0].resize(rows - 1, (of_mine.len(), &[]));
    columns[1].resize(rows - 1, (long, &[]));
    columns[2].resize(rows - 1, (second.len(), &[]));
    columns[0].push((0, &of_victim));
    columns[1].push((0, forged));
    columns[2].push((0, &genuine));
    group(rows as i64, 0, &columns.map(|values| vec![shared(&values)]))
}
