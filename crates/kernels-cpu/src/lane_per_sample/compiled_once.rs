//! The kernels, instantiated in this crate only.
//!
//! Generic code is compiled in every crate and test that instantiates it. There is a kernel for each instruction set
//! and number of units, so this costs compile time.

use super::dense::{AddProductsOfRows, ProductsOfUnits};
use super::{AddGradients, WeightedSums};
use crate::InstructionSet;

/// Non-generic entry points of the kernels, for [`f32`] and [`f64`]; each function runs a kernel with an instruction
/// set.
#[doc(hidden)]
pub trait CompiledOnce: Sized {
    fn weighted_sums_of_bytes(set: InstructionSet, kernel: WeightedSums<'_, Self, u8>);
    fn weighted_sums_of_floats(set: InstructionSet, kernel: WeightedSums<'_, Self, Self>);
    fn add_gradients_of_bytes(set: InstructionSet, kernel: AddGradients<'_, Self, u8>);
    fn add_gradients_of_floats(set: InstructionSet, kernel: AddGradients<'_, Self, Self>);
    fn products_of_units(set: InstructionSet, kernel: ProductsOfUnits<'_, Self>);
    fn add_products_of_rows(set: InstructionSet, kernel: AddProductsOfRows<'_, Self>);
}

macro_rules! compile_for {
    ($real:ty: $($function:ident($kernel:ty);)*) => {
        impl CompiledOnce for $real {
            $(
                #[inline(never)]
                fn $function(set: InstructionSet, kernel: $kernel) {
                    set.dispatch(kernel);
                }
            )*
        }
    };
    ($real:ty) => {
        compile_for! {
            $real:
            weighted_sums_of_bytes(WeightedSums<'_, Self, u8>);
            weighted_sums_of_floats(WeightedSums<'_, Self, Self>);
            add_gradients_of_bytes(AddGradients<'_, Self, u8>);
            add_gradients_of_floats(AddGradients<'_, Self, Self>);
            products_of_units(ProductsOfUnits<'_, Self>);
            add_products_of_rows(AddProductsOfRows<'_, Self>);
        }
    };
}

compile_for!(f32);
compile_for!(f64);
