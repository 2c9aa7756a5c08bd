//! What the host's CPU is, a module cannot know.

/// Whether a state in scalar registers costs little in parallel with two in vectors.
pub(super) const fn scalar_interleaved() -> bool {
    false
}
