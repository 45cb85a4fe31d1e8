//! A launch passes the arguments of a `Kernel` unchecked, so implementing it is unsafe.

use cuda_std::{ArgumentError, Kernel, Memory, RawParameters, signature};

#[derive(Clone, Copy)]
struct AnyAddress;

impl Kernel for AnyAddress {
    const NAME: &'static str = "max_kernel";
    const PLACE: (&'static str, u32) = ("", 0);
    const SIGNATURE: &'static [u8] = &[signature::START, signature::END];
    type Arguments<'a, M: Memory> = (u64,);
    type Parameters<'a> = ();

    fn push_arguments<M: Memory>((address,): (u64,), raw: &mut RawParameters) -> Result<(), ArgumentError> {
        raw.push_value("address", address);
        Ok(())
    }

    fn bind_arguments<'a, M: Memory>(_: (u64,)) -> Result<(), ArgumentError> {
        Ok(())
    }

    fn run_thread(_: &()) {}
}

fn main() {}
