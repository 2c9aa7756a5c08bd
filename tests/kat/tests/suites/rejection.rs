//! The rejection tables: signing whose attempts are rejected for every reason, up to a
//! hundred times.

use mldsa_kat::hash::sha256;
use mldsa_kat::scheme::{Message, PrivateKey, Scheme};
use mldsa_kat::set::Set;
use mldsa_kat::tally::{Tally, same};
use mldsa_kat::vectors::{RejectionKat, rejection_kats};

use crate::ours;

for_each_set!(tables);

fn tables(set: &'static Set) {
    for scheme in ours::schemes(set) {
        let mut tally = Tally::new(format!("rejection tables, {}", scheme.name()));
        for (i, row) in rejection_kats()
            .iter()
            .filter(|row| row.set == set)
            .enumerate()
        {
            tally.case(i, check(row, &*scheme));
        }
        tally.finish(if set.lambda == 128 { 7 } else { 10 });
    }
}

fn check(row: &RejectionKat, scheme: &dyn Scheme) -> Result<(), String> {
    let key = PrivateKey::Seed(&row.seed);
    let message = Message::Formatted(&row.m_prime);
    let pair = scheme.load(key)?;
    same(
        "keys",
        sha256(&[&pair.pk, &pair.sk]),
        row.sha256_pk_sk.clone(),
    )?;
    same("mu", scheme.mu(&pair.pk, message), Ok(row.mu))?;
    for message in [message, Message::Mu(&row.mu)] {
        let sig = scheme.sign(key, message, None)?;
        same("signature", sha256(&[&sig]), row.sha256_sig.clone())?;
        same("verdict", scheme.verify(&pair.pk, message, &sig), Ok(()))?;
    }
    Ok(())
}
