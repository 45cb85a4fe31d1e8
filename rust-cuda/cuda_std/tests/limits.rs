//! The simulator rejects launches that exceed CUDA's limits.

use cuda_std::simulator::{self, FaultKind, LaunchError, Options, SimulatorBuffer};
use cuda_std::{Dim3, GlobalMut, LaunchConfig, LimitError, dynamic_shared, kernel, shared_array, thread};

#[kernel]
fn nothing() {}

fn check(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Result<(), LimitError> {
    LaunchConfig::new(grid, block).check()
}

#[test]
fn a_block_has_at_most_1024_threads() {
    assert_eq!(check(1, (32, 32)), Ok(()));
    assert!(matches!(check(1, (32, 33)), Err(LimitError::Threads { threads: 1056, .. })));
    assert!(matches!(check(1, 1025), Err(LimitError::Block { .. })));
    assert!(matches!(check(1, (1, 1, 65)), Err(LimitError::Block { .. })));
    assert!(matches!(check(1, (1, 1, 64)), Ok(())));
}

#[test]
fn a_grid_is_limited_in_each_dimension() {
    assert_eq!(check(i32::MAX as u32, 1), Ok(()));
    assert!(matches!(check(1 << 31, 1), Err(LimitError::Grid { .. })));
    assert!(matches!(check((1, 65_536), 1), Err(LimitError::Grid { .. })));
    assert!(matches!(check((1, 1, 65_536), 1), Err(LimitError::Grid { .. })));
    assert_eq!(check((i32::MAX as u32, 65_535, 65_535), 1), Ok(()));
}

#[test]
fn an_empty_grid_or_block_is_rejected() {
    assert!(matches!(check((1, 0), 1), Err(LimitError::EmptyGrid { .. })));
    assert!(matches!(check(1, (1, 1, 0)), Err(LimitError::EmptyBlock { .. })));
    let error = simulator::launch(&nothing, LaunchConfig::new(0, 1), ()).unwrap_err();
    assert!(matches!(error, LaunchError::Limit(LimitError::EmptyGrid { .. })));
    assert_eq!(error.to_string(), "the grid (0, 1, 1) has no blocks");
}

#[test]
fn a_kernel_without_parameters_runs() {
    let report = simulator::launch(&nothing, LaunchConfig::new((3, 2), 7), ()).unwrap();
    assert_eq!((report.blocks, report.threads), (6, 42));
}

#[kernel]
fn uses_40_kib(out: GlobalMut<f32>) {
    let values = shared_array![f32; 10 * 1024];
    let t = thread::thread_idx_x() as usize;
    values.set(t, 1.0);
    out.set(t, values.get(t) + dynamic_shared::<f32>().len() as f32);
}

#[test]
fn arrays_and_dynamic_shared_memory_have_a_common_limit() {
    let mut out = SimulatorBuffer::uninitialized(1);
    let config = LaunchConfig::new(1, 1);
    for (limit, options) in [
        (227 * 1024, Options::default()),
        (64 * 1024, Options { max_shared_bytes: 64 * 1024, check_races: false, ..Options::default() }),
    ] {
        let dynamic = limit - 40 * 1024;
        let mut launch = |bytes| {
            simulator::launch_with(options.clone(), &uses_40_kib, config.with_dynamic_shared(bytes), (&mut out,))
        };
        launch(dynamic).unwrap();
        let kind = FaultKind::SharedMemoryExceeded { bytes: limit as usize + 4, limit: limit as usize };
        assert_eq!(launch(dynamic + 4).unwrap_err().fault().map(|fault| &fault.kind), Some(&kind));
        let error = launch(limit + 1).unwrap_err();
        let LaunchError::Limit(error) = error else { panic!("{error}") };
        assert_eq!(error, LimitError::SharedMemory { bytes: limit + 1, limit });
        assert_eq!(out.to_vec(), [1.0 + (dynamic / 4) as f32]);
    }
}

#[kernel]
fn uses_48_kib_and_more(more: u32) {
    let values = shared_array![u8; 48 * 1024];
    values.set(0, 1);
    if more > 0 {
        shared_array![u8; 1].set(0, 1);
    }
}

#[test]
fn shared_arrays_are_limited_to_48_kib() {
    let config = LaunchConfig::new(1, 1);
    simulator::launch(&uses_48_kib_and_more, config.with_dynamic_shared(1024), (0,)).unwrap();
    let error = simulator::launch(&uses_48_kib_and_more, config, (1,)).unwrap_err();
    let kind = FaultKind::SharedMemoryExceeded { bytes: 48 * 1024 + 1, limit: 48 * 1024 };
    assert_eq!(error.fault().map(|fault| &fault.kind), Some(&kind));
}
