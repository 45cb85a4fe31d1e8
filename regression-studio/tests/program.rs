//! The command line: what it prints, keeps and refuses.

mod support;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use regression_studio::Model;
use support::names_in;
use tempfile::TempDir;

fn program(directory: &Path) -> Command {
    let mut command = Command::cargo_bin("regression-studio").unwrap();
    command.current_dir(directory).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    command
}

/// stdout, stderr and exit code.
fn output(command: &mut Command) -> (String, String, i32) {
    let output = command.timeout(std::time::Duration::from_secs(300)).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap_or(-1))
}

/// One line on stderr, exit code 2, and nothing written.
fn refused(command: &mut Command) -> String {
    let (stdout, stderr, code) = output(command);
    assert_eq!(code, 2, "{stdout}{stderr}");
    assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("error: "), "{stderr}");
    stderr
}

const CONFIG: &str = r#"
[data]
source.file = "data.csv"
features = ["a", "b"]
target = "c"
[network]
hidden = [6]
[training]
epochs = 3
batch_size = 8
device = "cpu"
"#;

/// A folder with data.csv and config.toml.
fn folder(data: impl AsRef<[u8]>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("data.csv"), data).unwrap();
    fs::write(folder.path().join("config.toml"), CONFIG).unwrap();
    folder
}

fn good_data() -> String {
    let row = |i: u32| format!("{}, {}, {}\n", i % 17, i % 5, (i % 17) * 2 + (i % 5));
    "a, b, c\n".to_owned() + &(0..200).map(row).collect::<String>()
}

#[test]
fn a_training_is_kept_in_a_folder_and_predicts() {
    let folder = folder(good_data());
    let (stdout, stderr, code) = output(program(folder.path()).args(["train", "config.toml"]));
    assert_eq!(code, 0, "{stderr}");
    for part in
        ["data.csv: 200 rows, 3 columns", "Epoch 3, training error", "linear least squares", "kept in config-run"]
    {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert_eq!(names_in(folder.path()), ["config-run", "config.toml", "data.csv"]);
    assert_eq!(names_in(&folder.path().join("config-run")).len(), 8);

    // The same model by its folder and by its file, on screen and in a file.
    let (printed, _, code) = output(program(folder.path()).args(["predict", "config-run", "data.csv"]));
    assert_eq!((code, printed.lines().count(), printed.lines().next()), (0, 201, Some("row,c")));
    let arguments = ["predict", "config-run/model.safetensors", "data.csv", "--out", "out.csv"];
    assert_eq!(output(program(folder.path()).args(arguments)).2, 0);
    assert_eq!(fs::read_to_string(folder.path().join("out.csv")).unwrap(), printed);

    // Nothing is overwritten; the settings that were kept begin the same training anew.
    let message = refused(program(folder.path()).args(["train", "config.toml"]));
    assert!(message.contains("config-run: there is a training already: --resume"), "{message}");
    let arguments = ["train", "config-run/settings.toml", "--out", "again"];
    assert_eq!(output(program(folder.path()).args(arguments)).2, 0);
    let read = |path: &str| Model::load(&folder.path().join(path)).unwrap();
    assert_eq!(read("again/model.safetensors"), read("config-run/model.safetensors"));

    // More epochs, and then what may not be changed.
    fs::write(folder.path().join("config.toml"), CONFIG.replace("epochs = 3", "epochs = 5")).unwrap();
    let (stdout, stderr, code) = output(program(folder.path()).args(["train", "config.toml", "--resume"]));
    assert!(code == 0 && stdout.contains("Epoch 5") && !stdout.contains("Epoch 3,"), "{stdout}{stderr}");
    fs::write(folder.path().join("config.toml"), CONFIG.replace("hidden = [6]", "hidden = [7]")).unwrap();
    let message = refused(program(folder.path()).args(["train", "config.toml", "--resume"]));
    assert!(message.contains("has another [network]"), "{message}");
}

#[test]
fn bad_files_are_refused_in_one_line_that_names_them() {
    let rows = "1,2,3\n4,5,7\n6,1,4\n2,2,2\n";
    let cases: [(&str, Vec<u8>, &str); 13] = [
        ("empty", vec![], "empty"),
        ("blank", b" \n\n".to_vec(), "empty"),
        ("binary", (0..=255).cycle().take(5000).collect(), ""),
        ("picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(), ""),
        ("ragged", format!("a,b,c\n{rows}1,2\n").into_bytes(), "line 6"),
        ("one column", b"a\n1\n2\n3\n".to_vec(), "one column"),
        ("all missing", b"a,b,c\n-,1,2\n-,3,4\n-,1,5\n-,4,6\n-,2,6\n".to_vec(), "\"a\" has no value"),
        ("quotes never closed", format!("a,b,c\n{rows}\"1,2,3\n4,5,6\n").into_bytes(), "line 6"),
        ("target constant", b"a,b,c\n1,2,5\n3,4,5\n5,6,5\n7,8,5\n9,1,5\n".to_vec(), "5 in every row"),
        ("3 rows", b"a,b,c\n1,2,3\n4,5,6\n7,8,9\n".to_vec(), "3 of 3 rows"),
        ("missing column", format!("a,b,d\n{rows}").into_bytes(), "no column \"c\": it has a, b, d"),
        ("text target", b"a,b,c\n1,2,x\n3,4,y\n5,6,z\n7,8,x\n".to_vec(), "\"c\" holds texts"),
        ("header only", b"a,b,c\n".to_vec(), ""),
    ];
    for (name, data, expected) in cases {
        let folder = folder(data);
        let message = refused(program(folder.path()).args(["train", "config.toml"]));
        assert!(message.contains("data.csv") || message.contains("config.toml"), "{name}: {message}");
        assert!(message.contains(expected), "{name}: {message}");
        let left = names_in(folder.path());
        assert!(left.len() == 2 || names_in(&folder.path().join("config-run")).is_empty(), "{name}: {left:?}");
    }
}

#[test]
fn a_bad_cell_is_named_by_line_and_column_where_that_is_wanted() {
    let folder = folder(good_data().replacen("\n3, 3,", "\n3, oops,", 1));
    let (stdout, ..) = output(program(folder.path()).args(["train", "config.toml"]));
    assert!(stdout.contains("note: 1 of 200 rows are incomplete and were left out"), "{stdout}");
    let strict = CONFIG.replace("[network]", "bad_rows = \"error\"\n[network]");
    fs::write(folder.path().join("config.toml"), strict).unwrap();
    let message = refused(program(folder.path()).args(["train", "config.toml", "--out", "other"]));
    assert!(message.contains("data.csv, line 5, column \"b\": \"oops\" is no number"), "{message}");
}

#[test]
fn wrong_settings_are_named_all_at_once() {
    let folder = folder(good_data());
    let wrong = CONFIG.replace("epochs = 3", "epochs = 0\nmomentum = 1.0\nlearning_rate = -1");
    fs::write(folder.path().join("config.toml"), wrong).unwrap();
    let message = refused(program(folder.path()).args(["train", "config.toml"]));
    for part in ["Epochs: 0", "Momentum: 1", "Learning rate: -1"] {
        assert!(message.contains(part), "{message}");
    }
    fs::write(folder.path().join("config.toml"), CONFIG.replace("epochs", "epoch")).unwrap();
    let message = refused(program(folder.path()).args(["train", "config.toml"]));
    assert!(message.contains("config.toml: line ") && message.contains("epoch"), "{message}");
    fs::write(folder.path().join("config.toml"), CONFIG.replace("data.csv", "none.csv")).unwrap();
    let message = refused(program(folder.path()).args(["train", "config.toml"]));
    assert!(message.contains("none.csv"), "{message}");
    assert!(refused(program(folder.path()).args(["train", "nothing.toml"])).contains("nothing.toml"));
    assert!(refused(program(folder.path()).args(["predict", "nothing", "data.csv"])).contains("nothing"));
    assert!(refused(program(folder.path()).args(["predict", "data.csv", "data.csv"])).contains("data.csv"));
    assert_eq!(names_in(folder.path()), ["config.toml", "data.csv"]);
}

/// The program in a process with a limit.
#[cfg(target_os = "linux")]
fn within(limit: &str, directory: &Path, arguments: &[&str]) -> Command {
    let mut shell = Command::new("sh");
    shell.current_dir(directory).args(["-c", &format!(r#"{limit}; exec "$0" "$@""#)]);
    shell.arg(assert_cmd::cargo::cargo_bin("regression-studio")).args(arguments);
    shell
}

/// Deep nesting ended in a stack overflow: the parser's bounds of brackets and of a key's parts multiply.
#[cfg(target_os = "linux")]
#[test]
fn settings_that_are_nested_or_long_beyond_reason_are_refused_in_one_line() {
    let folder = folder(good_data());
    let key = vec!["a"; 79].join(".");
    let deep = format!("x = {}1{}", format!("{{{key} = ").repeat(78), "}".repeat(78));
    fs::write(folder.path().join("config.toml"), format!("{CONFIG}\n{deep}\n")).unwrap();
    // As much stack as threads have, in one of which the window reads settings.
    let message = refused(&mut within("ulimit -s 2048", folder.path(), &["train", "config.toml"]));
    assert!(message.contains("config.toml: line ") && message.contains("nested more than 32 levels"), "{message}");
    fs::write(folder.path().join("config.toml"), "# long\n".repeat(1 << 20)).unwrap();
    let message = refused(program(folder.path()).args(["train", "config.toml"]));
    assert!(message.contains("config.toml: longer than 4 MiB"), "{message}");
}

/// A packed file of some kilobytes whose rows take more than the process may have: it was aborted.
#[cfg(target_os = "linux")]
#[test]
fn a_table_beyond_the_memory_is_refused_in_one_line() {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"a,b,c\n").unwrap();
    let rows = b"1,2,3\n".repeat(1 << 18);
    (0..100).for_each(|_| packed.write_all(&rows).unwrap());
    let folder = folder(packed.finish().unwrap());
    // 26 million rows of 24 bytes, in 500 MB.
    let limited = || refused(&mut within("ulimit -v 500000", folder.path(), &["train", "config.toml"]));
    let message = limited();
    assert!(message.contains("data.csv: ") && message.contains(" rows are read and take more than the "), "{message}");
    fs::write(folder.path().join("config.toml"), CONFIG.replace("source.file = \"data.csv\"", MARKET)).unwrap();
    let message = limited();
    assert!(message.contains("a market of 90000000 rows needs"), "{message}");
    assert_eq!(names_in(folder.path()), ["config.toml", "data.csv"]);
}

/// A source of 100 bytes that takes 9 GB.
#[cfg(target_os = "linux")]
const MARKET: &str = "source.synthetic.rows = 90000000";

/// Column names come from a file; in an error they would set the terminal's colours.
#[test]
fn control_characters_of_column_names_are_escaped() {
    let folder = folder("a\u{9b}31m,\u{202e}b,d\n1,2,3\n4,5,7\n6,1,4\n2,2,2\n");
    let message = refused(program(folder.path()).args(["train", "config.toml"]));
    assert!(
        !message.contains(['\u{9b}', '\u{202e}']) && message.contains("it has a\\u009b31m, \\u202eb, d"),
        "{message}"
    );
}

#[test]
fn the_example_trains_and_help_has_examples() {
    let folder = tempfile::tempdir().unwrap();
    let (config, ..) = output(program(folder.path()).arg("example-config"));
    let short = config.replace("rows = 800000", "rows = 2000").replace("epochs = 20", "epochs = 2");
    assert_ne!(short, config);
    fs::write(folder.path().join("example.toml"), short).unwrap();
    let (stdout, stderr, code) = output(program(folder.path()).args(["train", "example.toml", "--out", "run"]));
    assert_eq!(code, 0, "{stdout}{stderr}");
    let (help, _, code) = output(program(folder.path()).arg("--help"));
    assert!(code == 0 && help.contains("regression-studio train market.toml --out market-run"), "{help}");
}

/// Ctrl-C once: what there is is kept, and the training can go on.
#[cfg(unix)]
#[test]
fn an_interrupted_training_is_kept_and_goes_on() {
    let folder = folder(good_data());
    fs::write(folder.path().join("config.toml"), CONFIG.replace("epochs = 3", "epochs = 1000000\npatience = 0"))
        .unwrap();
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("regression-studio"))
        .args(["train", "config.toml"])
        .current_dir(folder.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The folder is there when the training begins; a second later Ctrl-C is handled.
    while !folder.path().join("config-run").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let history = fs::read_to_string(folder.path().join("config-run/history.csv")).unwrap();
    let epochs = history.lines().count() - 1;
    assert!(epochs > 0);
    assert!(folder.path().join("config-run/model.safetensors").exists());

    fs::write(
        folder.path().join("config.toml"),
        CONFIG.replace("epochs = 3", &format!("epochs = {}\npatience = 0", epochs + 2)),
    )
    .unwrap();
    let (stdout, stderr, code) = output(program(folder.path()).args(["train", "config.toml", "--resume"]));
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains(&format!("Epoch {},", epochs + 2)), "{stdout}");
}
