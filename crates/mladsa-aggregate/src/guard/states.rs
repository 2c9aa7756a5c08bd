//! The rules of the guard: what may follow on what. A replayed log is held to them
//! as a new record is.

use alloc::collections::BTreeMap;

use crate::error::Error;

type Digest = [u8; 32];

/// One attempt at one decision of one epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) epoch: u64,
    /// Of the decision: the seed and the base label in its epoch.
    pub(crate) key: Digest,
    pub(crate) number: u8,
}

/// One step of a seed, as it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The plan, registry and matrix that the seed serves in this epoch.
    Plan(u64, Digest),
    /// The list of roots that it acknowledged.
    Roots(u64, Digest),
    /// A commitment, and the decision that it is for.
    Committed(Attempt, Digest, Digest),
    /// A response to this challenge.
    Responded(Attempt, [u8; 64]),
    /// No more of this attempt.
    Retired(Attempt),
    /// No more of this epoch, nor of any before it.
    Closed(u64),
}

impl Entry {
    pub(crate) fn epoch(&self) -> u64 {
        match self {
            Self::Plan(epoch, _) | Self::Roots(epoch, _) | Self::Closed(epoch) => *epoch,
            Self::Committed(attempt, ..) | Self::Responded(attempt, _) | Self::Retired(attempt) => {
                attempt.epoch
            }
        }
    }
}

/// How far an attempt has come. It only ever moves forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Committed(Digest),
    /// With the commitment that was answered for.
    Responded(Digest, [u8; 64]),
    Retired,
}

#[derive(Default)]
struct Decision {
    // what all attempts are for, from the first commitment on
    decided: Option<Digest>,
    attempts: BTreeMap<u8, Progress>,
}

struct Epoch {
    plan: Digest,
    roots: Option<Digest>,
    decisions: BTreeMap<Digest, Decision>,
}

/// Everything that a seed has been used for.
#[derive(Default)]
pub(crate) struct States {
    closed: Option<u64>,
    epochs: BTreeMap<u64, Epoch>,
}

impl States {
    /// Whether `entry` may follow, and is new: `false` for what is recorded
    /// already.
    pub(crate) fn admit(&self, entry: &Entry) -> Result<bool, Error> {
        let epoch = entry.epoch();
        if self.closed.is_some_and(|closed| epoch <= closed) {
            return match entry {
                Entry::Closed(_) | Entry::Retired(_) => Ok(false),
                _ => Err(Error::EpochConflict),
            };
        }
        let known = self.epochs.get(&epoch);
        let known = match entry {
            Entry::Closed(_) => return Ok(true),
            Entry::Plan(_, plan) => {
                return match known {
                    Some(known) if known.plan != *plan => Err(Error::EpochConflict),
                    known => Ok(known.is_none()),
                };
            }
            _ => known.ok_or(Error::EpochConflict)?,
        };
        let (attempt, entry) = match entry {
            Entry::Roots(_, roots) => {
                return match known.roots {
                    Some(known) if known != *roots => Err(Error::EpochConflict),
                    known => Ok(known.is_none()),
                };
            }
            Entry::Committed(attempt, ..)
            | Entry::Responded(attempt, _)
            | Entry::Retired(attempt) => (attempt, entry),
            Entry::Plan(..) | Entry::Closed(_) => return Err(Error::GuardFailure),
        };
        let decision = known.decisions.get(&attempt.key);
        let progress = decision.and_then(|decision| decision.attempts.get(&attempt.number));
        match (entry, progress) {
            (Entry::Committed(_, digest, decided), progress) => {
                known.roots.ok_or(Error::EpochConflict)?;
                let retired = |number| {
                    decision.and_then(|decision| decision.attempts.get(&number))
                        == Some(&Progress::Retired)
                };
                let other = decision
                    .and_then(|decision| decision.decided)
                    .is_some_and(|known| known != *decided);
                match progress {
                    _ if other || !(0..attempt.number).all(retired) => Err(Error::OneTimeViolation),
                    None => Ok(true),
                    Some(Progress::Committed(known) | Progress::Responded(known, _))
                        if known == digest =>
                    {
                        Ok(false)
                    }
                    Some(_) => Err(Error::OneTimeViolation),
                }
            }
            (Entry::Responded(..), Some(Progress::Committed(_))) => Ok(true),
            (Entry::Responded(_, c_tilde), Some(Progress::Responded(_, known)))
                if known == c_tilde =>
            {
                Ok(false)
            }
            (Entry::Retired(_), Some(Progress::Retired)) => Ok(false),
            (Entry::Retired(_), _) => Ok(true),
            _ => Err(Error::OneTimeViolation),
        }
    }

    /// Takes up an entry that was admitted.
    pub(crate) fn apply(&mut self, entry: &Entry) {
        let (attempt, progress) = match entry {
            Entry::Closed(epoch) => {
                self.epochs = self.epochs.split_off(&epoch.saturating_add(1));
                self.closed = Some(*epoch);
                return;
            }
            Entry::Plan(epoch, plan) => {
                let fresh = Epoch {
                    plan: *plan,
                    roots: None,
                    decisions: BTreeMap::new(),
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
            let decision = epoch.decisions.entry(attempt.key).or_default();
            if let Entry::Committed(_, _, decided) = entry {
                decision.decided = Some(*decided);
            }
            decision.attempts.insert(attempt.number, progress);
        }
    }

    pub(crate) fn progress(&self, attempt: &Attempt) -> Option<Progress> {
        let decisions = &self.epochs.get(&attempt.epoch)?.decisions;
        let attempts = &decisions.get(&attempt.key)?.attempts;
        attempts.get(&attempt.number).copied()
    }

    pub(crate) fn roots(&self, epoch: u64) -> Option<Digest> {
        self.epochs.get(&epoch)?.roots
    }

    pub(crate) fn closed(&self) -> Option<u64> {
        self.closed
    }

    pub(crate) fn last_epoch(&self) -> Option<u64> {
        let served = self.epochs.keys().next_back();
        self.closed.max(served.copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every sequence of five steps at one attempt, and what it may end in.
    #[test]
    fn every_short_sequence_releases_one_commitment_and_one_response() {
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
            let mut taken = alloc::vec::Vec::new();
            let mut rest = code;
            for _ in 0..6 {
                let entry = entries[rest % n];
                rest /= n;
                if states.admit(&entry).is_ok_and(|new| new) {
                    states.apply(&entry);
                    taken.push(entry);
                }
            }
            admitted += taken.len();
            let count = |which: &[usize]| {
                taken
                    .iter()
                    .filter(|entry| which.iter().any(|&at| entries[at] == **entry))
                    .count()
            };
            assert!(count(&[2, 3]) <= 1 && count(&[6, 7]) <= 1);
            // Attempt 1 after attempt 0 was retired, and for the same decision.
            if count(&[4, 5]) == 1 {
                let at = |wanted: &[usize]| {
                    taken
                        .iter()
                        .position(|entry| wanted.iter().any(|&at| entries[at] == *entry))
                };
                assert!(at(&[8]).unwrap() < at(&[4, 5]).unwrap());
                assert!(count(&[2, 3]) == 0 || count(&[5]) == 0);
            }
            assert!(count(&[4, 5]) <= 1);
            if let Some(closed) = taken.iter().position(|entry| *entry == entries[9]) {
                assert_eq!(closed, taken.len() - 1);
            }
        }
        assert!(admitted > 0);
    }
}
