//! The threads of a team.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::{Builder, scope};

use crate::{Broken, Marks, Waited, cores};

/// Where the threads run when a team starts.
#[derive(Debug, Default)]
struct Placement {
    leader_core: AtomicUsize,
    /// Whether a member has waited so long that two members must share a core.
    share_a_core: AtomicBool,
}

/// A thread of a team.
#[derive(Debug)]
pub struct Member<'a> {
    index: usize,
    members: usize,
    marks: &'a Marks,
    placement: &'a Placement,
}

impl Member<'_> {
    /// Its index, from 0, the calling thread's.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number of members.
    pub fn members(&self) -> usize {
        self.members
    }

    /// Waits until all threads run, each on its own core if possible. A scheduler may start a
    /// thread on its parent's core and move it only after milliseconds. If a member has to wait for
    /// long, the followers move themselves, once.
    fn begin(&self) -> Result<(), Broken> {
        if self.members == 1 {
            return Ok(());
        }
        if self.index == 0 {
            self.placement.leader_core.store(cores::current(), Relaxed);
        }
        self.wait()?;
        if matches!(self.wait()?, Waited::Yielded | Waited::Slept) {
            self.placement.share_a_core.store(true, Relaxed);
        }
        self.wait()?;
        if self.index > 0 && self.placement.share_a_core.load(Relaxed) {
            cores::move_from(self.placement.leader_core.load(Relaxed), self.index);
        }
        Ok(())
    }

    /// Waits at a barrier for all other members.
    ///
    /// # Errors
    /// If another member has already returned or panicked.
    pub fn wait(&self) -> Result<Waited, Broken> {
        self.marks.meet(self.index)
    }

    /// The member's mark: how often it has called [`Self::pass`] and [`Self::wait`]. Equal for all
    /// members at the start.
    pub fn mark(&self) -> usize {
        self.marks.own(self.index)
    }

    /// Raises the member's mark by one without waiting.
    pub fn pass(&self) {
        self.marks.raise(self.index);
    }

    /// Waits until the mark of member `other` is `mark` or higher.
    ///
    /// # Errors
    /// If that member has returned or panicked with a lower mark.
    pub fn wait_for(&self, other: usize, mark: usize) -> Result<Waited, Broken> {
        self.marks.wait_for(other, mark)
    }
}

/// A member that returns or panics leaves the team, so no one waits for its marks forever.
impl Drop for Member<'_> {
    fn drop(&mut self) {
        self.marks.leave(self.index);
    }
}

/// Runs `lead` on the calling thread as member 0 of a team of `members`, and `follow` on a new
/// thread for each other member. Returns the result of `lead` after all threads have ended.
///
/// When a member returns, the others' next wait for it fails with [`Broken`]. They are expected to
/// return then.
///
/// # Errors
/// If a thread cannot be started. `lead` is not called in that case.
///
/// # Panics
/// If a member panics, with its panic, after all threads have ended.
pub fn run<R>(
    members: usize,
    lead: impl FnOnce(&Member) -> R,
    follow: impl Fn(&Member) + Sync,
) -> Result<R, std::io::Error> {
    let (marks, placement) = (Marks::new(members), Placement::default());
    let member = |index| Member { index, members, marks: &marks, placement: &placement };
    scope(|scope| {
        let leader = member(0);
        let mut followers = Vec::with_capacity(members - 1);
        for index in 1..members {
            let (member, follow) = (member(index), &follow);
            let started = Builder::new().name(format!("team {index}")).spawn_scoped(scope, move || {
                // Moves the whole member into the closure, to drop it when the closure ends.
                let member = member;
                if member.begin().is_ok() {
                    follow(&member);
                }
            });
            // On an error, `leader` is dropped, which releases the threads started so far.
            followers.push(started?);
        }
        leader.begin().expect("members leave only after they have begun");
        let result = lead(&leader);
        drop(leader);
        for follower in followers {
            if let Err(panic) = follower.join() {
                resume_unwind(panic);
            }
        }
        Ok(result)
    })
}
