//! The operations on floats, in lists that a kernel and the host compute: in a kernel, functions that `core` has not are those of
//! `GpuFloat`; on the host, those of `std`.

use core::cmp::Ordering;

use cuda_std::math::{self, GpuFloat};
use cuda_std::{GlobalMut, block, kernel, shared_array, thread, warp};

/// Declares kernels that write the values of all expressions for each pair of arguments, and the same as functions of the host. The
/// lists have the form of kernels, in which the build script expects methods of floats.
macro_rules! lists {
    ($(#[kernel] $name:ident($x:ident: $x_type:ident, $y:ident: $y_type:ident) -> $result:ident, $host:ident { $($expression:expr),* $(,)? })*) => {$(
        /// The values of all expressions of the list, for each pair of arguments.
        #[kernel]
        pub fn $name(x: &[$x_type], y: &[$y_type], out: GlobalMut<$result>) {
            let i = thread::index_1d() as usize;
            if i < x.len() {
                let ($x, $y) = (x[i], y[i]);
                let results = [$($expression),*];
                for k in 0..results.len() {
                    out.set(i * results.len() + k, results[k]);
                }
            }
        }

        /// The expressions of the list, each with its value on the host.
        #[cfg(not(target_arch = "nvptx64"))]
        pub fn $host($x: $x_type, $y: $y_type) -> impl ExactSizeIterator<Item = (&'static str, $result)> {
            [$((stringify!($expression), $expression)),*].into_iter()
        }
    )*};
}

/// Declares the lists of a float: exact functions, comparisons and casts, whose values are those of `std`; functions whose last bits
/// differ from `std`'s; and maxima and minima, whose zeros `std` leaves open.
macro_rules! lists_of_floats {
    ($($float:ident, $bits:ident, $other:ident: $exact:ident $exact_host:ident $integers:ident $integers_host:ident
       $from_integers:ident $from_integers_host:ident $near:ident $near_host:ident $extremes:ident $extremes_host:ident;)*) => {$(
        lists! {
            #[kernel]
            $exact(x: $float, y: $float) -> $float, $exact_host {
                x + y,
                x - y,
                x * y,
                x / y,
                x % y,
                -x,
                x.abs(),
                x.signum(),
                x.copysign(y),
                x.floor(),
                x.ceil(),
                x.round(),
                x.round_ties_even(),
                x.trunc(),
                x.fract(),
                x.sqrt(),
                x.mul_add(y, -x),
                x.mul_add(x, y),
                x.div_euclid(y),
                x.rem_euclid(y),
                x.recip(),
                x.to_degrees(),
                x.to_radians(),
                x.midpoint(y),
                x.next_up(),
                x.next_down(),
                x.clamp(0.0, 1.0),
                x.clamp(-0.0, 0.0),
                x.clamp(-1.0, -0.0),
                (x as $other) as $float,
                (y as $other * 3.0) as $float,
                // Comparisons do not order zeros.
                if x > y { x } else { y },
                if x < y { x } else { y },
                if x > 0.0 { x } else { 0.0 },
                if x < 0.0 { 0.0 } else { x },
            }
            #[kernel]
            $integers(x: $float, y: $float) -> u128, $integers_host {
                x as u8 as u128,
                x as i8 as u128,
                x as u16 as u128,
                x as i16 as u128,
                x as u32 as u128,
                x as i32 as u128,
                x as u64 as u128,
                x as i64 as u128,
                x as usize as u128,
                x as isize as u128,
                x.to_bits() as u128,
                (-x).to_bits() as u128,
                x.abs().to_bits() as u128,
                x.copysign(y).to_bits() as u128,
                x.next_up().is_nan() as u128,
                x.classify() as u128,
                x.is_nan() as u128 + 2 * x.is_infinite() as u128 + 4 * x.is_finite() as u128,
                x.is_normal() as u128 + 2 * x.is_subnormal() as u128,
                x.is_sign_negative() as u128 + 2 * x.is_sign_positive() as u128,
                x.total_cmp(&y) as i8 as u128,
                x.partial_cmp(&y).map_or(7, |order| order as i8) as u128,
                (x == y) as u128 + 2 * (x < y) as u128 + 4 * (x <= y) as u128 + 8 * (x > y) as u128 + 16 * (x >= y) as u128,
                (x != y) as u128,
                (x as $other).classify() as u128,
                x.round() as i64 as u128,
                (x.to_bits() >> 1) as u128,
            }
            #[kernel]
            $from_integers(x: u128, y: u128) -> $float, $from_integers_host {
                x as u8 as $float,
                x as i8 as $float,
                x as u16 as $float,
                x as i16 as $float,
                x as u32 as $float,
                x as i32 as $float,
                x as u64 as $float,
                x as i64 as $float,
                x as usize as $float,
                x as isize as $float,
                (x as u64 as $float) / (y as i64 as $float),
            }
            #[kernel]
            $near(x: $float, y: $float) -> $float, $near_host {
                x.sin(),
                x.cos(),
                x.tan(),
                x.asin(),
                x.acos(),
                x.atan(),
                x.atan2(y),
                x.sin_cos().1,
                x.sinh(),
                x.cosh(),
                x.tanh(),
                x.asinh(),
                x.acosh(),
                x.atanh(),
                x.powi(y as i32),
                x.powf(y),
                x.exp(),
                x.exp2(),
                x.exp_m1(),
                x.ln(),
                x.ln_1p(),
                x.log(y),
                x.log2(),
                x.log10(),
                x.cbrt(),
                x.hypot(y),
                Some(x).map_or(0.0, $float::tanh),
            }
            #[kernel]
            $extremes(x: $float, y: $float) -> $float, $extremes_host {
                x.max(y),
                x.min(y),
                y.max(x),
                y.min(x),
                $float::max(x, y),
                $float::min(x, y),
                x.max(0.0),
                x.min(0.0),
                x.max(-0.0),
                x.min(-0.0),
                (0.0 as $float).max(x),
                (-0.0 as $float).min(x),
                x.max(-x),
                x.min(-x),
                (-x).max(-y),
                x.max(y).min(-0.0),
                x.min(0.0).max(y),
                x.max($float::NEG_INFINITY),
                [x, y, -x].into_iter().fold($float::NEG_INFINITY, $float::max),
                [x, y, -x].iter().fold($float::INFINITY, |least, value| least.min(*value)),
                (x as $other).max(y as $other) as $float,
            }
        }
    )*};
}

lists_of_floats! {
    f32, u32, f64: exact_f32 exact_f32_of_std integers_of_f32 integers_of_f32_of_std f32_of_integers f32_of_integers_of_std
        functions_f32 functions_f32_of_std extremes_f32 extremes_f32_of_std;
    f64, u64, f32: exact_f64 exact_f64_of_std integers_of_f64 integers_of_f64_of_std f64_of_integers f64_of_integers_of_std
        functions_f64 functions_f64_of_std extremes_f64 extremes_f64_of_std;
}

/// The least number and the greatest one, and clamped to 0..=1, in a function that a kernel calls.
fn span<F: GpuFloat>(values: &[F; 3]) -> [F; 2] {
    let [first, others @ ..] = values;
    others.iter().fold([*first; 2], |[least, greatest], value| [least.min(*value), GpuFloat::max(greatest, *value)])
}

/// Number of results of [`extremes_elsewhere`] for each pair of values.
pub const ELSEWHERE: usize = 11;

/// The extremes of x and y where no method in a kernel's body computes them: in functions, over lanes, blocks and by atomic
/// operations, of integers and of other types. Blocks have two warps of 32 threads, in which the odd lanes have y.
#[kernel]
pub fn extremes_elsewhere(x: &[f32], y: &[f32], cells: GlobalMut<f32>, out: GlobalMut<f32>) {
    let warps = shared_array![f32; 32];
    let (i, of_block) = (thread::index_1d() as usize, thread::block_idx_x() as usize);
    let (x, y) = (x[of_block], y[of_block]);
    let own = if i % 2 == 0 { x } else { y };
    let [least, greatest] = span(&[x, y, x]);
    let mut in_place = [x, y];
    // The receiver is a reference that is used again.
    in_place.iter_mut().for_each(|value| *value = value.max(0.0).min(y));
    let mut of_all = 0.0;
    for value in in_place {
        of_all = value.max(of_all);
    }
    let results: [f32; ELSEWHERE] = [
        least,
        greatest,
        math::maximum(x, y),
        math::maximum(y, x),
        warp::reduce_max(own),
        warp::reduce_min(own),
        warp::whole().reduce_max(own),
        block::reduce_max(own, &warps),
        block::reduce_min(own, &warps),
        of_all,
        // Other types have methods of these names.
        (5.max(x.to_bits() & 7).min(6) + Some(3_u32).max(None).map_or(0, |three| three.max(1))) as f32
            + [1, 3, 2].into_iter().max().map_or(0.0, |three: i32| three as f32)
            + (1, x.total_cmp(&y)).max((1, Ordering::Less)).0 as f32,
    ];
    cells.atomic(2 * of_block).fetch_max(own);
    cells.atomic(2 * of_block + 1).fetch_min(own);
    if thread::thread_idx_x() == 0 {
        for (k, result) in results.into_iter().enumerate() {
            out.set(of_block * ELSEWHERE + k, result);
        }
    }
}
