//! What waits and who works, as steps that one lock makes whole.

use std::collections::VecDeque;

use super::{IntakeError, IntakeLimits, Priority};
use crate::schedule::LANES;

/// The state of an intake. Every method is one step; the tests below go through all
/// orders of steps.
#[derive(Clone, Debug)]
pub(super) struct State<T> {
    classes: [Class<T>; Priority::ALL.len()],
    /// Jobs handed to the executor that have neither ended nor been dropped.
    workers: usize,
    /// Batches that are being verified, by workers or by threads that wait.
    running: usize,
    closed: bool,
}

/// What waits with one priority.
#[derive(Clone, Debug)]
struct Class<T> {
    waiting: VecDeque<(T, usize)>,
    bytes: usize,
}

impl<T> State<T> {
    pub(super) fn new() -> Self {
        Self {
            classes: [const { Class::new() }; Priority::ALL.len()],
            workers: 0,
            running: 0,
            closed: false,
        }
    }

    /// Takes an entry of so many bytes in, or gives it back. True if a worker has to
    /// be started: it then counts as one.
    pub(super) fn submit(
        &mut self,
        priority: Priority,
        entry: T,
        bytes: usize,
        limits: &IntakeLimits,
    ) -> Result<bool, (T, IntakeError)> {
        if self.closed {
            return Err((entry, IntakeError::ShuttingDown));
        }
        let class = &mut self.classes[priority as usize];
        let left = limits.bytes.saturating_sub(class.bytes);
        if class.waiting.len() >= limits.items || bytes > left {
            return Err((entry, IntakeError::QueueFull));
        }
        class.waiting.push_back((entry, bytes));
        class.bytes += bytes;
        let start = self.workers < limits.workers;
        self.workers += usize::from(start);
        Ok(start)
    }

    /// Cuts a batch of at most `max` entries, the higher priorities first; one place
    /// in eight is kept for each lower one that waits. Empty if nothing waits, and
    /// then nothing runs.
    pub(super) fn cut(&mut self, max: usize) -> Vec<T> {
        let mut batch = Vec::new();
        for n in 0..self.classes.len() {
            let (class, lower) = self.classes[n..].split_at_mut(1);
            let kept = |class: &Class<T>| class.waiting.len().min(max / LANES);
            let kept: usize = lower.iter().map(kept).sum();
            let [class] = class else { continue };
            let free = max.saturating_sub(batch.len() + kept);
            for (entry, bytes) in class.waiting.drain(..free.min(class.waiting.len())) {
                class.bytes -= bytes;
                batch.push(entry);
            }
        }
        self.running += usize::from(!batch.is_empty());
        batch
    }

    /// The same for a worker, which retires if nothing waits.
    pub(super) fn cut_or_retire(&mut self, max: usize) -> Vec<T> {
        let batch = self.cut(max);
        self.workers -= usize::from(batch.is_empty());
        batch
    }

    /// A batch that was cut has been answered.
    pub(super) fn answered(&mut self) {
        self.running -= 1;
    }

    /// The executor has dropped a worker. Returns what nobody is left to verify.
    pub(super) fn lost_worker(&mut self) -> Vec<T> {
        self.workers -= 1;
        if self.workers == 0 {
            self.take_all()
        } else {
            Vec::new()
        }
    }

    /// Takes nothing more in. Returns what waits.
    pub(super) fn close(&mut self) -> Vec<T> {
        self.closed = true;
        self.take_all()
    }

    fn take_all(&mut self) -> Vec<T> {
        let mut all = Vec::new();
        for class in &mut self.classes {
            class.bytes = 0;
            all.extend(class.waiting.drain(..).map(|(entry, _)| entry));
        }
        all
    }

    /// Entries that wait.
    pub(super) fn waiting(&self) -> usize {
        self.classes.iter().map(|class| class.waiting.len()).sum()
    }

    /// Whether nothing waits and nothing runs.
    pub(super) fn is_idle(&self) -> bool {
        self.running == 0 && self.waiting() == 0
    }
}

impl<T> Class<T> {
    const fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// A thread of the model: where it stands between two steps.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    enum Thread {
        /// Is going to submit these, one step each.
        Submitting(Vec<u8>),
        /// Was given to the executor, which may run or drop it.
        Spawned,
        /// A worker between two batches.
        Looking,
        /// Has cut a batch and is verifying it; a worker, or somebody who waits.
        Verifying { batch: Vec<u8>, worker: bool },
        /// Waits for the answer to this entry and helps until it is there.
        Waiting(u8),
        /// Is going to shut the intake down.
        Closing,
    }

    #[derive(Clone, Debug)]
    struct World {
        state: State<u8>,
        threads: Vec<Thread>,
        /// How often each entry was answered.
        answers: [u8; 8],
    }

    const LIMITS: IntakeLimits = IntakeLimits {
        items: 2,
        bytes: 100,
        batch: 8,
        workers: 1,
        memory_bytes: 0,
    };

    impl World {
        fn answer(&mut self, entries: impl IntoIterator<Item = u8>) {
            for entry in entries {
                self.answers[usize::from(entry)] += 1;
            }
        }

        /// Every world that one step of thread `n` may lead to.
        fn step(&self, n: usize, limits: &IntakeLimits, drops: bool) -> Vec<Self> {
            let mut next = self.clone();
            let mut others = Vec::new();
            let thread = next.threads.swap_remove(n);
            match thread {
                Thread::Submitting(mut entries) => {
                    let entry = entries.remove(0);
                    let priority = Priority::ALL[usize::from(entry) % 3];
                    match next.state.submit(priority, entry, 10, limits) {
                        Ok(start) => {
                            if start {
                                next.threads.push(Thread::Spawned);
                            }
                            if entry % 2 == 1 {
                                next.threads.push(Thread::Waiting(entry));
                            }
                        }
                        Err((entry, _)) => next.answer([entry]),
                    }
                    if !entries.is_empty() {
                        next.threads.push(Thread::Submitting(entries));
                    }
                }
                Thread::Spawned => {
                    if drops {
                        let mut dropped = next.clone();
                        let lost = dropped.state.lost_worker();
                        dropped.answer(lost);
                        others.push(dropped);
                    }
                    next.threads.push(Thread::Looking);
                }
                Thread::Looking => {
                    let batch = next.state.cut_or_retire(limits.batch);
                    if !batch.is_empty() {
                        let worker = true;
                        next.threads.push(Thread::Verifying { batch, worker });
                    }
                }
                Thread::Verifying { batch, worker } => {
                    next.answer(batch);
                    next.state.answered();
                    if worker {
                        next.threads.push(Thread::Looking);
                    }
                }
                Thread::Waiting(entry) => {
                    if next.answers[usize::from(entry)] == 0 {
                        let batch = next.state.cut(limits.batch);
                        if batch.is_empty() {
                            // Sleeps: somebody else has to answer.
                            return Vec::new();
                        }
                        next.threads.push(Thread::Waiting(entry));
                        let worker = false;
                        next.threads.push(Thread::Verifying { batch, worker });
                    }
                }
                Thread::Closing => {
                    let waiting = next.state.close();
                    next.answer(waiting);
                }
            }
            others.push(next);
            others
        }

        /// What tells worlds apart.
        fn key(&self) -> String {
            let mut threads: Vec<String> = self
                .threads
                .iter()
                .map(|thread| format!("{thread:?}"))
                .collect();
            threads.sort_unstable();
            format!("{:?} {threads:?} {:?}", self.state, self.answers)
        }
    }

    /// Goes through all orders of steps; returns how many worlds there are.
    fn explore(start: World, limits: &IntakeLimits, drops: bool, entries: usize) -> usize {
        let mut seen = HashSet::new();
        let mut open = vec![start];
        while let Some(world) = open.pop() {
            if !seen.insert(world.key()) {
                continue;
            }
            assert!(world.answers.iter().all(|&count| count <= 1), "{world:?}");
            let before = open.len();
            for n in 0..world.threads.len() {
                open.extend(world.step(n, limits, drops));
            }
            if open.len() == before {
                // Nobody can go on: everybody is answered and has gone home.
                assert!(
                    world.threads.is_empty(),
                    "somebody waits for ever: {world:?}"
                );
                assert!(world.state.is_idle(), "{world:?}");
                assert_eq!(world.state.workers, 0, "{world:?}");
                let answered = world.answers.iter().map(|&count| usize::from(count));
                assert_eq!(answered.sum::<usize>(), entries, "{world:?}");
            }
        }
        seen.len()
    }

    #[test]
    fn every_order_of_steps_gives_every_entry_one_answer() {
        let mut worlds = 0;
        for workers in [1, 2] {
            for drops in [false, true] {
                for closing in [false, true] {
                    let mut threads = vec![
                        Thread::Submitting(vec![0, 3]),
                        Thread::Submitting(vec![1, 6]),
                    ];
                    if closing {
                        threads.push(Thread::Closing);
                    }
                    let start = World {
                        state: State::new(),
                        threads,
                        answers: [0; 8],
                    };
                    let limits = IntakeLimits { workers, ..LIMITS };
                    worlds += explore(start, &limits, drops, 4);
                }
            }
        }
        assert!(worlds > 1000, "{worlds}");
    }

    #[test]
    fn no_priority_starves() {
        let limits = IntakeLimits {
            items: 1000,
            bytes: usize::MAX,
            ..LIMITS
        };
        for max in [8, 16, 256] {
            let mut state = State::new();
            for n in 0..1000 {
                for priority in Priority::ALL {
                    assert!(state.submit(priority, (priority, n), 1, &limits).is_ok());
                }
            }
            let batch = state.cut(max);
            assert_eq!(batch.len(), max);
            let count = |wanted| {
                batch
                    .iter()
                    .filter(|(priority, _)| *priority == wanted)
                    .count()
            };
            assert_eq!(count(Priority::OwnRound), max - max / 8 * 2);
            assert_eq!(count(Priority::NextRound), max / 8);
            assert_eq!(count(Priority::Sync), max / 8);
            // In the order of arrival.
            assert!(
                batch
                    .iter()
                    .filter(|(p, _)| *p == Priority::Sync)
                    .map(|e| e.1)
                    .is_sorted()
            );
        }
        // Alone, a low priority has all places.
        let mut state = State::new();
        for n in 0..20 {
            assert!(state.submit(Priority::Sync, n, 1, &limits).is_ok());
        }
        assert_eq!(state.cut(16).len(), 16);
        assert_eq!(state.cut(16).len(), 4);
        assert!(state.cut(16).is_empty());
    }

    /// Each priority has its own limits, to the item and to the byte.
    #[test]
    fn limits() {
        let mut state = State::new();
        let limits = IntakeLimits { items: 3, ..LIMITS };
        let mut submit = |priority, bytes| {
            let result = state.submit(priority, (), bytes, &limits);
            result.map_err(|(_, error)| error)
        };
        assert_eq!(submit(Priority::Sync, 101), Err(IntakeError::QueueFull));
        assert_eq!(submit(Priority::Sync, 100), Ok(true));
        assert_eq!(submit(Priority::Sync, 1), Err(IntakeError::QueueFull));
        assert_eq!(submit(Priority::Sync, 0), Ok(false));
        assert_eq!(submit(Priority::Sync, 0), Ok(false));
        assert_eq!(submit(Priority::Sync, 0), Err(IntakeError::QueueFull));
        assert_eq!(submit(Priority::OwnRound, 100), Ok(false));
        assert_eq!(state.close().len(), 4);
        let late = state.submit(Priority::Sync, (), 0, &limits);
        assert_eq!(late, Err(((), IntakeError::ShuttingDown)));
    }
}
