//! SHAKE256 over several lanes at once: different inputs of different lengths
//! side by side, one vector permutation for all.

use core::marker::PhantomData;

use crate::transcript::MU_HEAD_LEN;

/// Bytes that SHAKE256 absorbs or squeezes per permutation.
pub(crate) const RATE: usize = 136;
/// One such block.
pub(crate) type Block = [u8; RATE];
/// The widest vector of states of any backend.
pub(crate) const MAX_LANES: usize = 8;

/// Several Keccak states in vectors, as a backend keeps them.
pub(crate) trait LaneSponge {
    /// How many, at most [`MAX_LANES`].
    const LANES: usize;

    /// Empty states.
    fn zero() -> Self;
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

/// An input of SHAKE256, handed out in padded blocks.
pub(crate) struct Input<'a> {
    // `tr` and the two bytes before the context, or nothing
    head: [u8; MU_HEAD_LEN],
    head_left: usize,
    parts: [&'a [u8]; 2],
    finished: bool,
}

impl<'a> Input<'a> {
    /// One string.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            head: [0; MU_HEAD_LEN],
            head_left: 0,
            parts: [bytes, &[]],
            finished: false,
        }
    }

    /// What `mu` is the hash of: the head that the transcript makes, then context
    /// and message.
    pub(crate) fn mu(head: [u8; MU_HEAD_LEN], ctx: &'a [u8], message: &'a [u8]) -> Self {
        Self {
            head,
            head_left: MU_HEAD_LEN,
            parts: [ctx, message],
            finished: false,
        }
    }

    /// Whether the padded last block has been handed out.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    /// The next block. Not to be called after the last one.
    pub(crate) fn next_block(&mut self, block: &mut Block) {
        let mut filled = self.head_left;
        block[..filled].copy_from_slice(&self.head[MU_HEAD_LEN - filled..]);
        self.head_left = 0;
        for part in &mut self.parts {
            let (now, later) = part.split_at(part.len().min(RATE - filled));
            block[filled..filled + now.len()].copy_from_slice(now);
            filled += now.len();
            *part = later;
        }
        if filled < RATE {
            block[filled..].fill(0);
            pad(block, filled);
            self.finished = true;
        }
    }
}

/// The domain bits of SHAKE and the padding, behind `filled` bytes of a block.
pub(crate) fn pad(block: &mut [u8], filled: usize) {
    block[filled] = 0x1f;
    block[RATE - 1] |= 0x80;
}

/// Inputs on their way to `Wide::LANES` lanes.
///
/// `Wide` runs while more lanes are busy than `Narrow` has: a few long inputs do
/// not pay for empty lanes.
pub(crate) struct Queue<'a, 'o, Wide, Narrow> {
    jobs: [(Input<'a>, &'o mut [u8]); MAX_LANES],
    count: usize,
    sponges: PhantomData<(Wide, Narrow)>,
}

impl<'a, 'o, Wide: LaneSponge, Narrow: LaneSponge> Queue<'a, 'o, Wide, Narrow> {
    pub(crate) fn new() -> Self {
        Self {
            jobs: core::array::from_fn(|_| (Input::new(&[]), Default::default())),
            count: 0,
            sponges: PhantomData,
        }
    }

    /// Adds one; a full queue runs. `output` is at most a block long.
    pub(crate) fn push(&mut self, input: Input<'a>, output: &'o mut [u8]) {
        self.jobs[self.count] = (input, output);
        self.count += 1;
        if self.count == Wide::LANES {
            self.run();
        }
    }

    /// Fills all outputs.
    pub(crate) fn run(&mut self) {
        let jobs = &mut self.jobs[..self.count];
        self.count = 0;
        let mut lanes = [0, 1, 2, 3, 4, 5, 6, 7];
        let mut busy = jobs.len();
        if busy == 0 {
            return;
        }
        let mut narrow = Narrow::zero();
        if busy > Narrow::LANES {
            let mut wide = Wide::zero();
            drive(&mut wide, jobs, &lanes[..busy], Narrow::LANES);
            busy = 0;
            for (n, (input, _)) in jobs.iter().enumerate() {
                if !input.is_finished() {
                    for w in 0..25 {
                        narrow.words_mut()[Narrow::LANES * w + busy] =
                            wide.words()[Wide::LANES * w + n];
                    }
                    lanes[busy] = n;
                    busy += 1;
                }
            }
        }
        if busy > 0 {
            drive(&mut narrow, jobs, &lanes[..busy], 0);
        }
    }
}

/// Runs lane n of the sponge on job `lanes[n]` until at most `enough` are busy.
fn drive<S: LaneSponge>(
    sponge: &mut S,
    jobs: &mut [(Input<'_>, &mut [u8])],
    lanes: &[usize],
    enough: usize,
) {
    let mut blocks = [[0; RATE]; MAX_LANES];
    loop {
        let mut busy = 0;
        let mut last = [false; MAX_LANES];
        for ((block, last), &n) in blocks.iter_mut().zip(&mut last).zip(lanes) {
            let input = &mut jobs[n].0;
            if !input.is_finished() {
                input.next_block(block);
                *last = input.is_finished();
                busy += usize::from(!*last);
            }
        }
        sponge.absorb(&blocks.each_ref());
        for (lane, (&n, last)) in lanes.iter().zip(last).enumerate() {
            if last {
                sponge.squeeze(lane, jobs[n].1);
            }
        }
        if busy <= enough {
            return;
        }
    }
}
