//! Types of the elements of a register.

/// A type that a loop computes with.
pub(super) trait Element: Copy {
    /// The value in a register, ignoring the bits above it.
    fn read(bits: u64) -> Self;
    /// The register bits of the value, zero-extended.
    fn write(self) -> u64;
}

macro_rules! elements {
    ($($type:ty, |$bits:ident| $read:expr, |$value:ident| $write:expr;)*) => {$(
        impl Element for $type {
            #[inline(always)]
            fn read($bits: u64) -> Self {
                $read
            }

            #[inline(always)]
            fn write(self) -> u64 {
                let $value = self;
                $write
            }
        }
    )*};
}

elements! {
    u16, |bits| bits as u16, |value| value.into();
    u32, |bits| bits as u32, |value| value.into();
    u64, |bits| bits, |value| value;
    i8, |bits| bits as i8, |value| (value as u8).into();
    u8, |bits| bits as u8, |value| value.into();
    i16, |bits| bits as i16, |value| (value as u16).into();
    i32, |bits| bits as i32, |value| (value as u32).into();
    i64, |bits| bits as i64, |value| value as u64;
    f32, |bits| f32::from_bits(bits as u32), |value| value.to_bits().into();
    f64, |bits| f64::from_bits(bits), |value| value.to_bits();
}
