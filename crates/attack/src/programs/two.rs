//! Two processes that train in one folder at the same time.

use anyhow::Result;

use super::process::Ended;
use super::training::{Job, Trainer};
use super::{Attack, Defect, Outcome, Programs};
use crate::random::Random;

pub(super) struct Two<'a>(Vec<Job<'a>>);

impl<'a> Two<'a> {
    pub(super) fn new(programs: Programs<'a>) -> Result<Self> {
        let job = |trainer| Job::new(trainer, programs);
        Ok(Self([Trainer::NeuralNet, Trainer::Studio].map(job).into_iter().collect::<Result<_>>()?))
    }
}

impl Attack for Two<'_> {
    fn case(&self, random: &mut Random) -> Result<Outcome> {
        let job = &self.0[random.below(self.0.len())];
        let sandbox = job.sandbox()?;
        let first = job.start(&sandbox, "first")?;
        if random.one_in(2) {
            std::thread::sleep(job.time.mul_f64(0.8 * random.fraction()));
        }
        let second = job.start(&sandbox, "second")?;
        let ids = [first.id(), second.id()];
        let (first, second) = (first.end()?, second.end()?);
        let peak = first.peak.max(second.peak);
        let defect = [("first", &first, ids[1]), ("second", &second, ids[0])]
            .into_iter()
            .find_map(|(name, ended, other)| match ended.code() {
                Some(2) => rejection(job, ended, other),
                _ => job.defect(&sandbox, name, ended),
            })
            .or_else(|| {
                let both = first.code() == Some(2) && second.code() == Some(2);
                both.then(|| {
                    Defect::wrong(format!("{}: one of two processes trains", job.trainer.name()), first.messages())
                })
            });
        let is_rejected = first.code() == Some(2) || second.code() == Some(2);
        let outcome = |defect| Ok(Outcome { cases: 1, is_rejected, peak, defect });
        if defect.is_some() || job.trainer == Trainer::Studio && job.left_over(&sandbox).is_some() {
            return outcome(defect.or_else(|| job.left_over(&sandbox)));
        }
        let ended = job.start(&sandbox, "afterwards")?.end()?;
        outcome(job.defect(&sandbox, "afterwards", &ended).or_else(|| job.left_over(&sandbox)))
    }
}

/// The defect of the rejected process's error message.
fn rejection(job: &Job, ended: &Ended, other: u32) -> Option<Defect> {
    let place = format!("{}: the second of two is rejected by one line with the first's process", job.trainer.name());
    match ended.error_line() {
        // The folder has a run already, and the second process was started without --resume.
        Ok(line) if line.contains(&other.to_string()) || line.contains("--resume") => None,
        Ok(line) => Some(Defect::wrong(place, format!("process {other} is not in: {line}"))),
        Err(messages) => Some(Defect::wrong(place, messages)),
    }
}
