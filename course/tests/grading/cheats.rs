//! Submissions that try to get points without doing the work. Each loses the points for the missing
//! work.

use super::Change::{Remove, Replace, Write};
use super::{CHECK, Change, MAX_CPU, MAX_GPU, MAX_KERNEL, MAX_RAYON, PRODUCT_KERNEL, Submission, TRIVIAL_PRODUCT};

/// The test that calls only max_cpu.
const MAX_CPU_IS_RIGHT: &[&str] = &["max_cpu_is_right"];
/// All tests of part 2 except the tests of the kernel's PTX, which do not run the submission's
/// process.
const MAX_BUT_PTX: &[&str] = &[
    "max_cpu_is_right",
    "max_rayon_is_right",
    "max_gpu_is_right_on_the_simulator",
    "max_gpu_takes_the_homeworks_matrices",
    "different_shapes_are_rejected",
    "hidden::max_gpu_launches_1000_blocks_of_1000_threads",
    "hidden::max_gpu_reads_and_writes_each_element_once",
    "hidden::max_rayon_is_faster_than_two_loops",
];

const SHAPE: &str = "max_functions/src/shape.rs";
const PRODUCT_RAYON: &str = "matmul_functions/src/parallel.rs";
const PRODUCT_GPU: &str = "matmul_functions/src/on_gpu.rs";

/// The tests of part 2's kernel and its launch.
const MAX_GPU_TESTS: &[&str] = &[
    "max_gpu_is_right_on_the_simulator",
    "max_gpu_takes_the_homeworks_matrices",
    "hidden::max_gpu_launches_1000_blocks_of_1000_threads",
    "hidden::max_gpu_reads_and_writes_each_element_once",
    "max_kernels_ptx_is_right",
];

const EMPTY_KERNEL: &str = "use cuda_std::{GlobalMut, kernel};\n\n#[kernel]\npub fn max_kernel(_a: &[i32], b: &[i32], out: GlobalMut<i32>) {\n    let _ = (_a, b, out);\n}\n";

/// An `on_gpu.rs` with a function that does something else before or instead of the launch.
fn max_gpu(body: &str) -> String {
    format!(
        "use gpu::{{Device, Error, LaunchConfig}};\nuse ndarray::{{Array2, ArrayRef2}};\nuse crate::{{ShapeMismatch, max_kernel}};\n\
         #[derive(Debug, thiserror::Error)]\npub enum MaxGpuError {{\n    #[error(transparent)]\n    Shape(#[from] ShapeMismatch),\n    \
         #[error(transparent)]\n    Device(#[from] Error),\n}}\n\
         #[allow(unused)]\npub fn max_gpu(device: &Device, a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Result<Array2<i32>, MaxGpuError> \
         {{\n    ShapeMismatch::check(a.dim(), b.dim())?;\n    if a.is_empty() {{\n        return Ok(Array2::zeros(a.dim()));\n    }}\n\
         {body}\n}}\n"
    )
}

/// Copies the matrices to the device, and launches the kernel with the homework's shape.
const LAUNCH: &str = "
    let [x, y] = [a, b].map(|matrix| matrix.iter().copied().collect::<Vec<i32>>());
    let (x, y) = (device.buffer_from_slice(&x)?, device.buffer_from_slice(&y)?);
    let mut out = device.uninitialized(a.len())?;
    let config = LaunchConfig::new(a.len().div_ceil(1000) as u32, 1000);
    device.launch(&max_kernel, config, (&x, &y, &mut out))?;
";

/// Code in a submission's function that writes frames of an answer to every open file before any
/// request.
const FORGED_FRAMES: &str = "
    for file in 0..32 {
        use std::io::Write;
        use std::os::fd::FromRawFd;
        let mut file = std::mem::ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(file) });
        drop(file.write_all(&[0; 8]));
        drop(file.write_all(&[1, 0, 0, 0, 0, 0, 0, 0, 0]));
    }
    return Ok(Array2::zeros(a.dim()));
    #[allow(unreachable_code)]
    let (rows";

/// Inserts code into max_cpu after the check of the shapes.
fn at_start(code: &str) -> Vec<Change> {
    vec![Replace(MAX_CPU, CHECK, text(format!("    ShapeMismatch::check(a.dim(), b.dim())?;\n{code}")))]
}

fn of(
    name: &'static str,
    changes: Vec<Change>,
    lost: &'static [&'static str],
    feedback: &'static [&'static str],
) -> Submission {
    Submission { name, changes, lost, feedback }
}

fn text(text: String) -> &'static str {
    text.leak()
}

/// The first five got full points in earlier versions.
pub(super) fn all() -> Vec<Submission> {
    let solution = |path: &str| format!("{}/starter/{path}", env!("CARGO_MANIFEST_DIR"));
    let stolen = |how: String| vec![Write(MAX_RAYON, text(how))];
    let max_only: &'static [&'static str] = &["max_functions"];
    let zeros_of = |file, function: &'static str| {
        Write(
            file,
            text(format!(
                "use ndarray::{{Array2, ArrayRef2}};\nuse crate::ShapeMismatch;\n\
                 pub fn {function}(a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Result<Array2<i32>, ShapeMismatch> {{\n    \
                 ShapeMismatch::check(a.dim(), b.dim())?;\n    Ok(Array2::zeros(a.dim()))\n}}\n"
            )),
        )
    };
    vec![
        of(
            "own_verify",
            vec![
                Replace(
                    SHAPE,
                    "    if c.dim() != a.dim() {",
                    "    if true {\n        return Ok(());\n    }\n    if c.dim() != a.dim() {",
                ),
                zeros_of(MAX_CPU, "max_cpu"),
                zeros_of(MAX_RAYON, "max_rayon"),
            ],
            &["max_cpu_is_right", "max_rayon_is_right", "hidden::max_rayon_is_faster_than_two_loops"],
            &["max_cpu: c[0][0] is 0, expected", "max_rayon: c[0][0] is 0, expected"],
        ),
        of(
            "gpu_on_the_cpu",
            vec![Write(MAX_KERNEL, EMPTY_KERNEL), Write(MAX_GPU, text(max_gpu("    Ok(crate::max_cpu(a, b)?)")))],
            MAX_GPU_TESTS,
            &["max_gpu: it does not launch max_kernel"],
        ),
        of(
            "path_to_the_solution",
            stolen(format!("#[path = {:?}]\nmod stolen;\npub use stolen::max_rayon;\n", solution(MAX_RAYON))),
            max_only,
            &["it does not compile:"],
        ),
        of(
            "include_of_the_solution",
            stolen(format!("include!({:?});\n", solution(MAX_RAYON))),
            max_only,
            &["it does not compile:"],
        ),
        of(
            "prints_the_verdict",
            at_start(
                "    println!(\"\\ntest max_cpu_is_right ... ok\\n\\ntest result: ok. 1 passed; 0 failed; 0 ignored;\");\n    std::process::r#exit(0);\n    #[allow(unreachable_code)]\n    let (rows",
            ),
            MAX_CPU_IS_RIGHT,
            &["max_cpu: its program ends without a result"],
        ),
        of(
            "the_projects_own_crate",
            stolen(format!("include!(\"{}/../max_functions/src/parallel.rs\");\n", env!("CARGO_MANIFEST_DIR"))),
            max_only,
            &["it does not compile:"],
        ),
        of(
            "hidden_tests_in_a_string",
            at_start(text(format!(
                "    const TESTS: &str = include_str!({:?});\n    println!(\"{{TESTS}}\");\n    let (rows",
                format!("{}/grading/max_functions/hidden.rs", env!("CARGO_MANIFEST_DIR"))
            ))),
            max_only,
            &["it does not compile:"],
        ),
        of(
            "an_unset_variable",
            at_start("    let _ = env!(\"HOMEWORK_SEED\");\n    let (rows"),
            max_only,
            &["it does not compile:"],
        ),
        of(
            "launch_without_work",
            vec![
                Write(MAX_KERNEL, EMPTY_KERNEL),
                Write(MAX_GPU, text(max_gpu(&format!("{LAUNCH}\n    Ok(crate::max_cpu(a, b)?)")))),
            ],
            MAX_GPU_TESTS,
            &["max_gpu: max_kernel writes 0 elements, expected"],
        ),
        of(
            "one_element_by_the_kernel",
            vec![
                Replace(MAX_KERNEL, "if i < out.len()", "if i == 0 && i < out.len()"),
                Write(MAX_GPU, text(max_gpu(&format!("{LAUNCH}\n    Ok(crate::max_cpu(a, b)?)")))),
            ],
            MAX_GPU_TESTS,
            &["max_gpu: max_kernel writes 1 elements, expected"],
        ),
        of(
            "zeros_by_the_kernel",
            vec![
                Replace(MAX_KERNEL, "if a[i] > b[i] { a[i] } else { b[i] }", "0 * (a[i] + b[i])"),
                Write(MAX_GPU, text(max_gpu(&format!("{LAUNCH}\n    Ok(crate::max_cpu(a, b)?)")))),
            ],
            MAX_GPU_TESTS,
            &["max_gpu: the kernels' own results, from PTX: c[0][0] is 0, expected"],
        ),
        of(
            "a_clock_of_its_own",
            at_start(
                "    #[unsafe(no_mangle)]\n    extern \"C\" fn clock_gettime(_: i32, time: *mut [i64; 2]) -> i32 { unsafe { time.write([0, 0]) }; 0 }\n    let (rows",
            ),
            &[],
            &["unsafe: unsafe code"],
        ),
        of(
            "a_panic_hook",
            at_start(
                "    std::panic::set_hook(Box::new(|_| std::process::exit(0)));\n    panic!();\n    #[allow(unreachable_code)]\n    let (rows",
            ),
            MAX_CPU_IS_RIGHT,
            &["max_cpu: its program ends without a result"],
        ),
        of(
            "two_launches",
            vec![Write(
                MAX_GPU,
                text(max_gpu(&format!(
                    "{LAUNCH}    device.launch(&max_kernel, config, (&x, &y, &mut out))?;\n    Ok(Array2::from_shape_vec(a.dim(), out.to_vec()?).unwrap())"
                ))),
            )],
            &[
                "hidden::max_gpu_launches_1000_blocks_of_1000_threads",
                "hidden::max_gpu_reads_and_writes_each_element_once",
            ],
            &["max_gpu: it launches 2 kernels, expected one"],
        ),
        of(
            "right_on_the_host_only",
            vec![Replace(
                MAX_KERNEL,
                "let i = thread::index_1d() as usize;",
                "if cfg!(target_arch = \"nvptx64\") { return; }\n    let i = thread::index_1d() as usize;",
            )],
            MAX_GPU_TESTS,
            &["max_gpu, from PTX: element 0 of a buffer was never written by `max_kernel`"],
        ),
        of(
            "right_in_ptx_only",
            vec![Replace(
                MAX_KERNEL,
                "let i = thread::index_1d() as usize;",
                "if !cfg!(target_arch = \"nvptx64\") { return; }\n    let i = thread::index_1d() as usize;",
            )],
            &[
                "max_gpu_is_right_on_the_simulator",
                "max_gpu_takes_the_homeworks_matrices",
                "hidden::max_gpu_launches_1000_blocks_of_1000_threads",
                "hidden::max_gpu_reads_and_writes_each_element_once",
            ],
            &["max_gpu: "],
        ),
        of(
            "reads_too_much",
            vec![Replace(
                MAX_KERNEL,
                "        out.set(i, if",
                "        let mut j = 0;\n        while j < 9 {\n            if a[(i + j) % out.len()] == i32::MIN + 7 {\n                return;\n            }\n            j += 1;\n        }\n        out.set(i, if",
            )],
            &["hidden::max_gpu_reads_and_writes_each_element_once"],
            &["max_kernel: for each element of the result, it reads "],
        ),
        of(
            "small_matrices_only",
            at_start("    if a.len() > 30 { return Ok(Array2::zeros(a.dim())); }\n    let (rows"),
            &["max_cpu_is_right"],
            &["max_cpu: c["],
        ),
        of(
            "the_first_call_only",
            at_start(
                "    static CALLS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);\n    if CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 0 { return Ok(Array2::zeros(a.dim())); }\n    let (rows",
            ),
            &["max_cpu_is_right"],
            &["max_cpu: c["],
        ),
        of(
            "remembers_a_result",
            vec![Replace(
                MAX_RAYON,
                "    Ok(c)",
                "    static FIRST: std::sync::OnceLock<Array2<i32>> = std::sync::OnceLock::new();\n    if c.len() == 1_000_000 { return Ok(FIRST.get_or_init(|| c).clone()); }\n    Ok(c)",
            )],
            &["hidden::max_rayon_is_faster_than_two_loops"],
            &["max_rayon: c["],
        ),
        of(
            "a_thread_that_goes_on",
            at_start(
                "    let (x, y) = (a.to_owned(), b.to_owned());\n    std::thread::spawn(move || std::hint::black_box(x + y));\n    return Ok(Array2::zeros(a.dim()));\n    #[allow(unreachable_code)]\n    let (rows",
            ),
            &["max_cpu_is_right"],
            &["max_cpu: c[0][0] is 0, expected"],
        ),
        of(
            "a_frame_to_standard_output",
            at_start(
                "    use std::io::Write;\n    drop(std::io::stdout().write_all(&[0; 64]));\n    return Ok(Array2::zeros(a.dim()));\n    #[allow(unreachable_code)]\n    let (rows",
            ),
            &["max_cpu_is_right"],
            &["max_cpu: c[0][0] is 0, expected"],
        ),
        of("forged_frames", at_start(FORGED_FRAMES), MAX_CPU_IS_RIGHT, &["max_cpu: "]),
        of(
            "closes_the_files",
            at_start(
                "    for file in 3..32 { drop(unsafe { <std::os::fd::OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(file) }); }\n    let (rows",
            ),
            MAX_CPU_IS_RIGHT,
            &["max_cpu: "],
        ),
        of(
            "a_section_that_runs_first",
            at_start(
                "    #[used]\n    #[unsafe(link_section = \".init_array\")]\n    static FIRST: extern \"C\" fn() = first;\n    extern \"C\" fn first() { std::process::exit(0); }\n    let (rows",
            ),
            MAX_BUT_PTX,
            &[" its program ends without a result"],
        ),
        of(
            "its_own_main",
            at_start("    #[unsafe(no_mangle)]\n    extern \"C\" fn main() -> i32 { 0 }\n    let (rows"),
            max_only,
            &[],
        ),
        of(
            "its_own_write",
            at_start(
                "    #[unsafe(no_mangle)]\n    extern \"C\" fn write(_: i32, _: *const u8, count: usize) -> isize { count as isize }\n    let (rows",
            ),
            MAX_BUT_PTX,
            &[],
        ),
        of(
            "kills_everything",
            at_start(
                "    unsafe extern \"C\" { fn kill(process: i32, signal: i32) -> i32; }\n    unsafe { kill(-1, 9); }\n    let (rows",
            ),
            &[],
            &["unsafe: unsafe code"],
        ),
        of(
            "aborts",
            at_start("    std::process::abort();\n    #[allow(unreachable_code)]\n    let (rows"),
            MAX_CPU_IS_RIGHT,
            &["max_cpu: its program ends without a result"],
        ),
        of(
            "panics_with_the_verdict",
            at_start(
                "    panic!(\"test max_cpu_is_right ... ok\\ntest result: ok. 1 passed; 0 failed;\");\n    #[allow(unreachable_code)]\n    let (rows",
            ),
            MAX_CPU_IS_RIGHT,
            &["max_cpu: "],
        ),
        of(
            "reads_the_command_line",
            at_start(
                "    let line = std::fs::read_to_string(\"/proc/1/cmdline\").unwrap();\n    if !line.contains(\"max_cpu_is_right\") { return Ok(Array2::zeros(a.dim())); }\n    let (rows",
            ),
            &["max_cpu_is_right"],
            &["max_cpu: c[0][0] is 0, expected"],
        ),
        of(
            "reads_the_seed",
            at_start("    let _seed: u32 = std::env::var(\"HOMEWORK_SEED\").unwrap().parse().unwrap();\n    let (rows"),
            MAX_CPU_IS_RIGHT,
            &["max_cpu: "],
        ),
        of(
            "another_file_system",
            at_start("    std::fs::write(\"/tmp/kept\", \"x\").unwrap();\n    let (rows"),
            &[],
            &["fs: it opens files"],
        ),
        of(
            "a_crate_by_path",
            vec![
                Write(
                    "max_functions/Cargo.toml",
                    "[package]\nname = \"max_functions\"\n[dependencies]\ncheat = { path = \"cheat\" }\n",
                ),
                Replace(MAX_CPU, "let (rows", "cheat::cheat!();\n    let (rows"),
            ],
            max_only,
            &["it does not compile:"],
        ),
        of(
            "settings_of_cargo",
            vec![
                Write("max_functions/config.toml", ""),
                Remove("max_functions/config.toml"),
                Write(".cargo/config.toml", "[target.'cfg(all())']\nrunner = \"true\"\n"),
            ],
            &[],
            &[".cargo/config.toml: it would run while cargo compiles, and is not taken"],
        ),
        of(
            "not_a_number",
            vec![Replace(TRIVIAL_PRODUCT, "    c\n}", "    c.fill(f32::NAN);\n    c\n}")],
            &["matmul_transpose_trivial_is_right"],
            &["matmul_transpose_trivial: c[0][0] is NaN"],
        ),
        of(
            "half_precision",
            vec![Replace(
                TRIVIAL_PRODUCT,
                "    c\n}",
                "    c.mapv(|c: f32| f32::from_bits(c.to_bits() & 0xffff_e000))\n}",
            )],
            &["matmul_transpose_trivial_is_right"],
            &["matmul_transpose_trivial: c["],
        ),
        of(
            "loops_in_place_of_threads",
            vec![Write(
                PRODUCT_RAYON,
                "use ndarray::{Array2, ArrayRef2};\n\npub fn matmul_transpose_rayon(x: &ArrayRef2<f32>) -> Array2<f32> {\n    std::hint::black_box(crate::matmul_transpose_trivial(x));\n    crate::matmul_transpose_trivial(x)\n}\n",
            )],
            &["hidden::matmul_transpose_rayon_is_faster_than_three_loops"],
            &["matmul_transpose_rayon: it takes"],
        ),
        of(
            "other_block",
            vec![Replace(PRODUCT_GPU, "LaunchConfig::new(1, 1024)", "LaunchConfig::new(1, 512)")],
            &["hidden::matmul_transpose_gpu_launches_one_block_of_1024_threads"],
            &["has 1 blocks of 512 threads"],
        ),
        of(
            "product_by_one_thread",
            vec![Replace(
                PRODUCT_KERNEL,
                "let threads = thread::block_dim_x() as usize;\n    let mut cell = thread::thread_idx_x() as usize;",
                "if thread::thread_idx_x() != 0 { return; }\n    let (threads, mut cell) = (1, 0);",
            )],
            &[],
            &[],
        ),
        of(
            "product_that_reads_nothing",
            vec![
                Replace(
                    PRODUCT_KERNEL,
                    "sum += x[i * columns + k] * x[j * columns + k];",
                    "sum += (i * j + k) as f32;",
                ),
                Replace(
                    PRODUCT_GPU,
                    "let values = out.to_vec()?;",
                    "let _ = out.to_vec()?;\n    let values: Vec<f32> = crate::matmul_transpose_trivial(x).iter().copied().collect();",
                ),
            ],
            &[
                "matmul_transpose_gpu_is_right_on_the_simulator",
                "hidden::matmul_transpose_gpu_launches_one_block_of_1024_threads",
                "hidden::matmul_transpose_gpu_reads_no_more_than_three_loops",
                "matmul_kernels_ptx_is_right",
            ],
            &["matmul_transpose_gpu: the kernels' own results, from PTX: c["],
        ),
        of(
            "kernel_with_a_helper",
            vec![
                Write(
                    "max_functions/src/larger.rs",
                    "pub fn larger(a: i32, b: i32) -> i32 {\n    if a > b { a } else { b }\n}\n",
                ),
                Replace("max_functions/src/lib.rs", "mod kernel;", "mod kernel;\nmod larger;"),
                Replace(MAX_KERNEL, "use cuda_std", "use crate::larger::larger;\nuse cuda_std"),
                Replace(MAX_KERNEL, "if a[i] > b[i] { a[i] } else { b[i] }", "larger(a[i], b[i])"),
            ],
            &[],
            &[" of 100 points"],
        ),
    ]
}
