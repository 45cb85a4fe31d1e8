//! Files named in PTX or in a launch file, which are not necessarily the user's own.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// The bytes of a regular file with at most `limit` bytes. Other files are rejected: a device such
/// as `/dev/zero` may have no end, and a pipe may never have a writer.
///
/// # Errors
/// The system's error, or that the file is too large or not a regular file.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let too_large = || io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {limit} bytes"));
    // Check before opening the file, because opening a pipe blocks.
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if metadata.len() > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // Files in /proc report a size of 0, and others may grow.
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
}

/// Like [`read`], for text.
///
/// # Errors
/// Same as [`read`], and if it is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit)?).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        io::Error::new(ErrorKind::InvalidData, format!("it is not valid UTF-8 at byte offset {offset}"))
    })
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let folder = tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "12345678").unwrap();
        assert_eq!(read_text(&file, 8).unwrap(), "12345678");
        assert_eq!(read(&file, 7).unwrap_err().to_string(), "it has more than 7 bytes");
        assert_eq!(read(folder.path(), 8).unwrap_err().to_string(), "it is not a regular file");
        assert_eq!(read(&folder.path().join("none"), 8).unwrap_err().kind(), ErrorKind::NotFound);
        fs::write(&file, [b'1', 0xff]).unwrap();
        assert_eq!(read_text(&file, 8).unwrap_err().to_string(), "it is not valid UTF-8 at byte offset 1");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_has_no_end_is_not_read() {
        assert_eq!(read(Path::new("/dev/zero"), u64::MAX).unwrap_err().to_string(), "it is not a regular file");
        // Its reported length is 0.
        assert_eq!(read(Path::new("/proc/self/status"), 5).unwrap_err().to_string(), "it has more than 5 bytes");
    }
}
