use cuda_std::Ptx;

/// The kernels' PTX for each architecture, oldest first. A GPU runs the last one that is not newer than itself.
pub const PTX: [Ptx; 2] = [
    Ptx { compute_capability: (7, 5), text: include_str!(concat!(env!("OUT_DIR"), "/test_kernels.sm_75.ptx")) },
    Ptx { compute_capability: (9, 0), text: include_str!(concat!(env!("OUT_DIR"), "/test_kernels.sm_90.ptx")) },
];
