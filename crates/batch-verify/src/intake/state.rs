//! What waits and who works, as steps that one lock makes whole.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{IntakeError, IntakeLimits, Origin, Priority};
use crate::schedule::LANES;

/// Items of a batch by peers under suspicion only: a vote that comes meanwhile does
/// not wait long.
const SUSPECT_BATCH: usize = 2 * LANES;
/// Trusted items that may overtake a group of suspect ones.
const PATIENCE: usize = 7 * LANES;
/// Peers whose last verdict is remembered; when there are more, all are forgotten.
const MAX_SUSPECTS: usize = 4096;
/// Empty lines that are kept for the next peers.
const SPARE_LINES: usize = 64;
/// Places of such a line, at most.
const SPARE_CAPACITY: usize = 64;

/// The state of an intake. Every method is one step; the tests below go through all
/// orders of steps. `W` wakes those who wait for a place.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(Hash))]
pub(super) struct State<T, W> {
    classes: [Class<T, W>; Priority::ALL.len()],
    /// Peers whose last verified item was refused.
    suspects: BTreeSet<u64>,
    /// Trusted items that went before suspect ones since a group of these went.
    overtaken: usize,
    /// The priority whose suspects have the next place that is theirs.
    turn: usize,
    /// Jobs handed to the executor that have neither ended nor been dropped, without
    /// those that have stepped aside.
    workers: usize,
    /// Batches that are being verified, by workers or by threads that wait, and those
    /// that are being given up.
    running: usize,
    /// Entries that were put in by somebody who is going to start workers.
    coming: usize,
    #[cfg(any(test, feature = "async"))]
    next_ticket: u64,
    closed: bool,
}

/// What waits with one priority: a line for each peer. A turn is one item, so that
/// a peer who sends much delays itself.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(Hash))]
struct Class<T, W> {
    /// The node's own items, before everybody's.
    own: VecDeque<(T, usize)>,
    lines: BTreeMap<u64, VecDeque<(T, usize)>>,
    /// The peers with lines, each once, in one of the two.
    trusted: VecDeque<u64>,
    suspected: VecDeque<u64>,
    spare: Vec<VecDeque<(T, usize)>>,
    waiting: usize,
    bytes: usize,
    /// Those who wait for a place, the first first, which is by ticket. Each has a
    /// claim to one: who has none passes only where more are free.
    senders: VecDeque<Sender<W>>,
    /// Bytes of their items.
    claimed: usize,
}

/// Somebody who waits for a place.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(Hash))]
struct Sender<W> {
    ticket: u64,
    bytes: usize,
    /// Taken when there is a place: each is woken once for it, and who does not come
    /// holds up nobody for whom there is another.
    waker: Option<W>,
}

impl<T, W> State<T, W> {
    pub(super) fn new() -> Self {
        Self {
            classes: [const { Class::new() }; Priority::ALL.len()],
            suspects: BTreeSet::new(),
            overtaken: 0,
            turn: 0,
            workers: 0,
            running: 0,
            coming: 0,
            #[cfg(any(test, feature = "async"))]
            next_ticket: 0,
            closed: false,
        }
    }

    /// Takes an entry of so many bytes in, or gives it back: nobody takes a place of
    /// those who have waited for one longer. `ticket` is of who has waited, and its waker
    /// is returned: the caller's code, not to be dropped under the lock. Afterwards a
    /// worker is to be [started](Self::start).
    pub(super) fn submit(
        &mut self,
        origin: Origin,
        ticket: Option<u64>,
        entry: T,
        bytes: usize,
        limits: &IntakeLimits,
    ) -> Result<Option<W>, (T, IntakeError)> {
        if self.closed {
            return Err((entry, IntakeError::ShuttingDown));
        }
        let class = &mut self.classes[origin.priority as usize];
        if !class.has_place(ticket, bytes, limits) {
            return Err((entry, IntakeError::QueueFull));
        }
        let gone = ticket.and_then(|ticket| class.forget(ticket));
        class.put(origin.peer, entry, bytes);
        self.coming += 1;
        Ok(gone)
    }

    /// Cuts a batch of at most `max` entries: peers in turn, the higher priorities
    /// first, one place in eight kept for each lower one that waits. Peers under
    /// suspicion fill the lanes that would stay empty, and have a group in eight, and
    /// small batches of their own when nobody else waits. Empty if nothing waits.
    pub(super) fn cut(&mut self, max: usize) -> Vec<T> {
        let waiting: usize = self.waiting().iter().sum();
        let mut batch = Vec::with_capacity(waiting.min(max));
        let Self {
            classes, suspects, ..
        } = self;
        let suspected = |peer: &u64| suspects.contains(peer);
        let doubtful = |classes: &[Class<T, W>]| classes.iter().any(|c| !c.suspected.is_empty());
        // Groups that they are owed: one in eight at most.
        let due = if max > LANES && doubtful(classes) {
            (self.overtaken / PATIENCE).min((max / LANES).div_ceil(LANES))
        } else {
            0
        };
        let trusted = max - due * LANES;
        for n in 0..classes.len() {
            let (class, lower) = classes[n..].split_at_mut(1);
            let kept = |class: &mut Class<T, W>| class.trusted(max.div_ceil(LANES), suspected);
            let kept: usize = lower.iter_mut().map(kept).sum();
            let [class] = class else { continue };
            let free = trusted.saturating_sub(batch.len() + kept);
            class.take_trusted(free, suspected, &mut batch);
        }
        if doubtful(classes) {
            self.overtaken += batch.len();
            self.overtaken -= due * PATIENCE;
            let room = if batch.is_empty() {
                self.overtaken = 0;
                SUSPECT_BATCH
            } else if due > 0 {
                batch.len() + due * LANES
            } else {
                batch.len().next_multiple_of(LANES)
            };
            // One place to each priority in turn, the others to the highest.
            let room = room.min(max);
            if batch.len() < room {
                self.turn = (self.turn + 1) % classes.len();
                classes[self.turn].take_suspected(1, suspected, &mut batch);
            }
            for class in classes {
                let free = room.saturating_sub(batch.len());
                class.take_suspected(free, suspected, &mut batch);
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

    /// A worker lets others of its pool go first, which may take long or wait for this
    /// very intake: it counts no more, so that another one is started for what comes.
    /// Whether it is to come back, with [`start`](Self::start); not if nothing waits.
    pub(super) fn step_aside(&mut self) -> bool {
        self.workers -= 1;
        self.is_waiting()
    }

    /// So many that were put in have their worker [started](Self::start) now.
    pub(super) fn came(&mut self, entries: usize) {
        self.coming -= entries;
    }

    /// Whether a worker is to be started, which counts as one at once.
    pub(super) fn start(&mut self, limits: &IntakeLimits) -> bool {
        let start = self.workers < limits.workers && self.is_waiting();
        self.workers += usize::from(start);
        start
    }

    /// What was cut, or taken to be given up, has been answered.
    pub(super) fn answered(&mut self) {
        self.running -= 1;
    }

    /// An item by `peer` was verified. It changes who is served first and nothing
    /// else.
    pub(super) fn verified(&mut self, peer: u64, valid: bool) {
        if valid {
            self.suspects.remove(&peer);
        } else {
            if self.suspects.len() >= MAX_SUSPECTS {
                self.suspects.clear();
            }
            self.suspects.insert(peer);
        }
    }

    /// The executor has dropped a worker. Returns what nobody is left to verify, which
    /// runs until it is [answered](Self::answered).
    pub(super) fn lost_worker(&mut self) -> Vec<T> {
        self.workers -= 1;
        if self.workers == 0 && self.coming == 0 {
            self.take_all()
        } else {
            Vec::new()
        }
    }

    /// Takes nothing more in. Returns what waits, which runs until it is
    /// [answered](Self::answered).
    pub(super) fn close(&mut self) -> Vec<T> {
        self.closed = true;
        self.take_all()
    }

    fn take_all(&mut self) -> Vec<T> {
        let mut all = Vec::new();
        for class in &mut self.classes {
            class.take_trusted(usize::MAX, |_| false, &mut all);
            class.take_suspected(usize::MAX, |_| true, &mut all);
        }
        self.running += usize::from(!all.is_empty());
        all
    }

    /// Whether nothing more is taken in.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Who is to be woken after entries have left: whoever has a place now; everybody
    /// once nothing more is taken in.
    pub(super) fn woken(&mut self, limits: &IntakeLimits) -> Vec<W> {
        let mut woken = Vec::new();
        for class in &mut self.classes {
            if self.closed {
                class.claimed = 0;
                woken.extend(class.senders.drain(..).filter_map(|sender| sender.waker));
            } else {
                class.wake(limits, &mut woken);
            }
        }
        woken
    }

    /// Entries that wait, by priority.
    pub(super) fn waiting(&self) -> [usize; Priority::ALL.len()] {
        self.classes.each_ref().map(|class| class.waiting)
    }

    /// Whether anything waits.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting() != [0; 3]
    }

    /// Whether nothing waits and nothing runs.
    pub(super) fn is_idle(&self) -> bool {
        self.running == 0 && !self.is_waiting()
    }
}

/// Waiting for a place.
#[cfg(any(test, feature = "async"))]
impl<T, W> State<T, W> {
    /// Stands in line behind the others with an item of so many bytes, or stays there
    /// under another waker; returns the ticket, and the waker that was replaced. If
    /// there was none, a place may have become free since it was asked for.
    pub(super) fn stand(
        &mut self,
        priority: Priority,
        ticket: Option<u64>,
        bytes: usize,
        waker: W,
    ) -> (u64, Option<W>) {
        let class = &mut self.classes[priority as usize];
        if let Some(ticket) = ticket
            && let Some(at) = class.at(ticket)
        {
            return (ticket, class.senders[at].waker.replace(waker));
        }
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        class.claimed += bytes;
        class.senders.push_back(Sender {
            ticket,
            bytes,
            waker: Some(waker),
        });
        (ticket, None)
    }

    /// Leaves the line. Returns its waker, and who is to be woken.
    pub(super) fn leave(
        &mut self,
        priority: Priority,
        ticket: u64,
        limits: &IntakeLimits,
    ) -> (Option<W>, Vec<W>) {
        let class = &mut self.classes[priority as usize];
        let gone = class.forget(ticket);
        let mut woken = Vec::new();
        class.wake(limits, &mut woken);
        (gone, woken)
    }
}

impl<T, W> Class<T, W> {
    const fn new() -> Self {
        Self {
            own: VecDeque::new(),
            lines: BTreeMap::new(),
            trusted: VecDeque::new(),
            suspected: VecDeque::new(),
            spare: Vec::new(),
            waiting: 0,
            bytes: 0,
            senders: VecDeque::new(),
            claimed: 0,
        }
    }

    fn put(&mut self, peer: Option<u64>, entry: T, bytes: usize) {
        self.waiting += 1;
        self.bytes += bytes;
        let Some(peer) = peer else {
            self.own.push_back((entry, bytes));
            return;
        };
        let line = self.lines.entry(peer).or_insert_with(|| {
            // Whether it is trusted is seen when its turn comes.
            self.trusted.push_back(peer);
            self.spare.pop().unwrap_or_default()
        });
        line.push_back((entry, bytes));
    }

    /// How many entries of the node and of trusted peers wait, up to `most`.
    fn trusted(&mut self, most: usize, suspected: impl Fn(&u64) -> bool) -> usize {
        // Whoever is first is trusted, if anybody is.
        while self.trusted.front().is_some_and(&suspected) {
            self.suspected.extend(self.trusted.pop_front());
        }
        let peers = self.trusted.iter().take(most);
        let lines = peers
            .filter(|peer| !suspected(peer))
            .map(|peer| &self.lines[peer]);
        let count = self.own.len() + lines.map(VecDeque::len).sum::<usize>();
        count.min(most)
    }

    fn take_trusted(&mut self, free: usize, suspected: impl Fn(&u64) -> bool, to: &mut Vec<T>) {
        let own = free.min(self.own.len());
        for (entry, bytes) in self.own.drain(..own) {
            self.waiting -= 1;
            self.bytes -= bytes;
            to.push(entry);
        }
        let mut free = free - own;
        while free > 0
            && let Some(peer) = self.trusted.pop_front()
        {
            if suspected(&peer) {
                self.suspected.push_back(peer);
            } else {
                free -= 1;
                if self.take_one(peer, to) {
                    self.trusted.push_back(peer);
                }
            }
        }
    }

    fn take_suspected(
        &mut self,
        mut free: usize,
        suspected: impl Fn(&u64) -> bool,
        to: &mut Vec<T>,
    ) {
        while free > 0
            && let Some(peer) = self.suspected.pop_front()
        {
            free -= 1;
            if self.take_one(peer, to) {
                if suspected(&peer) {
                    self.suspected.push_back(peer);
                } else {
                    self.trusted.push_back(peer);
                }
            }
        }
    }

    /// The first entry of a peer; whether there are more.
    fn take_one(&mut self, peer: u64, to: &mut Vec<T>) -> bool {
        let Some(line) = self.lines.get_mut(&peer) else {
            return false;
        };
        if let Some((entry, bytes)) = line.pop_front() {
            self.waiting -= 1;
            self.bytes -= bytes;
            to.push(entry);
        }
        let more = !line.is_empty();
        if !more
            && let Some(line) = self.lines.remove(&peer)
            && self.spare.len() < SPARE_LINES
            && line.capacity() <= SPARE_CAPACITY
        {
            self.spare.push(line);
        }
        more
    }

    /// Where a sender stands in the line.
    fn at(&self, ticket: u64) -> Option<usize> {
        let at = self.senders.binary_search_by_key(&ticket, |s| s.ticket);
        at.ok()
    }

    /// Takes a sender out of the line.
    fn forget(&mut self, ticket: u64) -> Option<W> {
        let sender = self.senders.remove(self.at(ticket)?)?;
        self.claimed -= sender.bytes;
        sender.waker
    }

    /// Places and bytes that are free, whoever has a claim to them.
    fn free(&self, limits: &IntakeLimits) -> (usize, usize) {
        let places = limits.items.saturating_sub(self.waiting);
        (places, limits.bytes.saturating_sub(self.bytes))
    }

    /// Whether there is a place beside those of all who have waited longer.
    fn has_place(&self, ticket: Option<u64>, bytes: usize, limits: &IntakeLimits) -> bool {
        let (places, free) = self.free(limits);
        let at = ticket.and_then(|ticket| self.at(ticket));
        let ahead = at.unwrap_or(self.senders.len());
        let claimed = || match at {
            Some(at) => self.senders.range(..at).map(|s| s.bytes).sum(),
            None => self.claimed,
        };
        ahead < places && bytes <= free.saturating_sub(claimed())
    }

    /// Wakes whoever has a place and does not know.
    fn wake(&mut self, limits: &IntakeLimits, woken: &mut Vec<W>) {
        let (places, mut free) = self.free(limits);
        for sender in self.senders.iter_mut().take(places) {
            if sender.bytes > free {
                break;
            }
            free -= sender.bytes;
            woken.extend(sender.waker.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use core::hash::{Hash, Hasher};
    use std::collections::HashSet;
    use std::hash::DefaultHasher;
    use std::thread;

    use super::*;

    /// A thread of the model: where it stands between two steps.
    #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    enum Thread {
        /// Is going to submit these, one step each; an entry above 4 waits for a
        /// place.
        Submitting(Vec<u8>),
        /// Is going to submit these in one step.
        Arriving(Vec<u8>),
        /// Is going to submit these, one step each, and to start workers for those that
        /// have places afterwards.
        Entering { entries: Vec<u8>, placed: u8 },
        /// Is going to start workers, one step each, for so many entries that came.
        Starting { came: u8, left: u8 },
        /// Polls for a place, by a waker of this number; with a ticket once it has
        /// stood in the line of its priority.
        Sending(u8, Option<u64>, u8),
        /// Has found none, and is going to stand in the line.
        Standing(u8, Option<u64>, u8),
        /// Sleeps until this waker is called, or is polled by another.
        Sleeping(u8, u64, u8),
        /// Was given to the executor, which may run or drop it.
        Spawned,
        /// A worker between two batches.
        Looking,
        /// Has cut a batch and is verifying it; a worker, or somebody who waits.
        Verifying { batch: Vec<u8>, worker: bool },
        /// A worker whose batch is answered.
        Answered,
        /// A worker that lets others go first: on top of it a job may submit an entry.
        Aside,
        /// Such a job: the worker below goes on when this entry is answered.
        Above(u8),
        /// Gives up what was taken out.
        Refusing(Vec<u8>),
        /// Waits for the answer to this entry and helps until it is there.
        Waiting(u8),
        /// Is going to shut the intake down.
        Closing,
    }

    #[derive(Clone, Debug, Hash)]
    struct World {
        state: State<u8, (u8, u8)>,
        threads: Vec<Thread>,
        /// Wakers that were called.
        woken: BTreeSet<(u8, u8)>,
        /// How often each entry was answered.
        answers: [u8; 8],
        /// What a job of the pool is going to submit, to wait for the answer without
        /// helping.
        above: Option<u8>,
    }

    const LIMITS: IntakeLimits = IntakeLimits {
        items: 2,
        bytes: 100,
        item_bytes: usize::MAX,
        batch: 8,
        workers: 1,
        memory_bytes: 0,
    };

    /// Entries 0 to 3 by peers, the others by the node.
    fn origin(entry: u8) -> Origin {
        Origin {
            peer: (entry < 4).then_some(u64::from(entry % 2)),
            priority: Priority::ALL[if entry < 4 { usize::from(entry) % 3 } else { 0 }],
        }
    }

    impl World {
        /// An entry has its place.
        fn placed(&mut self, entry: u8) {
            if entry % 2 == 1 {
                self.threads.push(Thread::Waiting(entry));
            }
            self.woken.retain(|waker| waker.0 != entry);
        }

        /// So many entries have places, for which workers are started afterwards.
        fn start_for(&mut self, came: u8) {
            if came > 0 {
                self.threads.push(Thread::Starting { came, left: came });
            }
        }

        /// An entry has its place and its worker, in one step: what may come between the two
        /// is shown by those that arrive or enter together, in smaller worlds.
        fn served(&mut self, entry: u8, limits: &IntakeLimits) {
            self.placed(entry);
            self.state.came(1);
            self.start(limits);
        }

        /// Whether a worker was started.
        fn start(&mut self, limits: &IntakeLimits) -> bool {
            let start = self.state.start(limits);
            if start {
                self.threads.push(Thread::Spawned);
            }
            start
        }

        /// After entries have left.
        fn wake(&mut self, limits: &IntakeLimits) {
            let woken = self.state.woken(limits);
            self.woken.extend(woken);
        }

        fn answer(&mut self, entries: impl IntoIterator<Item = u8>) {
            for entry in entries {
                self.answers[usize::from(entry)] += 1;
            }
        }

        /// Is going to answer what was taken out.
        fn refuse(&mut self, entries: Vec<u8>) {
            if !entries.is_empty() {
                self.threads.push(Thread::Refusing(entries));
            }
        }

        /// Whether entries are out of the queue and not answered.
        fn is_at_work(&self) -> bool {
            let at_work =
                |thread: &Thread| matches!(thread, Thread::Verifying { .. } | Thread::Refusing(_));
            self.threads.iter().any(at_work)
        }

        /// Whoever asks gives up, with or without a place in the line.
        fn leave(&mut self, entry: u8, ticket: Option<u64>, limits: &IntakeLimits) {
            if let Some(ticket) = ticket {
                let (_, woken) = self.state.leave(origin(entry).priority, ticket, limits);
                self.woken.extend(woken);
            }
            self.woken.retain(|waker| waker.0 != entry);
            self.answer([entry]);
        }

        /// Every world that one step of thread `n` may lead to.
        fn step(&self, n: usize, limits: &IntakeLimits, drops: bool) -> Vec<Self> {
            let mut next = self.clone();
            let mut others = Vec::new();
            let thread = next.threads.swap_remove(n);
            match thread {
                Thread::Submitting(mut entries) => {
                    let entry = entries.remove(0);
                    if entry > 4 {
                        next.threads.push(Thread::Sending(entry, None, 0));
                    } else {
                        match next.state.submit(origin(entry), None, entry, 10, limits) {
                            Ok(_) => next.served(entry, limits),
                            Err((entry, _)) => next.answer([entry]),
                        }
                    }
                    if !entries.is_empty() {
                        next.threads.push(Thread::Submitting(entries));
                    }
                }
                Thread::Arriving(entries) => {
                    let mut placed = 0;
                    for entry in entries {
                        match next.state.submit(origin(entry), None, entry, 10, limits) {
                            Ok(_) => {
                                next.placed(entry);
                                placed += 1;
                            }
                            Err((entry, _)) => next.answer([entry]),
                        }
                    }
                    next.start_for(placed);
                }
                Thread::Entering {
                    mut entries,
                    mut placed,
                } => {
                    if let Some(entry) = entries.pop() {
                        match next.state.submit(origin(entry), None, entry, 10, limits) {
                            Ok(_) => {
                                next.placed(entry);
                                placed += 1;
                            }
                            Err((entry, _)) => next.answer([entry]),
                        }
                        next.threads.push(Thread::Entering { entries, placed });
                    } else {
                        next.start_for(placed);
                    }
                }
                Thread::Starting { came, left } => {
                    next.state.came(came.into());
                    if next.start(limits) && left > 1 {
                        let (came, left) = (0, left - 1);
                        next.threads.push(Thread::Starting { came, left });
                    }
                }
                Thread::Sending(entry, ticket, waker) => {
                    match next.state.submit(origin(entry), ticket, entry, 10, limits) {
                        Ok(_) => next.served(entry, limits),
                        Err((entry, IntakeError::QueueFull)) => {
                            next.threads.push(Thread::Standing(entry, ticket, waker));
                        }
                        Err((entry, _)) => next.leave(entry, ticket, limits),
                    }
                }
                Thread::Standing(entry, ticket, waker) => {
                    let priority = origin(entry).priority;
                    let stood = next.state.stand(priority, ticket, 10, (entry, waker));
                    // Nobody else may be left to make a place.
                    next.start(limits);
                    next.threads.push(match stood {
                        (ticket, Some(_)) => Thread::Sleeping(entry, ticket, waker),
                        (ticket, None) => Thread::Sending(entry, Some(ticket), waker),
                    });
                }
                Thread::Sleeping(entry, ticket, waker) => {
                    if entry % 2 == 0 {
                        // Whoever asks may lose patience at any time.
                        let mut left = next.clone();
                        left.leave(entry, Some(ticket), limits);
                        others.push(left);
                    } else if waker == 0 {
                        // Or go on as another task, whose waker is another.
                        let mut moved = next.clone();
                        let thread = Thread::Sending(entry, Some(ticket), 1);
                        moved.threads.push(thread);
                        others.push(moved);
                    }
                    if !next.woken.remove(&(entry, waker)) {
                        // Somebody has to wake it.
                        return others;
                    }
                    let thread = Thread::Sending(entry, Some(ticket), waker);
                    next.threads.push(thread);
                }
                Thread::Spawned => {
                    if drops {
                        let mut dropped = next.clone();
                        let lost = dropped.state.lost_worker();
                        if !lost.is_empty() {
                            dropped.wake(limits);
                        }
                        dropped.refuse(lost);
                        others.push(dropped);
                    }
                    next.threads.push(Thread::Looking);
                }
                Thread::Looking => {
                    let batch = next.state.cut_or_retire(limits.batch);
                    if !batch.is_empty() {
                        next.wake(limits);
                    }
                    if !batch.is_empty() {
                        let worker = true;
                        next.threads.push(Thread::Verifying { batch, worker });
                    }
                }
                Thread::Verifying { batch, worker } => {
                    for peer in batch.iter().filter_map(|entry| origin(*entry).peer) {
                        next.state.verified(peer, peer == 0);
                    }
                    next.answer(batch);
                    next.state.answered();
                    if worker {
                        next.threads.push(Thread::Answered);
                    }
                }
                Thread::Answered => {
                    if next.state.step_aside() {
                        next.threads.push(Thread::Aside);
                    }
                }
                Thread::Aside => {
                    if let Some(entry) = next.above {
                        let mut above = next.clone();
                        above.above = None;
                        match above.state.submit(origin(entry), None, entry, 10, limits) {
                            Ok(_) => above.served(entry, limits),
                            Err((entry, _)) => above.answer([entry]),
                        }
                        above.threads.push(Thread::Above(entry));
                        others.push(above);
                    }
                    next.start(limits);
                }
                Thread::Above(entry) => {
                    if next.answers[usize::from(entry)] == 0 {
                        // Somebody else has to answer.
                        return Vec::new();
                    }
                    next.threads.push(Thread::Aside);
                }
                Thread::Refusing(entries) => {
                    next.answer(entries);
                    next.state.answered();
                }
                Thread::Waiting(entry) => {
                    if next.answers[usize::from(entry)] == 0 {
                        let batch = next.state.cut(limits.batch);
                        if batch.is_empty() {
                            // Sleeps: somebody else has to answer.
                            return Vec::new();
                        }
                        next.wake(limits);
                        next.threads.push(Thread::Waiting(entry));
                        let worker = false;
                        next.threads.push(Thread::Verifying { batch, worker });
                    }
                }
                Thread::Closing => {
                    let waiting = next.state.close();
                    next.wake(limits);
                    next.refuse(waiting);
                }
            }
            others.push(next);
            others
        }

        /// What tells worlds apart: any two of a million share one with a chance below one in
        /// ten million.
        fn fingerprint(&mut self) -> u64 {
            // Their order is nothing.
            self.threads.sort_unstable();
            let mut hasher = DefaultHasher::new();
            self.hash(&mut hasher);
            hasher.finish()
        }
    }

    /// Goes through all orders of steps; returns how many worlds there are.
    fn explore(start: World, limits: &IntakeLimits, drops: bool, entries: usize) -> usize {
        let mut seen = HashSet::new();
        let mut open = vec![start];
        while let Some(mut world) = open.pop() {
            if !seen.insert(world.fingerprint()) {
                continue;
            }
            assert!(world.answers.iter().all(|&count| count <= 1), "{world:?}");
            // Who drains returns when all are answered.
            assert!(!world.state.is_idle() || !world.is_at_work(), "{world:?}");
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
                let never = usize::from(world.above.is_some());
                assert_eq!(answered.sum::<usize>() + never, entries, "{world:?}");
            }
        }
        seen.len()
    }

    /// Goes through worlds in which jobs may be dropped or the intake be closed; returns how
    /// many there are.
    fn explore_all(drops: bool, closing: bool) -> usize {
        let mut worlds = 0;
        // Items by peers, items that are waited for; two who wait for places, of
        // which some move to other tasks; a job that waits on top of a worker.
        // Some arrive together, some one after the other before a worker is
        // started for them.
        for (workers, items, submitting, together, above) in [
            (1, 1, vec![vec![0, 3], vec![1, 6]], vec![], None),
            (2, 1, vec![vec![0], vec![1, 6]], vec![], None),
            (1, 1, vec![vec![0], vec![5], vec![6]], vec![], None),
            (1, 2, vec![vec![0, 1], vec![2]], vec![], Some(4)),
            (2, 2, vec![vec![0, 3], vec![2]], vec![], Some(4)),
            (1, 1, vec![vec![6]], vec![0, 3, 1], None),
            (2, 2, vec![vec![2]], vec![0, 1, 3], Some(4)),
        ] {
            let submitted: usize = submitting.iter().map(Vec::len).sum();
            let entries = submitted + together.len() + usize::from(above.is_some());
            let threads = submitting.into_iter().map(Thread::Submitting);
            let closing = closing.then_some(Thread::Closing);
            let start = World {
                state: State::new(),
                threads: threads.chain(closing).collect(),
                woken: BTreeSet::new(),
                answers: [0; 8],
                above,
            };
            let limits = IntakeLimits {
                workers,
                items,
                ..LIMITS
            };
            let nobody = together.is_empty();
            let arriving = Thread::Arriving(together.clone());
            let entering = Thread::Entering {
                entries: together,
                placed: 0,
            };
            // Nobody arrives in one way only.
            let ways = if nobody { 1 } else { 2 };
            for together in [arriving, entering].into_iter().take(ways) {
                let mut start = start.clone();
                start.threads.push(together);
                worlds += explore(start, &limits, drops, entries);
            }
        }
        worlds
    }

    #[test]
    fn every_order_of_steps_gives_every_entry_one_answer() {
        let choices = [(false, false), (false, true), (true, false), (true, true)];
        thread::scope(|scope| {
            let all =
                choices.map(|(drops, closing)| scope.spawn(move || explore_all(drops, closing)));
            for explored in all {
                let worlds = explored.join().unwrap();
                println!("{worlds} worlds");
                assert!(worlds > 1000, "{worlds}");
            }
        });
    }

    #[test]
    fn no_priority_starves() {
        let limits = IntakeLimits {
            items: 1000,
            bytes: usize::MAX,
            ..LIMITS
        };
        for max in [8, 16, 256] {
            let mut state: State<_, ()> = State::new();
            for n in 0..1000 {
                for priority in Priority::ALL {
                    let submitted = state.submit(priority.into(), None, (priority, n), 1, &limits);
                    assert!(submitted.is_ok());
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
        let mut state: State<_, ()> = State::new();
        for n in 0..20 {
            let submitted = state.submit(Priority::Sync.into(), None, n, 1, &limits);
            assert!(submitted.is_ok());
        }
        assert_eq!(state.cut(16).len(), 16);
        assert_eq!(state.cut(16).len(), 4);
        assert!(state.cut(16).is_empty());
    }

    /// Each priority has its own limits, to the item and to the byte.
    #[test]
    fn limits() {
        let mut state: State<_, ()> = State::new();
        let limits = IntakeLimits { items: 3, ..LIMITS };
        let mut submit = |priority: Priority, bytes| {
            let result = state.submit(priority.into(), None, (), bytes, &limits);
            result.map_err(|(_, error)| error)?;
            Ok(state.start(&limits))
        };
        assert_eq!(submit(Priority::Sync, 101), Err(IntakeError::QueueFull));
        assert_eq!(submit(Priority::Sync, 100), Ok(true));
        assert_eq!(submit(Priority::Sync, 1), Err(IntakeError::QueueFull));
        assert_eq!(submit(Priority::Sync, 0), Ok(false));
        assert_eq!(submit(Priority::Sync, 0), Ok(false));
        assert_eq!(submit(Priority::Sync, 0), Err(IntakeError::QueueFull));
        assert_eq!(submit(Priority::OwnRound, 100), Ok(false));
        assert_eq!(state.close().len(), 4);
        let late = state.submit(Priority::Sync.into(), None, (), 0, &limits);
        assert!(matches!(late, Err(((), IntakeError::ShuttingDown))));
    }

    const WIDE: IntakeLimits = IntakeLimits {
        items: 10_000,
        bytes: usize::MAX,
        ..LIMITS
    };

    fn put(state: &mut State<(u64, usize), ()>, peer: u64, count: usize) {
        for n in 0..count {
            let origin = Origin::peer(peer, Priority::OwnRound);
            assert!(state.submit(origin, None, (peer, n), 1, &WIDE).is_ok());
        }
    }

    /// A peer who sends much delays itself.
    #[test]
    fn peers_take_turns() {
        let mut state = State::new();
        put(&mut state, 1, 1000);
        put(&mut state, 2, 3);
        put(&mut state, 3, 1);
        let batch = state.cut(8);
        let peers: Vec<u64> = batch.iter().map(|(peer, _)| *peer).collect();
        assert_eq!(peers, [1, 2, 3, 1, 2, 1, 2, 1]);
        // Each in the order in which it has sent, to the last.
        let mut all = batch;
        loop {
            let batch = state.cut(64);
            if batch.is_empty() {
                break;
            }
            all.extend(batch);
        }
        assert_eq!(all.len(), 1004);
        for (peer, count) in [(1, 1000), (2, 3), (3, 1)] {
            let sent = all.iter().filter(|(other, _)| *other == peer);
            assert!(sent.map(|(_, n)| *n).eq(0..count));
        }
        assert_eq!((state.waiting(), state.classes[0].bytes), ([0; 3], 0));
    }

    /// A peer whose last item was refused waits behind the others, and not for ever.
    #[test]
    fn suspects_fill_the_lanes_and_do_not_starve() {
        let mut state = State::new();
        state.verified(1, false);
        put(&mut state, 1, 1000);
        assert_eq!(state.cut(64).len(), SUSPECT_BATCH);
        put(&mut state, 2, 3);
        let batch = state.cut(64);
        assert_eq!(batch.iter().filter(|(peer, _)| *peer == 2).count(), 3);
        assert_eq!(batch.len(), LANES);
        // Under as much honest traffic as there is room for.
        for max in [16, 64] {
            let (mut honest, mut suspect) = (0, 0);
            for _ in 0..100 {
                put(&mut state, 2, max);
                let batch = state.cut(max);
                assert_eq!(batch.len(), max);
                suspect += batch.iter().filter(|(peer, _)| *peer == 1).count();
                honest += batch.iter().filter(|(peer, _)| *peer == 2).count();
            }
            assert!(
                suspect * 9 >= honest && suspect * 6 <= honest,
                "{honest} {suspect}"
            );
            while state.cut(64).iter().any(|(peer, _)| *peer == 2) {}
            put(&mut state, 1, 1000);
        }
        // A valid item, and it is like everybody.
        state.verified(1, true);
        put(&mut state, 2, 100);
        while state.classes[0].suspected.contains(&1) {
            state.cut(64);
        }
        put(&mut state, 2, 100);
        let batch = state.cut(64);
        assert!(batch.iter().filter(|(peer, _)| *peer == 1).count() >= 31);
    }

    /// Suspects of a low priority are served beside any flood of suspects above them,
    /// and keep no places from anybody.
    #[test]
    fn suspects_of_no_priority_starve() {
        for flooded in 0..2 {
            let mut state = State::new();
            state.verified(1, false);
            state.verified(2, false);
            let low = Origin::peer(2, Priority::Sync);
            for n in 0..10 {
                assert!(state.submit(low, None, (2, n), 1, &WIDE).is_ok());
            }
            put(&mut state, 1, 1000);
            let served =
                |batch: &[(u64, usize)]| batch.iter().filter(|(peer, _)| *peer == 2).count();
            let mut count = 0;
            for _ in 0..100 {
                // Places for suspects are few, or all.
                put(&mut state, 3, 63 * flooded);
                let batch = state.cut(64);
                assert!(batch.iter().filter(|(peer, _)| *peer == 3).count() >= 48 * flooded);
                count += served(&batch);
            }
            assert_eq!(count, 10);
        }
    }

    /// Suspicion is remembered in bounded memory.
    #[test]
    fn suspects_are_bounded() {
        let mut state: State<(), ()> = State::new();
        for peer in 0..3 * MAX_SUSPECTS as u64 {
            state.verified(peer, false);
            assert!(state.suspects.contains(&peer));
            assert!(state.suspects.len() <= MAX_SUSPECTS);
        }
    }
}
