//! Execution counts per instruction.

/// Execution count of one instruction, and the memory transactions of its accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionCounts {
    /// Number of times that a warp issued it, even if the guard was false for all lanes.
    pub issued: u64,
    /// Number of times that a lane executed it.
    pub lanes: u64,
    /// Number of times that it made the lanes of a warp diverge.
    pub divergent: u64,
    /// Number of times that a warp accessed memory with it, for at least one lane.
    pub requests: u64,
    /// For global memory, the 32-byte sectors touched by the requests. For shared memory, their
    /// wavefronts, that is, passes over the 32 banks.
    pub transactions: u64,
    /// Minimum number of transactions that could have accessed the same bytes.
    pub min_transactions: u64,
    /// For an asynchronous copy, the requests that read global memory. The copy's other counts are
    /// for shared memory.
    pub source_requests: u64,
    /// The sectors that these requests touched.
    pub source_sectors: u64,
    /// Minimum number of sectors that could have held the same bytes.
    pub min_source_sectors: u64,
}

impl InstructionCounts {
    /// Counts a warp's access to memory.
    #[inline]
    pub(super) fn add_access(&mut self, transactions: u32, least: u32) {
        self.requests += 1;
        self.transactions += u64::from(transactions);
        self.min_transactions += u64::from(least);
    }

    /// Counts the reads of a warp's asynchronous copy.
    pub(super) fn add_source(&mut self, sectors: u32, least: u32) {
        self.source_requests += 1;
        self.source_sectors += u64::from(sectors);
        self.min_source_sectors += u64::from(least);
    }

    /// Adds the counts of another instruction, or of another worker of the launch.
    pub fn add(&mut self, other: &Self) {
        self.issued += other.issued;
        self.lanes += other.lanes;
        self.divergent += other.divergent;
        self.requests += other.requests;
        self.transactions += other.transactions;
        self.min_transactions += other.min_transactions;
        self.source_requests += other.source_requests;
        self.source_sectors += other.source_sectors;
        self.min_source_sectors += other.min_source_sectors;
    }
}
