//! State-transition rules of the journal, for new entries and for replayed ones.

use alloc::collections::BTreeMap;

use crate::error::JournalError;

pub(crate) type Digest = [u8; 32];

/// One attempt at one task of one epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) epoch: u64,
    /// Key of the task: of the seed and the task label in its epoch.
    pub(crate) key: Digest,
    pub(crate) number: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JournalEntry {
    /// Identity of the committee that the seed serves in this epoch.
    Committee(u64, Digest),
    /// A commitment, and the task that it is for.
    Committed(Attempt, Digest, Digest),
    /// A commitment revealed after these hashes of all commitments.
    Revealed(Attempt, [u8; 64]),
    /// A response to this challenge.
    Responded(Attempt, [u8; 64]),
    /// End of an attempt.
    Retired(Attempt),
    /// End of this epoch and of all before it.
    Closed(u64),
}

impl JournalEntry {
    pub(crate) fn epoch(&self) -> u64 {
        match self {
            Self::Committee(epoch, _) | Self::Closed(epoch) => *epoch,
            Self::Committed(attempt, ..)
            | Self::Revealed(attempt, _)
            | Self::Responded(attempt, _)
            | Self::Retired(attempt) => attempt.epoch,
        }
    }
}

/// Progress of an attempt, in this order only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Committed(Digest),
    /// The commitment and the hashes that it answered.
    Revealed(Digest, [u8; 64]),
    /// The same and the challenge that was answered.
    Responded(Digest, [u8; 64], [u8; 64]),
    Retired,
}

impl Progress {
    /// Returns the commitment of an attempt that is not retired, and the hashes that it answered.
    pub(crate) fn commitment(&self) -> Option<(&Digest, Option<&[u8; 64]>)> {
        match self {
            Self::Committed(digest) => Some((digest, None)),
            Self::Revealed(digest, hashes) | Self::Responded(digest, hashes, _) => {
                Some((digest, Some(hashes)))
            }
            Self::Retired => None,
        }
    }
}

#[derive(Default)]
struct Task {
    // what all attempts sign, from the first commitment on
    digest: Option<Digest>,
    attempts: BTreeMap<u8, Progress>,
}

struct Epoch {
    committee: Digest,
    tasks: BTreeMap<Digest, Task>,
}

#[derive(Default)]
pub(crate) struct States {
    closed: Option<u64>,
    epochs: BTreeMap<u64, Epoch>,
}

impl States {
    /// Checks that `entry` is admissible, and returns whether it is new: `false` for an entry that
    /// is recorded already.
    pub(crate) fn admit(&self, entry: &JournalEntry) -> Result<bool, JournalError> {
        let conflict = Err(JournalError::EpochConflict);
        let epoch = entry.epoch();
        let is_closed = self.closed.is_some_and(|closed| epoch <= closed);
        let known = self.epochs.get(&epoch);
        match (entry, known) {
            (JournalEntry::Closed(_), _) => Ok(!is_closed),
            (JournalEntry::Retired(_), _) if is_closed => Ok(false),
            _ if is_closed => conflict,
            (JournalEntry::Committee(..), None) => Ok(true),
            (_, None) => conflict,
            (JournalEntry::Committee(_, identity), Some(known)) if known.committee == *identity => {
                Ok(false)
            }
            (JournalEntry::Committee(..), _) => conflict,
            (
                JournalEntry::Committed(attempt, ..)
                | JournalEntry::Revealed(attempt, _)
                | JournalEntry::Responded(attempt, _)
                | JournalEntry::Retired(attempt),
                Some(known),
            ) => known.admit_attempt(attempt, entry),
        }
    }

    pub(crate) fn apply(&mut self, entry: &JournalEntry) {
        let (attempt, progress) = match entry {
            JournalEntry::Closed(epoch) => {
                self.epochs = self.epochs.split_off(&epoch.saturating_add(1));
                self.closed = Some(*epoch);
                return;
            }
            JournalEntry::Committee(epoch, identity) => {
                let fresh = Epoch {
                    committee: *identity,
                    tasks: BTreeMap::new(),
                };
                self.epochs.insert(*epoch, fresh);
                return;
            }
            JournalEntry::Committed(attempt, digest, _) => (attempt, Progress::Committed(*digest)),
            JournalEntry::Revealed(attempt, hashes) => match self.progress(attempt) {
                Some(Progress::Committed(digest)) => (attempt, Progress::Revealed(digest, *hashes)),
                _ => return,
            },
            JournalEntry::Responded(attempt, c_tilde) => match self.progress(attempt) {
                Some(Progress::Revealed(digest, hashes)) => {
                    (attempt, Progress::Responded(digest, hashes, *c_tilde))
                }
                _ => return,
            },
            JournalEntry::Retired(attempt) => (attempt, Progress::Retired),
        };
        if let Some(epoch) = self.epochs.get_mut(&attempt.epoch) {
            let task = epoch.tasks.entry(attempt.key).or_default();
            if let JournalEntry::Committed(_, _, digest) = entry {
                task.digest = Some(*digest);
            }
            task.attempts.insert(attempt.number, progress);
        }
    }

    pub(crate) fn progress(&self, attempt: &Attempt) -> Option<Progress> {
        let task = self.epochs.get(&attempt.epoch)?.tasks.get(&attempt.key)?;
        task.attempts.get(&attempt.number).copied()
    }

    pub(crate) fn committee(&self, epoch: u64) -> Option<Digest> {
        Some(self.epochs.get(&epoch)?.committee)
    }

    pub(crate) fn closed(&self) -> Option<u64> {
        self.closed
    }
}

impl Epoch {
    /// Decides as [`States::admit`] does, for the entries of an attempt.
    fn admit_attempt(&self, attempt: &Attempt, entry: &JournalEntry) -> Result<bool, JournalError> {
        let task = self.tasks.get(&attempt.key);
        let progress = |number| task.and_then(|task| task.attempts.get(&number));
        let known = progress(attempt.number);
        match (entry, known) {
            (JournalEntry::Committed(_, commitment, digest), known) => {
                let is_other = task
                    .and_then(|task| task.digest)
                    .is_some_and(|d| d != *digest);
                let in_order =
                    (0..attempt.number).all(|number| progress(number) == Some(&Progress::Retired));
                match known {
                    _ if is_other || !in_order => Err(JournalError::KeyReused),
                    None => Ok(true),
                    Some(known) => match known.commitment() {
                        Some((known, _)) if known == commitment => Ok(false),
                        _ => Err(JournalError::KeyReused),
                    },
                }
            }
            (JournalEntry::Revealed(..), Some(Progress::Committed(_))) => Ok(true),
            (JournalEntry::Revealed(_, hashes), Some(known))
                if known.commitment().and_then(|(_, known)| known) == Some(hashes) =>
            {
                Ok(false)
            }
            (JournalEntry::Responded(..), Some(Progress::Revealed(..))) => Ok(true),
            (JournalEntry::Responded(_, c_tilde), Some(Progress::Responded(_, _, known)))
                if known == c_tilde =>
            {
                Ok(false)
            }
            (JournalEntry::Retired(_), known) => Ok(known != Some(&Progress::Retired)),
            _ => Err(JournalError::KeyReused),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(number: u8) -> Attempt {
        Attempt {
            epoch: 3,
            key: [7; 32],
            number,
        }
    }

    #[test]
    fn commitment_requires_a_committee() {
        let mut states = States::default();
        let commitment = JournalEntry::Committed(attempt(0), [1; 32], [9; 32]);
        let rejected = states.admit(&commitment);
        assert_eq!(rejected, Err(JournalError::EpochConflict));
        let committee = JournalEntry::Committee(3, [1; 32]);
        assert_eq!(states.admit(&committee), Ok(true));
        states.apply(&committee);
        assert_eq!(states.admit(&committee), Ok(false));
        let other = states.admit(&JournalEntry::Committee(3, [3; 32]));
        assert_eq!(other, Err(JournalError::EpochConflict));
        assert_eq!(states.admit(&commitment), Ok(true));
    }

    /// Enumerates all sequences of six steps of a committee and checks what was admitted.
    #[test]
    fn every_sequence_of_six_steps_releases_one_commitment_and_one_response() {
        let entries = [
            JournalEntry::Committed(attempt(0), [1; 32], [9; 32]),
            JournalEntry::Committed(attempt(0), [2; 32], [9; 32]),
            JournalEntry::Committed(attempt(1), [1; 32], [9; 32]),
            JournalEntry::Committed(attempt(1), [1; 32], [8; 32]),
            JournalEntry::Revealed(attempt(0), [1; 64]),
            JournalEntry::Revealed(attempt(0), [2; 64]),
            JournalEntry::Responded(attempt(0), [1; 64]),
            JournalEntry::Responded(attempt(0), [2; 64]),
            JournalEntry::Retired(attempt(0)),
            JournalEntry::Closed(3),
        ];
        let n = entries.len();
        let mut responses = 0;
        for code in 0..n.pow(6) {
            let mut states = States::default();
            states.apply(&JournalEntry::Committee(3, [1; 32]));
            let mut applied = alloc::vec::Vec::new();
            let mut rest = code;
            for _ in 0..6 {
                let at = rest % n;
                rest /= n;
                if states.admit(&entries[at]).is_ok_and(|new| new) {
                    states.apply(&entries[at]);
                    applied.push(at);
                }
            }
            // The position of the only admitted one of these entries.
            let one_of = |which: &[usize]| {
                let mut all = (0..applied.len()).filter(|&i| which.contains(&applied[i]));
                let first = all.next();
                assert_eq!(all.next(), None, "{applied:?}");
                first
            };
            let committed = one_of(&[0, 1]);
            let revealed = one_of(&[4, 5]);
            let responded = one_of(&[6, 7]);
            let retired = one_of(&[8]);
            // A response follows on a revelation, and that on a commitment, before the retirement.
            let steps = [committed, revealed, responded];
            for pair in steps.windows(2) {
                assert!(pair[1].is_none() || (pair[0].is_some() && pair[0] < pair[1]));
            }
            let last = steps.into_iter().flatten().next_back();
            assert!(retired.is_none() || last < retired);
            // Attempt 1 follows the retirement of attempt 0 and signs the same task.
            if let Some(next) = one_of(&[2, 3]) {
                assert!(retired.unwrap() < next);
                assert!(committed.is_none() || applied[next] == 2);
            }
            if let Some(closed) = one_of(&[9]) {
                assert_eq!(closed, applied.len() - 1);
            }
            responses += usize::from(responded.is_some());
        }
        assert!(responses > 0);
    }
}
