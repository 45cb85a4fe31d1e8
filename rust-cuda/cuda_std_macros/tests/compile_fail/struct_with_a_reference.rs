#![allow(unused_variables)]

cuda_std::plain_data! {
    struct Named {
        count: u32,
        name: &'static str,
    }
}

fn main() {}
