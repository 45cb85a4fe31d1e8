//! The types of a kernel's parameters, as a string of bytes in the PTX and in the program.
//!
//! `#[kernel]` puts the same string into both: into the PTX as a constant called `NAME__signature`, into the program as
//! [`Kernel::SIGNATURE`](crate::Kernel::SIGNATURE). A launch compares them, so that a kernel of the program never runs code that was
//! compiled for other types. Each parameter is two bytes, how it is passed and its type's code; [`END`] follows the last.

/// A parameter `&[T]`.
pub const READ_ONLY: u8 = b'r';
/// A parameter `GlobalMut<T>`.
pub const MUTABLE: u8 = b'w';
/// A parameter that is passed by value.
pub const SCALAR: u8 = b's';
/// The end.
pub const END: u8 = b'.';

/// The parameters of a signature as they are written in Rust: `(&[i32], GlobalMut<f32>, u32)`.
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
    let parameter = |&[passing, code]: &[u8; 2]| match passing {
        READ_ONLY => format!("&[{}]", name(code)),
        MUTABLE => format!("GlobalMut<{}>", name(code)),
        _ => name(code).to_owned(),
    };
    format!("({})", signature.as_chunks::<2>().0.iter().map(parameter).collect::<Vec<_>>().join(", "))
}
