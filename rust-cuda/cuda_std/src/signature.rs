//! The types of a kernel's parameters, as a byte string in the PTX and in the program.
//!
//! `#[kernel]` puts the same string into both: into the PTX as a constant called `NAME__signature`, into the program as
//! [`Kernel::SIGNATURE`](crate::Kernel::SIGNATURE). A launch compares them, so that a kernel of the program never runs
//! code that was compiled for other types. A buffer or a scalar is two bytes: its kind, which is one of the constants
//! below, and the code of its type. A struct is its fields between [`STRUCT`] and [`END_OF_STRUCT`], where a scalar is only
//! its code; an array is its element between [`ARRAY`] and [`END_OF_ARRAY`], before which a `;` and its length in decimal
//! digits are. [`START`] precedes the first parameter, [`END`] follows the last one.

/// A parameter `&[T]`.
pub const READ_ONLY: u8 = b'r';
/// A parameter `GlobalMut<T>`.
pub const MUTABLE: u8 = b'w';
/// A parameter `*const T` of an unsafe kernel.
pub const POINTER: u8 = b'p';
/// A parameter `*mut T` of an unsafe kernel.
pub const POINTER_MUT: u8 = b'P';
/// A value of an unsafe kernel of which only the size is known, in two bytes.
pub const COPIED: u8 = b'x';
/// A scalar that is passed by value.
pub const SCALAR: u8 = b's';
/// The start of a struct that is passed by value.
pub const STRUCT: u8 = b'{';
/// The end of a struct.
pub const END_OF_STRUCT: u8 = b'}';
/// The start of an array that is passed by value.
pub const ARRAY: u8 = b'[';
/// The end of an array.
pub const END_OF_ARRAY: u8 = b']';
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

/// Why a value without bytes is no parameter: rustc leaves it out of the PTX's parameters, so that a launch would pass too many.
macro_rules! no_bytes {
    () => {
        "a kernel's parameter has at least one byte: leave out an empty struct or array"
    };
}

/// The part of a value that is passed by value.
#[doc(hidden)]
pub const fn of_value<V: crate::ByValue>() -> &'static [u8] {
    assert!(size_of::<V>() > 0, no_bytes!());
    V::SIGNATURE
}

/// Maximum bytes of all parameters of a kernel together.
///
/// Since CUDA 12.1 a GPU takes 32,764 bytes in PTX of version 8.1 or newer. Older PTX, which older drivers read, has at most these.
pub const MAX_PARAMETER_BYTES: usize = 4096;

/// Maximum alignment of a kernel's parameter, which is that of the widest scalars.
pub const MAX_ALIGNMENT: usize = 16;

/// Size and alignment of a parameter, and its name.
#[doc(hidden)]
pub struct Room {
    name: &'static str,
    bytes: usize,
    alignment: usize,
}

impl Room {
    /// The room for a value.
    pub const fn of_value<V>(name: &'static str) -> Self {
        Self { name, bytes: size_of::<V>(), alignment: align_of::<V>() }
    }

    /// The room for a buffer: its address, and its length if the kernel takes one.
    pub const fn of_buffer(name: &'static str, has_length: bool) -> Self {
        Self { name, bytes: if has_length { 16 } else { 8 }, alignment: 8 }
    }
}

/// Checks that a GPU takes the parameters of a kernel. The compiler evaluates it.
///
/// # Panics
/// If they have too many bytes or a parameter is aligned to too many.
#[doc(hidden)]
#[track_caller]
pub const fn check_room(kernel: &str, parameters: &[Room]) {
    let (mut end, mut largest, mut index) = (0_usize, 0, 0);
    while index < parameters.len() {
        let Room { name, bytes, alignment } = parameters[index];
        if alignment > MAX_ALIGNMENT {
            Message::new()
                .text("kernel `")
                .text(kernel)
                .text("`: its parameter `")
                .text(name)
                .text("` is aligned to ")
                .number(alignment)
                .text(" bytes, and a launch passes values that are aligned to at most ")
                .number(MAX_ALIGNMENT)
                .text(": leave out the alignment of its type, or pass it in a buffer")
                .panic();
        }
        end = end.next_multiple_of(alignment).saturating_add(bytes);
        if bytes > parameters[largest].bytes {
            largest = index;
        }
        index += 1;
    }
    if end > MAX_PARAMETER_BYTES {
        let Room { name, bytes, .. } = parameters[largest];
        Message::new()
            .text("kernel `")
            .text(kernel)
            .text("`: its parameters have ")
            .number(end)
            .text(" bytes, and a GPU takes at most ")
            .number(MAX_PARAMETER_BYTES)
            .text(": pass `")
            .text(name)
            .text("`, which has ")
            .number(bytes)
            .text(" bytes, in a buffer")
            .panic();
    }
}

/// A message that the compiler puts together. A part that has no room is left out.
struct Message {
    bytes: [u8; 512],
    length: usize,
}

impl Message {
    const fn new() -> Self {
        Self { bytes: [0; 512], length: 0 }
    }

    const fn text(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        if self.length + text.len() <= self.bytes.len() {
            let mut index = 0;
            while index < text.len() {
                self.bytes[self.length] = text[index];
                self.length += 1;
                index += 1;
            }
        }
        self
    }

    const fn number(self, number: usize) -> Self {
        let digit = b'0' + (number % 10) as u8;
        let earlier = if number >= 10 { self.number(number / 10) } else { self };
        match core::str::from_utf8(&[digit]) {
            Ok(digit) => earlier.text(digit),
            Err(_) => earlier,
        }
    }

    #[track_caller]
    const fn panic(&self) -> ! {
        match core::str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => panic!("{}", text),
            Err(_) => panic!("a kernel's parameters are too large"),
        }
    }
}

/// The part of a value of an unsafe kernel that has `size` bytes.
#[doc(hidden)]
pub const fn copied(size: usize) -> [u8; 3] {
    assert!(size > 0, no_bytes!());
    assert!(size < 1 << 16, "a kernel's parameter is too large");
    [COPIED, (size >> 8) as u8, size as u8]
}

/// Maximum length of an array's part.
#[doc(hidden)]
pub const MAX_ARRAY: usize = 256;

/// The part of an array of `count` elements whose part is `element`, and its length.
#[doc(hidden)]
pub const fn array(element: &[u8], count: usize) -> ([u8; MAX_ARRAY], usize) {
    let mut bytes = [0; MAX_ARRAY];
    bytes[0] = ARRAY;
    let mut end = 1;
    while end <= element.len() {
        bytes[end] = element[end - 1];
        end += 1;
    }
    bytes[end] = b';';
    end += 1;
    let mut place = 1;
    while count / place >= 10 {
        place *= 10;
    }
    while place > 0 {
        bytes[end] = b'0' + (count / place % 10) as u8;
        end += 1;
        place /= 10;
    }
    bytes[end] = END_OF_ARRAY;
    (bytes, end + 1)
}

/// A signature in Rust's notation: `(&[i32], GlobalMut<f32>, {u32, f32}, u32)`, where the third parameter is a struct.
#[cfg(not(target_arch = "nvptx64"))]
pub fn display(signature: &[u8]) -> String {
    let mut parameters = Vec::new();
    let mut bytes = signature.iter().copied().skip(1);
    while let Some(kind) = bytes.next() {
        parameters.push(match kind {
            END => break,
            READ_ONLY => format!("&[{}]", name(bytes.next())),
            MUTABLE => format!("GlobalMut<{}>", name(bytes.next())),
            POINTER => format!("*const {}", name(bytes.next())),
            POINTER_MUT => format!("*mut {}", name(bytes.next())),
            COPIED => {
                let size = bytes.by_ref().take(2).fold(0, |size, byte| size << 8 | u32::from(byte));
                format!("{size} bytes")
            }
            SCALAR => name(bytes.next()).to_owned(),
            _ => part(kind, &mut bytes),
        });
    }
    format!("({})", parameters.join(", "))
}

/// The type that begins with `first`.
#[cfg(not(target_arch = "nvptx64"))]
fn part(first: u8, rest: &mut impl Iterator<Item = u8>) -> String {
    match first {
        STRUCT => {
            let mut fields = Vec::new();
            while let Some(first) = rest.next().filter(|&byte| byte != END_OF_STRUCT) {
                fields.push(part(first, rest));
            }
            format!("{{{}}}", fields.join(", "))
        }
        ARRAY => {
            let element = rest.next().map_or_else(|| "?".to_owned(), |first| part(first, rest));
            let count = rest.skip(1).take_while(|&byte| byte != END_OF_ARRAY).map(char::from);
            format!("[{element}; {}]", count.collect::<String>())
        }
        code => name(Some(code)).to_owned(),
    }
}

#[cfg(not(target_arch = "nvptx64"))]
fn name(code: Option<u8>) -> &'static str {
    match code {
        Some(b'b') => "u8",
        Some(b'c') => "i8",
        Some(b'h') => "u16",
        Some(b'j') => "i16",
        Some(b'u') => "u32",
        Some(b'i') => "i32",
        Some(b'U') => "u64",
        Some(b'I') => "i64",
        Some(b'w') => "u128",
        Some(b'W') => "i128",
        Some(b'B') => "bool",
        Some(b'e') => "f16",
        Some(b'E') => "bf16",
        Some(b'f') => "f32",
        Some(b'd') => "f64",
        Some(b'q') => "F32x4",
        Some(b'Q') => "I32x4",
        _ => "?",
    }
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

    crate::plain_data! {
        struct Nested {
            mixed: Mixed,
            corners: [[f32; 2]; 12],
            is_closed: bool,
            mode: [u8; 3],
            wide: [i16; 2],
            offset: [u64; 0],
        }
    }

    #[test]
    fn a_nested_struct_is_displayed_by_its_parts() {
        let shown = "({{u64, f32, u32}, [[f32; 2]; 12], bool, [u8; 3], [i16; 2], [u64; 0]})";
        assert_eq!(display(&[b"(", Nested::SIGNATURE, b")"].concat()), shown);
        assert_eq!(display(&[b"(", <[Mixed; 100]>::SIGNATURE, b"sB)"].concat()), "([{u64, f32, u32}; 100], bool)");
    }

    #[test]
    fn an_unsafe_kernels_signature_is_displayed() {
        let signature = [b"(rfpuPd".as_slice(), &copied(1000), b"su)"].concat();
        assert_eq!(display(&signature), "(&[f32], *const u32, *mut f64, 1000 bytes, u32)");
    }

    #[test]
    fn a_truncated_signature_is_displayed() {
        assert_eq!(display(b"(r"), "(&[?])");
        assert_eq!(display(b"({fu"), "({f32, u32})");
        assert_eq!(display(b""), "()");
    }
}
