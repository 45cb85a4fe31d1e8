//! Kernels that panic by what the language and `core` check.

#![allow(clippy::todo, clippy::unimplemented, clippy::ok_expect)]

use cuda_std::{GlobalMut, kernel, shared_array, warp};

/// A panic of [`panicking`]: its way and its numbers.
pub const PANICS: [(u32, [i32; 2]); 36] = [
    (0, [5, 0]),
    (0, [i32::MIN, -1]),
    (1, [5, 0]),
    (1, [i32::MIN, -1]),
    (2, [0, 9]),
    (2, [0, -1]),
    (3, [4, 8]),
    (4, [2, 9]),
    (4, [3, 2]),
    (4, [7, 8]),
    (5, [3, 0]),
    (6, [3, 0]),
    (7, [3, 0]),
    (8, [3, 0]),
    (9, [1, 0]),
    (9, [11, 0]),
    (10, [7, 8]),
    (10, [3, 2]),
    (11, [0, 1]),
    (12, [5, 0]),
    (13, [33, 0]),
    (14, [4, 0]),
    (15, [2, 0]),
    (15, [-1, 0]),
    (16, [33, 0]),
    (17, [32, 0]),
    (18, [0, 0]),
    (19, [0, 0]),
    (20, [2, 3]),
    (21, [2, 8]),
    (22, [0, 0]),
    (23, [0, 0]),
    (24, [3, 2]),
    (24, [0, 5]),
    (24, [3, 1]),
    (25, [16, 5]),
];

/// Panics in a way, because of the numbers of `x`. Other numbers give a number, the first element of `out`.
#[kernel]
pub fn panicking(way: u32, x: &[i32], out: GlobalMut<i32>) {
    let (a, b) = (x[0], x[1]);
    let table = [3, 5, 7, 11, 1 + a % 2];
    let powers = [1, 2, 4, 8, 16, 32, 64, a % 7];
    let result = match way {
        0 => a / b,
        1 => a % b,
        2 => table[b as usize],
        3 => powers[b as usize],
        4 => table[a as usize..b as usize].iter().sum(),
        5 => match a {
            0 => 1,
            1 => 7,
            _ => unreachable!(),
        },
        6 => match a {
            0 => 2,
            1 => 5,
            _ => unreachable!("no such thing"),
        },
        7 => match a {
            0 => 3,
            _ => todo!(),
        },
        8 => match a {
            0 => 4,
            _ => unimplemented!("\"later\" {{}}"),
        },
        9 => of_options(a as u32) as i32,
        10 => of_assertions(a, b),
        11 => (a as u32).ilog2() as i32,
        12 => (a as u32).div_ceil(b as u32) as i32,
        13 => warp::tile(a as u32).ballot(b > 0) as i32,
        14 => {
            out.set(a as usize, 1);
            1
        }
        15 => x[a as usize],
        16 => {
            let tile = shared_array![i32; 33];
            tile.set(a as usize, b);
            tile.get(a as usize)
        }
        17 => {
            let tile = shared_array![i32; 32];
            tile.set(a as usize, b);
            tile.get(a as usize)
        }
        18 => x.chunks(a as usize).len() as i32,
        19 => (0..10).step_by(a as usize).sum(),
        20 => {
            let mut copy = [0; 5];
            copy[..a as usize].copy_from_slice(&table[..b as usize]);
            copy.iter().sum()
        }
        21 => {
            let (left, right) = table.split_at(b as usize);
            left.iter().sum::<i32>() - right.iter().sum::<i32>()
        }
        22 => table.chunks(a as usize).map(|chunk| chunk[0]).sum(),
        23 => of_results(a),
        24 => x.slice(a as usize..b as usize).len() as i32,
        _ => char::from_digit(b as u32, 16 + a as u32 * 2).map_or(0, |digit| digit as i32),
    };
    out.set(0, result);
}

#[inline(never)]
fn of_options(x: u32) -> u32 {
    if x < 10 { x.checked_sub(3).expect("at least three") } else { (x - 10).checked_sub(3).unwrap() }
}

fn of_assertions(a: i32, b: i32) -> i32 {
    if a > 5 {
        core::panic!("too large")
    }
    core::assert!(a < b);
    a
}

fn of_results(a: i32) -> i32 {
    let result = if a > 0 { Ok(a) } else { Err(()) };
    result.ok().expect("a \"positive\" number\n")
}

/// Overflows in a way, because of the numbers of `x`.
#[kernel]
pub fn overflowing(way: u32, x: &[i32], out: GlobalMut<i32>) {
    let (a, b) = (x[0], x[1]);
    let result = match way {
        0 => a + b,
        1 => a - b,
        2 => a * b,
        3 => -a,
        4 => a << b,
        5 => a >> b,
        6 => a.abs(),
        7 => a.pow(b as u32),
        8 => [a, b, 1].iter().sum(),
        _ => (a as u32 * b as u32) as i32,
    };
    out.set(0, result);
}
