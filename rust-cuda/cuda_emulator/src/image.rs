//! The images that programs load: PTX, or binary files that may contain PTX.

use std::io::Read as _;

use ruzstd::decoding::StreamingDecoder;

use crate::abi::HostAddress;
use crate::error::{Error, Result};
use crate::{host, journal};

/// First bytes of an ELF file, such as a cubin.
const ELF: [u8; 4] = *b"\x7fELF";
/// First word of a fat binary (CUDA's `fatbinary_section.h` defines the wrapper's).
const FAT: u32 = 0xba55_ed50;
/// First word of the structure that points to a fat binary.
const WRAPPER: u32 = 0x4662_43b1;

/// Kind of a fat binary entry that contains PTX.
const PTX_ENTRY: u64 = 1;
/// Compression flags of an entry.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;

/// Maximum size of a fat binary in bytes.
const MAX_BYTES: u64 = 1 << 30;

/// What to do if a program loads a binary.
const WAY_OUT: &str = "the emulator runs PTX. Numba: start the program by `cuda-emulate run`, or uninstall nvJitLink; CuPy: set \
                       CUPY_COMPILE_WITH_PTX=1; nvcc: pass -gencode arch=compute_75,code=compute_75";

/// The PTX in the image at an address. The image itself determines its size.
///
/// # Errors
/// `NO_BINARY_FOR_GPU` if it has no PTX; `INVALID_IMAGE` if the format is unknown.
pub(crate) fn at(address: HostAddress) -> Result<String> {
    let address = if u32::from_le_bytes(array_at(address, 0)?) == WRAPPER {
        HostAddress(u64::from_le_bytes(array_at(address, 8)?) as usize)
    } else {
        address
    };
    let start = array_at(address, 0)?;
    match (start, u32::from_le_bytes(start)) {
        (ELF, _) => Err(no_ptx("a binary (cubin)")),
        (_, FAT) => of_bytes(&fat_binary(address)?),
        // A wrapper that points to a wrapper may point to itself.
        (_, WRAPPER) => Err(Error::INVALID_IMAGE),
        _ => text(&address.c_string()?),
    }
}

/// The N bytes at an offset from an address.
///
/// # Errors
/// `INVALID_VALUE` if they cannot be read, or if the offset leaves the address space.
fn array_at<const N: usize>(address: HostAddress, offset: usize) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    host::read(HostAddress(address.0.checked_add(offset).ok_or(Error::INVALID_VALUE)?), &mut bytes)?;
    Ok(bytes)
}

/// From this version on, the structure that points to a fat binary also lists relocatable ones
/// (`fatbinary_section.h`).
const WITH_LIST: u32 = 2;

/// Maximum number of relocatable fat binaries in a program.
const MAX_PARTS: usize = 1 << 16;

/// The PTX of each relocatable fat binary in an image (nvcc's `-rdc=true`), ready to link. None if
/// the image is a single fat binary.
///
/// # Errors
/// Same as [`at`], if one of them has no PTX.
pub(crate) fn parts_at(address: HostAddress) -> Result<Option<Vec<String>>> {
    let word = |start: usize, offset| array_at(HostAddress(start), offset).map(u64::from_le_bytes);
    let start = word(address.0, 0)?;
    let list = if start == u64::from(WITH_LIST) << 32 | u64::from(WRAPPER) { word(address.0, 16)? as usize } else { 0 };
    if list == 0 {
        return Ok(None);
    }
    let pointers = (0..MAX_PARTS).map(|index| word(list, 8 * index));
    let pointers = pointers.take_while(|pointer| *pointer != Ok(0));
    pointers.map(|pointer| at(HostAddress(pointer? as usize))).collect::<Result<Vec<_>>>().map(Some)
}

/// The PTX in a complete image.
///
/// # Errors
/// Same as [`at`].
pub(crate) fn of_bytes(bytes: &[u8]) -> Result<String> {
    match bytes.first_chunk::<4>() {
        Some(&ELF) => Err(no_ptx("a binary (cubin)")),
        Some(start) if u32::from_le_bytes(*start) == FAT => from_fat_binary(bytes),
        _ => text(bytes),
    }
}

/// The text of PTX that may end with zeros.
fn text(bytes: &[u8]) -> Result<String> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]);
    // Every module has these directives in this order (PTX ISA 11.1).
    if !text.contains(".version") || !text.contains(".target") {
        journal::note("the image of a module is neither PTX nor a binary");
        return Err(Error::INVALID_IMAGE);
    }
    Ok(text.into_owned())
}

fn no_ptx(kind: &str) -> Error {
    journal::note_once(&format!("{kind} without PTX was loaded, and {WAY_OUT}"));
    Error::NO_BINARY_FOR_GPU
}

fn fat_binary(address: HostAddress) -> Result<Vec<u8>> {
    let header: [u8; 16] = array_at(address, 0)?;
    let bytes = number::<2>(&header, 6).zip(number::<8>(&header, 8));
    let bytes = bytes.and_then(|(header, body)| header.checked_add(body));
    let bytes = bytes.filter(|bytes| *bytes <= MAX_BYTES).ok_or(Error::INVALID_IMAGE)?;
    let mut image = vec![0; bytes as usize];
    host::read(address, &mut image)?;
    Ok(image)
}

/// The little-endian number of N bytes at an offset.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(N)?)?;
    Some(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// The PTX for the newest architecture in a fat binary.
fn from_fat_binary(bytes: &[u8]) -> Result<String> {
    let mut newest: Option<(u64, Vec<u8>)> = None;
    let mut next = number::<2>(bytes, 6).ok_or(Error::INVALID_IMAGE)? as usize;
    while let Some(entry) = Entry::at(bytes, next) {
        if entry.kind == PTX_ENTRY && newest.as_ref().is_none_or(|(architecture, _)| *architecture < entry.architecture)
        {
            newest = Some((entry.architecture, entry.text()?));
        }
        next = entry.end;
    }
    match newest {
        Some((_, ptx)) => text(&ptx),
        None => Err(no_ptx("a file of binaries (fatbin)")),
    }
}

/// An entry of a fat binary: a header, which contains its own size, and the text or the binary.
struct Entry<'a> {
    kind: u64,
    architecture: u64,
    flags: u64,
    /// Size of the text before compression; 0 if it is not compressed.
    decompressed: u64,
    contents: &'a [u8],
    /// Offset of the next entry.
    end: usize,
}

impl<'a> Entry<'a> {
    fn at(bytes: &'a [u8], start: usize) -> Option<Self> {
        let entry = bytes.get(start..)?;
        let header = number::<4>(entry, 4)? as usize;
        let padded = number::<8>(entry, 8)? as usize;
        let compressed = number::<4>(entry, 16)? as usize;
        let flags = number::<8>(entry, 40)?;
        let is_compressed = flags & (LZ4 | ZSTD) != 0;
        let contents = entry.get(header..header.checked_add(padded)?)?;
        if header < 64 {
            return None;
        }
        Some(Self {
            kind: number::<2>(entry, 0)?,
            architecture: number::<4>(entry, 28)?,
            flags,
            decompressed: number::<8>(entry, 56)?,
            contents: if is_compressed { contents.get(..compressed)? } else { contents },
            end: start + header + padded,
        })
    }

    fn text(&self) -> Result<Vec<u8>> {
        let text = match (self.flags & ZSTD != 0, self.flags & LZ4 != 0) {
            (true, _) => from_frame(self.contents, self.decompressed),
            (_, true) => decompress(self.contents, self.decompressed),
            _ => Some(self.contents.to_vec()),
        };
        text.ok_or(Error::INVALID_IMAGE)
    }
}

/// Decompresses a Zstandard frame of `bytes` decompressed bytes; None if it is not a valid frame of
/// that size.
fn from_frame(frame: &[u8], bytes: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    // Read one byte more than expected at most, whatever size a damaged frame claims.
    let decoder = StreamingDecoder::new(frame).ok()?;
    decoder.take(bytes.min(MAX_BYTES) + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 == bytes).then_some(text)
}

/// Decompresses an LZ4 block of `bytes` decompressed bytes; None if it is not a valid block of that
/// size.
fn decompress(block: &[u8], bytes: u64) -> Option<Vec<u8>> {
    let size = usize::try_from(bytes).ok()?;
    // A damaged size must not exhaust memory. A byte of a block decodes to at most 255 bytes of text:
    // each byte that extends a length adds up to 255 to it (LZ4 Block Format Description).
    if size > block.len().checked_mul(255)?.min(MAX_BYTES as usize) {
        return None;
    }
    let mut text = vec![0; size];
    (lz4_flex::block::decompress_into(block, &mut text).ok()? == size).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;
    use proptest::sample::Index;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    const PTX: &str = ".version 7.0\n.target sm_75\n.address_size 64\n";

    fn entry(kind: u16, architecture: u32, flags: u64, contents: &[u8], decompressed: u64) -> Vec<u8> {
        let mut entry = vec![0; 64];
        entry[0..2].copy_from_slice(&kind.to_le_bytes());
        entry[4..8].copy_from_slice(&64_u32.to_le_bytes());
        entry[8..16].copy_from_slice(&(contents.len() as u64).to_le_bytes());
        entry[16..20].copy_from_slice(&(contents.len() as u32).to_le_bytes());
        entry[28..32].copy_from_slice(&architecture.to_le_bytes());
        entry[40..48].copy_from_slice(&flags.to_le_bytes());
        entry[56..64].copy_from_slice(&decompressed.to_le_bytes());
        entry.extend(contents);
        entry
    }

    fn fat(entries: &[Vec<u8>]) -> Vec<u8> {
        let body = entries.concat();
        let mut bytes = FAT.to_le_bytes().to_vec();
        bytes.extend(1_u16.to_le_bytes());
        bytes.extend(16_u16.to_le_bytes());
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn text_is_ptx_up_to_its_zero() {
        assert_eq!(of_bytes(format!("{PTX}\0\0").as_bytes()).unwrap(), PTX);
        assert_eq!(of_bytes(b"hello"), Err(Error::INVALID_IMAGE));
        assert_eq!(of_bytes(b""), Err(Error::INVALID_IMAGE));
        let text = format!("{PTX}\0");
        assert_eq!(at(HostAddress(text.as_ptr() as usize)).unwrap(), PTX);
    }

    #[test]
    fn a_fat_binary_has_the_newest_ptx() {
        let newer = PTX.replace("75", "90");
        let literals: Vec<u8> = [0xf0, (PTX.len() - 15) as u8].into_iter().chain(PTX.bytes()).collect();
        let bytes = fat(&[
            entry(2, 90, 0, b"binary", 0),
            entry(1, 75, LZ4, &literals, PTX.len() as u64),
            entry(1, 90, 0, newer.as_bytes(), 0),
        ]);
        assert_eq!(of_bytes(&bytes).unwrap(), newer);
        let compressed = fat(&[entry(1, 75, LZ4, &literals, PTX.len() as u64)]);
        assert_eq!(at(HostAddress(compressed.as_ptr() as usize)).unwrap(), PTX);
    }

    #[test]
    fn binaries_alone_are_no_module() {
        assert_eq!(of_bytes(b"\x7fELF\x02"), Err(Error::NO_BINARY_FOR_GPU));
        assert_eq!(of_bytes(&fat(&[entry(2, 90, 0, b"binary", 0)])), Err(Error::NO_BINARY_FOR_GPU));
        assert_eq!(of_bytes(&fat(&[entry(1, 90, LZ4, b"\x10", 100)])), Err(Error::INVALID_IMAGE));
    }

    #[test]
    fn a_frame_has_the_size_that_its_entry_states() {
        let ptx = PTX.repeat(50);
        let size = ptx.len() as u64;
        let frame = compress_to_vec(ptx.as_bytes(), CompressionLevel::Fastest);
        assert!(frame.len() < ptx.len() / 4);
        assert_eq!(of_bytes(&fat(&[entry(1, 90, ZSTD, &frame, size)])).unwrap(), ptx);
        for other in [0, size - 1, size + 1, u64::MAX] {
            assert_eq!(of_bytes(&fat(&[entry(1, 90, ZSTD, &frame, other)])), Err(Error::INVALID_IMAGE), "{other}");
        }
        for length in 0..frame.len() {
            assert_eq!(from_frame(&frame[..length], size), None, "{length}");
        }
        assert_eq!(from_frame(b"text", 4), None);
    }

    #[test]
    fn compressed_text_has_the_size_that_its_entry_states() {
        // Two literals, a match of ten bytes at distance two, five literals.
        let block = [0x26, b'a', b'b', 2, 0, 0x50, b'1', b'2', b'3', b'4', b'5'];
        assert_eq!(decompress(&block, 17).unwrap(), b"abababababab12345");
        for size in [0, 16, 18, 1000] {
            assert_eq!(decompress(&block, size), None, "{size}");
        }
        for length in 0..block.len() {
            assert_eq!(decompress(&block[..length], 17), None, "{length}");
        }
        // A match at distance zero, and one before the start.
        for distance in [0, 3] {
            let mut damaged = block;
            damaged[3] = distance;
            assert_eq!(decompress(&damaged, 17), None, "{distance}");
        }
    }

    /// If the claimed size were allocated and filled, the process would have had a gibibyte.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_damaged_size_takes_no_memory() {
        let damaged = fat(&[entry(1, 90, LZ4, b"\x10text", MAX_BYTES)]);
        assert_eq!(of_bytes(&damaged), Err(Error::INVALID_IMAGE));
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kibibytes < MAX_BYTES >> 10, "{kibibytes} KiB");
    }

    #[test]
    fn a_wrapper_that_points_to_itself_is_an_error() {
        let wrapper = [u64::from(WITH_LIST) << 32 | u64::from(WRAPPER), 0, 0].map(Cell::new);
        let address = wrapper.as_ptr() as usize;
        wrapper[1].set(address as u64);
        assert_eq!(at(HostAddress(address)), Err(Error::INVALID_IMAGE));
        // Pointers and sizes at the end of the address space.
        wrapper[1].set(u64::MAX);
        wrapper[2].set(u64::MAX - 7);
        assert_eq!(at(HostAddress(address)), Err(Error::INVALID_VALUE));
        assert_eq!(parts_at(HostAddress(address)), Err(Error::INVALID_VALUE));
        let mut image = fat(&[]);
        image[8..16].fill(0xff);
        assert_eq!(at(HostAddress(image.as_ptr() as usize)), Err(Error::INVALID_IMAGE));
    }

    #[test]
    fn a_damaged_fat_binary_is_an_error() {
        let whole = fat(&[entry(1, 75, 0, PTX.as_bytes(), 0)]);
        for length in 4..whole.len() {
            assert!(of_bytes(&whole[..length]).is_err(), "{length}");
        }
    }

    proptest! {
        /// Overwrites words of images with each kind of entry, mostly by sizes and flags.
        #[test]
        fn a_damaged_image_is_an_error_or_ptx(
            edits in prop::collection::vec((any::<Index>(), prop_oneof![any::<u64>(), Just(u64::MAX), 0..200_u64, Just(LZ4), Just(ZSTD)], 0..4_u32), 1..4),
            cut in any::<Index>(),
            is_cut in any::<bool>(),
        ) {
            let literals: Vec<u8> = [0xf0, (PTX.len() - 15) as u8].into_iter().chain(PTX.bytes()).collect();
            let mut bytes = fat(&[
                entry(2, 90, 0, b"binary", 0),
                entry(1, 75, LZ4, &literals, PTX.len() as u64),
                entry(1, 80, ZSTD, &compress_to_vec(PTX.as_bytes(), CompressionLevel::Fastest), PTX.len() as u64),
                entry(1, 70, 0, PTX.as_bytes(), 0),
            ]);
            for (place, word, width) in edits {
                let start = place.index(bytes.len());
                let end = (start + (1 << width)).min(bytes.len());
                bytes[start..end].copy_from_slice(&word.to_le_bytes()[..end - start]);
            }
            if is_cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            if let Ok(ptx) = of_bytes(&bytes) {
                prop_assert!(ptx.contains(".version") && ptx.len() < 1 << 16);
            }
        }
    }
}
