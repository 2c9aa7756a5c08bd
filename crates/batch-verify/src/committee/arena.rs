//! Storage of the prepared keys of a table.

use core::mem::{size_of, size_of_val};
use std::sync::Arc;

use mldsa_core::internals::{Element, Expansion, NttPoly, PackedPoly};
use mldsa_core::{ParameterSet, VerifyingKey};

use super::storage::KeyStorage;
use crate::executor::Pool;

/// Contiguous prepared keys, each `PREPARED_POLYS` polynomials.
pub(super) enum Arena {
    Wide(Box<[NttPoly]>),
    Packed(Box<[PackedPoly]>),
}

impl Arena {
    fn polys(&self) -> Expansion<'_> {
        match self {
            Self::Wide(polys) => Expansion::Wide(polys),
            Self::Packed(polys) => Expansion::Packed(polys),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Self::Wide(polys) => size_of_val(&**polys),
            Self::Packed(polys) => size_of_val(&**polys),
        }
    }
}

/// A key and the place of its expansion, if it has one.
#[derive(Clone)]
pub(super) struct TableKey<P: ParameterSet> {
    pub(super) key: VerifyingKey<P>,
    pub(super) place: Option<Place>,
}

#[derive(Clone, Copy)]
pub(super) struct Place {
    arena: usize,
    slot: usize,
}

/// Arenas of earlier tables that a table keeps before it copies the expansions that it needs
/// into one.
pub(super) const MAX_ARENAS: usize = 8;

/// Gives every member a place in an arena: new members in a new one, and all members in a
/// new one when the old ones are many or mostly unused.
pub(super) fn settle<P: ParameterSet>(
    members: &mut [TableKey<P>],
    arenas: &mut Vec<Arc<Arena>>,
    storage: KeyStorage,
    pool: &Pool,
) {
    let len = VerifyingKey::<P>::PREPARED_POLYS;
    let slots: usize = arenas.iter().map(|arena| arena.polys().len() / len).sum();
    let placed = members
        .iter()
        .filter(|member| member.place.is_some())
        .count();
    let old = if arenas.len() >= MAX_ARENAS || slots > 2 * placed {
        core::mem::take(arenas)
    } else {
        Vec::new()
    };
    let packed = storage.packs(members.len(), len * size_of::<NttPoly>(), pool.workers());
    let mut moving: Vec<&mut TableKey<P>> = members
        .iter_mut()
        .filter(|member| !old.is_empty() || member.place.is_none())
        .collect();
    if moving.is_empty() {
        return;
    }
    arenas.push(Arc::new(if packed {
        Arena::Packed(fill(&moving, &old, pool, pack))
    } else {
        Arena::Wide(fill(&moving, &old, pool, widen))
    }));
    for (slot, member) in moving.iter_mut().enumerate() {
        member.place = Some(Place {
            arena: arenas.len() - 1,
            slot,
        });
    }
}

fn pack(to: &mut [PackedPoly], expansion: Expansion<'_>) {
    match expansion {
        Expansion::Wide(polys) => to.iter_mut().zip(polys).for_each(|(to, a)| *to = a.into()),
        Expansion::Packed(polys) => to.clone_from_slice(polys),
    }
}

fn widen(to: &mut [NttPoly], expansion: Expansion<'_>) {
    match expansion {
        Expansion::Wide(polys) => to.iter_mut().zip(polys).for_each(|(to, a)| to.0 = a.0),
        Expansion::Packed(polys) => to.iter_mut().zip(polys).for_each(|(to, a)| a.unpack(to)),
    }
}

/// Computes the expansions of `members`; those in `old` are copied, the others computed.
fn fill<P: ParameterSet, T: Element + Send>(
    members: &[&mut TableKey<P>],
    old: &[Arc<Arena>],
    pool: &Pool,
    store: impl Fn(&mut [T], Expansion<'_>) + Sync,
) -> Box<[T]> {
    let len = VerifyingKey::<P>::PREPARED_POLYS;
    let mut arena = Vec::with_capacity(members.len() * len);
    arena.resize_with(members.len() * len, || T::ZERO);
    let slots = arena.chunks_exact_mut(len).zip(members);
    pool.for_each(members.len(), slots, |next| {
        let mut expanded = Vec::with_capacity(len);
        expanded.resize_with(len, || NttPoly::ZERO);
        while let Some((to, member)) = next() {
            match member.place {
                Some(place) => store(to, expansion::<P>(old, place)),
                None => {
                    member.key.prepare_polys(&mut expanded);
                    store(to, Expansion::Wide(&expanded));
                }
            }
        }
    });
    arena.into_boxed_slice()
}

pub(super) fn expansion<P: ParameterSet>(arenas: &[Arc<Arena>], place: Place) -> Expansion<'_> {
    let len = VerifyingKey::<P>::PREPARED_POLYS;
    let range = place.slot * len..(place.slot + 1) * len;
    match &*arenas[place.arena] {
        Arena::Wide(polys) => Expansion::Wide(&polys[range]),
        Arena::Packed(polys) => Expansion::Packed(&polys[range]),
    }
}
