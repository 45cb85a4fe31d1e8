//! The kernels by which latencies are measured do what they are measured for.

use gpu::{Device, InterpreterOptions, LaunchConfig};
use kernels_gpu::latency::{block_barriers, cluster_barriers, empty_kernel, grid_barriers};

#[test]
fn empty_launches_and_barriers_run_on_each_device() {
    let interpreter = |variant| Device::interpreter(variant, InterpreterOptions::default()).unwrap();
    for device in gpu_testing::fresh_ptx(&kernels_gpu::PTX).iter().map(interpreter).chain([Device::simulator()]) {
        device.launch(&empty_kernel, LaunchConfig::new(3, 64), ()).unwrap();
        device.launch(&block_barriers, LaunchConfig::new(3, 64), (5,)).unwrap();
        if device.compute_capability().is_none_or(|capability| capability >= (9, 0)) {
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
