//! The compiled kernels, whole and in groups: a program that names one group does not contain the others.

use cuda_std::{PtxVariant, compiled_kernels};

/// All kernels, per target architecture, in ascending order. A GPU runs the last one not newer than itself.
pub static PTX: [PtxVariant; 3] = compiled_kernels!("kernels_gpu");

/// Those of [`maximum`](crate::maximum).
pub static MAXIMUM: [PtxVariant; 3] = compiled_kernels!("kernels_gpu.maximum");

/// Those of [`product`](crate::product).
pub static PRODUCT: [PtxVariant; 3] = compiled_kernels!("kernels_gpu.product");

/// Those of [`correlation`](crate::correlation).
pub static CORRELATION: [PtxVariant; 3] = compiled_kernels!("kernels_gpu.correlation");

/// Those of [`greyscale`](crate::greyscale).
pub static GREYSCALE: [PtxVariant; 3] = compiled_kernels!("kernels_gpu.greyscale");

/// Those of [`network`](crate::network).
pub static NETWORK: [PtxVariant; 3] = compiled_kernels!("kernels_gpu.network");
