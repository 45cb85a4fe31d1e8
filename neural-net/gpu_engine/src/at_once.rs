//! Steps of several networks at once on one device.

use std::time::Instant;

use gpu::Error;

use crate::GpuEngine;
use crate::persistent::Persistent;

/// The steps of a network's epoch that are still to be trained.
pub(super) struct Rest<'m> {
    /// What trains the network. The engines of all members are on clones of one device.
    pub(super) engine: &'m mut GpuEngine,
    /// The permutation of the samples.
    pub(super) order: &'m [u32],
    /// The first step.
    pub(super) first: usize,
    /// Whether this group is the first one of its call, so the device has to get the permutation.
    pub(super) begins: bool,
}

/// Trained steps of one network.
#[derive(Debug)]
pub(super) struct Group {
    /// The summed loss of each.
    pub(super) losses: Vec<f64>,
    /// The number of steps in the epoch.
    pub(super) steps: usize,
}

/// The extent of a group.
#[derive(Clone, Copy)]
struct Extent {
    count: usize,
    batch_size: usize,
    steps: usize,
}

/// Trains a group of steps of each member, with the bits of single engines. Those that one block trains (`network_train_small`) have their
/// launches at once: all are queued before the host waits for any. The others train one after another.
///
/// # Errors
/// If the device fails: the parameters of all members are then unusable.
pub(super) fn train_groups(members: &mut [Rest<'_>]) -> Result<Vec<Group>, Error> {
    let start = Instant::now();
    let mut extents = Vec::with_capacity(members.len());
    for Rest { engine, order, first, begins } in &mut *members {
        let batch_size = engine.batch_size(order.len());
        let steps = order.len().div_ceil(batch_size);
        let count = engine.pace.steps().min(steps.saturating_sub(*first));
        if *begins && count > 0 {
            engine.begin(order, steps, batch_size)?;
        }
        extents.push(Extent { count, batch_size, steps });
    }
    queue_small(members, &extents)?;
    let group = |(Rest { engine, first, .. }, extent): (&mut Rest<'_>, Extent)| {
        let Extent { count, batch_size, steps } = extent;
        let losses = match count {
            0 => vec![],
            _ if is_small(engine, batch_size) => engine.losses_of(*first, count, batch_size)?,
            _ => engine.train_group(*first, count, batch_size)?,
        };
        engine.pace.record(count, start.elapsed());
        Ok(Group { losses, steps })
    };
    members.iter_mut().zip(extents).map(group).collect()
}

/// Whether one block trains the network with batches of this size.
fn is_small(engine: &GpuEngine, batch_size: usize) -> bool {
    matches!(engine.persistent_for(batch_size), Some(Persistent::Small(_)))
}

/// Queues the groups of the members that one block trains.
fn queue_small(members: &mut [Rest<'_>], extents: &[Extent]) -> Result<(), Error> {
    let Some(device) = members.first().map(|member| member.engine.device.clone()) else { return Ok(()) };
    device.launch_at_once(|at_once| {
        for (Rest { engine, first, .. }, &Extent { count, batch_size, .. }) in members.iter_mut().zip(extents) {
            if let (Some(Persistent::Small(small)), run, rule) = engine.persistent_run(batch_size)
                && count > 0
            {
                small.add(at_once, run, (*first, count), rule)?;
            }
        }
        Ok(())
    })
}
