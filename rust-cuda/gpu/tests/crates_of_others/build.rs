//! Builds the PTX.

use cuda_builder::{Arch, CudaBuilder};

fn main() {
    cuda_builder::provide("crates_of_others", [Arch::Sm75, Arch::Sm90].map(|arch| CudaBuilder::new(".").arch(arch)));
}
