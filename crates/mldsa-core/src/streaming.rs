//! One polynomial at a time, for `mldsa-lowmem`.

pub(crate) mod window;
pub(crate) mod sparse;
pub(crate) mod row_steps;
