//! Unsupported or malformed PTX is rejected with its line. Invalid launches are rejected too.

use crate::support::kernel::Kernel;
use cuda_launch::{Dim3, LaunchConfig, LimitError};
use ptx_interpreter::{LaunchError, LoadError, Machine, Options, Problem};

/// The problem for which the statement is rejected. The error must have the statement's line and
/// text.
#[track_caller]
fn problem_of(declarations: &str, statement: &str) -> Problem {
    let kernel = Kernel::new(format!("add.u32 r0, r0, 1;\n{statement}\nret;")).declare(declarations);
    let error = kernel.load_error();
    let LoadError::Statement { line, text, problem } = &error else { panic!("{error}") };
    let expected = kernel.text().lines().position(|line| line == statement).expect("the statement has a line") + 1;
    assert_eq!(*line as usize, expected, "{error}");
    assert!(statement.contains(text), "{text} is not in {statement}");
    let message = error.to_string();
    assert!(message.starts_with(&format!("PTX line {line}: ")) && message.contains(text), "{message}");
    problem.clone()
}

#[test]
fn unknown_instructions_and_forms_are_rejected() {
    for statement in [
        "frobnicate.u32 r0, r1;",
        "add.u33 r0, r1, r2;",
        "add.u32.rn r0, r1, r2;",
        "add.rn.u32 r0, r1, r2;",
        "mul.u32 r0, r1, r2;",
        "cvt.u32 r0, r1;",
        "setp.lt.b32 p0, r0, r1;",
        "setp.xx.u32 p0, r0, r1;",
        "shl.u32 r0, r1, r2;",
    ] {
        let problem = problem_of("", statement);
        assert!(matches!(problem, Problem::UnknownForm(_)), "{statement}: {problem}");
    }
}

#[test]
fn an_unknown_instruction_is_named_before_its_operands() {
    for (statement, expected) in [
        ("frobnicate.u32 r0, %tid.x, r1;", "frobnicate is not a known instruction"),
        ("add.u33 r0, %tid.x, r1;", "add has no form add.u33: check its modifiers and their order"),
        ("vadd.u32.u32.u32 r0, %tid.x, r1;", "this instruction of PTX is not supported"),
        (
            "add.u32 r0, %tid.x, r1;",
            "operand 2 must be an operand other than a special register, which only mov and cvt accept",
        ),
    ] {
        assert_eq!(problem_of("", statement).to_string(), expected, "{statement}");
    }
}

#[test]
fn valid_ptx_that_is_missing_is_told_from_invalid_ptx() {
    for (statement, is_unsupported) in [
        ("sured.b.add.1d.u32.trap [d0, {r0}], r1;", true),
        ("movmatrix.sync.aligned.m8n8.trans.b16 r0, r1;", true),
        ("frobnicate.u32 r0, r1;", false),
        ("add.u33 r0, r1, r2;", false),
        ("add.u32 r0, r1;", false),
        ("add.u32 r0, r1, missing;", false),
    ] {
        let error = Kernel::new(format!("{statement}\nret;")).load_error();
        assert_eq!(error.is_unsupported(), is_unsupported, "{statement}: {error}");
    }
}

#[test]
fn unknown_modifiers_are_rejected_and_never_skipped() {
    for statement in [
        "ld.global.fast.u32 r0, [d0];",
        "ld.v4.global.u32 {r0, r1, r2, r3}, [d0];",
        "ld.release.gpu.global.u32 r0, [d0];",
        "st.acquire.gpu.global.u32 [d0], r0;",
        "ld.shared.nc.u32 r0, [d0];",
        "st.global.nc.u32 [d0], r0;",
        "bar.sync.relaxed 0;",
        "shfl.sync.left.b32 r0, r1, 1, 31, -1;",
        "shfl.sync.up.u32 r0, r1, 1, 31, -1;",
        "shfl.up.b32 r0, r1, 1, 31;",
        "vote.sync.most.pred p0, p1, -1;",
        "vote.sync.all.b32 r0, p1, -1;",
        "match.sync.any.b32 r0, r1, -1;",
        "redux.sync.mul.u32 r0, r1, -1;",
        "cvta.nowhere.u64 d0, d1;",
        "isspacep.generic p0, d0;",
        "prefetch.global.L3 [d0];",
        "griddepcontrol;",
        "griddepcontrol.arrive;",
        "ret.maybe;",
        "mov.wide.u32 r0, r1;",
        "fence.proxy.generic;",
        "fence.proxy.async.local;",
        "fence.acq_rel;",
        "fence.acq_rel.sc.gpu;",
        "atom.volatile.global.add.u32 r0, [d0], 1;",
        "atom.acquire.release.gpu.global.add.u32 r0, [d0], 1;",
        "ld.acquire.global.u32 r0, [d0];",
        "ld.gpu.global.u32 r0, [d0];",
        "ld.volatile.gpu.global.u32 r0, [d0];",
        "cp.async.cb.shared.global [r0], [d0], 4;",
    ] {
        let problem = problem_of("", statement);
        assert!(matches!(problem, Problem::Modifier(_) | Problem::Missing(_)), "{statement}: {problem}");
    }
}

#[test]
fn registers_have_the_width_of_the_type() {
    for (statement, register, found, expected) in [
        ("add.u32 r0, d1, r2;", "d1", 64, 32),
        ("add.u32 d0, r1, r2;", "d0", 64, 32),
        ("add.u64 d0, d1, r2;", "r2", 32, 64),
        ("add.f64 d0, r1, d2;", "r1", 32, 64),
        ("mov.u32 r0, d0;", "d0", 64, 32),
        ("mov.u16 r0, h0;", "r0", 32, 16),
        ("mov.u64 d0, %tid.x;", "%tid.x", 32, 64),
        ("mov.u16 h0, %ctaid.x;", "%ctaid.x", 32, 16),
        ("mov.b64 {r0, h1}, d0;", "h1", 16, 32),
        ("mov.b64 d0, {r0, d1};", "d1", 64, 32),
        ("mul.wide.u32 r0, r1, r2;", "r0", 32, 64),
        ("ld.global.u64 r0, [d0];", "r0", 32, 64),
        ("ld.global.f32 h0, [d0];", "h0", 16, 32),
        ("st.global.u64 [d0], r0;", "r0", 32, 64),
        ("atom.global.add.u64 d0, [d1], r0;", "r0", 32, 64),
        ("selp.b32 r0, r1, d0, p0;", "d0", 64, 32),
        ("setp.lt.u32 p0, r0, h0;", "h0", 16, 32),
        ("shl.b64 d0, d1, d2;", "d2", 64, 32),
        ("shfl.sync.up.b32 d0, r1, 1, 0, -1;", "d0", 64, 32),
        ("vote.sync.ballot.b32 h0, p0, -1;", "h0", 16, 32),
        ("cvta.shared.u64 d0, r0;", "r0", 32, 64),
        ("bar.sync d0;", "d0", 64, 32),
        ("cvt.u64.u32 d0, h0;", "h0", 16, 32),
    ] {
        let register = register.to_owned();
        assert_eq!(problem_of("", statement), Problem::Width { register, found, expected }, "{statement}");
    }
    assert_eq!(
        problem_of(".global .u32 cells;", "mov.u32 r0, cells;"),
        Problem::Width { register: "cells".to_owned(), found: 32, expected: 64 }
    );
}

#[test]
fn names_are_declared_once_and_visible_in_their_scope() {
    for (statement, name) in [
        ("add.u32 r0, unknown, r1;", "unknown"),
        ("add.u32 unknown, r0, r1;", "unknown"),
        ("@unknown add.u32 r0, r0, r1;", "unknown"),
        ("ld.global.u32 r0, [unknown];", "unknown"),
        ("mov.u64 d0, unknown+4;", "unknown"),
        ("bra unknown;", "unknown"),
        ("brx.idx r0, unknown;", "unknown"),
        ("setp.lt.u32 p0|unknown, r0, r1;", "unknown"),
        ("and.pred p0, p1, unknown;", "unknown"),
        ("mov.u32 r0, r60;", "r60"),
        ("mov.u32 r0, %tid;", "%tid"),
        ("mov.u32 r0, %tid.q;", "%tid.q"),
        ("{ .reg .u32 inner; } add.u32 r0, inner, r1;", "inner"),
        ("call unknown;", "unknown"),
    ] {
        if statement.contains("%tid.q") {
            let error = Kernel::new(format!("{statement} ret;")).load_error();
            assert!(matches!(error, LoadError::Syntax(_)), "{error}");
            continue;
        }
        assert_eq!(problem_of("", statement), Problem::Undeclared(name.to_owned()), "{statement}");
    }
    assert_eq!(problem_of("", ".reg .u32 tid;"), Problem::DeclaredTwice("tid".to_owned()));
    // An inner scope has its own names.
    let kernel = Kernel::new("{ .reg .u32 tid; mov.u32 tid, 5; } st.global.u32 [cell], tid; ret;");
    assert_eq!(kernel.words(4), [0, 1, 2, 3]);
}

#[test]
fn operands_have_the_count_and_kinds_of_the_instruction() {
    for statement in [
        "add.u32 r0, r1;",
        "add.u32 r0, r1, r2, r3;",
        "mov.u32 r0;",
        "ld.global.u32 r0;",
        "st.global.u32 [d0];",
        "selp.u32 r0, r1, r2;",
        "ret r0;",
        "bar.sync;",
        "bar.arrive 1;",
        "bar.sync 1, 32, 32;",
        "membar.gl r0;",
        "shfl.sync.up.b32 r0, r1, 1, 0;",
        "vote.sync.all.pred p0, p1;",
        "activemask.b32;",
        "cp.async.commit_group 1;",
        "setp.lt.u32 p0, r0;",
        "not.pred p0, p1, p2;",
        "bra;",
        "isspacep.shared p0;",
    ] {
        let problem = problem_of("", statement);
        assert!(matches!(problem, Problem::OperandCount { .. }), "{statement}: {problem}");
    }
    for statement in [
        "add.u32 r0, r1, %tid.x;",
        "add.u32 5, r1, r2;",
        "add.u32 p0, r1, r2;",
        "add.u32 r0, p0, r2;",
        "add.u32 r0, [d0], r2;",
        "ld.global.u32 r0, d0;",
        "ld.global.u32 {r0, r1}, [d0];",
        "ld.global.v2.u32 r0, [d0];",
        "ld.global.v2.u32 {r0, r1, r2}, [d0];",
        "ld.global.v2.u16 {h0, r0}, [d0];",
        "setp.lt.u32 r0, r1, r2;",
        "selp.u32 r0, r1, r2, r3;",
        "bra r0;",
        "brx.idx r0, tid;",
        "ld.global.u32 r0, [h0];",
        "ld.global.u32 r0, [p0];",
        "and.pred p0, p1, r0;",
        "mov.b64 {r0, r1, r2}, d0;",
        "vote.sync.all.pred r0, p0, -1;",
        "match.any.sync.b32 r0|p0, r1, -1;",
        "cp.async.wait_group r0;",
        "ld.shared.u32 r0, [kernel_input];",
        "ld.u32 r0, [kernel_input];",
        "@r0 add.u32 r0, r1, r2;",
    ] {
        let problem = problem_of("", statement);
        assert!(matches!(problem, Problem::Operand { .. }), "{statement}: {problem}");
    }
}

#[test]
fn special_registers_that_the_isa_does_not_have_are_rejected() {
    for name in ["%pm8", "%pm01", "%pm8_64", "%envreg32", "%clusterid", "%reserved_smem_offset_2"] {
        let statement = format!("mov.u32 r0, {name};");
        assert_eq!(problem_of("", &statement), Problem::SpecialRegister(name.to_owned()), "{name}");
    }
    assert_eq!(problem_of("", "mov.u32 r0, %spid;"), Problem::Undeclared("%spid".to_owned()));
    // One special register is a predicate; others have different widths.
    let name = "%is_explicit_cluster";
    assert_eq!(problem_of("", "mov.u32 r0, %is_explicit_cluster;"), Problem::SpecialRegister(name.to_owned()));
    assert_eq!(problem_of("", "selp.u32 r0, 1, 0, %is_explicit_cluster;"), Problem::SpecialRegister(name.to_owned()));
    for (statement, register, found, expected) in [
        ("mov.u64 d0, %smid;", "%smid", 32, 64),
        ("mov.u64 d0, %reserved_smem_offset_end;", "%reserved_smem_offset_end", 32, 64),
        ("mov.u32 r0, %current_graph_exec;", "%current_graph_exec", 64, 32),
        ("mov.u32 r0, %pm0_64;", "%pm0_64", 64, 32),
        ("mov.u32 r0, %clock64;", "%clock64", 64, 32),
    ] {
        let register = register.to_owned();
        assert_eq!(problem_of("", statement), Problem::Width { register, found, expected }, "{statement}");
    }
    for statement in ["add.u32 r0, r0, %smid;", "add.u64 d0, d0, %gridid;", "add.u64 d0, d0, %clock64;"] {
        let problem = problem_of("", statement);
        assert!(matches!(problem, Problem::Operand { .. }), "{statement}: {problem}");
    }
}

#[test]
fn unsupported_features_of_ptx_are_reported_as_such() {
    for statement in [
        ".reg .b128 wide;",
        ".reg .v4 .f32 vector;",
        "ld.global.b128 d0, [d1];",
        "ld.global.v8.f32 {r0, r1, r2, r3, r4, r5, r6, r7}, [d0];",
        "atom.global.add.f16x2 r0, [d0], r1;",
    ] {
        let problem = problem_of("", statement);
        assert!(matches!(problem, Problem::Unsupported(_) | Problem::Modifier(_)), "{statement}: {problem}");
    }
    let other = Kernel::new("ret;").declare(".extern .global .u32 elsewhere[4];\n").load_error();
    assert!(matches!(other, LoadError::Statement { problem: Problem::Unsupported(_), .. }), "{other}");
}

#[test]
fn control_does_not_run_past_the_end() {
    for body in ["add.u32 r0, r0, 1;", "bra END; ret; END:", "@p0 ret;", "@p0 bra END; ret; END:"] {
        let error = Kernel::new(body).load_error();
        assert!(matches!(error, LoadError::Statement { problem: Problem::RunsPastTheEnd, .. }), "{body}: {error}");
    }
}

#[test]
fn modules_with_32_bit_addresses_are_rejected() {
    let error = Machine::new(".version 8.0\n.target sm_80\n.address_size 32\n").unwrap_err();
    assert!(matches!(error, LoadError::Syntax(_) | LoadError::AddressSize(32)), "{error}");
    assert!(matches!(Machine::new("no PTX").unwrap_err(), LoadError::Syntax(_)));
}

#[test]
fn a_launch_names_a_kernel_and_passes_its_parameters() {
    let machine = Machine::new(&Kernel::new("ret;").text()).unwrap();
    assert_eq!(machine.kernels().collect::<Vec<_>>(), ["kernel"]);
    assert_eq!((machine.parameter_count("kernel"), machine.parameter_count("other")), (Some(2), None));
    let (config, eight) = (LaunchConfig::new(1, 1), &[0_u8; 8][..]);
    let launch = |kernel: &str, parameters: &[&[u8]]| machine.launch(Options::default(), kernel, config, parameters);
    let error = launch("other", &[eight, eight]).unwrap_err();
    assert!(matches!(&error, LaunchError::NoSuchKernel(name) if name == "other"), "{error}");
    for count in [0, 1, 3] {
        let error = launch("kernel", &vec![eight; count]).unwrap_err();
        assert!(matches!(error, LaunchError::ParameterCount { expected: 2, found, .. } if found == count));
    }
    let error = launch("kernel", &[eight, &[0; 4]]).unwrap_err();
    assert!(matches!(error, LaunchError::ParameterSize { number: 1, expected: 8, bytes: 4, .. }), "{error}");
    assert!(error.fault().is_none());
    // Only the first bytes of a longer slice are used.
    launch("kernel", &[eight, &[0; 100]]).unwrap();
}

#[test]
fn a_block_has_the_shape_that_the_kernel_was_compiled_for() {
    for (directive, block, fits) in [
        (".maxntid 64, 1, 1", Dim3::new(64, 1, 1), true),
        (".maxntid 64, 1, 1", Dim3::new(8, 8, 1), true),
        (".maxntid 64", Dim3::new(65, 1, 1), false),
        (".maxntid 8, 8", Dim3::new(8, 8, 2), false),
        (".reqntid 64, 1, 1", Dim3::new(64, 1, 1), true),
        (".reqntid 64, 1, 1", Dim3::new(32, 1, 1), false),
        (".reqntid 64, 1, 1", Dim3::new(8, 8, 1), false),
        (".reqntid 8, 8", Dim3::new(8, 8, 1), true),
    ] {
        let kernel = Kernel::new("ret;").directive(directive).shape(1, (block.x, block.y, block.z));
        if fits {
            kernel.report();
            continue;
        }
        let error = kernel.launch_error();
        let LaunchError::Threads { block: found, directive: named, .. } = &error else { panic!("{error}") };
        assert_eq!((*found, *named), (block, &directive[..8]), "{error}");
    }
}

#[test]
fn a_block_is_within_the_limits_of_gpus_on_threads_and_memory() {
    let kernel = Kernel::new("ret;");
    for (shaped, limit) in [
        (kernel.clone().shape(0, 32), "EmptyGrid"),
        (kernel.clone().shape(1, 0), "EmptyBlock"),
        (kernel.clone().shape(1, 1025), "Block"),
        (kernel.clone().shape(1, (64, 32)), "Threads"),
        (kernel.clone().shape((1, 65_536), 1), "Grid"),
    ] {
        let error = shaped.output_bytes(16).launch_error();
        let LaunchError::Limit { error, .. } = error else { panic!("{error}") };
        let found = match error {
            LimitError::EmptyGrid { .. } => "EmptyGrid",
            LimitError::EmptyBlock { .. } => "EmptyBlock",
            LimitError::Grid { .. } => "Grid",
            LimitError::Block { .. } => "Block",
            LimitError::Threads { .. } => "Threads",
            _ => "another",
        };
        assert_eq!(found, limit, "{error}");
    }
    let large = Kernel::new("st.shared.u8 [room], 1; ret;").shape(1, 1).declare(".shared .align 16 .b8 room[49152];\n");
    large.clone().dynamic_shared(183_296).report();
    let error = large.dynamic_shared(183_297).launch_error();
    assert!(matches!(error, LaunchError::SharedMemory { limit: Machine::MAX_SHARED_BYTES, .. }), "{error}");
}
