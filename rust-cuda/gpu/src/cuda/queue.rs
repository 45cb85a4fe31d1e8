//! The pending launches. Any of them may have caused an asynchronous error.

use super::graph::ExecutableGraph;
use crate::{DriverError, Error, Launch};

/// The launches and graphs that may not have finished yet.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Distinct launches, each with its number of repetitions.
    launches: Vec<Launch>,
    graphs: Vec<ExecutableGraph>,
    /// The GPU's sticky error, after which every call fails, and the launches that were pending
    /// when it occurred.
    failure: Option<(DriverError, Vec<Launch>)>,
}

impl Queue {
    /// Adds a launch.
    pub(super) fn push(&mut self, launch: Launch) {
        let is_equal = |known: &&mut Launch| known.kernel == launch.kernel && known.config == launch.config;
        match self.launches.iter_mut().find(is_equal) {
            Some(known) => known.times += launch.times,
            None => self.launches.push(launch),
        }
    }

    /// Keeps a graph alive until its launches have finished.
    pub(super) fn keep(&mut self, graph: ExecutableGraph) {
        self.graphs.push(graph);
    }

    /// The number of graphs that are kept alive.
    pub(super) fn kept_graphs(&self) -> usize {
        self.graphs.len()
    }

    /// Removes all launches and graphs, because a synchronization has shown that they have
    /// finished.
    pub(super) fn clear(&mut self) {
        self.launches.clear();
        self.graphs.clear();
    }

    /// The error of the pending launches, if a running kernel caused `error`. The first such error
    /// names all launches that were pending, and every later one repeats it.
    pub(super) fn failure(&mut self, error: &DriverError) -> Option<Error> {
        if !comes_from_a_kernel(error.code) || (self.launches.is_empty() && self.failure.is_none()) {
            return None;
        }
        let launches = std::mem::take(&mut self.launches);
        let first = || (error.clone(), launches);
        let (error, launches) = self.failure.get_or_insert_with(first).clone();
        Some(Error::Queued { error, launches })
    }
}

/// Whether a running kernel causes this error, rather than the call that returns it. Such errors
/// are sticky: the context cannot be used afterwards.
fn comes_from_a_kernel(code: u32) -> bool {
    // In cuda.h: ECC and NVLink; illegal address; time-out; assertion; stack, instruction, alignment, address space,
    // program counter, "unspecified launch failure".
    matches!(code, 214 | 220 | 700 | 702 | 710 | 714..=719)
}

#[cfg(test)]
mod tests {
    use cuda_std::LaunchConfig;

    use super::*;

    fn launch(kernel: &'static str, blocks: u32) -> Launch {
        Launch { kernel, config: LaunchConfig::new(blocks, 32), times: 1 }
    }

    fn error(code: u32) -> DriverError {
        DriverError { code, text: "text".to_owned() }
    }

    #[test]
    fn an_error_names_the_pending_launches() {
        let mut queue = Queue::default();
        queue.push(launch("a", 1));
        queue.clear();
        queue.push(launch("b", 1));
        queue.push(launch("b", 1));
        queue.push(launch("b", 2));
        let text = queue.failure(&error(700)).unwrap().to_string();
        assert_eq!(
            text,
            "text (CUDA error 700), in one of the launches since the last synchronisation: \
             b (grid (1, 1, 1), block (32, 1, 1)) × 2, b (grid (2, 1, 1), block (32, 1, 1)) \
             (set GPU_LAUNCH_BLOCKING=1 to find out which)"
        );
    }

    #[test]
    fn the_first_failure_is_repeated() {
        let mut queue = Queue::default();
        assert!(queue.failure(&error(700)).is_none(), "no launch is pending");
        queue.push(launch("a", 1));
        assert!(queue.failure(&error(1)).is_none(), "an error of the call itself");
        for code in [719, 700] {
            let text = queue.failure(&error(code)).unwrap().to_string();
            assert_eq!(text, "text (CUDA error 719), in the launch of a (grid (1, 1, 1), block (32, 1, 1))");
        }
    }
}
