//! Kernels that print, and kernels that panic.

use cuda_std::prelude::*;

/// Prints each element of `x` with its index, twice the element and the square of the index.
#[kernel]
pub fn says(x: &[f32], doubled: GlobalMut<f64>) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        println!("x[{i}] = {:>8.3} {{{0:?}}}, {:?}, {letter}", x[i], [i as i8 - 3, 7], letter = 'ä');
        doubled[i] = f64::from(x[i]) * 2.0;
        println!("twice: {}, {}", doubled[i], i.is_multiple_of(2));
        square(i as u64);
    }
}

/// Prints the square of `i`, which is less than 1000.
fn square(i: u64) {
    assert!(i < 1000, "{i} is not less than 1000");
    let long = u128::from(i) << 100;
    println!("{i:#06x} squared is {:e}, {long}", i * i);
}

/// Ways of [`panics`].
pub const WAYS: u32 = 10;

/// Panics in the way of this number in each thread whose element of `x` is 3 or more, but for the last, which says nothing.
#[kernel]
pub fn panics(way: u32, x: &[u32], out: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    let (element, left) = (x[i], x[i].checked_sub(3));
    match way {
        0 => assert!(element < 3),
        1 => assert!(element < 3, "x[{i}] is {element}"),
        2 => assert_eq!(element.max(2), 2),
        3 => assert_ne!(element < 3, false, "not equal: {}", element),
        4 => assert_ne!(element.min(3), 3),
        5 => out[i] = 3_u32.checked_sub(element + 1).unwrap(),
        6 => out[i] = 3_u32.checked_sub(element + 1).expect("less than {3}"),
        7 => out[i] = left.map_or(Ok(1), |_| Err(())).ok().unwrap(),
        8 => {
            if left.is_some() {
                panic!();
            }
        }
        _ => {
            if left.is_some() {
                panic!("element {:.1}", element as f32);
            }
        }
    }
}

/// Each thread prints `lines` lines.
#[kernel]
pub fn says_too_much(lines: u32) {
    for line in 0..lines {
        println!("{line}");
    }
}
