//! A launch of whichever kernel, once or in several orders.

use super::copies::{Copies, EachMutable};
use super::launch::Launch;
use super::{LaunchError, LaunchReport, Options, current};
use crate::{LaunchConfig, Schedule, Search};

impl Launch {
    /// A launch that takes its arguments next.
    ///
    /// # Errors
    /// If it is one of a simulated thread, or exceeds a limit.
    pub(super) fn new(
        kernel: &'static str,
        place: (&'static str, u32),
        config: LaunchConfig,
        options: Options,
    ) -> Result<Self, LaunchError> {
        if current::is_simulated() {
            return Err(LaunchError::Nested);
        }
        config.check()?;
        config.check_shared(options.max_shared_bytes)?;
        current::with(|current| current.binding.set(kernel));
        Ok(Self { kernel, place, config, options, prints: true })
    }

    /// Runs `thread` once for each thread of the grid, then the launch again in the other orders that the options ask for; `mutable` are
    /// the buffers that it may write.
    pub(super) fn run_in_orders(
        mut self,
        thread: &(dyn Fn() + Sync),
        mutable: EachMutable<'_>,
    ) -> Result<LaunchReport, LaunchError> {
        let Options { check_races, ref schedule, search, .. } = self.options;
        let search = if check_races && schedule.is_default() { search } else { Search::ONE };
        let before = (search.runs > 1).then(|| Copies::of(mutable));
        let report = self.run(thread)?;
        let Some(before) = before else { return Ok(report) };
        let after = Copies::of(mutable);
        self.prints = false;
        let mut in_order = |schedule: &Schedule| {
            before.restore(mutable);
            self.options.schedule = schedule.clone();
            let run = self.run(thread);
            (run, current::set_switches(None))
        };
        let found = search.search(
            |schedule| {
                let (run, operations) = in_order(schedule);
                run.map(|_| operations)
            },
            |error, other| error.fault().zip(other.fault()).is_some_and(|(fault, other)| fault.is_same_as(other)),
        );
        let Some((schedule, error)) = found else {
            after.restore(mutable);
            return Ok(report);
        };
        // Memory as the order with the fault leaves it.
        _ = in_order(&schedule);
        Err(error)
    }
}
