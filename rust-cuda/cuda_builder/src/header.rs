use std::fmt;

use crate::Arch;
use crate::fingerprint::{Fingerprint, digest_of};

/// The version of what the builder does to the compiler's output and of how it counts sources. Raise it when either
/// changes: all committed PTX is stale then.
pub(crate) const FORMAT: &str = "2";

/// The comment at the top of a PTX file: what made it.
///
/// ```text
/// // PTX of kernels-gpu for sm_75, made by cuda_builder. Do not edit: `cargo xtask ptx` makes it anew.
/// // format: 2
/// // fingerprint: 64 hexadecimal digits
/// // text: 64 hexadecimal digits
/// // compiler: rustc 1.96.0 (ac68faa20 2026-05-25), LLVM 22.1.8
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The kernel crate.
    pub package: String,
    /// The architecture that the PTX is for.
    pub arch: String,
    /// The version of the builder's format.
    pub format: String,
    /// Everything that made the PTX but the compiler.
    pub fingerprint: Fingerprint,
    /// A digest of the PTX below the header, so that a change by hand is noticed.
    pub text: Fingerprint,
    /// The compiler that made it: for the reader, it says nothing about freshness.
    pub compiler: String,
}

impl Header {
    pub(crate) fn new(package: &str, arch: Arch, fingerprint: Fingerprint, compiler: &str, body: &str) -> Self {
        Self {
            package: package.to_owned(),
            arch: arch.name().to_owned(),
            format: FORMAT.to_owned(),
            fingerprint,
            text: digest_of(body),
            compiler: compiler.replace('\n', " "),
        }
    }

    /// Splits PTX text into its header and what is below it.
    ///
    /// # Errors
    /// If the text does not begin with a whole header.
    pub fn split(text: &str) -> Result<(Self, String), HeaderError> {
        let text = text.replace("\r\n", "\n");
        let mut rest = text.as_str();
        let mut line = |expected, start, end| -> Result<String, HeaderError> {
            let (line, after) = rest.split_once('\n').ok_or(HeaderError { expected })?;
            rest = after;
            let value = line.strip_prefix(start).and_then(|line| line.strip_suffix(end));
            value.map(str::to_owned).ok_or(HeaderError { expected })
        };
        let title = line("PTX of … for …", "// PTX of ", TITLE_END)?;
        let format = line("format", "// format: ", "")?;
        let fingerprint = Fingerprint(line("fingerprint", "// fingerprint: ", "")?);
        let digest = Fingerprint(line("text", "// text: ", "")?);
        let compiler = line("compiler", "// compiler: ", "")?;
        let (package, arch) = title.split_once(" for ").ok_or(HeaderError { expected: "PTX of … for …" })?;
        let (package, arch) = (package.to_owned(), arch.to_owned());
        Ok((Self { package, arch, format, fingerprint, text: digest, compiler }, rest.to_owned()))
    }

    /// Why PTX text is not what `fingerprint` stands for. None if it is.
    pub(crate) fn staleness(text: &str, fingerprint: &Fingerprint) -> Option<Staleness> {
        match Self::split(text) {
            Err(error) => Some(Staleness::Header(error)),
            Ok((header, _)) if header.format != FORMAT => Some(Staleness::Format { found: header.format }),
            Ok((header, _)) if header.fingerprint != *fingerprint => Some(Staleness::Sources),
            Ok((header, body)) if header.text != digest_of(&body) => Some(Staleness::Edited),
            Ok(_) => None,
        }
    }
}

const TITLE_END: &str = ", made by cuda_builder. Do not edit: `cargo xtask ptx` makes it anew.";

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { package, arch, format, fingerprint, text, compiler } = self;
        writeln!(f, "// PTX of {package} for {arch}{TITLE_END}")?;
        writeln!(f, "// format: {format}")?;
        writeln!(f, "// fingerprint: {fingerprint}")?;
        writeln!(f, "// text: {text}")?;
        writeln!(f, "// compiler: {compiler}")
    }
}

/// A line that the header of a PTX file must have and has not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its header has no line `{expected}` where it belongs")]
pub struct HeaderError {
    /// The line.
    pub expected: &'static str,
}

/// Why committed PTX cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Staleness {
    /// The builder was told of no committed PTX.
    #[error("none is committed")]
    NotCommitted,
    /// There is no file where the committed PTX belongs.
    #[error("the committed file is missing")]
    Missing,
    /// The file was not written by this builder, or was damaged.
    #[error("the committed file cannot be used: {0}")]
    Header(HeaderError),
    /// The file was made by another version of this builder.
    #[error("the committed file is stale: it has format {found}, today's is {FORMAT}")]
    Format {
        /// The file's format.
        found: String,
    },
    /// The file was made from other sources, with other flags or for another architecture.
    #[error("the committed file is stale: the kernels' sources or flags have changed since it was made")]
    Sources,
    /// The text below the header is not what the header was written for.
    #[error("the committed file was changed after it was made")]
    Edited,
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "//\n// Generated by LLVM NVPTX Back-End\n//\n\n.version 6.3\n";

    fn header() -> Header {
        Header::new("my kernels", Arch::Sm75, digest_of("sources"), "rustc 1.96.0,\nLLVM 22.1.8", BODY)
    }

    #[test]
    fn a_header_is_read_back_as_it_was_written() {
        let text = format!("{}{BODY}", header());
        assert_eq!(text.lines().take_while(|line| line.len() > 2).count(), 5);
        assert_eq!(Header::split(&text), Ok((header(), BODY.to_owned())));
        assert_eq!(Header::split(&text.replace('\n', "\r\n")), Ok((header(), BODY.to_owned())));
        assert_eq!(header().compiler, "rustc 1.96.0, LLVM 22.1.8");
    }

    #[test]
    fn the_line_that_is_missing_is_named() {
        let text = header().to_string();
        for expected in ["format", "fingerprint", "text", "compiler"] {
            let damaged: String =
                text.split_inclusive('\n').filter(|line| !line.starts_with(&format!("// {expected}: "))).collect();
            assert_eq!(Header::split(&damaged), Err(HeaderError { expected }));
        }
        assert_eq!(Header::split(BODY), Err(HeaderError { expected: "PTX of … for …" }));
        assert_eq!(Header::split(""), Err(HeaderError { expected: "PTX of … for …" }));
    }

    #[test]
    fn staleness_tells_sources_format_and_edits_apart() {
        let text = format!("{}{BODY}", header());
        let fingerprint = digest_of("sources");
        assert_eq!(Header::staleness(&text, &fingerprint), None);
        assert_eq!(Header::staleness(&text, &digest_of("other sources")), Some(Staleness::Sources));
        assert_eq!(Header::staleness(&format!("{text}//"), &fingerprint), Some(Staleness::Edited));
        let older = text.replace("format: 2", "format: 0");
        assert_eq!(Header::staleness(&older, &fingerprint), Some(Staleness::Format { found: "0".to_owned() }));
        assert!(matches!(Header::staleness(BODY, &fingerprint), Some(Staleness::Header(_))));
        let another_compiler = text.replace("rustc 1.96.0", "rustc 1.95.0");
        assert_eq!(Header::staleness(&another_compiler, &fingerprint), None);
    }
}
