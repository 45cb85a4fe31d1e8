//! The threads of a team.

use std::panic::resume_unwind;
use std::thread::{Builder, scope};

use crate::{Barrier, Broken, Waited};

/// A thread of a team.
#[derive(Debug)]
pub struct Member<'a> {
    index: usize,
    members: usize,
    barrier: &'a Barrier,
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

    /// Waits for the others.
    ///
    /// # Errors
    /// If another member has returned or panicked.
    pub fn wait(&self) -> Result<Waited, Broken> {
        match self.members {
            1 => Ok(Waited::Last),
            _ => self.barrier.wait(),
        }
    }
}

/// A member that returns or panics leaves the others without the meetings that they wait for.
impl Drop for Member<'_> {
    fn drop(&mut self) {
        self.barrier.break_up();
    }
}

/// Runs `lead` on the calling thread as member 0 of a team of `members`, and `follow` on a new thread for each other
/// member. Returns the result of `lead` after all threads have ended.
///
/// When a member returns, the next meeting of the others fails with [`Broken`]; they are expected to return then.
///
/// # Errors
/// If a thread cannot be started. `lead` has not been called then.
///
/// # Panics
/// If a member panics, with its panic, after all threads have ended.
pub fn run<R>(
    members: usize,
    lead: impl FnOnce(&Member) -> R,
    follow: impl Fn(&Member) + Sync,
) -> Result<R, std::io::Error> {
    let barrier = Barrier::new(members);
    let member = |index| Member { index, members, barrier: &barrier };
    scope(|scope| {
        let leader = member(0);
        let mut followers = Vec::with_capacity(members - 1);
        for index in 1..members {
            let (member, follow) = (member(index), &follow);
            let started = Builder::new().name(format!("team {index}")).spawn_scoped(scope, move || {
                // A member, dropped when the closure ends.
                let member = member;
                follow(&member);
            });
            // On an error, `leader` is dropped and releases those that were started.
            followers.push(started?);
        }
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
