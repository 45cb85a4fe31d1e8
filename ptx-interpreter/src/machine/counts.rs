//! What a launch did, counted by instruction.

/// How often one instruction was executed, and what its accesses cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionCounts {
    /// Warps that issued it, whether or not its guard was true for a lane.
    pub issued: u64,
    /// Lanes that executed it.
    pub lanes: u64,
    /// Branches at which the lanes of a warp went different ways.
    pub divergent: u64,
    /// Warps that accessed memory by it, for at least one lane.
    pub requests: u64,
    /// For global memory, the sectors of 32 bytes that the requests touched; for shared memory, the wavefronts that they
    /// took: passes over the 32 banks.
    pub transactions: u64,
    /// How few transactions the same bytes could have taken.
    pub least_transactions: u64,
    /// Of an asynchronous copy, whose other counts are of shared memory: the requests that read global memory.
    pub source_requests: u64,
    /// The sectors that they touched.
    pub source_sectors: u64,
    /// How few sectors the same bytes could have taken.
    pub least_source_sectors: u64,
}

impl InstructionCounts {
    /// Counts a warp's access.
    #[inline]
    pub(super) fn add_access(&mut self, transactions: u32, least: u32) {
        self.requests += 1;
        self.transactions += u64::from(transactions);
        self.least_transactions += u64::from(least);
    }

    /// Counts what a warp's asynchronous copy reads.
    pub(super) fn add_source(&mut self, sectors: u32, least: u32) {
        self.source_requests += 1;
        self.source_sectors += u64::from(sectors);
        self.least_source_sectors += u64::from(least);
    }

    /// Adds the counts of another instruction, or of another part of a launch.
    pub fn add(&mut self, other: &Self) {
        self.issued += other.issued;
        self.lanes += other.lanes;
        self.divergent += other.divergent;
        self.requests += other.requests;
        self.transactions += other.transactions;
        self.least_transactions += other.least_transactions;
        self.source_requests += other.source_requests;
        self.source_sectors += other.source_sectors;
        self.least_source_sectors += other.least_source_sectors;
    }
}
