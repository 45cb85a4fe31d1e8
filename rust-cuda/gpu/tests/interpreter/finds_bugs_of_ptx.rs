//! Bugs that only handwritten PTX can have, because rustc never emits them, are reported at their
//! PTX line.
//!
//! A comment `shows: name` in the PTX marks that line.

use crate::interpreters::{fault_of, with_and_without_races};
use cuda_std::{Dim3, GlobalMut, LaunchConfig, PtxVariant, kernel};
use gpu::InterpreterOptions;
use ptx_interpreter::memory::AccessError;
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{Access, Fault, FaultKind};

// SAFETY: only the interpreter, which checks every access, runs it.
#[allow(unsafe_code)]
const PTX: PtxVariant = unsafe { PtxVariant::new((7, 5), include_str!("interpreters/bugs_of_ptx.ptx")) };

/// The intended behavior of the PTX with this name: out[i] = i, through shared memory.
#[kernel]
pub fn generic_without_cvta(out: GlobalMut<u32>) {
    let i = cuda_std::thread::index_1d();
    out.set(i as usize, i);
}

/// The intended behavior of the PTX with this name: out[0] = 7, through shared memory.
#[kernel]
pub fn generic_that_hits(out: GlobalMut<u32>) {
    out.set(0, 7);
}

/// The intended behavior of the PTX with this name: out[i] = 1.
#[kernel]
pub fn vector_load_of_a_low_alignment(out: GlobalMut<f32>) {
    out.set(cuda_std::thread::index_1d() as usize, 1.0);
}

/// Asserts that the error is at the marked PTX line, which has no Rust source line.
fn assert_at_mark(fault: &Fault, name: &str) {
    let mark = format!("// shows: {name}");
    let (number, line) = PTX.text().lines().enumerate().find(|(_, line)| line.ends_with(&mark)).expect("a mark");
    assert_eq!(fault.place.line as usize, number + 1, "{fault}");
    assert_eq!(fault.place.source, None);
    let instruction = line.split("; //").next().unwrap().trim();
    assert_eq!(&*fault.place.text, instruction);
}

#[test]
fn an_offset_in_shared_memory_as_a_generic_address() {
    with_and_without_races(&[PTX], |device| {
        let mut out = device.uninitialized(32).unwrap();
        let error = device.launch(&generic_without_cvta, LaunchConfig::new(1, 32), (&mut out,)).unwrap_err();
        let fault = fault_of(&generic_without_cvta, &error);
        assert_at_mark(&fault, "generic_without_cvta");
        let FaultKind::Access { access: Access::Write, error: AccessError::WrongSpace { bytes: 4, looks_like, .. } } =
            fault.kind
        else {
            panic!("{fault}")
        };
        assert_eq!((looks_like, fault.thread), (Space::Shared, Dim3::default()));
        assert!(error.to_string().ends_with("this looks like an offset in shared memory; cvta.shared is missing"));
    });
}

/// A stray store to another buffer of the launch cannot be distinguished from a correct one. Only
/// the result is wrong.
#[test]
fn a_generic_address_that_hits_something_else_by_accident() {
    with_and_without_races(&[PTX], |device| {
        let mut out = device.buffer_from_slice(&[1, 1, 1]).unwrap();
        device.launch(&generic_that_hits, LaunchConfig::new(1, 1), (&mut out,)).unwrap();
        // The intended result is 7, 1, 1.
        assert_eq!(out.to_vec().unwrap(), [0, 7, 1]);
    });
}

#[test]
fn a_vector_in_an_array_that_is_not_aligned_for_it() {
    with_and_without_races(&[PTX], |device| {
        let mut out = device.uninitialized(8).unwrap();
        let launched = device.launch(&vector_load_of_a_low_alignment, LaunchConfig::new(1, 8), (&mut out,));
        let fault = fault_of(&vector_load_of_a_low_alignment, &launched.unwrap_err());
        assert_at_mark(&fault, "vector_load_of_a_low_alignment");
        let FaultKind::Access { error: AccessError::Misaligned { address, alignment: 16, space }, access } = fault.kind
        else {
            panic!("{fault}")
        };
        assert_eq!((address % 16, space, access), (4, Space::Shared, Access::Read));
        assert_eq!(fault.thread, Dim3::default());
    });
}

/// Without a Rust source line, the message contains the PTX line.
#[test]
fn a_faults_message_has_kernel_thread_line_and_cause() {
    let device = crate::interpreters::device(&PTX, InterpreterOptions::default());
    let mut out = device.uninitialized(32).unwrap();
    let error = device.launch(&generic_without_cvta, LaunchConfig::new(1, 32), (&mut out,)).unwrap_err();
    let expected = "kernel generic_without_cvta, block (0, 0, 0), thread (0, 0, 0), \
                    PTX line 20 `st.u32 [%p], %thread`: writes 4 bytes at 0x400 of global memory: \
                    this looks like an offset in shared memory; cvta.shared is missing";
    assert_eq!(error.to_string(), expected);
}
