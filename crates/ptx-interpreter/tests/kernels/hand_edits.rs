//! Mutation test: edits of the committed PTX are caught by the checks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use cuda_std::simulator;
use kernels_gpu::PTX;
use ptx_interpreter::Options;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use crate::device::{Interpreter, Simulator};
use crate::edits::{Edit, Kind, edits};
use crate::table::{Case, ENTRIES, Entry};

/// The lines that threads execute in a kernel's boundary cases.
fn executed(entry: &Entry, ptx: &str) -> BTreeMap<u32, u64> {
    let mut interpreter = Interpreter::new(ptx, Options { check_races: false, ..Options::default() }).unwrap();
    for case in entry.boundary_cases {
        (entry.on_interpreter)(&mut interpreter, &case()).unwrap();
    }
    interpreter.executed
}

/// All edits of one kernel in one variant.
type Edits = Vec<Edit>;

fn all_edits() -> &'static [Vec<Edits>] {
    static ALL: OnceLock<Vec<Vec<Edits>>> = OnceLock::new();
    let of_kernel = |entry: &Entry, ptx: &str| {
        let executed = executed(entry, ptx);
        edits(ptx, entry.kernel, |line| executed.get(&line).is_some_and(|lanes| *lanes > 0))
    };
    ALL.get_or_init(|| {
        PTX.iter().map(|ptx| ENTRIES.iter().map(|entry| of_kernel(entry, ptx.text())).collect()).collect()
    })
}

/// The reason why the checks catch an edited module: it does not load, a launch faults, or a result differs from the
/// source's, which the other tests compare with the reference.
fn caught(entry: &Entry, ptx: &str, edit: &Edit) -> Option<String> {
    let edited = edit.apply(ptx);
    let options = Options { block_instructions: 2_000_000, ..Options::default() };
    for case in entry.boundary_cases.iter().map(|case| case()) {
        let run = Interpreter::new(&edited, options).and_then(|mut device| (entry.on_interpreter)(&mut device, &case));
        match run {
            Err(error) => return Some(error),
            Ok(result) if !(entry.is_same)(&result, &from_source(entry, &case)) => {
                return Some("a result differs".to_owned());
            }
            Ok(_) => {}
        }
    }
    None
}

/// The result of the kernel's source.
fn from_source(entry: &Entry, case: &Case) -> Vec<u8> {
    let options = simulator::Options { check_races: false, ..Default::default() };
    (entry.on_simulator)(&mut Simulator { options }, case).unwrap_or_else(|error| panic!("{}: {error}", entry.kernel))
}

const KINDS: [Kind; 6] = [Kind::Register, Kind::Barrier, Kind::Offset, Kind::Comparison, Kind::Target, Kind::Immediate];

/// The edit of a seed. The kinds alternate (round-robin); the variants and kernels with such an edit are equally
/// likely.
fn chosen(seed: u64) -> (usize, usize, &'static Edit) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    loop {
        let (variant, kernel) = (random.random_range(0..PTX.len()), random.random_range(0..ENTRIES.len()));
        let kind = KINDS[seed as usize % KINDS.len()];
        let of_kind: Vec<&Edit> = all_edits()[variant][kernel].iter().filter(|edit| edit.kind == kind).collect();
        if let Some(edit) = of_kind.choose(&mut random) {
            return (variant, kernel, edit);
        }
    }
}

/// Descriptions of the edits that no check catches.
fn survivors(seeds: impl IntoParallelIterator<Item = u64>) -> Vec<String> {
    let survivor = |seed| {
        let (variant, kernel, edit) = chosen(seed);
        let (ptx, entry) = (PTX[variant], &ENTRIES[kernel]);
        let found = caught(entry, ptx.text(), edit);
        found.is_none().then(|| {
            let (capability, Edit { kind, line, before, after }) = (ptx.compute_capability(), edit);
            let survivor =
                format!("seed {seed}: {} {capability:?} {kind:?} line {line}: {before} ->{after}", entry.kernel);
            println!("not caught: {survivor}");
            survivor
        })
    };
    seeds.into_par_iter().filter_map(survivor).collect()
}

#[test]
fn twenty_edits_of_the_committed_ptx_are_caught() {
    if super::is_stale() {
        return;
    }
    let edits: Vec<_> = (0..20).map(chosen).collect();
    let kinds: BTreeSet<Kind> = edits.iter().map(|(_, _, edit)| edit.kind).collect();
    let kernels: BTreeSet<usize> = edits.iter().map(|(_, kernel, _)| *kernel).collect();
    let variants: BTreeSet<usize> = edits.iter().map(|(variant, _, _)| *variant).collect();
    let variety = (kinds.len(), kernels.len(), variants.len());
    assert!(kinds.len() == KINDS.len() && kernels.len() >= 5 && variants.len() == PTX.len(), "{variety:?}");
    let survivors = survivors(0..20);
    assert!(survivors.is_empty(), "{} of 20 edits are not caught:\n{}", survivors.len(), survivors.join("\n"));
}

/// Review the survivors by hand, since the rules do not exclude all equivalent edits, such as a pointer that is
/// advanced once more after its last use, or a second buffer that begins one element later and still fits.
///
/// `HAND_EDITS=300 cargo test -p ptx-interpreter --test kernels many_edits -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn many_edits_of_the_committed_ptx_are_caught() {
    if super::is_stale() {
        return;
    }
    let count: u64 = std::env::var("HAND_EDITS").ok().and_then(|count| count.parse().ok()).unwrap_or(300);
    let survivors = survivors(1000..1000 + count);
    println!("{} of {count} edits are caught", count as usize - survivors.len());
    for kind in KINDS {
        let of_kind = |edits: &Edits| edits.iter().filter(|edit| edit.kind == kind).count();
        println!("{kind:?}: {} to choose from", all_edits().iter().flatten().map(of_kind).sum::<usize>());
    }
    assert!(survivors.is_empty(), "these are not caught:\n{}", survivors.join("\n"));
}
