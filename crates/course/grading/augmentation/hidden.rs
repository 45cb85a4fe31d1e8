//! What students do not see: who does the work.

use super::*;

/// The threads are counted while 2000 images are distorted. The thread that puts the jobs may be one more.
#[test]
fn augmented_starts_its_workers_and_ends_them() -> Result<(), Failure> {
    for workers in [2_usize, 5] {
        let [most, after]: [usize; 2] =
            check("augmented", judging::call("threads of augmented", &(2000_usize, workers)))?;
        if !(workers..=workers + 2).contains(&most) {
            return Err(format!("augmented: with {workers} workers, it has {most} threads, expected {workers} and one that puts the jobs").into());
        }
        if after > 0 {
            return Err(format!("augmented: when it returns, {after} of its threads have not ended").into());
        }
    }
    Ok(())
}
