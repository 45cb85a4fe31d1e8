//! The race detector agrees with the definition: two accesses race if the happens-before graph does not order them.

use std::collections::HashMap;

use proptest::prelude::*;
use ptx_interpreter::memory::races::{AccessKind, Conflict, Phase, RaceDetector};

const LANES: u32 = 2;
const WARPS: u32 = 2;

type Thread = (u32, u32, u32);

#[derive(Clone, Copy, Debug)]
enum Event {
    Access { thread: Thread, offset: usize, bytes: usize, kind: AccessKind },
    Observe { thread: Thread, location: usize, acquires: bool },
    Publish { thread: Thread, location: usize, releases: bool },
    Fence { thread: Thread },
    WarpSync { block: u32, warp: u32 },
    Barrier { block: u32 },
}

fn threads(blocks: u32) -> impl Strategy<Value = Thread> {
    (0..blocks, 0..WARPS, 0..LANES)
}

fn kinds() -> impl Strategy<Value = AccessKind> {
    use AccessKind::*;
    prop_oneof![4 => Just(Read), 2 => Just(Write), 1 => Just(AtomicRead), 2 => Just(AtomicWrite)]
}

/// A log of events; any thread releases, or only one thread of each block.
fn logs(blocks: u32, words: usize, any_releases: bool) -> impl Strategy<Value = Vec<Event>> {
    let sizes = (0..words, prop_oneof![6 => Just((0, 4)), 1 => Just((2, 2)), 1 => Just((0, 1)), 1 => Just((0, 8))]);
    let access = (threads(blocks), sizes, kinds()).prop_map(|(thread, (word, (byte, bytes)), kind)| Event::Access {
        thread,
        offset: 4 * word + byte,
        bytes,
        kind,
    });
    let observe = (threads(blocks), 0..2_usize, any::<bool>())
        .prop_map(|(thread, location, acquires)| Event::Observe { thread, location, acquires });
    let releaser = move |thread: Thread| if any_releases { thread } else { (thread.0, 0, 0) };
    let publish = (threads(blocks), 0..2_usize, any::<bool>())
        .prop_map(move |(thread, location, releases)| Event::Publish { thread: releaser(thread), location, releases });
    let fence = threads(blocks).prop_map(move |thread| Event::Fence { thread: releaser(thread) });
    let event = prop_oneof![
        8 => access,
        3 => observe,
        3 => publish,
        1 => fence,
        2 => (0..blocks, 0..WARPS).prop_map(|(block, warp)| Event::WarpSync { block, warp }),
        3 => (0..blocks).prop_map(|block| Event::Barrier { block }),
    ];
    prop::collection::vec(event, 1..120)
}

/// The happens-before graph of a log: the definition.
#[derive(Clone, Default)]
struct Graph {
    /// For each event, whether each earlier one happens before it.
    before: Vec<Vec<bool>>,
    latest: HashMap<Thread, usize>,
    published: HashMap<usize, Vec<usize>>,
    seen: HashMap<Thread, Vec<usize>>,
    fences: HashMap<Thread, usize>,
}

impl Graph {
    fn add(&mut self, event: Event) {
        let (number, all) = (self.before.len(), |block, warps: std::ops::Range<u32>| {
            warps.flat_map(move |warp| (0..LANES).map(move |lane| (block, warp, lane))).collect::<Vec<Thread>>()
        });
        let threads = match event {
            Event::Barrier { block } => all(block, 0..WARPS),
            Event::WarpSync { block, warp } => all(block, warp..warp + 1),
            Event::Access { thread, .. }
            | Event::Observe { thread, .. }
            | Event::Publish { thread, .. }
            | Event::Fence { thread } => vec![thread],
        };
        let mut causes: Vec<usize> = threads.iter().filter_map(|thread| self.latest.get(thread).copied()).collect();
        match event {
            Event::Observe { thread, location, acquires } => {
                let seen = self.published.get(&location).cloned().unwrap_or_default();
                match acquires {
                    true => causes.extend(seen),
                    false => self.seen.entry(thread).or_default().extend(seen),
                }
            }
            Event::Publish { thread, location, releases } => {
                let from = if releases { Some(number) } else { self.fences.get(&thread).copied() };
                self.published.entry(location).or_default().extend(from);
            }
            Event::Fence { thread } => {
                causes.extend(self.seen.remove(&thread).unwrap_or_default());
                self.fences.insert(thread, number);
            }
            _ => {}
        }
        let mut before = vec![false; number];
        for cause in causes {
            before[cause] = true;
            for (earlier, happens_before) in self.before[cause].iter().enumerate() {
                before[earlier] |= happens_before;
            }
        }
        self.before.push(before);
        self.latest.extend(threads.into_iter().map(|thread| (thread, number)));
    }
}

/// Whether two events of the log race.
fn race(log: &[Event], graph: &Graph, earlier: usize, later: usize) -> bool {
    let (Event::Access { offset: a, bytes: of_a, kind, .. }, Event::Access { offset: b, bytes: of_b, kind: other, .. }) =
        (log[earlier], log[later])
    else {
        return false;
    };
    let writes = |kind| matches!(kind, AccessKind::Write | AccessKind::AtomicWrite);
    let atomic = |kind| matches!(kind, AccessKind::AtomicRead | AccessKind::AtomicWrite);
    let overlap = a < b + of_b && b < a + of_a;
    overlap && (writes(kind) || writes(other)) && !(atomic(kind) && atomic(other)) && !graph.before[later][earlier]
}

/// The detector's result for each event.
fn detect(log: &[Event], words: usize) -> Vec<Result<(), Conflict>> {
    let mut detector = RaceDetector::new();
    let (data, flags) = (detector.watch(4 * words + 4), detector.watch(8));
    let (mut barriers, mut warp_syncs) = (HashMap::new(), HashMap::new());
    let mut results = Vec::new();
    for (number, event) in log.iter().enumerate() {
        let who = |(block, warp, lane): Thread| {
            let barriers = barriers.get(&block).copied().unwrap_or(0);
            let warp_syncs = warp_syncs.get(&(block, warp)).copied().unwrap_or(0);
            (Phase { block, warp, barriers, warp_syncs }, lane)
        };
        let mut result = Ok(());
        match *event {
            Event::Access { thread, offset, bytes, kind } => {
                result = detector.record((data, offset), bytes, kind, who(thread), number as u32);
            }
            Event::Observe { thread, location, acquires } => {
                detector.observe((flags, 4 * location), who(thread), acquires);
            }
            Event::Publish { thread, location, releases } => {
                detector.publish((flags, 4 * location), who(thread), releases);
            }
            Event::Fence { thread } => detector.fence(who(thread)),
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

/// Drops racing accesses among the log's first `end` events, so that the first race comes late.
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
    for (later, result) in detect(log, words).into_iter().enumerate() {
        let Err(conflict) = result else { continue };
        let earlier = conflict.instruction as usize;
        assert!(race(log, &graph, earlier, later), "{later} does not race with {conflict:?}");
        let Event::Access { thread, offset, bytes, kind } = log[earlier] else { unreachable!() };
        assert_eq!((conflict.block, conflict.thread), (thread.0, thread.1 * 32 + thread.2));
        assert_eq!(conflict.kind, kind);
        let Event::Access { offset: from, bytes: of, .. } = log[later] else { unreachable!() };
        let both = from.max(offset)..(from + of).min(offset + bytes);
        assert!(both.contains(&conflict.offset));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_first_race_is_found_at_its_event(
        log in (1..4_u32, 1..6_usize).prop_flat_map(|(blocks, words)| logs(blocks, words, false)),
        free in 0..120_usize,
    ) {
        let log = without_races_before(free, log);
        let graph = graph(&log);
        let first = (0..log.len()).find(|later| (0..*later).any(|earlier| race(&log, &graph, earlier, *later)));
        prop_assert_eq!(detect(&log, 6).iter().position(|result| result.is_err()), first);
    }

    #[test]
    fn every_report_is_a_race(log in logs(3, 3, false)) {
        check_reports(&log, 3);
    }

    #[test]
    fn every_report_is_a_race_with_any_releasing_thread(
        log in (1..5_u32, 1..5_usize).prop_flat_map(|(blocks, words)| logs(blocks, words, true)),
        free in 0..120_usize,
    ) {
        check_reports(&without_races_before(free, log), 4);
    }
}
