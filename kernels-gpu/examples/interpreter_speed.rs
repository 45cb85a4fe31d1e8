//! Measures the interpreter's speed on the homework's kernels.
//!
//! `cargo run --release -p kernels-gpu --example interpreter_speed`

use std::time::Instant;

use cuda_std::{LaunchConfig, Search};
use ptx_interpreter::{Machine, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for ptx in kernels_gpu::PTX {
        for (checks, check_races, search) in
            [("off", false, Search::ONE), ("on", true, Search::ONE), ("in two orders", true, Search::TWO)]
        {
            let (major, minor) = ptx.compute_capability();
            println!("sm_{major}{minor}, race checks {checks}:");
            let options = Options { check_races, search, ..Options::default() };
            maximum(&mut Machine::new(ptx.text())?, options.clone())?;
            product(&mut Machine::new(ptx.text())?, options)?;
        }
    }
    Ok(())
}

/// The element-wise maximum of two 1000 × 1000 matrices, by 1000 blocks of 1000 threads.
fn maximum(machine: &mut Machine, options: Options) -> Result<(), Box<dyn std::error::Error>> {
    let count = 1_000_000_u32;
    let (a, b): (Vec<u32>, Vec<u32>) = (0..count).map(|i| (i * 7919 % 256, i * 31 % 256)).unzip();
    let (a_address, b_address) = (upload(machine, &a)?, upload(machine, &b)?);
    let out = machine.allocate(u64::from(count) * 4)?;
    let length = u64::from(count).to_le_bytes();
    let [a_bytes, b_bytes, out_bytes] = [a_address, b_address, out].map(u64::to_le_bytes);
    let parameters = [&a_bytes[..], &length, &b_bytes, &length, &out_bytes, &length];
    launch(machine, options, "max_kernel", LaunchConfig::new(1000, 1000), &parameters)?;
    let expected: Vec<u32> = a.iter().zip(&b).map(|(a, b)| *a.max(b)).collect();
    assert_eq!(download(machine, out, expected.len())?, expected);
    Ok(())
}

/// X·Xᵀ of a 784 × 128 matrix, by one block of 1024 threads.
fn product(machine: &mut Machine, options: Options) -> Result<(), Box<dyn std::error::Error>> {
    let (rows, columns) = (784_u32, 128_u32);
    let x: Vec<f32> = (0..rows * columns).map(|i| (i * 7919 % 64) as f32).collect();
    let bits: Vec<u32> = x.iter().map(|value| value.to_bits()).collect();
    let address = upload(machine, &bits)?.to_le_bytes();
    let cells = u64::from(rows * rows);
    let out = machine.allocate(cells * 4)?;
    let (length, cells) = (u64::from(rows * columns).to_le_bytes(), cells.to_le_bytes());
    let (rows_bytes, columns_bytes, out_bytes) = (rows.to_le_bytes(), columns.to_le_bytes(), out.to_le_bytes());
    let parameters = [&address[..], &length, &rows_bytes, &columns_bytes, &out_bytes, &cells];
    launch(machine, options, "matmul_kernel_f32", LaunchConfig::new(1, 1024), &parameters)?;
    let found = download(machine, out, (rows * rows) as usize)?;
    for (i, j) in [(0, 0), (3, 700), (783, 783), (500, 2)] {
        let row = |i: u32| &x[(i * columns) as usize..][..columns as usize];
        let expected: f32 = row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum();
        assert_eq!(f32::from_bits(found[(i * rows + j) as usize]), expected);
    }
    Ok(())
}

fn upload(machine: &mut Machine, values: &[u32]) -> Result<u64, Box<dyn std::error::Error>> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let address = machine.allocate(bytes.len() as u64)?;
    machine.memory().write(address, &bytes)?;
    Ok(address)
}

fn download(machine: &Machine, address: u64, count: usize) -> Result<Vec<u32>, Box<dyn std::error::Error>> {
    let mut bytes = vec![0; count * 4];
    machine.memory().read(address, &mut bytes)?;
    Ok(bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
}

fn launch(
    machine: &Machine,
    options: Options,
    kernel: &str,
    config: LaunchConfig,
    parameters: &[&[u8]],
) -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let report = machine.launch(options, kernel, config, parameters)?;
    let seconds = start.elapsed().as_secs_f64();
    let instructions = report.thread_instructions();
    println!(
        "  {kernel}: {:.1} ms, {:.1} million thread instructions, {:.0} million per second",
        seconds * 1e3,
        instructions as f64 / 1e6,
        instructions as f64 / seconds / 1e6
    );
    Ok(())
}
