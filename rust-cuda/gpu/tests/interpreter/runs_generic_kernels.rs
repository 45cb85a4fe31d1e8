//! Generic kernels, and kernels that access elements with brackets.

use std::fmt::Debug;

use crate::interpreters::same_everywhere;
use cuda_std::simulator::FaultKind;
use cuda_std::{Dim3, Element, GlobalMut, Kernel, LaunchConfig, kernel, shared_array, simulator};
use gpu::Device;
use test_kernels::brackets::{SHADOWS, SIDE, adds_polynomial, firsts_of_chunks, shadows, sums_rows, transposes};

/// Tests one instance of `transposes`, selected by the arguments' types.
fn transposes_elements<T: Element + PartialEq + Debug + From<u8>>(
    kernel: &impl Kernel,
    launch: impl Fn(&Device, LaunchConfig, &[T], u32) -> Vec<T>,
) {
    for (rows, columns) in [(1_usize, 1_usize), (8, 8), (7, 13), (17, 5)] {
        let x: Vec<T> = (0..rows * columns).map(|i| T::from((i * 7) as u8)).collect();
        let blocks = Dim3 { x: columns.div_ceil(SIDE) as u32, y: rows.div_ceil(SIDE) as u32, z: 1 };
        let config = LaunchConfig::new(blocks, Dim3 { x: SIDE as u32, y: SIDE as u32, z: 1 });
        let result = same_everywhere(kernel, |device| launch(device, config, &x, rows as u32));
        let expected: Vec<T> = (0..rows * columns).map(|i| x[i % rows * columns + i / rows]).collect();
        assert_eq!(result, expected, "{rows} x {columns}");
    }
}

#[test]
fn instances_are_chosen_by_the_arguments() {
    macro_rules! launches {
        ($element:ident) => {
            transposes_elements::<$element>(&transposes::<$element>, |device, config, x, rows| {
                let (x, mut out) = (device.buffer_from_slice(x).unwrap(), device.uninitialized(x.len()).unwrap());
                device.launch(&transposes, config, (&x, rows, &mut out)).unwrap();
                out.to_vec().unwrap()
            });
        };
    }
    launches!(u8);
    launches!(f32);
    launches!(f64);
}

#[test]
fn constants_are_chosen_by_the_caller() {
    let x = [1, -2, 3, 50];
    let result = same_everywhere(&adds_polynomial::<i64, 4>, |device| {
        let mut out = device.buffer_from_slice(&x).unwrap();
        let arguments = ([5, 0, -1, 2], 10, &mut out);
        device.launch(&adds_polynomial, LaunchConfig::new(2, 3), arguments).unwrap();
        out.to_vec().unwrap()
    });
    assert_eq!(result, x.map(|x| x + 10 * (5 - x * x + 2 * x * x * x)));

    let result = same_everywhere(&adds_polynomial::<f32, 3>, |device| {
        let mut out = device.buffer_from_slice(&[0.5, 4.0]).unwrap();
        device.launch(&adds_polynomial, LaunchConfig::new(1, 32), ([1.0, 0.0, 2.0], -1.0, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    assert_eq!(result, [0.5 - 1.5, 4.0 - 33.0]);
}

#[test]
fn slices_and_chunks_of_memory_that_is_only_read() {
    let x: Vec<u32> = (0..35).map(|i| i * i * 1_000_003).collect();
    let result = same_everywhere(&sums_rows, |device| {
        let (x, mut totals) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(5).unwrap());
        let config = LaunchConfig::new(1, 8).with_dynamic_shared(5 * 4);
        device.launch(&sums_rows, config, (&x, 7, 9, &mut totals)).unwrap();
        totals.to_vec().unwrap()
    });
    let total = |row: &[u32]| row.iter().fold(0_u32, |sum, x| sum.wrapping_add(x.wrapping_mul(*x)).wrapping_add(9));
    let totals: Vec<u32> = x.chunks(7).map(total).collect();
    let expected: Vec<u32> =
        (0..5).map(|row| totals[row].wrapping_add(if row > 0 { totals[row - 1] } else { 0 })).collect();
    assert_eq!(result, expected);

    for (length, expected) in [(4, 3 * (10 + 14 + 18) - 19), (10, 30 - 19), (1, 3 * 145 - 19), (100, 30 - 19)] {
        let result = same_everywhere(&firsts_of_chunks, |device| {
            let x = device.buffer_from_slice(&(10..20).collect::<Vec<i32>>()).unwrap();
            let mut out = device.uninitialized(2).unwrap();
            device.launch(&firsts_of_chunks, LaunchConfig::new(1, 2), (&x, length, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        assert_eq!(result, [expected; 2]);
    }
}

/// Makes one of four mistakes, selected by `way`.
#[kernel]
fn beyond(way: u32, x: &[u32], out: GlobalMut<u32>) {
    let tile = shared_array![[u32; 3]; 2];
    match way {
        0 => tile[1][3] = 1,
        1 => tile[2][0] = 1,
        2 => out[2] = tile[0][0],
        3 => out[3] += 1,
        _ => out[0] = x.slice(2..4)[1],
    }
}

#[test]
fn accesses_by_brackets_are_checked() {
    for (way, expected) in [(0, (3, 3)), (1, (2, 2)), (3, (3, 3))] {
        let x = simulator::SimulatorBuffer::from_slice(&[1, 2, 3]);
        let mut out = simulator::SimulatorBuffer::filled(0, 3);
        let error = simulator::launch(&beyond, LaunchConfig::new(1, 1), (way, &x, &mut out)).unwrap_err();
        let fault = error.fault().unwrap();
        let FaultKind::OutOfBounds { index, length, .. } = fault.kind else { panic!("{fault}") };
        assert_eq!((index, length), expected, "{fault}");
    }
    let kind_of = |way: u32| {
        let x = simulator::SimulatorBuffer::from_slice(&[1, 2, 3]);
        let mut out = simulator::SimulatorBuffer::filled(0, 3);
        let error = simulator::launch(&beyond, LaunchConfig::new(1, 1), (way, &x, &mut out)).unwrap_err();
        error.fault().unwrap().kind.clone()
    };
    assert!(matches!(kind_of(2), FaultKind::Unwritten { index: 0, .. }));
    assert!(matches!(kind_of(4), FaultKind::Range { start: 2, end: 4, length: 3, .. }));
}

#[test]
fn brackets_are_those_of_the_variable_in_scope() {
    let x: Vec<u32> = (0..SHADOWS as u32).map(|i| i * i % 3).collect();
    let result = same_everywhere(&shadows, |device| {
        let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(SHADOWS).unwrap());
        device.launch(&shadows, LaunchConfig::new(1, SHADOWS as u32), (&x, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    let expected = (0..SHADOWS).map(|t| {
        let x = x[(t + 1) % SHADOWS];
        let matched = if x < 2 { x + 4 } else { x + 5 };
        let digits = [x, x + 1, x + 2, x + 3, x + 4, x + 5, matched, x + 6, x + 7];
        digits.into_iter().fold(0, |number, digit| 10 * number + digit)
    });
    assert_eq!(result, expected.collect::<Vec<_>>());
}
