//! Requests with the seeded bugs, with foreign PTX and with bad input.

use ptx_interpreter::Machine;
use serde_json::{Value, json};

/// Argument of a parameter that a C compiler passes: a buffer of this type and number of elements, or a value.
pub(crate) enum Argument {
    /// Type, elements and their values.
    Buffer(&'static str, usize, &'static str),
    /// Type and value.
    Value(&'static str, u32),
}

/// PTX of another compiler with a launch.
pub(crate) struct Foreign {
    pub(crate) name: &'static str,
    pub(crate) ptx: &'static str,
    pub(crate) grid: u32,
    pub(crate) block: u32,
    pub(crate) is_cooperative: bool,
    pub(crate) shared_bytes: u32,
    pub(crate) arguments: Vec<Argument>,
}

/// The committed PTX of clang, NVRTC, Numba and Triton.
pub(crate) fn foreign() -> Vec<Foreign> {
    use Argument::{Buffer, Value};
    macro_rules! ptx {
        ($name:literal) => {
            include_str!(concat!("../../../rust-cuda/ptx-interpreter/tests/foreign/ptx/", $name, ".ptx"))
        };
    }
    let of = |name, ptx, (grid, block), arguments| Foreign {
        name,
        ptx,
        grid,
        block,
        is_cooperative: false,
        shared_bytes: 0,
        arguments,
    };
    let i32s = |count, values| Buffer("i32", count, values);
    // Triton's kernels have scratch memory for reductions, and two pointers to other scratch memory at the end.
    let triton = |name, ptx, launch, arguments: Vec<Argument>| {
        let scratch = [Value("u64", 0), Value("u64", 0)];
        Foreign { shared_bytes: 1024, ..of(name, ptx, launch, arguments.into_iter().chain(scratch).collect()) }
    };
    // Numba passes an array as two pointers that the kernel does not use, its elements, an element's bytes, the data, the shape and
    // the strides.
    let array = |count: u32, values| {
        let data = i32s(count as usize, values);
        let value = |value| Value("u64", value);
        [value(0), value(0), value(count), value(4), data, value(count), value(4)]
    };
    let numba = |name, ptx, launch, [x, y]: [[Argument; 7]; 2], n| {
        of(name, ptx, launch, x.into_iter().chain(y).chain([Value("i32", n)]).collect())
    };
    let grid_sum = vec![i32s(500, "index"), i32s(160, "unwritten"), i32s(1, "unwritten"), Value("i32", 500)];
    vec![
        triton(
            "sum_of_all",
            ptx!("sum_of_all.triton.sm_90"),
            (4, 128),
            vec![i32s(1000, "index"), i32s(1, "zeros"), Value("i32", 1000)],
        ),
        triton(
            "softmax",
            ptx!("softmax.triton.sm_90"),
            (3, 128),
            vec![Buffer("f32", 300, "index"), Buffer("f32", 300, "unwritten"), Value("i32", 100)],
        ),
        Foreign { is_cooperative: true, ..of("grid_sum", ptx!("grid.nvrtc.sm_75"), (5, 32), grid_sum) },
        of(
            "heaviest",
            ptx!("heaviest.nvrtc.sm_75"),
            (1, 2),
            vec![Buffer("f64", 50, "index"), i32s(2, "unwritten"), Value("i32", 50)],
        ),
        of(
            "last_block_adds_up",
            ptx!("last_block_adds_up.nvrtc.sm_75"),
            (5, 32),
            vec![i32s(500, "index"), i32s(5, "unwritten"), i32s(1, "zeros"), i32s(1, "unwritten"), Value("i32", 500)],
        ),
        of(
            "prefix_sums_by_shuffles",
            ptx!("prefix_sums_by_shuffles.nvrtc.sm_75"),
            (1, 128),
            vec![i32s(128, "index"), i32s(128, "unwritten")],
        ),
        of("bitonic_sort", ptx!("bitonic_sort.clang.sm_75"), (1, 128), vec![i32s(128, "index")]),
        of(
            "compaction",
            ptx!("compaction.clang.sm_75"),
            (1, 32),
            vec![i32s(200, "index"), i32s(200, "zeros"), i32s(1, "unwritten"), Value("i32", 200)],
        ),
        of(
            "histogram",
            ptx!("histogram.clang.sm_75"),
            (4, 64),
            vec![i32s(1000, "index"), i32s(16, "zeros"), Value("i32", 1000)],
        ),
        numba("largest", ptx!("largest.numba.sm_75"), (2, 64), [array(100, "index"), array(1, "zeros")], 100),
        numba(
            "sort_of_each",
            ptx!("sort_of_each.numba.sm_75"),
            (1, 32),
            [array(160, "index"), array(160, "unwritten")],
            20,
        ),
    ]
}

impl Foreign {
    fn machine(&self) -> Machine {
        Machine::new(self.ptx).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// The kernel's name in the PTX, which Numba mangles.
    pub(crate) fn kernel(&self) -> String {
        let machine = self.machine();
        let kernel = machine.kernels().find(|kernel| kernel.contains(self.name));
        kernel.unwrap_or_else(|| panic!("no {}", self.name)).to_owned()
    }

    /// The launch file, with the parameters' names.
    fn launch(&self) -> Value {
        let (machine, kernel) = (self.machine(), self.kernel());
        let arguments: Vec<Value> = machine
            .parameters(&kernel)
            .zip(&self.arguments)
            .map(|((name, _), argument)| match argument {
                Argument::Buffer(of, count, values) => {
                    json!({"name": name, "type": of, "shape": [count], "values": values, "length": false})
                }
                Argument::Value(of, value) => json!({"name": name, "type": of, "value": value}),
            })
            .collect();
        json!({
            "ptx": "foreign.ptx", "kernel": kernel, "grid": [self.grid, 1, 1], "block": [self.block, 1, 1],
            "cooperative": self.is_cooperative, "dynamic_shared_bytes": self.shared_bytes, "arguments": arguments,
        })
    }
}

fn check(ptx: &str, launch: &Value, orders: u32) -> String {
    json!({"task": "check", "ptx": ptx, "launch": launch, "orders": orders, "seed": 7}).to_string()
}

/// A launch of each seeded bug: slices of 64 elements, and 8 for a size.
pub(crate) fn seeded_bugs() -> Vec<String> {
    let ptx = include_str!("../../../rust-cuda/seeded_bugs/ptx/seeded_bugs.sm_75.ptx");
    let machine = Machine::new(ptx).expect("the PTX is valid");
    assert_eq!(machine.refused().next(), None);
    let request = |kernel: &str| {
        let mut parameters = machine.parameters(kernel);
        let mut arguments = Vec::new();
        while let Some((name, bytes)) = parameters.next() {
            arguments.push(match bytes {
                8 => {
                    parameters.next();
                    json!({"name": name, "type": "u32", "shape": [64], "values": "zeros"})
                }
                _ => json!({"name": name, "type": "u32", "value": 8}),
            });
        }
        // Kernels whose blocks wait for each other.
        let is_cooperative = kernel.contains("grid") || kernel.contains("block") || kernel.contains("state");
        let launch = json!({
            "ptx": "seeded_bugs.ptx", "kernel": kernel, "grid": [2, 1, 1], "block": [64, 1, 1], "cooperative": is_cooperative,
            "block_instructions": 1 << 22, "instructions_without_progress": 1 << 18, "arguments": arguments,
        });
        check(ptx, &launch, 3)
    };
    machine.kernels().map(request).collect()
}

/// Requests that have no answer but an error.
pub(crate) fn bad() -> Vec<String> {
    let deep = "{".repeat(100_000);
    let launch = |changes: Value| {
        let mut launch = json!({"ptx": "p.ptx", "kernel": "k", "block": [32, 1, 1], "arguments": []});
        launch.as_object_mut().expect("an object").extend(changes.as_object().expect("an object").clone());
        launch
    };
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n    ret;\n}\n";
    let huge = ".version 8.0\n.target sm_80\n.address_size 64\n.global .align 4 .b8 all[2147483648];\n";
    let buffer = json!({"arguments": [{"name": "x", "type": "f32", "shape": [4294967295_u32, 4], "values": "zeros"}]});
    vec![
        String::new(),
        "{}".to_owned(),
        "[1]".to_owned(),
        json!({"task": "erase"}).to_string(),
        json!({"task": "kernels", "ptx": "<script>alert(1)</script>"}).to_string(),
        json!({"task": "kernels", "ptx": format!("{ptx}.visible .entry deep() {deep}")}).to_string(),
        json!({"task": "kernels", "ptx": huge}).to_string(),
        check(ptx, &launch(json!({"kernel": "other"})), 1),
        json!({"task": "check", "files": {"src/lib.rs": "#[kernel]\npub fn k() { <b> }"}, "launch": launch(json!({})),
            "orders": 1, "seed": 0})
        .to_string(),
        check(ptx, &launch(json!({"block": [2048, 1, 1]})), 1),
        check(ptx, &launch(json!({"arguments": [{"name": "x", "type": "u32", "value": 1}]})), 1),
        check(ptx, &launch(buffer), 1),
        check(ptx, &launch(json!({"order": "sideways"})), 1),
    ]
}

/// Requests with sources in place of PTX: a check and a recording.
fn of_sources() -> Vec<String> {
    let launch = json!({
        "ptx": "edited.ptx", "kernel": "histogram", "grid": [2, 1, 1], "block": [256, 1, 1],
        "arguments": [
            {"name": "values", "type": "u32", "shape": [8000], "values": 7},
            {"name": "counts", "type": "u32", "shape": [256], "values": "zeros"},
        ],
    });
    let sources = crate::compiler::sources();
    let record = json!({
        "task": "record", "files": sources, "sources": sources, "instructions": 2000, "launch": launch,
    });
    vec![
        json!({"task": "check", "files": sources, "launch": launch, "orders": 2, "seed": 3}).to_string(),
        record.to_string(),
    ]
}

/// All requests that do not come from the page's lessons.
pub(crate) fn all() -> Vec<String> {
    let foreign = foreign().into_iter().map(|of| check(of.ptx, &of.launch(), 3));
    seeded_bugs().into_iter().chain(foreign).chain(of_sources()).chain(bad()).collect()
}
