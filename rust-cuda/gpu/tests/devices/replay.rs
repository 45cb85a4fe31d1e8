//! On every device, replayed launches have the same results as individual launches. On a GPU they
//! are captured once.

use std::cell::Cell;

use crate::CONFIG;
use crate::support::{calls, open, overrun, scale, vector_max, with_stand_in};
use gpu::{Buffer, Device, Error, LaunchConfig};

/// The driver calls after the first `before`, each truncated at its launch configuration.
fn verbs(before: usize) -> Vec<String> {
    let calls = calls().split_off(before);
    calls.iter().map(|call| call.split(" grid").next().unwrap().to_owned()).collect()
}

/// Replays x ← max(2x, 3) `times` times, and returns how often the recording closure ran.
fn doubled(device: &Device, x: &mut Buffer<f32>, times: usize) -> Result<usize, Error> {
    let least = device.buffer_from_slice(&[3.0, 3.0, 3.0])?;
    let mut twice = device.buffer_from_slice(&[0.0, 0.0, 0.0])?;
    let runs = Cell::new(0);
    device.replay(times, |recorder| {
        runs.set(runs.get() + 1);
        recorder.launch(&scale, CONFIG, (x, 2.0, 0))?;
        recorder.launch(&vector_max, CONFIG, (&*x, &least, &mut twice))?;
        recorder.launch(&vector_max, CONFIG, (&twice, &least, x))
    })?;
    Ok(runs.get())
}

#[test]
fn on_the_simulator_the_closure_runs_once() {
    let device = Device::simulator();
    let mut x = device.buffer_from_slice(&[1.0, 2.0, 0.5]).unwrap();
    assert_eq!(doubled(&device, &mut x, 3).unwrap(), 1);
    assert_eq!(x.to_vec().unwrap(), [12.0, 16.0, 12.0]);
    assert_eq!(doubled(&device, &mut x, 0).unwrap(), 0);
    assert_eq!(x.to_vec().unwrap(), [12.0, 16.0, 12.0]);
}

#[test]
fn on_the_stand_in_the_launches_are_captured_once() {
    with_stand_in("replay::on_the_stand_in_the_launches_are_captured_once", &[], &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0, 2.0, 0.5]).unwrap();
        assert_eq!(doubled(&device, &mut x, 0).unwrap(), 0);
        // The kernels are loaded before the capture: the stand-in rejects loading during one.
        let before = calls().len();
        assert_eq!(doubled(&device, &mut x, 1).unwrap(), 1);
        assert_eq!(x.to_vec().unwrap(), [3.0, 4.0, 3.0]);
        let loading = |kernel: &str| [format!("load {kernel}"), format!("look up {kernel}")];
        let first_calls = verbs(before);
        assert_eq!(first_calls[..4], [loading("scale"), loading("vector_max")].concat());
        assert_eq!(first_calls[4..6], ["stream 2 waits for no other", "begin capture stream 2 mode 2"]);

        x.copy_from(&[1.0, 2.0, 0.5]).unwrap();
        let before = calls().len();
        assert_eq!(doubled(&device, &mut x, 3).unwrap(), 1);
        assert_eq!(x.to_vec().unwrap(), [12.0, 16.0, 12.0]);
        let round = ["launch graph stream 1", "launch scale", "launch vector_max", "launch vector_max"];
        let expected = ["stream 3 waits for no other", "begin capture stream 3 mode 2"]
            .into_iter()
            .chain(["end capture stream 3", "destroy stream 3"])
            .chain(["instantiate 3 launches", "destroy graph"])
            .chain([round, round, round].into_iter().flatten())
            // The device keeps the memory of `doubled`'s two buffers. The copy has synchronized
            // with the graph.
            .chain(["destroy executable"]);
        assert_eq!(verbs(before), expected.collect::<Vec<_>>());
    });
}

#[test]
fn at_most_16_graphs_are_kept_until_they_have_run() {
    with_stand_in("replay::at_most_16_graphs_are_kept_until_they_have_run", &[], &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0]).unwrap();
        let mut replay = || device.replay(1, |recorder| recorder.launch(&scale, CONFIG, (&mut x, 1.0, 0)));
        let destroyed = || calls().iter().filter(|call| *call == "destroy executable").count();
        for _ in 0..16 {
            replay().unwrap();
        }
        assert_eq!(destroyed(), 0);
        replay().unwrap();
        assert_eq!(destroyed(), 16);
        device.synchronize().unwrap();
        assert_eq!(destroyed(), 17);
        replay().unwrap();
        drop((x, device));
        let last = calls().split_off(calls().len() - 7);
        assert_eq!(last[..4], ["synchronize stream 1", "destroy executable", "free", "destroy stream 1"]);
        assert_eq!(last[4..], ["unload module", "unload module", "release context"]);
    });
}

#[test]
fn a_cooperative_launch_can_be_replayed() {
    with_stand_in("replay::a_cooperative_launch_can_be_replayed", &[], &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0]).unwrap();
        device.replay(2, |recorder| recorder.launch(&scale, CONFIG.cooperative(), (&mut x, 3.0, 0))).unwrap();
        assert_eq!(x.to_vec().unwrap(), [9.0]);
        assert_eq!(calls().iter().filter(|call| call.starts_with("launch cooperatively scale")).count(), 2);
    });
}

/// During a recording every operation except the recorder's launches is rejected and has no effect.
fn only_the_recorder_launches(device: &Device) {
    let mut x = device.buffer_from_slice(&[1.0, 2.0]).unwrap();
    let other = Device::simulator();
    let mut errors = Vec::new();
    device
        .replay(1, |recorder| {
            let attempts = [
                device.launch(&scale, CONFIG, (&mut x, 5.0, 0)).map(drop),
                device.synchronize(),
                device.time(|| Ok(())).map(drop),
                device.replay(1, |_| Ok(())),
                device.zeroed::<f32>(1).map(drop),
                device.uninitialized::<f32>(1).map(drop),
                device.buffer_from_slice(&[1.0]).map(drop),
                device.pinned::<f32>(1).map(drop),
                other.synchronize(),
                x.copy_from(&[7.0, 7.0]),
                x.copy_from_at(1, &[7.0]),
                x.copy_to(&mut [0.0; 2]),
                x.to_vec().map(drop),
                x.to_vec_at(0..1).map(drop),
            ];
            errors = attempts.into_iter().map(|attempt| attempt.unwrap_err()).collect();
            recorder.launch(&scale, CONFIG, (&mut x, 2.0, 0))
        })
        .unwrap();
    assert_eq!(errors.len(), 14);
    assert!(errors.iter().all(|error| matches!(error, Error::Recording { .. })), "{errors:?}");
    assert_eq!(
        errors[0].to_string(),
        "launch while launches are recorded: the closure of replay may only launch, through its recorder"
    );
    assert_eq!(x.to_vec().unwrap(), [2.0, 4.0]);
    device.launch(&scale, CONFIG, (&mut x, 2.0, 0)).unwrap();
    assert_eq!(x.to_vec().unwrap(), [4.0, 8.0]);
}

#[test]
fn only_the_recorder_launches_on_the_simulator() {
    only_the_recorder_launches(&Device::simulator());
}

#[test]
fn only_the_recorder_launches_on_the_stand_in() {
    with_stand_in("replay::only_the_recorder_launches_on_the_stand_in", &[], &[], || {
        only_the_recorder_launches(&open());
    });
}

#[test]
fn a_buffer_dropped_during_the_recording_outlives_the_launches() {
    let test = "replay::a_buffer_dropped_during_the_recording_outlives_the_launches";
    with_stand_in(test, &[], &[("GPU_MEMORY_POOL", "off")], || {
        let device = open();
        let mut given = Some((device.buffer_from_slice(&[1.0]).unwrap(), device.buffer_from_slice(&[4.0]).unwrap()));
        let mut x = device.buffer_from_slice(&[0.0]).unwrap();
        let before = calls().len();
        device
            .replay(2, |recorder| {
                let (a, b) = given.take().expect("it is recorded once");
                recorder.launch(&vector_max, CONFIG, (&a, &b, &mut x))
            })
            .unwrap();
        let verbs = verbs(before);
        let last = |verb: &str| verbs.iter().rposition(|call| call == verb).unwrap();
        let first_free = verbs.iter().position(|call| call == "free").unwrap();
        assert!(last("launch vector_max") < first_free, "{verbs:?}");
        assert_eq!(verbs.iter().filter(|call| *call == "free").count(), 2);
        assert_eq!(x.to_vec().unwrap(), [4.0]);
    });
}

#[test]
fn a_failed_recording_captures_and_queues_nothing() {
    with_stand_in("replay::a_failed_recording_captures_and_queues_nothing", &[], &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0]).unwrap();
        device.launch(&scale, CONFIG, (&mut x, 1.0, 0)).unwrap();
        for _ in 0..2 {
            let before = calls().len();
            let error = device.replay(3, |recorder| {
                recorder.launch(&scale, CONFIG, (&mut x, 2.0, 0))?;
                recorder.launch(&scale, LaunchConfig::new(0, 1), (&mut x, 2.0, 0))
            });
            assert!(matches!(error.unwrap_err(), Error::Limit { kernel: "scale", .. }));
            assert_eq!(verbs(before), [""; 0]);
        }
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            device.replay(3, |_| panic!("in the middle of a recording"))
        }));
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"in the middle of a recording"));
        device.replay(3, |_| Ok(())).unwrap();
        device.launch(&scale, CONFIG, (&mut x, 2.0, 0)).unwrap();
        assert_eq!(x.to_vec().unwrap(), [2.0], "only the last launch has run");
        assert!(!calls().iter().any(|call| call.starts_with("instantiate")));
    });
}

/// Asserts which driver functions launch `scale`, which may start early, and `vector_max`, in a
/// graph and individually.
fn launches_of(test: &str, defines: &[&str], expected: [&'static str; 2]) {
    with_stand_in(&format!("replay::{test}"), defines, &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0, 2.0, 0.5]).unwrap();
        doubled(&device, &mut x, 2).unwrap();
        assert_eq!(x.to_vec().unwrap(), [6.0, 8.0, 6.0]);
        let before = calls().len();
        doubled(&device, &mut x, 1).unwrap();
        device.launch(&scale, CONFIG, (&mut x, 0.5, 0)).unwrap();
        assert_eq!(x.to_vec().unwrap(), [6.0, 8.0, 6.0]);
        let launches: Vec<String> = verbs(before).into_iter().filter(|call| call.starts_with("launch ")).collect();
        let [scale, vector_max] = expected;
        assert_eq!(launches, ["launch graph stream 1", scale, vector_max, vector_max, scale]);
    });
}

#[test]
fn dependent_launches_may_begin_early_from_compute_capability_9_on() {
    let test = "dependent_launches_may_begin_early_from_compute_capability_9_on";
    launches_of(test, &["MAJOR=9", "MINOR=0"], ["launch dependent scale", "launch vector_max"]);
}

#[test]
fn dependent_launches_wait_on_an_older_gpu() {
    launches_of("dependent_launches_wait_on_an_older_gpu", &[], ["launch scale", "launch vector_max"]);
}

#[test]
fn dependent_launches_wait_with_an_older_driver() {
    let defines = ["MAJOR=9", "MINOR=0", "DRIVER=12020"];
    launches_of("dependent_launches_wait_with_an_older_driver", &defines, ["launch scale", "launch vector_max"]);
}

#[test]
fn dependent_launches_wait_where_the_driver_refuses_their_graph() {
    let test = "dependent_launches_wait_where_the_driver_refuses_their_graph";
    let defines = ["MAJOR=9", "MINOR=0", "DEPENDENT_GRAPHS=0"];
    launches_of(test, &defines, ["launch scale", "launch vector_max"]);
}

#[test]
fn a_capture_that_fails_in_the_middle_names_the_launch() {
    with_stand_in("replay::a_capture_that_fails_in_the_middle_names_the_launch", &["CAPTURE_LIMIT=2"], &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0]).unwrap();
        let error =
            device.replay(2, |recorder| (0..3).try_for_each(|_| recorder.launch(&scale, CONFIG, (&mut x, 2.0, 0))));
        assert_eq!(
            error.unwrap_err().to_string(),
            "the launch of scale (grid (1, 1, 1), block (32, 1, 1)) failed: some error (CUDA error 900)"
        );
        let last = verbs(calls().len() - 2);
        assert!(last[0].starts_with("end capture") && last[1].starts_with("destroy stream"), "{last:?}");
        assert_eq!(x.to_vec().unwrap(), [1.0]);
    });
}

#[test]
fn a_failed_instantiation_names_the_launches() {
    let test = "replay::a_failed_instantiation_names_the_launches";
    with_stand_in(test, &["INSTANTIATE_RESULT=2"], &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0]).unwrap();
        let error = device.replay(2, |recorder| recorder.launch(&scale, CONFIG, (&mut x, 2.0, 0))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "preparing a replay of scale (grid (1, 1, 1), block (32, 1, 1)) failed: some error (CUDA error 2)"
        );
        assert_eq!(x.to_vec().unwrap(), [1.0]);
    });
}

#[test]
fn a_replay_that_fails_half_way_keeps_its_graph() {
    with_stand_in("replay::a_replay_that_fails_half_way_keeps_its_graph", &["GRAPH_LAUNCHES=2"], &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0]).unwrap();
        let error = device.replay(5, |recorder| recorder.launch(&scale, CONFIG, (&mut x, 2.0, 0))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "repeating a replay of scale (grid (1, 1, 1), block (32, 1, 1)) failed: some error (CUDA error 2)"
        );
        assert!(!calls().contains(&"destroy executable".to_owned()));
        assert_eq!(x.to_vec().unwrap(), [4.0]);
        assert!(calls().contains(&"destroy executable".to_owned()));
    });
}

#[test]
fn a_failed_launch_names_all_that_were_replayed() {
    with_stand_in("replay::a_failed_launch_names_all_that_were_replayed", &[], &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0]).unwrap();
        device
            .replay(1, |recorder| {
                recorder.launch(&scale, CONFIG, (&mut x, 2.0, 0))?;
                recorder.launch(&scale, CONFIG, (&mut x, 2.0, 0))?;
                recorder.launch(&overrun, CONFIG, (&mut x,))
            })
            .unwrap();
        let text = "illegal address (CUDA error 700), in one of the launches since the last synchronisation: \
                    scale (grid (1, 1, 1), block (32, 1, 1)) × 2, overrun (grid (1, 1, 1), block (32, 1, 1)) \
                    (set GPU_LAUNCH_BLOCKING=1 to find out which)";
        assert_eq!(x.to_vec().unwrap_err().to_string(), text);
        let error = device.replay(1, |recorder| recorder.launch(&scale, CONFIG, (&mut x, 2.0, 0)));
        assert_eq!(error.unwrap_err().to_string(), text);
    });
}

#[test]
fn blocking_launches_name_the_failed_one() {
    with_stand_in("replay::blocking_launches_name_the_failed_one", &[], &[("GPU_LAUNCH_BLOCKING", "1")], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0, 2.0, 0.5]).unwrap();
        assert_eq!(doubled(&device, &mut x, 3).unwrap(), 1);
        assert_eq!(x.to_vec().unwrap(), [12.0, 16.0, 12.0]);
        let error = device.replay(2, |recorder| {
            recorder.launch(&scale, CONFIG, (&mut x, 2.0, 0))?;
            recorder.launch(&overrun, CONFIG, (&mut x,))
        });
        assert_eq!(
            error.unwrap_err().to_string(),
            "illegal address (CUDA error 700), in the launch of overrun (grid (1, 1, 1), block (32, 1, 1))"
        );
        assert!(!calls().iter().any(|call| call.contains("capture")));
    });
}

#[test]
fn a_fault_on_the_simulator_is_named() {
    let device = Device::simulator();
    let mut x = device.buffer_from_slice(&[1.0]).unwrap();
    let error = device.replay(2, |recorder| {
        recorder.launch(&scale, CONFIG, (&mut x, 2.0, 0))?;
        recorder.launch(&overrun, LaunchConfig::new(1, 1), (&mut x,))
    });
    assert_eq!(error.unwrap_err().fault().map(|fault| fault.kernel), Some("overrun"));
    assert_eq!(x.to_vec().unwrap(), [2.0]);
}

#[test]
fn a_replay_that_does_not_start_leaves_neither_its_graph_nor_launches() {
    let test = "replay::a_replay_that_does_not_start_leaves_neither_its_graph_nor_launches";
    with_stand_in(test, &["GRAPH_LAUNCHES=0"], &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0]).unwrap();
        device.replay(5, |recorder| recorder.launch(&scale, CONFIG, (&mut x, 2.0, 0))).unwrap_err();
        assert!(calls().contains(&"destroy executable".to_owned()));
        device.launch(&overrun, CONFIG, (&mut x,)).unwrap();
        assert_eq!(
            x.to_vec().unwrap_err().to_string(),
            "illegal address (CUDA error 700), in the launch of overrun (grid (1, 1, 1), block (32, 1, 1))"
        );
    });
}
