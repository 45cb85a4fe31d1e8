//! Training runs that are killed at random times, several times each, and resumed to completion.

use anyhow::Result;

use super::training::{Job, Trainer};
use super::{Attack, Outcome, Programs};
use crate::random::Random;

pub(super) struct Kills<'a>(Vec<Job<'a>>);

impl<'a> Kills<'a> {
    pub(super) fn new(programs: Programs<'a>) -> Result<Self> {
        let job = |trainer| Job::new(trainer, programs);
        Ok(Self([Trainer::NeuralNet, Trainer::Studio].map(job).into_iter().collect::<Result<_>>()?))
    }
}

impl Attack for Kills<'_> {
    /// One training run with one to six kills, resumed after each.
    fn case(&self, random: &mut Random) -> Result<Outcome> {
        let job = &self.0[random.below(self.0.len())];
        let sandbox = job.sandbox()?;
        let (mut kills, mut peak) = (0, 0);
        for _ in 0..1 + random.below(6) {
            // A third of the kills come near the end, where most files are written.
            let fraction = if random.one_in(3) { 0.7 + 0.4 * random.fraction() } else { random.fraction() };
            let ended = job.start(&sandbox, "killed")?.wait(job.time.mul_f64(fraction))?;
            peak = peak.max(ended.peak);
            if !ended.is_late {
                // The run ended before the kill, or failed.
                let defect = job.defect(&sandbox, "killed", &ended);
                if defect.is_some() {
                    return Ok(Outcome { cases: kills.max(1), is_rejected: false, peak, defect });
                }
                break;
            }
            kills += 1;
        }
        let ended = job.start(&sandbox, "resumed")?.end()?;
        let defect = job.defect(&sandbox, "resumed", &ended).or_else(|| job.left_over(&sandbox));
        Ok(Outcome { cases: kills, is_rejected: false, peak: peak.max(ended.peak), defect })
    }
}
