//! Signing in slices.

use boards::{Meter, Use};
use mldsa_core::Backend;
use mldsa_core::internals::tr;
use mldsa_lowmem::{
    ExpandedKeyPair, ExpandedSigningKey, Minimal, ParameterSet, Randomness, Slice, SliceMemory,
    SlicedSigner,
};

use crate::{Bench, Row, mu};

impl<P: ParameterSet> Bench<P> {
    /// Signs in slices from the expanded key, and continues from a saved state after every rejection.
    /// Returns the use of whole signatures, the memory counted as stack, and of the longest slice.
    pub(crate) fn slices(&mut self) -> [Use; 2] {
        let row = |op| Row {
            name: "mldsa-lowmem",
            op,
            set: P::NAME,
            tier: "minimal",
            workspace: SliceMemory::<P, ExpandedKeyPair<'_, P>, Minimal>::LEN,
        };
        // Of small depth, because it paints the stack for every slice.
        let meter = Meter::mps2().within(4096);
        let mut longest = Use::default();
        let whole = row("sign in slices, self-verified").run(|input| {
            self.prepare(input);
            let key = ExpandedSigningKey::<P>::from_trusted_bytes(self.sk.as_ref()).expect("a key");
            let key = key.with_public_key(self.pk.as_ref()).expect("a key");
            let tr = tr(Backend::PORTABLE.permutation(), self.pk.as_ref());
            let mu = mu(&tr, &input.message);
            let mut memory = SliceMemory::<P, _, Minimal>::ZERO;
            let mut total = Use::default();
            let hedge = Randomness::Hedged(&input.rnd);
            let out = self.signature.as_mut();
            let mut signer =
                SlicedSigner::new(&key, &mut memory, &mu, hedge, out).expect("a signer");
            loop {
                let mut slice = Slice::Working;
                let one = meter.measure(|| slice = signer.step().expect("no fault"));
                total.stack = total.stack.max(one.stack);
                total.instructions += one.instructions;
                longest.instructions = longest.instructions.max(one.instructions);
                if slice == Slice::Finished {
                    break;
                }
                if slice == Slice::Rejected {
                    let state = signer.state();
                    drop(signer);
                    let out = self.signature.as_mut();
                    out.fill(0x5a);
                    signer = SlicedSigner::resume(&key, &mut memory, &mu, &state, out)
                        .expect("a state of this key");
                }
            }
            drop(signer);
            assert!(self.signature == self.expected);
            total
        });
        longest.stack = whole.stack;
        row("the longest slice").run(|_| longest);
        let stack = whole.stack + row("").workspace;
        [Use { stack, ..whole }, longest]
    }
}
