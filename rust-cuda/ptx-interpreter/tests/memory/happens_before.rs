//! The race detector agrees with the definition: two accesses race if the happens-before graph does
//! not order them.

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;
use ptx_interpreter::memory::races::{
    self, AccessKind, BarrierOf, Conflict, Fence, LaneAccess, Observation, Phase, Publication, RaceDetector, Scope,
    Threads,
};

const LANES: u32 = 2;
const WARPS: u32 = 2;
/// Blocks of a cluster.
const CLUSTER: u32 = 2;

type Thread = (u32, u32, u32);

#[derive(Clone, Copy, Debug)]
enum Event {
    Access {
        thread: Thread,
        offset: usize,
        bytes: usize,
        kind: AccessKind,
    },
    Observe {
        thread: Thread,
        location: usize,
        scope: Scope,
        acquires: bool,
    },
    Publish {
        thread: Thread,
        location: usize,
        scope: Scope,
        releases: bool,
        is_update: bool,
    },
    /// A volatile store to a flag.
    Store {
        thread: Thread,
        location: usize,
    },
    Fence {
        thread: Thread,
        scope: Scope,
        is_sc: bool,
    },
    /// Some threads of a block meet. Bit `warp * LANES + lane` stands for a thread.
    Meet {
        block: u32,
        threads: u32,
    },
    /// A thread arrives at the barrier of all blocks.
    Arrive {
        thread: Thread,
    },
    /// The detector registers that all threads have arrived there.
    Complete,
    /// A thread waits there.
    Wait {
        thread: Thread,
    },
    WarpSync {
        block: u32,
        warp: u32,
    },
    Barrier {
        block: u32,
    },
}

fn threads(blocks: u32) -> impl Strategy<Value = Thread> {
    (0..blocks, 0..WARPS, 0..LANES)
}

fn kinds() -> impl Strategy<Value = AccessKind> {
    use AccessKind::*;
    prop_oneof![
        4 => Just(Read),
        2 => Just(Write),
        1 => scopes().prop_map(AtomicRead),
        2 => scopes().prop_map(AtomicWrite),
        1 => Just(VolatileRead),
    ]
}

fn scopes() -> impl Strategy<Value = Scope> {
    prop_oneof![1 => Just(Scope::Block), 1 => Just(Scope::Cluster), 4 => Just(Scope::Device)]
}

/// The narrowest scope that includes both blocks.
fn distance(one: u32, other: u32) -> Scope {
    match (one == other, one / CLUSTER == other / CLUSTER) {
        (true, _) => Scope::Block,
        (_, true) => Scope::Cluster,
        _ => Scope::Device,
    }
}

/// A log of events.
fn logs(blocks: u32, words: usize) -> impl Strategy<Value = Vec<Event>> {
    let sizes = (0..words, prop_oneof![6 => Just((0, 4)), 1 => Just((2, 2)), 1 => Just((0, 1)), 1 => Just((0, 8))]);
    let access = (threads(blocks), sizes, kinds()).prop_map(|(thread, (word, (byte, bytes)), kind)| Event::Access {
        thread,
        offset: 4 * word + byte,
        bytes,
        kind,
    });
    let observe = (threads(blocks), 0..2_usize, scopes(), any::<bool>())
        .prop_map(|(thread, location, scope, acquires)| Event::Observe { thread, location, scope, acquires });
    let publish = (threads(blocks), 0..2_usize, scopes(), any::<bool>(), any::<bool>()).prop_map(
        |(thread, location, scope, releases, is_update)| Event::Publish {
            thread,
            location,
            scope,
            releases,
            is_update,
        },
    );
    let store = (threads(blocks), 0..2_usize).prop_map(|(thread, location)| Event::Store { thread, location });
    let fence = (threads(blocks), scopes(), any::<bool>());
    let fence = fence.prop_map(|(thread, scope, is_sc)| Event::Fence { thread, scope, is_sc });
    let event = prop_oneof![
        8 => access,
        3 => observe,
        3 => publish,
        1 => store,
        2 => fence,
        2 => (0..blocks, 0..WARPS).prop_map(|(block, warp)| Event::WarpSync { block, warp }),
        3 => (0..blocks).prop_map(|block| Event::Barrier { block }),
        2 => (0..blocks, 1..1_u32 << (WARPS * LANES)).prop_map(|(block, threads)| Event::Meet { block, threads }),
        1 => threads(blocks).prop_map(|thread| Event::Arrive { thread }),
        1 => Just(Event::Complete),
        1 => threads(blocks).prop_map(|thread| Event::Wait { thread }),
    ];
    prop::collection::vec(event, 1..120)
}

/// A release at a location: the event before which everything is released, the releasing block, the
/// scope, and the releasing volatile store.
#[derive(Clone, Copy)]
struct Released {
    event: usize,
    block: u32,
    scope: Scope,
    store: Option<usize>,
}

/// The happens-before graph of a log: the definition.
#[derive(Clone, Default)]
struct Graph {
    /// For each event, whether each earlier one happens before it.
    before: Vec<Vec<bool>>,
    /// For each event, the released volatile stores that it comes after by acquiring them.
    stores: Vec<BTreeSet<usize>>,
    latest: HashMap<Thread, usize>,
    published: HashMap<usize, Vec<Released>>,
    seen: HashMap<Thread, Vec<(Released, Scope)>>,
    /// The latest fence of a thread with this scope or a wider one.
    fences: HashMap<(Thread, Scope), usize>,
    /// The sequentially consistent fences of each block before its last barrier, and since then.
    sc_fences: HashMap<u32, [Vec<(Scope, usize)>; 2]>,
    /// Releases that each block's threads observed through relaxed loads, before its last barrier
    /// and since then.
    seen_by_block: HashMap<u32, [Vec<(Released, Scope)>; 2]>,
    arrived: Vec<usize>,
    complete: Vec<usize>,
}

/// The threads that meet, grouped by warp: the warp and its lanes.
fn groups(threads: u32) -> impl Iterator<Item = (u32, u32)> {
    let groups = (0..WARPS).map(move |warp| (warp, threads >> (warp * LANES) & ((1 << LANES) - 1)));
    groups.filter(|(_, lanes)| *lanes != 0)
}

impl Graph {
    fn add(&mut self, event: Event) {
        let (number, all) = (self.before.len(), |block, warps: std::ops::Range<u32>| {
            warps.flat_map(move |warp| (0..LANES).map(move |lane| (block, warp, lane))).collect::<Vec<Thread>>()
        });
        let threads = match event {
            Event::Barrier { block } => all(block, 0..WARPS),
            Event::WarpSync { block, warp } => all(block, warp..warp + 1),
            Event::Meet { block, threads } => {
                let is_met = |(_, warp, lane): &Thread| threads >> (warp * LANES + lane) & 1 == 1;
                all(block, 0..WARPS).into_iter().filter(is_met).collect()
            }
            Event::Complete => vec![],
            Event::Access { thread, .. }
            | Event::Observe { thread, .. }
            | Event::Publish { thread, .. }
            | Event::Store { thread, .. }
            | Event::Fence { thread, .. }
            | Event::Arrive { thread }
            | Event::Wait { thread } => vec![thread],
        };
        let mut causes: Vec<usize> = threads.iter().filter_map(|thread| self.latest.get(thread).copied()).collect();
        let mut acquired: Vec<Released> = Vec::new();
        match event {
            Event::Observe { thread, location, scope, acquires } => {
                for &released in self.published.get(&location).into_iter().flatten() {
                    let distance = distance(thread.0, released.block);
                    if released.scope.min(scope) < distance {
                        continue;
                    }
                    match acquires {
                        true => acquired.push(released),
                        false => {
                            self.seen.entry(thread).or_default().push((released, distance));
                            self.seen_by_block.entry(thread.0).or_default()[1].push((released, distance));
                        }
                    }
                }
            }
            Event::Publish { thread, location, scope, releases, is_update } => {
                self.publish((thread, location, scope), releases.then_some(number), is_update, None);
            }
            Event::Store { thread, location } => {
                self.publish((thread, location, Scope::Device), None, false, Some(number));
            }
            Event::Fence { thread, scope, is_sc } => {
                let seen = self.seen.entry(thread).or_default();
                acquired.extend(seen.iter().filter(|(_, distance)| *distance <= scope).map(|(released, _)| *released));
                seen.retain(|(_, distance)| *distance > scope);
                for within in Scope::ALL.into_iter().filter(|within| *within <= scope) {
                    self.fences.insert((thread, within), number);
                }
                if is_sc {
                    let [seen, _] = self.seen_by_block.entry(thread.0).or_default();
                    let seen = seen.iter().filter(|(_, distance)| *distance <= scope);
                    acquired.extend(seen.map(|(released, _)| *released));
                    self.sc_fences.entry(thread.0).or_default()[1].push((scope, number));
                }
            }
            Event::Barrier { block } => {
                let [before, since] = self.sc_fences.entry(block).or_default();
                before.append(since);
                let [before, since] = self.seen_by_block.entry(block).or_default();
                before.append(since);
            }
            Event::Arrive { .. } => self.arrived.push(number),
            Event::Complete => self.complete = std::mem::take(&mut self.arrived),
            Event::Wait { .. } => causes.extend(&self.complete),
            Event::Access { .. } | Event::WarpSync { .. } | Event::Meet { .. } => {}
        }
        causes.extend(acquired.iter().map(|released| released.event));
        let mut before = vec![false; number];
        let mut stores: BTreeSet<usize> = acquired.iter().filter_map(|released| released.store).collect();
        for cause in causes {
            if cause == number {
                continue;
            }
            before[cause] = true;
            for (earlier, happens_before) in self.before[cause].iter().enumerate() {
                before[earlier] |= happens_before;
            }
            stores.extend(&self.stores[cause]);
        }
        self.before.push(before);
        self.stores.push(stores);
        self.latest.extend(threads.into_iter().map(|thread| (thread, number)));
    }

    fn publish(
        &mut self,
        (thread, location, scope): (Thread, usize, Scope),
        release: Option<usize>,
        is_update: bool,
        store: Option<usize>,
    ) {
        let published = self.published.entry(location).or_default();
        if !is_update {
            published.clear();
        }
        let block = thread.0;
        if let Some(event) = release {
            published.push(Released { event, block, scope, store });
            return;
        }
        for within in Scope::ALL.into_iter().filter(|within| *within <= scope) {
            let fence = self.fences.get(&(thread, within));
            published.extend(fence.map(|&event| Released { event, block, scope: within, store }));
            let of_block = self.sc_fences.get(&block).map(|[before, _]| before).into_iter().flatten();
            let of_block = of_block.filter(|(scope, _)| *scope >= within);
            published.extend(of_block.map(|&(_, event)| Released { event, block, scope: within, store }));
        }
    }

    /// Whether an event comes after a volatile store because it acquired that store, or a later one
    /// by the same thread there.
    fn has_acquired_store(&self, log: &[Event], store: usize, later: usize) -> bool {
        let Event::Store { thread, location } = log[store] else { return false };
        self.stores[later].range(store..).any(
            |&other| matches!(log[other], Event::Store { thread: by, location: at } if (by, at) == (thread, location)),
        )
    }
}

/// Whether two events of the log race.
fn race(log: &[Event], graph: &Graph, earlier: usize, later: usize) -> bool {
    if let (Event::Store { location: a, .. }, Event::Store { location: b, .. }) = (log[earlier], log[later]) {
        return a == b && !graph.before[later][earlier] && !graph.has_acquired_store(log, earlier, later);
    }
    let (
        Event::Access { thread: one, offset: a, bytes: of_a, kind },
        Event::Access { thread, offset: b, bytes: of_b, kind: other },
    ) = (log[earlier], log[later])
    else {
        return false;
    };
    let writes = |kind| matches!(kind, AccessKind::Write | AccessKind::AtomicWrite(_));
    let scope = |kind| match kind {
        AccessKind::AtomicRead(scope) | AccessKind::AtomicWrite(scope) => Some(scope),
        AccessKind::VolatileRead => Some(Scope::Device),
        _ => None,
    };
    let is_volatile = [kind, other].contains(&AccessKind::VolatileRead);
    let are_strong = match (scope(kind), scope(other)) {
        (Some(one_scope), Some(other_scope)) => {
            one_scope.min(other_scope) >= distance(one.0, thread.0) && (is_volatile || of_a == of_b)
        }
        _ => false,
    };
    let overlap = a < b + of_b && b < a + of_a;
    overlap && (writes(kind) || writes(other)) && !are_strong && !graph.before[later][earlier]
}

/// How events are assigned to instructions.
#[derive(Clone, Copy, Debug)]
enum Instructions {
    /// Each event has its own instruction, with the event's number.
    OfEvents,
    /// Events with the same size share an instruction.
    OfSizes,
}

/// A thread without the others of its warp.
fn alone(races::Thread { phase, lane }: races::Thread) -> Threads {
    Threads { phase, lanes: 1 << lane }
}

/// The detector's result for each event.
fn detect(log: &[Event], words: usize, instructions: Instructions) -> Vec<Result<(), Conflict>> {
    let size = |event: &Event| if let Event::Access { bytes, .. } = event { *bytes as u8 } else { 4 };
    let (sizes, instruction_of): (_, &dyn Fn(usize) -> u32) = match instructions {
        Instructions::OfEvents => (log.iter().map(size).collect(), &|number| number as u32),
        Instructions::OfSizes => ((0..=8).collect(), &|number| u32::from(size(&log[number]))),
    };
    let mut detector = RaceDetector::with_sizes(CLUSTER as u8, true, sizes);
    let (data, flags) = (detector.watch(4 * words + 4), detector.watch(8));
    let (mut barriers, mut warp_syncs) = (HashMap::new(), HashMap::new());
    let mut results = Vec::new();
    for (number, event) in log.iter().enumerate() {
        let who = |(block, warp, lane): Thread| {
            let barriers = barriers.get(&block).copied().unwrap_or(0);
            let warp_syncs = warp_syncs.get(&(block, warp)).copied().unwrap_or(0);
            races::Thread { phase: Phase { block, warp, barriers, warp_syncs }, lane }
        };
        let mut result = Ok(());
        match *event {
            Event::Access { thread, offset, bytes, kind } => {
                let (thread, instruction) = (who(thread), instruction_of(number));
                result = detector.record(LaneAccess { location: data.at(offset), bytes, kind, thread, instruction });
            }
            Event::Observe { thread, location, scope, acquires } => {
                let observation = Observation { scope, acquires, counts: false };
                detector.observe(flags.at(4 * location), who(thread), observation);
            }
            Event::Publish { thread, location, scope, releases, is_update } => {
                let publication = Publication { scope, releases, is_update, is_volatile: false };
                detector.publish(flags.at(4 * location), who(thread), publication);
            }
            Event::Store { thread, location } => {
                let (location, thread) = (flags.at(4 * location), who(thread));
                let (kind, instruction) = (AccessKind::VolatileWrite, instruction_of(number));
                result = detector.record(LaneAccess { location, bytes: 4, kind, thread, instruction });
                let publication =
                    Publication { scope: Scope::Device, releases: false, is_update: false, is_volatile: true };
                detector.publish(location, thread, publication);
            }
            Event::Fence { thread, scope, is_sc } => detector.fence(who(thread), Fence { scope, is_sc }),
            Event::Meet { block, threads } => {
                let meeting = |warp, lanes| Threads { phase: who((block, warp, 0)).phase, lanes };
                match groups(threads).collect::<Vec<_>>()[..] {
                    [(warp, lanes)] => detector.synchronise_lanes(meeting(warp, lanes)),
                    ref groups => {
                        let barrier = BarrierOf::Block { block, number: 3 };
                        groups.iter().for_each(|&(warp, lanes)| detector.arrive(barrier, meeting(warp, lanes)));
                        detector.complete(barrier);
                        groups.iter().for_each(|&(warp, lanes)| detector.pass(barrier, meeting(warp, lanes)));
                    }
                }
            }
            Event::Arrive { thread } => {
                detector.arrive(BarrierOf::Cluster(0), alone(who(thread)));
            }
            Event::Complete => detector.complete(BarrierOf::Cluster(0)),
            Event::Wait { thread } => {
                detector.pass(BarrierOf::Cluster(0), alone(who(thread)));
            }
            Event::WarpSync { block, warp } => *warp_syncs.entry((block, warp)).or_default() += 1,
            Event::Barrier { block } => *barriers.entry(block).or_default() += 1,
        }
        results.push(result);
    }
    results
}

fn graph(log: &[Event]) -> Graph {
    let mut graph = Graph::default();
    log.iter().for_each(|event| graph.add(*event));
    graph
}

/// Drops racing accesses among the log's first `end` events, so the first race comes late.
fn without_races_before(end: usize, log: Vec<Event>) -> Vec<Event> {
    let (mut kept, mut graph) = (Vec::new(), Graph::default());
    for (number, event) in log.into_iter().enumerate() {
        let later = kept.len();
        let mut next = graph.clone();
        next.add(event);
        kept.push(event);
        if number < end && (0..later).any(|earlier| race(&kept, &next, earlier, later)) {
            kept.pop();
        } else {
            graph = next;
        }
    }
    kept
}

/// Checks that every reported conflict is a race in the graph, with the right details.
fn check_reports(log: &[Event], words: usize) {
    let graph = graph(log);
    for (later, result) in detect(log, words, Instructions::OfEvents).into_iter().enumerate() {
        let Err(conflict) = result else { continue };
        let earlier = conflict.instruction as usize;
        assert!(race(log, &graph, earlier, later), "{later} does not race with {conflict:?}");
        if let Event::Store { thread, location } = log[earlier] {
            assert_eq!((conflict.block, conflict.thread), (thread.0, thread.1 * 32 + thread.2));
            assert_eq!((conflict.kind, conflict.offset), (AccessKind::VolatileWrite, 4 * location));
            continue;
        }
        let Event::Access { thread, offset, bytes, kind } = log[earlier] else { unreachable!() };
        assert_eq!((conflict.block, conflict.thread), (thread.0, thread.1 * 32 + thread.2));
        assert_eq!(conflict.kind, kind);
        let Event::Access { offset: from, bytes: of, .. } = log[later] else { unreachable!() };
        let both = from.max(offset)..(from + of).min(offset + bytes);
        assert!(both.contains(&conflict.offset));
    }
}

fn first_race(log: &[Event]) -> Option<usize> {
    let graph = graph(log);
    (0..log.len()).find(|later| (0..*later).any(|earlier| race(log, &graph, earlier, *later)))
}

fn first_report(log: &[Event], words: usize, instructions: Instructions) -> Option<usize> {
    detect(log, words, instructions).iter().position(|result| result.is_err())
}

/// Logs in which the last event races with an access that happens before another one, but not with
/// the other one.
#[test]
fn a_later_access_does_not_hide_a_race_with_an_earlier_one() {
    use AccessKind::{AtomicRead, AtomicWrite, VolatileRead};
    let access = |thread, kind, bytes| Event::Access { thread, offset: 8, bytes, kind };
    let store = |thread| Event::Store { thread, location: 1 };
    let fence = |thread, is_sc| Event::Fence { thread, scope: Scope::Device, is_sc };
    let observe = |thread, acquires| Event::Observe { thread, location: 1, scope: Scope::Device, acquires };
    let (of_0, of_1) = ((0, 0, 0), (1, 0, 0));
    // The writer's scope includes the later reader, but not the earlier one.
    let by_scope = |reader| {
        let acquired =
            [fence(of_0, false), store(of_0), observe((1, 0, 1), true), Event::Meet { block: 1, threads: 0b1011 }];
        let write = access((1, 1, 0), AtomicWrite(Scope::Block), 4);
        [vec![access(of_0, reader, 4)], acquired.to_vec(), vec![access(of_1, reader, 4), write]].concat()
    };
    // The writer's access has the later reader's size.
    let by_size = vec![
        access(of_0, AtomicRead(Scope::Device), 8),
        access(of_0, AtomicRead(Scope::Device), 4),
        access((0, 1, 0), AtomicWrite(Scope::Device), 4),
    ];
    // The last store's thread has acquired the second store. The first one came after the fence, or
    // beside it.
    let by_acquired_store = vec![
        store(of_1),
        fence((1, 1, 0), true),
        Event::Barrier { block: 1 },
        store((1, 1, 0)),
        observe(of_0, true),
        Event::Barrier { block: 0 },
        store((0, 1, 1)),
    ];
    for log in [by_scope(VolatileRead), by_scope(AtomicRead(Scope::Device)), by_size, by_acquired_store] {
        assert_eq!(first_race(&log), Some(log.len() - 1), "{log:?}");
        for instructions in [Instructions::OfEvents, Instructions::OfSizes] {
            assert_eq!(first_report(&log, 6, instructions), Some(log.len() - 1), "{log:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_first_race_is_found_at_its_event(
        log in (1..4_u32, 1..6_usize).prop_flat_map(|(blocks, words)| logs(blocks, words)),
        free in 0..120_usize,
        instructions in prop_oneof![Just(Instructions::OfEvents), Just(Instructions::OfSizes)],
    ) {
        let log = without_races_before(free, log);
        prop_assert_eq!(first_report(&log, 6, instructions), first_race(&log));
    }

    #[test]
    fn every_report_is_a_race(log in logs(3, 3)) {
        check_reports(&log, 3);
    }

    #[test]
    fn every_later_report_is_a_race(
        log in (1..5_u32, 1..5_usize).prop_flat_map(|(blocks, words)| logs(blocks, words)),
        free in 0..120_usize,
    ) {
        check_reports(&without_races_before(free, log), 4);
    }
}
