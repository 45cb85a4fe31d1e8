//! Texture fetches written like in the CUDA C++ Programming Guide, texel by texel, without regard
//! to speed.

use ptx_interpreter::memory::{AddressMode, Channel, Filter, Geometry, ReadMode, Sampler};

use crate::device::Stored;

/// The four results of a fetch at a point.
pub(crate) fn fetch(stored: &Stored, sampler: &Sampler, at: [f32; 3], layer: u32) -> [f64; 4] {
    let geometry = stored.image.geometry();
    let size = stored.image.size();
    let layer = i128::from(layer.min(size[2] - 1));
    // The indices of the texels along each dimension, and the weight of the second one.
    let mut along = [([0; 2], 0.0); 3];
    for dimension in 0..geometry.dimensions() {
        let mut x = if at[dimension].is_nan() { 0.0 } else { f64::from(at[dimension]) };
        if sampler.normalized_coordinates {
            x *= f64::from(size[dimension]);
        }
        along[dimension] = match sampler.filter {
            Filter::Point => ([x.floor() as i128; 2], 0.0),
            Filter::Linear => {
                let before = (x - 0.5).floor();
                ([before as i128, before as i128 + 1], ((x - 0.5 - before) * 256.0).round() / 256.0)
            }
        };
    }
    if geometry.is_layered() {
        along[2] = ([layer; 2], 0.0);
    }
    let mut sums = [0.0; 4];
    for corner in 0..8 {
        let weight: f64 =
            (0..3).map(|axis| if corner >> axis & 1 == 1 { along[axis].1 } else { 1.0 - along[axis].1 }).product();
        if weight == 0.0 {
            continue;
        }
        let index = |axis: usize| along[axis].0[corner >> axis & 1];
        let value = texel(stored, sampler, [index(0), index(1), index(2)]);
        sums.iter_mut().zip(value).for_each(|(sum, value)| *sum += weight * value);
    }
    sums
}

/// The value of a texel, or of the border.
pub(crate) fn texel(stored: &Stored, sampler: &Sampler, at: [i128; 3]) -> [f64; 4] {
    let geometry = stored.image.geometry();
    let size = stored.image.size();
    let mut place = at;
    for dimension in 0..geometry.dimensions() {
        match inside(sampler, dimension, at[dimension], i128::from(size[dimension])) {
            Some(index) => place[dimension] = index,
            None => return border(stored, sampler),
        }
    }
    let format = stored.image.format();
    let number = (place[2] * i128::from(size[1]) + place[1]) * i128::from(size[0]) + place[0];
    let bytes = &stored.bytes[number as usize * format.bytes()..][..format.bytes()];
    let normalizes = sampler.read == ReadMode::NormalizedFloat;
    std::array::from_fn(|channel| {
        let bytes = bytes.chunks(format.channel().bytes()).nth(channel);
        bytes.map_or(f64::from(u8::from(channel == 3)), |bytes| value(format.channel(), bytes, normalizes))
    })
}

/// The border's channels. Integer formats return its bits.
fn border(stored: &Stored, sampler: &Sampler) -> [f64; 4] {
    let channel = stored.image.format().channel();
    let is_float = channel.is_float() || sampler.read == ReadMode::NormalizedFloat && channel.bytes() < 4;
    sampler.border.map(|border| match channel {
        _ if is_float => border.into(),
        Channel::S8 | Channel::S16 | Channel::S32 => (border.to_bits() as i32).into(),
        _ => border.to_bits().into(),
    })
}

/// OpenGL 4.6, table 8.20: the index within the image. `None` for the border.
fn inside(sampler: &Sampler, dimension: usize, index: i128, size: i128) -> Option<i128> {
    let mirror = |a: i128| if a >= 0 { a } else { -(1 + a) };
    match sampler.modes[dimension] {
        AddressMode::Border => (0..size).contains(&index).then_some(index),
        AddressMode::Wrap if sampler.normalized_coordinates => Some(index.rem_euclid(size)),
        AddressMode::Mirror if sampler.normalized_coordinates => {
            Some(size - 1 - mirror(index.rem_euclid(2 * size) - size))
        }
        _ => Some(index.clamp(0, size - 1)),
    }
}

/// The value of a channel.
fn value(channel: Channel, bytes: &[u8], normalizes: bool) -> f64 {
    let two = |bytes: &[u8]| <[u8; 2]>::try_from(bytes).unwrap();
    let four = |bytes: &[u8]| <[u8; 4]>::try_from(bytes).unwrap();
    let by = |value: f64, largest: f64| if normalizes { (value / largest).max(-1.0) } else { value };
    match channel {
        Channel::U8 => by(bytes[0].into(), 255.0),
        Channel::S8 => by((bytes[0] as i8).into(), 127.0),
        Channel::U16 => by(u16::from_le_bytes(two(bytes)).into(), 65535.0),
        Channel::S16 => by(i16::from_le_bytes(two(bytes)).into(), 32767.0),
        Channel::U32 => u32::from_le_bytes(four(bytes)).into(),
        Channel::S32 => i32::from_le_bytes(four(bytes)).into(),
        Channel::F16 => half(u16::from_le_bytes(two(bytes))),
        Channel::F32 => f32::from_le_bytes(four(bytes)).into(),
    }
}

/// The value of a finite f16.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    let magnitude = if exponent == 0 { fraction / 1024.0 } else { 1.0 + fraction / 1024.0 };
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    sign * magnitude * f64::powi(2.0, exponent.max(1) - 15)
}

/// The PTX name of dimensions.
pub(crate) fn name(geometry: Geometry) -> &'static str {
    match geometry {
        Geometry::OneD => "1d",
        Geometry::TwoD => "2d",
        Geometry::ThreeD => "3d",
        Geometry::LayeredOneD => "a1d",
        Geometry::LayeredTwoD => "a2d",
        Geometry::Cube => "cube",
        Geometry::LayeredCube => "acube",
    }
}
