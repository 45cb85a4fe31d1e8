//! Warp-wide operations: shuffles, votes, matches and reductions.

use crate::support::kernel::{Kernel, each};
use ptx_interpreter::FaultKind;
use rand::{RngExt, SeedableRng, rngs::SmallRng};

const ALL: u32 = u32::MAX;

/// A lane's source lane and predicate, from the PTX ISA's pseudocode (9.7.9.6, `shfl.sync`).
fn shuffle(mode: &str, lane: i64, b: u32, c: u32) -> (i64, bool) {
    let (b, clamp, segment) = (i64::from(b & 31), i64::from(c & 31), i64::from(c >> 8 & 31));
    let max_lane = lane & segment | clamp & !segment;
    let min_lane = lane & segment;
    let (from, in_range) = match mode {
        "up" => (lane - b, lane - b >= max_lane),
        "down" => (lane + b, lane + b <= max_lane),
        "bfly" => (lane ^ b, lane ^ b <= max_lane),
        _ => (min_lane | b & !segment, min_lane | b & !segment <= max_lane),
    };
    (if in_range { from } else { lane }, in_range)
}

#[test]
fn shuffles_match_the_definition() {
    let mut rng = SmallRng::seed_from_u64(test_support::seed(5));
    for mode in ["up", "down", "bfly", "idx"] {
        for round in 0..60 {
            // Each lane has its own b and c: segments of 2ⁿ lanes as compilers write them, and arbitrary bits.
            let segments = [0, 16, 24, 28, 30, 31][rng.random_range(0..6)];
            let usual = segments << 8 | if mode == "up" { 0 } else { 31 };
            let mut input: Vec<u32> = Vec::new();
            for _ in 0..32 {
                let b = if mode == "idx" { rng.random() } else { rng.random_range(0..32) };
                let c = if round % 2 == 0 { usual } else { rng.random() };
                input.extend([rng.random(), b, c]);
            }
            let body = format!(
                "mad.wide.u32 d0, tid, 12, input; ld.global.u32 r0, [d0]; ld.global.u32 r1, [d0+4]; ld.global.u32 r2, [d0+8];
                 shfl.sync.{mode}.b32 r3|p0, r0, r1, r2, -1; selp.u32 r4, 1, 0, p0;
                 st.global.v2.u32 [cell8], {{r3, r4}}; ret;"
            );
            let found = Kernel::new(body).input(&input).words(64);
            let expected = each(32, |lane| {
                let (from, in_range) =
                    shuffle(mode, i64::from(lane), input[lane as usize * 3 + 1], input[lane as usize * 3 + 2]);
                [input[from as usize * 3], u32::from(in_range)]
            });
            assert_eq!(found, expected.concat(), "{mode} {input:x?}");
        }
    }
}

#[test]
fn common_shuffles_match_their_names() {
    let run =
        |operation: &str| Kernel::new(format!("shfl.sync.{operation}, -1; st.global.u32 [cell], r0; ret;")).words(32);
    assert_eq!(run("up.b32 r0, tid, 1, 0"), each(32, |lane| lane.saturating_sub(1)));
    assert_eq!(run("down.b32 r0, tid, 4, 31"), each(32, |lane| if lane < 28 { lane + 4 } else { lane }));
    assert_eq!(run("bfly.b32 r0, tid, 16, 31"), each(32, |lane| lane ^ 16));
    assert_eq!(run("idx.b32 r0, tid, 9, 31"), [9; 32]);
    // Segments of 8 lanes.
    assert_eq!(run("down.b32 r0|_, tid, 2, 0x181f"), each(32, |lane| if lane % 8 < 6 { lane + 2 } else { lane }));
    assert_eq!(run("idx.b32 r0, tid, 3, 0x181f"), each(32, |lane| lane / 8 * 8 + 3));
}

#[test]
fn a_shuffle_distance_beyond_a_warp_is_a_fault() {
    for mode in ["up", "down", "bfly"] {
        let text = format!("shfl.sync.{mode}.b32 r0, tid, r1, 31, -1;");
        let kernel = Kernel::new(format!("mov.u32 r1, 1; setp.eq.u32 p0, tid, 6; @p0 mov.u32 r1, 32;\n{text}\nret;"));
        assert_eq!(kernel.fault(&text, 0, 6), FaultKind::NoSuchLane { lane: 32 });
    }
}

#[test]
fn a_shuffle_from_a_lane_that_does_not_participate_is_a_fault() {
    let members = Kernel::new(
        "setp.ge.u32 p0, tid, 8; @p0 bra DONE;\nshfl.sync.bfly.b32 r0, tid, 4, 31, 0xff;\nshfl.sync.down.b32 r0, tid, 1, 31, 0xff;\nDONE: ret;",
    );
    assert_eq!(members.fault("shfl.sync.down.b32 r0, tid, 1, 31, 0xff;", 0, 7), FaultKind::NoSuchLane { lane: 8 });
    // The last warp has 6 threads.
    let partial = Kernel::new("shfl.sync.bfly.b32 r0, tid, 4, 31, -1;\nret;").shape(2, 38);
    assert_eq!(partial.fault("shfl.sync.bfly.b32 r0, tid, 4, 31, -1;", 0, 34), FaultKind::NoSuchLane { lane: 6 });
}

#[test]
fn votes_cover_the_members() {
    for limit in [0, 1, 17, 31, 32] {
        for threads in [32, 20] {
            let body = format!(
                "setp.lt.u32 p0, tid, {limit};
                 vote.sync.all.pred p1, p0, -1; vote.sync.any.pred p2, p0, -1; vote.sync.uni.pred p3, p0, -1;
                 vote.sync.all.pred p4, !p0, -1; vote.sync.any.pred p5, !p0, -1; vote.sync.uni.pred p6, !p0, -1;
                 vote.sync.ballot.b32 r0, p0, -1; vote.ballot.sync.b32 r1, !p0, -1; mov.u32 r2, 0;
                 @p1 or.b32 r2, r2, 1; @p2 or.b32 r2, r2, 2; @p3 or.b32 r2, r2, 4; @p4 or.b32 r2, r2, 8; @p5 or.b32 r2, r2, 16;
                 @p6 or.b32 r2, r2, 32;
                 mad.wide.u32 d0, tid, 16, output; st.global.v2.u32 [d0], {{r0, r1}}; st.global.u32 [d0+8], r2; ret;"
            );
            let existing = ((1_u64 << threads) - 1) as u32;
            let holds = ((1_u64 << limit) - 1) as u32 & existing;
            let (all, none) = (holds == existing, holds == 0);
            let bits = [all, !none, all || none, none, !all, all || none];
            let bits = bits.iter().enumerate().map(|(position, bit)| u32::from(*bit) << position).sum();
            let found = Kernel::new(body).shape(1, threads).words(threads as usize * 4);
            assert_eq!(found, [holds, existing & !holds, bits, 0].repeat(threads as usize), "{limit} {threads}");
        }
    }
}

#[test]
fn halves_of_a_warp_vote_separately() {
    let kernel = Kernel::new(
        "and.b32 r0, tid, 3; setp.eq.u32 p1, r0, 0; setp.lt.u32 p0, tid, 16; mov.u32 r1, 0xffff0000; @p0 mov.u32 r1, 0xffff;
         @p0 bra LOW; vote.sync.ballot.b32 r2, p1, r1; bra BOTH; LOW: vote.sync.ballot.b32 r2, !p1, r1;
         BOTH: st.global.u32 [cell], r2; ret;",
    );
    assert_eq!(kernel.words(32), each(32, |lane| if lane < 16 { 0xeeee } else { 0x1111_0000 }));
}

#[test]
fn matches_name_the_lanes_with_the_same_value() {
    let mut rng = SmallRng::seed_from_u64(test_support::seed(6));
    for kinds in [1, 2, 5, 100] {
        let input: Vec<u64> = (0..32).map(|_| rng.random_range(0..kinds) << 31).collect();
        let body = "
            mad.wide.u32 d0, tid, 8, input; ld.global.u64 d1, [d0]; cvt.u32.u64 r0, d1;
            match.any.sync.b64 r1, d1, -1; match.all.sync.b64 r2|p0, d1, -1; match.any.sync.b32 r3, r0, -1;
            match.all.sync.b32 r4, r0, -1; selp.u32 r5, 1, 0, p0;
            mad.wide.u32 d0, tid, 20, output; st.global.u32 [d0], r1; st.global.u32 [d0+4], r2; st.global.u32 [d0+8], r3;
            st.global.u32 [d0+12], r4; st.global.u32 [d0+16], r5; ret;";
        let found = Kernel::new(body).input8(&input).output_bytes(32 * 20).words(32 * 5);
        let mask =
            |same: &dyn Fn(usize) -> bool| (0..32).filter(|lane| same(*lane)).map(|lane| 1_u32 << lane).sum::<u32>();
        let narrow = |lane: usize| input[lane] as u32;
        let all = input.iter().all(|value| *value == input[0]);
        let all_narrow = (0..32).all(|lane| narrow(lane) == narrow(0));
        let expected = each(32, |lane| {
            let lane = lane as usize;
            [
                mask(&|other| input[other] == input[lane]),
                if all { ALL } else { 0 },
                mask(&|other| narrow(other) == narrow(lane)),
                if all_narrow { ALL } else { 0 },
                u32::from(all),
            ]
        });
        assert_eq!(found, expected.concat(), "{kinds}");
    }
}

#[test]
fn reductions_cover_the_members() {
    let mut rng = SmallRng::seed_from_u64(test_support::seed(7));
    type Combine = fn(u32, u32) -> u32;
    let operations: [(&str, Combine); 9] = [
        ("add.u32", u32::wrapping_add),
        ("add.s32", u32::wrapping_add),
        ("min.u32", u32::min),
        ("max.u32", u32::max),
        ("min.s32", |a, b| (a as i32).min(b as i32) as u32),
        ("max.s32", |a, b| (a as i32).max(b as i32) as u32),
        ("and.b32", |a, b| a & b),
        ("or.b32", |a, b| a | b),
        ("xor.b32", |a, b| a ^ b),
    ];
    for (name, combine) in operations {
        for members in [ALL, 0x00f0_ff01, 1 << 31] {
            let input: Vec<u32> = (0..32).map(|_| rng.random()).collect();
            let body = format!(
                "ld.global.u32 r0, [input]; mad.wide.u32 d0, tid, 4, input; ld.global.u32 r0, [d0];
                 mov.u32 r1, 1; shl.b32 r1, r1, tid; and.b32 r1, r1, {members}; setp.eq.u32 p0, r1, 0; @p0 bra DONE;
                 redux.sync.{name} r2, r0, {members}; st.global.u32 [cell], r2; DONE: ret;"
            );
            let found = Kernel::new(body).input(&input).words(32);
            let is_member = |lane: u32| members >> lane & 1 == 1;
            let values = (0..32).filter(|lane| is_member(*lane)).map(|lane| input[lane as usize]);
            let result = values.reduce(combine).unwrap();
            assert_eq!(found, each(32, |lane| if is_member(lane) { result } else { 0 }), "{name} {members:#x}");
        }
    }
}

#[test]
fn activemask_is_the_mask_of_converged_lanes() {
    let body = "
        setp.lt.u32 p0, tid, 12; @p0 bra LOW; activemask.b32 r0; bra BOTH; LOW: activemask.b32 r0; BOTH: activemask.b32 r1;
        mov.u32 r2, 0; @p0 activemask.b32 r2; or.b32 r2, r2, r1;
        st.global.v2.u32 [cell8], {r0, r1}; ret;";
    let expected = each(32, |lane| [if lane < 12 { 0xfff } else { !0xfff }, ALL]);
    assert_eq!(Kernel::new(body).words(64), expected.concat());
    assert_eq!(Kernel::new("activemask.b32 r0; st.global.u32 [cell], r0; ret;").shape(1, 5).words(5), [31; 5]);
}

/// Every operation with these members. `r1` is the lane's operand.
fn operations(members: &str) -> Vec<String> {
    let names = [
        "shfl.sync.idx.b32 r0, r1, 0, 31",
        "vote.sync.any.pred p5, p5",
        "vote.sync.ballot.b32 r0, p5",
        "match.any.sync.b32 r0, r1",
        "match.all.sync.b32 r0|p5, r1",
        "redux.sync.add.u32 r0, r1",
    ];
    names.iter().map(|name| format!("{name}, {members};")).chain([format!("bar.warp.sync {members};")]).collect()
}

#[test]
fn members_on_another_path_are_missing() {
    for operation in operations("-1") {
        let kernel = Kernel::new(format!(
            "setp.ge.u32 p0, tid, 4; mov.u32 r1, tid; @p0 bra DONE;\n{operation}\nDONE: st.global.u32 [cell], r1; ret;"
        ));
        let guarded =
            Kernel::new(format!("setp.ne.u32 p0, tid, 4; mov.u32 r1, tid;\n@p0 {operation}\nadd.u32 r2, r2, 1; ret;"));
        // A barrier waits only for lanes that have not exited yet.
        if operation.starts_with("bar") {
            assert_eq!(kernel.words(32), each(32, |lane| lane));
            guarded.report();
            continue;
        }
        let kind = FaultKind::MissingLanes { expected: ALL, missing: 0xffff_fff0 };
        assert_eq!(kernel.fault(&operation, 0, 0), kind, "{operation}");
        let kind = FaultKind::MissingLanes { expected: ALL, missing: 0x10 };
        assert_eq!(guarded.fault(&operation, 0, 0), kind, "{operation}");
    }
}

/// Kernels in which lanes 3, 17 and 31 exit, before the others arrive at an operation of all lanes
/// or while they wait there.
fn after_exits(operation: &str) -> [Kernel; 3] {
    let exits = "setp.eq.u32 p0, tid, 3; setp.eq.or.u32 p0, tid, 17, p0; setp.eq.or.u32 p0, tid, 31, p0;";
    let inputs = "setp.lt.u32 p5, tid, 9; and.b32 r1, tid, 1; mov.u32 r0, 0;";
    let store = "selp.u32 r2, 1, 0, p5; st.global.u32 [cell], r0; st.global.u32 [cell+4096], r2;";
    [
        format!("{exits}{inputs} @p0 exit;\n{operation}\n{store} ret;"),
        format!("{exits}{inputs} @p0 bra DONE;\n{operation}\n{store}\nDONE: ret;"),
        format!(
            "{exits}{inputs} @!p0 bra WORK; {} exit;\nWORK: {operation}\n{store} ret;",
            "add.u32 r9, r9, 1;".repeat(20)
        ),
    ]
    .map(|body| Kernel::new(body).output_bytes(8192))
}

#[test]
fn lanes_that_have_exited_are_not_waited_for() {
    let live = |lane: &u32| ![3, 17, 31].contains(lane);
    let mask = |holds: &dyn Fn(u32) -> bool| {
        (0..32).filter(live).filter(|lane| holds(*lane)).fold(0_u32, |mask, lane| mask | 1 << lane)
    };
    let all = mask(&|_| true);
    type ByLane<'a> = &'a dyn Fn(u32) -> (u32, u32);
    let results: [(&str, ByLane<'_>); 7] = [
        ("vote.sync.ballot.b32 r0, p5, -1;", &|lane| (mask(&|other| other < 9), (lane < 9).into())),
        ("vote.sync.ballot.b32 r0, !p5, -1;", &|lane| (mask(&|other| other >= 9), (lane < 9).into())),
        ("vote.sync.any.pred p5, p5, -1;", &|_| (0, 1)),
        ("vote.sync.all.pred p5, p5, -1;", &|_| (0, 0)),
        ("match.any.sync.b32 r0, r1, -1;", &|lane| (mask(&|other| other & 1 == lane & 1), (lane < 9).into())),
        ("redux.sync.add.u32 r0, r1, -1;", &|lane| ((all & 0xaaaa_aaaa).count_ones(), (lane < 9).into())),
        ("shfl.sync.bfly.b32 r0, r1, 4, 31, -1; ", &|lane| (lane & 1, (lane < 9).into())),
    ];
    for (operation, expected) in &results[..6] {
        for kernel in after_exits(operation) {
            let words = kernel.words(2048);
            for lane in (0..32).filter(live) {
                let found = (words[lane as usize], words[1024 + lane as usize]);
                assert_eq!(found, expected(lane), "{operation} lane {lane}\n{}", kernel.text());
            }
        }
    }
    // Lane 7 gets the value of lane 3, which has exited. No lane may depend on it.
    for kernel in after_exits(results[6].0) {
        assert_eq!(kernel.fault("shfl", 0, 7), FaultKind::NoSuchLane { lane: 3 });
    }
    for kernel in after_exits("bar.warp.sync -1;") {
        kernel.report();
    }
}

#[test]
fn members_all_name_the_same_members() {
    for operation in operations("r3") {
        let kernel = Kernel::new(format!(
            "mov.u32 r1, tid; mov.u32 r3, -1; setp.eq.u32 p0, tid, 9; @p0 mov.u32 r3, 0x200;\n{operation}\nret;"
        ));
        assert_eq!(
            kernel.fault(&operation, 0, 9),
            FaultKind::DifferentMembers { first: ALL, other: 0x200 },
            "{operation}"
        );
    }
}

#[test]
fn each_tile_of_a_warp_executes_an_operation_on_its_own() {
    // Tiles of 8 lanes. The last one has only four; the others have exited.
    for (operation, expected) in [
        ("shfl.sync.bfly.b32 r0, r1, 1, 31, r3;", (|lane| 100 + (lane ^ 1)) as fn(u32) -> u32),
        ("redux.sync.add.u32 r0, 1, r3;", |lane| if lane < 24 { 8 } else { 4 }),
        ("vote.sync.ballot.b32 r0, p1, r3;", |lane| 0x0aaa_aaaa & 0xff << (lane / 8 * 8)),
        ("bar.warp.sync r3; mov.u32 r0, 7;", |_| 7),
    ] {
        let kernel = Kernel::new(format!(
            "setp.ge.u32 p0, tid, 28; @p0 ret; and.b32 r4, tid, 24; mov.u32 r3, 0xff; shl.b32 r3, r3, r4;
             and.b32 r4, tid, 1; setp.eq.u32 p1, r4, 1; add.u32 r1, tid, 100; {operation} st.global.u32 [cell], r0; ret;"
        ));
        assert_eq!(kernel.words(28), each(28, expected), "{operation}");
    }
    // A tile with a mask that names a lane of another tile.
    let kernel = Kernel::new(
        "and.b32 r4, tid, 24; mov.u32 r3, 0x1ff; shl.b32 r3, r3, r4; mov.u32 r1, tid;\nbar.warp.sync r3;\nret;",
    );
    assert!(matches!(kernel.fault("bar.warp.sync r3;", 0, 8), FaultKind::DifferentMembers { first: 0x1ff, .. }));
}

#[test]
fn a_lane_is_one_of_its_own_members() {
    for operation in operations("0xfffffeff") {
        let kernel = Kernel::new(format!("mov.u32 r1, tid;\n{operation}\nret;"));
        assert_eq!(kernel.fault(&operation, 0, 8), FaultKind::NotAMember { members: 0xffff_feff }, "{operation}");
    }
}

#[test]
fn lanes_from_different_branches_converge_at_one_operation() {
    // The operation is not a reconvergence point of the branches because one path bypasses it.
    for (operation, expected) in [
        ("shfl.sync.bfly.b32 r0, r1, 1, 31, r3;", (|lane| 100 + (lane ^ 1)) as fn(u32) -> u32),
        ("redux.sync.add.u32 r0, r1, r3;", |_| (0..24).map(|lane| 100 + lane).sum()),
        ("vote.sync.ballot.b32 r0, p1, r3;", |_| 0x00aa_aaaa),
    ] {
        let kernel = Kernel::new(format!(
            "mov.u32 r3, 0xffffff; and.b32 r4, tid, 1; setp.eq.u32 p1, r4, 1; add.u32 r1, tid, 100;
             setp.lt.u32 p0, tid, 10; @p0 bra MEET;
             setp.lt.u32 p2, tid, 17; @p2 bra MEET;
             setp.lt.u32 p3, tid, 24; @p3 bra MEET; st.global.u32 [cell], 7; ret;
             MEET: {operation} st.global.u32 [cell], r0; ret;"
        ));
        assert_eq!(kernel.words(32), each(32, |lane| if lane < 24 { expected(lane) } else { 7 }), "{operation}");
    }
}

#[test]
fn an_operation_in_a_loop_covers_the_lanes_that_are_still_in_it() {
    // A vote recomputes the members in each iteration.
    let kernel = Kernel::new(
        "mov.u32 r0, 0; mov.u32 r2, -1;
         LOOP: setp.le.u32 p0, r0, tid; vote.sync.ballot.b32 r1, p0, r2; mov.u32 r2, r1; @!p0 bra DONE;
         redux.sync.add.u32 r3, 1, r2; add.u32 r0, r0, 1; bra LOOP;
         DONE: st.global.u32 [cell], r3; ret;",
    );
    // In a lane's last iteration, the members are the lanes from itself to lane 31.
    assert_eq!(kernel.words(32), each(32, |lane| 32 - lane));
}
