//! Training runs that are killed at any moment, several times, and resumed to their end.

use anyhow::Result;

use super::training::{Job, Trainer};
use super::{Attack, Programs, Shown};
use crate::random::Random;

pub(super) struct Kills<'a>(Vec<Job<'a>>);

impl<'a> Kills<'a> {
    pub(super) fn new(programs: Programs<'a>) -> Result<Self> {
        let job = |trainer| Job::new(trainer, programs);
        Ok(Self([Trainer::NeuralNet, Trainer::Studio].map(job).into_iter().collect::<Result<_>>()?))
    }
}

impl Attack for Kills<'_> {
    /// One training run with one to six kills, and one more case for its end.
    fn case(&self, random: &mut Random) -> Result<Shown> {
        let job = &self.0[random.below(self.0.len())];
        let place = job.place()?;
        let (mut kills, mut peak) = (0, 0);
        for _ in 0..1 + random.below(6) {
            // Near the end as often as anywhere: most files are written there.
            let share = if random.one_in(3) { 0.7 + 0.4 * random.share() } else { random.share() };
            let ended = job.start(&place, "killed")?.wait(job.time.mul_f64(share))?;
            peak = peak.max(ended.peak);
            if !ended.is_late {
                // It was faster than the kill, or has failed.
                let defect = job.defect(&place, "killed", &ended);
                if defect.is_some() {
                    return Ok(Shown { cases: kills.max(1), is_rejected: false, peak, defect });
                }
                break;
            }
            kills += 1;
        }
        let ended = job.start(&place, "resumed")?.end()?;
        let defect = job.defect(&place, "resumed", &ended).or_else(|| job.left_over(&place));
        Ok(Shown { cases: kills, is_rejected: false, peak: peak.max(ended.peak), defect })
    }
}
