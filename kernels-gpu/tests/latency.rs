//! The kernels by which latencies and rates are measured do what they are measured for.

use gpu::{Device, InterpreterOptions, LaunchConfig};
use kernels_gpu::latency::{
    EXCHANGED, SUMS, block_barriers, cluster_barriers, cluster_exchanges, empty_kernel, grid_barriers,
    multiply_add_rate_f64, tensor_rate_bf16, tensor_rate_tf32,
};

/// The simulator, and the interpreter of each PTX.
fn devices() -> impl Iterator<Item = Device> {
    let interpreter = |variant| Device::interpreter(variant, InterpreterOptions::default()).unwrap();
    gpu_testing::fresh_ptx(&kernels_gpu::PTX).iter().map(interpreter).chain([Device::simulator()])
}

/// Whether the device has this compute capability, or as the simulator all of them.
fn is_since(device: &Device, oldest: (u32, u32)) -> bool {
    device.compute_capability().is_none_or(|capability| capability >= oldest)
}

#[test]
fn empty_launches_and_barriers_run_on_each_device() {
    for device in devices() {
        device.launch(&empty_kernel, LaunchConfig::new(3, 64), ()).unwrap();
        device.launch(&block_barriers, LaunchConfig::new(3, 64), (5,)).unwrap();
        if is_since(&device, (9, 0)) {
            device.launch(&cluster_barriers, LaunchConfig::new(32, 40).clusters_of(16), (5,)).unwrap();
        }
        let mut barrier = device.zeroed(1).unwrap();
        // Each barrier inverts the highest bit, and leaves the others zero.
        for (rounds, state) in [(0, 0), (3, 1 << 31), (1, 0), (4, 0)] {
            let config = LaunchConfig::new(5, 40).cooperative();
            device.launch(&grid_barriers, config, (rounds, &mut barrier)).unwrap();
            assert_eq!(barrier.to_vec().unwrap(), [state], "{rounds} rounds on {}", device.name());
        }
    }
}

/// Compares the values after some exchanges within clusters of a number of blocks.
macro_rules! exchange {
    ($blocks:literal, $clusters:literal, $device:expr, $rounds:expr) => {{
        const CLUSTERS: u32 = $clusters;
        const THREADS: u32 = $blocks * EXCHANGED;
        let config = LaunchConfig::new(CLUSTERS * $blocks, THREADS).clusters_of($blocks);
        let mut out = $device.uninitialized::<f32>((CLUSTERS * $blocks * THREADS) as usize).unwrap();
        let config = config.with_dynamic_shared(32 * THREADS);
        $device.launch(&cluster_exchanges::<$blocks>, config, ($rounds, &mut out)).unwrap();
        let expected = (0..CLUSTERS * $blocks * THREADS).map(|index| {
            let (cluster, block, thread) = (index / ($blocks * THREADS), index / THREADS % $blocks, index % THREADS);
            // After an odd number of rounds a thread has the value of the one that it sends to.
            let sender = (cluster * $blocks + thread / EXCHANGED) * THREADS + block * EXCHANGED + thread % EXCHANGED;
            (if $rounds % 2 == 0 { index } else { sender }) as f32
        });
        assert_eq!(out.to_vec().unwrap(), expected.collect::<Vec<_>>(), "{} rounds on {}", $rounds, $device.name());
    }};
}

#[test]
fn clusters_exchange_what_they_are_said_to() {
    for device in devices().filter(|device| is_since(device, (9, 0))) {
        for rounds in [0, 1, 2, 3, 6] {
            exchange!(2, 2, device, rounds);
            exchange!(4, 2, device, rounds);
        }
        // A block's memory is written again from the third round on.
        exchange!(8, 1, device, 4);
        exchange!(16, 1, device, 3);
    }
}

#[test]
fn rates_are_of_as_many_operations_as_they_are_said_to() {
    const ROUNDS: u32 = 5;
    let config = LaunchConfig::new(2, 64);
    for device in devices() {
        let mut out = device.uninitialized::<f64>(128).unwrap();
        device.launch(&multiply_add_rate_f64, config, (ROUNDS, 1.0, &mut out)).unwrap();
        assert_eq!(out.to_vec().unwrap(), [f64::from(SUMS * ROUNDS); 128], "f64 on {}", device.name());
        if is_since(&device, (8, 0)) {
            let mut out = device.uninitialized::<f32>(128).unwrap();
            device.launch(&tensor_rate_tf32, config, (ROUNDS, &mut out)).unwrap();
            assert_eq!(out.to_vec().unwrap(), [(8 * SUMS * ROUNDS) as f32; 128], "tf32 on {}", device.name());
            device.launch(&tensor_rate_bf16, config, (ROUNDS, &mut out)).unwrap();
            assert_eq!(out.to_vec().unwrap(), [(16 * SUMS * ROUNDS) as f32; 128], "bf16 on {}", device.name());
        }
    }
}
