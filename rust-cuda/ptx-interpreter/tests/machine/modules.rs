//! Several modules run on the same global memory.

use crate::support::kernel::Kernel;
use cuda_launch::{Dim3, LaunchConfig};
use ptx_interpreter::memory::GlobalMemory;
use ptx_interpreter::{Executor, LaunchError, LaunchReport, LoadedModule, Options};

const HEADER: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";

/// Adds the module's constant to its counter, and stores the sum.
const COUNT: &str = "
.visible .global .u32 counter = 40;
.visible .const .u32 step = 2;
.visible .entry count(.param .u64 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.global.u32 %r0, [counter];
    ld.const.u32 %r1, [step];
    add.u32 %r0, %r0, %r1;
    st.global.u32 [counter], %r0;
    ld.param.u64 %rd0, [out];
    cvta.to.global.u64 %rd0, %rd0;
    st.global.u32 [%rd0], %r0;
    ret;
}
";

struct OneThread;

impl Executor for OneThread {
    fn workers(&self) -> usize {
        1
    }

    fn run(&self, workers: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..workers).for_each(work);
    }
}

fn count(module: &LoadedModule, memory: &GlobalMemory, out: u64) -> Result<LaunchReport, LaunchError> {
    module.launch_on(memory, &OneThread, Options::default(), "count", LaunchConfig::new(1, 1), &[&out.to_le_bytes()])
}

fn word(memory: &GlobalMemory, address: u64) -> u32 {
    let mut bytes = [0; 4];
    memory.read(address, &mut bytes).unwrap();
    u32::from_le_bytes(bytes)
}

#[test]
fn modules_share_the_memory_and_no_variables() {
    let mut memory = GlobalMemory::new(1 << 20);
    let text = format!("{HEADER}{COUNT}");
    let [mut first, second] = [(); 2].map(|()| LoadedModule::load(&text, &mut memory).unwrap());
    first.share_constants(&mut memory).unwrap();
    let out = memory.allocate(4).unwrap();
    count(&first, &memory, out).unwrap();
    assert_eq!(word(&memory, out), 42);
    // The host changes only the first module's constant.
    let step = first.variables().find(|variable| variable.is_constant).unwrap();
    assert_eq!((step.name, step.bytes), ("step", 4));
    memory.write(step.address, &100_u32.to_le_bytes()).unwrap();
    count(&first, &memory, out).unwrap();
    assert_eq!(word(&memory, out), 142);
    count(&second, &memory, out).unwrap();
    assert_eq!(word(&memory, out), 42);
    let counter = first.variables().find(|variable| variable.name == "counter").unwrap();
    assert_eq!(word(&memory, counter.address), 142);

    let allocations: Vec<u64> = first.allocations().collect();
    assert_eq!(allocations.len(), 2);
    allocations.into_iter().for_each(|address| memory.free(address).unwrap());
    assert!(memory.read(step.address, &mut [0; 4]).is_err());
}

#[test]
fn a_clone_of_the_memory_has_the_same_bytes() {
    let mut memory = GlobalMemory::new(1 << 20);
    let module = LoadedModule::load(&format!("{HEADER}{COUNT}"), &mut memory).unwrap();
    let out = memory.allocate(4).unwrap();
    let of_launch = memory.clone();
    let later = memory.allocate(4).unwrap();
    count(&module, &of_launch, out).unwrap();
    assert_eq!(word(&memory, out), 42);
    assert!(count(&module, &of_launch, later).is_err(), "the launch does not see what is allocated after it");
}

#[test]
fn resources_are_those_of_the_directives() {
    let mut memory = GlobalMemory::new(1 << 20);
    let text = format!(
        "{HEADER}.visible .const .u64 table[3];\n.visible .entry tiled(.param .u32 n, .param .u64 out)\n.maxntid 16, 8, 1\n{{\n\
         .shared .align 4 .b8 tile[100];\n.local .align 8 .b8 frame[24];\nret;\n}}\n"
    );
    let module = LoadedModule::load(&text, &mut memory).unwrap();
    let resources = module.resources("tiled").unwrap();
    assert_eq!(resources.max_threads, 128);
    assert_eq!(resources.constant_bytes, 24);
    assert!((100..=112).contains(&resources.static_shared_bytes), "{resources:?}");
    assert!(resources.local_bytes >= 24, "{resources:?}");
    assert_eq!(resources.cluster, None);
    assert_eq!((resources.required_block, resources.max_block), (None, Some(Dim3::new(16, 8, 1))));
    assert!(!resources.has_dynamic_shared);
    assert_eq!(module.parameter_offsets("tiled").collect::<Vec<_>>(), [0, 8]);
    assert_eq!(module.resources("other"), None);
}

#[test]
fn pointers_a_required_block_and_dynamic_shared_memory_are_told() {
    let mut memory = GlobalMemory::new(1 << 20);
    let text = format!(
        "{HEADER}.extern .shared .align 16 .b8 any_size[];\n\
         .visible .entry k(.param .u64 .ptr .global .align 4 x, .param .u64 n, .param .u64 .ptr y)\n.reqntid 64, 2\n{{\n\
         .reg .b32 %r<2>;\nmov.u32 %r0, 0;\nst.shared.u32 [any_size], %r0;\nret;\n}}\n"
    );
    let module = LoadedModule::load(&text, &mut memory).unwrap();
    assert_eq!(module.pointers("k").collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(module.pointers("other").count(), 0);
    let resources = module.resources("k").unwrap();
    assert_eq!((resources.required_block, resources.max_block), (Some(Dim3::new(64, 2, 1)), None));
    assert!(resources.has_dynamic_shared && resources.static_shared_bytes == 0, "{resources:?}");
}

#[test]
fn a_variable_may_be_declared_and_defined_in_one_text() {
    let define = ".visible .global .u32 v = 7;";
    for declarations in [format!(".extern .global .u32 v; {define}"), format!("{define} .extern .global .u32 v;")] {
        let kernel = Kernel::new("ld.global.u32 r0, [v]; st.global.u32 [output], r0; ret;");
        assert_eq!(kernel.declare(&declarations).shape(1, 1).words(1), [7]);
    }
}

#[test]
fn names_are_defined_once_in_one_text() {
    for twice in [
        ".weak .global .u32 v; .weak .global .u32 v;",
        ".common .global .u32 v; .common .global .u32 v;",
        ".weak .func v() { ret; } .weak .func v() { ret; }",
        ".visible .entry v() { ret; } .visible .entry v() { ret; }",
    ] {
        let error = LoadedModule::load(&format!("{HEADER}{twice}"), &mut GlobalMemory::new(1 << 20)).unwrap_err();
        assert_eq!(error.to_string(), "PTX line 4: `v` is declared twice: `v`");
    }
}

#[test]
fn a_declaration_may_have_a_return_value_that_the_definition_has_not() {
    let counter = ".global .u32 count;";
    let add = "(.param .b32 x) { .reg .b32 a; ld.param.b32 a, [x]; red.global.add.u32 [count], a;";
    let call = ".param .b32 x; .param .b32 r; st.param.b32 [x], 5;";
    let end = "ld.global.u32 r0, [count]; st.global.u32 [output], r0; ret;";
    let again = "setp.eq.u32 p, a, 0; @p ret; .param .b32 y; sub.u32 a, a, 1; st.param.b32 [y], a;";
    for (declaration, definition, call_of) in [
        (
            ".extern .func (.param .b32 r) f(.param .b32 x);",
            format!(".visible .func f{add} ret; }}"),
            "call (r), f, (x);",
        ),
        (
            ".extern .func f(.param .b32 x);",
            format!(".visible .func (.param .b32 r) f{add} st.param.b32 [r], 1; ret; }}"),
            "call f, (x);",
        ),
        (
            ".extern .func (.param .b32 r) f(.param .b32 x);",
            format!(".visible .func f{add} .reg .pred p; {again} call f, (y); ret; }}"),
            "call (r), f, (x);",
        ),
        (
            ".extern .func f(.param .b32 x);",
            format!(
                ".visible .func (.param .b32 r) f{add} .reg .pred p; .param .b32 q; {again} call (q), f, (y); st.param.b32 [r], 1; ret; }}"
            ),
            "call f, (x);",
        ),
    ] {
        let kernel = Kernel::new(format!("{call} {call_of} {end}")).shape(1, 1);
        let sum = if definition.contains("setp") { 15 } else { 5 };
        assert_eq!(kernel.clone().declare(&format!("{declaration} {counter} {definition}")).words(1), [sum]);
        let error = kernel.declare(&format!("{counter} {definition}")).load_error().to_string();
        assert!(error.contains("operands; expected one per parameter of the function"), "{error}");
    }
}
