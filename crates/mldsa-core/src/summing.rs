//! Linear relations on whole vectors, for `mladsa-aggregate`.

pub(crate) mod interval;
pub(crate) mod pack;
pub(crate) mod vectors;
