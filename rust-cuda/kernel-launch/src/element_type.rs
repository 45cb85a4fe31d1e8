//! The types of elements and of values.

use serde::Deserialize;

/// The type of a buffer's elements or of a value.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ElementType {
    /// 8-bit unsigned integer.
    U8,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit unsigned integer.
    U64,
    /// 8-bit signed integer.
    I8,
    /// 16-bit signed integer.
    I16,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer.
    I64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl ElementType {
    /// All types.
    pub const ALL: [Self; 10] =
        [Self::U8, Self::U16, Self::U32, Self::U64, Self::I8, Self::I16, Self::I32, Self::I64, Self::F32, Self::F64];

    /// Size in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// Name in Rust.
    pub fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The number's little-endian bytes, padded with zeros; None if the type cannot represent it.
    /// Floats are rounded.
    pub(crate) fn encode(self, number: &serde_json::Number) -> Option<[u8; 8]> {
        let unsigned = |bits: u32| number.as_u64().filter(|value| bits == 64 || value >> bits == 0);
        let bits = match self {
            Self::U8 => unsigned(8)?,
            Self::U16 => unsigned(16)?,
            Self::U32 => unsigned(32)?,
            Self::U64 => unsigned(64)?,
            Self::I8 => u64::from(i8::try_from(number.as_i64()?).ok()?.cast_unsigned()),
            Self::I16 => u64::from(i16::try_from(number.as_i64()?).ok()?.cast_unsigned()),
            Self::I32 => u64::from(i32::try_from(number.as_i64()?).ok()?.cast_unsigned()),
            Self::I64 => number.as_i64()?.cast_unsigned(),
            Self::F32 => u64::from((number.as_f64()? as f32).to_bits()),
            Self::F64 => number.as_f64()?.to_bits(),
        };
        Some(bits.to_le_bytes())
    }

    /// The element in these little-endian bytes, as text.
    ///
    /// # Panics
    /// If there are fewer than [`bytes`](Self::bytes) of them.
    pub fn show(self, bytes: &[u8]) -> String {
        let mut word = [0; 8];
        word[..self.bytes()].copy_from_slice(&bytes[..self.bytes()]);
        let bits = u64::from_le_bytes(word);
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => bits.to_string(),
            Self::I8 => (bits as u8).cast_signed().to_string(),
            Self::I16 => (bits as u16).cast_signed().to_string(),
            Self::I32 => (bits as u32).cast_signed().to_string(),
            Self::I64 => bits.cast_signed().to_string(),
            Self::F32 => {
                let value = f32::from_bits(bits as u32);
                if is_long(value.into()) { format!("{value:e}") } else { value.to_string() }
            }
            Self::F64 => {
                let value = f64::from_bits(bits);
                if is_long(value) { format!("{value:e}") } else { value.to_string() }
            }
        }
    }
}

/// Whether a number has many digits without an exponent.
fn is_long(value: f64) -> bool {
    value != 0.0 && value.is_finite() && !(1e-4..1e16).contains(&value.abs())
}
