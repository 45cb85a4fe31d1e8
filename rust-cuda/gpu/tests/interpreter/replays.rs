//! On every device, replays run the launches as recorded, no matter what the host changes, drops or
//! launches afterwards.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::interpreters::{on_every_device, same_everywhere};
use gpu::{Buffer, Device, Error, LaunchConfig, Recorder};
use test_kernels::brackets::{SIDE, adds_polynomial, transposes};

/// Elements of a buffer in these tests.
const LENGTH: usize = 6;
/// The elements are rows of this length.
const COLUMNS: u32 = 3;
const ONE_BLOCK: LaunchConfig = LaunchConfig {
    grid: gpu::Dim3::new(1, 1, 1),
    block: gpu::Dim3::new(SIDE as u32, SIDE as u32, 1),
    dynamic_shared_bytes: 0,
    cooperative: false,
    cluster: 1,
};

fn counted(device: &Device) -> Buffer<f32> {
    device.buffer_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap()
}

fn empty(device: &Device) -> Buffer<f32> {
    device.uninitialized(LENGTH).unwrap()
}

/// Records x ← x + `value`.
fn adds(recorder: &Recorder<'_>, value: f32, x: &mut Buffer<f32>) -> Result<(), Error> {
    recorder.launch(&adds_polynomial, LaunchConfig::for_elements(x.len(), 32), ([value, 0.0, 0.0], 1.0, x))
}

/// Records `out` ← `x`, transposed.
fn transposed(recorder: &Recorder<'_>, x: &Buffer<f32>, out: &mut Buffer<f32>) -> Result<(), Error> {
    recorder.launch(&transposes, ONE_BLOCK, (x, COLUMNS - 1, out))
}

#[test]
fn values_are_those_of_the_recording() {
    let result = same_everywhere(&adds_polynomial::<f32, 3>, |device| {
        let (mut x, runs, mut value) = (counted(device), Cell::new(0), 10.0);
        device
            .replay(4, |recorder| {
                runs.set(runs.get() + 1);
                value *= 2.0;
                adds(recorder, value, &mut x)?;
                value += 1.0;
                adds(recorder, value, &mut x)
            })
            .unwrap();
        (x.to_vec().unwrap(), runs.get())
    });
    assert_eq!(result, ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(|x| x + 4.0 * 41.0).to_vec(), 1));
}

#[test]
fn buffers_that_are_dropped_or_exchanged_stay_arguments() {
    let result = same_everywhere(&transposes::<f32>, |device| {
        let (mut given, mut x, mut y) = (counted(device), empty(device), empty(device));
        let mut other = device.buffer_from_slice(&[0.0; LENGTH]).unwrap();
        let dropped = device.buffer_from_slice(&[7.0; LENGTH]).unwrap();
        device
            .replay(3, |recorder| {
                transposed(recorder, &given, &mut x)?;
                adds(recorder, 1.0, &mut given)?;
                drop(given);
                transposed(recorder, &x, &mut y)?;
                std::mem::swap(&mut y, &mut other);
                transposed(recorder, &dropped, &mut y)?;
                let moved = Box::new(dropped);
                transposed(recorder, &moved, &mut y)
            })
            .unwrap();
        // Memory allocated now may reuse the memory of the dropped buffers.
        let others: Vec<Buffer<f32>> = (0..4).map(|_| device.buffer_from_slice(&[-1.0; LENGTH]).unwrap()).collect();
        assert!(others.iter().all(|buffer| buffer.to_vec().unwrap() == [-1.0; LENGTH]));
        [x, y, other].map(|buffer| buffer.to_vec().unwrap())
    });
    // Two increments of the elements, transposed.
    assert_eq!(result[0], [3.0, 6.0, 4.0, 7.0, 5.0, 8.0]);
    assert_eq!(result[1], [7.0; LENGTH]);
    // 3 × 2 elements that are read as 2 × 3.
    assert_eq!(result[2], [3.0, 7.0, 6.0, 5.0, 4.0, 8.0]);
}

#[test]
fn each_repetition_reads_what_the_one_before_wrote() {
    let result = same_everywhere(&transposes::<f32>, |device| {
        let (mut x, mut y) = (counted(device), empty(device));
        device
            .replay(3, |recorder| {
                transposed(recorder, &x, &mut y)?;
                transposed(recorder, &y, &mut x)?;
                adds(recorder, 1.0, &mut x)
            })
            .unwrap();
        x.to_vec().unwrap()
    });
    let (mut x, mut y) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0; LENGTH]);
    for _ in 0..3 {
        for (from, to) in [0, 1, 2, 3, 4, 5].map(|place| (place, place % 3 * 2 + place / 3)) {
            y[to] = x[from];
        }
        for (from, to) in [0, 1, 2, 3, 4, 5].map(|place| (place, place % 3 * 2 + place / 3)) {
            x[to] = y[from] + 1.0;
        }
    }
    assert_eq!(result, x);
}

#[test]
fn only_launches_of_the_recorder_are_recorded() {
    let errors = same_everywhere(&adds_polynomial::<f32, 3>, |device| {
        let (mut x, mut other) = (counted(device), counted(device));
        let mut errors = Vec::new();
        device
            .replay(2, |recorder| {
                let config = LaunchConfig::new(1, 32);
                let attempts = [
                    device.launch(&adds_polynomial, config, ([1.0, 0.0, 0.0], 1.0, &mut x)).map(drop),
                    adds(&Recorder::run_on(device), 1.0, &mut x),
                    adds(&Recorder::run_on(&Device::simulator()), 1.0, &mut x),
                    device.replay(0, |_| Ok(())),
                    Device::simulator().replay(1, |recorder| adds(recorder, 1.0, &mut other)),
                    device.buffer_from_slice(&[1.0_f32]).map(drop),
                    device.zeroed::<f32>(1).map(drop),
                    device.uninitialized::<f32>(1).map(drop),
                    device.pinned::<f32>(1).map(drop),
                    device.synchronize(),
                    device.clock_rate().map(drop),
                    x.copy_from(&[7.0; LENGTH]),
                    x.copy_from_at(9, &[7.0]),
                    x.copy_to(&mut [0.0; LENGTH]),
                    x.to_vec().map(drop),
                    other.to_vec_at(0..1).map(drop),
                ];
                errors = attempts.into_iter().map(|attempt| attempt.unwrap_err().to_string()).collect();
                adds(recorder, 1.0, &mut x)
            })
            .unwrap();
        assert_eq!(x.to_vec().unwrap(), [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        errors
    });
    let reason = "while launches are recorded: the closure of replay may only launch, through its recorder";
    assert!(errors.iter().all(|error| error.ends_with(reason)), "{errors:?}");
}

#[test]
fn a_launch_that_the_recorder_rejects_is_left_out() {
    let result = same_everywhere(&adds_polynomial::<f32, 3>, |device| {
        let mut x = counted(device);
        let mut errors = Vec::new();
        device
            .replay(2, |recorder| {
                for config in [LaunchConfig::new(1, 32), LaunchConfig::new(0, 32), LaunchConfig::new(1, 2048)] {
                    let recorded = recorder.launch(&adds_polynomial, config, ([1.0, 0.0, 0.0], 1.0, &mut x));
                    errors.extend(recorded.err().map(|error| error.to_string()));
                }
                Ok(())
            })
            .unwrap();
        (x.to_vec().unwrap(), errors)
    });
    assert_eq!(result.0, [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    assert_eq!(result.1.len(), 2, "{:?}", result.1);
}

#[test]
fn a_recording_that_fails_or_panics_runs_nothing() {
    let result = same_everywhere(&adds_polynomial::<f32, 3>, |device| {
        let mut x = counted(device);
        let error = device.replay(2, |recorder| {
            adds(recorder, 1.0, &mut x)?;
            device.synchronize()
        });
        let mut given = Some(counted(device));
        let panic = catch_unwind(AssertUnwindSafe(|| {
            device.replay(2, |recorder| {
                adds(recorder, 1.0, &mut x)?;
                let mut given = given.take().unwrap();
                adds(recorder, 1.0, &mut given)?;
                std::panic::resume_unwind(Box::new("in the middle"))
            })
        }));
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"in the middle"));
        device.replay(2, |_| Ok(())).unwrap();
        let unchanged = x.to_vec().unwrap();
        device.replay(2, |recorder| adds(recorder, 1.0, &mut x)).unwrap();
        (error.unwrap_err().to_string(), unchanged, x.to_vec().unwrap())
    });
    assert!(result.0.starts_with("synchronize while"), "{}", result.0);
    assert_eq!(result.1, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(result.2, [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
}

#[test]
fn what_nothing_has_written_is_found_in_each_repetition() {
    let found = on_every_device(&adds_polynomial::<f32, 3>, |device| {
        let mut x = counted(device);
        let mut unwritten = empty(device);
        if device.is_gpu() {
            return None;
        }
        let replayed = device.replay(2, |recorder| {
            adds(recorder, 1.0, &mut x)?;
            adds(recorder, 1.0, &mut unwritten)
        });
        Some((replayed.unwrap_err().to_string(), x.to_vec().unwrap()))
    });
    for (device, found) in found {
        let Some((error, x)) = found else { continue };
        assert!(error.contains("kernel adds_polynomial") && !error.contains('\n'), "{device}: {error}");
        assert_eq!(x, [2.0, 3.0, 4.0, 5.0, 6.0, 7.0], "{device}");
    }
}

#[test]
fn the_simulator_reports_each_repetition() {
    let device = Device::simulator();
    let mut x = counted(&device);
    device.take_simulator_reports();
    device
        .replay(3, |recorder| {
            adds(recorder, 1.0, &mut x)?;
            adds(recorder, 1.0, &mut x)
        })
        .unwrap();
    let reports = device.take_simulator_reports();
    assert_eq!(reports.len(), 6);
    assert!(reports.iter().all(|(_, report)| report.global_stores == LENGTH as u64), "{reports:?}");
}
