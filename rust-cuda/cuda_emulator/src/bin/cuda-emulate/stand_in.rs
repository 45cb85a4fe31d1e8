//! A library without functions that takes the place of NVIDIA's: programs find it by name and
//! version. It depends on the emulator's library, which has the functions.
//!
//! A link to the emulator's library would almost do. But the dynamic linker would warn that its
//! functions have no versions, and a program that opens one file under two names could not tell
//! which one it loaded.

/// Page size for loading: the file's layout in memory is the same as on disk.
const PAGE: u64 = 1 << 16;

/// Sizes of the parts of a 64-bit ELF file (System V ABI, Object Files).
const HEADER: usize = 64;
const SEGMENT: usize = 56;
const SYMBOL: usize = 24;

/// Tags of the dynamic section.
const NEEDED: u64 = 1;
const STRINGS: u64 = 5;
const SYMBOLS: u64 = 6;
const STRINGS_BYTES: u64 = 10;
const SYMBOL_BYTES: u64 = 11;
const SONAME: u64 = 14;
const VERSIONS_OF_SYMBOLS: u64 = 0x6fff_fff0;
const VERSIONS: u64 = 0x6fff_fffc;
const VERSION_COUNT: u64 = 0x6fff_fffd;

/// The bytes of an ELF library named `name`. It defines the version of that name and needs the
/// library `needed`.
pub(crate) fn library(name: &str, needed: &str) -> Vec<u8> {
    let strings = format!("\0{name}\0{needed}\0").into_bytes();
    let (name_at, needed_at) = (1, name.len() as u64 + 2);
    // Offsets of the parts, which are also their addresses. Each is aligned to 8 bytes.
    let after = |start: usize, bytes: usize| (start + bytes).next_multiple_of(8);
    let dynamic = after(HEADER, 3 * SEGMENT);
    let entries = 10;
    let string_table = after(dynamic, entries * 16);
    let symbols = after(string_table, strings.len());
    let symbol_versions = after(symbols, SYMBOL);
    let versions = after(symbol_versions, 2);
    let definitions = [version(1, 1, name, name_at, false), version(0, 2, name, name_at, true)].concat();
    let end = versions + definitions.len();

    let mut file = Vec::new();
    // A 64-bit little-endian shared library.
    file.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0");
    file.extend(MACHINE.to_le_bytes());
    file.extend(1_u32.to_le_bytes());
    for word in [0, HEADER as u64, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(0_u32.to_le_bytes());
    for half in [HEADER as u16, SEGMENT as u16, 3, 0, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    // The loaded segment, the dynamic section, and a marker for a non-executable stack. Flags: 4 is
    // read, 2 is write.
    let dynamic_bytes = (entries * 16) as u64;
    for (kind, flags, offset, bytes, alignment) in
        [(1_u32, 6_u32, 0, end as u64, PAGE), (2, 6, dynamic as u64, dynamic_bytes, 8), (0x6474_e551, 6, 0, 0, 16)]
    {
        file.extend(kind.to_le_bytes());
        file.extend(flags.to_le_bytes());
        for word in [offset, offset, offset, bytes, bytes, alignment] {
            file.extend(word.to_le_bytes());
        }
    }
    let tags = [
        (NEEDED, needed_at),
        (SONAME, name_at),
        (STRINGS, string_table as u64),
        (STRINGS_BYTES, strings.len() as u64),
        (SYMBOLS, symbols as u64),
        (SYMBOL_BYTES, SYMBOL as u64),
        (VERSIONS_OF_SYMBOLS, symbol_versions as u64),
        (VERSIONS, versions as u64),
        (VERSION_COUNT, 2),
        (0, 0),
    ];
    debug_assert_eq!(tags.len(), entries);
    file.resize(dynamic, 0);
    for word in tags.into_iter().flat_map(|(tag, value)| [tag, value]) {
        file.extend(word.to_le_bytes());
    }
    file.resize(string_table, 0);
    file.extend(strings);
    // The null symbol and its version.
    file.resize(versions, 0);
    file.extend(definitions);
    file
}

/// The ELF machine: x86-64 or AArch64.
const MACHINE: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };

/// A version definition (20 bytes) with its one name (8 bytes).
fn version(flags: u16, index: u16, name: &str, name_at: u64, is_last: bool) -> Vec<u8> {
    let halves = [1, flags, index, 1].map(u16::to_le_bytes).concat();
    let next = if is_last { 0 } else { 28 };
    let words = [hash(name), 20, next, name_at as u32, 0].map(u32::to_le_bytes).concat();
    [halves, words].concat()
}

/// The hash of a name (System V ABI, Hash Table).
fn hash(name: &str) -> u32 {
    name.bytes().fold(0, |hash: u32, byte| {
        let shifted = (hash << 4).wrapping_add(byte.into());
        let high = shifted & 0xf000_0000;
        (shifted ^ high >> 24) & !high
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_hash_of_the_linker() {
        // The values from the ABI's example.
        assert_eq!(hash("printf"), 0x077905a6);
        assert_eq!(hash("exit"), 0x0006cf04);
        assert_eq!(hash("syscall"), 0x0b09985c);
    }
}
