//! Which launches an error of the GPU may belong to.

use super::graph::Executable;
use crate::{DriverError, Error, Launch};

/// The launches that are not known to be done.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Launches that are alike are counted.
    launches: Vec<Launch>,
    /// Graphs that are not known to be done.
    graphs: Vec<Executable>,
    /// The GPU's failure, once there is one: no call succeeds any more.
    failure: Option<(DriverError, Vec<Launch>)>,
}

impl Queue {
    /// Notes a launch.
    pub(super) fn push(&mut self, launch: Launch) {
        let is_alike = |known: &&mut Launch| known.kernel == launch.kernel && known.config == launch.config;
        match self.launches.iter_mut().find(is_alike) {
            Some(known) => known.times += launch.times,
            None => self.launches.push(launch),
        }
    }

    /// Keeps a graph until its launches are done.
    pub(super) fn keep(&mut self, graph: Executable) {
        self.graphs.push(graph);
    }

    /// The number of graphs that are kept.
    pub(super) fn kept(&self) -> usize {
        self.graphs.len()
    }

    /// All launches are done.
    pub(super) fn all_done(&mut self) {
        self.launches.clear();
        self.graphs.clear();
    }

    /// What `error` says about the launches, if it is one that a running kernel causes: the first such error names all
    /// that were under way, and is repeated for good.
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

/// Whether a running kernel causes this error, rather than the call that returns it. After it the context is of no use.
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
    fn an_error_names_what_is_under_way() {
        let mut queue = Queue::default();
        queue.push(launch("a", 1));
        queue.all_done();
        queue.push(launch("b", 1));
        queue.push(launch("b", 1));
        queue.push(launch("b", 2));
        let text = queue.failure(&error(700)).unwrap().to_string();
        assert_eq!(
            text,
            "text (CUDA error 700), in one of the launches since the device was last waited for: \
             b (grid (1, 1, 1), block (32, 1, 1)) × 2, b (grid (2, 1, 1), block (32, 1, 1)) \
             (GPU_LAUNCH_BLOCKING=1 finds out which)"
        );
    }

    #[test]
    fn the_first_failure_is_repeated() {
        let mut queue = Queue::default();
        assert!(queue.failure(&error(700)).is_none(), "nothing is under way");
        queue.push(launch("a", 1));
        assert!(queue.failure(&error(1)).is_none(), "an error of the call itself");
        for code in [719, 700] {
            let text = queue.failure(&error(code)).unwrap().to_string();
            assert_eq!(text, "text (CUDA error 719), in the launch of a (grid (1, 1, 1), block (32, 1, 1))");
        }
    }
}
