//! With any number of workers, the stacks of their blocks stay below the system's limit on memory maps.

use cuda_std::simulator::{self, Options, SimulatorBuffer};
use cuda_std::{GlobalMut, LaunchConfig, kernel, shared_array, thread};

#[kernel]
fn swaps_halves(out: GlobalMut<u32>) {
    let values = shared_array![u32; 1024];
    let t = thread::thread_idx_x();
    values.set(t as usize, t);
    thread::sync_threads();
    out.set(thread::index_1d() as usize, values.get(t as usize ^ 512));
}

#[test]
fn sixty_four_workers_with_blocks_of_1024_waiting_threads() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(64).build().unwrap();
    let mut out = SimulatorBuffer::uninitialized(128 * 1024);
    let options = Options { check_races: false, ..Options::default() };
    for _ in 0..2 {
        let config = LaunchConfig::new(128, 1024);
        let report =
            pool.install(|| simulator::launch_with(options.clone(), &swaps_halves, config, (&mut out,))).unwrap();
        assert_eq!((report.blocks, report.barriers), (128, 128));
    }
    assert!(out.as_slice().iter().enumerate().all(|(i, &value)| value as usize == (i % 1024) ^ 512));
}
