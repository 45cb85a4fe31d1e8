//! Limits of a read.

/// Maximum number of columns, as in common spreadsheets.
pub const COLUMN_LIMIT: usize = 16_384;

/// Maximum length of a row in bytes.
pub const RECORD_LIMIT: usize = 16 << 20;

/// Maximum unpacked size of a workbook's parts in bytes. Half a million rows of twenty columns take
/// about 400 MB.
pub const UNPACKED_LIMIT: u64 = 2 << 30;

/// Sizes and limits of a read, in bytes; tests vary them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Size of a chunk.
    pub(super) chunk: usize,
    /// Size of the sample of first rows, which is used to guess the column kinds.
    pub(super) sample: usize,
    /// Maximum length of a record.
    pub(super) record: usize,
    /// Maximum memory of the parsed rows.
    pub(super) memory: u64,
}

pub(super) const LIMITS: Limits = Limits { chunk: 1 << 19, sample: 1 << 16, record: RECORD_LIMIT, memory: u64::MAX };
