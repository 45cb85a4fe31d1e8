//! What only a function with a caller has.

use cuda_std::{GlobalMut, kernel};

#[kernel]
fn passes_an_error_on(x: &[u32], out: GlobalMut<u32>) {
    let sum = x[0].checked_add(1)?;
    let closure = || x[1].checked_add(1).map(|sum| sum + 1);
    out.set(0, sum + closure().unwrap_or(0));
}

#[kernel]
fn awaits(out: GlobalMut<u32>) {
    out.set(0, async { 1 }.await);
}

#[kernel]
fn needs_an_operating_system(out: GlobalMut<f32>) {
    let start = Instant::now();
    let numbers: Vec<f32> = (0..3).map(|i| i as f32).collect();
    let shared = Mutex::new(numbers);
    let name: String = String::from("sum");
    let file = File::open(name);
    let random: f32 = rand::random();
    print!("{random}");
    out.set(0, start.elapsed().as_secs_f32());
}

fn main() {}
