//! Every known instruction form agrees with an independent, slow reference.

mod approximations;

use ptx_interpreter::semantics::{self, Carry, Compute, LANES, Lanes};
use ptx_interpreter::syntax::ScalarType;
use ptx_random_programs::reference::{self, Form};
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};
use rayon::prelude::*;
use std::collections::HashSet;

/// Whether the result is correct. `None` if there is no reference.
fn is_right(form: &Form<'_>, sources: [u64; 4], result: u64) -> Option<bool> {
    match reference::evaluate(form, sources) {
        Some(expected) => Some(expected == result),
        None => approximations::accepts(form, sources[0], result),
    }
}

/// Warps of operands: every boundary value of a single source, combinations of boundary values, and random ones.
fn operands(types: &[ScalarType], random: &mut ChaCha8Rng) -> Vec<[Lanes; 4]> {
    let edges: Vec<Vec<u64>> = types.iter().map(|&t| reference::edges(t)).collect();
    let max_edges = edges.iter().map(Vec::len).max().unwrap_or(0);
    let (in_order, further) = if types.len() == 1 { (max_edges, 1024) } else { (0, 2400) };
    let mut rows: Vec<[u64; 4]> = Vec::new();
    for index in 0..in_order + further {
        let mut row = [0; 4];
        for (source, &t) in types.iter().enumerate() {
            row[source] = if index < in_order {
                edges[source][index]
            } else if random.random_ratio(2, 3) {
                *edges[source].choose(random).expect("edges")
            } else {
                reference::random(t, random)
            };
        }
        // Sometimes two sources are equal, or differ in the sign or the lowest bit.
        if types.len() > 1 && types[0] == types[1] && random.random_ratio(1, 4) {
            let top = 1 << (types[0].bytes() * 8 - 1);
            row[1] = row[0] ^ [0, 1, top, top | 1].choose(random).expect("a difference");
        }
        rows.push(row);
    }
    let garbage = |t: ScalarType, random: &mut ChaCha8Rng| match t.bytes() {
        8 => 0,
        bytes => random.next_u64() << (8 * bytes),
    };
    rows.chunks(LANES)
        .map(|chunk| {
            let mut warp = [[0; LANES]; 4];
            for (lane, row) in chunk.iter().enumerate() {
                for (source, &t) in types.iter().enumerate() {
                    warp[source][lane] = row[source] | garbage(t, random);
                }
            }
            warp
        })
        .collect()
}

fn run(compute: Compute, warp: &[Lanes; 4]) -> Lanes {
    let sources = [&warp[0], &warp[1], &warp[2], &warp[3]];
    match compute {
        Compute::Value(compute) => {
            let mut lanes = [u64::MAX; LANES];
            compute.compute(&mut lanes, sources);
            lanes
        }
        Compute::Predicate(compute) => {
            let mask = compute.compute(sources);
            let second = if compute.compares_halves() { compute.second(mask, sources) } else { 0 };
            std::array::from_fn(|lane| u64::from(mask >> lane & 1) | u64::from(second >> lane & 1) << 1)
        }
        Compute::Carry(_) => unreachable!("`check_carry` checks the forms with the carry flag"),
    }
}

/// Checks a form. The error describes its first wrong result.
fn check(name: &str, seed: u64) -> Result<(), String> {
    let form = Form::parse(name);
    let operation = semantics::operation(form.opcode, &form.modifiers).map_err(|error| error.to_string())?;
    if let Compute::Carry(compute) = operation.compute {
        return check_carry(&form, name, compute, operation.sources, seed);
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for warp in operands(operation.sources, &mut random) {
        let results = run(operation.compute, &warp);
        for lane in 0..LANES {
            // Bits above a source's width must not affect the result, so the reference does not get them.
            let mut sources = [0; 4];
            for (index, t) in operation.sources.iter().enumerate() {
                sources[index] = warp[index][lane] & (u64::MAX >> (64 - 8 * t.bytes()));
            }
            match is_right(&form, sources, results[lane]) {
                None => return Err(format!("{name} has no reference: write one in tests/semantics_forms")),
                Some(true) => {}
                Some(false) => return Err(format!("{name} of {sources:#x?} gives {:#x}", results[lane])),
            }
        }
    }
    Ok(())
}

fn check_carry(form: &Form<'_>, name: &str, compute: Carry, types: &[ScalarType], seed: u64) -> Result<(), String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for warp in operands(types, &mut random) {
        let carry_in = random.next_u32();
        let mut results = [u64::MAX; LANES];
        let carry_out = compute.compute(&mut results, carry_in, [&warp[0], &warp[1], &warp[2], &warp[3]]);
        for lane in 0..LANES {
            let sources = [0, 1, 2, 3].map(|source| warp[source][lane]);
            let flag = carry_in >> lane & 1 == 1;
            let expected = reference::evaluate_carry(form, sources, flag).ok_or(format!("{name} has no reference"))?;
            let result = (results[lane], carry_out >> lane & 1 == 1);
            if result != expected {
                return Err(format!("{name} of {sources:#x?} with {flag} gives {result:x?}, not {expected:x?}"));
            }
        }
    }
    Ok(())
}

#[test]
fn every_form_agrees_with_its_reference() {
    let names: Vec<&str> = semantics::forms().collect();
    assert!(names.len() >= 2302, "only {} forms", names.len());
    let seed = test_support::seed(0);
    let wrong: Vec<String> = names
        .par_iter()
        .enumerate()
        .filter_map(|(index, name)| check(name, seed.wrapping_add(index as u64)).err())
        .collect();
    assert!(wrong.is_empty(), "{} forms are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Checks that a form's loop, if any, agrees with its definition.
fn check_loop(name: &str, seed: u64) -> Result<(), String> {
    let form = Form::parse(name);
    let find =
        |found: Result<semantics::Operation, _>| found.map_err(|error: semantics::UnknownForm| error.to_string());
    let operation = find(semantics::operation(form.opcode, &form.modifiers))?;
    let definition = find(semantics::definition(form.opcode, &form.modifiers))?;
    if matches!(operation.compute, Compute::Carry(_)) {
        return Ok(());
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for warp in operands(operation.sources, &mut random) {
        let (results, expected) = (run(operation.compute, &warp), run(definition.compute, &warp));
        if results != expected {
            return Err(format!("the loop of {name} gives {results:x?}, its definition {expected:x?}"));
        }
    }
    Ok(())
}

#[test]
fn every_loop_agrees_with_the_definition_of_its_forms() {
    let names: Vec<&str> = semantics::forms().collect();
    let seed = test_support::seed(1);
    let wrong: Vec<String> = names.par_iter().filter_map(|name| check_loop(name, seed).err()).collect();
    assert!(wrong.is_empty(), "{} loops are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A loop costs about 30 ms of compile time. Add one only for a form that compilers emit
/// frequently.
#[test]
fn few_forms_have_loops() {
    const MAX_LOOPS: usize = 160;
    let loops = semantics::loop_count();
    assert!((100..=MAX_LOOPS).contains(&loops), "{loops} loops; at most {MAX_LOOPS} are allowed");
}

#[test]
fn every_form_is_listed_once() {
    let names: Vec<&str> = semantics::forms().collect();
    let different: HashSet<&&str> = names.iter().collect();
    assert_eq!(names.len(), different.len());
}

/// Checks a form of one source for each of these values.
fn check_all(name: &str, values: impl Iterator<Item = u64>) {
    let form = Form::parse(name);
    let operation = semantics::operation(form.opcode, &form.modifiers).expect("a known form");
    let values: Vec<u64> = values.collect();
    for chunk in values.chunks(LANES) {
        let mut warp = [[0; LANES]; 4];
        warp[0][..chunk.len()].copy_from_slice(chunk);
        let results = run(operation.compute, &warp);
        for (value, result) in chunk.iter().zip(results) {
            assert_eq!(reference::evaluate(&form, [*value, 0, 0, 0]), Some(result), "{name} of {value:#x}");
        }
    }
}

#[test]
fn pairs_of_8_bits_are_converted_from_every_value_and_every_half() {
    for format in ["e4m3x2", "e5m2x2"] {
        for relu in ["", ".relu"] {
            check_all(&format!("cvt.rn{relu}.f16x2.{format}"), (0..0x100).map(|bits| bits << 8 | (bits ^ 0x85)));
            // Every half in the lower part, every eighth in the upper one.
            let halves = (0..0x1_0000_u64).map(|bits| ((bits * 8 + 5) & 0xffff) << 16 | bits);
            check_all(&format!("cvt.rn.satfinite{relu}.{format}.f16x2"), halves);
        }
    }
}
