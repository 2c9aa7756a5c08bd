//! Choices that depend on the CPU, which a module does not know.

/// Whether a state in scalar registers costs little in parallel with two in vectors.
pub(super) const fn scalar_interleaved() -> bool {
    false
}
