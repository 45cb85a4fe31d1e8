//! Asynchronous copies of tensor boxes, compared with element-by-element copies.

use cuda_launch::LaunchConfig;
use proptest::prelude::*;
use ptx_interpreter::memory::{
    AccessError, InvalidTensor, Swizzle, TENSOR_MAP_BYTES, Tensor, TensorElement, TensorMap, TensorMapError,
};
use ptx_interpreter::{Access, FaultKind, LaunchError, LoadError, Machine, Options, RaceReason, Uninitialised};

/// Bytes of shared memory for a box.
const ROOM: usize = 32 << 10;

/// A kernel that loads a box with its first map to `room + offset`, and stores it with the second
/// one. In between, threads write the room to `out`.
fn text(rank: usize, body: &str) -> String {
    let coordinates: Vec<String> = (0..rank).map(|dimension| format!("c{dimension}")).collect();
    let coordinates = coordinates.join(", ");
    let body =
        body.replace("BOX1", &format!("[d1, {{{coordinates}}}]")).replace("BOX2", &format!("[d2, {{{coordinates}}}]"));
    format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 room[{ROOM}];\n.shared .align 8 .b64 bar;\n\
         .visible .entry kernel(\n.param .align 64 .b8 map1[128],\n.param .align 64 .b8 map2[128],\n.param .u64 out,\n.param .u64 at,\n\
         .param .u32 bytes,\n.param .u32 offset)\n{{\n\
         .reg .b32 c<5>; .reg .b32 r<20>; .reg .b64 d<20>; .reg .b16 h<4>; .reg .pred p<5>;\n\
         mov.b64 d1, map1; cvta.param.u64 d1, d1; mov.b64 d2, map2; cvta.param.u64 d2, d2;\n\
         ld.param.u64 d3, [out]; ld.param.u64 d4, [at]; ld.param.u32 r1, [bytes]; ld.param.u32 r2, [offset];\n\
         ld.global.u32 c0, [d4]; ld.global.u32 c1, [d4+4]; ld.global.u32 c2, [d4+8]; ld.global.u32 c3, [d4+12]; ld.global.u32 c4, [d4+16];\n\
         mov.u32 r3, room; add.u32 r2, r2, r3; mov.u32 r4, bar; mov.u32 r5, %tid.x; mov.u32 r6, %ntid.x; setp.eq.u32 p0, r5, 0;\n\
         @p0 mbarrier.init.shared.b64 [r4], 1; @p0 fence.proxy.async.shared::cta; bar.sync 0;\n{body}\n}}\n"
    )
}

/// Loads, writes the whole room to `out`, and stores.
const ROUND_TRIP: &str = "
    mov.u32 r7, r5; mov.u32 r10, 0x55555555;
    FILL: mad.lo.u32 r8, r7, 4, r3; st.shared.u32 [r8], r10; add.u32 r7, r7, r6; setp.lt.u32 p1, r7, 8192; @p1 bra FILL; bar.sync 0;
    @!p0 bra WAIT;
    prefetch.param.tensormap [map1]; prefetch.tensormap [d2]; cp.async.bulk.prefetch.tensor.RANK.L2.global.tile BOX1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [r4], r1;
    LOAD
    WAIT: mbarrier.try_wait.parity.shared.b64 p1, [r4], 0;
    @!p1 bra WAIT;
    mov.u32 r7, r5;
    COPY: mad.lo.u32 r8, r7, 4, r3; ld.shared.u32 r9, [r8]; mad.wide.u32 d5, r7, 4, d3; st.global.u32 [d5], r9;
    add.u32 r7, r7, r6; setp.lt.u32 p1, r7, 8192; @p1 bra COPY;
    @!p0 bra END;
    fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
    STORE
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    END: ret;";

const LOAD: &str =
    "cp.async.bulk.tensor.RANK.shared::cluster.global.tile.mbarrier::complete_tx::bytes [r2], BOX1, [r4];";
const STORE: &str = "cp.async.bulk.tensor.RANK.global.shared::cta.tile.bulk_group BOX2, [r2];";

fn round_trip(rank: usize, load: &str, store: &str) -> String {
    text(rank, &ROUND_TRIP.replace("LOAD\n", load).replace("STORE\n", store).replace("RANK", &format!("{rank}d")))
}

/// A tensor in memory, the bytes that contain it, and the coordinates of a box.
#[derive(Clone, Debug)]
struct Case {
    tensor: Tensor,
    bytes: usize,
    at: [i32; 5],
    offset: u32,
}

impl Case {
    fn box_bytes(&self) -> u32 {
        TensorMap::new(Tensor { address: 0, ..self.tensor.clone() }).unwrap().box_bytes() as u32
    }

    /// For each element of the box: its offset in shared memory, and its offset in global memory if
    /// it is in bounds.
    fn elements(&self) -> Vec<(usize, Option<usize>)> {
        let Tensor { element, sizes, strides, box_sizes, element_strides, swizzle, .. } = &self.tensor;
        let (rank, bytes) = (sizes.len(), element.bytes());
        let step = |dimension: usize| if dimension == 0 { 1 } else { element_strides[dimension] };
        let counts: Vec<u32> = (0..rank).map(|dimension| box_sizes[dimension].div_ceil(step(dimension))).collect();
        let chunks = [1, 2, 4, 8][Swizzle::ALL.iter().position(|other| other == swizzle).unwrap()];
        let pitch = if chunks == 1 { counts[0] as usize * bytes } else { 16 * chunks };
        let mut elements = Vec::new();
        let mut index = vec![0; rank];
        'all: loop {
            let row = (1..rank).rev().fold(0, |row, dimension| row * counts[dimension] + index[dimension]);
            // The table in the CUDA C++ Programming Guide: shared memory as rows of 128 bytes, each
            // with 8 chunks.
            let place = self.offset as usize + row as usize * pitch + index[0] as usize * bytes;
            let (y, x) = (place / 128, place / 16 % 8);
            let place = y * 128 + (x ^ (y % chunks)) * 16 + place % 16;
            let coordinate = |dimension: usize| {
                i64::from(self.at[dimension]) + i64::from(index[dimension]) * i64::from(step(dimension))
            };
            let is_inside = (0..rank).all(|dimension| (0..sizes[dimension] as i64).contains(&coordinate(dimension)));
            let stride = |dimension: usize| if dimension == 0 { bytes as u64 } else { strides[dimension - 1] };
            let global = (0..rank).map(|dimension| coordinate(dimension) * stride(dimension) as i64).sum::<i64>();
            elements.push((place, is_inside.then_some(global as usize)));
            for dimension in 0..rank {
                index[dimension] += 1;
                if index[dimension] < counts[dimension] {
                    continue 'all;
                }
                index[dimension] = 0;
            }
            return elements;
        }
    }
}

/// Results of a launch: the room, and the second tensor's memory.
struct Results {
    error: Option<LaunchError>,
    room: Vec<u8>,
    stored: Vec<u8>,
}

fn run(case: &Case, text: &str, data: &[u8], before: &[u8], options: Options, threads: u32) -> Results {
    let mut machine = Machine::new(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(machine.refused().next(), None, "{text}");
    let mut place = |bytes: &[u8]| {
        let address = machine.allocate(bytes.len() as u64).unwrap();
        machine.memory().write(address, bytes).unwrap();
        address
    };
    let at: Vec<u8> = case.at.iter().flat_map(|at| at.to_le_bytes()).collect();
    let [data, target, out, at] = [place(data), place(before), place(&vec![0; ROOM]), place(&at)];
    let map = |address| TensorMap::new(Tensor { address, ..case.tensor.clone() }).unwrap().to_bytes();
    let (map1, map2) = (map(data), map(target));
    let parameters: [&[u8]; 6] = [
        &map1,
        &map2,
        &out.to_le_bytes(),
        &at.to_le_bytes(),
        &case.box_bytes().to_le_bytes(),
        &case.offset.to_le_bytes(),
    ];
    let error = machine.launch(options, "kernel", LaunchConfig::new(1, threads), &parameters).err();
    let (mut room, mut stored) = (vec![0; ROOM], vec![0; case.bytes]);
    machine.memory().read(out, &mut room).unwrap();
    machine.memory().read(target, &mut stored).unwrap();
    Results { error, room, stored }
}

fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

fn cases() -> impl Strategy<Value = Case> {
    // Types with bits that loads preserve.
    let elements = [0_usize, 1, 2, 4, 5, 6, 7, 8, 9].map(|index| TensorElement::ALL[index]);
    let shape = (1_usize..=5, prop::sample::select(elements.to_vec()), prop::sample::select(Swizzle::ALL.to_vec()));
    let dimension = (1_u64..12, 0_u64..3, 1_u32..6, 1_u32..4, -9_i32..12);
    (shape, prop::collection::vec(dimension, 5), 1_u32..9, 0_u32..8, any::<bool>()).prop_map(
        |((rank, element, swizzle), dimensions, chunks, offset, fills_with_nan)| {
            let chunks = chunks.min([8, 2, 4, 8][Swizzle::ALL.iter().position(|other| *other == swizzle).unwrap()]);
            let of_all = |get: &dyn Fn(usize) -> u64| (0..rank).map(get).collect::<Vec<u64>>();
            let mut sizes = of_all(&|dimension| dimensions[dimension].0);
            sizes[0] = sizes[0] * 5 - 3;
            let mut strides = Vec::new();
            let mut bytes = (sizes[0] * element.bytes() as u64).next_multiple_of(16);
            for dimension in 1..rank {
                strides.push(bytes + 16 * dimensions[dimension].1);
                bytes = strides[dimension - 1] * sizes[dimension];
            }
            let mut box_sizes: Vec<u32> = (0..rank).map(|dimension| dimensions[dimension].2).collect();
            box_sizes[0] = chunks * 16 / element.bytes() as u32;
            let is_float = matches!(element.bytes(), 2 | 4 | 8)
                && !matches!(
                    element,
                    TensorElement::U16 | TensorElement::U32 | TensorElement::U64 | TensorElement::S64
                );
            let element_strides = (0..rank).map(|dimension| dimensions[dimension].3).collect();
            let at = std::array::from_fn(|dimension| dimensions[dimension].4);
            let tensor = Tensor {
                element,
                address: 0,
                sizes,
                strides,
                box_sizes,
                element_strides,
                swizzle,
                fills_with_nan: fills_with_nan && is_float,
            };
            Case { tensor, bytes: bytes as usize, at, offset: 128 * offset }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn boxes_are_copied_as_element_by_element(case in cases(), seed in any::<u64>(), races in any::<bool>()) {
        prop_assume!(u64::from(case.box_bytes()) * 8 + u64::from(case.offset) < ROOM as u64);
        let (data, before) = (noise(case.bytes, seed), noise(case.bytes, seed ^ 1));
        let Tensor { element, fills_with_nan, .. } = case.tensor;
        let bytes = element.bytes();
        let fill: Vec<u8> = match (fills_with_nan, bytes) {
            (false, _) => vec![0; bytes],
            (true, _) => [vec![0xff; bytes - 1], vec![0x7f]].concat(),
        };
        let (mut room, mut stored) = (vec![0x55; ROOM], before.clone());
        for (shared, global) in case.elements() {
            let value = global.map_or(&fill[..], |global| &data[global..global + bytes]);
            room[shared..shared + bytes].copy_from_slice(value);
            if let Some(global) = global {
                stored[global..global + bytes].copy_from_slice(value);
            }
        }
        let text = round_trip(case.tensor.sizes.len(), LOAD, STORE);
        let options = Options { check_races: races, ..Options::default() };
        let found = run(&case, &text, &data, &before, options, 64);
        prop_assert!(found.error.is_none(), "{}", found.error.unwrap());
        prop_assert!(found.room == room, "{case:?}");
        prop_assert!(found.stored == stored, "{case:?}");
    }
}

fn plane(element: TensorElement) -> Case {
    let row = 16 * element.bytes() as u64;
    let tensor = Tensor {
        element,
        address: 0,
        sizes: vec![16, 8],
        strides: vec![row],
        box_sizes: vec![16, 4],
        element_strides: vec![1, 1],
        swizzle: Swizzle::None,
        fills_with_nan: false,
    };
    Case { tensor, bytes: row as usize * 8, at: [0; 5], offset: 0 }
}

#[test]
fn other_names_of_the_instructions_copy_too() {
    let case = plane(TensorElement::U32);
    let (data, before) = (noise(case.bytes, 5), noise(case.bytes, 6));
    for (load, store) in [
        (LOAD.replace("shared::cluster", "shared::cta"), STORE.replace(".tile", "")),
        (
            LOAD.replace(".tile", ""),
            STORE.replace(".bulk_group BOX2, [r2]", ".bulk_group.L2::cache_hint BOX2, [r2], d4"),
        ),
        (LOAD.replace("bytes [r2], BOX1, [r4]", "bytes.L2::cache_hint [r2], BOX1, [r4], d4"), STORE.to_owned()),
        (
            format!(
                "mov.u16 h0, 1; {}",
                LOAD.replace("bytes [r2], BOX1, [r4]", "bytes.multicast::cluster [r2], BOX1, [r4], h0")
            ),
            STORE.to_owned(),
        ),
    ] {
        let found = run(&case, &round_trip(2, &load, &store), &data, &before, Options::default(), 32);
        assert!(found.error.is_none(), "{load}: {}", found.error.unwrap());
        assert_eq!(found.stored[..4 * 64], data[..4 * 64], "{load}");
        assert_eq!(found.stored[4 * 64..], before[4 * 64..], "{load}");
    }
}

#[test]
fn loads_flush_and_round_floats_by_their_type() {
    let values = [1.0_f32, 1.000_3, -1.000_6, f32::MIN_POSITIVE / 2.0, -1e-40, f32::INFINITY, f32::MAX, 0.0];
    let data: Vec<u8> = values.iter().cycle().take(128).flat_map(|value| value.to_le_bytes()).collect();
    for (element, expected) in [
        (TensorElement::F32, values),
        (TensorElement::F32Ftz, [1.0, 1.000_3, -1.000_6, 0.0, -0.0, f32::INFINITY, f32::MAX, 0.0]),
        (TensorElement::Tf32Ftz, [1.0, 1.0, -1.000_976_6, 0.0, -0.0, f32::INFINITY, f32::INFINITY, 0.0]),
    ] {
        let found = run(&plane(element), &round_trip(2, LOAD, STORE), &data, &data, Options::default(), 32);
        assert!(found.error.is_none(), "{}", found.error.unwrap());
        let found = found.room.as_chunks().0[..8].iter().map(|bytes| u32::from_le_bytes(*bytes)).collect::<Vec<_>>();
        assert_eq!(found, expected.map(f32::to_bits), "{element:?}");
    }
}

#[test]
fn reductions_combine_elements() {
    let case = plane(TensorElement::S32);
    let words = |start: i32| (0..128).map(|index| (index - 64) * start).collect::<Vec<i32>>();
    let bytes = |words: &[i32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    type Operation = (&'static str, fn(i32, i32) -> i32);
    let operations: [Operation; 6] = [
        ("add", i32::wrapping_add),
        ("min", i32::min),
        ("max", i32::max),
        ("and", |a, b| a & b),
        ("or", |a, b| a | b),
        ("xor", |a, b| a ^ b),
    ];
    for (name, operation) in operations {
        let store = format!("cp.reduce.async.bulk.tensor.2d.global.shared::cta.{name}.tile.bulk_group BOX2, [r2];");
        let found =
            run(&case, &round_trip(2, LOAD, &store), &bytes(&words(3)), &bytes(&words(-5)), Options::default(), 32);
        assert!(found.error.is_none(), "{name}: {}", found.error.unwrap());
        let mut expected = words(-5);
        expected[..64].iter_mut().zip(words(3)).for_each(|(old, new)| *old = operation(*old, new));
        assert_eq!(found.stored, bytes(&expected), "{name}");
    }
    let store = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.inc.tile.bulk_group BOX2, [r2];";
    let found = run(&case, &round_trip(2, LOAD, store), &bytes(&words(3)), &bytes(&words(-5)), Options::default(), 32);
    let fault = found.error.unwrap();
    let error = TensorMapError::Reduction { operation: "inc", element: TensorElement::S32 };
    assert_eq!(fault.fault().unwrap().kind, FaultKind::TensorMap { error }, "{fault}");
}

#[test]
fn wrong_copies_are_faults() {
    let case = plane(TensorElement::U32);
    let kind_of = |case: &Case, load: &str, store: &str, change: &dyn Fn(String) -> String| {
        let data = noise(case.bytes, 7);
        let text = change(round_trip(2, load, store));
        let options = Options { uninitialised: Uninitialised::Note, ..Options::default() };
        let error = run(case, &text, &data, &data, options, 32).error.unwrap_or_else(|| panic!("no fault\n{text}"));
        error.fault().unwrap_or_else(|| panic!("{error}")).kind.clone()
    };
    let same = |text: String| text;
    // A map at another address: the bytes there are not a map.
    let at_memory = LOAD.replace("[d1", "[d3").replace("BOX1", "[d3, {c0, c1}]");
    assert!(matches!(
        kind_of(&case, &at_memory, STORE, &same),
        FaultKind::TensorMap { error: TensorMapError::NoMap { .. } }
    ));
    let kind = kind_of(&case, &format!("add.u64 d1, d1, 16; {LOAD}"), STORE, &same);
    let FaultKind::Access { access: Access::Read, error: AccessError::Misaligned { alignment: 64, .. } } = kind else {
        panic!("{kind}")
    };
    // A different number of dimensions.
    let three = LOAD.replace("RANK", "3d").replace("BOX1", "[d1, {c0, c1, c2}]");
    let kind = kind_of(&case, &three, STORE, &same);
    assert_eq!(kind, FaultKind::TensorMap { error: TensorMapError::Rank { map: 2, instruction: 3 } });
    // A box that is not aligned, or does not fit.
    let kind = kind_of(&Case { offset: 16, ..case.clone() }, LOAD, STORE, &same);
    assert!(matches!(kind, FaultKind::Access { error: AccessError::Misaligned { alignment: 128, .. }, .. }), "{kind}");
    let kind = kind_of(&Case { offset: ROOM as u32 - 128, ..case.clone() }, LOAD, STORE, &same);
    assert!(matches!(kind, FaultKind::Access { error: AccessError::OutOfBounds { .. }, .. }), "{kind}");
    // A tensor that is larger than its memory.
    let large =
        Case { tensor: Tensor { sizes: vec![16, 9], ..case.tensor.clone() }, at: [0, 5, 0, 0, 0], ..case.clone() };
    let kind = kind_of(&large, LOAD, STORE, &same);
    assert!(matches!(kind, FaultKind::Access { access: Access::Read, .. }), "{kind}");
    // No wait for the load or for the store; the wrong number of bytes.
    let kind = kind_of(&case, LOAD, STORE, &|text| {
        text.replace("mbarrier.try_wait.parity.shared.b64 p1, [r4], 0;\n    @!p1 bra WAIT;", "")
    });
    assert!(matches!(kind, FaultKind::Race { .. }), "{kind}");
    for (rest, reads) in [("", false), ("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;", true)] {
        let access = if reads { "ld.global.u32 r9, [d6];" } else { "st.shared.u32 [r2], 1;" };
        let target = if reads { "BOX1" } else { "BOX2" };
        let store = format!("{} {rest} {access}", STORE.replace("BOX2", target));
        let kind = kind_of(&case, LOAD, &store, &|text| {
            // The first tensor's address is in its map.
            text.replace("ld.global.u32 c0", "ld.param.u64 d6, [map1+16]; ld.global.u32 c0")
        });
        assert!(matches!(kind, FaultKind::Race { reason: Some(RaceReason::InFlight), .. }), "{rest}: {kind}");
    }
    let kind = kind_of(&case, LOAD, STORE, &|text| text.replace("ld.param.u32 r1, [bytes];", "mov.u32 r1, 512;"));
    assert!(matches!(kind, FaultKind::PhaseNeverEnds { bytes: 256, .. }), "{kind}");
}

#[test]
fn a_box_is_sent_to_several_blocks_of_the_cluster() {
    let body = "
        barrier.cluster.arrive; barrier.cluster.wait;
        @p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [r4], 1024;
        mov.u32 r11, %cluster_ctarank; setp.eq.and.u32 p2, r11, 1, p0; mov.u16 h0, 11;
        setp.eq.u32 p3, r11, 2; @p3 bra END;
        mov.u16 h1, 0; barrier.cluster.arrive; barrier.cluster.wait;
        @p2 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [r2], BOX1, [r4], h0;
        WAIT: mbarrier.try_wait.parity.shared.b64 p1, [r4], 0;
        @!p1 bra WAIT;
        mul.lo.u32 r12, r11, 1024; cvt.u64.u32 d6, r12; add.u64 d6, d6, d3; mov.u32 r7, r5;
        COPY: mad.lo.u32 r8, r7, 4, r3; ld.shared.u32 r9, [r8]; mad.wide.u32 d5, r7, 4, d6; st.global.u32 [d5], r9;
        add.u32 r7, r7, r6; setp.lt.u32 p1, r7, 64; @p1 bra COPY;
        END: ret;";
    let body = body
        .replace("[r4], 1024;", "[r4], 256;")
        .replace("setp.eq.u32 p3, r11, 2; @p3 bra END;", "setp.eq.u32 p3, r11, 2;")
        .replace("WAIT: ", "@p3 bra END;\nWAIT: ")
        .replace("END: ret;", "END: barrier.cluster.arrive; barrier.cluster.wait; ret;");
    let case = plane(TensorElement::U32);
    let mut machine = Machine::new(&text(2, &body)).unwrap();
    assert_eq!(machine.refused().next(), None);
    let data = noise(case.bytes, 9);
    let [source, out, at] = [case.bytes, ROOM, 20].map(|bytes| machine.allocate(bytes as u64).unwrap());
    machine.memory().write(source, &data).unwrap();
    machine.memory().write(out, &[0; ROOM]).unwrap();
    machine.memory().write(at, &[0; 20]).unwrap();
    let map = TensorMap::new(Tensor { address: source, ..case.tensor.clone() }).unwrap().to_bytes();
    let (zero, config) = (0_u32.to_le_bytes(), LaunchConfig::new(4, 32).clusters_of(4));
    let parameters: [&[u8]; 6] = [&map, &map, &out.to_le_bytes(), &at.to_le_bytes(), &zero, &zero];
    machine.launch(Options::default(), "kernel", config, &parameters).unwrap_or_else(|error| panic!("{error}"));
    let mut found = vec![0; ROOM];
    machine.memory().read(out, &mut found).unwrap();
    for rank in 0..4 {
        let expected = if rank == 2 { &[0; 256][..] } else { &data[..256] };
        assert_eq!(&found[1024 * rank..][..256], expected, "{rank}");
    }
}

#[test]
fn maps_are_bytes_and_wrong_ones_are_errors() {
    let tensor = Tensor {
        element: TensorElement::Bf16,
        address: 0x7f00_0000_0010,
        sizes: vec![1 << 32, 7, 1],
        strides: vec![(1 << 40) - 16, 0],
        box_sizes: vec![64, 256, 1],
        element_strides: vec![1, 8, 3],
        swizzle: Swizzle::Bytes128,
        fills_with_nan: true,
    };
    let map = TensorMap::new(tensor.clone()).unwrap();
    let bytes = map.to_bytes();
    assert_eq!(TensorMap::from_bytes(&bytes), Some(map.clone()));
    assert_eq!(TensorMap::from_bytes(&[0; TENSOR_MAP_BYTES]), None);
    // Each byte counts, even those without a meaning.
    for index in 0..TENSOR_MAP_BYTES {
        let mut other = bytes;
        other[index] ^= 0x80;
        assert_ne!(TensorMap::from_bytes(&other), Some(map.clone()), "{index}");
    }
    assert_eq!(map.clone().at(8), Err(InvalidTensor::Address(8)));
    assert_eq!(map.at(0x7f00_0000_0020).unwrap().rank(), 3);
    let change = |change: &dyn Fn(&mut Tensor)| {
        let mut other = tensor.clone();
        change(&mut other);
        TensorMap::new(other).unwrap_err()
    };
    assert_eq!(change(&|tensor| tensor.sizes.push(1)), InvalidTensor::Rank);
    assert_eq!(change(&|tensor| tensor.sizes[1] = 0), InvalidTensor::Size { dimension: 1, size: 0 });
    assert_eq!(change(&|tensor| tensor.strides[0] = 8), InvalidTensor::Stride { dimension: 1, stride: 8 });
    assert_eq!(change(&|tensor| tensor.box_sizes[1] = 257), InvalidTensor::Box { dimension: 1, size: 257 });
    assert_eq!(change(&|tensor| tensor.box_sizes[0] = 4), InvalidTensor::Row(8));
    assert_eq!(change(&|tensor| tensor.box_sizes[0] = 72), InvalidTensor::Span { bytes: 144, span: 128 });
    assert_eq!(
        change(&|tensor| tensor.element_strides[2] = 9),
        InvalidTensor::ElementStride { dimension: 2, stride: 9 }
    );
    assert_eq!(change(&|tensor| tensor.element = TensorElement::U16), InvalidTensor::Fill);
}

#[test]
fn other_forms_are_rejected() {
    for instruction in [
        "cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [r2], [d1, {c0, c1}], [r4];",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [r2], [d1, {c0, c1}], [r4];",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [r2], [d1, {c0}], [r4];",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [r2], [r1, {c0, c1}], [r4];",
        "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes.multicast::cluster [r2], [d1, {c0, c1}], [r4], h0;",
        "cp.async.bulk.tensor.6d.global.shared::cta.bulk_group [d1, {c0, c1}], [r2];",
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [d1, {c0, c1}], [r2], [r4];",
        "cp.async.bulk.tensor.2d.global.shared::cta.mbarrier::complete_tx::bytes [d1, {c0, c1}], [r2], [r4];",
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.exch.bulk_group [d1, {c0, c1}], [r2];",
        "cp.reduce.async.bulk.tensor.2d.shared::cluster.global.add.mbarrier::complete_tx::bytes [r2], [d1, {c0, c1}], [r4];",
        "cp.async.bulk.prefetch.tensor.2d.global [d1, {c0, c1}];",
        "tensormap.replace.tile.global_address.global.b1024.b64 [d1], d2;",
        "fence.proxy.tensormap::generic.acquire.gpu;",
        "setmaxnreg.inc.sync.aligned.u32 8;",
        "elect.sync p0, 0xffffffff;",
    ] {
        let machine = Machine::new(&text(2, &format!("{instruction} ret;"))).unwrap();
        let refused = machine.refused().next().unwrap_or_else(|| panic!("{instruction}")).1.clone();
        assert!(matches!(refused, LoadError::Statement { .. }), "{instruction}: {refused}");
    }
}

#[test]
fn hints_and_fences_are_accepted() {
    let body = "fence.proxy.tensormap::generic.release.gpu; fence.proxy.tensormap::generic.acquire.gpu [d1], 128;
        setmaxnreg.inc.sync.aligned.u32 240; setmaxnreg.dec.sync.aligned.u32 24; griddepcontrol.launch_dependents; griddepcontrol.wait;
        elect.sync r7|p1, 0xffffffff; elect.sync _|p2, 0xfffffff0; selp.u32 r8, 1, 0, p1; selp.u32 r9, 2, 0, p2; add.u32 r8, r8, r9;
        mad.lo.u32 r8, r7, 100, r8; mad.wide.u32 d5, r5, 4, d3; st.global.u32 [d5], r8; ret;";
    let case = plane(TensorElement::U32);
    let data = noise(case.bytes, 1);
    // Lanes 4 to 31 elect a different leader than all lanes do.
    let body = body.replace(
        "elect.sync _|p2, 0xfffffff0;",
        "setp.ge.u32 p3, r5, 4; mov.pred p2, 0; @p3 elect.sync _|p2, 0xfffffff0;",
    );
    let found = run(&case, &text(2, &body), &data, &data, Options::default(), 32);
    assert!(found.error.is_none(), "{}", found.error.unwrap());
    let words: Vec<u32> = found.room.as_chunks().0[..32].iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    let expected: Vec<u32> = (0..32).map(|lane| u32::from(lane == 0) + 2 * u32::from(lane == 4)).collect();
    assert_eq!(words, expected);
}
