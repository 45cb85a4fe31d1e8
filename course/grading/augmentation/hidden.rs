//! What students do not see: who does the work.

use super::*;

/// Distortions of images until one shows how many threads are at work.
const ROUNDS: u32 = 10;

/// Counts the threads that start while 2000 images are distorted. The thread that puts the jobs may be one more. If more start, because each
/// worker does a few images, the test must see as many at once in one of several rounds: on a busy machine it may miss some.
#[test]
fn augmented_starts_its_workers_and_ends_them() -> Result<(), Failure> {
    for workers in [2_usize, 5] {
        let allowed = workers..=workers + 2;
        let mut round = 0;
        loop {
            round += 1;
            let [started, most, after]: [usize; 3] =
                check("augmented", grader::call("threads of augmented", &(2000_usize, workers), 3))?;
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
