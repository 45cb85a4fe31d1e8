//! Parameters without a plain name, lifetimes, constants, and other forms of a function.

use cuda_std::{GlobalMut, kernel};

#[kernel]
fn takes_a_pair_apart((a, b): (f32, f32), out: GlobalMut<f32>) {}

#[kernel]
fn has_no_name(_: f32, out: GlobalMut<f32>) {}

#[kernel]
fn has_a_lifetime<'a>(x: &'a [f32], out: GlobalMut<'a, f32>) {}

#[kernel]
fn has_a_type<T>(x: &[T], out: GlobalMut<T>) {}

#[kernel]
fn has_a_constant<const N: usize>(out: GlobalMut<f32>) {}

#[kernel]
fn has_a_clause(x: &[f32], out: GlobalMut<f32>)
where
    f32: Copy,
{
}

#[kernel]
extern "C" fn has_a_convention(x: &[f32], out: GlobalMut<f32>) {}

#[kernel]
const fn is_constant(out: GlobalMut<f32>) {}

#[kernel]
#[unsafe(no_mangle)]
fn is_exported(out: GlobalMut<f32>) {}

#[kernel]
#[unsafe(export_name = "other")]
fn is_exported_by_another_name(out: GlobalMut<f32>) {}

#[kernel]
fn may_fail(out: GlobalMut<f32>) -> Result<(), ()> {
    Ok(())
}

fn main() {}
