#![allow(unused_variables)]

use cuda_std::{GlobalMut, kernel};

#[kernel]
fn wrong_atomic(out: GlobalMut<u8>) {
    out.atomic(0).fetch_add(1);
}

fn main() {}
