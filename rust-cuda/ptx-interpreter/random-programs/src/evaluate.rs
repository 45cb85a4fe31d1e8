//! Evaluates a program with the reference, one lane at a time.

use ptx_interpreter::syntax::ScalarType;

use crate::is_packed;
use crate::program::{Action, Live, Logic, Predicate, Program, Register, Source, Step, Width};
use crate::reference::{Form, evaluate, evaluate_carry};

const LANES: usize = 32;

/// The registers of a lane.
#[derive(Clone)]
struct Lane {
    registers: [Vec<u64>; 3],
    predicates: Vec<bool>,
    carry: bool,
}

impl Lane {
    fn get(&self, register: Register) -> u64 {
        self.registers[register.width as usize][register.number]
    }

    fn set(&mut self, register: Register, value: u64) {
        self.registers[register.width as usize][register.number] = value & register.width.mask();
    }

    fn source(&self, source: Source) -> u64 {
        match source {
            Source::Register(register) => self.get(register),
            Source::Immediate(bits) => bits,
        }
    }

    fn holds(&self, (predicate, negated): (Predicate, bool)) -> bool {
        self.predicates[predicate] != negated
    }
}

/// The words that a warp stores: for each lane in order, each live register as an 8-byte word.
pub(crate) fn warp(program: &Program, inputs: &[u64]) -> Vec<u64> {
    let mut lanes: Vec<Lane> = inputs.chunks(program.inputs().count()).map(|inputs| initial(program, inputs)).collect();
    assert_eq!(lanes.len(), LANES, "a warp is full");
    for step in &program.steps {
        if !evaluate_warp_wide(step, &mut lanes) {
            for lane in lanes.iter_mut().filter(|lane| step.guard.is_none_or(|guard| lane.holds(guard))) {
                evaluate_lane(&step.action, lane);
            }
        }
    }
    let stored = |lane: &Lane, live: &Live| match live {
        Live::Register(register) => lane.get(*register),
        Live::Predicate(predicate) => u64::from(lane.predicates[*predicate]),
    };
    lanes.iter().flat_map(|lane| program.live.iter().map(move |live| stored(lane, live))).collect()
}

fn initial(program: &Program, inputs: &[u64]) -> Lane {
    let registers = program.registers.map(|count| vec![0; count]);
    let mut lane = Lane { registers, predicates: vec![false; program.predicates], carry: false };
    program.inputs().zip(inputs).for_each(|(register, value)| lane.set(register, *value));
    lane
}

/// The low bits that an instruction of this type reads.
fn truncated(value: u64, scalar_type: ScalarType) -> u64 {
    value & (u64::MAX >> (64 - 8 * scalar_type.bytes()))
}

/// The value in a register that may be wider than its type: a signed value is sign-extended.
fn extended(value: u64, scalar_type: ScalarType) -> u64 {
    let unused = 64 - 8 * scalar_type.bytes();
    if scalar_type.is_signed() { ((value << unused) as i64 >> unused) as u64 } else { value }
}

fn reference(form: &str, sources: [u64; 4]) -> u64 {
    evaluate(&Form::parse(form), sources).unwrap_or_else(|| panic!("{form} has no reference"))
}

/// Evaluates an instruction that depends on one lane only.
fn evaluate_lane(action: &Action, lane: &mut Lane) {
    match action {
        Action::Value { form, destination, to, sources, from } => {
            let mut values = [0; 4];
            for (value, (source, scalar_type)) in values.iter_mut().zip(sources.iter().zip(*from)) {
                *value = truncated(lane.source(*source), *scalar_type);
            }
            lane.set(*destination, extended(reference(form, values), *to));
        }
        Action::Test { form, destination, source } => {
            lane.predicates[*destination] = reference(form, [lane.get(*source), 0, 0, 0]) == 1;
        }
        Action::Compare { form, destinations: (first, second), sources: [a, b], scalar_type, combine } => {
            let [a, b] = [a, b].map(|source| truncated(lane.source(*source), *scalar_type));
            let holds = reference(form, [a, b, 0, 0]);
            let truth = holds & 1 == 1;
            let second_truth = if is_packed(*scalar_type) { holds >> 1 == 1 } else { !truth };
            let combined = |truth: bool| match *combine {
                None => truth,
                Some((logic, with, negated)) => apply(logic, truth, lane.holds((with, negated))),
            };
            let (one, other) = (combined(truth), combined(second_truth));
            if let Some(second) = second {
                lane.predicates[*second] = other;
            }
            lane.predicates[*first] = one;
        }
        Action::Carry { form, destination, sources } => {
            let mut values = [0; 4];
            values.iter_mut().zip(sources).for_each(|(value, source)| *value = lane.get(*source));
            let result = evaluate_carry(&Form::parse(form), values, lane.carry);
            let (value, carry) = result.unwrap_or_else(|| panic!("{form} has no reference"));
            lane.carry = carry;
            lane.set(*destination, value);
        }
        Action::Select { destination, sources: [a, b], predicate } => {
            lane.set(*destination, lane.source(if lane.predicates[*predicate] { *a } else { *b }));
        }
        Action::Logic { logic, destination, sources: [a, b] } => {
            let [a, b] = [a, b].map(|predicate| lane.predicates[*predicate]);
            lane.predicates[*destination] = logic.map_or(!a, |logic| apply(logic, a, b));
        }
        Action::Move { destination, source } => lane.set(*destination, lane.source(*source)),
        Action::Pack { destination, parts } => {
            let value = parts.iter().rev().fold(0, |value, part| value << part.width.bits() | lane.get(*part));
            lane.set(*destination, value);
        }
        Action::Unpack { destinations, source } => {
            let mut value = lane.get(*source);
            for destination in destinations {
                lane.set(*destination, value);
                value >>= destination.width.bits();
            }
        }
        Action::Shuffle { .. }
        | Action::Vote { .. }
        | Action::Ballot { .. }
        | Action::Match { .. }
        | Action::Reduce { .. }
        | Action::Special { .. } => unreachable!("evaluate_warp_wide evaluates it"),
    }
}

fn apply(logic: Logic, a: bool, b: bool) -> bool {
    match logic {
        Logic::And => a & b,
        Logic::Or => a | b,
        Logic::Xor => a != b,
    }
}

/// Evaluates an instruction that depends on several lanes or on the lane's number. Returns false
/// for any other instruction.
fn evaluate_warp_wide(step: &Step, lanes: &mut [Lane]) -> bool {
    match &step.action {
        Action::Shuffle { mode, destination, in_range, source, lane: from, clamp } => {
            let before: Vec<u64> = lanes.iter().map(|lane| lane.get(*source)).collect();
            for (index, lane) in lanes.iter_mut().enumerate() {
                let from = (lane.source(*from) & 31) as i64;
                let (found, reads) = shuffled(mode, index as i64, from, i64::from(*clamp));
                lane.predicates[*in_range] = found;
                lane.set(*destination, before[reads as usize]);
            }
        }
        Action::Vote { mode, destination, source, negated } => {
            let truths: Vec<bool> = lanes.iter().map(|lane| lane.holds((*source, *negated))).collect();
            let truth = match *mode {
                "all" => truths.iter().all(|truth| *truth),
                "any" => truths.iter().any(|truth| *truth),
                _ => truths.iter().all(|truth| *truth == truths[0]),
            };
            lanes.iter_mut().for_each(|lane| lane.predicates[*destination] = truth);
        }
        Action::Ballot { destination, source, negated } => {
            let mask = mask(lanes, |lane| lane.holds((*source, *negated)));
            lanes.iter_mut().for_each(|lane| lane.set(*destination, mask));
        }
        Action::Match { destination, all: None, source } => {
            let before: Vec<u64> = lanes.iter().map(|lane| lane.get(*source)).collect();
            let masks: Vec<u64> = before.iter().map(|value| mask(lanes, |lane| lane.get(*source) == *value)).collect();
            lanes.iter_mut().zip(masks).for_each(|(lane, mask)| lane.set(*destination, mask));
        }
        Action::Match { destination, all: Some(all), source } => {
            let value = lanes[0].get(*source);
            let same = lanes.iter().all(|lane| lane.get(*source) == value);
            for lane in lanes {
                lane.predicates[*all] = same;
                lane.set(*destination, if same { 0xffff_ffff } else { 0 });
            }
        }
        Action::Reduce { operation, destination, source } => {
            let values = lanes.iter().map(|lane| lane.get(*source) as u32);
            let value = match *operation {
                "add.u32" | "add.s32" => values.fold(0, u32::wrapping_add),
                "min.u32" => values.min().unwrap_or(0),
                "max.u32" => values.max().unwrap_or(0),
                "min.s32" => values.map(|value| value as i32).min().unwrap_or(0) as u32,
                "max.s32" => values.map(|value| value as i32).max().unwrap_or(0) as u32,
                "and.b32" => values.fold(u32::MAX, |a, b| a & b),
                "or.b32" => values.fold(0, |a, b| a | b),
                _ => values.fold(0, |a, b| a ^ b),
            };
            lanes.iter_mut().for_each(|lane| lane.set(*destination, value.into()));
        }
        Action::Special { name, destination } => {
            for (index, lane) in lanes.iter_mut().enumerate() {
                let below = (1u64 << index) - 1;
                let own = 1u64 << index;
                let value = match *name {
                    "%laneid" => index as u64,
                    "%lanemask_eq" => own,
                    "%lanemask_lt" => below,
                    "%lanemask_le" => below | own,
                    "%lanemask_gt" => !(below | own),
                    _ => !below,
                };
                if step.guard.is_none_or(|guard| lane.holds(guard)) {
                    lane.set(*destination, value);
                }
            }
        }
        _ => return false,
    }
    true
}

/// The mask of the lanes for which `truth` holds.
fn mask(lanes: &[Lane], truth: impl Fn(&Lane) -> bool) -> u64 {
    lanes.iter().enumerate().map(|(index, lane)| u64::from(truth(lane)) << index).sum()
}

/// Whether a shuffle's source lane is in range, and the lane that it reads. Follows the PTX ISA's
/// pseudocode of `shfl.sync`.
fn shuffled(mode: &str, lane: i64, b: i64, c: i64) -> (bool, i64) {
    let (clamp, segment) = (c & 31, c >> 8 & 31);
    let highest = (lane & segment) | (clamp & !segment);
    let lowest = lane & segment;
    let (reads, found) = match mode {
        "up" => (lane - b, lane - b >= highest),
        "down" => (lane + b, lane + b <= highest),
        "bfly" => (lane ^ b, lane ^ b <= highest),
        _ => (lowest | (b & !segment), lowest | (b & !segment) <= highest),
    };
    (found, if found { reads } else { lane })
}

/// Arrays over widths are indexed by [`Width`].
const _: () = assert!(Width::Bits16 as usize == 0 && Width::Bits64 as usize == 2);
