//! SHA-256 digests stored inside the files that they verify.
//!
//! A digest covers every byte of its file, with its own 64 digits replaced by zeros. It therefore
//! detects a change of a tensor, the metadata, a tensor's shape or the digest. Other programs can
//! still read such files: the digest is a metadata value of a safetensors file, or a comment on the
//! first line of a text file.

use std::ops::Range;

use sha2::{Digest, Sha256};

/// The metadata key of the digest.
pub const KEY: &str = "checksum";
/// The key's value while the digest is computed.
pub(crate) const NO_DIGEST: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// The bytes before the digits in a safetensors file. Quotation marks inside a value are escaped,
/// so these bytes occur only at the key. A tensor with this name has an object as its value, not a
/// string.
const BEFORE: &[u8] = b"\"checksum\":\"";
/// The text before the digits on a text's first line.
const BEFORE_IN_TEXT: &str = "# sha256 ";
/// The text after the digits on a text's first line.
const AFTER_IN_TEXT: &str = " of the lines below; to edit them, copy the file without this line\n";

/// The result of comparing a file with its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seal {
    /// The file has no digest.
    Missing,
    /// The digest matches the file.
    Intact,
    /// The digest does not match: the file was changed.
    Broken,
}

/// Writes the digest into a safetensors file that has the key [`KEY`] with a value of 64
/// characters. Returns false if the file lacks the key.
pub fn seal(file: &mut [u8]) -> bool {
    let Some(digits) = digits(file) else { return false };
    if digits.end > file.len() {
        return false;
    }
    let digest = digest_without(file, &digits);
    file[digits].copy_from_slice(digest.as_bytes());
    true
}

/// Compares a safetensors file with its digest.
pub fn check(file: &[u8]) -> Seal {
    match digits(file) {
        None => Seal::Missing,
        Some(digits)
            if file.get(digits.clone()).is_some_and(|found| digest_without(file, &digits).as_bytes() == found) =>
        {
            Seal::Intact
        }
        Some(_) => Seal::Broken,
    }
}

/// Puts a line with its digest before the text.
pub fn seal_text(text: &str) -> String {
    format!("{BEFORE_IN_TEXT}{}{AFTER_IN_TEXT}{text}", hex::encode(Sha256::digest(text)))
}

/// Compares a text with the digest on its first line.
pub fn check_text(text: &str) -> Seal {
    let Some(rest) = text.strip_prefix(BEFORE_IN_TEXT) else { return Seal::Missing };
    let parts = rest.split_at_checked(NO_DIGEST.len());
    let parts = parts.and_then(|(digest, rest)| Some((digest, rest.strip_prefix(AFTER_IN_TEXT)?)));
    match parts {
        Some((digest, text)) if digest == hex::encode(Sha256::digest(text)) => Seal::Intact,
        _ => Seal::Broken,
    }
}

/// The range of the digits in a safetensors file. The file has eight bytes for the header's length,
/// the header, and the tensors.
fn digits(file: &[u8]) -> Option<Range<usize>> {
    let (length, rest) = file.split_first_chunk::<8>()?;
    let header = rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let start = 8 + BEFORE.len() + header.windows(BEFORE.len()).position(|window| window == BEFORE)?;
    Some(start..start + NO_DIGEST.len())
}

/// The digest of the file with the digits replaced by zeros.
fn digest_without(file: &[u8], digits: &Range<usize>) -> String {
    let mut digest = Sha256::new();
    digest.update(&file[..digits.start]);
    digest.update(NO_DIGEST);
    digest.update(&file[digits.end..]);
    hex::encode(digest.finalize())
}
