//! Requests that were taken and hashed, and wait for a slot.

use crate::backend::{Backend, shake256_lanes};
use crate::hash::transcript::{
    Context, MU_PREFIX_LEN, Mu, RHO_PP_PREFIX_LEN, Randomness, mu_prefix, rho_pp_prefix,
};
use crate::hash::xof::LaneHash;
use crate::lanes::job::JobKey;
use crate::memory::secret::Secret;
use crate::params::CRH_LEN;
use crate::scheme::sign::SigningMaterial;

/// The most attempts that run side by side: the lanes of the widest backend.
pub(crate) const MAX_SLOTS: usize = 8;

/// Source of the message representative.
#[derive(Clone, Copy)]
pub(crate) enum ToSign<'a> {
    /// A message under a context, the pure form.
    Pure(Context<'a>, &'a [u8]),
    /// A message representative.
    Mu(Mu),
}

/// One signature to make.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) key: SigningMaterial<'a>,
    pub(crate) tr: &'a [u8; CRH_LEN],
    pub(crate) message: ToSign<'a>,
    pub(crate) randomness: Randomness<'a>,
    /// The key under which the signature is verified before it is released, if it is.
    pub(crate) verify_with: Option<JobKey<'a>>,
}

/// A message whose `mu` is known.
pub(super) struct Message<'a, T> {
    pub(super) request: Request<'a>,
    pub(super) tag: T,
    pub(super) mu: Mu,
    /// The number of its next attempt.
    pub(super) attempt: u16,
}

/// Messages hashed together, which leave in their order.
pub(super) struct Waiting<'a, T> {
    messages: [Option<Message<'a, T>>; MAX_SLOTS],
    /// `rho_pp` of each.
    seeds: Secret<[[u8; 64]; MAX_SLOTS]>,
    /// Whether there are no further requests.
    at_end: bool,
}

impl<'a, T> Waiting<'a, T> {
    pub(super) fn new() -> Self {
        Self {
            messages: [const { None }; MAX_SLOTS],
            seeds: Secret::zeroed(),
            at_end: false,
        }
    }

    /// The places of messages that were not taken.
    pub(super) fn left(&mut self) -> &mut [Option<Message<'a, T>>] {
        &mut self.messages
    }

    /// The next message, and its `rho_pp` to `seed`.
    pub(super) fn take(
        &mut self,
        backend: Backend,
        lanes: usize,
        requests: &mut dyn Iterator<Item = (Request<'a>, T)>,
        seed: &mut [u8; 64],
    ) -> Option<Message<'a, T>> {
        if self.messages.iter().all(Option::is_none) && !self.at_end {
            self.fill(backend, lanes, requests);
        }
        let mut left = self.messages.iter_mut().zip(self.seeds.expose());
        let (message, its_seed) = left.find(|(message, _)| message.is_some())?;
        *seed = *its_seed;
        message.take()
    }

    /// Takes as many requests as there are lanes and hashes them.
    #[inline(never)]
    fn fill(
        &mut self,
        backend: Backend,
        lanes: usize,
        requests: &mut dyn Iterator<Item = (Request<'a>, T)>,
    ) {
        let mut mus = [[0; CRH_LEN]; MAX_SLOTS];
        let mut prefixes = [[0; MU_PREFIX_LEN]; MAX_SLOTS];
        // The caller's code might spill what the kernels left in registers.
        (backend.kernels().clear_registers)();
        for place in self.messages.iter_mut().take(lanes) {
            let Some((request, tag)) = requests.next() else {
                self.at_end = true;
                break;
            };
            *place = Some(Message {
                request,
                tag,
                mu: Mu::from_bytes([0; CRH_LEN]),
                attempt: 0,
            });
        }
        let messages = self.messages.iter().flatten();
        let hashes = messages.zip(&mut prefixes).zip(&mut mus);
        let hashes = hashes.filter_map(|((message, prefix), mu)| match message.request.message {
            ToSign::Pure(ctx, message_bytes) => Some(LaneHash {
                input: [mu_prefix(message.request.tr, ctx, prefix), message_bytes],
                output: mu,
            }),
            ToSign::Mu(known) => {
                *mu = *known.as_bytes();
                None
            }
        });
        shake256_lanes(backend, hashes);
        for (message, mu) in self.messages.iter_mut().flatten().zip(mus) {
            message.mu = Mu::from_bytes(mu);
        }
        let mut prefixes = Secret::<[[u8; RHO_PP_PREFIX_LEN]; MAX_SLOTS]>::zeroed();
        let messages = self.messages.iter().flatten();
        let hashes = messages
            .zip(prefixes.expose_mut())
            .zip(self.seeds.expose_mut());
        let hashes = hashes.map(|((message, prefix), rho_pp)| {
            let Request {
                key, randomness, ..
            } = &message.request;
            LaneHash {
                input: [
                    rho_pp_prefix(key.k_seed, randomness.rnd(), prefix),
                    message.mu.as_bytes(),
                ],
                output: rho_pp,
            }
        });
        shake256_lanes(backend, hashes);
    }
}
