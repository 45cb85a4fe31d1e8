//! With a real toolchain, kernels compile to PTX that NVIDIA's assembler accepts.

mod support;

use std::path::{Path, PathBuf};

use cuda_builder::{Arch, Comparison, CudaBuilder, Origin, PtxasError, find_ptxas, generic_accesses, ptxas};
use cuda_launch::{LaunchConfig, Overflow};
use ptx_interpreter::{FaultKind, LaunchError, Machine, Options};
use support::{Sandbox, real_toolchain};
use test_support::{Need, skip};

/// A target directory for each architecture, shared by all tests and runs: `core` is compiled once per architecture,
/// and builds for two architectures do not wait for each other.
fn target_dir(arch: Arch) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("nvptx").join(arch.to_string())
}

fn builder(sandbox: &Sandbox, arch: Arch) -> CudaBuilder {
    let builder = CudaBuilder::new(sandbox.path("kernels")).arch(arch).target_dir(target_dir(arch));
    builder.committed_dir(sandbox.path("kernels/ptx")).launch_bounds("turn_round", 256, 4)
}

fn kernels_build_for(arch: Arch) {
    let Some(toolchain) = real_toolchain(arch) else { return };
    let sandbox = Sandbox::new();
    let rebuilt = builder(&sandbox, arch).rebuild().unwrap();
    assert_eq!((rebuilt.header.compiler.as_str(), rebuilt.messages.as_str()), (toolchain.compiler.as_str(), ""));
    let text = &rebuilt.text();
    for expected in
        [".entry scale(", ".entry turn_round(", ".maxntid 256, 1, 1\n.minnctapersm 4", "ld.shared", "st.shared"]
    {
        assert!(text.contains(expected), "no {expected:?} in\n{text}");
    }
    assert!(text.contains(&format!(".target {arch}")));
    assert_eq!(generic_accesses(text), []);
    let machine = [sandbox.path(""), toolchain.sysroot.join("lib"), target_dir(arch)];
    assert!(!machine.iter().any(|path| text.contains(path.to_str().unwrap())), "{text}");

    let path = sandbox.path("kernels.ptx");
    rebuilt.write_to(&path).unwrap();
    match ptxas(&path, arch) {
        Ok(report) => {
            let turn_round = report.kernels.iter().find(|kernel| kernel.name == "turn_round").unwrap();
            assert_eq!((report.kernels.len(), turn_round.shared_bytes, turn_round.spill_stores), (3, 1024, 0));
            assert!(report.kernels.iter().all(|kernel| kernel.registers > 0), "{report:?}");
        }
        Err(PtxasError::NotFound) => skip(Need::Ptxas, &PtxasError::NotFound.to_string()),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn kernels_build_for_turing() {
    kernels_build_for(Arch::Sm75);
}

#[test]
#[ignore = "takes half a minute"]
fn kernels_build_for_hopper() {
    kernels_build_for(Arch::Sm90);
}

/// The source line, as `FILE:LINE`, of the first line of PTX that contains `instruction`.
fn source_line_of(text: &str, instruction: &str) -> String {
    let end = text.find(instruction).unwrap();
    let directive = text[..end].lines().rev().find_map(|line| line.trim().strip_prefix(".loc")).unwrap();
    let mut operands = directive.split_whitespace();
    let (file, line) = (operands.next().unwrap(), operands.next().unwrap());
    let declared = text.lines().find_map(|line| line.strip_prefix(&format!(".file\t{file} "))).unwrap();
    format!("{}:{line}", declared.trim_matches('"'))
}

#[test]
fn instructions_have_the_line_in_the_kernels_own_crate() {
    // Hopper first: the previous test in alphabetical order, which may still be running, builds for
    // Turing, and builds for the same architecture wait for each other.
    for arch in [Arch::Sm90, Arch::Sm75] {
        if real_toolchain(arch).is_none() {
            return;
        }
        let sandbox = Sandbox::new();
        let text = builder(&sandbox, arch).rebuild().unwrap().body;
        // Each instruction comes from inlined functions of `core`.
        for (instruction, file, source) in [
            ("mul.rn.f32", "src/scaling.rs", "*value *= factor;"),
            ("%ctaid.x;", "src/lib.rs", "(_block_idx_x() * _block_dim_x() + _thread_idx_x()) as usize"),
            ("bar.sync", "src/lib.rs", "_syncthreads();"),
            ("ld.shared", "src/lib.rs", "*x.add(index()) = *tile.add(255 - thread);"),
        ] {
            let lines = sandbox.read(&format!("kernels/{file}"));
            let line = lines.lines().position(|line| line.contains(source)).unwrap() + 1;
            assert_eq!(source_line_of(&text, instruction), format!("tiny-kernels/{file}:{line}"), "{text}");
        }
        for (unexpected, kind) in
            [(".debug", "sections"), ("$L__", "labels"), (", debug", "targets"), (" @[ ", "comments")]
        {
            let left = text.match_indices(unexpected).any(|(start, _)| !text[start..].starts_with("$L__BB"));
            assert!(!left, "{kind} are left in\n{text}");
        }
    }
}

/// The debug names, with the fields of each line.
fn names(debug: &str) -> Vec<Vec<&str>> {
    let names = debug.strip_prefix("debug information, format 2\n").expect("there must be names");
    names.lines().map(|line| line.split('\t').collect()).collect()
}

#[test]
fn functions_and_variables_have_their_names_in_a_file_beside_the_ptx() {
    if real_toolchain(Arch::Sm75).is_none() {
        return;
    }
    let sandbox = Sandbox::new();
    let rebuilt = builder(&sandbox, Arch::Sm75).rebuild().unwrap();
    let (text, comments) = (&rebuilt.body, names(&rebuilt.debug));
    assert!(!text.contains("debug information"));
    let functions = || comments.iter().filter(|fields| fields[0] == "function").map(|fields| fields[1]);
    assert!(["scale", "look_up", "turn_round"].iter().all(|name| functions().any(|found| found == *name)));
    let of = |kernel: &'static str| {
        let after = comments.iter().skip_while(move |fields| fields[..2] != ["function", kernel]).skip(1);
        after.take_while(|fields| fields[0] != "function")
    };
    let source = sandbox.read("kernels/src/lib.rs");
    let call = source.lines().position(|line| line.contains("let i = index();")).unwrap() + 1;
    let frame = of("scale").find(|fields| fields[0] == "frame").expect("a call is inlined");
    assert_eq!([frame[4], frame[5]], ["tiny-kernels/src/lib.rs", "index"]);
    assert!(frame[3].starts_with(&format!("{call}:")), "{frame:?}");
    // Once the parameter has been loaded, it is in a register with the type f32.
    let factor = of("scale").find(|fields| fields[0] == "variable" && fields[4] == "factor").unwrap();
    let r#type = comments.iter().find(|fields| fields[0] == "type" && fields[1] == factor[3]).unwrap();
    assert_eq!(r#type[2..], ["4", "float", "f32"]);
    let (lines, register) = factor[5].split_once(' ').unwrap();
    let first: usize = lines.split_once('-').unwrap().0.parse().unwrap();
    let start = text.lines().position(|line| line.contains(".entry scale(")).unwrap();
    let load = text.lines().skip(start).take(first).last().unwrap();
    assert!(load.contains("ld.param") && load.contains(&format!("{register},")), "{load}: {factor:?}");
}

#[test]
fn the_text_does_not_depend_on_the_path_or_the_version() {
    if real_toolchain(Arch::Sm90).is_none() {
        return;
    }
    let (sandbox, elsewhere) = (Sandbox::new(), Sandbox::new());
    let first = builder(&sandbox, Arch::Sm90).rebuild().unwrap();
    elsewhere.change("kernels/Cargo.toml", "0.1.0", "2.3.4");
    let second = builder(&elsewhere, Arch::Sm90).rebuild().unwrap();
    assert_eq!(first, second);
    first.write_to(sandbox.path("kernels/ptx/tiny_kernels.sm_90.ptx")).unwrap();
    assert_eq!(builder(&sandbox, Arch::Sm90).check().unwrap(), Comparison::Same);

    let names = "kernels/ptx/tiny_kernels.sm_90.debug";
    let ptx = builder(&sandbox, Arch::Sm90).copy_to(sandbox.path("out/copy.ptx")).build().unwrap();
    assert_eq!(ptx.debug_file(), sandbox.path("out/copy.debug"));
    assert_eq!(sandbox.read("out/copy.debug"), sandbox.read(names));
    sandbox.change(names, "\tfactor\t", "\tfaktor\t");
    assert!(matches!(builder(&sandbox, Arch::Sm90).check().unwrap(), Comparison::DebugDiffers { .. }));
    // The PTX can be used without names, and old names are deleted.
    std::fs::remove_file(sandbox.path(names)).unwrap();
    assert_eq!(builder(&sandbox, Arch::Sm90).check().unwrap(), Comparison::DebugDiffers { line: 1 });
    let ptx = builder(&sandbox, Arch::Sm90).copy_to(sandbox.path("out/copy.ptx")).build().unwrap();
    assert_eq!(ptx.origin, Origin::Committed);
    assert!(!ptx.debug_file().exists());
    assert_eq!(builder(&sandbox, Arch::Sm90).debug_file(false).check().unwrap(), Comparison::Same);
}

#[test]
fn an_invalid_kernel_is_reported_with_the_compilers_message() {
    if real_toolchain(Arch::Sm75).is_none() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.change("kernels/src/scaling.rs", "*= factor", "*= faktor");
    let error = builder(&sandbox, Arch::Sm75).build().unwrap_err().to_string();
    assert!(error.contains("error[E0425]") && error.contains("src/scaling.rs:4:15"), "{error}");
}

#[test]
fn the_compiler_supports_every_architecture() {
    if real_toolchain(Arch::Sm75).is_none() {
        return;
    }
    let missing: Vec<_> = Arch::ALL.into_iter().filter(|&arch| real_toolchain(arch).is_none()).collect();
    assert_eq!(missing, []);
}

#[test]
fn ptxas_rejects_invalid_ptx() {
    if find_ptxas().is_none() {
        return skip(Need::Ptxas, &PtxasError::NotFound.to_string());
    }
    let sandbox = Sandbox::new();
    sandbox.write("broken.ptx", ".version 6.3\n.target sm_75\n.visible .entry f() { rett; }\n");
    let error = ptxas(sandbox.path("broken.ptx"), Arch::Sm75).unwrap_err().to_string();
    assert!(error.contains("ptxas rejects it for sm_75") && error.contains("rett"), "{error}");
}

/// The kernel crate with an additional kernel.
fn with_kernel(kernel: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let source = sandbox.read("kernels/src/lib.rs");
    sandbox.write("kernels/src/lib.rs", &format!("{source}\n{kernel}\n"));
    sandbox
}

#[test]
fn kernels_that_crash_an_extra_pass_are_compiled_without_it() {
    if real_toolchain(Arch::Sm75).is_none() {
        return;
    }
    // A pointer chosen between constants and local memory.
    let sandbox = with_kernel(
        "#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn chooses(out: *mut u32, n: u32, i: u32) {\n\
         let mut own = [0_u32; 8];\n\
         let s: &[u32] = if n < 3 { if n == 1 { &[1, 2, 3] } else { &[4, 5] } } else {\n\
         own[i as usize % 8] = 1;\nown[n as usize % 8] = 7;\n&own };\n\
         unsafe { *out = s[i as usize] };\n}",
    );
    let rebuilt = builder(&sandbox, Arch::Sm75).rebuild().unwrap();
    assert!(rebuilt.body.contains(".entry chooses(") && rebuilt.body.contains(".entry scale("), "{}", rebuilt.body);
    // A compiler in which the pass is fixed prints nothing.
    let messages = &rebuilt.messages;
    assert!(
        messages.is_empty() || messages.ends_with("find its address space when they run, and are slower"),
        "{messages}"
    );
}

#[test]
fn settings_change_the_code() {
    if real_toolchain(Arch::Sm75).is_none() {
        return;
    }
    let sandbox = with_kernel(
        "#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn adds_product(out: *mut f32, x: f32, y: f32) {\n\
         let sum = unsafe { *out } + x * y;\nunsafe { *out = if cfg!(feature = \"negates\") { -sum } else { sum } };\n}",
    );
    let manifest = sandbox.read("kernels/Cargo.toml");
    sandbox.write("kernels/Cargo.toml", &format!("{manifest}\n[features]\nnegates = []\n"));
    let builder = builder(&sandbox, Arch::Sm75);
    let body_of = |builder: CudaBuilder| builder.rebuild().unwrap().body;
    let entry = |text: &str| text.split(".entry adds_product(").nth(1).unwrap().split('}').next().unwrap().to_owned();
    let plain = entry(&body_of(builder.clone()));
    assert!(plain.contains("mul.rn.f32") && !plain.contains("fma.rn.f32") && !plain.contains("neg.f32"), "{plain}");
    let contracted = entry(&body_of(builder.clone().fma_contraction(true)));
    assert!(contracted.contains("fma.rn.f32") && !contracted.contains("mul"), "{contracted}");
    let negated = entry(&body_of(builder.features(["negates"])));
    assert!(negated.contains("neg.f32") && negated.contains("mul.rn.f32"), "{negated}");
}

#[test]
fn a_panic_is_a_trap_with_its_reason() {
    if real_toolchain(Arch::Sm75).is_none() {
        return;
    }
    let sandbox = with_kernel(
        "#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn panics(out: *mut i32, x: i32, y: i32) {\n\
         unsafe { *out = fails(x, y) + x };\n}\n\
         #[inline(never)]\nfn fails(x: i32, y: i32) -> i32 {\nif x == 7 { core::panic!(\"seven\") }\n\
         let table = [1, 2, 3, x];\nx / y + table[y as usize]\n}",
    );
    let builder = builder(&sandbox, Arch::Sm75);
    for (optimises, checks) in [(true, false), (true, true), (false, false), (false, true)] {
        let text = builder.clone().optimised(optimises).overflow_checks(checks).rebuild().unwrap().text();
        assert!(!text.contains("panicking"), "{text}");
        let mut machine = Machine::new(&text).unwrap();
        let out = machine.memory_mut().allocate(4).unwrap();
        let run = |x: i32, y: i32| {
            let parameters = [&out.to_le_bytes()[..], &x.to_le_bytes(), &y.to_le_bytes()];
            let launched = machine.launch(Options::default(), "panics", LaunchConfig::new(1, 1), &parameters);
            launched.map(|_| ()).map_err(|error| match error {
                LaunchError::Fault(fault) => fault.kind,
                error => panic!("{error}"),
            })
        };
        let panic = |message: &str| Err(FaultKind::Panic { message: message.to_owned() });
        assert_eq!(run(7, 1), panic("seven"), "{text}");
        assert_eq!(run(8, 0), panic("attempt to divide by zero"), "{text}");
        assert_eq!(run(i32::MIN, -1), panic("attempt to divide with overflow"), "{text}");
        assert_eq!(run(1, 4), panic("index out of bounds: the len is 4 but the index is 4"), "{text}");
        let overflow = if checks { Err(FaultKind::Overflow(Overflow::Add)) } else { Ok(()) };
        assert_eq!(run(i32::MAX, 1), overflow, "{text}");
    }
}

#[test]
fn what_a_gpu_has_not_is_an_error_with_its_place() {
    if real_toolchain(Arch::Sm75).is_none() {
        return;
    }
    let sandbox = with_kernel(
        "unsafe extern \"C\" { fn strlen(text: *const u8) -> usize; }\n\
         #[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn measures(text: *const u8, out: *mut usize) {\n\
         unsafe { *out = strlen(text) };\n}",
    );
    let line = sandbox.read("kernels/src/lib.rs").lines().position(|line| line.contains("= strlen(text)")).unwrap() + 1;
    let error = builder(&sandbox, Arch::Sm75).rebuild().unwrap_err().to_string();
    let expected = format!(
        "the kernel measures calls strlen, at tiny-kernels/src/lib.rs:{line}, which nothing defines: a GPU has no such function"
    );
    assert_eq!(error, expected);

    let sandbox = with_kernel(
        "#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn widens(x: f64, out: *mut u32) {\n\
         unsafe { *out = (x as u128 >> 40) as u32 };\n}",
    );
    let line = sandbox.read("kernels/src/lib.rs").lines().position(|line| line.contains("x as u128")).unwrap() + 1;
    let error = builder(&sandbox, Arch::Sm75).rebuild().unwrap_err().to_string();
    let expected = format!(
        "a GPU cannot convert a float to an integer of 128 bits by `as`, at tiny-kernels/src/lib.rs:{line}: write \
         `cuda_std::math::to_u128(x)` or `cuda_std::math::to_i128(x)`\n"
    );
    assert!(error.contains(&expected), "{error}");
}

#[test]
fn wide_integers_become_floats() {
    if real_toolchain(Arch::Sm75).is_none() {
        return;
    }
    let sandbox = with_kernel(
        "#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn narrows(x: &u128, out: *mut f32) {\n\
         unsafe { *out = *x as f32 + (*x as i128 as f64) as f32 };\n}",
    );
    let text = builder(&sandbox, Arch::Sm75).rebuild().unwrap().body;
    assert!(text.contains(".entry narrows("), "{text}");
}

#[test]
fn an_ambiguous_macro_has_a_way_out() {
    if real_toolchain(Arch::Sm75).is_none() {
        return;
    }
    let sandbox = with_kernel(
        "mod cuda_std {\n#[macro_export]\nmacro_rules! own_panic { () => {} }\npub use own_panic as panic;\n}\n\
         mod uses {\nuse crate::cuda_std::*;\npub fn f() { panic!() }\n}",
    );
    let error = builder(&sandbox, Arch::Sm75).rebuild().unwrap_err().to_string();
    assert!(
        error.contains("import them by name, `use cuda_std::panic;`, or write `#[macro_use] extern crate"),
        "{error}"
    );
}
