//! A kernel that does not end is a fault that names the kernel, the thread and the loop, before a student gives up waiting.

#![allow(clippy::while_immutable_condition, reason = "the loops have the mistakes that the tests look for")]

use cuda_std::simulator::{self, LaunchError, Options, SimulatorBuffer};
use cuda_std::{GlobalMut, LaunchConfig, kernel, shared_array, thread, warp};

/// The sentence of a launch that must fail, with the column left out and the text of the line instead of its number.
fn sentence<T>(result: Result<T, LaunchError>) -> String {
    let Err(error) = result else { panic!("the kernel ends") };
    let fault = error.fault().expect("a fault");
    let lines: Vec<&str> = include_str!("endless.rs").lines().collect();
    let line = lines[fault.location.line as usize - 1].trim();
    format!("{}, block {}, thread {}, `{line}`: {}", fault.kernel, fault.block, fault.thread, fault.kind)
}

fn brief() -> Options {
    Options { loop_iterations: 1 << 19, thread_accesses: 1 << 21, block_waits: 1 << 16, ..Options::default() }
}

/// The homework's kernel without its last line.
#[kernel]
fn product(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let (rows, columns) = (rows as usize, columns as usize);
    let cell = thread::thread_idx_x() as usize;
    while cell < rows * rows {
        let (i, j) = (cell / rows, cell % rows);
        let mut sum = 0.0;
        let mut k = 0;
        while k < columns {
            sum += x[i * columns + k] * x[j * columns + k];
            k += 1;
        }
        out.set(cell, sum);
    }
}

#[test]
fn the_fault_is_at_the_loop_that_does_not_end_and_not_at_one_within_it() {
    for check_races in [true, false] {
        let (x, mut out) = (SimulatorBuffer::filled(1.0, 12), SimulatorBuffer::uninitialized(9));
        let options = Options { check_races, ..brief() };
        let result = simulator::launch_with(options, &product, LaunchConfig::new(1, 32), (&x, &mut out, 3_u32, 4_u32));
        assert_eq!(
            sentence(result),
            "product, block (0, 0, 0), thread (0, 0, 0), `while cell < rows * rows {`: the kernel does not end: this loop and those in \
             it have run 2¹⁹ times. Correct its condition, or allow more by simulator::Options::loop_iterations"
        );
    }
}

#[kernel]
fn inner_loop(out: GlobalMut<u32>) {
    for i in 0..3_u32 {
        let mut left = 5 - 2 * i;
        while left != 0 {
            left = if left == 1 && i == 1 { 1 } else { left - 1 };
        }
        out.set(0, i);
    }
}

#[test]
fn an_inner_loop_that_does_not_end_is_named_itself() {
    let result = simulator::launch_with(
        brief(),
        &inner_loop,
        LaunchConfig::new(1, 1),
        (&mut SimulatorBuffer::uninitialized(1),),
    );
    assert!(sentence(result).contains("`while left != 0 {`: the kernel does not end"));
}

#[kernel]
fn halves(x: GlobalMut<f32>) {
    let (i, sums) = (thread::thread_idx_x() as usize, shared_array![f32; 64]);
    sums.set(i, x.get(i));
    let step = 32;
    while step > 0 {
        thread::sync_threads();
        if i < step {
            sums.set(i, sums.get(i) + sums.get(i + step));
        }
    }
    x.set(i, sums.get(i));
}

#[test]
fn a_loop_with_a_barrier_is_counted_by_its_waits() {
    let mut x = SimulatorBuffer::filled(0.0, 64);
    assert_eq!(
        sentence(simulator::launch_with(brief(), &halves, LaunchConfig::new(1, 64), (&mut x,))),
        "halves, block (0, 0, 0), thread (0, 0, 0), `thread::sync_threads();`: the kernel does not end: the threads of the block have \
         waited 2¹⁶ times at barriers or for their warps. Correct the condition of the loop around this line, or allow more by \
         simulator::Options::block_waits"
    );
}

#[kernel]
fn shuffles(x: GlobalMut<u32>) {
    let i = thread::thread_idx_x() as usize;
    let (mut value, step) = (x.get(i), 16);
    while step > 0 {
        value += warp::shuffle_down(value, step);
    }
    x.set(i, value);
}

#[test]
fn so_is_a_loop_with_a_warp_operation() {
    let mut x = SimulatorBuffer::filled(0, 32);
    let found = sentence(simulator::launch_with(brief(), &shuffles, LaunchConfig::new(1, 32), (&mut x,)));
    assert!(
        found.contains("`value += warp::shuffle_down(value, step);`: the kernel does not end: the threads"),
        "{found}"
    );
}

fn total(x: GlobalMut<u32>) -> u32 {
    let (i, mut total) = (0, 0_u32);
    while i < x.len() {
        total = total.wrapping_add(x.get(i));
    }
    total
}

#[kernel]
fn one_thread_adds(x: GlobalMut<u32>, out: GlobalMut<u32>) {
    if thread::index_1d() == 37 {
        out.set(0, total(x));
    }
}

#[test]
fn a_loop_of_a_function_is_counted_by_the_accesses_of_its_thread() {
    for check_races in [true, false] {
        let (mut x, mut out) = (SimulatorBuffer::filled(0, 8), SimulatorBuffer::uninitialized(1));
        let options = Options { check_races, ..brief() };
        let result = simulator::launch_with(options, &one_thread_adds, LaunchConfig::new(4, 32), (&mut x, &mut out));
        assert_eq!(
            sentence(result),
            "one_thread_adds, block (1, 0, 0), thread (5, 0, 0), `total = total.wrapping_add(x.get(i));`: the kernel does not end: the \
             thread has accessed memory 2²¹ times without a barrier. Correct the condition of the loop around this line, or allow more by \
             simulator::Options::thread_accesses"
        );
    }
}

#[kernel]
fn many_accesses(x: GlobalMut<u32>, times: u32) {
    for _ in 0..times {
        x.set(thread::index_1d() as usize, times);
    }
}

#[test]
fn accesses_of_many_threads_are_not_added_up() {
    let mut x = SimulatorBuffer::filled(0, 64);
    simulator::launch_with(brief(), &many_accesses, LaunchConfig::new(1, 64), (&mut x, 1_u32 << 18)).unwrap();
}
