//! Why committed PTX cannot be used.

/// The version of the postprocessing and of the fingerprint's scheme. Raise it when either changes;
/// this makes all committed PTX stale.
pub(crate) const FORMAT: &str = "6";

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
    /// The file was not written by this builder, or is damaged.
    #[error("the committed file cannot be used: {0}")]
    Header(HeaderError),
    /// The file was built by another version of this builder.
    #[error("the committed file is stale: it has format {found}, the current one is {FORMAT}")]
    Format {
        /// The file's format.
        found: String,
    },
    /// The file was built from other sources, with other features or flags, or for another architecture.
    #[error("the committed file is stale: the kernels' sources, features or flags have changed since it was built")]
    Sources,
    /// The body does not match the digest in the header.
    #[error("the committed file was edited after it was built")]
    Edited,
}
