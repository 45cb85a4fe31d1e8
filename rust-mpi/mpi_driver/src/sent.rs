//! Message counters.

/// What a rank has sent through a communicator: the messages handed to MPI, whether received or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Number of messages sent to each rank.
    pub messages: Vec<u64>,
    /// Number of bytes in their elements, for each rank.
    pub bytes: Vec<u64>,
    /// Number of calls of collective operations: barriers, broadcasts, reductions, gathers and
    /// splits. The messages inside them are MPI's own and not counted.
    pub collectives: u64,
}

impl Sent {
    pub(crate) fn nothing(ranks: usize) -> Self {
        Self { messages: vec![0; ranks], bytes: vec![0; ranks], collectives: 0 }
    }

    pub(crate) fn add<T>(&mut self, message: &[T], to: usize) {
        self.messages[to] += 1;
        self.bytes[to] += size_of_val(message) as u64;
    }
}
