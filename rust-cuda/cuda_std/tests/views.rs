//! Strided views of shared and global memory, and quads of global memory: each access is that of a plain index, with its checks.

use cuda_std::simulator::{self, Fault, FaultKind, LaunchError, Options, Place, SimulatorBuffer};
use cuda_std::{F32x4, GlobalMut, I32x4, LaunchConfig, async_copy, dynamic_shared, hint, kernel, thread};
use proptest::prelude::*;

/// Writes 0, 1, … through a view of two dimensions, and copies all of shared memory, of which the rest is −1, to `out`.
#[kernel]
fn fill(first: u32, rows: u32, columns: u32, row_stride: u32, column_stride: u32, out: GlobalMut<f32>) {
    let shared = dynamic_shared::<f32>();
    for i in 0..shared.len() {
        shared.set(i, -1.0);
    }
    let view = shared.view(first, [rows, columns], [row_stride, column_stride]);
    for row in 0..rows {
        for column in 0..columns {
            view.set([hint::opaque(row), column], (row * columns + column) as f32);
        }
    }
    for i in 0..shared.len() {
        out.set(i, shared.get(i));
    }
}

/// Writes 0, 1, … through a view of global memory.
#[kernel]
fn fill_global(first: u32, rows: u32, columns: u32, row_stride: u32, column_stride: u32, out: GlobalMut<f32>) {
    let view = out.view(first, [rows, columns], [row_stride, column_stride]);
    for row in 0..rows {
        for column in 0..columns {
            view.set([hint::opaque(row), column], (row * columns + column) as f32);
        }
    }
}

/// Reads an element of a view of 3 × 5 elements of memory that is only read.
#[kernel]
fn read_global(first: u32, row: u32, column: u32, x: &[f32], out: GlobalMut<f32>) {
    out.set(0, x.slice(1..x.len()).view(first, [3, 5], [10, 1]).get([row, column]));
}

/// Writes a quad through a view of global memory of 3 rows of 8 elements, and reads an element of it.
#[kernel]
fn quad_of_a_row(first: u32, stride: u32, row: u32, column: u32, out: GlobalMut<f32>) {
    let view = out.view(first, [3, 8], [8, stride]);
    view.set_quad([row, column], F32x4::new(1.0, 2.0, 3.0, 4.0));
    out.set(0, view.get([row, column + 2]));
}

/// Copies a quad through a view of shared memory of 2 × 2 quads to `out`.
#[kernel]
fn quad_by_copy(from: u32, row: u32, waits: u32, x: &[f32], out: GlobalMut<f32>) {
    let shared = dynamic_shared::<F32x4>();
    shared.view(1, [2, 2], [3, 1]).copy_async([row, 1], x.quads(4, 2), from);
    async_copy::commit();
    if waits != 0 {
        async_copy::wait::<0>();
    }
    out.set_quad(0, shared.get((2 + 3 * row) as usize));
}

/// Reads one element of a view of 3 × 5 elements.
#[kernel]
fn read(row: u32, column: u32, out: GlobalMut<f32>) {
    let shared = dynamic_shared::<f32>();
    for i in 0..shared.len() {
        shared.set(i, i as f32);
    }
    out.set(0, shared.view(2, [3, 5], [10, 1]).get([row, column]));
}

/// Each thread writes through a view of two elements.
#[kernel]
fn race(out: GlobalMut<f32>) {
    let shared = dynamic_shared::<f32>();
    shared.view(0, [2], [1]).set([thread::thread_idx_x() / 2], 0.0);
    thread::sync_threads();
    out.set(thread::thread_idx_x() as usize, 0.0);
}

/// Copies a quad from index `from` to index `to`.
#[kernel]
fn copy(from: u32, to: u32, x: GlobalMut<f32>) {
    x.set_quad(to as usize, x.quad(from as usize));
}

/// Reads quad `from` of the elements from `first` on, by each function that does.
#[kernel]
fn quad_of_a_slice(first: u32, from: u32, of_quads: u32, x: &[f32], out: GlobalMut<f32>) {
    let (slice, from) = (x.slice(first as usize..x.len()), from as usize);
    let quad = if of_quads == 0 { slice.quad(from) } else { slice.quads(from, 1).get(0) };
    out.set_quad(0, quad);
}

/// Writes a quad of integers in reverse order, the quad after it, and an element of four integers.
#[kernel]
fn quads_of_integers(x: &[i32], quads: &[I32x4], out: GlobalMut<i32>) {
    let first = x.quad(4);
    out.set_quad(0, I32x4::new(first.w, first.z, first.y, first.x));
    out.set_quad(4, x.quads(4, 2).get(1));
    out.set_quad(8, quads.get(1));
}

/// Reads quad `index` of the bytes from `first` + `from` on.
#[kernel]
fn words_of_a_slice(first: u32, from: u32, index: u32, x: &[u8], out: GlobalMut<u32>) {
    let words = x.slice(first as usize..x.len()).quads(from as usize, 2).get(index);
    for (i, word) in words.into_iter().enumerate() {
        out.set(i, word);
    }
}

fn shared(elements: u32) -> LaunchConfig {
    LaunchConfig::new(1, 1).with_dynamic_shared(4 * elements)
}

fn kind_of(error: LaunchError) -> FaultKind {
    let LaunchError::Fault(fault) = error else { panic!("no fault: {error}") };
    let Fault { kind, .. } = *fault;
    kind
}

#[test]
fn quads_are_of_integers_too() {
    let values: Vec<i32> = (0..12).map(|i| i32::MIN + i).collect();
    let quads: Vec<I32x4> = values.as_chunks::<4>().0.iter().map(|&quad| I32x4::from(quad)).collect();
    let (x, quads) = (SimulatorBuffer::from_slice(&values), SimulatorBuffer::from_slice(&quads));
    let mut out = SimulatorBuffer::uninitialized(12);
    simulator::launch(&quads_of_integers, LaunchConfig::new(1, 1), (&x, &quads, &mut out)).unwrap();
    assert_eq!(out.to_vec(), [7, 6, 5, 4, 8, 9, 10, 11, 4, 5, 6, 7].map(|i| values[i]));
}

proptest! {
    #[test]
    fn a_view_writes_where_a_plain_index_does(
        first in 0_u32..10, rows in 0_u32..5, columns in 0_u32..5, row_stride in 0_u32..9, column_stride in 0_u32..9
    ) {
        let mut expected = vec![-1.0; 60];
        let offset = |row: u32, column: u32| (first + row * row_stride + column * column_stride) as usize;
        let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let is_within = cells.clone().all(|(row, column)| offset(row, column) < expected.len());
        let mut out = SimulatorBuffer::uninitialized(expected.len());
        let mut global = SimulatorBuffer::filled(-1.0, expected.len());
        let shape = (first, rows, columns, row_stride, column_stride);
        let arguments = (shape.0, shape.1, shape.2, shape.3, shape.4, &mut out);
        let launched = simulator::launch(&fill, shared(expected.len() as u32), arguments);
        let arguments = (shape.0, shape.1, shape.2, shape.3, shape.4, &mut global);
        let launched_on_global = simulator::launch(&fill_global, LaunchConfig::new(1, 1), arguments);
        if !is_within {
            let index = offset(rows - 1, columns - 1);
            for (launched, place) in [(launched, Place::Shared), (launched_on_global, Place::Global("out"))] {
                let kind = kind_of(launched.unwrap_err());
                prop_assert_eq!(kind, FaultKind::OutOfBounds { place, index, length: 60 });
            }
            return Ok(());
        }
        launched.unwrap();
        launched_on_global.unwrap();
        cells.for_each(|(row, column)| expected[offset(row, column)] = (row * columns + column) as f32);
        prop_assert_eq!(out.to_vec(), &expected[..]);
        prop_assert_eq!(global.to_vec(), expected);
    }
}

#[test]
fn an_index_beyond_its_dimension_is_a_fault_even_within_shared_memory() {
    let mut out = SimulatorBuffer::uninitialized(1);
    simulator::launch(&read, shared(100), (2, 4, &mut out)).unwrap();
    assert_eq!(out.to_vec(), [26.0]);
    for (row, column, index, length) in [(0, 5, 5, 5), (3, 0, 3, 3), (u32::MAX, 0, u32::MAX as usize, 3)] {
        let error = simulator::launch(&read, shared(100), (row, column, &mut out)).unwrap_err();
        assert_eq!(kind_of(error), FaultKind::OutOfBounds { place: Place::Shared, index, length });
    }
}

#[test]
fn a_view_of_what_is_only_read_has_the_same_bounds() {
    let x = SimulatorBuffer::from_slice(&(0..30).map(|i| i as f32).collect::<Vec<_>>());
    let mut out = SimulatorBuffer::uninitialized(1);
    let mut run = |first, row, column| {
        let launched = simulator::launch(&read_global, LaunchConfig::new(1, 1), (first, row, column, &x, &mut out));
        launched.map(|_| out.to_vec()[0]).map_err(kind_of)
    };
    assert_eq!(run(2, 0, 0), Ok(3.0));
    assert_eq!(run(4, 2, 4), Ok(29.0));
    let place = Place::Global("x");
    assert_eq!(run(2, 0, 5), Err(FaultKind::OutOfBounds { place, index: 5, length: 5 }));
    assert_eq!(run(2, 3, 0), Err(FaultKind::OutOfBounds { place, index: 3, length: 3 }));
    assert_eq!(run(5, 0, 0), Err(FaultKind::OutOfBounds { place, index: 29, length: 29 }));
}

#[test]
fn a_quad_of_a_view_is_aligned_and_within_its_row() {
    let mut out = SimulatorBuffer::filled(0.0, 40);
    let config = LaunchConfig::new(1, 1);
    simulator::launch(&quad_of_a_row, config, (8, 1, 2, 4, &mut out)).unwrap();
    assert_eq!((out.to_vec()[28..33].to_vec(), out.to_vec()[0]), (vec![1.0, 2.0, 3.0, 4.0, 0.0], 3.0));
    let before = out.to_vec();
    let mut fault = |(first, stride, row, column)| {
        let error = simulator::launch(&quad_of_a_row, config, (first, stride, row, column, &mut out)).unwrap_err();
        assert_eq!(out.to_vec(), before, "what is a fault writes nothing");
        kind_of(error)
    };
    let place = Place::Global("out");
    assert_eq!(fault((8, 1, 3, 0)), FaultKind::OutOfBounds { place, index: 3, length: 3 });
    assert_eq!(fault((8, 1, 0, 8)), FaultKind::OutOfBounds { place, index: 8, length: 8 });
    assert_eq!(fault((20, 1, 0, 0)), FaultKind::OutOfBounds { place, index: 43, length: 40 });
    for other in [(8, 1, 0, 2), (6, 1, 0, 0), (8, 2, 0, 4)] {
        assert!(matches!(fault(other), FaultKind::Misaligned { .. }), "{other:?}");
    }
}

#[test]
fn a_quad_is_copied_through_a_view() {
    let x = SimulatorBuffer::from_slice(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
    let mut out = SimulatorBuffer::uninitialized(4);
    let config = LaunchConfig::new(1, 1).with_dynamic_shared(16 * 6);
    let mut run =
        |from, row, waits| simulator::launch(&quad_by_copy, config, (from, row, waits, &x, &mut out)).map(|_| ());
    run(1, 1, 1).unwrap();
    assert!(matches!(kind_of(run(0, 0, 0).unwrap_err()), FaultKind::Race { place: Place::Shared, .. }));
    let beyond = kind_of(run(2, 0, 1).unwrap_err());
    assert_eq!(beyond, FaultKind::OutOfBounds { place: Place::Global("x"), index: 2, length: 2 });
    assert_eq!(
        kind_of(run(0, 2, 1).unwrap_err()),
        FaultKind::OutOfBounds { place: Place::Shared, index: 2, length: 2 }
    );
    assert_eq!(out.to_vec(), [8.0, 9.0, 10.0, 11.0]);
}

#[test]
fn accesses_through_views_race_as_others_do() {
    let mut out = SimulatorBuffer::uninitialized(4);
    let config = LaunchConfig::new(1, 4).with_dynamic_shared(8);
    let options = Options { same_value_races_are_faults: true, ..Options::default() };
    let kind = kind_of(simulator::launch_with(options, &race, config, (&mut out,)).unwrap_err());
    assert!(matches!(kind, FaultKind::Race { place: Place::Shared, index: 0, .. }), "{kind:?}");
}

#[test]
fn quads_of_global_memory_are_aligned_and_within_bounds() {
    let config = LaunchConfig::new(1, 1);
    let values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    let mut x = SimulatorBuffer::from_slice(&values);
    let report = simulator::launch(&copy, config, (0, 4, &mut x)).unwrap();
    assert_eq!(x.to_vec(), [0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0, 8.0, 9.0]);
    assert_eq!((report.global_loads, report.global_stores), (4, 4));
    for (from, to) in [(2, 0), (0, 3)] {
        let kind = kind_of(simulator::launch(&copy, config, (from, to, &mut x)).unwrap_err());
        assert!(matches!(kind, FaultKind::Misaligned { place: Place::Global("x"), .. }), "{kind:?}");
    }
    let before = x.to_vec();
    for (from, to) in [(8, 0), (0, 8), (u32::MAX - 3, 0)] {
        let kind = kind_of(simulator::launch(&copy, config, (from, to, &mut x)).unwrap_err());
        assert!(matches!(kind, FaultKind::OutOfBounds { place: Place::Global("x"), length: 10, .. }), "{kind:?}");
        assert_eq!(x.to_vec(), before, "a write that is partly out of bounds writes nothing");
    }
}

#[test]
fn quads_of_a_slice_are_aligned_in_the_buffer() {
    let x = SimulatorBuffer::from_slice(&(0..12).map(|i| i as f32).collect::<Vec<_>>());
    let mut out = SimulatorBuffer::uninitialized(4);
    for of_quads in [0, 1] {
        let mut run = |first, from| {
            simulator::launch(&quad_of_a_slice, LaunchConfig::new(1, 1), (first, from, of_quads, &x, &mut out))
                .map(|_| out.to_vec())
                .map_err(kind_of)
        };
        assert_eq!(run(4, 4), Ok(vec![8.0, 9.0, 10.0, 11.0]));
        assert_eq!(run(1, 3), Ok(vec![4.0, 5.0, 6.0, 7.0]));
        let place = Place::Global("x");
        assert_eq!(run(1, 0), Err(FaultKind::Misaligned { place, index: 1, elements: 4 }));
        assert_eq!(run(2, 4), Err(FaultKind::Misaligned { place, index: 6, elements: 4 }));
        assert!(matches!(run(4, 8), Err(FaultKind::OutOfBounds { .. })));
    }
}

#[test]
fn quads_of_bytes_are_words_from_the_lowest_bits_on() {
    let x = SimulatorBuffer::from_slice(&(0..80).collect::<Vec<u8>>());
    let mut out = SimulatorBuffer::uninitialized(4);
    let mut run = |first, from, index| {
        simulator::launch(&words_of_a_slice, LaunchConfig::new(1, 1), (first, from, index, &x, &mut out))
            .map(|_| out.to_vec())
            .map_err(kind_of)
    };
    assert_eq!(run(16, 16, 1), Ok(vec![0x3332_3130, 0x3736_3534, 0x3b3a_3938, 0x3f3e_3d3c]));
    assert_eq!(run(12, 4, 0), Ok(vec![0x1312_1110, 0x1716_1514, 0x1b1a_1918, 0x1f1e_1d1c]));
    let place = Place::Global("x");
    assert_eq!(run(4, 0, 0), Err(FaultKind::Misaligned { place, index: 4, elements: 16 }));
    assert_eq!(run(0, 0, 2), Err(FaultKind::OutOfBounds { place, index: 2, length: 2 }));
    assert!(matches!(run(16, 48, 0), Err(FaultKind::OutOfBounds { place: Place::Global("x"), .. })));
}

/// The length of a part of `x`, whose elements from `first` on are taken before.
#[kernel]
fn length_of_a_slice(first: u64, start: u64, end: u64, x: &[f32], out: GlobalMut<u32>) {
    let rest = x.slice(first as usize..x.len());
    out.set(0, rest.slice(start as usize..end as usize).len() as u32);
}

#[test]
fn a_wrong_range_is_named_with_both_of_its_numbers() {
    let run = |first: u64, start: u64, end: u64| {
        let (x, mut out) = (SimulatorBuffer::from_slice(&[0.0; 5]), SimulatorBuffer::from_slice(&[0]));
        simulator::launch(&length_of_a_slice, LaunchConfig::new(1, 1), (first, start, end, &x, &mut out))
            .map(|_| out.as_slice()[0])
            .map_err(|error| error.fault().expect("it faults").kind.to_string())
    };
    for (start, end) in [(0, 5), (2, 2), (5, 5), (1, 4)] {
        assert_eq!(run(0, start, end), Ok((end - start) as u32));
    }
    let message = |range: &str, reason: &str| Err(format!("range {range} of `x`: {reason}"));
    assert_eq!(run(0, 3, 2), message("3..2", "the start, 3, is beyond the end, 2"));
    assert_eq!(run(0, 0, 6), message("0..6", "the end, 6, is beyond the length, 5"));
    assert_eq!(run(0, 7, 9), message("7..9", "the end, 9, is beyond the length, 5"));
    assert_eq!(run(0, 9, 7), message("9..7", "the start, 9, is beyond the end, 7"));
    assert_eq!(run(2, 1, 4), message("1..4", "the end, 4, is beyond the length, 3"));
    assert_eq!(run(6, 0, 0), message("6..5", "the start, 6, is beyond the end, 5"));
    let most = u64::MAX.to_string();
    assert_eq!(
        run(0, 0, u64::MAX),
        message(&format!("0..{most}"), &format!("the end, {most}, is beyond the length, 5"))
    );
}
