//! Launches at once have the results of launches one by one, on every device; on a GPU each has a stream, and the host waits for none.

use crate::CONFIG;
use crate::support::{absent, calls, open, overrun, scale, vector_max, with_stand_in};
use gpu::{Buffer, Device, Error};

/// The driver calls after the first `before`, launches without their configuration.
fn verbs(before: usize) -> Vec<String> {
    let brief = |call: &String| match (call.strip_prefix("launch "), call.split_once(" stream ")) {
        (Some(launch), Some((_, stream))) => {
            let (kernel, stream) = (launch.split(' ').next().unwrap(), stream.split(':').next().unwrap());
            format!("launch {kernel} in stream {stream}")
        }
        _ => call.clone(),
    };
    calls()[before..].iter().map(brief).collect()
}

/// Each member's values times its number, counted from 1.
fn members(device: &Device, count: usize) -> Vec<Buffer<f32>> {
    (0..count).map(|index| device.buffer_from_slice(&[1.0, index as f32]).unwrap()).collect()
}

fn scale_each<'a>(device: &'a Device, members: &'a mut [Buffer<f32>]) -> Result<(), Error> {
    let numbered = members.iter_mut().zip(1_u8..);
    device.launch_at_once(|at_once| {
        numbered.into_iter().try_for_each(|(x, number)| at_once.launch(&scale, CONFIG, (x, f32::from(number), 0)))
    })
}

#[test]
fn on_the_simulator_they_have_the_results_of_single_launches() {
    let device = Device::simulator();
    for count in [0, 1, 2, 7] {
        let (mut at_once, mut single) = (members(&device, count), members(&device, count));
        scale_each(&device, &mut at_once).unwrap();
        for (x, number) in single.iter_mut().zip(1_u8..) {
            device.launch(&scale, CONFIG, (x, f32::from(number), 0)).unwrap();
        }
        for (at_once, single) in at_once.iter().zip(&single) {
            assert_eq!(at_once.to_vec().unwrap(), single.to_vec().unwrap(), "of {count}");
        }
    }
}

#[test]
fn a_buffer_that_all_read_is_shared() {
    let device = Device::simulator();
    let data = device.buffer_from_slice(&[1.0, 5.0]).unwrap();
    let mut outputs = members(&device, 3);
    let (data_of_all, each) = (&data, outputs.iter_mut());
    device
        .launch_at_once(|at_once| {
            each.into_iter().try_for_each(|out| at_once.launch(&vector_max, CONFIG, (data_of_all, data_of_all, out)))
        })
        .unwrap();
    assert!(outputs.iter().all(|out| out.to_vec().unwrap() == [1.0, 5.0]));
}

#[test]
fn a_fault_of_one_is_reported() {
    let device = Device::simulator();
    let mut x = device.buffer_from_slice(&[1.0]).unwrap();
    let x = &mut x;
    let error = device.launch_at_once(move |at_once| at_once.launch(&overrun, CONFIG, (x,))).unwrap_err();
    assert!(error.fault().is_some(), "{error}");
}

#[test]
fn on_the_stand_in_each_has_a_stream_and_the_host_waits_for_none() {
    with_stand_in("at_once::on_the_stand_in_each_has_a_stream_and_the_host_waits_for_none", &[], &[], || {
        let device = open();
        let mut of_three = members(&device, 3);
        for _ in 0..2 {
            // The second time, the kernel is loaded and the streams are made.
            let before = calls().len();
            scale_each(&device, &mut of_three).unwrap();
            let calls = verbs(before);
            let queued = calls.iter().position(|call| call.starts_with("record")).unwrap();
            let expected = [
                "record stream 1",
                "stream 2 waits for stream 1",
                "record stream 1",
                "stream 3 waits for stream 1",
                "record stream 1",
                "stream 4 waits for stream 1",
                "launch scale in stream 2",
                "launch scale in stream 3",
                "launch scale in stream 4",
                "record stream 2",
                "stream 1 waits for stream 2",
                "record stream 3",
                "stream 1 waits for stream 3",
                "record stream 4",
                "stream 1 waits for stream 4",
            ];
            assert_eq!(calls[queued..], expected);
            assert!(!calls.iter().any(|call| call.contains("synchronize")), "{calls:?}");
        }
        assert_eq!(of_three[2].to_vec().unwrap(), [9.0, 18.0]);
        let loads = calls().into_iter().filter(|call| call == "load scale").count();
        assert_eq!(loads, 1, "all streams share the module");
    });
}

#[test]
fn on_the_stand_in_a_rejected_launch_runs_none() {
    with_stand_in("at_once::on_the_stand_in_a_rejected_launch_runs_none", &[], &[], || {
        let device = open();
        let mut of_two = members(&device, 2);
        let [first, second] = &mut of_two[..] else { unreachable!("there are two") };
        let added = device.launch_at_once(|at_once| {
            at_once.launch(&scale, CONFIG, (first, 2.0, 0))?;
            at_once.launch(&absent, CONFIG, (second,))
        });
        assert!(matches!(added, Err(Error::NoSuchKernel { kernel: "absent" })), "{added:?}");
        assert!(!calls().iter().any(|call| call.starts_with("launch")));
        assert_eq!(of_two[0].to_vec().unwrap(), [1.0, 0.0]);
    });
}
