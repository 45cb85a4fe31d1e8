//! Mutation test: edits of the committed PTX are caught by the checks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

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
use crate::text::module_of;

/// The lines that threads execute in a kernel's boundary cases.
fn executed(entry: &Entry, module: &str) -> BTreeMap<u32, u64> {
    let mut interpreter = Interpreter::new(module, Options { check_races: false, ..Options::default() }).unwrap();
    for case in entry.boundary_cases {
        (entry.on_interpreter)(&mut interpreter, &case()).unwrap();
    }
    interpreter.executed
}

/// All edits of one kernel in one variant.
type Edits = Vec<Edit>;

/// The edits of a kernel in a variant, by their indices.
fn edits_of(variant: usize, kernel: usize) -> &'static Edits {
    static ALL: [[OnceLock<Edits>; ENTRIES.len()]; PTX.len()] = [const { [const { OnceLock::new() }; _] }; _];
    ALL[variant][kernel].get_or_init(|| {
        let (ptx, entry) = (&PTX[variant], &ENTRIES[kernel]);
        if !entry.is_in(ptx) {
            return Edits::new();
        }
        let module = module_of(ptx.text(), entry.kernel);
        let executed = executed(entry, &module);
        edits(&module, entry.kernel, |line| executed.get(&line).is_some_and(|lanes| *lanes > 0))
    })
}

/// The reason why the checks catch an edited module: it does not load, a launch faults, or a result differs from the
/// source's, which the other tests compare with the reference.
fn caught(entry: &Entry, ptx: &str, edit: &Edit) -> Option<String> {
    let edited = edit.apply(&module_of(ptx, entry.kernel));
    // An edited loop may be endless. The training kernels issue some 50,000 instructions in a block.
    let block_instructions = if entry.kernel.starts_with("network_train_") { 200_000 } else { 2_000_000 };
    // As in the check of the unedited kernels.
    let options = Options { block_instructions, same_value_races_are_faults: true, ..Options::default() };
    for (index, case) in entry.boundary_cases.iter().map(|case| case()).enumerate() {
        let run = Interpreter::new(&edited, options.clone())
            .and_then(|mut device| (entry.on_interpreter)(&mut device, &case));
        match run {
            Err(error) => return Some(error),
            Ok(result) if !(entry.is_same)(&result, &from_source(entry, index, &case)) => {
                return Some("a result differs".to_owned());
            }
            Ok(_) => {}
        }
    }
    None
}

/// The result of the kernel's source for its boundary case `index`, which is computed once.
fn from_source(entry: &Entry, index: usize, case: &Case) -> Arc<[u8]> {
    type Results = BTreeMap<(&'static str, usize), Arc<[u8]>>;
    static RESULTS: Mutex<Results> = Mutex::new(BTreeMap::new());
    let lock = || RESULTS.lock().expect("no thread panics with the lock");
    if let Some(result) = lock().get(&(entry.kernel, index)) {
        return Arc::clone(result);
    }
    // Without the lock: the simulator waits for other threads, which may take another edit meanwhile.
    let options = simulator::Options { check_races: false, ..Default::default() };
    let result = (entry.on_simulator)(&mut Simulator { options }, case);
    let result: Arc<[u8]> = result.unwrap_or_else(|error| panic!("{}: {error}", entry.kernel)).into();
    lock().insert((entry.kernel, index), Arc::clone(&result));
    result
}

const KINDS: [Kind; 6] = [Kind::Register, Kind::Barrier, Kind::Offset, Kind::Comparison, Kind::Target, Kind::Immediate];

/// The edit of a seed, of a kernel whose name begins with `names`. The kinds alternate (round-robin); the variants and
/// kernels with such an edit are equally likely.
fn chosen(names: &str, seed: u64) -> (usize, usize, &'static Edit) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    loop {
        let (variant, kernel) = (random.random_range(0..PTX.len()), random.random_range(0..ENTRIES.len()));
        if !ENTRIES[kernel].kernel.starts_with(names) {
            continue;
        }
        let kind = KINDS[seed as usize % KINDS.len()];
        let of_kind: Vec<&Edit> = edits_of(variant, kernel).iter().filter(|edit| edit.kind == kind).collect();
        if let Some(edit) = of_kind.choose(&mut random) {
            return (variant, kernel, edit);
        }
    }
}

/// Descriptions of the edits that no check catches.
fn survivors(names: &str, seeds: Range<u64>) -> Vec<String> {
    // Before the edits are distributed to threads, which would wait for the one that initialises those of a kernel.
    let chosen: Vec<_> = seeds.map(|seed| (seed, chosen(names, seed))).collect();
    let survivor = |(seed, (variant, kernel, edit)): (u64, (usize, usize, &Edit))| {
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
    chosen.into_par_iter().filter_map(survivor).collect()
}

#[test]
fn twenty_edits_of_the_committed_ptx_are_caught() {
    if super::is_stale() {
        return;
    }
    let edits: Vec<_> = (0..20).map(|seed| chosen("", seed)).collect();
    let kinds: BTreeSet<Kind> = edits.iter().map(|(_, _, edit)| edit.kind).collect();
    let kernels: BTreeSet<usize> = edits.iter().map(|(_, kernel, _)| *kernel).collect();
    let variants: BTreeSet<usize> = edits.iter().map(|(variant, _, _)| *variant).collect();
    let variety = (kinds.len(), kernels.len(), variants.len());
    assert!(kinds.len() == KINDS.len() && kernels.len() >= 5 && variants.len() == PTX.len(), "{variety:?}");
    let survivors = survivors("", 0..20);
    assert!(survivors.is_empty(), "{} of 20 edits are not caught:\n{}", survivors.len(), survivors.join("\n"));
}

/// The kernels that train in one launch are the longest, and few of the edits above are in them.
#[test]
#[ignore = "takes minutes"]
fn twenty_edits_of_the_training_kernels_are_caught() {
    if super::is_stale() {
        return;
    }
    let survivors = survivors("network_train_", 0..20);
    assert!(survivors.is_empty(), "{} of 20 edits are not caught:\n{}", survivors.len(), survivors.join("\n"));
}

/// Review the survivors by hand, since the rules do not exclude all equivalent edits, such as a pointer that is
/// advanced once more after its last use, or a second buffer that begins one element later and still fits.
///
/// `HAND_EDITS=300 cargo test -p kernels-gpu --test every_kernel many_edits -- --ignored --nocapture`; with
/// `HAND_EDITS_OF=network_train_` those of the kernels whose names begin so.
#[test]
#[ignore = "takes minutes"]
fn many_edits_of_the_committed_ptx_are_caught() {
    if super::is_stale() {
        return;
    }
    let count: u64 = std::env::var("HAND_EDITS").ok().and_then(|count| count.parse().ok()).unwrap_or(300);
    let names = std::env::var("HAND_EDITS_OF").unwrap_or_default();
    let survivors = survivors(&names, 1000..1000 + count);
    println!("{} of {count} edits are caught", count as usize - survivors.len());
    for kind in KINDS {
        let of_kind = |edits: &Edits| edits.iter().filter(|edit| edit.kind == kind).count();
        let all = (0..PTX.len()).flat_map(|variant| (0..ENTRIES.len()).map(move |kernel| edits_of(variant, kernel)));
        println!("{kind:?}: {} to choose from", all.map(of_kind).sum::<usize>());
    }
    assert!(survivors.is_empty(), "these are not caught:\n{}", survivors.join("\n"));
}
