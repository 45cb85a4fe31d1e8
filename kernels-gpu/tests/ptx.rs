//! The PTX holds every kernel, and reaches shared memory by its own instructions.

use kernels_gpu::PTX;

const KERNELS: [&str; 11] = [
    "max_kernel",
    "matmul_naive_f32",
    "matmul_naive_f64",
    "matmul_symmetric_f32",
    "matmul_symmetric_f64",
    "matmul_tiles_f32",
    "matmul_tiles_f64",
    "matmul_registers_f32",
    "matmul_registers_f64",
    "matmul_kernel_f32",
    "matmul_kernel_f64",
];

#[test]
fn ptx_of_each_architecture_has_every_kernel() {
    for ptx in PTX {
        let (major, minor) = ptx.compute_capability;
        assert!(ptx.text.contains(&format!(".target sm_{major}{minor}")));
        let entries = ptx.text.matches(".visible .entry ").count();
        assert_eq!(entries, KERNELS.len(), "sm_{major}{minor}");
        for kernel in KERNELS {
            assert!(ptx.text.contains(&format!(".visible .entry {kernel}(")), "{kernel} for sm_{major}{minor}");
        }
    }
}

/// A generic access to shared memory is slower, and the sign of a lost address space.
#[test]
fn ptx_of_kernels_with_shared_arrays_has_no_generic_access() {
    for ptx in PTX {
        let generic = cuda_builder::generic_accesses(ptx.text);
        assert!(generic.is_empty(), "{generic:?}");
        assert!(ptx.text.contains("ld.shared.v4") && ptx.text.contains("st.shared.v4"), "quads move at once");
    }
}
