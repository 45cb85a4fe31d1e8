//! Counters of messages.

/// What a rank has sent through a communicator: the messages that it has handed to MPI, received or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Number of messages to each rank.
    pub messages: Vec<u64>,
    /// Bytes of their elements, to each rank.
    pub bytes: Vec<u64>,
    /// Number of calls of collective operations: barriers, broadcasts, reductions, gathers and splits. Their messages
    /// are MPI's own, and not counted.
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
