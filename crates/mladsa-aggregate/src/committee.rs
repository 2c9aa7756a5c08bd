//! Committees: parameters of an epoch, members, registrations, the committee and its openings.

pub(crate) mod merkle;
pub(crate) mod epoch;
pub(crate) mod tree;
pub(crate) mod member;
pub(crate) mod registration;
pub(crate) mod view;
pub(crate) mod full;
pub(crate) mod opening;
