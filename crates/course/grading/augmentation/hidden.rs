//! What students do not see: who does the work.

use super::*;

/// Distortions of images until one shows how many threads are at work.
const ROUNDS: u32 = 10;

/// The threads that start are counted while 2000 images are distorted. The thread that puts the jobs may be one more. If there are more,
/// as where workers start anew for some images each, as many must be seen at once: in one of several rounds, since a busy machine may
/// keep the thread that looks from looking.
#[test]
fn augmented_starts_its_workers_and_ends_them() -> Result<(), Failure> {
    for workers in [2_usize, 5] {
        let allowed = workers..=workers + 2;
        let mut round = 0;
        loop {
            round += 1;
            let [started, most, after]: [usize; 3] =
                check("augmented", judging::call("threads of augmented", &(2000_usize, workers)))?;
            if after > 0 {
                return Err(format!("augmented: when it returns, {after} of its threads have not ended").into());
            }
            if allowed.contains(&started) || started > workers && allowed.contains(&most) {
                break;
            }
            if started < workers || round == ROUNDS {
                let most = most.min(started);
                return Err(format!("augmented: with {workers} workers, it has {most} threads, expected {workers} and one that puts the jobs").into());
            }
        }
    }
    Ok(())
}
