//! The happens-before relation of a launch's accesses.

use std::num::NonZero;

use rustc_hash::FxHashMap;

use super::access::{
    AccessKind, FIRST_AGENT, Fence, Location, Observation, Phase, Publication, Record, Scope, Thread, ThreadEpoch,
    Threads, Watched,
};
use super::clock::Clock;

/// Maximum number of phases kept at a time: a phase number and a lane must fit in 32 bits, and the
/// table in 128 MiB.
const MAX_PHASES: usize = 1 << 22;

/// Maximum number of acquiring threads, or groups of a warp's lanes, that are distinguished per
/// block between two barriers.
const MAX_ACQUIRERS: usize = 64;

/// The clock that lanes of a warp have acquired since their block's last barrier.
#[derive(Debug)]
struct Acquired {
    by: Phase,
    /// Bit i is lane i.
    lanes: u32,
    clock: Clock,
}

impl Acquired {
    /// Whether any of the lanes comes after the acquisition.
    fn is_visible_to(&self, phase: Phase, lanes: u32) -> bool {
        self.by.barriers < phase.barriers
            || self.by.warp == phase.warp && (self.lanes & lanes != 0 || self.by.warp_syncs < phase.warp_syncs)
    }
}

/// A barrier that threads arrive at and pass individually, rather than as a whole block or warp.
#[derive(Debug, Default)]
struct SplitBarrier {
    /// Accesses that happen before the arrivals so far.
    arrived: Clock,
    /// Accesses that happen before the arrivals of its last completion.
    complete: Clock,
    /// Number of its completions.
    completions: u32,
    /// For an mbarrier, the agents of blocks that have stored asynchronously for its phases, by the
    /// block's number.
    agents: Vec<(u32, u32)>,
}

/// A barrier of a block, or of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierOf {
    /// A numbered barrier of a block.
    Block {
        /// The block.
        block: u32,
        /// The barrier's number.
        number: u8,
    },
    /// The barrier of the cluster with this number.
    Cluster(u32),
    /// The mbarrier that begins at this byte.
    Memory(Location),
}

impl BarrierOf {
    /// Whether it is an mbarrier in this region.
    pub(super) fn is_in(self, region: Watched) -> bool {
        matches!(self, Self::Memory(location) if location.region == region)
    }
}

/// Clocks of a thread's relaxed accesses. A fence turns them into an acquire or a release.
#[derive(Debug, Default)]
struct Pending {
    /// Indexed by the scope of the synchronization. Observed by its relaxed loads, and acquired at
    /// its next fence of that scope or a wider one.
    seen: [Clock; 3],
    /// The state at its last fence of that scope or a wider one. Released by its relaxed stores.
    fenced: [Clock; 3],
    /// Observed by its relaxed counter operations.
    counted: Clock,
    /// Its last observations at some locations, with the location's state. Repeating one has no
    /// effect.
    observed: Vec<(Location, Observation, u64)>,
}

/// Maximum number of locations for which a thread's last observation is kept.
const MAX_OBSERVED: usize = 8;

impl Pending {
    /// Keeps an observation. Returns whether it was already kept.
    fn has_observed(&mut self, location: Location, observation: Observation, version: u64) -> bool {
        match self.observed.iter_mut().find(|(of, ..)| *of == location) {
            Some(known) => {
                (known.1, known.2) == (observation, version) || {
                    *known = (location, observation, version);
                    false
                }
            }
            None => {
                if self.observed.len() == MAX_OBSERVED {
                    self.observed.remove(0);
                }
                self.observed.push((location, observation, version));
                false
            }
        }
    }
}

/// Accesses released at a location.
#[derive(Debug, Default)]
struct ReleasedAt {
    /// Changes with each release.
    version: u64,
    /// Released by writes of device scope.
    device: Clock,
    /// Released by the writes of each block, and by each cluster's writes of cluster scope or
    /// wider. Only kernels with narrow scopes need them.
    of_block: FxHashMap<u32, Clock>,
    of_cluster: FxHashMap<u32, Clock>,
}

#[derive(Debug, Default)]
struct BlockSync {
    releases: u32,
    /// Acquired by all threads of the block.
    shared: Clock,
    acquired: Vec<Acquired>,
    pending: FxHashMap<(u32, u32), Pending>,
    /// Accesses before its threads' sequentially consistent fences. Each thread publishes them with
    /// its writes after a barrier.
    fenced: AcrossBarriers,
    /// Observations of its threads' relaxed loads. Each thread acquires them at its next
    /// sequentially consistent fence after a barrier.
    seen: AcrossBarriers,
    /// Observations of its threads' relaxed counter operations, at the widest scope.
    counted: AcrossBarriers,
}

/// Clocks of a block's threads by scope, which other threads of the block use after a barrier.
#[derive(Debug, Default)]
struct AcrossBarriers {
    /// Clocks before the block's last barrier.
    before: [Clock; 3],
    /// Clocks since then.
    since: [Clock; 3],
    /// The number of that barrier.
    barriers: u32,
}

impl AcrossBarriers {
    /// The clocks before the block's last barrier.
    fn before(&mut self, phase: Phase) -> &[Clock; 3] {
        let Self { before, since, barriers } = self;
        if *barriers < phase.barriers {
            *barriers = phase.barriers;
            before.iter_mut().zip(since).for_each(|(before, since)| before.join(&std::mem::take(since)));
        }
        &self.before
    }

    fn add(&mut self, phase: Phase, within: usize, clock: &Clock) {
        self.before(phase);
        self.since[within].join(clock);
    }
}

impl BlockSync {
    /// Everything that lanes of a warp have acquired, excluding their own block's accesses.
    fn acquired_by(&self, phase: Phase, lanes: u32) -> Clock {
        let mut clock = self.shared.clone();
        for acquired in self.acquired.iter().filter(|acquired| acquired.is_visible_to(phase, lanes)) {
            clock.join(&acquired.clock);
        }
        clock
    }

    fn acquire(&mut self, phase: Phase, lanes: u32, clock: &Clock) {
        if clock.is_empty() {
            return;
        }
        let too_many = self.acquired.len() == MAX_ACQUIRERS;
        let shared = &mut self.shared;
        self.acquired.retain(|acquired| {
            let move_to_shared = too_many || acquired.by.barriers < phase.barriers;
            if move_to_shared {
                shared.join(&acquired.clock);
            }
            !move_to_shared
        });
        // One entry per phase: clocks acquired after a warp synchronization are not visible to the
        // warp yet.
        let same = |acquired: &&mut Acquired| acquired.by == phase && acquired.lanes == lanes;
        if let Some(acquired) = self.acquired.iter_mut().find(same) {
            return acquired.clock.join(clock);
        }
        // Merge everything that the whole warp acquired earlier into one entry.
        let of_warp =
            |acquired: &mut Acquired| acquired.by.warp == phase.warp && acquired.by.warp_syncs < phase.warp_syncs;
        let of_warp = self.acquired.extract_if(.., of_warp).reduce(|mut all, acquired| {
            all.clock.join(&acquired.clock);
            all
        });
        self.acquired.extend(of_warp);
        self.acquired.push(Acquired { by: phase, lanes, clock: clock.clone() });
    }
}

/// The happens-before relation: phases, and the clocks that each block has acquired and released.
#[derive(Debug, Default)]
pub(super) struct HappensBefore {
    /// Each phase with the number of earlier releases of its block. Each release splits the block's
    /// phases.
    phases: Vec<(Phase, u32)>,
    /// Index of the most recently requested phase.
    recent: usize,
    /// Index of the latest phase of each warp.
    latest: FxHashMap<(u32, u32), usize>,
    blocks: FxHashMap<u32, BlockSync>,
    locations: FxHashMap<Location, ReleasedAt>,
    /// Number of releases so far.
    releases: u64,
    barriers: FxHashMap<BarrierOf, SplitBarrier>,
    /// The block of each agent.
    agents: Vec<u32>,
    /// Number of blocks of a cluster.
    cluster: u32,
    /// Whether there are scopes narrower than the device.
    has_narrow_scopes: bool,
    /// The size in bytes of each instruction's access; 0 if unknown.
    sizes: Vec<u8>,
}

impl HappensBefore {
    pub(super) fn new(cluster: u32, has_narrow_scopes: bool, sizes: Vec<u8>) -> Self {
        Self { cluster, has_narrow_scopes, sizes, ..Self::default() }
    }

    /// Whether an atomic access overlaps an earlier one only partially. Then they are not morally
    /// strong (PTX ISA, Memory Consistency Model, Morally Strong Operations). Volatile accesses are
    /// not atomic.
    pub(super) fn differ_in_size(&self, kind: AccessKind, bytes: usize, earlier: Record) -> bool {
        let size = self.sizes.get(earlier.instruction() as usize).copied().unwrap_or(0);
        let is_volatile = kind.is_volatile() || earlier.strong_write().is_volatile();
        !is_volatile && size != 0 && usize::from(size) != bytes
    }

    /// The lanes for which an access like `earlier`, of this kind, becomes redundant: apart from
    /// order, whatever races with it also races with `later`. An access that is morally strong with
    /// one of them is also morally strong with the other if block, scope and size are the same. And
    /// accesses that acquire a volatile store come after the same thread's earlier ones.
    #[inline]
    pub(super) fn lanes_with(&self, later: Record, earlier: Record, kind: AccessKind) -> u32 {
        if !later.has_tag_of(earlier) {
            return 0;
        }
        if kind.scope().is_none() {
            return u32::MAX;
        }
        let [one, other] = [later, earlier].map(|record| self.epoch_of(record).phase);
        let size = |record: Record| self.sizes.get(record.instruction() as usize);
        if self.has_narrow_scopes && one.block != other.block || size(later) != size(earlier) {
            return 0;
        }
        match kind == AccessKind::VolatileWrite {
            true if (one.block, one.warp) == (other.block, other.warp) => 1 << later.lane(),
            true => 0,
            false => u32::MAX,
        }
    }

    /// The narrowest scope that includes both threads.
    pub(super) fn distance(&self, one: ThreadEpoch, other: ThreadEpoch) -> Scope {
        let [one, other] = [one, other].map(|epoch| self.block_of(epoch.phase));
        if one == other {
            Scope::Block
        } else if one / self.cluster == other / self.cluster {
            Scope::Cluster
        } else {
            Scope::Device
        }
    }

    /// The block of a phase. For an agent's phase, the block that it represents.
    pub(super) fn block_of(&self, phase: Phase) -> u32 {
        phase.block.checked_sub(FIRST_AGENT).map_or(phase.block, |agent| self.agents[agent as usize])
    }

    /// Whether an earlier volatile store was released and then acquired by the later thread.
    pub(super) fn has_acquired_store(&self, location: Location, earlier: ThreadEpoch, later: ThreadEpoch) -> bool {
        self.has_acquired(later, |clock| clock.covers_store(location, earlier))
    }

    /// Reduces a scope to the scopes that this kernel distinguishes.
    fn effective(&self, scope: Scope) -> Scope {
        if self.has_narrow_scopes { scope } else { Scope::Device }
    }

    /// The current epoch of a thread.
    #[inline]
    pub(super) fn thread_epoch(&mut self, Thread { phase, lane }: Thread) -> ThreadEpoch {
        let release = if self.blocks.is_empty() { 0 } else { self.releases(phase.block) };
        if self.phases.get(self.recent) != Some(&(phase, release)) {
            self.recent = self.index(phase, release);
        }
        ThreadEpoch { phase, lane, release, number: number(self.recent, lane) }
    }

    fn index(&mut self, phase: Phase, release: u32) -> usize {
        let latest = self.latest.entry((phase.block, phase.warp)).or_insert(usize::MAX);
        if self.phases.get(*latest) != Some(&(phase, release)) {
            self.phases.push((phase, release));
            *latest = self.phases.len() - 1;
        }
        *latest
    }

    /// The epoch in which an access was made.
    #[inline]
    pub(super) fn epoch_of(&self, record: Record) -> ThreadEpoch {
        let number = record.epoch.get();
        let (phase, release) = self.phases[(number >> 5) as usize - 1];
        ThreadEpoch { phase, lane: number & 31, release, number: record.epoch }
    }

    /// Whether an earlier access, which reads or writes, happens before the current one.
    #[inline]
    pub(super) fn is_ordered<const IS_READ: bool>(&self, earlier: ThreadEpoch, later: ThreadEpoch) -> bool {
        if is_of_thread(earlier, later) || follows_barrier(earlier.phase, later.phase) {
            return true;
        }
        !self.blocks.is_empty() && self.has_acquired(later, |clock| clock.covers::<IS_READ>(earlier))
    }

    /// Whether an earlier access happens before the next accesses of every lane in the later one's
    /// warp.
    #[inline]
    pub(super) fn precedes_warp(&self, earlier: ThreadEpoch, later: ThreadEpoch) -> bool {
        follows_barrier(earlier.phase, later.phase)
            || self.is_synchronised(later.phase.block)
                && self.has_acquired_by(later.phase, 0, |clock| clock.covers::<false>(earlier))
    }

    /// Whether an earlier access happens before the current one, also if the lanes of both are
    /// shifted up by the same amount.
    pub(super) fn is_ordered_alike(&self, earlier: ThreadEpoch, later: ThreadEpoch) -> bool {
        is_of_thread(earlier, later)
            || follows_barrier(earlier.phase, later.phase)
            || self.has_acquired_by(later.phase, 0, |clock| clock.covered_lanes::<false>(earlier) == u32::MAX)
    }

    /// Whether no thread has released, observed or fenced anything so far. Then a relaxed atomic
    /// operation orders nothing.
    #[inline]
    pub(super) fn has_no_releases(&self) -> bool {
        self.locations.is_empty() && self.blocks.is_empty()
    }

    /// Whether a block's accesses are ordered by more than its barriers and its warps' barriers.
    #[inline]
    pub(super) fn is_synchronised(&self, block: u32) -> bool {
        !self.blocks.is_empty() && self.blocks.contains_key(&block)
    }

    /// The lanes of a mask with accesses that do not happen before the current one, assuming that
    /// every lane made an access like `earlier`, which reads or writes.
    pub(super) fn unordered_lanes<const IS_READ: bool>(
        &self,
        earlier: ThreadEpoch,
        mut lanes: u32,
        later: ThreadEpoch,
    ) -> u32 {
        let (before, now) = (earlier.phase, later.phase);
        if follows_barrier(before, now) {
            return 0;
        }
        if (before.block, before.warp) == (now.block, now.warp) {
            lanes &= !(1 << later.lane);
        }
        let Some(block) = self.blocks.get(&now.block).filter(|_| lanes != 0) else { return lanes };
        lanes &= !block.shared.covered_lanes::<IS_READ>(earlier);
        for acquired in block.acquired.iter().filter(|acquired| acquired.is_visible_to(now, 1 << later.lane)) {
            if lanes == 0 {
                break;
            }
            lanes &= !acquired.clock.covered_lanes::<IS_READ>(earlier);
        }
        lanes
    }

    /// Whether any clock visible to a thread covers something.
    fn has_acquired(&self, thread: ThreadEpoch, covers: impl Fn(&Clock) -> bool) -> bool {
        self.has_acquired_by(thread.phase, 1 << thread.lane, covers)
    }

    /// Whether any clock visible to the whole warp, or to one of the lanes, covers something.
    fn has_acquired_by(&self, phase: Phase, lanes: u32, covers: impl Fn(&Clock) -> bool) -> bool {
        let Some(block) = self.blocks.get(&phase.block) else { return false };
        let mut acquired = block.acquired.iter().filter(|acquired| acquired.is_visible_to(phase, lanes));
        covers(&block.shared) || acquired.any(|acquired| covers(&acquired.clock))
    }

    /// Whether a relaxed counter operation told the later thread, or its block before the last
    /// barrier, of an earlier write. Then only a fence after that operation is missing.
    #[cold]
    pub(super) fn lacks_a_fence(&mut self, earlier: ThreadEpoch, later: ThreadEpoch) -> bool {
        let Some(block) = self.blocks.get_mut(&later.phase.block) else { return false };
        let own = block.pending.get(&(later.phase.warp, later.lane));
        own.is_some_and(|pending| pending.counted.covers::<false>(earlier))
            || block.counted.before(later.phase)[Scope::Device as usize].covers::<false>(earlier)
    }

    /// Whether the table of phases is full. Then all records must be dropped.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.phases.len() == MAX_PHASES
    }

    pub(super) fn forget_phases(&mut self) {
        self.phases.clear();
        self.latest.clear();
    }

    pub(super) fn forget_locations(&mut self, watched: Watched) {
        self.locations.retain(|location, _| location.region != watched);
        let of_region = |barrier: &BarrierOf, _: &mut _| barrier.is_in(watched);
        let agents: Vec<u32> = self
            .barriers
            .extract_if(of_region)
            .flat_map(|(_, barrier)| barrier.agents)
            .map(|(_, agent)| agent)
            .collect();
        if !agents.is_empty() {
            self.latest.retain(|warp, _| !agents.contains(&warp.0));
        }
    }

    pub(super) fn end_block(&mut self, block: u32) {
        self.blocks.remove(&block);
        self.barriers.retain(|barrier, _| !matches!(barrier, BarrierOf::Block { block: of, .. } if *of == block));
        self.latest.retain(|warp, _| warp.0 != block);
    }

    pub(super) fn observe(&mut self, location: Location, thread: Thread, observation: Observation) {
        let Thread { phase, lane } = thread;
        let Observation { scope, acquires, counts } = observation;
        let scope = self.effective(scope);
        let Some(released) = self.locations.get(&location) else { return };
        let block = self.blocks.entry(phase.block).or_default();
        let pending = block.pending.entry((phase.warp, lane)).or_default();
        if pending.has_observed(location, observation, released.version) {
            return;
        }
        // Synchronize at each scope that both sides have.
        for within in Scope::ALL.into_iter().filter(|within| *within <= scope) {
            let clock = match within {
                Scope::Block => released.of_block.get(&phase.block),
                Scope::Cluster => released.of_cluster.get(&(phase.block / self.cluster)),
                Scope::Device => Some(&released.device),
            };
            let Some(clock) = clock else { continue };
            if acquires {
                block.acquire(phase, thread.mask(), clock);
            } else {
                let pending = block.pending.entry((phase.warp, lane)).or_default();
                pending.seen[within as usize].join(clock);
                block.seen.add(phase, within as usize, clock);
                if counts {
                    pending.counted.join(clock);
                    block.counted.add(phase, Scope::Device as usize, clock);
                }
            }
        }
    }

    pub(super) fn publish(&mut self, location: Location, thread: Thread, publication: Publication) {
        let Thread { phase, lane } = thread;
        let Publication { scope, releases, is_update, is_volatile } = publication;
        if !is_update {
            // A store begins a new release sequence.
            self.locations.remove(&location);
        }
        let scope = self.effective(scope);
        if releases {
            let clock = self.release(phase, thread.mask());
            self.add_release(location, phase, scope, &clock);
            return;
        }
        let Some(block) = self.blocks.get_mut(&phase.block) else { return };
        let mut fenced = block.fenced.before(phase).clone();
        if let Some(pending) = block.pending.get(&(phase.warp, lane)) {
            fenced.iter_mut().zip(&pending.fenced).for_each(|(fenced, own)| fenced.join(own));
        }
        let mut publishes = false;
        for within in Scope::ALL.into_iter().filter(|within| *within <= scope) {
            let clock = &mut fenced[within as usize];
            if clock.is_empty() {
                continue;
            }
            publishes = true;
            if is_volatile {
                clock.add_store(location, self.thread_epoch(thread));
            }
            self.add_release(location, phase, within, clock);
        }
        if publishes && is_volatile {
            // The thread's next volatile store belongs to another epoch.
            self.blocks.entry(phase.block).or_default().releases += 1;
        }
    }

    /// Adds the clock that a write of this scope releases.
    fn add_release(&mut self, location: Location, phase: Phase, scope: Scope, clock: &Clock) {
        let (cluster, has_narrow_scopes) = (phase.block / self.cluster, self.has_narrow_scopes);
        let location = self.locations.entry(location).or_default();
        self.releases += 1;
        location.version = self.releases;
        if scope == Scope::Device {
            location.device.join(clock);
        }
        if has_narrow_scopes {
            location.of_block.entry(phase.block).or_default().join(clock);
            if scope >= Scope::Cluster {
                location.of_cluster.entry(cluster).or_default().join(clock);
            }
        }
    }

    pub(super) fn fence(&mut self, thread: Thread, Fence { scope, is_sc }: Fence) {
        let Thread { phase, lane } = thread;
        let scope = self.effective(scope);
        let scopes = || Scope::ALL.into_iter().filter(|within| *within <= scope).map(|within| within as usize);
        let block = self.blocks.entry(phase.block).or_default();
        for within in scopes() {
            let seen = block.pending.get_mut(&(phase.warp, lane)).map(|pending| &mut pending.seen[within]);
            if let Some(seen) = seen.map(std::mem::take) {
                block.acquire(phase, thread.mask(), &seen);
            }
            if is_sc && !block.seen.before(phase)[within].is_empty() {
                let seen = block.seen.before[within].clone();
                block.acquire(phase, thread.mask(), &seen);
            }
        }
        let fenced = self.release(phase, thread.mask());
        let has_narrow_scopes = self.has_narrow_scopes;
        let block = self.blocks.entry(phase.block).or_default();
        if is_sc {
            match has_narrow_scopes {
                true => scopes().for_each(|within| block.fenced.add(phase, within, &fenced)),
                false => block.fenced.add(phase, scope as usize, &fenced),
            }
        }
        let pending = block.pending.entry((phase.warp, lane)).or_default();
        match has_narrow_scopes {
            true => scopes().for_each(|within| pending.fenced[within] = fenced.clone()),
            false => pending.fenced[scope as usize] = fenced,
        }
    }

    /// Synchronizes blocks: all their accesses so far happen before the next accesses of each of
    /// them. Each phase is the block's next one.
    pub(super) fn synchronise(&mut self, phases: &[Phase]) {
        let mut all = Clock::default();
        for phase in phases {
            all.join(&self.release(*phase, 1));
        }
        for phase in phases {
            self.blocks.entry(phase.block).or_default().shared.join(&all);
        }
    }

    /// Synchronizes lanes of a warp at a barrier that the whole warp does not pass. The earlier
    /// accesses of each lane happen before the next accesses of all of them.
    pub(super) fn synchronise_lanes(&mut self, Threads { phase, lanes }: Threads) {
        let clock = self.release(phase, lanes);
        self.blocks.entry(phase.block).or_default().acquire(phase, lanes, &clock);
    }

    /// Records the arrival of a warp's lanes at a barrier.
    pub(super) fn arrive(&mut self, barrier: BarrierOf, Threads { phase, lanes }: Threads) {
        let clock = self.release(phase, lanes);
        self.barriers.entry(barrier).or_default().arrived.join(&clock);
    }

    /// Completes a barrier at which all threads have arrived.
    pub(super) fn complete(&mut self, barrier: BarrierOf) {
        let barrier = self.barriers.entry(barrier).or_default();
        barrier.complete = std::mem::take(&mut barrier.arrived);
        barrier.completions += 1;
        barrier.agents.iter().for_each(|(_, agent)| barrier.complete.add_async_stores(*agent, barrier.completions));
    }

    /// Records a lane's asynchronous store for the current phase of an mbarrier. Returns the epoch
    /// of the store.
    pub(super) fn store_async(&mut self, barrier: BarrierOf, Thread { phase, lane }: Thread) -> NonZero<u32> {
        let barrier = self.barriers.entry(barrier).or_default();
        let known = barrier.agents.iter().find(|(block, _)| *block == phase.block);
        let agent = known.map(|(_, agent)| *agent).unwrap_or_else(|| {
            let agent = FIRST_AGENT + self.agents.len() as u32;
            self.agents.push(phase.block);
            barrier.agents.push((phase.block, agent));
            agent
        });
        let phase = Phase { block: agent, warp: phase.warp, barriers: barrier.completions, warp_syncs: 0 };
        number(self.index(phase, 0), lane)
    }

    /// Records that a lane's asynchronous store completes bytes of the current phase of an
    /// mbarrier.
    pub(super) fn arrive_async(&mut self, barrier: BarrierOf, thread: Thread) {
        let clock = self.release(thread.phase, thread.mask());
        self.barriers.entry(barrier).or_default().arrived.join_performed(&clock);
    }

    /// Lets lanes of a warp pass a complete barrier.
    pub(super) fn pass(&mut self, barrier: BarrierOf, Threads { phase, lanes }: Threads) {
        let Some(SplitBarrier { complete, .. }) = self.barriers.get(&barrier) else { return };
        self.blocks.entry(phase.block).or_default().acquire(phase, lanes, complete);
    }

    /// The clock of all accesses that happen before now in these lanes of a warp. Excludes the
    /// block's later accesses.
    fn release(&mut self, phase: Phase, lanes: u32) -> Clock {
        let block = self.blocks.entry(phase.block).or_default();
        let mut clock = block.acquired_by(phase, lanes);
        clock.add_all_before(phase, lanes, block.releases);
        block.releases += 1;
        clock
    }

    fn releases(&self, block: u32) -> u32 {
        self.blocks.get(&block).map_or(0, |block| block.releases)
    }
}

/// Whether the same thread made both accesses.
fn is_of_thread(earlier: ThreadEpoch, later: ThreadEpoch) -> bool {
    let (before, now) = (earlier.phase, later.phase);
    (before.block, before.warp, earlier.lane) == (now.block, now.warp, later.lane)
}

/// Whether a barrier of its block or warp lies between an earlier phase and a later one.
#[inline]
fn follows_barrier(earlier: Phase, later: Phase) -> bool {
    earlier.block == later.block
        && (earlier.barriers < later.barriers || earlier.warp == later.warp && earlier.warp_syncs < later.warp_syncs)
}

fn number(phase: usize, lane: u32) -> NonZero<u32> {
    NonZero::new((phase as u32 + 1) << 5 | lane & 31).unwrap_or(NonZero::<u32>::MIN)
}
