//! A cooperative launch is also cooperative for the driver, and is accepted only if all of its
//! blocks can be resident at once. A launch may use all of a block's shared memory.

use crate::support::{absent, calls, open, scale, with_stand_in};
use cuda_std::simulator::{self, FaultKind, LaunchError};
use gpu::{Device, Error, LaunchConfig, SimulatorOptions};
use test_kernels::grid_sums;

/// The driver calls that begin with one of these words.
fn calls_of(verbs: &[&str]) -> Vec<String> {
    calls().into_iter().filter(|call| verbs.iter().any(|verb| call.starts_with(verb))).collect()
}

#[test]
fn a_grid_that_fits_is_launched_cooperatively() {
    with_stand_in("cooperative::a_grid_that_fits_is_launched_cooperatively", &[], &[], || {
        let device = open();
        assert_eq!(device.multiprocessors(), Some(4));
        let mut x = device.buffer_from_slice(&[1.0, 2.0]).unwrap();
        let config = LaunchConfig::new((4, 2), 96).with_dynamic_shared(64);
        device.launch(&scale, config.cooperative(), (&mut x, 3.0, 0)).unwrap();
        device.launch(&scale, config, (&mut x, 2.0, 0)).unwrap();
        assert_eq!(x.to_vec().unwrap(), [6.0, 12.0]);
        let launches: Vec<String> =
            calls_of(&["launch", "occupancy"]).iter().map(|call| call.split(':').next().unwrap().to_owned()).collect();
        assert_eq!(
            launches,
            [
                "occupancy scale 96 64",
                "launch cooperatively scale grid 4 2 1 block 96 1 1 shared 64 stream 1",
                "launch scale grid 4 2 1 block 96 1 1 shared 64 stream 1",
            ]
        );
        assert_eq!(device.max_cooperative_blocks(&scale, (32, 2), 0).unwrap(), 8);
        assert_eq!(calls().last().unwrap(), "occupancy scale 64 0");
        let error = device.max_cooperative_blocks(&absent, 32, 0).unwrap_err();
        assert!(matches!(error, Error::NoSuchKernel { kernel: "absent" }), "{error}");
    });
}

#[test]
fn a_grid_that_does_not_fit_is_rejected_with_the_limits() {
    with_stand_in(
        "cooperative::a_grid_that_does_not_fit_is_rejected_with_the_limits",
        &["MULTIPROCESSORS=5"],
        &[],
        || {
            let device = open();
            let mut x = device.zeroed(2).unwrap();
            device.launch(&scale, LaunchConfig::new(10, 32).cooperative(), (&mut x, 2.0, 0)).unwrap();
            let error = device.launch(&scale, LaunchConfig::new(11, 32).cooperative(), (&mut x, 2.0, 0)).unwrap_err();
            assert_eq!(
                error.to_string(),
                "kernel scale: a cooperative launch of 11 blocks; the GPU runs at most 10 at once, \
             2 on each of 5 multiprocessors"
            );
            device.launch(&scale, LaunchConfig::new(11, 32), (&mut x, 2.0, 0)).unwrap();
            assert_eq!(calls_of(&["launch"]).len(), 2);
        },
    );
}

#[test]
fn missing_support_for_cooperative_launches_is_an_error() {
    with_stand_in("cooperative::missing_support_for_cooperative_launches_is_an_error", &["COOPERATIVE=0"], &[], || {
        let device = open();
        let mut x = device.zeroed(2).unwrap();
        let error = device.launch(&scale, LaunchConfig::new(1, 32).cooperative(), (&mut x, 2.0, 0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "kernel scale: Stand-in has no cooperative launches: launch it once for each part between two barriers"
        );
        let error = device.max_cooperative_blocks(&scale, 32, 0).unwrap_err();
        assert!(matches!(error, Error::NotCooperative { kernel: "scale", .. }), "{error}");
    });
}

#[test]
fn the_error_of_a_rejected_launch_says_that_it_is_cooperative() {
    with_stand_in(
        "cooperative::the_error_of_a_rejected_launch_says_that_it_is_cooperative",
        &["LAUNCH_RESULT=720"],
        &[],
        || {
            let device = open();
            let mut x = device.zeroed(2).unwrap();
            let error = device.launch(&scale, LaunchConfig::new(3, 64).cooperative(), (&mut x, 2.0, 0)).unwrap_err();
            assert_eq!(
                error.to_string(),
                "the launch of scale (cooperative, grid (3, 1, 1), block (64, 1, 1)) failed: some error (CUDA error 720)"
            );
        },
    );
}

#[test]
fn the_limit_of_shared_memory_is_raised_once() {
    with_stand_in("cooperative::the_limit_of_shared_memory_is_raised_once", &["STATIC_SHARED=1024"], &[], || {
        let device = open();
        assert_eq!(device.max_shared_bytes(), 99 * 1024);
        let mut x = device.zeroed(2).unwrap();
        let mut launch = |kilobytes: u32| {
            let config = LaunchConfig::new(1, 32).with_dynamic_shared(kilobytes * 1024);
            device.launch(&scale, config, (&mut x, 2.0, 0)).map(drop)
        };
        launch(47).unwrap();
        assert_eq!(calls_of(&["allow"]), [""; 0]);
        for kilobytes in [48, 64, 98] {
            launch(kilobytes).unwrap();
        }
        assert_eq!(calls_of(&["allow"]), [format!("allow scale {}", 98 * 1024)]);
        let error = launch(99).unwrap_err();
        assert_eq!(
            error.to_string(),
            "kernel scale: 1024 bytes of shared memory in arrays and 101376 dynamic ones; \
             a block of this GPU has at most 101376"
        );
        assert!(matches!(launch(228).unwrap_err(), Error::Limit { kernel: "scale", .. }));
    });
}

#[test]
fn on_the_simulator() {
    let device = Device::simulator();
    assert_eq!(device.multiprocessors(), None);
    let max_blocks = device.max_cooperative_blocks(&grid_sums, 64, 0).unwrap();
    assert_eq!(max_blocks, simulator::max_cooperative_blocks(64));
    let elements = 1000;
    let x = device.buffer_from_slice(&vec![1.0; elements]).unwrap();
    let (mut values, mut barrier) = (device.uninitialized(elements).unwrap(), device.zeroed(1).unwrap());
    let mut sums = device.uninitialized(3).unwrap();
    let mut launch = |config| device.launch(&grid_sums, config, (&x, 3, &mut values, &mut barrier, &mut sums));
    let report = launch(LaunchConfig::new(5, 64).cooperative()).unwrap().unwrap();
    assert_eq!(report.grid_barriers, 3 * 11);

    let error = launch(LaunchConfig::new(5, 64)).unwrap_err();
    assert_eq!(error.fault().map(|fault| &fault.kind), Some(&FaultKind::NotCooperative));
    let error = launch(LaunchConfig::new(max_blocks + 1, 64).cooperative()).unwrap_err();
    let Error::Simulator(error) = error else { panic!("{error}") };
    assert!(matches!(*error, LaunchError::TooManyBlocks { limit, .. } if limit == max_blocks), "{error}");
    assert_eq!(sums.to_vec().unwrap(), [1000.0; 3]);
}

#[test]
fn the_simulators_shared_memory_is_an_option() {
    assert_eq!(Device::simulator().max_shared_bytes(), 227 * 1024);
    let options = SimulatorOptions { max_shared_bytes: 64 * 1024, ..SimulatorOptions::default() };
    let device = Device::simulator_with(options);
    assert_eq!(device.max_shared_bytes(), 64 * 1024);
    let mut x = device.zeroed(2).unwrap();
    let config = LaunchConfig::new(1, 32);
    device.launch(&scale, config.with_dynamic_shared(64 * 1024), (&mut x, 2.0, 0)).unwrap();
    let error = device.launch(&scale, config.with_dynamic_shared(64 * 1024 + 1), (&mut x, 2.0, 0)).unwrap_err();
    assert_eq!(error.to_string(), "kernel scale: 65537 bytes of dynamic shared memory; at most 65536 are possible");
}
