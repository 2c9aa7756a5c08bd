//! Writes `examples/data/votes.jsonl`, a few rounds of votes of a made-up chain;
//! `forged-votes.jsonl`, forged ones among them; and `forged-votes.expected.jsonl`, the verdicts on those.
//!
//! ```text
//! cargo run --release -p mldsa-cli --example make_votes
//! ```
//!
//! The crate `fips204` signs every vote, from seeds derived with SHAKE256 from a fixed label: the files
//! are reproduced byte for byte. The verdict of a vote follows from the change made to it, and `fips204`
//! has to reject a changed vote.

#[path = "../tests/peer/mod.rs"]
#[allow(dead_code, reason = "the module serves the tests too")]
mod peer;

use std::path::{Path, PathBuf};
use std::{fs, io};

use mldsa_core::Set;

use peer::{Form, Peer as _};

fn main() -> io::Result<()> {
    for (name, content) in files() {
        fs::write(data().join(name), content)?;
        println!("examples/data/{name}");
    }
    Ok(())
}

/// The folder of the files.
fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data")
}

const LABEL: &str = "mldsa examples/data/votes.jsonl";
const CHAIN: &[u8] = b"example-chain/v1/vote";
const ROUNDS: usize = 10;
const VALIDATORS_PER_SET: usize = 7;

/// Makes the files in memory: names and contents. Every forged vote follows an honest one.
fn files() -> [(&'static str, String); 3] {
    let validators: Vec<Validator> = (0..VALIDATORS_PER_SET * Set::ALL.len())
        .map(|index| {
            let set = Set::ALL[index % Set::ALL.len()];
            let seed = peer::seed(&format!("{LABEL} validator {index}"));
            Validator {
                index,
                set,
                seed,
                pk: set.keygen(&seed).0,
            }
        })
        .collect();

    let (mut votes, mut forged, mut expected) = (String::new(), String::new(), String::new());
    let (mut line, mut forged_lines) = (0, 0);
    for round in 0..ROUNDS {
        for validator in &validators {
            let mut vote = Vote::of(validator, round, line);
            assert!(vote.holds(), "the peer accepts its own vote {line}");
            let honest = vote.line();
            votes += &honest;
            let found = TAMPERED.iter().find(|(at, ..)| *at == line);
            line += 1;
            let Some((_, tamper, reason)) = found else {
                continue;
            };
            // Another validator of the same set, and this one's next vote.
            let other = &validators[(validator.index + Set::ALL.len()) % validators.len()];
            let next = Vote::of(validator, round + 1, line - 1);
            tamper(&mut vote, other, &next);
            assert!(!vote.holds(), "the peer rejects the tampered vote {line}");
            forged += &(honest + &vote.line());
            let [first, second] = [forged_lines + 1, forged_lines + 2];
            forged_lines = second;
            expected += &format!(
                "{{\"line\":{first},\"valid\":true}}\n\
                 {{\"line\":{second},\"valid\":false,\"reason\":\"{reason}\"}}\n"
            );
        }
    }
    [
        ("votes.jsonl", votes),
        ("forged-votes.jsonl", forged),
        ("forged-votes.expected.jsonl", expected),
    ]
}

struct Validator {
    index: usize,
    set: Set,
    seed: [u8; 32],
    pk: Vec<u8>,
}

/// A vote of the file.
struct Vote {
    set: Set,
    pk: Vec<u8>,
    sig: Vec<u8>,
    form: Form,
    ctx: Vec<u8>,
    /// Show `mu` instead of the message and the context.
    as_mu: bool,
}

impl Vote {
    /// The honest vote. The number decides its form: five of eight votes sign
    /// the text under the chain's context, the others one of the other forms.
    fn of(validator: &Validator, round: usize, number: usize) -> Self {
        let Validator {
            index,
            set,
            seed,
            pk,
        } = validator;
        let block = hex::encode(peer::bytes(&format!("{LABEL} block {round}"), 32));
        let text = format!("height {} block {block} validator {index}", 1000 + round).into_bytes();
        let form = if number % 8 == 7 {
            let hashes = set.hashes();
            let hash = hashes[number / 8 % hashes.len()];
            Form::PreHashed(hash, peer::digest(hash, &text))
        } else {
            Form::Pure(text)
        };
        let ctx = if number % 8 == 5 {
            Vec::new()
        } else {
            CHAIN.to_vec()
        };
        let rnd = peer::seed(&format!("{LABEL} rnd {round} {index}"));
        let sig = set.sign(seed, &rnd, &form, &ctx);
        Self {
            set: *set,
            pk: pk.clone(),
            sig,
            form,
            ctx,
            as_mu: number % 8 == 6,
        }
    }

    /// The peer's verdict.
    fn holds(&self) -> bool {
        self.set.verify(&self.pk, &self.sig, &self.form, &self.ctx)
    }

    fn line(&self) -> String {
        let mut fields = vec![
            ("set", self.set.name().to_owned()),
            ("pk", hex::encode(&self.pk)),
        ];
        fields.extend(peer::message_fields(
            &self.pk, &self.form, &self.ctx, self.as_mu,
        ));
        fields.push(("sig", hex::encode(&self.sig)));
        peer::object(&fields) + "\n"
    }

    /// The hint section: omega indices, then k counters.
    fn hint(&mut self) -> (&mut [u8], &mut [u8]) {
        let set = self.set.parameters();
        let start = self.sig.len() - set.omega - set.k;
        self.sig[start..].split_at_mut(set.omega)
    }

    fn text(&mut self) -> &mut Vec<u8> {
        match &mut self.form {
            Form::Pure(text) | Form::PreHashed(_, text) => text,
        }
    }
}

/// Changes a vote; may use another validator of the same set and the honest
/// vote of the same validator for the next block.
type Tamper = fn(&mut Vote, &Validator, &Vote);

/// Which votes (counted from 0) are tampered with, how, and what the verdict
/// is.
#[rustfmt::skip]
const TAMPERED: [(usize, Tamper, &str); 20] = [
    // One bit of c_tilde.
    (3, |vote, _, _| vote.sig[5] ^= 0x10, "challenge_mismatch"),
    // The first coefficient of z becomes gamma1.
    (
        17,
        |vote, _, _| {
            let set = vote.set.parameters();
            let z = set.c_tilde_len();
            vote.sig[z] = 0;
            vote.sig[z + 1] = 0;
            vote.sig[z + 2] &= 0xff << (1 + set.gamma1_bits - 16);
        },
        "response_norm",
    ),
    // The lowest bit of that coefficient: still in range.
    (32, |vote, _, _| { let z = vote.set.parameters().c_tilde_len(); vote.sig[z] ^= 1; }, "challenge_mismatch"),
    // Hint indices out of order.
    (40, |vote, _, _| vote.hint().0.swap(0, 1), "hint_encoding"),
    // A hint index twice.
    (51, |vote, _, _| { let (indices, _) = vote.hint(); indices[1] = indices[0]; }, "hint_encoding"),
    // A counter above omega.
    (58, |vote, _, _| { let (_, counters) = vote.hint(); counters[counters.len() - 1] = 0xff; }, "hint_encoding"),
    // A counter below the one before it.
    (66, |vote, _, _| vote.hint().1[1] = 0, "hint_encoding"),
    // Something in the unused indices.
    (74, |vote, _, _| { let (indices, _) = vote.hint(); indices[indices.len() - 1] = 1; }, "hint_encoding"),
    // Another chain.
    (80, |vote, _, _| vote.ctx = b"another-chain/v1/vote".to_vec(), "challenge_mismatch"),
    // No context.
    (91, |vote, _, _| vote.ctx.clear(), "challenge_mismatch"),
    // The last byte of the context becomes the first of the message.
    (
        100,
        |vote, _, _| {
            let byte = vote.ctx.pop().unwrap_or_default();
            vote.text().insert(0, byte);
        },
        "challenge_mismatch",
    ),
    // A context of 256 bytes.
    (107, |vote, _, _| vote.ctx = vec![b'x'; 256], "context_too_long"),
    // The vote for another block under this signature.
    (115, |vote, _, next| vote.form = next.form.clone(), "challenge_mismatch"),
    // The signature of another vote.
    (126, |vote, _, next| vote.sig = next.sig.clone(), "challenge_mismatch"),
    // A vote under another validator's key.
    (139, |vote, other, _| vote.pk = other.pk.clone(), "challenge_mismatch"),
    // The signature without its last byte.
    (148, |vote, _, _| vote.sig.truncate(vote.sig.len() - 1), "signature_length"),
    // The public key without its last byte.
    (161, |vote, _, _| vote.pk.truncate(vote.pk.len() - 1), "public_key_length"),
    // The digest under the name of another hash of the same length.
    (
        175,
        |vote, _, _| {
            if let Form::PreHashed(hash, _) = &mut vote.form {
                *hash = if *hash == "SHA3-512" {
                    "SHA2-512"
                } else {
                    "SHA3-512"
                };
            }
        },
        "challenge_mismatch",
    ),
    // The digest as if it were the message.
    (183, |vote, _, _| vote.form = Form::Pure(vote.text().clone()), "challenge_mismatch"),
    // Every coefficient of z at its smallest value and no hint.
    (
        204,
        |vote, _, _| {
            let from = vote.set.parameters().c_tilde_len();
            vote.sig[from..].fill(0xff);
            let (indices, counters) = vote.hint();
            indices.fill(0);
            counters.fill(0);
        },
        "response_norm",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_reproduced_byte_for_byte() {
        let made = files();
        assert_eq!(made[0].1.lines().count(), 210);
        assert_eq!(made[1].1.lines().count(), 2 * TAMPERED.len());
        for (name, content) in made {
            let found = fs::read(data().join(name)).expect("a file");
            assert!(found == content.as_bytes(), "{name} differs");
        }
    }
}
