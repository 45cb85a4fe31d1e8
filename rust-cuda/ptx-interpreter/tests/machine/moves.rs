//! Moves between registers, special registers, addresses and predicates.

use crate::support::kernel::{Kernel, each};
use cuda_launch::Dim3;
use rand::{RngExt, SeedableRng, rngs::SmallRng};

#[test]
fn special_registers_name_thread_and_block_in_three_dimensions() {
    let (grid, block) = (Dim3::new(2, 3, 2), Dim3::new(5, 4, 3));
    let names = ["tid", "ntid", "ctaid", "nctaid"].map(|name| ["x", "y", "z"].map(|axis| format!("%{name}.{axis}")));
    // By definition, the thread's linear index in the grid is the index of its 12 output words.
    let mut body = String::from(
        "mov.u32 r0, %ctaid.z; mov.u32 r1, %nctaid.y; mov.u32 r2, %ctaid.y; mad.lo.u32 r0, r0, r1, r2;
         mov.u32 r1, %nctaid.x; mov.u32 r2, %ctaid.x; mad.lo.u32 r0, r0, r1, r2;
         mov.u32 r1, %ntid.z; mov.u32 r2, %tid.z; mad.lo.u32 r0, r0, r1, r2;
         mov.u32 r1, %ntid.y; mov.u32 r2, %tid.y; mad.lo.u32 r0, r0, r1, r2;
         mov.u32 r1, %ntid.x; mov.u32 r2, %tid.x; mad.lo.u32 r0, r0, r1, r2;
         mad.wide.u32 d0, r0, 48, output;\n",
    );
    for (index, name) in names.as_flattened().iter().enumerate() {
        body += &format!("mov.u32 r3, {name}; st.global.u32 [d0+{}], r3;\n", index * 4);
    }
    let threads = (grid.count() * block.count()) as usize;
    let found = Kernel::new(body + "ret;").shape(grid, block).output_bytes(threads * 48).words(threads * 12);
    let mut expected = Vec::new();
    let all =
        |size: Dim3| (0..size.z).flat_map(move |z| (0..size.y).flat_map(move |y| (0..size.x).map(move |x| [x, y, z])));
    for ctaid in all(grid) {
        for tid in all(block) {
            expected.extend(tid.into_iter().chain([5, 4, 3]).chain(ctaid).chain([2, 3, 2]));
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn special_registers_name_the_lane_its_warp_and_the_lanes_around_it() {
    let names =
        ["laneid", "warpid", "nwarpid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge"];
    let mut body = String::from("mad.wide.u32 d0, tid, 32, output;\n");
    for (index, name) in names.iter().enumerate() {
        body += &format!("mov.u32 r0, %{name}; st.global.u32 [d0+{}], r0;\n", index * 4);
    }
    // The last of three warps has 6 threads.
    let found = Kernel::new(body + "ret;").shape(1, 70).output_bytes(70 * 32).words(70 * 8);
    let mask = |holds: &dyn Fn(u32) -> bool| (0..32).filter(|other| holds(*other)).map(|other| 1 << other).sum::<u32>();
    let expected = each(70, |thread| {
        let lane = thread % 32;
        let masks = [
            mask(&|other| other == lane),
            mask(&|other| other < lane),
            mask(&|other| other <= lane),
            mask(&|other| other > lane),
            mask(&|other| other >= lane),
        ];
        [[lane, thread / 32, 3].as_slice(), &masks].concat()
    });
    assert_eq!(found, expected.concat());
}

#[test]
fn dynamic_smem_size_is_that_of_the_launch() {
    let kernel = Kernel::new("mov.u32 r0, %dynamic_smem_size; st.global.u32 [cell], r0; ret;");
    for bytes in [0, 4, 48 * 1024] {
        assert_eq!(kernel.clone().dynamic_shared(bytes).words(32), [bytes; 32]);
    }
}

#[test]
fn cvt_reads_special_registers_and_warp_sz_is_a_constant() {
    let wide = Kernel::new("cvt.u64.u32 d0, %laneid; st.global.u64 [cell8], d0; ret;");
    assert_eq!(wide.words8(32), each(32, u64::from));
    let kernel = Kernel::new("mul.lo.u32 r0, tid, WARP_SZ; st.global.u32 [cell], r0; ret;");
    assert_eq!(kernel.words(32), each(32, |thread| thread * 32));
}

#[test]
fn immediates_have_the_width_of_the_type() {
    let body = "
        mov.b16 h0, -1; mov.s32 r0, -2; mov.b64 d0, -3; mov.b32 r1, 0xfffffffe; mov.f32 r2, 0f3fc00000;
        mov.f64 d1, 0d3ff8000000000000; mov.f32 r3, 1.5; mov.f64 d2, 1.5;
        cvt.u64.u16 d3, h0; st.global.u64 [output], d3;
        cvt.u64.u32 d3, r0; st.global.u64 [output+8], d3;
        st.global.u64 [output+16], d0;
        cvt.u64.u32 d3, r1; st.global.u64 [output+24], d3;
        st.global.v2.u32 [output+32], {r2, r3};
        st.global.v2.u64 [output+48], {d1, d2};
        ret;";
    let found = Kernel::new(body).shape(1, 1).output_bytes(64).words8(8);
    let (f32_bits, f64_bits) = (u64::from(1.5_f32.to_bits()), 1.5_f64.to_bits());
    let expected = [0xffff, 0xffff_fffe, -3_i64 as u64, 0xffff_fffe, f32_bits | f32_bits << 32, 0, f64_bits, f64_bits];
    assert_eq!(found, expected);
}

#[test]
fn registers_are_packed_and_unpacked_low_part_first() {
    let body = "
        ld.global.u64 d0, [input];
        mov.b64 {r0, r1}, d0; mov.b64 d1, {r1, r0}; st.global.u64 [output], d1;
        mov.b64 {h0, h1, h2, h3}, d0; mov.b64 d1, {h3, h2, h1, h0}; st.global.u64 [output+8], d1;
        mov.b32 {h4, h5}, r0; mov.b32 r2, {h5, h4}; cvt.u64.u32 d1, r2; st.global.u64 [output+16], d1;
        mov.b64 {_, r3}, d0; cvt.u64.u32 d1, r3; st.global.u64 [output+24], d1;
        mov.b64 d1, {r0, -1}; st.global.u64 [output+32], d1;
        ret;";
    let value = 0x0123_4567_89ab_cdef_u64;
    let found = Kernel::new(body).input8(&[value]).shape(1, 1).output_bytes(40).words8(5);
    assert_eq!(found, [0x89ab_cdef_0123_4567, 0xcdef_89ab_4567_0123, 0xcdef_89ab, 0x0123_4567, 0xffff_ffff_89ab_cdef]);
}

#[test]
fn variables_have_addresses_to_which_offsets_are_added() {
    let declarations = ".global .align 4 .u32 cells[4] = {10, 11, 12, 13};
        .const .align 4 .u32 numbers[4] = {20, 21, 22, 23};\n.shared .align 4 .u32 room[4];";
    let body = "
        .local .align 4 .b32 own[4];
        mov.u64 d0, cells+8; ld.global.u32 r0, [d0+-4]; ld.global.u32 r1, [cells+12];
        mov.u64 d1, numbers; ld.const.u32 r2, [d1+4]; ld.const.u32 r3, [numbers+12];
        mov.u64 d2, room+8; mov.u32 r9, 5; st.shared.u32 [d2+-8], r9; ld.shared.u32 r4, [room];
        mov.u32 r5, room; ld.shared.u32 r5, [r5];
        mov.u64 d3, own+12; st.local.u32 [d3], r9; ld.local.u32 r6, [own+12];
        st.global.v4.u32 [output], {r0, r1, r2, r3}; st.global.v2.u32 [output+16], {r4, r5}; st.global.u32 [output+24], r6;
        ret;";
    let found = Kernel::new(body).declare(declarations).shape(1, 1).output_bytes(32).words(7);
    assert_eq!(found, [11, 13, 21, 23, 5, 5, 5]);
}

#[test]
fn cvta_and_back_gives_the_address_and_isspacep_tells_the_space() {
    let declarations =
        ".global .align 8 .u64 cells[2];\n.const .align 8 .u64 numbers[2] = {1, 2};\n.shared .align 8 .u64 room[2];";
    let spaces =
        [("global", "cells"), ("shared", "room"), ("local", "own"), ("const", "numbers"), ("param", "kernel_output")];
    let mut body = String::from(".local .align 8 .u64 own[2];\n");
    for (index, (space, variable)) in spaces.iter().enumerate() {
        body += &format!(
            "mov.u64 d0, {variable}; cvta.{space}.u64 d1, d0; cvta.to.{space}.u64 d2, d1; sub.u64 d3, d2, d0;
             cvta.{space}.u64 d4, {variable}; sub.u64 d4, d4, d1; or.b64 d3, d3, d4;
             st.global.u64 [output+{}], d3; mov.u32 r1, 0;\n",
            index * 16
        );
        for (bit, (other, _)) in spaces.iter().enumerate() {
            body += &format!("isspacep.{other} p0, d1; @p0 or.b32 r1, r1, {};\n", 1 << bit);
        }
        body += &format!("st.global.u32 [output+{}], r1;\n", index * 16 + 8);
    }
    let found = Kernel::new(body + "ret;").declare(declarations).shape(1, 1).output_bytes(80).words8(10);
    // A kernel parameter's window is contained within the global window (PTX ISA 6.4.1.1).
    assert_eq!(found, [0, 0b1, 0, 0b10, 0, 0b100, 0, 0b1000, 0, 0b10001]);
}

#[test]
fn a_generic_address_reaches_every_space() {
    let declarations =
        ".global .align 4 .u32 cells = 7;\n.const .align 4 .u32 number = 8;\n.shared .align 4 .u32 room;";
    let body = "
        .local .align 4 .u32 own;
        mov.u32 r0, 9; st.shared.u32 [room], r0; mov.u32 r0, 10; st.local.u32 [own], r0;
        cvta.global.u64 d0, cells; cvta.const.u64 d1, number; cvta.shared.u64 d2, room; cvta.local.u64 d3, own;
        cvta.param.u64 d4, kernel_output;
        ld.u32 r0, [d0]; ld.u32 r1, [d1]; ld.u32 r2, [d2]; ld.u32 r3, [d3]; ld.u64 d5, [d4];
        st.v4.u32 [d5], {r0, r1, r2, r3};
        mov.u32 r4, 11; st.u32 [d2], r4; st.u32 [d3], r4;
        ld.shared.u32 r5, [room]; ld.local.u32 r6, [own];
        st.global.v2.u32 [output+16], {r5, r6};
        ret;";
    assert_eq!(Kernel::new(body).declare(declarations).shape(1, 1).output_bytes(32).words(6), [7, 8, 9, 10, 11, 11]);
}

#[test]
fn selp_selects_by_a_predicate_in_each_lane() {
    let body = "
        setp.lt.u32 p0, tid, 10;
        selp.b32 r0, tid, 77, p0; selp.f32 r1, 0f3f800000, 0f40000000, p0; selp.s16 h0, -1, 5, p0;
        cvt.u32.u16 r2, h0; selp.u64 d0, 0x100000000, 1, p0; cvt.u32.u64 r3, d0;
        mad.wide.u32 d1, tid, 16, output; st.global.v4.u32 [d1], {r0, r1, r2, r3}; ret;";
    let expected = each(32, |thread| match thread < 10 {
        true => [thread, 1_f32.to_bits(), 0xffff, 0],
        false => [77, 2_f32.to_bits(), 5, 1],
    });
    assert_eq!(Kernel::new(body).words(128), expected.concat());
}

#[test]
fn predicate_logic_works_per_lane() {
    let body = "
        and.b32 r0, tid, 1; setp.ne.u32 p0, r0, 0; and.b32 r0, tid, 2; setp.ne.u32 p1, r0, 0;
        and.pred p2, p0, p1; or.pred p3, p0, p1; xor.pred p4, p0, p1; not.pred p5, p0; mov.pred p6, p1;
        mov.pred p7, 1; mov.pred p8, 0; and.pred p7, p7, p0;
        mov.u32 r1, 0;
        @p2 or.b32 r1, r1, 1; @p3 or.b32 r1, r1, 2; @p4 or.b32 r1, r1, 4; @p5 or.b32 r1, r1, 8; @p6 or.b32 r1, r1, 16;
        @!p2 or.b32 r1, r1, 32; @p7 or.b32 r1, r1, 64; @p8 or.b32 r1, r1, 128;
        st.global.u32 [cell], r1; ret;";
    let bit = |holds: bool, position: u32| u32::from(holds) << position;
    let expected = each(32, |thread| {
        let (a, b) = (thread & 1 != 0, thread & 2 != 0);
        bit(a & b, 0) | bit(a | b, 1) | bit(a ^ b, 2) | bit(!a, 3) | bit(b, 4) | bit(!(a & b), 5) | bit(a, 6)
    });
    assert_eq!(Kernel::new(body).words(32), expected);
}

#[test]
fn setp_combines_and_writes_the_complement_too() {
    // p = (a < b) op c and q = !(a < b) op c (PTX ISA 9.7.6.2).
    for (name, apply) in
        [("and", (|a, b| a & b) as fn(bool, bool) -> bool), ("or", |a, b| a | b), ("xor", |a, b| a ^ b)]
    {
        for (mark, negated) in [("", false), ("!", true)] {
            let body = format!(
                "and.b32 r0, tid, 1; setp.ne.u32 p9, r0, 0;
                 setp.lt.{name}.u32 p0|p1, tid, 16, {mark}p9;
                 selp.u32 r1, 1, 0, p0; selp.u32 r2, 2, 0, p1; or.b32 r1, r1, r2; st.global.u32 [cell], r1; ret;"
            );
            let expected = each(32, |thread| {
                let (less, other) = (thread < 16, (thread & 1 != 0) ^ negated);
                u32::from(apply(less, other)) | u32::from(apply(!less, other)) << 1
            });
            assert_eq!(Kernel::new(body).words(32), expected, "{name} {mark}");
        }
    }
}

#[test]
fn the_second_destination_of_setp_is_true_where_a_nan_makes_the_first_false() {
    let body = "
        mov.f32 r0, 0f7fc00000;
        setp.lt.f32 p0|p1, r0, 0f3f800000; setp.ltu.f32 p2|p3, r0, 0f3f800000; setp.nan.f32 p4|_, r0, r0;
        selp.u32 r1, 1, 0, p0; selp.u32 r2, 2, 0, p1; selp.u32 r3, 4, 0, p2; selp.u32 r4, 8, 0, p3; selp.u32 r5, 16, 0, p4;
        or.b32 r1, r1, r2; or.b32 r3, r3, r4; or.b32 r1, r1, r3; or.b32 r1, r1, r5; st.global.u32 [cell], r1; ret;";
    assert_eq!(Kernel::new(body).words(32), [2 | 4 | 16; 32]);
}

#[test]
fn a_setp_may_write_the_predicate_that_it_combines_with() {
    let body = "
        setp.lt.u32 p0, tid, 20; setp.gt.and.u32 p0|p1, tid, 5, p0;
        selp.u32 r1, 1, 0, p0; selp.u32 r2, 2, 0, p1; or.b32 r1, r1, r2; st.global.u32 [cell], r1; ret;";
    let expected = each(32, |thread| match thread {
        0..=5 => 2,
        6..20 => 1,
        _ => 0,
    });
    assert_eq!(Kernel::new(body).words(32), expected);
}

#[test]
fn a_guard_disables_every_effect_in_a_lane() {
    let body = "
        setp.eq.u32 p0, tid, 3; mov.u32 r0, 1;
        @p0 mov.u32 r0, 2; @!p0 add.u32 r0, r0, 10; @p0 st.global.u32 [cell], r0; @!p0 st.global.u32 [cell], r0;
        mov.u64 d0, 0; setp.gt.u32 p1, tid, 40; @p1 ld.global.u32 r0, [d0]; @p1 setp.ne.u32 p0, tid, tid;
        @p0 st.global.u32 [cell], 99; ret;";
    assert_eq!(Kernel::new(body).words(32), each(32, |thread| if thread == 3 { 99 } else { 11 }));
}

#[test]
fn carry_chains_add_and_subtract_128_bits() {
    let body = "
        mad.wide.u32 d0, tid, 32, input;
        ld.global.v4.u32 {r0, r1, r2, r3}, [d0]; ld.global.v4.u32 {r4, r5, r6, r7}, [d0+16];
        add.cc.u32 r8, r0, r4; addc.cc.u32 r9, r1, r5; addc.cc.u32 r10, r2, r6; addc.u32 r11, r3, r7;
        sub.cc.u32 r12, r0, r4; subc.cc.u32 r13, r1, r5; subc.cc.u32 r14, r2, r6; subc.u32 r15, r3, r7;
        ld.global.v2.u64 {d1, d2}, [d0]; ld.global.v2.u64 {d3, d4}, [d0+16];
        add.cc.u64 d5, d1, d3; addc.u64 d6, d2, d4; sub.cc.u64 d7, d1, d3; subc.u64 d8, d2, d4;
        mad.wide.u32 d0, tid, 64, output;
        st.global.v4.u32 [d0], {r8, r9, r10, r11}; st.global.v4.u32 [d0+16], {r12, r13, r14, r15};
        st.global.v2.u64 [d0+32], {d5, d6}; st.global.v2.u64 [d0+48], {d7, d8}; ret;";
    let mut rng = SmallRng::seed_from_u64(test_support::seed(1));
    let edges = [0, 1, u32::MAX, u32::MAX - 1, 1 << 31];
    let word = |rng: &mut SmallRng| if rng.random() { rng.random() } else { edges[rng.random_range(0..edges.len())] };
    let input: Vec<u32> = (0..32 * 8).map(|_| word(&mut rng)).collect();
    let found = Kernel::new(body).input(&input).output_bytes(32 * 64).words(32 * 16);
    let wide = |words: &[u32]| words.iter().rev().fold(0_u128, |sum, word| sum << 32 | u128::from(*word));
    for (pair, found) in input.chunks(8).zip(found.chunks(16)) {
        let (a, b) = (wide(&pair[..4]), wide(&pair[4..]));
        let results: Vec<u128> = found.chunks(4).map(wide).collect();
        let (sum, difference) = (a.wrapping_add(b), a.wrapping_sub(b));
        assert_eq!(results, [sum, difference, sum, difference], "{a:#x} {b:#x}");
    }
}

#[test]
fn each_lane_has_its_own_carry_which_a_false_guard_preserves() {
    let body = "
        setp.lt.u32 p0, tid, 16; mov.u32 r0, -1;
        add.cc.u32 r1, r0, tid; @p0 add.cc.u32 r1, r0, r0; addc.u32 r2, 0, 0; st.global.u32 [cell], r2; ret;";
    // Without the guarded addition, lane 0 would have no carry. The other lanes have one in either
    // case.
    assert_eq!(Kernel::new(body).words(32), [1; 32]);
    let body = "
        setp.lt.u32 p0, tid, 16; mov.u32 r0, -1;
        add.cc.u32 r1, r0, tid; @p0 add.cc.u32 r1, 0, 0; addc.u32 r2, 0, 0; st.global.u32 [cell], r2; ret;";
    assert_eq!(Kernel::new(body).words(32), each(32, |thread| u32::from(thread >= 16)));
}
