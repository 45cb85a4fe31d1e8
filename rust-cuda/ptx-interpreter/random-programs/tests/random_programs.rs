//! The interpreter and the reference agree on programs in which instructions use each other's
//! results.

use std::collections::BTreeSet;

use cuda_launch::LaunchConfig;
use ptx_interpreter::{Machine, Options};
use ptx_random_programs::{Program, Target};
use rayon::prelude::*;

/// The program's output in the interpreter.
fn interpreted(program: &Program) -> Result<Vec<u32>, String> {
    let mut machine = Machine::new(&program.ptx()).map_err(|error| error.to_string())?;
    let input = program.input();
    let output_words = program.expected().len();
    let mut upload = |words: &[u32]| {
        let address = machine.allocate(4 * words.len() as u64).map_err(|error| error.to_string())?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        machine.memory().write(address, &bytes).map_err(|error| error.to_string())?;
        Ok::<u64, String>(address)
    };
    let (input_address, output) = (upload(&input)?, upload(&vec![0; output_words])?);
    let parameters = [input_address, input.len() as u64, output, output_words as u64].map(u64::to_le_bytes);
    let parameters = parameters.each_ref().map(|bytes| &bytes[..]);
    let config = LaunchConfig::new(1, Program::THREADS);
    machine.launch(Options::default(), Program::KERNEL, config, &parameters).map_err(|error| error.to_string())?;
    let mut bytes = vec![0; 4 * output_words];
    machine.memory().read(output, &mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
}

fn check(target: Target, seed: u64) -> Result<(), String> {
    let program = Program::new(seed, target);
    let output = interpreted(&program).map_err(|error| format!("program {seed} for {target:?}: {error}"))?;
    program.difference(&output).map_or(Ok(()), Err)
}

/// `RANDOM_PROGRAMS` sets the number of programs for each target (default: four rounds of all forms).
#[test]
fn the_interpreter_agrees_with_the_reference() {
    let count = std::env::var("RANDOM_PROGRAMS").ok().and_then(|count| count.parse().ok());
    for target in Target::ALL {
        let count = count.unwrap_or(4 * Program::for_all_forms(target));
        let wrong: Vec<String> = (0..count).into_par_iter().filter_map(|seed| check(target, seed).err()).collect();
        assert!(wrong.is_empty(), "{} of {count} programs are wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
}

#[test]
fn a_round_of_programs_has_every_exact_form() {
    let exact = |name: &&str| !name.contains(".approx") && !name.contains(".full");
    let forms: BTreeSet<String> = ptx_interpreter::semantics::forms().filter(exact).map(str::to_owned).collect();
    let round = |target| (0..Program::for_all_forms(target)).map(move |seed| Program::new(seed, target));
    let covered: BTreeSet<String> = round(Target::Sm90).flat_map(|program| program.forms().to_vec()).collect();
    let missing: Vec<&String> = forms.difference(&covered).collect();
    // The conversions to tf32 that need sm_100, the forms for which ptxas omits the flush, and the
    // conversions between bf16 and a byte.
    let needs_sm_100 = |name: &str| name.contains("satfinite") && name.contains("tf32");
    let is_left_out = |name: &str| name.starts_with("cvt.r") && name.contains(".ftz") && name.ends_with(".f16.f32");
    let of_bytes = [".s8.bf16", ".u8.bf16", ".bf16.s8", ".bf16.u8"];
    let is_of_bytes = |name: &str| of_bytes.iter().any(|types| name.ends_with(types));
    assert!(missing.iter().all(|name| needs_sm_100(name) || is_left_out(name) || is_of_bytes(name)), "{missing:?}");
    assert_eq!(missing.iter().filter(|name| needs_sm_100(name)).count(), 4);
    assert!(missing.len() <= 4 + 8 + 16, "{missing:?}");
    let covered: BTreeSet<String> = round(Target::Sm75).flat_map(|program| program.forms().to_vec()).collect();
    assert!(covered.len() > 1600, "sm_75 has {} forms", covered.len());
}

#[test]
fn a_seed_determines_the_program() {
    for target in Target::ALL {
        let (first, again) = (Program::new(7, target), Program::new(7, target));
        assert_eq!((first.ptx(), first.input()), (again.ptx(), again.input()));
        assert_ne!(first.ptx(), Program::new(8, target).ptx());
    }
}

#[test]
fn a_wrong_result_is_reported_with_its_thread_and_register() {
    let program = Program::new(3, Target::Sm75);
    let mut output = program.expected();
    assert_eq!(program.difference(&output), None);
    let last = output.len() - 2;
    output[last] ^= 1;
    let difference = program.difference(&output).expect("a difference");
    assert!(difference.starts_with("program 3 for sm_75, thread 63, Predicate("), "{difference}");
}
