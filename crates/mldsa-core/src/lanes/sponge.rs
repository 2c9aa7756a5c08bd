//! SHAKE256 over several lanes at once: different inputs and outputs of different
//! lengths side by side, one vector permutation for all.
//!
//! Constant time in the data, which may be secret; lengths are public. States and
//! blocks are wiped.

use core::mem;

use crate::hash::lane;
use crate::hash::transcript::MU_HEAD_LEN;
use crate::hash::xof::LaneHash;
use crate::memory::array::Wipe;
use crate::memory::secret::Secret;
use crate::params::CRH_LEN;

/// Bytes that SHAKE256 absorbs or squeezes per permutation.
pub(crate) const RATE: usize = 136;
/// One such block.
pub(crate) type Block = [u8; RATE];
/// The widest vector of states of any backend.
pub(crate) const MAX_LANES: usize = 8;

/// Several Keccak states in vectors, as a backend keeps them.
pub(crate) trait LaneSponge {
    /// Number of states, at most [`MAX_LANES`].
    const LANES: usize;

    /// Absorbs one block in each of the first `LANES` lanes and permutes.
    fn absorb(&mut self, blocks: &[&Block; MAX_LANES]);
    /// Word `w` of lane `n` at `LANES * w + n`.
    fn words(&self) -> &[u64];
    /// The same for writing.
    fn words_mut(&mut self) -> &mut [u64];

    /// The first bytes of lane `n` into `out`, at most a block.
    #[inline]
    fn squeeze(&self, n: usize, out: &mut [u8]) {
        let mut lane = self.words().iter().skip(n).step_by(Self::LANES);
        let (whole, rest) = out.as_chunks_mut::<8>();
        for (bytes, word) in whole.iter_mut().zip(&mut lane) {
            *bytes = word.to_le_bytes();
        }
        if let Some(word) = lane.next() {
            rest.copy_from_slice(&word.to_le_bytes()[..rest.len()]);
        }
    }
}

/// One state.
pub(crate) struct Single<W>(pub(crate) [u64; 25], pub(crate) W);

impl<W: Widths> LaneSponge for Single<W> {
    const LANES: usize = 1;

    #[inline]
    fn absorb(&mut self, blocks: &[&Block; MAX_LANES]) {
        lane::add_block(&mut self.0, blocks[0]);
        self.1.permute(&mut self.0);
    }

    #[inline]
    fn words(&self) -> &[u64] {
        &self.0
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }

    #[inline]
    fn squeeze(&self, _: usize, out: &mut [u8]) {
        for (n, bytes) in out.chunks_mut(8).enumerate() {
            bytes.copy_from_slice(&lane::value(&self.0, n).to_le_bytes()[..bytes.len()]);
        }
    }
}

/// The vectors of states that a backend has. A value of the type is the proof that
/// the CPU can calculate with them.
pub(crate) trait Widths: Copy {
    /// The widest.
    type Wide: LaneSponge;
    /// For few lanes; the widest again if there is no narrower one.
    type Narrow: LaneSponge;

    /// Empty states.
    fn wide(self) -> Self::Wide;
    /// Empty states.
    fn narrow(self) -> Self::Narrow;

    /// One permutation.
    fn permute(self, state: &mut [u64; 25]);

    /// SHAKE256 of one input, of which `state` has absorbed the beginning and the rest
    /// is there in padded blocks. For public data: registers are left as they are.
    fn digest(self, state: &[u64; 25], blocks: &[Block]) -> [u8; CRH_LEN] {
        let mut sponge = Wiped(Single(*state, self));
        for block in blocks {
            sponge.0.absorb(&[block; MAX_LANES]);
        }
        let mut digest = [0; CRH_LEN];
        sponge.0.squeeze(0, &mut digest);
        digest
    }
}

/// An input of SHAKE256, returned in padded blocks.
pub(crate) struct Input<'a> {
    // `tr` and the two bytes before the context
    head: Option<[u8; MU_HEAD_LEN]>,
    parts: [&'a [u8]; 2],
    finished: bool,
}

impl<'a> Input<'a> {
    /// One string.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self::joined([bytes, &[]])
    }

    /// Two strings as one.
    pub(crate) fn joined(parts: [&'a [u8]; 2]) -> Self {
        Self {
            head: None,
            parts,
            finished: false,
        }
    }

    /// Input of `mu`: the head that the transcript makes, then context and message.
    pub(crate) fn mu(head: [u8; MU_HEAD_LEN], ctx: &'a [u8], message: &'a [u8]) -> Self {
        Self {
            head: Some(head),
            parts: [ctx, message],
            finished: false,
        }
    }

    /// Bytes of the strings that have not been returned.
    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }

    /// Whether the padded last block has been returned.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    /// The next block; after the last one zeros, which change no state.
    #[inline]
    pub(crate) fn next_block(&mut self, block: &mut Block) {
        let mut filled = 0;
        if let Some(head) = self.head.take() {
            block[..MU_HEAD_LEN].copy_from_slice(&head);
            filled = MU_HEAD_LEN;
        }
        for part in &mut self.parts {
            if !part.is_empty() {
                let (now, later) = part.split_at(part.len().min(RATE - filled));
                block[filled..filled + now.len()].copy_from_slice(now);
                filled += now.len();
                *part = later;
            }
        }
        if filled < RATE {
            block[filled..].fill(0);
            if !mem::replace(&mut self.finished, true) {
                pad(block, filled);
            }
        }
    }
}

/// The domain bits of SHAKE and the padding, after `filled` bytes of a block.
pub(crate) fn pad(block: &mut [u8], filled: usize) {
    block[filled] = 0x1f;
    block[RATE - 1] |= 0x80;
}

/// An input in a lane, and the rest of its output.
struct Lane<'a, 'o> {
    input: Input<'a>,
    output: &'o mut [u8],
}

/// Inputs for `Wide::LANES` lanes.
///
/// `Wide` runs while more lanes are busy than `Narrow` has, and `Narrow` while more than one is
/// busy, so that few long inputs take no time for empty lanes.
pub(crate) struct Queue<'a, 'o, W> {
    // those that are done are taken out
    lanes: [Option<Lane<'a, 'o>>; MAX_LANES],
    count: usize,
    widths: W,
}

impl<'a, 'o, W: Widths> Queue<'a, 'o, W> {
    #[inline]
    pub(crate) fn new(widths: W) -> Self {
        Self {
            lanes: [const { None }; MAX_LANES],
            count: 0,
            widths,
        }
    }

    /// Adds one; a full queue runs.
    #[inline]
    pub(crate) fn push(&mut self, input: Input<'a>, output: &'o mut [u8]) {
        self.lanes[self.count] = Some(Lane { input, output });
        self.count += 1;
        if self.count == W::Wide::LANES {
            self.run();
        }
    }

    /// Fills all outputs.
    pub(crate) fn run(&mut self) {
        let count = mem::take(&mut self.count);
        let places = [0, 1, 2, 3, 4, 5, 6, 7];
        let places = &places[..count];
        if count > W::Narrow::LANES {
            self.wide(places);
        } else if count > 1 {
            self.narrow(&mut Wiped(self.widths.narrow()).0, places);
        } else if count > 0 {
            self.drive(&mut Wiped(Single([0; 25], self.widths)).0, places, 0);
        }
    }

    #[inline]
    fn wide(&mut self, places: &[usize]) {
        let mut wide = Wiped(self.widths.wide());
        self.drive(&mut wide.0, places, W::Narrow::LANES);
        let mut narrow = Wiped(self.widths.narrow());
        let (left, count) = self.narrow_down(&wide.0, places, &mut narrow.0);
        if count > 0 {
            self.narrow(&mut narrow.0, &left[..count]);
        }
    }

    // By reference, because moving a state leaves a copy.
    #[inline]
    fn narrow(&mut self, narrow: &mut W::Narrow, places: &[usize]) {
        self.drive(narrow, places, 1);
        let mut single = Wiped(Single([0; 25], self.widths));
        let (left, count) = self.narrow_down(narrow, places, &mut single.0);
        if count > 0 {
            self.drive(&mut single.0, &left[..count], 0);
        }
    }

    /// Runs state n of the sponge on lane `places[n]` until at most `enough` lanes
    /// are left.
    #[inline]
    fn drive<S: LaneSponge>(&mut self, sponge: &mut S, places: &[usize], enough: usize) {
        let mut blocks = Secret::<[Block; MAX_LANES]>::zeroed();
        let mut busy = places.len();
        while busy > enough {
            // A lane that was taken out absorbs its last block again: nothing reads
            // that state, and it is wiped with the others.
            for (block, &place) in blocks.expose_mut().iter_mut().zip(places) {
                if let Some(lane) = &mut self.lanes[place] {
                    lane.input.next_block(block);
                }
            }
            sponge.absorb(&blocks.expose().each_ref());
            for (n, &place) in places.iter().enumerate() {
                if let Some(lane) = &mut self.lanes[place]
                    && lane.input.is_finished()
                {
                    let len = lane.output.len().min(RATE);
                    let (now, later) = mem::take(&mut lane.output).split_at_mut(len);
                    sponge.squeeze(n, now);
                    lane.output = later;
                    if lane.output.is_empty() {
                        self.lanes[place] = None;
                        busy -= 1;
                    }
                }
            }
        }
    }

    /// Moves the states of the lanes that are left to a narrower sponge:
    /// their places, and how many they are.
    #[inline]
    fn narrow_down<A: LaneSponge, B: LaneSponge>(
        &self,
        from: &A,
        places: &[usize],
        to: &mut B,
    ) -> ([usize; MAX_LANES], usize) {
        let (mut left, mut count) = ([0; MAX_LANES], 0);
        for (n, &place) in places.iter().enumerate() {
            if self.lanes[place].is_some() {
                for w in 0..25 {
                    to.words_mut()[B::LANES * w + count] = from.words()[A::LANES * w + n];
                }
                left[count] = place;
                count += 1;
            }
        }
        (left, count)
    }
}

/// States that are wiped on every path.
pub(crate) struct Wiped<S: LaneSponge>(pub(crate) S);

impl<S: LaneSponge> Drop for Wiped<S> {
    fn drop(&mut self) {
        self.0.words_mut().wipe();
    }
}

/// [`crate::backend::kernels::Kernels::shake256`].
pub(crate) fn shake256<W: Widths>(widths: W, hashes: &mut dyn Iterator<Item = LaneHash<'_>>) {
    let mut queue = Queue::new(widths);
    for hash in hashes {
        queue.push(Input::joined(hash.input), hash.output);
    }
    queue.run();
}
