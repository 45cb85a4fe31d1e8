//! NVIDIA's assembler accepts every program, so the programs are valid PTX.

use cuda_builder::{Arch, PtxasError, find_ptxas, ptxas};
use ptx_random_programs::{Program, Target};
use rayon::prelude::*;
use test_support::{Need, skip};

fn rejection(target: Target, seed: u64) -> Option<PtxasError> {
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

/// `PTXAS_PROGRAMS` sets the number of programs for each target (default: 6).
#[test]
fn ptxas_accepts_every_program() {
    if find_ptxas().is_none() {
        return skip(Need::Ptxas, &PtxasError::NotFound.to_string());
    }
    let count = std::env::var("PTXAS_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(6);
    for target in Target::ALL {
        let rejections: Vec<String> = (0..count)
            .into_par_iter()
            .filter_map(|seed| rejection(target, seed).map(|error| format!("program {seed}: {error}")))
            .collect();
        assert!(rejections.is_empty(), "{} of {count} for {target:?}:\n{}", rejections.len(), rejections.join("\n"));
    }
}
