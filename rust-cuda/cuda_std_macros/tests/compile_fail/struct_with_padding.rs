#![allow(unused_variables)]

cuda_std::plain_data! {
    struct Padded {
        count: u32,
        seed: u64,
    }
}

fn main() {}
