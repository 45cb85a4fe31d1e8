//! Kernels as people write them: what a GPU computes, the simulator computes too, and no name of theirs meets one of the macro's.

use cuda_std::simulator::{self, Fault, FaultKind, LaunchError, LaunchReport, Options, Place, SimulatorBuffer};
use cuda_std::{GlobalMut, LaunchConfig, kernel, shared_array, thread, warp};

fn fault(result: Result<LaunchReport, LaunchError>) -> Fault {
    match result {
        Err(LaunchError::Fault(fault)) => *fault,
        other => panic!("no fault: {other:?}"),
    }
}

mod same_value {
    use super::*;

    #[kernel]
    fn has_negative(x: &[i32], flag: GlobalMut<u32>) {
        let i = thread::index_1d() as usize;
        if i < x.len() && x[i] < 0 {
            flag.set(0, 1);
        }
    }

    /// Threads write `values[thread]` to one element, one after the other, with a barrier after every `together` of them.
    #[kernel]
    fn one_after_the_other(values: &[u32], together: u32, out: GlobalMut<u32>) {
        let t = thread::thread_idx_x();
        for turn in 0..thread::block_dim_x() {
            if turn % together == 0 {
                thread::sync_threads();
            }
            if t == turn {
                out.set(0, values[t as usize]);
            }
        }
    }

    #[test]
    fn threads_may_write_one_value_to_one_element() {
        let x = SimulatorBuffer::from_slice(&[-3; 100]);
        let mut flag = SimulatorBuffer::filled(0, 1);
        let config = LaunchConfig::new(2, 64);
        let report = simulator::launch(&has_negative, config, (&x, &mut flag)).unwrap();
        assert_eq!((flag.to_vec(), report.same_value_races), (vec![1], 99));
        let strict = Options { same_value_races_are_faults: true, ..Options::default() };
        let fault = fault(simulator::launch_with(strict, &has_negative, config, (&x, &mut flag)));
        assert!(matches!(fault.kind, FaultKind::Race { place: Place::Global("flag"), index: 0, .. }), "{fault}");
    }

    #[test]
    fn a_different_value_races_with_any_of_the_writers() {
        let run = |values: &[u32], together: u32| {
            let config = LaunchConfig::new(1, values.len() as u32);
            let values = SimulatorBuffer::from_slice(values);
            simulator::launch(&one_after_the_other, config, (&values, together, &mut SimulatorBuffer::filled(0, 1)))
        };
        assert_eq!(run(&[5, 5, 5, 5], 4).unwrap().same_value_races, 3);
        assert_eq!(run(&[5, 5, 6, 6], 2).unwrap().same_value_races, 2);
        for values in [[5, 6, 6, 6], [5, 5, 6, 6], [5, 5, 5, 6]] {
            let fault = fault(run(&values, 4));
            assert!(matches!(fault.kind, FaultKind::Race { .. }), "{values:?}: {fault}");
        }
    }

    /// Threads 0 and 1 write 7; then `writer` writes 8.
    #[kernel]
    fn writes_again(writer: u32, out: GlobalMut<u32>) {
        let t = thread::thread_idx_x();
        let s = shared_array![u32; 4];
        if t < 2 {
            s.set(0, 7);
        }
        // Each thread in turn, with no barrier in between.
        if t == writer {
            s.set(0, 8);
        }
        out.set(t as usize, t);
    }

    #[test]
    fn both_writers_of_one_value_are_remembered() {
        // Thread 1 writes 8 after it and thread 0 have written 7: a race with thread 0. So does thread 2, with both.
        for writer in [1, 2] {
            let mut out = SimulatorBuffer::filled(0, 4);
            let fault = fault(simulator::launch(&writes_again, LaunchConfig::new(1, 4), (writer, &mut out)));
            assert!(matches!(fault.kind, FaultKind::Race { place: Place::Shared, .. }), "{writer}: {fault}");
            assert_eq!(fault.thread.x, writer);
        }
        // Thread 0 writes 8 before thread 1 writes 7: different values.
        let mut out = SimulatorBuffer::filled(0, 4);
        let fault = fault(simulator::launch(&writes_again, LaunchConfig::new(1, 4), (0, &mut out)));
        assert_eq!(fault.thread.x, 1);
    }
}

mod warps {
    use super::*;

    #[kernel]
    fn rotate(out: GlobalMut<u32>) {
        let t = thread::thread_idx_x();
        out.set(t as usize, warp::shuffle_idx(t * 10, warp::lane_id() + 1));
    }

    #[kernel]
    fn vote(x: &[u32], out: GlobalMut<u32>, any: GlobalMut<u32>) {
        let i = thread::index_1d() as usize;
        if i >= x.len() {
            return;
        }
        out.set(i, warp::ballot(x[i].is_multiple_of(3)));
        let (some, all) = (warp::any(x[i] == 36), warp::all(x[i] < 40));
        any.set(i, u32::from(some) | u32::from(all) << 1);
    }

    #[kernel]
    fn reads_the_next(n: u32, out: GlobalMut<u32>) {
        let t = thread::thread_idx_x();
        if t < n {
            out.set(t as usize, warp::shuffle_down(t, 1));
        }
    }

    #[test]
    fn a_shuffle_takes_its_lane_modulo_32() {
        let mut out = SimulatorBuffer::uninitialized(32);
        simulator::launch(&rotate, LaunchConfig::new(1, 32), (&mut out,)).unwrap();
        assert_eq!(out.to_vec(), (0..32).map(|i| 10 * ((i + 1) % 32)).collect::<Vec<u32>>());
    }

    #[test]
    fn a_vote_does_not_wait_for_lanes_that_have_returned() {
        let x: Vec<u32> = (0..40).collect();
        let mut out = SimulatorBuffer::uninitialized(40);
        let mut any = SimulatorBuffer::uninitialized(40);
        let x = SimulatorBuffer::from_slice(&x);
        simulator::launch(&vote, LaunchConfig::new(2, 32), (&x, &mut out, &mut any)).unwrap();
        assert_eq!(&out.to_vec()[32..], [0x92; 8]);
        assert_eq!(out.to_vec()[0], 0x4924_9249);
        assert_eq!((any.to_vec()[0], any.to_vec()[39]), (2, 3));
    }

    #[test]
    fn a_shuffle_from_a_lane_that_has_returned_is_a_fault() {
        let mut out = SimulatorBuffer::uninitialized(32);
        let fault = fault(simulator::launch(&reads_the_next, LaunchConfig::new(1, 32), (20, &mut out)));
        assert_eq!((fault.kind, fault.thread.x), (FaultKind::ExitedLane { lane: 20 }, 19));
        let mut whole = SimulatorBuffer::uninitialized(32);
        simulator::launch(&reads_the_next, LaunchConfig::new(1, 32), (32, &mut whole)).unwrap();
    }
}

mod limits {
    use super::*;

    #[kernel]
    fn late_reader(barriers: u32, out: GlobalMut<u32>) {
        let s = shared_array![u32; 2];
        let t = thread::thread_idx_x() as usize;
        if t == 0 {
            s.set(0, 7);
        }
        for _ in 0..barriers {
            thread::sync_threads();
        }
        if t == 1 {
            out.set(0, s.get(0));
        }
    }

    #[kernel]
    fn late_writers(barriers: u32, out: GlobalMut<u32>) {
        let t = thread::thread_idx_x();
        for _ in 0..barriers {
            thread::sync_threads();
        }
        out.set(0, t);
    }

    #[test]
    fn accesses_before_millions_of_barriers_are_ordered() {
        const EPOCHS: u32 = (1 << 22) - 1;
        for barriers in [EPOCHS - 1, EPOCHS, EPOCHS + 1, 1 << 22, (1 << 22) + 1] {
            let mut out = SimulatorBuffer::filled(0, 1);
            simulator::launch(&late_reader, LaunchConfig::new(1, 2), (barriers, &mut out)).unwrap();
            assert_eq!(out.to_vec(), [7], "{barriers} barriers");
            let fault = fault(simulator::launch(&late_writers, LaunchConfig::new(1, 2), (barriers, &mut out)));
            assert!(matches!(fault.kind, FaultKind::Race { .. }), "{barriers} barriers");
        }
    }

    #[kernel]
    fn local(x: &[f32], out: GlobalMut<f32>) {
        let i = thread::index_1d() as usize;
        let mut a = [0f32; 16384];
        for k in 0..x.len() {
            a[(k * 37 + i) % 16384] += x[k];
        }
        let mut s = 0.0;
        for (k, value) in a.iter().enumerate() {
            s += value * (k % 3) as f32;
        }
        out.set(i, s);
    }

    #[test]
    fn a_local_array_of_64_kib_fits() {
        let x: Vec<f32> = (0..100).map(|k| k as f32).collect();
        let mut out = SimulatorBuffer::uninitialized(3);
        simulator::launch(&local, LaunchConfig::new(1, 3), (&SimulatorBuffer::from_slice(&x), &mut out)).unwrap();
        assert_eq!(out.to_vec(), [4917.0, 4917.0, 5016.0]);
    }

    #[cfg(unix)]
    fn depth(n: u32) -> u32 {
        let mut room = std::hint::black_box([n; 64]);
        if n == 0 {
            return 0;
        }
        room[n as usize % 64] = depth(n - 1);
        std::hint::black_box(&room)[n as usize % 64] + 1
    }

    #[cfg(unix)]
    #[kernel]
    fn recurses(n: u32, out: GlobalMut<u32>) {
        out.set(thread::index_1d() as usize, depth(n));
    }

    /// A stack overflow ends the process; this test runs itself again to read what it says.
    #[cfg(unix)]
    #[test]
    fn a_stack_overflow_names_the_thread() {
        const CHILD: &str = "STACK_OVERFLOW_CHILD";
        if std::env::var_os(CHILD).is_some() {
            let mut out = SimulatorBuffer::uninitialized(2);
            _ = simulator::launch(&recurses, LaunchConfig::new(1, 2), (100_000_000, &mut out));
            unreachable!("the stack holds all calls");
        }
        let mut out = SimulatorBuffer::uninitialized(2);
        simulator::launch(&recurses, LaunchConfig::new(1, 2), (1000, &mut out)).unwrap();
        assert_eq!(out.to_vec(), [1000, 1000]);
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["limits::a_stack_overflow_names_the_thread", "--exact", "--nocapture"]).env(CHILD, "1");
        let output = child.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(
            text.contains("kernel recurses, block (0, 0, 0), thread (0, 0, 0), ")
                && text.contains("kernels_of_others.rs:")
                && text.contains("stack overflow: local arrays and nested calls need more than 655360 bytes"),
            "{text}"
        );
    }

    #[kernel]
    fn endless(x: &[u32], out: GlobalMut<u32>) {
        let mut n = x[0];
        while n != 1 {
            n = if n.is_multiple_of(2) { n / 2 } else { n };
        }
        out.set(thread::index_1d() as usize, n);
    }

    #[kernel]
    fn waits(flag: GlobalMut<u32>) {
        let wait = || loop {
            if flag.atomic(0).fetch_add(0) == 1 {
                break;
            }
        };
        wait();
    }

    #[test]
    fn an_endless_loop_is_a_fault_at_its_line() {
        let options = Options { loop_iterations: 1_000_000, ..Options::default() };
        let run = |first: u32| {
            let mut out = SimulatorBuffer::uninitialized(1);
            let x = SimulatorBuffer::from_slice(&[first]);
            simulator::launch_with(options.clone(), &endless, LaunchConfig::new(1, 1), (&x, &mut out))
        };
        run(1 << 20).unwrap();
        let found = fault(run(3));
        assert_eq!(found.kind, FaultKind::Endless { iterations: 1_000_000 });
        let line = include_str!("kernels_of_others.rs").lines().position(|line| line.contains("while n != 1")).unwrap();
        assert_eq!((found.location.line as usize, found.kernel), (line + 1, "endless"));
        let mut flag = SimulatorBuffer::filled(0, 1);
        let found = fault(simulator::launch_with(options, &waits, LaunchConfig::new(1, 1), (&mut flag,)));
        assert!(matches!(found.kind, FaultKind::Endless { .. }), "{found}");
    }
}

mod in_a_function {
    use super::*;

    /// The steps of 3n + 1 to 1, with a mistake: an odd number stays as it is.
    fn steps(mut n: u32) -> u32 {
        let mut steps = 0_u32;
        while n != 1 {
            n = if n.is_multiple_of(2) { n / 2 } else { std::hint::black_box(n) };
            steps = steps.wrapping_add(1);
        }
        steps
    }

    #[kernel]
    fn counts_steps(x: &[u32], out: GlobalMut<u32>) {
        let i = thread::index_1d() as usize;
        out.set(i, steps(x[i]));
    }

    fn wait_for(flag: GlobalMut<u32>) {
        while flag.get(0) == 0 {}
    }

    #[kernel]
    fn waits_in_a_function(flag: GlobalMut<u32>) {
        if thread::thread_idx_x() == 2 {
            wait_for(flag);
        }
    }

    fn brief() -> Options {
        Options { thread_accesses: u64::MAX, thread_seconds: 1, ..Options::default() }
    }

    #[test]
    fn a_thread_that_reads_memory_for_ever_is_a_fault_at_its_line() {
        for check_races in [true, false] {
            let mut flag = SimulatorBuffer::filled(0, 1);
            let options = Options { check_races, ..brief() };
            let found =
                fault(simulator::launch_with(options, &waits_in_a_function, LaunchConfig::new(1, 4), (&mut flag,)));
            assert!(matches!(found.kind, FaultKind::Overdue { seconds } if seconds >= 1), "{found}");
            let line = include_str!("kernels_of_others.rs")
                .lines()
                .position(|line| line.contains("while flag.get(0)"))
                .unwrap();
            assert_eq!((found.location.line as usize, found.thread.x), (line + 1, 2));
        }
        let mut flag = SimulatorBuffer::filled(1, 1);
        simulator::launch_with(brief(), &waits_in_a_function, LaunchConfig::new(1, 4), (&mut flag,)).unwrap();
    }

    /// Code that calls nothing of the simulator ends with the process; this test runs itself again to read what it says.
    #[test]
    fn a_thread_that_computes_for_ever_ends_the_process_by_its_name() {
        const CHILD: &str = "ENDLESS_CHILD";
        if std::env::var_os(CHILD).is_some() {
            let (x, mut out) = (SimulatorBuffer::from_slice(&[8, 16, 3]), SimulatorBuffer::uninitialized(3));
            _ = simulator::launch_with(brief(), &counts_steps, LaunchConfig::new(1, 3), (&x, &mut out));
            unreachable!("the loop ends");
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        // Without --nocapture: the sentence must not be lost with the output that the harness keeps.
        child.args(["in_a_function::a_thread_that_computes_for_ever_ends_the_process_by_its_name", "--exact"]);
        let output = child.env(CHILD, "1").output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(
            text.contains("kernel counts_steps, block (0, 0, 0), thread (2, 0, 0), ")
                && text.contains("kernels_of_others.rs:")
                && text.contains(": the kernel does not end: the thread has run for ")
                && text.contains(
                    " s without a barrier or an access to memory. Correct the condition of its loop, or allow more by "
                ),
            "{text}"
        );
    }
}

mod subnormals {
    use super::*;

    #[kernel]
    fn total(x: &[f32], sum: GlobalMut<f32>, in_shared: GlobalMut<f32>) {
        let i = thread::index_1d() as usize;
        let s = shared_array![f32; 1];
        if i == 0 {
            s.set(0, 0.0);
        }
        thread::sync_threads();
        if i < x.len() {
            sum.atomic(0).fetch_add(x[i]);
            s.atomic(0).fetch_add(x[i]);
        }
        thread::sync_threads();
        if i == 0 {
            in_shared.set(0, s.get(0));
        }
    }

    #[test]
    fn atomic_sums_in_global_memory_have_no_subnormal_numbers() {
        let run = |x: &[f32], start: f32| {
            let (mut sum, mut shared) = (SimulatorBuffer::filled(start, 1), SimulatorBuffer::filled(0.0, 1));
            let x = SimulatorBuffer::from_slice(x);
            simulator::launch(&total, LaunchConfig::new(1, 32), (&x, &mut sum, &mut shared)).unwrap();
            [sum.to_vec()[0].to_bits(), shared.to_vec()[0].to_bits()]
        };
        assert_eq!(run(&[1e-40, 1e-40], 0.0), [0, (1e-40_f32 + 1e-40).to_bits()]);
        assert_eq!(run(&[-1e-40], -0.0)[0], (-0.0_f32).to_bits());
        assert_eq!(run(&[f32::MIN_POSITIVE], 1e-40)[0], f32::MIN_POSITIVE.to_bits());
        // The sum of two normal numbers may be subnormal.
        assert_eq!(run(&[-f32::MIN_POSITIVE], 1.5 * f32::MIN_POSITIVE)[0], 0);
    }
}

mod names {
    use super::*;

    #[kernel]
    fn sum(x: &[f32], out: GlobalMut<f32>) {
        let mut sum = 0.0;
        for i in 0..x.len() {
            sum += x[i];
        }
        if thread::index_1d() == 0 {
            out.set(0, sum);
        }
    }

    #[kernel]
    fn scale(x: GlobalMut<f32>, scale: f32) {
        let i = thread::index_1d() as usize;
        if i < x.len() {
            x.set(i, x.get(i) * scale);
        }
    }

    #[kernel]
    fn invert(raw: &[u8], out: GlobalMut<u8>) {
        let i = thread::index_1d() as usize;
        if i < out.len() {
            out.set(i, 255 - raw[i]);
        }
    }

    #[kernel]
    fn pull(body: &[f32], out: GlobalMut<f32>) {
        let i = thread::index_1d() as usize;
        if i < out.len() {
            out.set(i, 2.0 * body[i]);
        }
    }

    #[kernel]
    fn first(x: &[f32], x_length: u32, x_pointer: u32, out: GlobalMut<f32>) {
        if x_length > x_pointer {
            out.set(thread::index_1d() as usize, x[0]);
        }
    }

    /// A variable of another function with the name of a kernel.
    fn count() -> u32 {
        let sum = 3;
        let scale = |first: u32| first + sum;
        scale(4)
    }

    #[test]
    fn kernels_and_parameters_have_any_name() {
        let x = SimulatorBuffer::from_slice(&[1.0, 2.0, 3.0, 4.0]);
        let mut out = SimulatorBuffer::filled(0.0, 4);
        simulator::launch(&sum, LaunchConfig::new(1, 1), (&x, &mut out)).unwrap();
        assert_eq!(out.to_vec()[0], 10.0);
        simulator::launch(&pull, LaunchConfig::new(1, 4), (&x, &mut out)).unwrap();
        simulator::launch(&scale, LaunchConfig::new(1, 4), (&mut out, 3.0)).unwrap();
        assert_eq!(out.to_vec(), [6.0, 12.0, 18.0, 24.0]);
        simulator::launch(&first, LaunchConfig::new(1, 1), (&x, 2, 1, &mut out)).unwrap();
        assert_eq!(out.to_vec()[0], 1.0);
        let mut bytes = SimulatorBuffer::filled(0, 2);
        simulator::launch(&invert, LaunchConfig::new(1, 2), (&SimulatorBuffer::from_slice(&[0, 250]), &mut bytes))
            .unwrap();
        assert_eq!((bytes.to_vec(), count()), (vec![255, 5], 7));
    }
}

mod made_by_macro_rules {
    use super::*;

    macro_rules! twice {
        ($name:ident, $x:ident, $i:ident, $e:expr) => {
            #[kernel]
            fn $name($x: &[f32], out: GlobalMut<f32>) {
                let $i = thread::index_1d() as usize;
                out.set($i, 2.0 * $e);
            }
        };
    }
    twice!(twice_sum, x, i, x[i] + 1.0);
    twice!(twice_negated, x, i, -x[i]);
    twice!(twice_cast, x, i, x[i] as f64 as f32 - 1.0);
    twice!(twice_chosen, x, i, if x[i] > 1.5 { x[i] } else { 0.0 });

    macro_rules! axpy {
        ($name:ident, $t:ty) => {
            #[kernel]
            fn $name(a: $t, x: &[$t], y: GlobalMut<$t>) {
                let i = thread::index_1d() as usize;
                if i < y.len() {
                    y.set(i, a * x[i] + y.get(i));
                }
            }
        };
    }
    axpy!(axpy_f32, f32);
    axpy!(axpy_f64, f64);

    macro_rules! apply {
        ($name:ident, $f:expr, $n:literal, $size:expr, $body:block) => {
            #[kernel]
            fn $name(x: &[f32], out: GlobalMut<f32>) {
                let i = thread::index_1d() as usize;
                let tile = shared_array![f32; $size * 2];
                tile.set(i, $f(x[i]));
                thread::sync_threads();
                assert!($size * 2 == tile.len());
                $body
                let mut k = 0;
                while k < $n {
                    k += 1;
                }
                out.set(i, tile.get(i) + k as f32);
            }
        };
    }
    apply!(with_closure, |v| v * 10.0, 3, 2 + 2, {
        thread::sync_threads();
    });

    #[test]
    fn fragments_keep_their_meaning() {
        let x = SimulatorBuffer::from_slice(&[1.0, 2.0, 3.0]);
        let mut out = SimulatorBuffer::filled(0.0, 3);
        let config = LaunchConfig::new(1, 3);
        simulator::launch(&twice_sum, config, (&x, &mut out)).unwrap();
        assert_eq!(out.to_vec(), [4.0, 6.0, 8.0]);
        simulator::launch(&twice_negated, config, (&x, &mut out)).unwrap();
        assert_eq!(out.to_vec(), [-2.0, -4.0, -6.0]);
        simulator::launch(&twice_cast, config, (&x, &mut out)).unwrap();
        assert_eq!(out.to_vec(), [0.0, 2.0, 4.0]);
        simulator::launch(&twice_chosen, config, (&x, &mut out)).unwrap();
        assert_eq!(out.to_vec(), [0.0, 4.0, 6.0]);
        simulator::launch(&with_closure, config, (&x, &mut out)).unwrap();
        assert_eq!(out.to_vec(), [13.0, 23.0, 33.0]);
        let mut y = SimulatorBuffer::from_slice(&[10.0, 20.0, 30.0]);
        simulator::launch(&axpy_f32, config, (2.0, &x, &mut y)).unwrap();
        assert_eq!(y.to_vec(), [12.0, 24.0, 36.0]);
        let mut y = SimulatorBuffer::from_slice(&[1.0_f64]);
        simulator::launch(&axpy_f64, config, (0.5, &SimulatorBuffer::from_slice(&[4.0]), &mut y)).unwrap();
        assert_eq!(y.to_vec(), [3.0]);
    }
}

mod floats {
    use super::*;

    #[kernel]
    fn wave(x: &[f32], out: GlobalMut<f32>) {
        let i = thread::index_1d() as usize;
        if i < out.len() {
            let (y, z) = (x[i], &x[i]);
            let square = |v: f32| v.powi(2);
            println!("x = {y}");
            out.set(
                i,
                y.sin() + z.cos() + (y + 1.0).exp().ln() + square(y.floor()) + y.atan2(2.0) + y.sqrt().mul_add(y, 1.0),
            );
        }
    }

    /// A type with methods of these names.
    #[derive(Clone, Copy)]
    struct Angle(f32);

    impl Angle {
        fn sin(self) -> f32 {
            self.0 + 100.0
        }

        fn round(&self) -> f32 {
            self.0 + 200.0
        }
    }

    #[kernel]
    fn of_its_own(out: GlobalMut<f32>) {
        let angle = Angle(1.0);
        out.set(0, angle.sin());
        out.set(1, angle.round());
    }

    #[test]
    fn methods_of_floats_have_the_bits_of_libm() {
        let values = [0.0_f32, 0.5, 1.0, 2.75, 10.0, 1e-30, 1e10];
        let mut out = SimulatorBuffer::uninitialized(values.len());
        let x = SimulatorBuffer::from_slice(&values);
        simulator::launch(&wave, LaunchConfig::new(1, 32), (&x, &mut out)).unwrap();
        for (y, found) in values.into_iter().zip(out.to_vec()) {
            let expected = libm::sinf(y)
                + libm::cosf(y)
                + libm::logf(libm::expf(y + 1.0))
                + libm::floorf(y) * libm::floorf(y)
                + libm::atan2f(y, 2.0)
                + libm::fmaf(libm::sqrtf(y), y, 1.0);
            assert_eq!(found.to_bits(), expected.to_bits(), "{y}");
        }
        let mut out = SimulatorBuffer::uninitialized(2);
        simulator::launch(&of_its_own, LaunchConfig::new(1, 1), (&mut out,)).unwrap();
        assert_eq!(out.to_vec(), [101.0, 201.0]);
    }
}
