//! Two processes that train in one folder at the same time.

use anyhow::Result;

use super::process::Ended;
use super::training::{Job, Trainer};
use super::{Attack, Defect, Programs, Shown};
use crate::random::Random;

pub(super) struct Two<'a>(Vec<Job<'a>>);

impl<'a> Two<'a> {
    pub(super) fn new(programs: Programs<'a>) -> Result<Self> {
        let job = |trainer| Job::new(trainer, programs);
        Ok(Self([Trainer::NeuralNet, Trainer::Studio].map(job).into_iter().collect::<Result<_>>()?))
    }
}

impl Attack for Two<'_> {
    fn case(&self, random: &mut Random) -> Result<Shown> {
        let job = &self.0[random.below(self.0.len())];
        let place = job.place()?;
        let first = job.start(&place, "first")?;
        if random.one_in(2) {
            std::thread::sleep(job.time.mul_f64(0.8 * random.share()));
        }
        let second = job.start(&place, "second")?;
        let ids = [first.id(), second.id()];
        let (first, second) = (first.end()?, second.end()?);
        let peak = first.peak.max(second.peak);
        let defect = [("first", &first, ids[1]), ("second", &second, ids[0])]
            .into_iter()
            .find_map(|(name, ended, other)| match ended.code() {
                Some(2) => rejection(job, ended, other),
                _ => job.defect(&place, name, ended),
            })
            .or_else(|| {
                let both = first.code() == Some(2) && second.code() == Some(2);
                both.then(|| Defect::wrong(format!("{}: one of two goes on", job.trainer.name()), first.messages()))
            });
        let is_rejected = first.code() == Some(2) || second.code() == Some(2);
        let shown = |defect| Ok(Shown { cases: 1, is_rejected, peak, defect });
        if defect.is_some() || job.trainer == Trainer::Studio && job.left_over(&place).is_some() {
            return shown(defect.or_else(|| job.left_over(&place)));
        }
        let ended = job.start(&place, "afterwards")?.end()?;
        shown(job.defect(&place, "afterwards", &ended).or_else(|| job.left_over(&place)))
    }
}

/// What is wrong with the error of the one that is rejected.
fn rejection(job: &Job, ended: &Ended, other: u32) -> Option<Defect> {
    let place = format!("{}: the second of two is rejected by one line with the first's process", job.trainer.name());
    match ended.error_line() {
        // There is a run already, which the second was not told to resume.
        Ok(line) if line.contains(&other.to_string()) || line.contains("--resume") => None,
        Ok(line) => Some(Defect::wrong(place, format!("process {other} is not in: {line}"))),
        Err(messages) => Some(Defect::wrong(place, messages)),
    }
}
