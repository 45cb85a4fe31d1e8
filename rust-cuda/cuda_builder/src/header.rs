use std::fmt;

use crate::Arch;
use crate::fingerprint::{Fingerprint, digest_of};

/// The version of the postprocessing and of the fingerprint's scheme. Raise it when either changes, which makes all
/// committed PTX stale.
pub(crate) const FORMAT: &str = "5";

/// The comment at the top of a PTX file: its inputs and its compiler.
///
/// ```text
/// // PTX of kernels-gpu for sm_75, made by cuda_builder. Do not edit: `cargo xtask ptx` rebuilds it.
/// // format: 5
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
    /// The fingerprint of all inputs of the PTX except the compiler.
    pub fingerprint: Fingerprint,
    /// The digest of the PTX below the header, which detects manual edits.
    pub text: Fingerprint,
    /// The compiler's name and version, for information: freshness does not depend on it.
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

    /// Splits PTX text into its header and its body.
    ///
    /// # Errors
    /// If the text does not begin with a complete header.
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

    /// Why PTX text is stale or damaged, if `fingerprint` is that of the current sources; None if it is fresh.
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

const TITLE_END: &str = ", made by cuda_builder. Do not edit: `cargo xtask ptx` rebuilds it.";

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

/// A line is missing from the header of a PTX file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its header has no line `{expected}` where it belongs")]
pub struct HeaderError {
    /// The start of the missing line.
    pub expected: &'static str,
}

/// Why committed PTX cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Staleness {
    /// The builder has no committed path.
    #[error("none is committed")]
    NotCommitted,
    /// There is no file at the committed path.
    #[error("the committed file is missing")]
    Missing,
    /// The file was not written by this builder, or was damaged.
    #[error("the committed file cannot be used: {0}")]
    Header(HeaderError),
    /// The file was built by another version of this builder.
    #[error("the committed file is stale: it has format {found}, the current one is {FORMAT}")]
    Format {
        /// The file's format.
        found: String,
    },
    /// The file was built from other sources, with other flags or for another architecture.
    #[error("the committed file is stale: the kernels' sources or flags have changed since it was built")]
    Sources,
    /// The body does not match the digest in the header.
    #[error("the committed file was edited after it was built")]
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
    fn headers_round_trip() {
        let text = format!("{}{BODY}", header());
        assert_eq!(text.lines().take_while(|line| line.len() > 2).count(), 5);
        assert_eq!(Header::split(&text), Ok((header(), BODY.to_owned())));
        assert_eq!(Header::split(&text.replace('\n', "\r\n")), Ok((header(), BODY.to_owned())));
        assert_eq!(header().compiler, "rustc 1.96.0, LLVM 22.1.8");
    }

    #[test]
    fn the_error_names_the_missing_line() {
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
    fn staleness_distinguishes_sources_format_and_edits() {
        let text = format!("{}{BODY}", header());
        let fingerprint = digest_of("sources");
        assert_eq!(Header::staleness(&text, &fingerprint), None);
        assert_eq!(Header::staleness(&text, &digest_of("other sources")), Some(Staleness::Sources));
        assert_eq!(Header::staleness(&format!("{text}//"), &fingerprint), Some(Staleness::Edited));
        let older = text.replace(&format!("format: {FORMAT}"), "format: 0");
        assert_eq!(Header::staleness(&older, &fingerprint), Some(Staleness::Format { found: "0".to_owned() }));
        assert!(matches!(Header::staleness(BODY, &fingerprint), Some(Staleness::Header(_))));
        let another_compiler = text.replace("rustc 1.96.0", "rustc 1.95.0");
        assert_eq!(Header::staleness(&another_compiler, &fingerprint), None);
    }
}
