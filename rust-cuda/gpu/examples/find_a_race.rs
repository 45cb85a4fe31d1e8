//! A kernel with a planted race, found without a GPU: `cargo run -p gpu --example find_a_race`.
//!
//! The simulator runs its Rust source, the interpreter the PTX that a GPU would get. Both name the two threads and lines.

use gpu::{Device, InterpreterOptions, LaunchConfig};
use seeded_bugs::missing_second_barrier;

fn main() -> Result<(), gpu::OpenError> {
    println!(
        "Each round of this kernel writes shared memory, waits, and reads it; nothing waits before the next round:\n"
    );
    println!("    for round in 0..2 {{");
    println!("        values.set(t, round);");
    println!("        thread::sync_threads();");
    println!("        out.set(t, values.get(63 - t));");
    println!("    }}\n");
    let newest = &seeded_bugs::PTX[seeded_bugs::PTX.len() - 1];
    let mut devices = vec![Device::simulator()];
    match Device::interpreter(newest, InterpreterOptions::default()) {
        Ok(interpreter) => devices.push(interpreter),
        // Without a toolchain there is no PTX for changed kernels.
        Err(gpu::OpenError::StalePtx { reason }) => println!("no PTX to interpret: {reason}"),
        Err(error) => return Err(error),
    }
    for device in devices {
        let found = device.uninitialized(64).and_then(|mut out| {
            device.launch(&missing_second_barrier, LaunchConfig::new(1, 64), (&mut out,)).map(drop)
        });
        match found {
            Ok(()) => println!("{}: no race found", device.name()),
            Err(error) => println!("{}: {error}", device.name()),
        }
    }
    Ok(())
}
