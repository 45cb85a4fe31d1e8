//! The types of a kernel's parameters, as a byte string in the PTX and in the program.
//!
//! `#[kernel]` puts the same string into both: into the PTX as a constant called `NAME__signature`, into the program as
//! [`Kernel::SIGNATURE`](crate::Kernel::SIGNATURE). A launch compares them, so that a kernel of the program never runs
//! code that was compiled for other types. A buffer or a scalar is two bytes: its kind, which is one of the constants
//! below, and the code of its type. A struct is the codes of its fields between [`STRUCT`] and [`END_OF_STRUCT`].
//! [`START`] precedes the first parameter, [`END`] follows the last one.

/// A parameter `&[T]`.
pub const READ_ONLY: u8 = b'r';
/// A parameter `GlobalMut<T>`.
pub const MUTABLE: u8 = b'w';
/// A scalar that is passed by value.
pub const SCALAR: u8 = b's';
/// The start of a struct that is passed by value.
pub const STRUCT: u8 = b'{';
/// The end of a struct.
pub const END_OF_STRUCT: u8 = b'}';
/// The start of the signature.
pub const START: u8 = b'(';
/// The end of the signature.
pub const END: u8 = b')';

/// The length of the parts together.
#[doc(hidden)]
pub const fn length(parts: &[&[u8]]) -> usize {
    let (mut length, mut part) = (0, 0);
    while part < parts.len() {
        length += parts[part].len();
        part += 1;
    }
    length
}

/// The parts, one after the other; `N` is their [`length`].
#[doc(hidden)]
pub const fn concat<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut bytes = [0; N];
    let (mut end, mut part) = (0, 0);
    while part < parts.len() {
        let mut index = 0;
        while index < parts[part].len() {
            bytes[end] = parts[part][index];
            end += 1;
            index += 1;
        }
        part += 1;
    }
    bytes
}

/// A signature in Rust's notation: `(&[i32], GlobalMut<f32>, {u32, f32}, u32)`, where the third parameter is a struct.
#[cfg(not(target_arch = "nvptx64"))]
pub fn display(signature: &[u8]) -> String {
    let name = |code: Option<&u8>| match code {
        Some(b'b') => "u8",
        Some(b'u') => "u32",
        Some(b'U') => "u64",
        Some(b'i') => "i32",
        Some(b'I') => "i64",
        Some(b'f') => "f32",
        Some(b'd') => "f64",
        Some(b'q') => "F32x4",
        _ => "?",
    };
    let mut parameters = Vec::new();
    let mut bytes = signature.iter().skip(1);
    while let Some(&kind) = bytes.next() {
        parameters.push(match kind {
            END => break,
            READ_ONLY => format!("&[{}]", name(bytes.next())),
            MUTABLE => format!("GlobalMut<{}>", name(bytes.next())),
            STRUCT => {
                let fields = bytes.by_ref().take_while(|&&code| code != END_OF_STRUCT);
                format!("{{{}}}", fields.map(|code| name(Some(code))).collect::<Vec<_>>().join(", "))
            }
            _ => name(bytes.next()).to_owned(),
        });
    }
    format!("({})", parameters.join(", "))
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;
    use crate::{ByValue, Scalar};

    crate::plain_data! {
        struct Mixed {
            seed: u64,
            rate: f32,
            count: u32,
        }
    }

    #[test]
    fn a_struct_is_displayed_by_its_fields() {
        let parts: &[&[u8]] = &[b"(", &[READ_ONLY, b'f'], Mixed::SIGNATURE, &[SCALAR, <u32 as Scalar>::CODE], b")"];
        let signature: [u8; length(&[b"(rf", Mixed::SIGNATURE, b"su)"])] = concat(parts);
        assert_eq!(display(&signature), "(&[f32], {u64, f32, u32}, u32)");
        assert_eq!(display(b"()"), "()");
        let Mixed { seed, rate, count } = Mixed { seed: 1, rate: 2.0, count: 3 };
        assert_eq!((seed, rate, count), (1, 2.0, 3));
    }

    #[test]
    fn a_truncated_signature_is_displayed() {
        assert_eq!(display(b"(r"), "(&[?])");
        assert_eq!(display(b"({fu"), "({f32, u32})");
        assert_eq!(display(b""), "()");
    }
}
