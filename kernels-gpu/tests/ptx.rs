//! The PTX has every kernel as an entry point, and accesses shared memory only through `.shared` instructions.

use kernels_gpu::PTX;

const KERNELS: [&str; 31] = [
    "empty_kernel",
    "grid_barriers",
    "max_kernel",
    "normalize_kernel",
    "weigh_kernel",
    "activate_kernel",
    "normalize_weigh_activate_kernel",
    "normalize_weigh_activate_fast_kernel",
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
    "network_forward_16",
    "network_forward_64",
    "network_backward_16",
    "network_backward_64",
    "network_update_16",
    "network_update_64",
    "network_gradient_16",
    "network_gradient_64",
    "network_update_from_parts",
    "network_output",
    "network_evaluate",
    "network_next_step",
    "network_train_persistently",
];

#[test]
fn ptx_of_each_architecture_has_every_kernel() {
    for ptx in PTX {
        let (major, minor) = ptx.compute_capability();
        assert!(ptx.text().contains(&format!(".target sm_{major}{minor}")));
        let entries = ptx.text().matches(".visible .entry ").count();
        assert_eq!(entries, KERNELS.len(), "sm_{major}{minor}");
        for kernel in KERNELS {
            assert!(ptx.text().contains(&format!(".visible .entry {kernel}(")), "{kernel} for sm_{major}{minor}");
        }
    }
}

/// A generic access to shared memory is slower, and a sign of a lost address space.
#[test]
fn ptx_of_kernels_with_shared_arrays_has_no_generic_access() {
    for ptx in PTX {
        let generic = cuda_builder::generic_accesses(ptx.text());
        assert!(generic.is_empty(), "{generic:?}");
        assert!(
            ptx.text().contains("ld.shared.v4") && ptx.text().contains("st.shared.v4"),
            "quads move by 128-bit instructions"
        );
    }
}

/// These kernels are bound by memory bandwidth: each thread moves four floats with one 128-bit instruction.
#[test]
fn ptx_of_the_greyscale_kernels_has_128_bit_accesses() {
    for ptx in PTX {
        for kernel in KERNELS.iter().filter(|name| name.contains("normalize") || name.contains("activate")) {
            let body = ptx.text().split(&format!(".entry {kernel}(")).nth(1).unwrap();
            let body = body.split(".visible .entry").next().unwrap();
            assert!(body.contains("ld.global.nc.v4") && body.contains("st.global.v4"), "{kernel}");
            assert!(!body.contains("ld.global.nc.b32") && !body.contains("ld.global.nc.f32"), "{kernel}");
        }
    }
}
