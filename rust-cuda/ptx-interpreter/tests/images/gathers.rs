//! `tld4` returns a channel of the four texels around a point.

use ptx_interpreter::memory::{AddressMode, Channel, Geometry, Sampler, Texture};

use crate::device::Device;

const HANDLE: u64 = 16;

#[test]
fn a_channel_of_four_texels_is_gathered_counter_clockwise_from_the_lower_left() {
    for (channel, name) in ["r", "g", "b", "a"].into_iter().enumerate() {
        let mut device = Device::new(&format!(
            "ld.global.v4.b32 {{f0, f1, f2, r9}}, [in];\ntld4.{name}.2d.v4.f32.f32 {{r4, r5, r6, r7}}, [object, {{f0, f1}}];\nst.global.v4.b32 [out], {{r4, r5, r6, r7}};"
        ));
        let texels = (0..12_u32).flat_map(|texel| [0, 100].map(|of| (texel + of) as f32)).flat_map(f32::to_le_bytes);
        let stored = device.image((Channel::F32, 2), Geometry::TwoD, [4, 3, 1], texels.collect());
        let modes = [AddressMode::Clamp, AddressMode::Border, AddressMode::Clamp];
        let sampler = Sampler { modes, border: [-1.0; 4], ..Sampler::default() };
        device.machine.memory_mut().add_texture(HANDLE, Texture::new(stored.image, sampler).unwrap());
        let at = |x: f32, y: f32| [x.to_bits(), y.to_bits(), 0, 0];
        let found = device.output([HANDLE, 0], &[at(2.0, 1.0), at(0.0, 3.0), at(f32::NAN, f32::INFINITY)]);
        let found: Vec<[f32; 4]> = found.into_iter().map(|values| values.map(f32::from_bits)).collect();
        let expected = match channel {
            0 => [[5.0, 6.0, 2.0, 1.0], [-1.0, -1.0, 8.0, 8.0], [-1.0; 4]],
            1 => [[105.0, 106.0, 102.0, 101.0], [-1.0, -1.0, 108.0, 108.0], [-1.0; 4]],
            // Channels that the format lacks.
            2 => [[0.0; 4], [-1.0, -1.0, 0.0, 0.0], [-1.0; 4]],
            _ => [[1.0; 4], [-1.0, -1.0, 1.0, 1.0], [-1.0; 4]],
        };
        assert_eq!(found, expected, "{name}");
    }
}
