//! Messages, contexts, digests and private keys at the edges of their rules.

use super::*;

for_each_set!(message, private_key);

/// Context, pre-hash and message must not be exchangeable.
fn message(set: &'static Set) {
    let mut crafted = CraftedCases::new(set, "message");
    let [signer, _] = peers::schemes(set);
    let pair = signer.load(PrivateKey::Seed(&[7; 32])).expect("a seed");
    crafted.pk.clone_from(&pair.pk);
    let key = PrivateKey::Expanded(&pair.sk);
    let sign = |message: Message<'_>| signer.sign(key, message, None).expect("a signature");
    let (wrong, long) = (Err(Reason::ChallengeMismatch), Err(Reason::Context));

    for len in [0, 1, 254, 255] {
        let message = pure(&[9; 255][..len], b"m");
        crafted.expect(format!("context of {len}"), message, &sign(message), Ok(()));
    }
    for len in [256, 300, 511, 512] {
        // The message that a length byte that wraps would have signed.
        let ctx = vec![9; len];
        let wrapped = [&[0, len as u8], &ctx[..], b"m"].concat();
        let sig = sign(Message::Formatted(&wrapped));
        crafted.expect(format!("context of {len}"), pure(&ctx, b"m"), &sig, long);
        let digest = HASHES[2].digest(b"m");
        let wrapped = [&[1, len as u8], &ctx[..], &HASHES[2].oid, &digest].concat();
        let sig = sign(Message::Formatted(&wrapped));
        let message = Message::hashed(&ctx, &HASHES[2], &digest);
        crafted.expect(format!("pre-hash context of {len}"), message, &sig, long);
    }

    let sig = sign(pure(b"ab", b"cdef"));
    crafted.expect("context", pure(b"ab", b"cdef"), &sig, Ok(()));
    crafted.expect("byte into the context", pure(b"abc", b"def"), &sig, wrong);
    crafted.expect("byte out of the context", pure(b"a", b"bcdef"), &sig, wrong);
    crafted.expect("context dropped", pure(b"", b"cdef"), &sig, wrong);
    crafted.expect("context as message", pure(b"", b"abcdef"), &sig, wrong);
    let sig = sign(pure(b"ctx", b""));
    crafted.expect("empty message", pure(b"ctx", b""), &sig, Ok(()));

    for hash in &HASHES {
        let name = hash.name;
        let digest = hash.digest(b"");
        let hashed = |hash: &'static Hash| Message::hashed(b"c", hash, &digest);
        let sig = sign(hashed(hash));
        crafted.expect(format!("{name} of nothing"), hashed(hash), &sig, Ok(()));
        crafted.expect(format!("{name} as pure"), pure(b"c", b""), &sig, wrong);
        crafted.expect(
            format!("{name} digest as message"),
            pure(b"c", &digest),
            &sig,
            wrong,
        );
        let with_oid = [&hash.oid[..], &digest].concat();
        crafted.expect(
            format!("{name} with OID as message"),
            pure(b"c", &with_oid),
            &sig,
            wrong,
        );
        let sig_pure = sign(pure(b"c", &with_oid));
        crafted.expect(format!("pure as {name}"), hashed(hash), &sig_pure, wrong);
        for other in HASHES
            .iter()
            .filter(|other| other.name != name && other.len == hash.len)
        {
            crafted.expect(
                format!("{name} as {}", other.name),
                hashed(other),
                &sig,
                wrong,
            );
        }
        let short = Message::hashed(b"c", hash, &digest[1..]);
        crafted.expect(
            format!("{name} digest too short"),
            short,
            &sig,
            Err(Reason::Digest),
        );
    }
    // Equal lengths: 28 three times, 32 four times, 48 twice, 64 three times.
    crafted.tally.finish(4 + 8 + 6 + 12 * 6 + (6 + 12 + 2 + 6));

    for scheme in ours::schemes(set) {
        let mut tally = Tally::new(format!("signing messages, {}", scheme.name()));
        for len in [256, 300, 512] {
            let ctx = vec![9; len];
            let rejected = scheme.sign(key, pure(&ctx, b"m"), None).err();
            tally.equal(format!("context of {len}"), rejected, Some(Reason::Context));
            let message = Message::hashed(&ctx, &HASHES[2], &[0; 64]);
            let rejected = scheme.sign(key, message, None).err();
            tally.equal(
                format!("pre-hash context of {len}"),
                rejected,
                Some(Reason::Context),
            );
            let rejected = scheme.mu(&pair.pk, pure(&ctx, b"m")).err();
            tally.equal(
                format!("mu, context of {len}"),
                rejected,
                Some(Reason::Context),
            );
        }
        for hash in &HASHES {
            for digest in [&[0; 65][..hash.len - 1], &[0; 65][..hash.len + 1], &[]] {
                let message = Message::hashed(b"", hash, digest);
                let rejected = scheme.sign(key, message, None).err();
                tally.equal(
                    format!("{} of {}", hash.name, digest.len()),
                    rejected,
                    Some(Reason::Digest),
                );
            }
        }
        let message = pure(b"", b"m");
        let zero = scheme.sign(key, message, Some(&[0; 32]));
        tally.equal(
            "zero rnd is deterministic",
            zero,
            scheme.sign(key, message, None),
        );
        tally.finish(9 + 36 + 1);
    }
}

fn private_key(set: &'static Set) {
    let [peer, _] = peers::schemes(set);
    let good = peer.load(PrivateKey::Seed(&[3; 32])).expect("a seed").sk;
    let bits = if set.eta == 2 { 3 } else { 4 };
    let t0 = 128 + 32 * bits * (set.k + set.l);
    for scheme in ours::schemes(set) {
        let mut tally = Tally::new(format!("private key, {}", scheme.name()));
        let mut expect = |case: String, sk: &[u8], want: Option<Reason>| {
            let key = PrivateKey::Expanded(sk);
            let check = || {
                same("loading", scheme.load(key).err(), want)?;
                same("signing", scheme.sign(key, MESSAGE, None).err(), want)
            };
            tally.case(case, check());
        };
        expect("unchanged".into(), &good, None);
        // Every code word above 2 eta, in every polynomial of s1 and s2.
        for code in 2 * set.eta + 1..1 << bits {
            for polynomial in 0..set.k + set.l {
                let place = [0, 255, 83][polynomial % 3];
                let start = 128 + 32 * bits * polynomial;
                let mut sk = good.clone();
                let mut s = model::unpack(bits, &sk[start..][..32 * bits]);
                s[place] = code;
                sk[start..][..32 * bits].copy_from_slice(&model::pack(bits, &s));
                expect(
                    format!("code {code} in {polynomial}"),
                    &sk,
                    Some(Reason::SecretRange),
                );
            }
        }
        // A secret in range that is another one; rho, tr, t0 of another key.
        for (part, position) in [
            ("rho", 0),
            ("tr", 64),
            ("end of tr", 127),
            ("t0", t0),
            ("end of t0", set.sk_len - 1),
        ] {
            let mut sk = good.clone();
            sk[position] ^= 1;
            expect(part.into(), &sk, Some(Reason::Inconsistent));
        }
        let mut sk = good.clone();
        let s = model::unpack(bits, &sk[128..][..32 * bits]).map(|s| 2 * set.eta - s);
        sk[128..][..32 * bits].copy_from_slice(&model::pack(bits, &s));
        expect("s1 negated".into(), &sk, Some(Reason::Inconsistent));
        // All 13-bit code words are in range, so this is no range error.
        for filling in [0, 0xff] {
            let mut sk = good.clone();
            sk[t0..].fill(filling);
            expect(
                format!("t0 all {filling:#x}"),
                &sk,
                Some(Reason::Inconsistent),
            );
        }
        // K is free: any 32 bytes that are not all equal make a key.
        let mut sk = good.clone();
        sk[32..64].fill(0x5a);
        sk[63] = 0;
        expect("other K".into(), &sk, None);
        let codes = (1 << bits) - 2 * set.eta as usize - 1;
        tally.finish(1 + codes * (set.k + set.l) + 5 + 1 + 2 + 1);
    }
}
