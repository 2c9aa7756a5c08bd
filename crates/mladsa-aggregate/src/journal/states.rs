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

/// One entry of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Plan, registry and matrix that the seed serves in this epoch.
    Plan(u64, Digest),
    /// Acknowledged list of roots.
    Roots(u64, Digest),
    /// A commitment, and the task that it is for.
    Committed(Attempt, Digest, Digest),
    /// A response to this challenge.
    Responded(Attempt, [u8; 64]),
    /// End of an attempt.
    Retired(Attempt),
    /// End of this epoch and of all before it.
    Closed(u64),
    /// Identity of the committee that the member endorses for this epoch.
    Endorsed(u64, Digest),
}

impl Entry {
    pub(crate) fn epoch(&self) -> u64 {
        match self {
            Self::Plan(epoch, _)
            | Self::Roots(epoch, _)
            | Self::Endorsed(epoch, _)
            | Self::Closed(epoch) => *epoch,
            Self::Committed(attempt, ..) | Self::Responded(attempt, _) | Self::Retired(attempt) => {
                attempt.epoch
            }
        }
    }
}

/// Progress of an attempt, in this order only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Committed(Digest),
    /// The commitment and the challenge that was answered.
    Responded(Digest, [u8; 64]),
    Retired,
}

#[derive(Default)]
struct Task {
    // what all attempts sign, from the first commitment on
    digest: Option<Digest>,
    attempts: BTreeMap<u8, Progress>,
}

struct Epoch {
    plan: Digest,
    roots: Option<Digest>,
    tasks: BTreeMap<Digest, Task>,
}

/// All recorded uses of a seed.
#[derive(Default)]
pub(crate) struct States {
    closed: Option<u64>,
    epochs: BTreeMap<u64, Epoch>,
    endorsed: BTreeMap<u64, Digest>,
}

impl States {
    /// Whether `entry` is admissible, and new: `false` for an entry that is recorded already.
    pub(crate) fn admit(&self, entry: &Entry) -> Result<bool, JournalError> {
        let conflict = Err(JournalError::EpochConflict);
        let epoch = entry.epoch();
        let is_closed = self.closed.is_some_and(|closed| epoch <= closed);
        let known = self.epochs.get(&epoch);
        match (entry, known) {
            (Entry::Closed(_), _) => Ok(!is_closed),
            (Entry::Retired(_), _) if is_closed => Ok(false),
            _ if is_closed => conflict,
            (Entry::Endorsed(_, committee), _) => match self.endorsed.get(&epoch) {
                Some(other) if other != committee => conflict,
                known => Ok(known.is_none()),
            },
            (Entry::Plan(..), None) => Ok(true),
            (_, None) => conflict,
            (Entry::Plan(_, plan), Some(known)) if known.plan == *plan => Ok(false),
            (Entry::Plan(..), _) => conflict,
            (Entry::Roots(_, roots), Some(known)) => match known.roots {
                Some(other) if other != *roots => conflict,
                known => Ok(known.is_none()),
            },
            (Entry::Committed(attempt, ..), Some(known)) => {
                known.roots.ok_or(JournalError::EpochConflict)?;
                known.admit_attempt(attempt, entry)
            }
            (Entry::Responded(attempt, _) | Entry::Retired(attempt), Some(known)) => {
                known.admit_attempt(attempt, entry)
            }
        }
    }

    /// Applies an admitted entry.
    pub(crate) fn apply(&mut self, entry: &Entry) {
        let (attempt, progress) = match entry {
            Entry::Closed(epoch) => {
                self.epochs = self.epochs.split_off(&epoch.saturating_add(1));
                self.endorsed = self.endorsed.split_off(&epoch.saturating_add(1));
                self.closed = Some(*epoch);
                return;
            }
            Entry::Endorsed(epoch, committee) => {
                self.endorsed.insert(*epoch, *committee);
                return;
            }
            Entry::Plan(epoch, plan) => {
                let fresh = Epoch {
                    plan: *plan,
                    roots: None,
                    tasks: BTreeMap::new(),
                };
                self.epochs.insert(*epoch, fresh);
                return;
            }
            Entry::Roots(epoch, roots) => {
                if let Some(known) = self.epochs.get_mut(epoch) {
                    known.roots = Some(*roots);
                }
                return;
            }
            Entry::Committed(attempt, digest, _) => (attempt, Progress::Committed(*digest)),
            Entry::Responded(attempt, c_tilde) => match self.progress(attempt) {
                Some(Progress::Committed(digest)) => {
                    (attempt, Progress::Responded(digest, *c_tilde))
                }
                _ => return,
            },
            Entry::Retired(attempt) => (attempt, Progress::Retired),
        };
        if let Some(epoch) = self.epochs.get_mut(&attempt.epoch) {
            let task = epoch.tasks.entry(attempt.key).or_default();
            if let Entry::Committed(_, _, digest) = entry {
                task.digest = Some(*digest);
            }
            task.attempts.insert(attempt.number, progress);
        }
    }

    pub(crate) fn progress(&self, attempt: &Attempt) -> Option<Progress> {
        let task = self.epochs.get(&attempt.epoch)?.tasks.get(&attempt.key)?;
        task.attempts.get(&attempt.number).copied()
    }

    pub(crate) fn roots(&self, epoch: u64) -> Option<Digest> {
        self.epochs.get(&epoch)?.roots
    }

    pub(crate) fn closed(&self) -> Option<u64> {
        self.closed
    }

    pub(crate) fn last_epoch(&self) -> Option<u64> {
        let served = self.epochs.keys().chain(self.endorsed.keys()).max();
        self.closed.max(served.copied())
    }
}

impl Epoch {
    /// [`States::admit`] for the entries of an attempt.
    fn admit_attempt(&self, attempt: &Attempt, entry: &Entry) -> Result<bool, JournalError> {
        let task = self.tasks.get(&attempt.key);
        let progress = |number| task.and_then(|task| task.attempts.get(&number));
        let known = progress(attempt.number);
        match (entry, known) {
            (Entry::Committed(_, commitment, digest), known) => {
                let is_other = task
                    .and_then(|task| task.digest)
                    .is_some_and(|d| d != *digest);
                let in_order =
                    (0..attempt.number).all(|number| progress(number) == Some(&Progress::Retired));
                match known {
                    _ if is_other || !in_order => Err(JournalError::KeyReused),
                    None => Ok(true),
                    Some(Progress::Committed(known) | Progress::Responded(known, _))
                        if known == commitment =>
                    {
                        Ok(false)
                    }
                    Some(_) => Err(JournalError::KeyReused),
                }
            }
            (Entry::Responded(..), Some(Progress::Committed(_))) => Ok(true),
            (Entry::Responded(_, c_tilde), Some(Progress::Responded(_, known)))
                if known == c_tilde =>
            {
                Ok(false)
            }
            (Entry::Retired(_), known) => Ok(known != Some(&Progress::Retired)),
            _ => Err(JournalError::KeyReused),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enumerates all sequences of six steps and checks what was admitted.
    #[test]
    fn every_sequence_of_six_steps_releases_at_most_one_commitment_and_one_response() {
        let attempt = |number| Attempt {
            epoch: 3,
            key: [7; 32],
            number,
        };
        let entries = [
            Entry::Plan(3, [1; 32]),
            Entry::Roots(3, [2; 32]),
            Entry::Committed(attempt(0), [1; 32], [9; 32]),
            Entry::Committed(attempt(0), [2; 32], [9; 32]),
            Entry::Committed(attempt(1), [1; 32], [9; 32]),
            Entry::Committed(attempt(1), [1; 32], [8; 32]),
            Entry::Responded(attempt(0), [1; 64]),
            Entry::Responded(attempt(0), [2; 64]),
            Entry::Retired(attempt(0)),
            Entry::Closed(3),
        ];
        let n = entries.len();
        let mut admitted = 0;
        for code in 0..n.pow(6) {
            let mut states = States::default();
            let mut applied = alloc::vec::Vec::new();
            let mut rest = code;
            for _ in 0..6 {
                let entry = entries[rest % n];
                rest /= n;
                if states.admit(&entry).is_ok_and(|new| new) {
                    states.apply(&entry);
                    applied.push(entry);
                }
            }
            admitted += applied.len();
            let count = |which: &[usize]| {
                applied
                    .iter()
                    .filter(|entry| which.iter().any(|&at| entries[at] == **entry))
                    .count()
            };
            assert!(count(&[2, 3]) <= 1 && count(&[6, 7]) <= 1);
            // Attempt 1 follows the retirement of attempt 0 and signs the same task.
            if count(&[4, 5]) == 1 {
                let at = |wanted: &[usize]| {
                    applied
                        .iter()
                        .position(|entry| wanted.iter().any(|&at| entries[at] == *entry))
                };
                assert!(at(&[8]).unwrap() < at(&[4, 5]).unwrap());
                assert!(count(&[2, 3]) == 0 || count(&[5]) == 0);
            }
            assert!(count(&[4, 5]) <= 1);
            if let Some(closed) = applied.iter().position(|entry| *entry == entries[9]) {
                assert_eq!(closed, applied.len() - 1);
            }
        }
        assert!(admitted > 0);
    }
}
