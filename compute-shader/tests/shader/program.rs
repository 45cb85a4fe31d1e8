use assert_cmd::Command;
use serde_json::Value;

use crate::{gpu, network};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_compute-shader"));
    command.env_remove("MNIST_DIR").args(["--repeats", "2", "-c", "1"]);
    command
}

#[test]
fn shader_program_prints_checks_and_times() {
    let Some(gpu) = gpu() else { return };
    let directory = tempfile::tempdir().unwrap();
    let plot = directory.path().join("plot.svg");
    let output = program().args(["--keep-on-device", "--plot"]).arg(&plot).assert().success().get_output().clone();
    let text = String::from_utf8(output.stdout).unwrap();
    for expected in [
        "[*] Adapter: ",
        gpu.name(),
        "784-10-10, relu then softmax",
        "[+] shader_batch_10000 passed (largest error",
        "[+] shader_single_against_plain_loops passed",
        "[+] shader_same_predictions passed",
        "[+] All tests passed",
        "[*] Break-even: ",
        "[*] Kept on the device: 10000 images, only the count read back: accuracy ",
    ] {
        assert!(text.contains(expected), "{expected:?} is missing in:\n{text}");
    }
    assert_eq!(text.contains("software, runs on the CPU"), gpu.is_software());
    for batch in ["     1  ", "    10  ", "   100  ", "  1000  ", " 10000  "] {
        assert_eq!(text.lines().filter(|line| line.starts_with(batch)).count(), 1, "{batch:?} in:\n{text}");
    }
    assert!(std::fs::read_to_string(plot).unwrap().starts_with("<svg"));
}

#[test]
fn shader_program_prints_one_json_object_for_a_network_of_any_size() {
    let Some(gpu) = gpu() else { return };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("small.safetensors");
    let network = network(&[7, 33, 2], neural_net::Activation::Tanh, neural_net::Activation::Identity, 3);
    neural_net::model_file::save(
        &file,
        &neural_net::model_file::Model { network, dataset: "none".to_owned(), convention: Default::default() },
    )
    .unwrap();
    let output =
        program().args(["--json", "--keep-on-device", "--weights"]).arg(&file).assert().success().get_output().clone();
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["program"], "compute-shader");
    assert_eq!(object["software_adapter"], gpu.is_software());
    assert!(object["checks"].as_object().unwrap().values().all(|passed| passed == true), "{object}");
    let batches = object["batches"].as_array().unwrap();
    assert_eq!(
        batches.iter().map(|row| row["batch"].as_u64().unwrap()).collect::<Vec<_>>(),
        [1, 10, 100, 1000, 10_000]
    );
    for row in batches {
        for name in ["cpu", "shader", "upload", "read_back"] {
            assert!(row["seconds"][name]["min"].as_f64().unwrap() > 0.0, "{name} of {row}");
        }
        assert_eq!(row["seconds"]["compute"].is_object(), gpu.has_timestamps(), "{row}");
    }
    assert!(object["kept_on_device"].as_str().unwrap().contains("random inputs have no labels"));
}

/// A batch larger than the adapter accepts at once agrees with the CPU. Progress is on stderr.
#[test]
fn shader_program_splits_a_batch_beyond_the_adapters_limits() {
    let Some(gpu) = gpu() else { return };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("small.safetensors");
    let network = network(&[784, 10], neural_net::Activation::Tanh, neural_net::Activation::Softmax, 3);
    let largest = compute_shader::ShaderNetwork::new(&gpu, &network).unwrap().largest_batch();
    neural_net::model_file::save(
        &file,
        &neural_net::model_file::Model { network, dataset: "none".to_owned(), convention: Default::default() },
    )
    .unwrap();
    let batch = (largest + 1).to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_compute-shader"));
    command.env_remove("MNIST_DIR").args(["--repeats", "1", "--batch", &batch, "64", "--weights"]).arg(&file);
    let output = command.assert().success().get_output().clone();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains(&format!("Split: {batch} images are 2 dispatches, since the adapter takes at most {largest}")),
        "{text}"
    );
    assert!(
        text.contains(&format!("[+] shader_batch_{batch} passed")) && text.contains("[+] shader_batch_64 passed"),
        "{text}"
    );
    let progress = String::from_utf8(output.stderr).unwrap();
    for part in ["checking the shaders against the CPU", "timing batches of 64 images, 1 of 2", "2 of 2"] {
        assert!(progress.contains(part), "{part}: {progress}");
    }
}

#[test]
fn shader_program_rejects_an_unknown_back_end() {
    for names in ["vulcan", "vulkan,opengI", ""] {
        let output = program().env("WGPU_BACKEND", names).assert().code(2).get_output().clone();
        let error = String::from_utf8(output.stderr).unwrap();
        let name = names.rsplit(',').next().unwrap();
        assert!(
            error.starts_with("error: the environment variable WGPU_BACKEND has ")
                && error.contains(&format!("{name:?}")),
            "{error}"
        );
        assert!(error.contains("choose among vulkan, metal, dx12 and gl") && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn shader_program_reports_usage_errors_in_one_line() {
    let missing = ["--weights", "no/such/file.safetensors"];
    let cases: [(&[&str], &str); 4] = [
        (&missing, "no/such/file.safetensors: cannot read"),
        (&["--adapter", "no such adapter"], "no adapter"),
        (&["--plot", "plot.png"], "must end in .svg"),
        (&["--plot", "no/such/folder/plot.svg"], "no/such/folder/plot.svg: cannot be written"),
    ];
    for (arguments, expected) in cases {
        // Without this desktop variable, a Mesa library prints its own lines.
        let output = program().env_remove("XDG_RUNTIME_DIR").args(arguments).assert().code(2).get_output().clone();
        let error = String::from_utf8(output.stderr).unwrap();
        let errors = error.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(errors, 1, "{arguments:?}: {error}");
        let is_ours = error.contains(expected) || (gpu().is_none() && error.contains("no adapter that runs"));
        assert!(is_ours && output.stdout.is_empty(), "{arguments:?}: {error}");
    }
}

#[test]
fn shader_program_limits_the_repeats() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_compute-shader"));
    let output = program.args(["--repeats", "9223372036854775808"]).assert().code(2).get_output().clone();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("--repeats") && error.contains("at most 1000000"), "{error}");
}

#[test]
fn shader_program_rejects_images_of_a_wrong_size() {
    let Some(_) = gpu() else { return };
    let directory = tempfile::tempdir().unwrap();
    for part in ["train", "t10k"] {
        let sizes = [0x803_u32, 2, 20, 21].map(u32::to_be_bytes).concat();
        let images = [sizes, vec![7; 2 * 20 * 21]].concat();
        std::fs::write(directory.path().join(format!("{part}-images-idx3-ubyte")), images).unwrap();
        let labels = [[0x801_u32, 2].map(u32::to_be_bytes).concat(), vec![3, 4]].concat();
        std::fs::write(directory.path().join(format!("{part}-labels-idx1-ubyte")), labels).unwrap();
    }
    let output = program().arg("--data").arg(directory.path()).assert().code(2).get_output().clone();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("20 × 21 pixels") && error.contains("--weights"), "{error}");
}

#[test]
fn shader_program_reports_a_missing_adapter_in_one_line() {
    // A back end that this system lacks.
    let absent = if cfg!(target_os = "macos") { "dx12" } else { "metal" };
    let output = program().env("WGPU_BACKEND", absent).assert().code(2).get_output().clone();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.starts_with("error: no adapter that runs compute shaders") && error.contains("mesa-vulkan-drivers"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");
}
