//! The program that the constant-time gate runs under Valgrind: secrets are
//! marked undefined, so memcheck reports every branch and every address that
//! depends on one and was not declassified.
//!
//! `ct` runs the scheme, and `ct aggregate` the aggregate alone; they fail on any report.
//! `ct no-hook` leaves out the declassification and `ct planted` runs leaky code: both must be
//! reported.

#[cfg(not(mldsa_ct_check))]
fn main() {
    eprintln!("to be built and run by: cargo run -p mldsa-gates -- ct");
    std::process::exit(2);
}

#[cfg(mldsa_ct_check)]
fn main() -> std::process::ExitCode {
    check::main()
}

#[cfg(mldsa_ct_check)]
mod check {
    use core::hint::black_box;
    use std::collections::BTreeSet;
    use std::process::ExitCode;
    use std::sync::Mutex;

    use mldsa_core::internals::{
        self, AttemptRejection, Permutation, Zeroed, ct_check, field, pack, sample,
    };
    use mldsa_core::{
        Backend, BatchSigner, Context, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, PreHash,
        PreHashed, Randomness, SignError, SignJob, Signature, SigningKey, rand_core,
    };
    use mldsa_gates::cases::{self, Case};
    use mldsa_gates::valgrind;
    use mldsa_lowmem::{
        Balanced, CacheMatrix, CacheW0, ExpandedSigningKey, Minimal, MlDsaSigner, Slice,
        SliceMemory, SlicedSigner, Tier, Workspace,
    };

    static REASONS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

    fn hook(place: *mut u8, len: usize, why: &'static str) {
        valgrind::unpoison(place, len);
        if let Ok(mut reasons) = REASONS.lock() {
            reasons.insert(why);
        }
    }

    /// Runs `section` and returns the number of its reports.
    fn section(name: &str, section: impl FnOnce()) -> u64 {
        let before = valgrind::count_errors();
        section();
        let errors = valgrind::count_errors() - before;
        println!("{errors:>4} reports  {name}");
        errors
    }

    pub(super) fn main() -> ExitCode {
        if !valgrind::is_running() {
            eprintln!("not run: this program is for Valgrind");
            return ExitCode::from(2);
        }
        let failed = match std::env::args().nth(1).as_deref() {
            None => {
                let _ = ct_check::HOOK.set(hook);
                schemes() > 0 || !reasons_are_documented()
            }
            Some("aggregate") => {
                let _ = ct_check::HOOK.set(hook);
                let (name, run) = aggregate_section();
                section(&name, run) > 0
            }
            // Every operation must be reported once its secrets stay secret.
            Some("no-hook") => !scheme_sections().all(|(name, run)| section(&name, run) > 0),
            Some(_) => !planted()
                .into_iter()
                .all(|(name, run)| section(name, run) > 0),
        };
        ExitCode::from(u8::from(failed))
    }

    fn schemes() -> u64 {
        scheme_sections()
            .map(|(name, run)| section(&name, run))
            .sum()
    }

    fn scheme_sections() -> impl Iterator<Item = (String, Box<dyn FnOnce()>)> {
        let mut sections = Vec::new();
        for backend in Backend::available() {
            sections.extend(sections_of::<MlDsa44>(backend));
            sections.extend(sections_of::<MlDsa65>(backend));
            sections.extend(sections_of::<MlDsa87>(backend));
        }
        sections.extend(lowmem_sections::<MlDsa44>());
        sections.extend(lowmem_sections::<MlDsa65>());
        sections.extend(lowmem_sections::<MlDsa87>());
        sections.push(aggregate_section());
        sections.into_iter()
    }

    /// The aggregate computes on the detected backend, or on the one that `MLDSA_BACKEND` names.
    fn aggregate_section() -> (String, Box<dyn FnOnce()>) {
        (
            format!(
                "{} aggregate: tree, commit, respond",
                Backend::detect().name()
            ),
            Box::new(|| aggregate().expect("a committee of one")),
        )
    }

    fn sections_of<P: ParameterSet>(backend: Backend) -> Vec<(String, Box<dyn FnOnce()>)> {
        let cases = cases::rejected(P::NAME);
        let name = |what: &str| format!("{} {} {what}", backend.name(), P::NAME);
        vec![
            (
                name("keygen"),
                Box::new(move || keygen::<P>(backend, &cases)),
            ),
            (
                name("import"),
                Box::new(move || import::<P>(backend, cases[0])),
            ),
            (
                name("sign, every rejection"),
                Box::new(move || rejections::<P>(backend, &cases)),
            ),
            (
                name("sign, every mode"),
                Box::new(move || modes::<P>(backend, cases[0], false)),
            ),
            (
                name("sign, prepared key"),
                Box::new(move || modes::<P>(backend, cases[1], true)),
            ),
            (
                name("sign, many messages"),
                Box::new(move || many::<P>(backend, &cases)),
            ),
        ]
    }

    fn secret(mut bytes: [u8; 32]) -> [u8; 32] {
        valgrind::poison(&mut bytes);
        black_box(bytes)
    }

    /// A key whose secret parts are marked and whose public parts are not.
    fn key<P: ParameterSet>(backend: Backend, case: Case) -> SigningKey<P> {
        let (_, sk) = generate::<P>(backend, case);
        let key = SigningKey::<P>::from_expanded_bytes(sk.as_ref()).expect("a key of our own");
        key.with_backend(backend)
    }

    fn generate<P: ParameterSet>(
        backend: Backend,
        case: Case,
    ) -> (P::PublicKeyBytes, P::SecretKeyBytes) {
        let (mut pk, mut sk) = (P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed());
        internals::keygen_internal::<P>(backend, &secret(case.seed), &mut pk, &mut sk);
        (pk, sk)
    }

    fn expect_public(bytes: &[u8], what: &str) {
        // Without the hook nothing ever becomes public.
        if ct_check::HOOK.get().is_some() {
            assert!(
                !valgrind::secrecy(bytes).contains(&true),
                "{what} is not public"
            );
        }
    }

    fn expect_secret(bytes: &[u8], what: &str) {
        assert!(
            !valgrind::secrecy(bytes).contains(&false),
            "{what} is not secret"
        );
    }

    fn keygen<P: ParameterSet>(backend: Backend, cases: &[Case]) {
        for &case in cases {
            let (pk, sk) = generate::<P>(backend, case);
            expect_public(pk.as_ref(), "pk");
            expect_public(&sk.as_ref()[..32], "rho");
            expect_public(&sk.as_ref()[64..128], "tr");
            expect_secret(&sk.as_ref()[32..64], "K");
            expect_secret(&sk.as_ref()[128..], "s1, s2 or t0");
        }
        drop(SigningKey::<P>::from_seed(&secret(cases[0].seed)));
        let generated = SigningKey::<P>::generate_with_rng(&mut Fixed(cases[0].seed));
        drop(generated.expect("a seed that is not zero"));
        let seeds: Vec<_> = cases.iter().map(|case| secret(case.seed)).collect();
        let mut keys = vec![(P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed()); 9];
        let seeds = seeds.iter().cycle();
        let places = seeds.zip(&mut keys).map(|(xi, (pk, sk))| (xi, pk, sk));
        internals::keygen_many::<P>(backend, &mut places.collect::<Vec<_>>());
        for (pk, sk) in &keys {
            expect_public(pk.as_ref(), "pk");
            expect_public(&sk.as_ref()[64..128], "tr");
            expect_secret(&sk.as_ref()[32..64], "K");
            expect_secret(&sk.as_ref()[128..], "s1, s2 or t0");
        }
    }

    /// A generator that yields one secret.
    struct Fixed([u8; 32]);

    impl rand_core::TryRng for Fixed {
        type Error = core::convert::Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            unreachable!("seeds are filled as bytes")
        }

        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            unreachable!("seeds are filled as bytes")
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
            bytes.copy_from_slice(&secret(self.0));
            Ok(())
        }
    }

    impl rand_core::TryCryptoRng for Fixed {}

    /// Under two keys, with the messages whose attempts are rejected for every reason.
    fn many<P: ParameterSet>(backend: Backend, cases: &[Case]) {
        let keys: Vec<_> = cases
            .iter()
            .map(|&case| key::<P>(backend, case).prepare())
            .collect();
        let rnd = secret([0x3c; 32]);
        let jobs = (0..11).map(|n| {
            let (case, key) = (&cases[n % cases.len()], &keys[n % cases.len()]);
            let key = key.as_prepared_ref();
            match n % 4 {
                0 | 1 => SignJob::mu(key, case.mu, Randomness::Deterministic),
                2 => SignJob::mu(key, case.mu, Randomness::Hedged(&rnd)),
                _ => SignJob::new(key, b"message", Context::EMPTY, Randomness::Hedged(&rnd)),
            }
        });
        let mut signer = BatchSigner::new().with_backend(backend);
        signer.sign(jobs, |_, signature| {
            expect_public(signature.expect("signs").as_ref(), "signature");
        });
    }

    fn import<P: ParameterSet>(backend: Backend, case: Case) {
        let (mut pk, mut sk) = generate::<P>(backend, case);
        assert!(internals::check_expanded::<P>(backend, sk.as_ref(), &mut pk).is_ok());
        let key = SigningKey::<P>::from_expanded_bytes(sk.as_ref()).expect("a key of our own");
        assert!(key == SigningKey::from_expanded_bytes(sk.as_ref()).expect("a key of our own"));
        // A last row of t0 that does not belong.
        sk.as_mut()[P::SK_LEN - 1] ^= 1;
        assert!(internals::check_expanded::<P>(backend, sk.as_ref(), &mut pk).is_err());
        // A secret coefficient out of range.
        sk.as_mut()[128] |= 0xf;
        assert!(internals::check_expanded::<P>(backend, sk.as_ref(), &mut pk).is_err());
    }

    fn rejections<P: ParameterSet>(backend: Backend, cases: &[Case]) {
        for &case in cases {
            let key = key::<P>(backend, case);
            let mut signature = P::SignatureBytes::zeroed();
            let mut counts = [0; 4];
            let result = internals::sign_mu_observed(
                &key,
                &case.mu,
                Randomness::Deterministic,
                signature.as_mut(),
                &mut |rejection: AttemptRejection| counts[rejection as usize] += 1,
            );
            // The cases count z first and ours r0 first: line 23 rejects for both.
            let by_line = |[z, r0, ct0, hints]: [usize; 4]| [z + r0, ct0, hints];
            assert_eq!(result, Ok(()));
            assert_eq!(by_line(counts), by_line(case.rejections));
            expect_public(signature.as_ref(), "signature");
        }
    }

    fn modes<P: ParameterSet>(backend: Backend, case: Case, prepared: bool) {
        let key = key::<P>(backend, case);
        let rnd = secret([0x3c; 32]);
        let ctx = Context::new(b"context").expect("short");
        let digest = PreHashed::<P>::new(PreHash::Sha2_512, &[7; 64]).expect("64 bytes");
        let mu = Mu::from_bytes([9; 64]);
        let public = |signature: Result<Signature<P>, SignError>| {
            expect_public(signature.expect("signs").as_ref(), "signature");
        };
        macro_rules! every_mode {
            ($key:expr) => {
                public($key.sign_with_context(b"message", ctx, Randomness::Deterministic));
                public($key.sign_with_context(b"message", ctx, Randomness::Hedged(&rnd)));
                public($key.sign_prehashed(&digest, ctx, Randomness::Hedged(&rnd)));
                public($key.sign_mu(&mu, Randomness::Hedged(&rnd)));
            };
        }
        if prepared {
            let key = key.prepare();
            every_mode!(key);
        } else {
            every_mode!(key);
            let mut out = P::SignatureBytes::zeroed();
            let signed = internals::sign_mu_encoded::<P>(
                key.expanded(),
                &mu,
                Randomness::Hedged(&rnd),
                &mut out,
                &mut |_| {},
            );
            assert_eq!(signed, Ok(()));
            expect_public(out.as_ref(), "signature");
        }
    }

    fn lowmem_sections<P: ParameterSet>() -> [(String, Box<dyn FnOnce()>); 4]
    where
        CacheW0: Tier<P>,
        Balanced: Tier<P>,
        CacheMatrix: Tier<P>,
    {
        let name = |tier: &str| format!("lowmem {} {tier}", P::NAME);
        [
            (name("minimal"), Box::new(lowmem::<P, Minimal>)),
            (name("cache-w0"), Box::new(lowmem::<P, CacheW0>)),
            (name("balanced"), Box::new(lowmem::<P, Balanced>)),
            (name("cache-matrix"), Box::new(lowmem::<P, CacheMatrix>)),
        ]
    }

    /// Key generation and, from the seed and from the expanded key, signing that
    /// is rejected for every reason, with all checks on.
    fn lowmem<P: ParameterSet, T: Tier<P>>() {
        let rnd = secret([0x3c; 32]);
        for case in cases::rejected(P::NAME) {
            let seed = secret(case.seed);
            let (mut pk, mut sk) = (P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed());
            mldsa_lowmem::SigningKey::<P>::keygen_into(&seed, &mut pk, &mut sk);
            expect_public(pk.as_ref(), "pk");
            expect_secret(&sk.as_ref()[128..], "s1, s2 or t0");
            let opened = mldsa_lowmem::SigningKey::<P>::from_seed(&seed);
            let expanded = ExpandedSigningKey::<P>::from_expanded_bytes(sk.as_ref())
                .expect("a key of our own");
            let mut workspace = Workspace::<P, T>::new();
            let mut signature = P::SignatureBytes::zeroed();
            for hedge in [Randomness::Deterministic, Randomness::Hedged(&rnd)] {
                MlDsaSigner::new(&opened, &mut workspace)
                    .sign_mu_into(&case.mu, hedge, signature.as_mut())
                    .expect("signs");
                expect_public(signature.as_ref(), "signature");
                MlDsaSigner::new(&expanded, &mut workspace)
                    .sign_mu_into(&case.mu, hedge, signature.as_mut())
                    .expect("signs");
                expect_public(signature.as_ref(), "signature");
            }
            in_slices::<P, T>(&opened, &case.mu, Randomness::Hedged(&rnd)).expect("signs");
        }
    }

    /// Signing in slices, resumed after the first rejection.
    fn in_slices<P: ParameterSet, T: Tier<P>>(
        key: &mldsa_lowmem::SigningKey<P>,
        mu: &Mu,
        rnd: Randomness<'_>,
    ) -> Result<(), mldsa_lowmem::SignError> {
        let (mut memory, mut out) = (SliceMemory::<P, _, T>::ZERO, P::SignatureBytes::zeroed());
        let mut signer = SlicedSigner::new(key, &mut memory, mu, rnd, out.as_mut())?;
        while signer.step()? == Slice::Working {}
        let state = signer.state();
        expect_public(&state, "state");
        drop(signer);
        let mut signer = SlicedSigner::resume(key, &mut memory, mu, &state, out.as_mut())?;
        while signer.step()? != Slice::Finished {}
        drop(signer);
        expect_public(out.as_ref(), "signature");
        Ok(())
    }

    /// One member of ML-ADSA-87 from its seed to its response, and again after a
    /// restart.
    fn aggregate() -> Result<(), mladsa_aggregate::Error> {
        use mladsa_aggregate::steps::*;
        use mladsa_aggregate::*;

        let epoch = Epoch::new(b"context", 1, 1, 4)?;
        let seed = MasterSeed::from_bytes(&secret([0x5a; 32]));
        let member = Member::new(MemberName::new(b"member")?, seed, &epoch)?;
        let registration = member.register(Randomness::Deterministic)?;
        let committee = SigningCommittee::new(&epoch, [(registration, 1)], 1)?;
        let task = SigningTask::decision(0, b"payload");
        let folder = std::env::temp_dir().join(format!("mldsa-ct-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let [log, mark] = ["log", "mark"].map(|name| folder.join(name));
        let mut journal = OneTimeKeyJournal::create_files(&log, &mark, member.seed())?;
        let attempt = AttemptId { slot: 0, number: 0 };
        let opening = member.open(&committee, attempt, &mut journal)?;
        expect_public(opening.body(), "t");
        let key = committee.authenticate(&opening)?;
        let round = Round::new(committee.view(), &task, 0, [key])?;
        let (pending, hash) = member.commit(&round, &mut journal)?;
        expect_public(hash.body(), "hash of the commitment");
        let mut set = CommitmentSet::new(&round);
        set.add(&hash)?;
        let commitment = member.reveal(&pending, &set, &mut journal)?;
        expect_public(commitment.body(), "commitment");
        set.add(&commitment)?;
        let challenge = set.challenge()?;
        let response = member.respond(pending, &challenge, &mut journal)?;
        expect_public(response.body(), "response");
        drop(journal);
        let mut journal = OneTimeKeyJournal::open_files(&log, &mark, member.seed())?;
        let resumed = member.resume(&round, &journal)?;
        let again = member.respond(resumed, &challenge, &mut journal)?;
        assert_eq!(again, response);
        drop(journal);
        std::fs::remove_dir_all(&folder).expect("the temporary folder");
        Ok(())
    }

    /// Every reason that a run gave is in the list, and every reason of the
    /// list was given.
    fn reasons_are_documented() -> bool {
        let page = include_str!("../../../../docs/constant-time.md");
        let listed: BTreeSet<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix("| `\"")?.split_once("\"` |"))
            .map(|(reason, _)| reason)
            .collect();
        let given = REASONS
            .lock()
            .map(|reasons| reasons.clone())
            .unwrap_or_default();
        for reason in given.difference(&listed) {
            println!("declassified, not in docs/constant-time.md: {reason}");
        }
        for reason in listed.difference(&given) {
            println!("in docs/constant-time.md, never declassified: {reason}");
        }
        println!(
            "{} declassified values, {} documented",
            given.len(),
            listed.len()
        );
        !given.is_empty() && given == listed
    }

    /// Leaks as they are written by mistake.
    fn planted() -> [(&'static str, Box<dyn FnOnce()>); 4] {
        fn y() -> internals::Poly {
            let mut y = [internals::Poly::zeroed()];
            let mut rho_pp = [5; 64];
            valgrind::poison(&mut rho_pp);
            sample::expand_mask_poly(Permutation::PORTABLE, &rho_pp, 0, 19, &mut y[0].0);
            let [y] = y;
            y
        }
        [
            (
                "planted: norm check that stops early",
                Box::new(|| {
                    let verdict = y().0.iter().any(|&a| black_box(a) > 131_000);
                    black_box(verdict);
                }),
            ),
            (
                "planted: table lookup by a secret",
                Box::new(|| {
                    let table: Vec<u32> = (0..256).collect();
                    for a in y().0 {
                        black_box(black_box(&table[..])[a as usize & 0xff]);
                    }
                }),
            ),
            (
                "planted: reduction with a branch",
                Box::new(|| {
                    for a in y().0 {
                        let mut r = black_box(field::centred(a & 0xffff));
                        if r > 100 {
                            r = black_box(r - 100);
                        }
                        black_box(r);
                    }
                }),
            ),
            (
                "planted: packing that trusts its input",
                Box::new(|| {
                    let mut packed = [0; 640];
                    pack::pack_z(19, &y(), &mut packed);
                    black_box(packed == [0; 640]);
                }),
            ),
        ]
    }
}
