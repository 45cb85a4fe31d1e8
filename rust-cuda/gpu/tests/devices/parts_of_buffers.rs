//! A range of a buffer can be written and read without changing the rest. A range out of bounds is
//! rejected.

use crate::support::{PTX, scale, with_stand_in};
use cuda_std::simulator::FaultKind;
use gpu::{Device, DeviceChoice, Error, LaunchConfig};

fn ranges_are_written_and_read(device: &Device) {
    let mut buffer = device.buffer_from_slice(&[1_u32, 2, 3, 4, 5]).unwrap();
    buffer.copy_from_at(1, &[20, 30]).unwrap();
    buffer.copy_from_at(4, &[50]).unwrap();
    buffer.copy_from_at(5, &[]).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [1, 20, 30, 4, 50]);
    assert_eq!(buffer.to_vec_at(1..4).unwrap(), [20, 30, 4]);
    assert_eq!(buffer.to_vec_at(5..5).unwrap(), [0; 0]);
    assert_eq!(buffer.to_vec_at(0..5).unwrap(), buffer.to_vec().unwrap());

    let error = buffer.copy_from_at(4, &[1, 2]).unwrap_err();
    assert!(matches!(error, Error::Range { operation: "copy_from_at", buffer: 5, start: 4, end: 6 }), "{error}");
    assert_eq!(error.to_string(), "copy_from_at: range 4..6 of a buffer: the end, 6, is beyond the length, 5");
    for first in [6, usize::MAX] {
        assert!(matches!(buffer.copy_from_at(first, &[1]).unwrap_err(), Error::Range { buffer: 5, .. }));
    }
    let backwards = std::ops::Range { start: 3, end: 2 };
    for range in [0..6, 6..6, backwards, usize::MAX..usize::MAX] {
        let (start, end) = (range.start, range.end);
        let error = buffer.to_vec_at(range).unwrap_err();
        let is_it =
            matches!(error, Error::Range { operation: "to_vec_at", start: s, end: e, .. } if (s, e) == (start, end));
        assert!(is_it, "{error}");
    }
    let error = buffer.to_vec_at(std::ops::Range { start: 3, end: 2 }).unwrap_err();
    assert_eq!(error.to_string(), "to_vec_at: range 3..2 of a buffer: the start, 3, is beyond the end, 2");
    assert_eq!(buffer.to_vec().unwrap(), [1, 20, 30, 4, 50]);
}

#[test]
fn on_the_simulator() {
    ranges_are_written_and_read(&Device::simulator());
}

#[test]
fn on_the_stand_in() {
    with_stand_in("parts_of_buffers::on_the_stand_in", &[], &[], || {
        ranges_are_written_and_read(&Device::open(DeviceChoice::Cuda, PTX).unwrap());
    });
}

#[test]
fn elements_outside_the_range_stay_uninitialised() {
    let device = Device::simulator();
    let mut x = device.uninitialized(4).unwrap();
    x.copy_from_at(1, &[1.0, 2.0]).unwrap();
    let config = LaunchConfig::new(1, 4);
    let error = device.launch(&scale, config, (&mut x, 3.0, 1)).unwrap_err();
    assert!(error.to_string().contains("element 3 of `x`"), "{error}");
    let kind = error.fault().map(|fault| &fault.kind);
    assert!(matches!(kind, Some(FaultKind::Unwritten { index: 3, .. })), "{error}");
    x.copy_from_at(3, &[5.0]).unwrap();
    device.launch(&scale, config, (&mut x, 3.0, 3)).unwrap();
    assert_eq!(x.to_vec_at(3..4).unwrap(), [15.0]);
}
