//! Ranks implemented as threads of this process.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::element::{Datatype, Kind, Number, Operation};
use crate::error::Error;
use crate::message::{Received, Source};

/// The state that all ranks share.
#[derive(Debug)]
pub(crate) struct World {
    mailboxes: Vec<Mailbox>,
    ended: Vec<AtomicBool>,
    /// The first rank that panicked.
    panicked: AtomicUsize,
    /// Number of ranks that are waiting for a message or have ended.
    idle: AtomicUsize,
    /// Whether all ranks were idle at the same time. No more messages will come then.
    is_deadlocked: AtomicBool,
    /// The context of the next communicator.
    contexts: AtomicU64,
    start: Instant,
}

#[derive(Debug, Default)]
struct Mailbox {
    inbox: Mutex<Inbox>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inbox {
    messages: VecDeque<Message>,
    /// Whether its rank is waiting and nothing has changed since it last checked.
    is_waiting: bool,
}

/// A message in its receiver's mailbox.
#[derive(Debug)]
struct Message {
    context: u64,
    /// Its sender's rank in the world.
    source: usize,
    tag: u32,
    kind: Kind,
    bytes: Vec<u8>,
}

/// Tag of collective operations. Message tags are smaller.
const COLLECTIVE: u32 = 1 << 16;

impl World {
    pub(crate) fn new(ranks: usize) -> Self {
        Self {
            mailboxes: (0..ranks).map(|_| Mailbox::default()).collect(),
            ended: (0..ranks).map(|_| AtomicBool::new(false)).collect(),
            panicked: AtomicUsize::new(usize::MAX),
            idle: AtomicUsize::new(0),
            is_deadlocked: AtomicBool::new(false),
            contexts: AtomicU64::new(1),
            start: Instant::now(),
        }
    }

    /// The first rank that panicked; usize::MAX if none has.
    pub(crate) fn first_panicked(&self) -> usize {
        self.panicked.load(Ordering::Relaxed)
    }

    /// Records that a rank will send no more messages.
    pub(crate) fn end(&self, rank: usize, has_panicked: bool) {
        if has_panicked {
            let none = usize::MAX;
            _ = self.panicked.compare_exchange(none, rank, Ordering::Relaxed, Ordering::Relaxed);
        }
        self.ended[rank].store(true, Ordering::Release);
        self.wake_all();
        // Counted only now: ranks that wait for this one are not deadlocked until they have checked
        // again.
        if self.add_idle() {
            self.wake_all();
        }
    }

    /// Makes a rank check its mailbox again. A receiver holds the lock between its check and its wait.
    fn wake(&self, mailbox: &Mailbox, mut inbox: MutexGuard<'_, Inbox>) {
        if std::mem::take(&mut inbox.is_waiting) {
            self.idle.fetch_sub(1, Ordering::AcqRel);
        }
        mailbox.changed.notify_all();
    }

    fn wake_all(&self) {
        self.mailboxes.iter().for_each(|mailbox| self.wake(mailbox, mailbox.lock()));
    }

    /// Counts one more idle rank. Returns whether it was the last one; then all waiting ranks must
    /// be woken. A rank that sends or ends becomes idle only after the ranks concerned have stopped
    /// being idle.
    fn add_idle(&self) -> bool {
        let are_all = self.idle.fetch_add(1, Ordering::AcqRel) + 1 == self.mailboxes.len();
        if are_all {
            self.is_deadlocked.store(true, Ordering::Release);
        }
        are_all
    }
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A group of threads.
#[derive(Debug)]
pub(crate) struct ThreadCommunicator {
    world: Arc<World>,
    /// Distinguishes the messages of groups with common members.
    context: u64,
    /// The members' ranks in the world.
    members: Vec<usize>,
    rank: usize,
}

impl ThreadCommunicator {
    /// The communicator of all ranks of a world, for one rank.
    pub(crate) fn world(world: &Arc<World>, rank: usize) -> Self {
        Self { world: Arc::clone(world), context: 0, members: (0..world.mailboxes.len()).collect(), rank }
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    pub(crate) fn size(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn barrier(&self) -> Result<(), Error> {
        const NAME: &str = "MPI_Barrier";
        self.gathered::<u8>(&[], 0, NAME)?;
        self.spread::<u8>(&mut [], 0, NAME)
    }

    pub(crate) fn broadcast<T: Datatype>(&self, buffer: &mut [T], root: usize) -> Result<(), Error> {
        self.spread(buffer, root, "MPI_Bcast")
    }

    /// Works in place if there is no `send`.
    pub(crate) fn all_reduce<T: Number>(
        &self,
        send: Option<&[T]>,
        receive: &mut [T],
        operation: Operation,
    ) -> Result<(), Error> {
        const NAME: &str = "MPI_Allreduce";
        if let Some(send) = send {
            receive.copy_from_slice(send);
        }
        if let Some(all) = self.gathered(receive, 0, NAME)? {
            for others in all[receive.len()..].chunks_exact(receive.len().max(1)) {
                receive.iter_mut().zip(others).for_each(|(total, &other)| *total = operation.apply(*total, other));
            }
        }
        self.spread(receive, 0, NAME)
    }

    pub(crate) fn gather<T: Datatype>(&self, send: &[T], root: usize) -> Result<Option<Vec<T>>, Error> {
        self.gathered(send, root, "MPI_Gather")
    }

    pub(crate) fn send<T: Datatype>(&self, buffer: &[T], to: usize, tag: u16) -> Result<(), Error> {
        self.post(buffer, to, tag.into());
        Ok(())
    }

    pub(crate) fn receive<T: Datatype>(&self, buffer: &mut [T], from: Source, tag: u16) -> Result<Received, Error> {
        self.take(bytemuck::cast_slice_mut(buffer), T::KIND, from, tag.into(), "MPI_Recv")
    }

    pub(crate) fn send_receive<T: Datatype>(
        &self,
        (send, to): (&[T], usize),
        (receive, from): (&mut [T], Source),
        tag: u16,
    ) -> Result<Received, Error> {
        self.post(send, to, tag.into());
        self.take(bytemuck::cast_slice_mut(receive), T::KIND, from, tag.into(), "MPI_Sendrecv")
    }

    pub(crate) fn probe<T: Datatype>(&self, from: Source, tag: u16) -> Result<Option<Received>, Error> {
        let inbox = self.world.mailboxes[self.members[self.rank]].lock();
        let found = inbox.messages.iter().find(|message| self.matches(message, from, tag.into()));
        Ok(found.map(|message| Received {
            source: self.rank_of(message.source),
            count: message.bytes.len() / size_of::<T>(),
        }))
    }

    pub(crate) fn split(&self, color: i32, key: i32) -> Result<Self, Error> {
        const NAME: &str = "MPI_Comm_split";
        let size = self.size();
        let mut all = self.gathered(&[color, key], 0, NAME)?.unwrap_or_else(|| vec![0; 2 * size]);
        self.spread(&mut all, 0, NAME)?;
        let mut context = match self.rank {
            // One context for each color. There are at most as many colors as ranks.
            0 => self.world.contexts.fetch_add(size as u64, Ordering::Relaxed).to_le_bytes(),
            _ => [0; 8],
        };
        self.spread(&mut context, 0, NAME)?;
        let mut colors: Vec<i32> = all.chunks_exact(2).map(|of_rank| of_rank[0]).collect();
        let mut members: Vec<usize> = (0..size).filter(|&rank| colors[rank] == color).collect();
        // The sort is stable: equal keys keep the order of the ranks.
        members.sort_by_key(|&rank| all[2 * rank + 1]);
        let rank = members.iter().position(|&rank| rank == self.rank).expect("a rank has its own color");
        colors.sort_unstable();
        colors.dedup();
        let place = colors.iter().position(|&other| other == color).expect("a rank has its own color");
        Ok(Self {
            world: Arc::clone(&self.world),
            context: u64::from_le_bytes(context) + place as u64,
            members: members.into_iter().map(|rank| self.members[rank]).collect(),
            rank,
        })
    }

    pub(crate) fn wall_time(&self) -> f64 {
        self.world.start.elapsed().as_secs_f64()
    }

    pub(crate) fn abort(&self, code: u8) -> ! {
        panic!("rank {} aborts with code {code}", self.rank)
    }

    /// Receives the message for a posted receive.
    ///
    /// # Safety
    /// The buffer must be valid. Nothing may have used it since the receive was posted, except
    /// through the pointer that the receive's own pointer is derived from.
    #[allow(unsafe_code, reason = "the buffer of an operation that runs until its scope completes it")]
    pub(crate) unsafe fn complete(&self, posted: &PostedReceive) -> Result<Received, Error> {
        // SAFETY: guaranteed by the caller.
        let buffer = unsafe { std::slice::from_raw_parts_mut(posted.data, posted.bytes) };
        self.take(buffer, posted.kind, posted.from, posted.tag.into(), "MPI_Wait")
    }

    /// Whether [`Self::complete`] would return without waiting.
    pub(crate) fn is_there(&self, posted: &PostedReceive) -> bool {
        let inbox = self.world.mailboxes[self.members[self.rank]].lock();
        let is_silent = self.silent(posted.from).is_some();
        is_silent || inbox.messages.iter().any(|message| self.matches(message, posted.from, posted.tag.into()))
    }

    /// Puts a message into a member's mailbox.
    fn post<T: Datatype>(&self, buffer: &[T], to: usize, tag: u32) {
        let bytes = bytemuck::cast_slice(buffer).to_vec();
        let source = self.members[self.rank];
        let mailbox = &self.world.mailboxes[self.members[to]];
        let mut inbox = mailbox.lock();
        inbox.messages.push_back(Message { context: self.context, source, tag, kind: T::KIND, bytes });
        self.world.wake(mailbox, inbox);
    }

    /// Takes the first matching message out of this rank's mailbox.
    fn take(
        &self,
        buffer: &mut [u8],
        kind: Kind,
        from: Source,
        tag: u32,
        operation: &'static str,
    ) -> Result<Received, Error> {
        let mailbox = &self.world.mailboxes[self.members[self.rank]];
        let mut inbox = mailbox.lock();
        let message = loop {
            // Determine whether a message can still come before looking for it.
            let silent = self.silent(from);
            if let Some(place) = inbox.messages.iter().position(|message| self.matches(message, from, tag)) {
                break inbox.messages.remove(place).expect("its place was found");
            }
            if let Some(reason) = silent {
                return Err(Error { operation, peer: from.rank(), reason });
            }
            inbox.is_waiting = true;
            if self.world.add_idle() {
                drop(inbox);
                self.world.wake_all();
                inbox = mailbox.lock();
            }
            while inbox.is_waiting {
                inbox = mailbox.changed.wait(inbox).unwrap_or_else(PoisonError::into_inner);
            }
        };
        drop(inbox);
        let source = self.rank_of(message.source);
        let failed = |reason: String| Error { operation, peer: Some(source), reason };
        if message.kind != kind {
            return Err(failed(format!("the message is of type {:?}, not {kind:?}", message.kind)));
        }
        let Some(start) = buffer.get_mut(..message.bytes.len()) else {
            let reason = format!("the message has {} bytes, the buffer {}", message.bytes.len(), buffer.len());
            return Err(failed(reason));
        };
        start.copy_from_slice(&message.bytes);
        Ok(Received { source, count: message.bytes.len() / size_of_kind(kind) })
    }

    fn matches(&self, message: &Message, from: Source, tag: u32) -> bool {
        let is_from = from.rank().is_none_or(|rank| message.source == self.members[rank]);
        message.context == self.context && message.tag == tag && is_from
    }

    /// The reason why no further message can come from a source, if so.
    fn silent(&self, from: Source) -> Option<String> {
        let has_ended = |rank: usize| self.world.ended[self.members[rank]].load(Ordering::Acquire);
        let panicked = self.world.panicked.load(Ordering::Relaxed);
        let is_silent = match from {
            Source::Rank(rank) => has_ended(rank),
            Source::Any => (0..self.size()).filter(|&rank| rank != self.rank).all(has_ended),
        };
        match self.members.iter().position(|&member| member == panicked) {
            Some(rank) => Some(format!("rank {rank} has panicked")),
            None if is_silent => Some("the rank has ended".to_owned()),
            None if self.world.is_deadlocked.load(Ordering::Acquire) => {
                Some("a deadlock: every rank waits for a message, and none sends one".to_owned())
            }
            None => None,
        }
    }

    /// Converts a rank in the world to a rank in this group.
    fn rank_of(&self, in_world: usize) -> usize {
        self.members.iter().position(|&member| member == in_world).expect("messages come from members")
    }

    /// The buffers of all ranks, in rank order, at the root.
    fn gathered<T: Datatype>(
        &self,
        buffer: &[T],
        root: usize,
        operation: &'static str,
    ) -> Result<Option<Vec<T>>, Error> {
        if self.rank != root {
            self.post(buffer, root, COLLECTIVE);
            return Ok(None);
        }
        let mut all = vec![T::zeroed(); buffer.len() * self.size()];
        for rank in 0..self.size() {
            let part = &mut all[rank * buffer.len()..(rank + 1) * buffer.len()];
            match rank == root {
                true => part.copy_from_slice(buffer),
                false => self.take_whole(part, rank, operation)?,
            }
        }
        Ok(Some(all))
    }

    /// Copies the root's buffer to all ranks.
    fn spread<T: Datatype>(&self, buffer: &mut [T], root: usize, operation: &'static str) -> Result<(), Error> {
        if self.rank != root {
            return self.take_whole(buffer, root, operation);
        }
        (0..self.size()).filter(|&rank| rank != root).for_each(|rank| self.post(buffer, rank, COLLECTIVE));
        Ok(())
    }

    fn take_whole<T: Datatype>(&self, buffer: &mut [T], from: usize, operation: &'static str) -> Result<(), Error> {
        let length = buffer.len();
        let bytes = bytemuck::cast_slice_mut(buffer);
        let Received { count, .. } = self.take(bytes, T::KIND, Source::Rank(from), COLLECTIVE, operation)?;
        match count == length {
            true => Ok(()),
            false => {
                let reason = format!("the ranks' lengths differ: {count} and {length}");
                Err(Error { operation, peer: Some(from), reason })
            }
        }
    }
}

fn size_of_kind(kind: Kind) -> usize {
    match kind {
        Kind::U8 => 1,
        Kind::I32 | Kind::F32 => 4,
        Kind::F64 => 8,
    }
}

/// A receive that was started but has not taken its message yet.
#[derive(Debug)]
pub(crate) struct PostedReceive {
    data: *mut u8,
    bytes: usize,
    kind: Kind,
    from: Source,
    tag: u16,
}

impl PostedReceive {
    pub(crate) fn new<T: Datatype>(buffer: &mut [T], from: Source, tag: u16) -> Self {
        Self { data: buffer.as_mut_ptr().cast(), bytes: size_of_val(buffer), kind: T::KIND, from, tag }
    }

    /// Whether a message may match both receives.
    pub(crate) fn may_match(&self, other: &Self) -> bool {
        let is_same_source = match (self.from, other.from) {
            (Source::Rank(a), Source::Rank(b)) => a == b,
            _ => true,
        };
        self.tag == other.tag && is_same_source
    }
}
