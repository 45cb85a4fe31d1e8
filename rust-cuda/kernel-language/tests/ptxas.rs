//! NVIDIA's assembler accepts the compiler's output.

#[allow(dead_code, reason = "this test runs no kernel")]
mod support;

use cuda_builder::{Arch, PtxasError, find_ptxas, ptxas};
use support::compile;
use test_support::{Need, skip};

/// Kernels that together use every kind of instruction.
const KERNELS: [&str; 5] = [
    "#[kernel]
pub fn kernel(a: f32, n: u64, flag: bool, x: &[f32], bytes: &[i8], y: GlobalMut<f64>, small: GlobalMut<u16>) {
    let tile = shared_array![[f32; 33]; 32];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    tile[t / 32][t % 32] = if flag && i < x.len() { x[i].max(a).sqrt() } else { a.recip().floor() };
    thread::sync_threads();
    let n = n as i64 / (t as i64 - 3) + i64::from(bytes[i]).reverse_bits();
    let all = thread::sync_threads_and(n > 3) | thread::sync_threads_or(n < 7);
    y[i] += (tile[t % 32][t / 32] as f64).mul_add(2.0, n as f64) + if all ^ flag { 1.0 } else { f64::NAN };
    small[i] = (n as u16 >> 3).reverse_bits() << 2;
}",
    "#[kernel]
pub fn kernel(values: &[u32], counts: GlobalMut<u32>, largest: GlobalMut<f32>, sums: GlobalMut<u64>) {
    let own = dynamic_shared::<i32>();
    let i = thread::index_1d() as usize;
    counts.atomic(i).fetch_add(values[i]);
    own.atomic(i).fetch_min(values[i] as i32);
    largest.atomic(0).fetch_add(values[i] as f32);
    sums.atomic(0).fetch_sub(u64::from(own.atomic(i).load() as u32));
    thread::device_fence();
    counts.atomic(0).store(sums.atomic(0).swap(7) as u32);
    sums[i] = warp::shuffle_xor(sums[i], 3) + warp::reduce_max(values[i] as u64) + warp::inclusive_scan_add(1_u64);
    let (votes, same) = (warp::ballot(values[i] > 3), warp::match_any(values[i]));
    largest[i] = warp::exclusive_scan_add(largest[i], 0.0) + (votes & same & warp::activemask()) as f32;
    warp::sync_warp();
}",
    "fn sign(x: i32) -> i32 {
    if x == 0 {
        return 0;
    }
    x.abs()
}
#[kernel]
pub fn kernel(x: &[i32], out: GlobalMut<i32>) {
    let i = thread::index_2d();
    let mut own = [[0_i32; 3]; 4];
    for (k) in (0..12_usize).rev() {
        own[k / 3][k % 3] += sign(x[k]) % 5;
    }
    let copy = own;
    'rows: for k in (0..=3_usize).step_by(2) {
        if copy[k][0] > 7 { break 'rows; }
        out[(i.x + i.y) as usize] += copy[k][2].clamp(-3, 9);
    }
    let last = loop { break x[x.len() - 1].abs_diff(3); };
    out[0] = last.div_ceil(3).leading_zeros() as i32 - i32::MIN / x[1];
}",
    "fn part(a: i64, b: i64) -> Option<i64> { a.checked_div(b) }
#[kernel]
pub fn kernel(n: u32, k: i64, x: &[f32], small: &[i8], out: GlobalMut<i64>) {
    let i = thread::index_1d() as usize;
    println!(\"{i} {:?} {} {n:>8}\", [x[i], 2.0], small[i] > 3);
    assert!(i < x.len(), \"{i}\");
    assert_eq!(n.checked_mul(3).unwrap_or(0), 3, \"{}\", x[i].powi(3));
    let Some(a) = k.checked_mul(k) else { return };
    let b = if let Some(b) = n.checked_mul(7) { b } else { panic!() };
    let c = match small[i].checked_sub(9) { Some(0..=3) => 1, Some(c) => c, None => small[i].checked_rem(2).unwrap() };
    out[i] = match (part(a, k), i > 3) {
        (Some(d), true) => d.checked_add(k).unwrap_or(1) - d.checked_sub(k).unwrap_or(2),
        (None, is_late) => b as i64 + is_late as i64,
        (Some(d), false) => d + c as i64,
    };
}",
    "#[kernel]
pub fn kernel() {}",
];

#[test]
fn ptxas_accepts_each_kind_of_instruction() {
    if find_ptxas().is_none() {
        return skip(Need::Ptxas, &PtxasError::NotFound.to_string());
    }
    for (index, source) in KERNELS.iter().enumerate() {
        let ptx = compile(source).unwrap_or_else(|refusal| panic!("kernel {index}: {refusal}")).ptx;
        let file = std::env::temp_dir().join(format!("kernel-language-{}-{index}.ptx", std::process::id()));
        std::fs::write(&file, &ptx).unwrap();
        let report = ptxas(&file, Arch::Sm75);
        let _ = std::fs::remove_file(&file);
        report.unwrap_or_else(|error| panic!("kernel {index}: {error}\n{ptx}"));
    }
}
