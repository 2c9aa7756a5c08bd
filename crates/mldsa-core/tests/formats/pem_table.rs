//! The table of PEM texts, which the tests of the command line read too.

/// A row of the table.
pub(crate) struct Case {
    /// Whether a public key is wanted.
    pub(crate) public: bool,
    /// `key`, or the reason of the rejection.
    pub(crate) result: &'static str,
    pub(crate) name: &'static str,
    pub(crate) text: Vec<u8>,
}

pub(crate) fn cases() -> Vec<Case> {
    let table = include_str!("../data/pem.txt").lines();
    let rows = table.filter(|line| !line.starts_with('#')).map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [label, result, name, text] = fields[..] else {
            panic!("{line}");
        };
        assert!(["private", "public"].contains(&label), "{line}");
        let public = label == "public";
        Case {
            public,
            result,
            name,
            text: unescaped(text),
        }
    });
    rows.collect()
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next().unwrap() {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'\\' => b'\\',
                b'x' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(core::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                other => panic!("{other}"),
            },
            byte => byte,
        });
    }
    bytes
}
