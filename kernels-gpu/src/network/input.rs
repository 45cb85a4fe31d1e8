//! The samples' elements: floats, or bytes, whose values are quotients.

use cuda_std::{Element, hint, math};

cuda_std::plain_data! {
    /// The value of a byte b, b / divisor rounded to the nearest.
    pub struct ByteScale {
        /// The divisor.
        pub divisor: f32,
        /// Its rounded reciprocal.
        pub reciprocal: f32,
    }
}

impl ByteScale {
    /// The scale by which the kernels compute these values of the bytes, to the bit; None if there is none.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn of(values: &[f32; 256]) -> Option<Self> {
        let divisor = 255.0 / values[255];
        let scale = Self { divisor, reciprocal: 1.0 / divisor };
        let mut bytes = (0..=u8::MAX).zip(values);
        bytes.all(|(byte, value)| u8::value(byte.into(), scale).to_bits() == value.to_bits()).then_some(scale)
    }
}

/// An element of a layer's inputs.
pub(super) trait Input: Element {
    /// What its value depends on.
    type Scale: Copy;

    /// The element in a register, for [`Self::value`]; 0 is that of an element whose value is 0. Four bytes in one register would be
    /// waited for.
    fn register(self) -> u32;

    /// The element's value.
    fn value(register: u32, scale: Self::Scale) -> f32;
}

impl Input for f32 {
    type Scale = ();

    #[inline(always)]
    fn register(self) -> u32 {
        self.to_bits()
    }

    #[inline(always)]
    fn value(register: u32, (): ()) -> f32 {
        f32::from_bits(register)
    }
}

impl Input for u8 {
    type Scale = ByteScale;

    #[inline(always)]
    fn register(self) -> u32 {
        self.into()
    }

    /// A quotient by the reciprocal, and by its remainder (Markstein, "Computation of elementary functions on the IBM RISC System/6000
    /// processor", 1990): three operations, where a division takes eight and a branch.
    #[inline(always)]
    fn value(register: u32, ByteScale { divisor, reciprocal }: ByteScale) -> f32 {
        // Opaque, so that it is not converted, and waited for, where it is loaded.
        let byte = hint::opaque(register) as f32;
        let quotient = byte * reciprocal;
        math::fma(math::fma(-quotient, divisor, byte), reciprocal, quotient)
    }
}
