//! More parameters than a GPU takes.

use cuda_std::{ByValue, GlobalMut, kernel};

#[derive(Clone, Copy, ByValue)]
#[repr(C)]
struct Table {
    first: [f32; 1000],
    second: [u8; 76],
}

/// 4,096 bytes, with those between `small` and `out`.
#[kernel]
fn takes_as_many_as_there_may_be(_table: Table, _small: u8, _out: GlobalMut<f32>) {}

#[kernel]
fn takes_one_more(_table: Table, _small: u32, _smaller: u8, _out: GlobalMut<f32>) {}

#[kernel]
fn takes_two(_one: [u64; 300], _x: &[f32], _other: [u64; 400], _out: GlobalMut<f32>) {}

#[kernel(3, 1000)]
fn takes_an_instance<const N: usize>(_one: [u64; N], _out: GlobalMut<f32>) {}

#[kernel]
unsafe fn takes_pointers(_out: *mut f32, _one: Many) {}

#[derive(Clone, Copy)]
#[repr(C)]
struct Many([[u64; 20]; 30]);

#[derive(Clone, Copy, ByValue)]
#[repr(C, align(32))]
struct Aligned([u64; 4]);

#[kernel]
fn takes_an_aligned_struct(_aligned: Aligned, _out: GlobalMut<f32>) {}

fn main() {}
