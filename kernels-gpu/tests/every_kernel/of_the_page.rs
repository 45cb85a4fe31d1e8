//! Kernels as the compiler of docs/lab makes them, which is no rustc, have the simulator's results, without a fault.

use std::path::Path;

use cuda_std::{Search, simulator};
use gpu_testing::kernel_sources;
use ptx_interpreter::Options;

use crate::device::{Interpreter, Simulator};
use crate::table::ENTRIES;

/// The kernels that it compiles. The others have elements of several floats, such as `F32x4`, or other memory that it
/// does not know.
const COMPILED: [&str; 9] = [
    "max_kernel",
    "matmul_naive_f32",
    "matmul_naive_f64",
    "matmul_symmetric_f32",
    "matmul_symmetric_f64",
    "matmul_tiles_f32",
    "matmul_tiles_f64",
    "matmul_registers_f32",
    "matmul_registers_f64",
];

#[test]
fn rungs_one_to_four_of_the_pages_compiler_agree_with_the_source() {
    let files = kernel_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "kernels_gpu/src");
    for name in COMPILED {
        let entry = ENTRIES.iter().find(|entry| entry.kernel == name).expect(name);
        let compiled = kernel_language::compile(&files, name).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        let options = Options { same_value_races_are_faults: true, search: Search::TWO, ..Default::default() };
        let mut interpreter = Interpreter::new(&compiled.ptx, options).expect(name);
        for case in entry.boundary_cases.iter().take(4).map(|case| case()) {
            let fail = |error: String| panic!("{name} of {case:?}: {error}");
            let options = simulator::Options { search: Search::TWO, ..Default::default() };
            let simulated = (entry.on_simulator)(&mut Simulator { options }, &case).unwrap_or_else(fail);
            let interpreted = (entry.on_interpreter)(&mut interpreter, &case).unwrap_or_else(fail);
            assert!((entry.is_same)(&interpreted, &simulated), "{name} of {case:?}: another result");
        }
    }
}
