//! `malloc` and `free` in kernels.

use cuda_launch::Search;
use ptx_interpreter::memory::{BadFree, GlobalMemory};
use ptx_interpreter::{FaultKind, LaunchError};

use crate::support::kernel::Kernel;

const DECLARED: &str =
    ".extern .func (.param .b64 pointer) malloc (.param .b64 bytes);\n.extern .func free (.param .b64 pointer);\n";

/// A call to malloc for `bytes`. The pointer is then in the register.
fn malloc(bytes: &str, register: &str) -> String {
    format!(
        "{{ .param .b64 n; .param .b64 q; st.param.b64 [n], {bytes}; call.uni (q), malloc, (n); ld.param.b64 {register}, [q]; }}\n"
    )
}

fn free(register: &str) -> String {
    format!("{{ .param .b64 q; st.param.b64 [q], {register}; call.uni free, (q); }}\n")
}

fn kernel(body: impl Into<String>) -> Kernel {
    Kernel::new(body.into() + "\nret;").declare(DECLARED)
}

#[test]
fn each_thread_has_a_block_of_its_own() {
    let body = malloc("100", "d1")
        + "st.u32 [d1], index; st.u32 [d1+96], tid; bar.sync 0; ld.u32 r1, [d1]; ld.u32 r2, [d1+96]; mad.lo.u32 r1, r1, 1000, r2;
           st.global.u32 [cell], r1;\n"
        + &free("d1");
    let kernel = kernel(body).shape(4, 64).output_bytes(4 * 256);
    for kernel in
        [kernel.clone(), kernel.clone().without_race_checks(), kernel.in_orders(Search { runs: 20, ..Search::TWO })]
    {
        let expected: Vec<u32> = (0..256).map(|index| 1000 * index + index % 64).collect();
        assert_eq!(kernel.words(256), expected);
    }
}

#[test]
fn a_block_that_is_used_again_has_no_past() {
    // 100 blocks of 1 MiB, one after the other, by each of two warps, in a heap of 8 MiB.
    let one = malloc("1048576", "d1")
        + "setp.eq.u64 p1, d1, 0; @p1 trap; st.u32 [d1+1000], tid; ld.u32 r1, [d1+1000]; setp.ne.u32 p1, r1, tid; @p1 trap;\n"
        + &free("d1");
    let body = format!(
        "setp.ne.u32 p2, tid, 0; @p2 ret; mov.u32 r5, 0;\nAGAIN:\n{one} add.u32 r5, r5, 1; setp.lt.u32 p3, r5, 100; @p3 bra AGAIN;"
    );
    kernel(body).shape(2, 32).report();
}

#[test]
fn a_block_is_unwritten_before_its_first_store_and_after_it_is_freed() {
    let read = "ld.u32 r1, [d1+4]; st.global.u32 [cell], r1;\n";
    for body in [
        malloc("8", "d1") + read,
        malloc("8", "d1") + "st.u64 [d1], 5;\n" + &free("d1") + read,
        // Beyond the block's end.
        malloc("4", "d1") + "st.u32 [d1], 5;\n" + read,
    ] {
        let fault = kernel(body).shape(1, 1).output_bytes(4).fault("ld.u32 r1, [d1+4]", 0, 0);
        assert!(fault.to_string().contains("the heap of kernels"), "{fault}");
    }
}

#[test]
fn what_is_not_a_block_is_not_freed() {
    for (body, why) in [
        (malloc("8", "d1") + &free("d1") + &free("d1"), BadFree::NoBlock),
        (malloc("80", "d1") + "add.u64 d1, d1, 32;\n" + &free("d1"), BadFree::NoBlock),
        ("cvta.global.u64 d1, output;\n".to_owned() + &free("d1"), BadFree::NotOnHeap),
        ("mov.u64 d1, 7;\n".to_owned() + &free("d1"), BadFree::NotOnHeap),
    ] {
        let Err(LaunchError::Fault(fault)) = kernel(body).shape(1, 1).output_bytes(64).launched() else {
            panic!("{why:?}")
        };
        assert!(matches!(fault.kind, FaultKind::BadFree { why: found, .. } if found == why), "{fault}");
        assert_eq!(fault.kind.id(), "bad-free");
        assert!(fault.to_string().contains("call.uni free"), "{fault}");
    }
    kernel("mov.u64 d1, 0;\n".to_owned() + &free("d1")).shape(1, 1).report();
}

#[test]
fn threads_race_in_one_block_of_the_heap_too() {
    let body = "setp.ne.u32 p1, tid, 0; @p1 bra OTHERS;\n".to_owned()
        + &malloc("64", "d1")
        + "st.global.u64 [output], d1;\nOTHERS: bar.sync 0; ld.global.u64 d1, [output]; st.u32 [d1], tid;";
    let fault = kernel(body).shape(1, 64).output_bytes(8).fault("st.u32 [d1], tid", 0, 1);
    assert!(matches!(fault, FaultKind::Race { .. }), "{fault}");
}

#[test]
fn malloc_returns_0_where_the_heap_has_no_room() {
    for bytes in ["8388608", "0xFFFFFFFFFFFFFFFF"] {
        assert_eq!(
            kernel(malloc(bytes, "d1") + "st.global.u64 [cell8], d1;").shape(1, 1).output_bytes(8).words8(1),
            [0]
        );
    }
    let mut memory = GlobalMemory::new(1 << 30);
    assert!(memory.set_heap_bytes(64 << 20));
    memory.make_heap().unwrap();
    assert!(!memory.set_heap_bytes(8 << 20));
    let view = memory.view();
    assert!(view.heap().unwrap().allocate(32 << 20).is_some());
}
