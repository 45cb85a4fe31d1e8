//! Surface loads and stores access bytes of an image, in each dimension, at each size, and with
//! each policy for accesses outside it.

use ptx_interpreter::memory::{Channel, Geometry};

use crate::device::Device;
use crate::reference::name;

const HANDLE: u64 = 0x2000_0000_0010;

/// The coordinates of an instruction in `r0`, `r1` and `r2`: bytes, row, and plane or layer.
fn coordinates(geometry: Geometry) -> &'static str {
    match geometry {
        Geometry::OneD => "{r0}",
        Geometry::TwoD => "{r0, r1}",
        Geometry::ThreeD => "{r0, r1, r2, r2}",
        Geometry::LayeredOneD => "{r2, r0}",
        _ => "{r2, r0, r1, r1}",
    }
}

const LOAD_PLACE: &str = "ld.global.v4.b32 {r0, r1, r2, r3}, [in];\n";

/// Type, registers, and code that converts a word in `r3` to their values and back.
const TYPES: [(&str, &str, &str, &str); 8] = [
    ("b8", "{h0}", "cvt.u16.u32 h0, r3;", "cvt.u32.u16 r4, h0;"),
    (
        "v4.b8",
        "{h0, h1, h2, h3}",
        "mov.b32 {h0, h2}, r3; shr.u16 h1, h0, 8; shr.u16 h3, h2, 8;",
        "shl.b16 h1, h1, 8; or.b16 h0, h0, h1; shl.b16 h3, h3, 8; or.b16 h2, h2, h3; mov.b32 r4, {h0, h2};",
    ),
    ("b16", "{h0}", "cvt.u16.u32 h0, r3;", "cvt.u32.u16 r4, h0;"),
    ("v2.b16", "{h0, h1}", "mov.b32 {h0, h1}, r3;", "mov.b32 r4, {h0, h1};"),
    ("b32", "{r4}", "mov.b32 r4, r3;", ""),
    ("v4.b32", "{r4, r5, r6, r7}", "mov.b32 r4, r3; not.b32 r5, r3; add.u32 r6, r3, 1; add.u32 r7, r3, 2;", ""),
    ("b64", "{d0}", "not.b32 r5, r3; mov.b64 d0, {r3, r5};", "mov.b64 {r4, r5}, d0;"),
    (
        "v2.b64",
        "{d0, d1}",
        "not.b32 r5, r3; mov.b64 d0, {r3, r5}; add.u32 r6, r3, 1; add.u32 r7, r3, 2; mov.b64 d1, {r6, r7};",
        "mov.b64 {r4, r5}, d0; mov.b64 {r6, r7}, d1;",
    ),
];

fn bytes_of(scalar: &str) -> usize {
    let (vector, scalar) = match scalar.split_once('.') {
        Some((vector, scalar)) => (vector[1..].parse().unwrap(), scalar),
        None => (1, scalar),
    };
    vector * scalar[1..].parse::<usize>().unwrap() / 8
}

#[test]
fn what_a_thread_stores_another_launch_loads() {
    for (geometry, size) in [
        (Geometry::OneD, [5, 1, 1]),
        (Geometry::TwoD, [3, 3, 1]),
        (Geometry::ThreeD, [2, 3, 2]),
        (Geometry::LayeredOneD, [3, 1, 3]),
        (Geometry::LayeredTwoD, [1, 3, 3]),
        (Geometry::Cube, [2, 2, 6]),
    ] {
        let instruction = if geometry == Geometry::Cube { "a2d" } else { name(geometry) };
        for (scalar, registers, from_word, to_word) in TYPES {
            let bytes = bytes_of(scalar);
            let places = coordinates(geometry);
            let row = size[0] as usize * 16;
            let texels = (0..row * (size[1] * size[2]) as usize).map(|byte| byte as u8).collect();
            let mut device = Device::new(&format!(
                "{LOAD_PLACE}{from_word}\nsust.b.{instruction}.{scalar}.trap [object, {places}], {registers};"
            ));
            let mut stored = device.image((Channel::U32, 4), geometry, size, texels);
            device.machine.memory_mut().add_surface(HANDLE, stored.image);
            // The last place of the last row, and one in the middle.
            let value = 0x8765_4321_u32;
            let at = [row - bytes, (size[1] - 1) as usize, (size[2] - 1) as usize];
            let input = [at[0] as u32, at[1] as u32, at[2] as u32, value];
            device.output([HANDLE, 0], &[input]);
            let words = [value, !value, value + 1, value + 2];
            let written: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take(bytes).collect();
            let offset = (at[2] * size[1] as usize + at[1]) * row + at[0];
            stored.bytes[offset..offset + bytes].copy_from_slice(&written);
            assert_eq!(device.texels(&stored), stored.bytes, "{geometry} {scalar}");
            let body = format!(
                "{LOAD_PLACE}mov.b32 r4, 0; mov.b32 r5, 0; mov.b32 r6, 0; mov.b32 r7, 0;\nsuld.b.{instruction}.{scalar}.trap {registers}, [object, {places}];\n{to_word}\nst.global.v4.b32 [out], {{r4, r5, r6, r7}};"
            );
            let mut reader = Device::new(&body);
            let copy = reader.image((Channel::U32, 4), geometry, size, stored.bytes.clone());
            reader.machine.memory_mut().add_surface(HANDLE, copy.image);
            let [found] = reader.output([HANDLE, 0], &[input])[..] else { panic!() };
            let found: Vec<u8> = found.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(found[..bytes], written, "{geometry} {scalar}");
            assert!(found[bytes..].iter().all(|byte| *byte == 0), "{geometry} {scalar}: {found:?}");
        }
    }
}

/// A surface of 4 × 2 words, starting at 1.
fn words(body: &str) -> Device {
    let mut device = Device::new(&format!("{LOAD_PLACE}{body}"));
    let bytes = (1..=8_u32).flat_map(u32::to_le_bytes).collect();
    let stored = device.image((Channel::U32, 1), Geometry::TwoD, [4, 2, 1], bytes);
    device.machine.memory_mut().add_surface(HANDLE, stored.image);
    device
}

fn place(x: i32, y: i32) -> [u32; 4] {
    [x as u32, y as u32, 0, 99]
}

/// Places outside the image, and the nearest word inside.
const OUTSIDE: [([i32; 2], u32); 6] =
    [([-4, 0], 1), ([16, 0], 4), ([0, -1], 1), ([4, 2], 6), ([i32::MAX, i32::MAX], 8), ([i32::MIN, 1], 5)];

#[test]
fn a_load_outside_is_zero_or_of_the_nearest_bytes() {
    for policy in ["zero", "clamp"] {
        let mut device =
            words(&format!("suld.b.2d.b32.{policy} {{r4}}, [object, {{r0, r1}}]; st.global.b32 [out], r4;"));
        let found = device.output([HANDLE, 0], &OUTSIDE.map(|([x, y], _)| place(x, y)));
        for (found, (at, nearest)) in found.iter().zip(OUTSIDE) {
            assert_eq!(found[0], if policy == "zero" { 0 } else { nearest }, "{policy} {at:?}");
        }
    }
}

#[test]
fn a_store_outside_has_no_effect_or_is_of_the_nearest_bytes() {
    for policy in ["zero", "clamp"] {
        for ([x, y], nearest) in OUTSIDE {
            let mut device = words(&format!("sust.b.2d.b32.{policy} [object, {{r0, r1}}], {{r3}};"));
            device.output([HANDLE, 0], &[place(x, y)]);
            let view = device.machine.memory().view();
            let allocation = &view.allocations()[0];
            let mut rows = [0; 128];
            device.machine.memory().read(allocation.extent.start, &mut rows).unwrap();
            let word = |number: u32| {
                let at = (number / 4 * 64 + number % 4 * 4) as usize;
                u32::from_le_bytes(rows[at..at + 4].try_into().unwrap())
            };
            for number in 0..8 {
                let is_hit = policy == "clamp" && number + 1 == nearest;
                assert_eq!(word(number), if is_hit { 99 } else { number + 1 }, "{policy} {x} {y}");
            }
        }
    }
}

#[test]
fn a_vector_that_no_row_has_room_for_is_outside() {
    let mut device = words(
        "mov.b32 r4, 7; suld.b.2d.v2.b64.zero {d0, d1}, [object, {r0, r1}]; mov.b64 {r4, r5}, d0; st.global.b32 [out], r4;",
    );
    let found = device.output([HANDLE, 0], &[place(0, 0), place(16, 0)]);
    assert_eq!((found[0][0], found[1][0]), (1, 0));
    let mut narrow = Device::new(&format!("{LOAD_PLACE}suld.b.1d.v4.b32.clamp {{r4, r5, r6, r7}}, [object, {{r0}}];"));
    let stored = narrow.image((Channel::U8, 1), Geometry::OneD, [4, 1, 1], vec![1; 4]);
    narrow.machine.memory_mut().add_surface(HANDLE, stored.image);
    let (id, message) = narrow.fault([HANDLE, 0], &[place(0, 0)]);
    assert_eq!(id, "out-of-bounds", "{message}");
}

#[test]
fn queries_tell_the_size() {
    let mut device = words(
        "suq.width.b32 r4, [object]; suq.height.b32 r5, [object]; suq.depth.b32 r6, [object]; suq.array_size.b32 r7, [object]; st.global.v4.b32 [out], {r4, r5, r6, r7};",
    );
    assert_eq!(device.output([HANDLE, 0], &[place(0, 0)]), [[4, 2, 0, 0]]);
}
