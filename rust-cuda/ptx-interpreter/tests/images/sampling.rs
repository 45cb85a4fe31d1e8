//! Fetches match a simple reference in every mode, filter, dimension and format, at odd sizes and
//! edge coordinates.

use ptx_interpreter::memory::{AddressMode, Channel, Filter, Geometry, Image, ReadMode, Sampler, Texture};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::device::{Device, Stored};
use crate::reference::{fetch, name, texel};

const HANDLE: u64 = 0x1000_0000_0010;

const SIZES: [(Geometry, [u32; 3]); 5] = [
    (Geometry::OneD, [7, 1, 1]),
    (Geometry::TwoD, [5, 3, 1]),
    (Geometry::ThreeD, [5, 3, 3]),
    (Geometry::LayeredOneD, [7, 1, 3]),
    (Geometry::LayeredTwoD, [1, 5, 3]),
];

const MODES: [AddressMode; 4] = [AddressMode::Wrap, AddressMode::Clamp, AddressMode::Mirror, AddressMode::Border];

/// Loads the coordinates and the layer, fetches, and stores the four results.
fn body(geometry: Geometry, result: &str, coordinate: &str) -> String {
    let register = if coordinate == "f32" { "f" } else { "r" };
    let at = |place: &str| place.replace('%', register);
    let coordinates = at(match geometry {
        Geometry::OneD => "{%0}",
        Geometry::TwoD => "{%0, %1}",
        Geometry::ThreeD | Geometry::Cube => "{%0, %1, %2, %2}",
        Geometry::LayeredOneD => "{r9, %0}",
        Geometry::LayeredTwoD => "{r9, %0, %1, %1}",
        Geometry::LayeredCube => "{r9, %0, %1, %2}",
    });
    format!(
        "ld.global.v4.b32 {}, [in];\ntex.{}.v4.{result}.{coordinate} {{r4, r5, r6, r7}}, [object, {coordinates}];\nst.global.v4.b32 [out], {{r4, r5, r6, r7}};",
        at("{%0, %1, %2, r9}"),
        name(geometry)
    )
}

/// Bytes of texels, without NaN and infinity.
fn random_texels(random: &mut SmallRng, channel: Channel, count: usize) -> Vec<u8> {
    let one = |random: &mut SmallRng| match channel {
        Channel::F16 => (random.random::<u16>() & 0xbfff).to_le_bytes().to_vec(),
        Channel::F32 => random.random_range(-100.0_f32..100.0).to_le_bytes().to_vec(),
        _ => random.random::<u32>().to_le_bytes()[..channel.bytes()].to_vec(),
    };
    (0..count).flat_map(|_| one(random)).collect()
}

/// A coordinate: an edge or a random one.
fn coordinate(random: &mut SmallRng, size: u32, is_normalized: bool) -> f32 {
    let edges = [0.0, -0.0, 0.5, 1.0, -0.5, -1.0, 0.25, 1.5, 2.0, -2.0, 1e-30, -1e-30, 1e30, -1e30, 3e9, f32::NAN];
    let size = size as f32;
    let x = match random.random_range(0..4) {
        0 => return edges[random.random_range(0..edges.len())],
        1 => size + edges[random.random_range(0..12)],
        // Close to coordinates where weights are rounded.
        2 => random.random_range(-3 * 512..5 * 512) as f32 / 512.0,
        _ => random.random_range(-2.0 * size..3.0 * size),
    };
    if is_normalized { x / size } else { x }
}

/// A result as a value.
fn value_of(bits: u32, is_float: bool, is_signed: bool) -> f64 {
    match (is_float, is_signed) {
        (true, _) => f32::from_bits(bits).into(),
        (false, true) => (bits as i32).into(),
        (false, false) => bits.into(),
    }
}

fn is_float(channel: Channel, read: ReadMode) -> bool {
    channel.is_float() || read == ReadMode::NormalizedFloat && channel.bytes() < 4
}

#[track_caller]
fn compare(stored: &Stored, sampler: &Sampler, found: &[[u32; 4]], expected: impl Fn(usize) -> [f64; 4]) {
    let channel = stored.image.format().channel();
    let is_signed = matches!(channel, Channel::S8 | Channel::S16 | Channel::S32);
    for (lane, found) in found.iter().enumerate() {
        let expected = expected(lane);
        for (found, expected) in found.iter().zip(expected) {
            let found = value_of(*found, is_float(channel, sampler.read), is_signed);
            let is_same = (found - expected).abs() <= 1e-6 * expected.abs().max(1e-3) + 1e-30;
            assert!(is_same, "lane {lane}: {found} is not {expected}: {sampler:?} of {:?}", stored.image);
        }
    }
}

#[test]
fn fetches_at_points_have_the_values_of_the_reference() {
    let mut random = SmallRng::seed_from_u64(test_support::seed(1));
    for (geometry, size) in SIZES {
        for result in ["f32", "s32", "u32"] {
            let mut device = Device::new(&body(geometry, result, "f32"));
            for channel in Channel::ALL {
                for channels in [1, 2, 4] {
                    let count = (size[0] * size[1] * size[2]) as usize * channels;
                    let bytes = random_texels(&mut random, channel, count);
                    let stored = device.image((channel, channels), geometry, size, bytes);
                    for bits in 0..32_usize {
                        let filter = if bits & 1 == 0 { Filter::Point } else { Filter::Linear };
                        let read = if bits & 2 == 0 { ReadMode::Element } else { ReadMode::NormalizedFloat };
                        let normalized_coordinates = bits & 4 == 0;
                        if filter == Filter::Linear && !is_float(channel, read) {
                            continue;
                        }
                        // Each mode along each dimension, in combination with others.
                        let mode = bits / 8;
                        let modes = [MODES[mode], MODES[(mode + random.random_range(0..4)) % 4], MODES[mode]];
                        let border = [1.5, -2.0, 0.0, 0.25];
                        let sampler = Sampler { modes, filter, read, normalized_coordinates, srgb: false, border };
                        device.machine.memory_mut().add_texture(HANDLE, Texture::new(stored.image, sampler).unwrap());
                        let points: Vec<([f32; 3], u32)> = (0..32)
                            .map(|_| {
                                let along = size.map(|size| coordinate(&mut random, size, normalized_coordinates));
                                (along, random.random_range(0..5))
                            })
                            .collect();
                        let input: Vec<[u32; 4]> = points
                            .iter()
                            .map(|([x, y, z], layer)| [x.to_bits(), y.to_bits(), z.to_bits(), *layer])
                            .collect();
                        let found = device.output([HANDLE, 0], &input);
                        compare(&stored, &sampler, &found, |lane| {
                            fetch(&stored, &sampler, points[lane].0, points[lane].1)
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn fetches_at_indices_have_the_values_of_the_reference() {
    let mut random = SmallRng::seed_from_u64(test_support::seed(1));
    for (geometry, size) in SIZES {
        let mut device = Device::new(&body(geometry, "s32", "s32"));
        for channel in Channel::ALL {
            let count = (size[0] * size[1] * size[2]) as usize * 2;
            let bytes = random_texels(&mut random, channel, count);
            let stored = device.image((channel, 2), geometry, size, bytes);
            for mode in MODES {
                let sampler = Sampler { modes: [mode; 3], border: [1.0; 4], ..Sampler::default() };
                device.machine.memory_mut().add_texture(HANDLE, Texture::new(stored.image, sampler).unwrap());
                let edges = [0, 1, 2, 4, 6, 7, -1, -8, i32::MAX, i32::MIN];
                let input: Vec<[i32; 4]> =
                    (0..32).map(|_| std::array::from_fn(|_| edges[random.random_range(0..edges.len())])).collect();
                let words: Vec<[u32; 4]> = input.iter().map(|at| at.map(|index| index as u32)).collect();
                let found = device.output([HANDLE, 0], &words);
                compare(&stored, &sampler, &found, |lane| {
                    let layer = i128::from((input[lane][3] as u32).min(size[2] - 1));
                    let mut at = [0; 3];
                    for dimension in 0..geometry.dimensions() {
                        at[dimension] = i128::from(input[lane][dimension]);
                    }
                    if geometry.is_layered() {
                        at[2] = layer;
                    }
                    texel(&stored, &sampler, at)
                });
            }
        }
    }
}

/// A texture of consecutive f32 values, starting at 0.
fn counting(device: &mut Device, geometry: Geometry, size: [u32; 3], sampler: Sampler) -> Stored {
    let bytes = (0..size.iter().product::<u32>()).flat_map(|number| (number as f32).to_le_bytes()).collect();
    let stored = device.image((Channel::F32, 1), geometry, size, bytes);
    device.machine.memory_mut().add_texture(HANDLE, Texture::new(stored.image, sampler).unwrap());
    stored
}

fn firsts(found: &[[u32; 4]]) -> Vec<f32> {
    found.iter().map(|[first, ..]| f32::from_bits(*first)).collect()
}

#[test]
fn known_values_of_filters_and_modes() {
    let mut device = Device::new(&body(Geometry::OneD, "f32", "f32"));
    let at = |x: f32| [x.to_bits(), 0, 0, 0];
    let linear = Sampler { filter: Filter::Linear, ..Sampler::default() };
    counting(&mut device, Geometry::OneD, [4, 1, 1], linear);
    // Between the centers of texels 0 and 1, in steps of 1/256: 0.001 is rounded to 0, 0.003 to
    // 1/256.
    let points = [0.5, 1.0, 0.501, 0.503, 0.0, 4.0, -100.0, f32::INFINITY, f32::NEG_INFINITY];
    let found = firsts(&device.output([HANDLE, 0], &points.map(at)));
    assert_eq!(found, [0.0, 0.5, 0.0, 1.0 / 256.0, 0.0, 3.0, 0.0, 3.0, 0.0]);
    for (mode, expected) in [
        (AddressMode::Wrap, [3.0, 0.0, 1.0, 3.0]),
        (AddressMode::Mirror, [0.0, 3.0, 2.0, 0.0]),
        (AddressMode::Clamp, [0.0, 3.0, 3.0, 0.0]),
        (AddressMode::Border, [9.0, 9.0, 9.0, 9.0]),
    ] {
        let sampler =
            Sampler { modes: [mode; 3], normalized_coordinates: true, border: [9.0; 4], ..Sampler::default() };
        counting(&mut device, Geometry::OneD, [4, 1, 1], sampler);
        let found = firsts(&device.output([HANDLE, 0], &[-0.125, 1.125, 1.375, -0.0625].map(at)));
        assert_eq!(found, expected, "{mode:?}");
        // Infinity maps to some texel.
        device.output([HANDLE, 0], &[f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN].map(at));
    }
}

#[test]
fn linear_memory_is_zero_outside_and_ignores_the_sampler() {
    let mut device = Device::new(&body(Geometry::OneD, "s32", "s32"));
    let bytes: Vec<u8> = (1..=9_i16).flat_map(|value| (-value).to_le_bytes()).collect();
    let stored = device.image((Channel::S16, 1), Geometry::OneD, [9, 1, 1], bytes);
    let start = device
        .machine
        .memory()
        .view()
        .allocations()
        .iter()
        .find(|other| other.extent.bytes == stored.image.bytes())
        .unwrap()
        .extent
        .start;
    let image = Image::linear(start, stored.image.format(), 9).unwrap();
    let sampler =
        Sampler { modes: [AddressMode::Wrap; 3], filter: Filter::Linear, border: [7.0; 4], ..Sampler::default() };
    device.machine.memory_mut().add_texture(HANDLE, Texture::new(image, sampler).unwrap());
    let found = device.output([HANDLE, 0], &[0, 8, 9, -1, i32::MAX, i32::MIN].map(|index| [index as u32, 0, 0, 0]));
    assert_eq!(found.iter().map(|[first, ..]| *first as i32).collect::<Vec<_>>(), [-1, -9, 0, 0, 0, 0]);
}

#[test]
fn a_direction_chooses_a_face_of_a_cube() {
    for (geometry, cubes) in [(Geometry::Cube, 1), (Geometry::LayeredCube, 2)] {
        let mut device = Device::new(&body(geometry, "f32", "f32"));
        // Four texels of each face.
        counting(&mut device, geometry, [2, 2, 6 * cubes], Sampler::default());
        let directions: [[f32; 3]; 8] = [
            [1.0, 0.1, 0.1],
            [-1.0, 0.1, 0.1],
            [0.1, 1.0, 0.1],
            [0.1, -1.0, 0.1],
            [0.1, 0.1, 1.0],
            [0.1, 0.1, -1.0],
            [3.0, -1.0, -1.0],
            [0.0, 0.0, 0.0],
        ];
        for layer in 0..cubes + 1 {
            let input = directions.map(|[x, y, z]| [x.to_bits(), y.to_bits(), z.to_bits(), layer]);
            let found = firsts(&device.output([HANDLE, 0], &input));
            // For +x, s is -z and t is -y. Both are negative: the first texel.
            let faces = [0.0, 5.0, 11.0, 13.0, 17.0, 20.0, 3.0, 16.0];
            let cube = layer.min(cubes - 1) as f32;
            assert_eq!(found, faces.map(|face| 24.0 * cube + face), "{geometry} {layer}");
        }
    }
}

#[test]
fn levels_and_gradients_have_no_effect_without_mipmaps() {
    for instruction in [
        "tex.2d.v4.f32.f32 {r4, r5, r6, r7}, [object, {f0, f1}];",
        "tex.level.2d.v4.f32.f32 {r4, r5, r6, r7}, [object, {f0, f1}], f2;",
        "tex.grad.2d.v4.f32.f32 {r4, r5, r6, r7}, [object, {f0, f1}], {f2, f2}, {f2, f2};",
        "txq.width.b32 r5, [object]; txq.height.b32 r6, [object]; tex.2d.v4.f32.f32 {r4, _, _, r7}, [object, {f0, f1}];",
    ] {
        let mut device = Device::new(&format!(
            "ld.global.v4.b32 {{f0, f1, f2, r9}}, [in];\n{instruction}\nst.global.v4.b32 [out], {{r4, r5, r6, r7}};"
        ));
        counting(&mut device, Geometry::TwoD, [4, 3, 1], Sampler::default());
        let [found] = device.output([HANDLE, 0], &[[1.5_f32, 2.5, 3.0, 0.0].map(f32::to_bits)])[..] else { panic!() };
        let expected = if instruction.starts_with("txq") { [4, 3] } else { [0, 0] };
        assert_eq!(found, [9.0_f32.to_bits(), expected[0], expected[1], 1.0_f32.to_bits()], "{instruction}");
    }
}

#[test]
fn srgb_is_linear_before_the_filter() {
    let mut device = Device::new(&body(Geometry::OneD, "f32", "f32"));
    let stored = device.image((Channel::U8, 4), Geometry::OneD, [1, 1, 1], vec![0, 10, 188, 188]);
    let sampler = Sampler { read: ReadMode::NormalizedFloat, srgb: true, ..Sampler::default() };
    device.machine.memory_mut().add_texture(HANDLE, Texture::new(stored.image, sampler).unwrap());
    let [found] = device.output([HANDLE, 0], &[[0; 4]])[..] else { panic!() };
    let found = found.map(f32::from_bits);
    // The fourth channel is already linear.
    let expected = [0.0, 10.0 / 255.0 / 12.92, 0.502_886_5, 188.0 / 255.0];
    assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6), "{found:?}");
}
