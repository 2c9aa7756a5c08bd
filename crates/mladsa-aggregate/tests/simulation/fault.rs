//! What the members of a simulation do.

/// Defines [`Fault`], and its kinds that are not honest as `Fault::KINDS`.
macro_rules! faults {
    ($($(#[$doc:meta])+ $kind:ident,)+) => {
        /// What a member does with its messages. A faulty member runs the honest code otherwise.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Fault {
            Honest,
            /// Honest; loses its session at the first time and starts another one at the second, with
            /// its journal.
            Crash(u64, u64),
            /// Signs two hashes of commitments in every attempt, also if it is no signer.
            AlwaysTwoHashes,
            $($(#[$doc])+ $kind,)+
        }

        impl Fault {
            pub const KINDS: &[Self] = &[$(Self::$kind),+];
        }
    };
}

faults! {
    /// Sends nothing.
    Silent,
    /// Sends its messages to the leader of the attempt only; as a leader it is silent.
    LeaderOnly,
    /// Sends every message to all but the leader.
    NotLeader,
    /// Sends every message to all but one member.
    AllButOne,
    /// Sends every message to a half that it draws for each.
    RandomHalf,
    /// Sends every message to one member that it draws for each.
    RandomOne,
    /// Shows its opening to the leader only, and everything else to nobody.
    OpeningToLeader,
    /// Signs another hash of its commitment for half of the members.
    TwoHashes,
    /// Announces other signers to half of the members.
    TwoAnnouncements,
    /// Announces no quorum to the first member, in a signed message; shows no hash of a commitment
    /// under other leaders.
    BadAnnouncement,
    /// Announces no quorum to all, and then other signers to half of the members.
    ThreeAnnouncements,
    /// Every message takes more than an attempt.
    Slow,
    /// Does not commit, so that it could see the commitments of the others before.
    Grinding,
    /// Does not reveal its commitment.
    Withholding,
    /// Sends wrong responses.
    WrongResponse,
    /// Opens its keys of all attempts at once, and does nothing else.
    Ahead,
    /// Sends the hash of its commitment at the last moment.
    LastHash,
    /// The same with its commitment.
    LastCommitment,
    /// Sends the hash to half of the members at the last moment, and to the others just in time.
    SplitHash,
}

impl Fault {
    pub fn is_honest(self) -> bool {
        matches!(self, Self::Honest | Self::Crash(..))
    }
}
