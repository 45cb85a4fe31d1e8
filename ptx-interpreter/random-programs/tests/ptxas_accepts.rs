//! NVIDIA's assembler takes every program: what runs in the interpreter is PTX.

use cuda_builder::{Arch, PtxasError, find_ptxas, ptxas};
use ptx_random_programs::{Program, Target};
use rayon::prelude::*;
use test_skips::{Need, skip};

fn refusal(target: Target, seed: u64) -> Option<PtxasError> {
    let arch = match target {
        Target::Sm75 => Arch::Sm75,
        Target::Sm90 => Arch::Sm90,
    };
    let file = std::env::temp_dir().join(format!("random-program-{}-{arch}-{seed}.ptx", std::process::id()));
    std::fs::write(&file, Program::new(seed, target).ptx()).unwrap();
    let report = ptxas(&file, arch);
    let _ = std::fs::remove_file(&file);
    report.err()
}

/// PTXAS_PROGRAMS sets how many there are for each target; unset, it is a few.
#[test]
fn ptxas_accepts_every_program() {
    if find_ptxas().is_none() {
        return skip(Need::Ptxas, &PtxasError::NotFound.to_string());
    }
    let count = std::env::var("PTXAS_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(6);
    for target in Target::ALL {
        let refusals: Vec<String> = (0..count)
            .into_par_iter()
            .filter_map(|seed| refusal(target, seed).map(|error| format!("program {seed}: {error}")))
            .collect();
        assert!(refusals.is_empty(), "{} of {count} for {target:?}:\n{}", refusals.len(), refusals.join("\n"));
    }
}
