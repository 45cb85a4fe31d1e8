//! Texel formats, and their conversion to the values that texture fetches return.

/// Type of a channel of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// 8 bits, unsigned.
    U8,
    /// 16 bits, unsigned.
    U16,
    /// 32 bits, unsigned.
    U32,
    /// 8 bits, signed.
    S8,
    /// 16 bits, signed.
    S16,
    /// 32 bits, signed.
    S32,
    /// Float of 16 bits.
    F16,
    /// Float of 32 bits.
    F32,
}

impl Channel {
    /// Every type.
    pub const ALL: [Self; 8] = [Self::U8, Self::U16, Self::U32, Self::S8, Self::S16, Self::S32, Self::F16, Self::F32];

    /// Size in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
        }
    }

    /// Whether it is a float.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32)
    }

    /// Whether a fetch may return it as a float in [0, 1] or [−1, 1]: an integer of 8 or 16 bits.
    pub fn can_be_normalized(self) -> bool {
        !self.is_float() && self.bytes() < 4
    }

    /// The bits of a 32-bit register for an element. Integers are extended to 32 bits, floats
    /// converted to f32.
    pub(super) fn element(self, bits: u32) -> u32 {
        match self {
            Self::S8 => i32::from(bits as i8) as u32,
            Self::S16 => i32::from(bits as i16) as u32,
            Self::F16 => f32_bits(bits as u16),
            _ => bits,
        }
    }

    /// An integer as a float in [0, 1] or [−1, 1].
    pub(super) fn normalized(self, bits: u32) -> f64 {
        match self {
            Self::U8 => f64::from(bits) / 255.0,
            Self::U16 => f64::from(bits) / 65535.0,
            Self::S8 => (f64::from(bits as i8) / 127.0).max(-1.0),
            Self::S16 => (f64::from(bits as i16) / 32767.0).max(-1.0),
            _ => f64::from(f32::from_bits(self.element(bits))),
        }
    }
}

/// Format of a texel: 1, 2 or 4 channels of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    channel: Channel,
    channels: usize,
}

impl Format {
    /// The format with this number of channels. `None` unless it is 1, 2 or 4.
    pub fn new(channel: Channel, channels: usize) -> Option<Self> {
        matches!(channels, 1 | 2 | 4).then_some(Self { channel, channels })
    }

    /// Type of each channel.
    pub fn channel(self) -> Channel {
        self.channel
    }

    /// Number of channels.
    pub fn channels(self) -> usize {
        self.channels
    }

    /// Size of a texel in bytes, at most 16.
    pub fn bytes(self) -> usize {
        self.channel.bytes() * self.channels
    }

    /// The bits of a texel's channel, zero-extended. `None` for a channel that the format lacks.
    pub(super) fn channel_of(self, texel: &[u8; 16], channel: usize) -> Option<u32> {
        let bytes = self.channel.bytes();
        let of_channel = texel.get(channel * bytes..(channel + 1) * bytes).filter(|_| channel < self.channels)?;
        Some(of_channel.iter().rev().fold(0, |bits, byte| bits << 8 | u32::from(*byte)))
    }
}

/// The bits of the f32 with the value of an f16.
fn f32_bits(half: u16) -> u32 {
    let (sign, exponent, fraction) =
        (u32::from(half >> 15) << 31, u32::from(half >> 10 & 0x1f), u32::from(half & 0x3ff));
    let magnitude = match (exponent, fraction) {
        (0, _) => (fraction as f32 / (1_u32 << 24) as f32).to_bits(),
        (31, _) => 0xff << 23 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    sign | magnitude
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantics::{Compute, LANES, operation};

    #[test]
    fn every_half_is_converted_as_cvt_does() {
        let Ok(Compute::Value(convert)) = operation("cvt", &["f32", "f16"]).map(|operation| operation.compute) else {
            panic!("cvt.f32.f16 computes a value");
        };
        for half in 0..=u16::MAX {
            // NaN has several encodings.
            if half & 0x7fff > 0x7c00 {
                assert!(f32::from_bits(f32_bits(half)).is_nan(), "{half:#x}");
                continue;
            }
            let mut expected = [0; LANES];
            convert.compute(&mut expected, [&[half.into(); LANES]; 4]);
            assert_eq!(u64::from(f32_bits(half)), expected[0], "{half:#x}");
        }
    }

    #[test]
    fn a_channel_is_found_in_its_bytes() {
        let texel = std::array::from_fn(|byte| byte as u8 + 1);
        let format = Format::new(Channel::U16, 2).unwrap();
        assert_eq!(
            (0..3).map(|channel| format.channel_of(&texel, channel)).collect::<Vec<_>>(),
            [Some(0x0201), Some(0x0403), None]
        );
        let format = Format::new(Channel::F32, 4).unwrap();
        assert_eq!((format.bytes(), format.channel_of(&texel, 3)), (16, Some(0x100f_0e0d)));
        assert_eq!(Format::new(Channel::U8, 3), None);
    }
}
