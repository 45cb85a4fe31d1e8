//! The time of a training step by phase.

use std::time::Instant;

/// The seconds that a team's leader spent in each phase of its steps, summed over the steps. With
/// one thread, that thread is the leader.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhaseTimes {
    /// The number of steps.
    pub steps: usize,
    /// Reading the inputs, and the first layer's products of the forward pass.
    pub first_layer: f64,
    /// The rest of the forward pass, and the backward pass.
    pub other_layers: f64,
    /// Gradients and weight updates.
    pub update: f64,
    /// Waiting for the other members.
    pub meetings: f64,
}

/// A phase of a step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    FirstLayer,
    OtherLayers,
    Update,
    Meetings,
}

/// Adds to the times of the phases. Does nothing for members without timed phases.
#[derive(Debug)]
pub(super) struct Stopwatch<'a> {
    timed: Option<(&'a mut PhaseTimes, Instant)>,
}

impl<'a> Stopwatch<'a> {
    pub(super) fn start(times: Option<&'a mut PhaseTimes>) -> Self {
        Self { timed: times.map(|times| (times, Instant::now())) }
    }

    /// Ends a section of `phase` that began at the last call.
    pub(super) fn end(&mut self, phase: Phase) {
        if let Some((times, start)) = &mut self.timed {
            let now = Instant::now();
            let seconds = match phase {
                Phase::FirstLayer => &mut times.first_layer,
                Phase::OtherLayers => &mut times.other_layers,
                Phase::Update => &mut times.update,
                Phase::Meetings => &mut times.meetings,
            };
            *seconds += now.duration_since(*start).as_secs_f64();
            *start = now;
        }
    }

    /// Ends a step.
    pub(super) fn end_step(&mut self) {
        if let Some((times, _)) = &mut self.timed {
            times.steps += 1;
        }
    }

    /// Restarts the clock: the time since the last call belongs to no phase.
    pub(super) fn restart(&mut self) {
        if let Some((_, start)) = &mut self.timed {
            *start = Instant::now();
        }
    }
}
