use cuda_std::PtxVariant;

/// The kernels' PTX for each architecture, oldest first. A GPU runs the last one that is not newer than itself.
pub const PTX: [PtxVariant; 2] = cuda_std::compiled_kernels!("test_kernels");
