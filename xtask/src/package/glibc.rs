//! The version of glibc that a program needs.

use std::fmt;

/// A version such as "2.28".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32);

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.0, self.1)
    }
}

/// Parses "2.28".
///
/// # Errors
/// If the text is not two numbers separated by a period.
pub(crate) fn parse(text: &str) -> Result<Version, String> {
    let parsed =
        text.split_once('.').and_then(|(major, minor)| Some(Version(major.parse().ok()?, minor.parse().ok()?)));
    parsed.ok_or_else(|| "a version of glibc is two numbers, such as 2.28".to_owned())
}

/// The latest glibc version among the symbol versions that an executable names; `None` if it names
/// none.
///
/// The dynamic linker compares these names ("GLIBC_2.28" and a zero byte) with those in the
/// machine's library.
pub(super) fn needed(executable: &[u8]) -> Option<Version> {
    const PREFIX: &[u8] = b"GLIBC_";
    let names = executable.windows(PREFIX.len()).enumerate().filter(|(_, bytes)| *bytes == PREFIX);
    let versions = names.filter_map(|(at, _)| {
        let rest = &executable[at + PREFIX.len()..];
        let end = rest.iter().take(16).position(|&byte| byte == 0)?;
        // "2.2.5" counts as 2.2, which is older than any system.
        let text = std::str::from_utf8(&rest[..end]).ok()?;
        parse(&text.split('.').take(2).collect::<Vec<_>>().join(".")).ok()
    });
    versions.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_finds_the_latest_glibc_that_a_program_names() {
        let program =
            b"\x7fELF\0GLIBC_2.2.5\0GLIBC_2.28\0GLIBC_2.4\0GLIBC_PRIVATE\0 GLIBC_2.99 in a sentence that goes on";
        assert_eq!(needed(program), parse("2.28").ok());
        assert_eq!(needed(b"MZ GLIBC_"), None);
        assert!(parse("2.30") > parse("2.4") && parse("2").is_err() && parse("2.x").is_err());
    }
}
