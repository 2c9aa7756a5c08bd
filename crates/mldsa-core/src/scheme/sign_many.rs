//! Signing many messages: attempts of several run side by side and share the
//! permutations of their hashing. Each message gets the signature that it gets alone.
//!
//! Constant time as one signature after the other: what runs when follows from which
//! attempts were accepted, and that is public.

mod waiting;

use crate::backend::{Backend, shake256_lanes};
use crate::coding::hint::HINT_ROW_LEN;
use crate::error::{SignError, VerifyError};
use crate::hash::xof::LaneHash;
use crate::lanes::job::{Job, JobMessage};
use crate::memory::array::{Wipe, Zeroed};
use crate::memory::secret::Secret;
use crate::params::{CRH_LEN, MAX_SIGN_ATTEMPTS, ParameterSet};
use crate::ring::poly::{NttPoly, Poly};
use crate::sample::Challenge;
use crate::scheme::sign::{
    commit_rows, declassify_challenge, encode, is_response_of_masks, respond, transform_challenge,
};
pub(crate) use crate::scheme::sign_many::waiting::{MAX_SLOTS, Request, ToSign};
use crate::scheme::sign_many::waiting::{Message, Waiting};
use crate::scheme::verify::verify_jobs;
use crate::scheme::zeroize_kernels::ZeroizeKernelState;

/// Attempts of one message that run at once where nothing else fills the lanes. Further attempts
/// would mostly be wasted.
const AHEAD: usize = 2;

/// Memory of one attempt, from its commitment to its response.
pub(crate) struct Slot<P: ParameterSet> {
    y_hat: P::Cols<NttPoly>,
    w: P::Rows<Poly>,
    /// k packed rows.
    w1: [u8; 8 * 128],
    c_tilde: [u8; CRH_LEN],
    /// First block for SampleInBall.
    ball: [u8; 136],
    /// A finished signature, of any attempt, until it is released.
    signature: P::SignatureBytes,
}

impl<P: ParameterSet> Slot<P> {
    pub(crate) const ZERO: Self = Self {
        y_hat: P::Cols::ZEROED,
        w: P::Rows::ZEROED,
        w1: [0; 8 * 128],
        c_tilde: [0; CRH_LEN],
        ball: [0; 136],
        signature: P::SignatureBytes::ZEROED,
    };

    fn wipe(&mut self) {
        self.y_hat.wipe();
        self.w.wipe();
        self.w1.wipe();
        self.c_tilde.wipe();
        self.ball.wipe();
        self.signature.wipe();
    }
}

/// Number of slots that a backend uses.
pub(crate) fn slots_of(backend: Backend) -> usize {
    backend.kernels().mask_lanes.min(MAX_SLOTS)
}

/// Upper bound of the frames below a batch, in bytes: hashing of K in lanes is deeper with little
/// optimisation.
const KERNEL_FRAMES: usize = if cfg!(any(mldsa_opt_level = "0", mldsa_opt_level = "1")) {
    32_768
} else {
    16_384
};

/// Receives the tag of each request and its signature.
pub(crate) type Done<'f, P, T> =
    dyn FnMut(T, Result<&<P as ParameterSet>::SignatureBytes, SignError>) + 'f;

/// Algorithm 7 on every request, at most [`MAX_SLOTS`] at once. Requests are taken
/// as slots become free, a few ahead; `done` receives each one when it is finished.
///
/// All of `slots` that were used are wiped, also when a caller's function panics.
/// Bounds: `slots` is not empty.
///
/// # Errors
/// `done` is given [`SignError::AttemptsExhausted`] or [`SignError::SelfVerification`],
/// which ends that request alone.
pub(crate) fn sign_many<'a, P: ParameterSet, T>(
    backend: Backend,
    slots: &mut [Slot<P>],
    requests: &mut dyn Iterator<Item = (Request<'a>, T)>,
    done: &mut Done<'_, P, T>,
) {
    let _zeroize = ZeroizeKernelState::<KERNEL_FRAMES>(backend);
    let lanes = slots_of(backend).min(slots.len());
    let mut batch = Batch {
        backend,
        slots: &mut slots[..lanes],
        plan: [Planned::default(); MAX_SLOTS],
        planned: 0,
        in_flight: [const { None }; MAX_SLOTS],
        unverified: [const { None }; MAX_SLOTS],
        seeds: Secret::zeroed(),
        packed: Secret::zeroed(),
        hints: Secret::zeroed(),
    };
    let mut waiting = Waiting::new();
    loop {
        for (message, seed) in batch.places() {
            if message.is_none() {
                *message = waiting.take(backend, lanes, requests, seed);
            }
        }
        batch.plan();
        if batch.planned == 0 {
            batch.verify(done);
            // Nothing is left, except after a fault. Each request has an answer.
            let left = batch.in_flight.iter_mut().chain(&mut batch.unverified);
            for message in left.chain(waiting.left()).filter_map(Option::take) {
                done(message.tag, Err(SignError::SelfVerification));
            }
            return;
        }
        batch.commit();
        batch.hash();
        batch.respond(done);
    }
}

/// Use of a slot: an attempt of the message at `place`.
#[derive(Clone, Copy, Default)]
struct Planned {
    place: usize,
    attempt: u16,
}

/// Messages in flight and their attempts.
struct Batch<'s, 'a, P: ParameterSet, T> {
    backend: Backend,
    slots: &'s mut [Slot<P>],
    /// Of each of the first `planned` slots.
    plan: [Planned; MAX_SLOTS],
    planned: usize,
    in_flight: [Option<Message<'a, T>>; MAX_SLOTS],
    /// Messages whose signatures are held in the slots of the same places until they are
    /// verified, together.
    unverified: [Option<Message<'a, T>>; MAX_SLOTS],
    /// `rho_pp` of each.
    seeds: Secret<[[u8; 64]; MAX_SLOTS]>,
    /// Masks, as many as there are lanes; later the rows of z.
    packed: Secret<[u8; MAX_SLOTS * 640]>,
    /// k bitmaps.
    hints: Secret<[u8; 8 * HINT_ROW_LEN]>,
}

impl<P: ParameterSet, T> Drop for Batch<'_, '_, P, T> {
    fn drop(&mut self) {
        self.slots.iter_mut().for_each(Slot::wipe);
    }
}

impl<'a, P: ParameterSet, T> Batch<'_, 'a, P, T> {
    /// As many messages as there are slots, and where their seeds belong.
    fn places(&mut self) -> impl Iterator<Item = (&mut Option<Message<'a, T>>, &mut [u8; 64])> {
        let messages = self.in_flight.iter_mut().zip(self.seeds.expose_mut());
        messages.take(self.slots.len())
    }

    /// Gives the slots away: one for each message in flight, or [`AHEAD`] where there are as
    /// many for all.
    fn plan(&mut self) {
        let active = self.in_flight.iter().flatten().count();
        let each = if AHEAD * active <= self.slots.len() {
            AHEAD
        } else {
            1
        };
        self.planned = 0;
        for (place, message) in self.in_flight.iter_mut().enumerate() {
            let Some(message) = message else { continue };
            for _ in 0..each {
                let attempt = message.attempt;
                if attempt == MAX_SIGN_ATTEMPTS {
                    break;
                }
                self.plan[self.planned] = Planned { place, attempt };
                self.planned += 1;
                message.attempt += 1;
            }
        }
    }

    /// Lines 11 to 14 of all planned attempts. Masks fill the lanes whatever attempt they
    /// belong to.
    #[inline(never)]
    fn commit(&mut self) {
        let p = &P::PARAMS;
        let (backend, len) = (self.backend, p.z_poly_len());
        let (mut slot, mut row, mut committed) = (0, 0, 0);
        while committed < self.planned {
            let seeds = self.seeds.expose();
            let mut places = [(0, 0); MAX_SLOTS];
            let mut group = [(&seeds[0], 0); MAX_SLOTS];
            let mut count = 0;
            while count < self.slots.len() && slot < self.planned {
                let Planned { place, attempt } = self.plan[slot];
                places[count] = (slot, row);
                group[count] = (&seeds[place], attempt * p.l as u16 + row as u16);
                count += 1;
                row += 1;
                if row == p.l {
                    (slot, row) = (slot + 1, 0);
                }
            }
            let packed = &mut self.packed.expose_mut()[..count * len];
            (backend.kernels().expand_masks)(&group[..count], len, packed);
            for (n, (slot, row)) in places.into_iter().take(count).enumerate() {
                let mask = &packed[n * len..][..len];
                let y_hat = &mut self.slots[slot].y_hat.as_mut()[row];
                (backend.kernels().unpack_mask_ntt)(p.gamma1_bits, mask, y_hat);
            }
            for slot in committed..slot {
                self.commit_one(slot);
            }
            committed = slot;
        }
    }

    /// Lines 12 to 14 of one attempt.
    fn commit_one(&mut self, slot: usize) {
        let p = &P::PARAMS;
        let Some(message) = &self.in_flight[self.plan[slot].place] else {
            return;
        };
        let slot = &mut self.slots[slot];
        let (a_hat, y_hat) = (message.request.key.a_hat, slot.y_hat.as_ref());
        let mut places = slot.w1.chunks_exact_mut(p.w1_poly_len());
        commit_rows(self.backend, p, a_hat, y_hat, slot.w.as_mut(), |row| {
            if let Some(place) = places.next() {
                place.copy_from_slice(row);
            }
        });
    }

    /// Line 15, and the hash that line 16 begins with.
    #[inline(never)]
    fn hash(&mut self) {
        let p = &P::PARAMS;
        let plan = &self.plan[..self.planned];
        let in_flight = &self.in_flight;
        let hashes = self
            .slots
            .iter_mut()
            .zip(plan)
            .filter_map(|(slot, planned)| {
                let message = in_flight[planned.place].as_ref()?;
                Some(LaneHash {
                    input: [message.mu.as_bytes(), &slot.w1[..p.k * p.w1_poly_len()]],
                    output: &mut slot.c_tilde[..p.c_tilde_len],
                })
            });
        shake256_lanes(self.backend, hashes);
        for slot in &mut self.slots[..self.planned] {
            declassify_challenge(&mut slot.c_tilde[..p.c_tilde_len]);
        }
        let hashes = self.slots[..self.planned].iter_mut();
        let hashes = hashes.map(|slot| LaneHash {
            input: [&slot.c_tilde[..p.c_tilde_len], &[]],
            output: &mut slot.ball,
        });
        shake256_lanes(self.backend, hashes);
    }

    /// Lines 16 to 33, the attempts of each message in their order.
    #[inline(never)]
    fn respond(&mut self, done: &mut Done<'_, P, T>) {
        let p = &P::PARAMS;
        let backend = self.backend;
        let mut c_hat = NttPoly::zeroed();
        for n in 0..self.planned {
            self.verify_if_full(done);
            let Planned { place, attempt } = self.plan[n];
            let slot = &mut self.slots[n];
            // `None` once an earlier attempt was accepted.
            let Some(message) = &self.in_flight[place] else {
                continue;
            };
            let c_tilde = &slot.c_tilde[..p.c_tilde_len];
            let c = Challenge::from_block(p.tau, &slot.ball).unwrap_or_else(|| {
                Challenge::sample_in_ball_vartime(backend.permutation(), p.tau, c_tilde)
            });
            transform_challenge(backend, &c, &mut c_hat);
            let z = &mut self.packed.expose_mut()[..p.l * p.z_poly_len()];
            let hints = &mut self.hints.expose_mut()[..p.k * HINT_ROW_LEN];
            let (key, y_hat, w) = (&message.request.key, slot.y_hat.as_mut(), slot.w.as_mut());
            let response = respond(backend, p, key, &c_hat, y_hat, w, z, hints);
            if response.is_err() && attempt < MAX_SIGN_ATTEMPTS - 1 {
                continue;
            }
            let Some(message) = self.in_flight[place].take() else {
                continue;
            };
            let c_tilde = slot.c_tilde;
            let held = self.unverified.iter().position(Option::is_none);
            let held = held.unwrap_or(0);
            let signature = &mut self.slots[held].signature;
            let mut result = response.map_err(|_| SignError::AttemptsExhausted);
            if result.is_ok() {
                let (request, out) = (&message.request, signature.as_mut());
                let inputs = (&message.mu, request.randomness.rnd(), attempt);
                if request.verify_with.is_none() {
                    encode(p, &c_tilde[..p.c_tilde_len], z, hints, out);
                } else if is_response_of_masks(backend, p, &request.key, inputs, &c_hat, z, out) {
                    encode(p, &c_tilde[..p.c_tilde_len], z, hints, out);
                    self.unverified[held] = Some(message);
                    continue;
                } else {
                    out.wipe();
                    result = Err(SignError::SelfVerification);
                }
            }
            // The caller's code might spill what the kernels left in registers.
            (backend.kernels().clear_registers)();
            done(message.tag, result.map(|()| &*signature));
        }
        self.verify_if_full(done);
    }

    /// Verifies the signatures that are held if there is no place for another.
    fn verify_if_full(&mut self, done: &mut Done<'_, P, T>) {
        let mut places = self.unverified.iter().take(self.slots.len());
        if places.all(Option::is_some) {
            self.verify(done);
        }
    }

    /// Verifies the signatures that are held, in lanes, and releases those that are valid.
    #[inline(never)]
    fn verify(&mut self, done: &mut Done<'_, P, T>) {
        let mut jobs = [None; MAX_SLOTS];
        for ((job, held), slot) in jobs.iter_mut().zip(&self.unverified).zip(&*self.slots) {
            *job = held.as_ref().and_then(|message| {
                // A message is hashed again: a fault may have changed its `mu`.
                let signed = match message.request.message {
                    ToSign::Pure(ctx, bytes) => JobMessage::Pure(ctx, bytes),
                    ToSign::Mu(_) => JobMessage::Mu(&message.mu),
                };
                let key = message.request.verify_with?;
                Some(Job::new(key, signed, slot.signature.as_ref()))
            });
        }
        let Some(first) = jobs.iter().flatten().next().copied() else {
            return;
        };
        let held = jobs.iter().rposition(Option::is_some);
        let mut results = [Err(VerifyError::ChallengeMismatch); MAX_SLOTS];
        let results = &mut results[..held.map_or(0, |last| last + 1)];
        verify_jobs::<P>(self.backend, &|n| jobs[n].unwrap_or(first), results);
        for (job, result) in jobs.iter().zip(&mut *results) {
            if job.is_none() {
                *result = Err(VerifyError::ChallengeMismatch);
            }
        }
        // The caller's code might spill what the kernels left in registers.
        (self.backend.kernels().clear_registers)();
        for ((slot, held), result) in self
            .slots
            .iter_mut()
            .zip(&mut self.unverified)
            .zip(&*results)
        {
            let Some(message) = held.take() else { continue };
            let released = match result {
                Ok(()) => Ok(&slot.signature),
                Err(_) => {
                    slot.signature.wipe();
                    Err(SignError::SelfVerification)
                }
            };
            done(message.tag, released);
        }
    }
}
