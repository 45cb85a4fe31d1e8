//! The types of a kernel's parameters, as a byte string in the PTX and in the program.
//!
//! `#[kernel]` puts the same string into both: into the PTX as a constant called `NAME__signature`, into the program as
//! [`Kernel::SIGNATURE`](crate::Kernel::SIGNATURE). A launch compares them, so that a kernel of the program never runs
//! code that was compiled for other types. Each parameter is two bytes: its kind, which is one of the constants below,
//! and the code of its type. [`START`] precedes the first one, [`END`] follows the last one.

/// A parameter `&[T]`.
pub const READ_ONLY: u8 = b'r';
/// A parameter `GlobalMut<T>`.
pub const MUTABLE: u8 = b'w';
/// A parameter that is passed by value.
pub const SCALAR: u8 = b's';
/// The start of the signature.
pub const START: u8 = b'(';
/// The end of the signature.
pub const END: u8 = b')';

/// A signature in Rust's notation: `(&[i32], GlobalMut<f32>, u32)`.
#[cfg(not(target_arch = "nvptx64"))]
pub fn display(signature: &[u8]) -> String {
    let name = |code| match code {
        b'b' => "u8",
        b'u' => "u32",
        b'U' => "u64",
        b'i' => "i32",
        b'I' => "i64",
        b'f' => "f32",
        b'd' => "f64",
        b'q' => "F32x4",
        _ => "?",
    };
    let parameter = |&[kind, code]: &[u8; 2]| match kind {
        READ_ONLY => format!("&[{}]", name(code)),
        MUTABLE => format!("GlobalMut<{}>", name(code)),
        _ => name(code).to_owned(),
    };
    let parameters = signature.get(1..).unwrap_or_default().as_chunks::<2>().0;
    format!("({})", parameters.iter().map(parameter).collect::<Vec<_>>().join(", "))
}
