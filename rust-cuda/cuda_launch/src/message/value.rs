//! The values in a record.

use super::format::Spec;

/// A value in a thread's message. A record stores its type code, as in a kernel's signature, and
/// its bits. An array is stored as `a` with its length in the upper bits, followed by its elements.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Char(char),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    U128(u128),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    I128(i128),
    F32(f32),
    F64(f64),
    Array(Vec<Value>),
}

impl Value {
    /// Removes the first value from `words`; None if there is none.
    pub(super) fn read(words: &mut &[u32]) -> Option<Self> {
        let mut word = || {
            let (&first, rest) = words.split_first()?;
            *words = rest;
            Some(first)
        };
        let code = word()?;
        if code as u8 == b'a' {
            return (0..code >> 8).map(|_| Self::read(words)).collect::<Option<_>>().map(Self::Array);
        }
        let low = word()?;
        let is_long = matches!(code as u8, b'U' | b'I' | b'd' | b'w' | b'W');
        let long = if is_long { u64::from(word()?) << 32 | u64::from(low) } else { low.into() };
        let mut longest = u128::from(long);
        if matches!(code as u8, b'w' | b'W') {
            let high = u128::from(word()?);
            longest |= high << 64 | u128::from(word()?) << 96;
        }
        Some(match code as u8 {
            b'B' => Self::Bool(low != 0),
            b'k' => Self::Char(char::from_u32(low)?),
            b'b' => Self::U8(low as u8),
            b'h' => Self::U16(low as u16),
            b'u' => Self::U32(low),
            b'U' => Self::U64(long),
            b'w' => Self::U128(longest),
            b'c' => Self::I8(low as i8),
            b'j' => Self::I16(low as i16),
            b'i' => Self::I32(low as i32),
            b'I' => Self::I64(long as i64),
            b'W' => Self::I128(longest as i128),
            b'f' => Self::F32(f32::from_bits(low)),
            b'd' => Self::F64(f64::from_bits(long)),
            _ => return None,
        })
    }

    /// The value's text as `format!` would produce it with this specification; None if its type
    /// does not support the form.
    pub(super) fn text(&self, spec: &Spec) -> Option<String> {
        match self {
            Self::Bool(value) => spec.shown(value),
            Self::Char(value) => spec.shown(value),
            Self::U8(value) => spec.number(value),
            Self::U16(value) => spec.number(value),
            Self::U32(value) => spec.number(value),
            Self::U64(value) => spec.number(value),
            Self::U128(value) => spec.number(value),
            Self::I8(value) => spec.number(value),
            Self::I16(value) => spec.number(value),
            Self::I32(value) => spec.number(value),
            Self::I64(value) => spec.number(value),
            Self::I128(value) => spec.number(value),
            Self::F32(value) => spec.float(value),
            Self::F64(value) => spec.float(value),
            Self::Array(values) => {
                let texts: Option<Vec<String>> = values.iter().map(|value| value.text(spec)).collect();
                Some(format!("[{}]", texts?.join(", ")))
            }
        }
    }
}
