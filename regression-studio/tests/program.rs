//! The command line: output, saved files and errors.

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use assert_cmd::Command;
use neural_net::files::DirectoryLock;
use regression_studio::Model;
use support::names_in;
use tempfile::TempDir;
use test_support::wait_until;

fn program(directory: &Path) -> Command {
    let mut command = Command::cargo_bin("regression-studio").unwrap();
    command.current_dir(directory).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    command
}

/// Returns stdout, stderr and the exit code.
fn output(command: &mut Command) -> (String, String, i32) {
    let output = command.timeout(std::time::Duration::from_secs(300)).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap_or(-1))
}

/// Expects one error line on stderr and exit code 2. Returns the line.
fn rejected(command: &mut Command) -> String {
    let (stdout, stderr, code) = output(command);
    assert_eq!(code, 2, "{stdout}{stderr}");
    assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("error: "), "{stderr}");
    assert!(stderr.matches("os error").count() <= 1, "the cause is printed twice: {stderr}");
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

/// The files in a finished run's folder.
const RUN_FILES: [&str; 10] = [
    "checkpoint.safetensors",
    "errors.svg",
    "history.csv",
    "model-card.md",
    "model.safetensors",
    "predicted.csv",
    "predicted.svg",
    "results.toml",
    "settings.toml",
    "split.csv",
];

/// A temporary folder with data.csv and config.toml.
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
fn a_sheet_of_a_workbook_is_trained_on_and_predicted() {
    let folder = folder(good_data());
    let mut book = rust_xlsxwriter::Workbook::new();
    for (name, factor) in [("Old", 0), ("New", 3)] {
        let sheet = book.add_worksheet().set_name(name).unwrap();
        sheet.write_row(0, 0, ["a", "b", "c"]).unwrap();
        (0..60).for_each(|row| _ = sheet.write_row(row + 1, 0, [row % 17, row % 5, row * factor]).unwrap());
    }
    book.save(folder.path().join("book.xlsx")).unwrap();
    fs::write(folder.path().join("config.toml"), CONFIG.replace("data.csv", "book.xlsx")).unwrap();
    let train = ["train", "config.toml", "--out", "run", "--sheet", "New"];
    let (stdout, stderr, code) = output(program(folder.path()).args(train));
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("book.xlsx: 60 rows, 3 columns") && !stdout.contains("the sheet"), "{stdout}");
    assert!(fs::read_to_string(folder.path().join("run/settings.toml")).unwrap().contains("sheet = \"New\""));
    // The training sheet, or another one.
    let predict = ["predict", "run", "book.xlsx"];
    let (stdout, stderr, code) = output(program(folder.path()).args(predict));
    assert_eq!((code, stdout.lines().count()), (0, 61), "{stderr}");
    assert!(
        stdout.lines().nth(60).unwrap().contains(",177,") && stderr.contains("the sheet \"New\" is read"),
        "{stdout}{stderr}"
    );
    let (stdout, ..) = output(program(folder.path()).args(predict).args(["--sheet", "Old"]));
    assert!(stdout.lines().nth(60).unwrap().contains(",0"), "{stdout}");
    let error = rejected(program(folder.path()).args(predict).args(["--sheet", "Older"]));
    assert!(error.contains("book.xlsx: there is no sheet \"Older\": the sheets are \"Old\", \"New\""), "{error}");
    let error = rejected(program(folder.path()).args(["predict", "run", "data.csv", "--sheet", "New"]));
    assert!(error.contains("data.csv: this is no workbook with a sheet \"New\""), "{error}");
}

#[test]
fn a_run_is_saved_and_predicts() {
    let folder = folder(good_data());
    let (stdout, stderr, code) = output(program(folder.path()).args(["train", "config.toml"]));
    assert_eq!(code, 0, "{stderr}");
    for part in ["data.csv: 200 rows, 3 columns", "Epoch 3, training error", "linear  ", "saved to config-run"] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert_eq!(names_in(folder.path()), ["config-run", "config.toml", "data.csv"]);
    assert_eq!(names_in(&folder.path().join("config-run")), RUN_FILES);

    // The model is given as a folder and as a file; predictions are printed and written.
    let (printed, _, code) = output(program(folder.path()).args(["predict", "config-run", "data.csv"]));
    assert_eq!(
        (code, printed.lines().count(), printed.lines().next()),
        (0, 201, Some("row,predicted c,lower 90 %,upper 90 %,c,part"))
    );
    assert!(
        printed
            .lines()
            .nth(1)
            .is_some_and(|line| ["training", "validation", "test"].iter().any(|part| line.ends_with(part)))
    );
    let (_, stderr, _) = output(program(folder.path()).args(["predict", "config-run", "data.csv"]));
    assert!(
        stderr.contains("over the 31 test rows") && stderr.contains("the table that the network was trained on"),
        "{stderr}"
    );
    let arguments = ["predict", "config-run/model.safetensors", "data.csv", "--out", "out.csv"];
    assert_eq!(output(program(folder.path()).args(arguments)).2, 0);
    assert_eq!(fs::read_to_string(folder.path().join("out.csv")).unwrap(), printed);

    // An existing run is not overwritten. Its saved settings reproduce it.
    let message = rejected(program(folder.path()).args(["train", "config.toml"]));
    assert!(message.contains("config-run: the folder contains a run: resume it with --resume"), "{message}");
    let arguments = ["train", "config-run/settings.toml", "--out", "again"];
    assert_eq!(output(program(folder.path()).args(arguments)).2, 0);
    // Edited settings are rejected until the user removes the checksum.
    let kept = fs::read_to_string(folder.path().join("config-run/settings.toml")).unwrap();
    let (first, changed) = kept.split_once('\n').unwrap();
    let changed = changed.replace("epochs = 3", "epochs = 1");
    fs::write(folder.path().join("changed.toml"), format!("{first}\n{changed}")).unwrap();
    let message = rejected(program(folder.path()).args(["train", "changed.toml"]));
    assert!(message.contains("changed.toml: the file is damaged or was edited") && message.contains("remove line 1"));
    fs::write(folder.path().join("changed.toml"), changed).unwrap();
    assert_eq!(output(program(folder.path()).args(["train", "changed.toml"])).2, 0);
    let read = |path: &str| Model::load(&folder.path().join(path)).unwrap();
    assert_eq!(read("again/model.safetensors"), read("config-run/model.safetensors"));

    // More epochs are allowed, another network is not.
    fs::write(folder.path().join("config.toml"), CONFIG.replace("epochs = 3", "epochs = 5")).unwrap();
    let (stdout, stderr, code) = output(program(folder.path()).args(["train", "config.toml", "--resume"]));
    assert!(code == 0 && stdout.contains("Epoch 5") && !stdout.contains("Epoch 3,"), "{stdout}{stderr}");
    fs::write(folder.path().join("config.toml"), CONFIG.replace("hidden = [6]", "hidden = [7]")).unwrap();
    let message = rejected(program(folder.path()).args(["train", "config.toml", "--resume"]));
    assert!(message.contains("has another [network]"), "{message}");
}

#[test]
fn identifiers_and_true_values_are_written_as_they_are_in_the_file() {
    let row = |i: u32| format!("{i},g{},{},{}\n", i % 40, i % 17, (i % 17) * 2);
    let folder = folder("id,person,a,c\n".to_owned() + &(0..200).map(row).collect::<String>());
    let columns = "features = [\"a\"]\ncolumns = { id = \"index\", person = \"group\" }";
    fs::write(folder.path().join("config.toml"), CONFIG.replace("features = [\"a\", \"b\"]", columns)).unwrap();
    let (_, stderr, code) = output(program(folder.path()).args(["train", "config.toml"]));
    assert_eq!(code, 0, "{stderr}");
    let new = "# exported\nid;c;a;person\n00123;1.10;1;\"a;1\"\n\n9007199254740993;12345678901234567890;2;\"say \"\"x\"\"\"\n\
               1.10;0,30;3;\"two\nlines\"\n1e5;;4; g \n-0;1E+2;5;NA\n2468013579246801357924;+7;6;\"1,5\"\n";
    fs::write(folder.path().join("new.csv"), new).unwrap();
    let (printed, _, code) = output(program(folder.path()).args(["predict", "config-run", "new.csv"]));
    assert_eq!(code, 0, "{printed}");
    let mut found = csv::Reader::from_reader(printed.as_bytes());
    assert_eq!(
        found.headers().unwrap(),
        ["row", "id", "person", "predicted c", "lower 90 %", "upper 90 %", "c"].as_slice()
    );
    let copied: Vec<[String; 3]> =
        found.records().map(|row| [1, 2, 6].map(|of| row.as_ref().unwrap()[of].to_owned())).collect();
    let expected = [
        ["00123", "a;1", "1.10"],
        ["9007199254740993", "say \"x\"", "12345678901234567890"],
        ["1.10", "two\nlines", "0,30"],
        ["1e5", "g", ""],
        ["-0", "NA", "1E+2"],
        ["2468013579246801357924", "1,5", "+7"],
    ];
    assert_eq!(copied, expected);
    // Without these columns, the predictions are the same.
    fs::write(folder.path().join("bare.csv"), "a\n1\n2\n").unwrap();
    let (bare, _, code) = output(program(folder.path()).args(["predict", "config-run", "bare.csv"]));
    assert_eq!((code, bare.lines().next()), (0, Some("row,predicted c,lower 90 %,upper 90 %")));
    let predicted = |line: &str, column: usize| line.split(',').nth(column).unwrap().to_owned();
    assert_eq!(predicted(bare.lines().nth(1).unwrap(), 1), predicted(printed.lines().nth(1).unwrap(), 3));
}

#[test]
fn many_features_are_listed_briefly_and_all_time_is_reported() {
    let header: Vec<String> = (0..30).map(|column| format!("x{column}")).collect();
    let row = |i: u32| {
        let cells: Vec<String> = (0..30).map(|column| ((i * 7 + column * i * i) % 23).to_string()).collect();
        format!("{},{}\n", cells.join(","), i % 23)
    };
    let folder = folder(format!("{},c\n", header.join(",")) + &(0..200).map(row).collect::<String>());
    let features = format!("features = {header:?}");
    fs::write(folder.path().join("config.toml"), CONFIG.replace("features = [\"a\", \"b\"]", &features)).unwrap();
    let (stdout, _, code) = output(program(folder.path()).args(["train", "config.toml"]));
    assert_eq!(code, 0, "{stdout}");
    assert_eq!(stdout.lines().filter(|line| line.starts_with("  x")).count(), 10, "{stdout}");
    assert!(
        stdout.lines().any(|line| line.starts_with("  and 20 more: see config-run") && line.ends_with("model-card.md"))
    );
    assert!(stdout.lines().all(|line| line.len() < 300), "{stdout}");
    // The stages add up to the total.
    let line = stdout.lines().last().unwrap();
    let seconds: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    let (all, parts) = seconds.split_first().unwrap();
    assert!((all - parts.iter().sum::<f64>()).abs() < 0.1, "{line}");
    for part in
        ["in all", "read the table", "for the epochs", "for metrics, intervals and importance", "to save the run"]
    {
        assert!(line.contains(part), "{line}");
    }
}

/// Only on Unix, where hard links are recognized as the same file.
#[cfg(unix)]
#[test]
fn nothing_that_is_read_is_overwritten() {
    let folder = folder(good_data());
    let path = |name: &str| folder.path().join(name);
    assert_eq!(output(program(folder.path()).args(["train", "config.toml"])).2, 0);
    fs::hard_link(path("data.csv"), path("same.csv")).unwrap();
    for out in ["data.csv", "./data.csv", "same.csv", "config-run/model.safetensors"] {
        let message = rejected(program(folder.path()).args(["predict", "config-run", "data.csv", "--out", out]));
        let read = if out.ends_with("csv") { "data.csv" } else { out };
        let expected = format!("--out {out} would overwrite {read}, which is read: choose another place");
        assert!(message.contains(&expected), "{message}");
    }
    assert_eq!(fs::read_to_string(path("data.csv")).unwrap(), good_data());

    // The settings and the table of a run have names of files in its folder.
    fs::rename(path("data.csv"), path("predicted.csv")).unwrap();
    fs::write(path("other.toml"), CONFIG.replace("data.csv", "predicted.csv")).unwrap();
    let message = rejected(program(folder.path()).args(["train", "other.toml", "--out", "."]));
    assert!(message.contains("--out ./predicted.csv would overwrite predicted.csv, which is read"), "{message}");
    fs::rename(path("other.toml"), path("settings.toml")).unwrap();
    fs::rename(path("predicted.csv"), path("table.csv")).unwrap();
    let settings = CONFIG.replace("data.csv", "table.csv");
    fs::write(path("settings.toml"), &settings).unwrap();
    let message = rejected(program(folder.path()).args(["train", "settings.toml", "--out", "."]));
    assert!(message.contains("--out ./settings.toml would overwrite settings.toml, which is read"), "{message}");
    assert_eq!(fs::read_to_string(path("settings.toml")).unwrap(), settings);
    assert_eq!(fs::read_to_string(path("table.csv")).unwrap(), good_data());

    // A run can be resumed with its own settings.
    let arguments = ["train", "settings.toml", "--out", "run"];
    assert_eq!(output(program(folder.path()).args(arguments)).2, 0);
    let arguments = ["train", "run/settings.toml", "--out", "run", "--resume", "--epochs", "4"];
    let (stdout, stderr, code) = output(program(folder.path()).args(arguments));
    assert!(code == 0 && stdout.contains("Epoch 4"), "{stdout}{stderr}");
}

#[test]
fn a_prediction_is_explained_by_contributions_that_add_up() {
    let folder = folder(good_data());
    let (stdout, ..) = output(program(folder.path()).args(["train", "config.toml"]));
    assert!(stdout.contains("90 % of new rows like these are within ±"), "{stdout}");
    let card = fs::read_to_string(folder.path().join("config-run/model-card.md")).unwrap();
    assert!(
        card.contains("90 % of new rows like these are within ±") && card.contains("100 rows of the training part")
    );
    let explain = |more: &[&str]| {
        let arguments = [&["predict", "config-run/model.safetensors", "data.csv"], more].concat();
        output(program(folder.path()).args(arguments))
    };
    let (stdout, stderr, code) = explain(&["--explain", "3"]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    let lines: Vec<Vec<&str>> = stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        (&lines[0][..], lines[1][0], lines[4][0]),
        (&["column", "value", "contribution", "±", "error"][..], "mean", "prediction")
    );
    // The features in the third row, "2, 2, 6".
    assert!(lines[2][1] == "2" && lines[3][1] == "2" && lines[2][3] == "±", "{stdout}");
    let number = |text: &str| text.parse::<f64>().unwrap();
    let sum = number(lines[1][1]) + number(lines[2][2]) + number(lines[3][2]);
    assert!((sum - number(lines[4][1])).abs() < 0.001, "{stdout}");
    assert!(stdout.contains("90 % interval of the prediction: "), "{stdout}");
    let (predicted, ..) = explain(&[]);
    let of_row: f64 = number(predicted.lines().nth(3).unwrap().split(',').nth(1).unwrap());
    assert!((of_row - number(lines[4][1])).abs() < 0.001, "{of_row} {stdout}");
    let (predicted, ..) = explain(&["--interval", "50"]);
    assert!(predicted.starts_with("row,predicted c,lower 50 %,upper 50 %,c"), "{predicted}");

    let rejected = |more: &[&str]| {
        let arguments = [&["predict", "config-run", "data.csv"], more].concat();
        rejected(program(folder.path()).args(arguments))
    };
    for row in ["0", "201"] {
        let message = rejected(&["--explain", row]);
        assert!(
            message.contains(&format!("data.csv: row {row} is out of range")) && message.contains("1 to 200"),
            "{message}"
        );
    }
    for (more, part) in [(["--explain", "x"], "--explain"), (["--interval", "91"], "must be one of 50, 80, 90, 95, 99")]
    {
        let (_, stderr, code) = explain(&more);
        assert!(code == 2 && stderr.contains(part), "{stderr}");
    }
    fs::write(folder.path().join("data.csv"), "a,b\n1,2\n3,\n").unwrap();
    assert!(rejected(&["--explain", "2"]).contains("row 2 has no prediction"));
}

/// A fill value is not shown as if it were the cell's value.
#[test]
fn a_value_in_place_of_a_missing_one_is_shown_as_one() {
    for by in ["mean", "median"] {
        let row = |i: u32| match i % 10 {
            0 => format!(",{},{i}\n", i % 5),
            _ => format!("{},{},{i}\n", i % 17, i % 5),
        };
        let folder = folder("a,b,c\n".to_owned() + &(0..200).map(row).collect::<String>());
        let set = format!("data.bad_rows={by}");
        let (stdout, ..) =
            output(program(folder.path()).args(["train", "config.toml", "--set", &set, "--set", "split.order=time"]));
        assert!(stdout.contains("a is missing in 14 rows of the training part"), "{stdout}");
        let explain =
            |row: &str| output(program(folder.path()).args(["predict", "config-run", "data.csv", "--explain", row])).0;
        let of_missing = explain("11");
        assert!(of_missing.contains("  missing, taken as ") && of_missing.contains(&format!("({by})")), "{of_missing}");
        assert!(!explain("2").contains("missing"), "{}", explain("2"));
    }
}

#[test]
fn folds_measure_without_saving_a_run() {
    let folder = folder(good_data());
    let (stdout, stderr, code) = output(program(folder.path()).args(["train", "config.toml", "--folds", "4"]));
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    for part in [
        "Fold 4 of 4: ",
        "Mean ± standard deviation over 4 folds:",
        "network ",
        "linear ",
        "The 90 % intervals contain",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    let (json, ..) = output(program(folder.path()).args(["train", "config.toml", "--folds", "2", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows: u64 = [0, 1].iter().map(|&fold: &usize| json["folds"][fold]["parts"][2]["rows"].as_u64().unwrap()).sum();
    assert_eq!(rows, 200);
    assert_eq!(names_in(folder.path()), ["config.toml", "data.csv"]);
    for more in [&["--folds", "1"][..], &["--folds", "4", "--out", "run"]] {
        let (_, stderr, code) = output(program(folder.path()).args(["train", "config.toml"]).args(more));
        assert!(code == 2 && stderr.contains("--folds"), "{stderr}");
    }
    fs::write(folder.path().join("data.csv"), "a,b,c\n1,2,3\n2,3,4\n4,5,7\n6,1,4\n2,2,2\n").unwrap();
    let message = rejected(program(folder.path()).args(["train", "config.toml", "--folds", "9"]));
    assert!(message.contains("config.toml: fold ") && message.contains("choose fewer folds"), "{message}");
}

#[test]
fn seeds_tell_how_much_is_luck_without_saving_a_run() {
    let folder = folder(good_data());
    let train = |more: &[&str]| output(program(folder.path()).args(["train", "config.toml"]).args(more));
    let (stdout, stderr, code) = train(&["--seeds", "3"]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    for part in [
        "Seed 3 of 3: 31 test rows, ",
        "Mean ± standard deviation over 3 seeds:",
        "The seed alone changes the network's RMSE by ± ",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    // Only the network depends on the seed.
    let linear = stdout.lines().find(|line| line.starts_with("linear ")).unwrap();
    assert_eq!(linear.matches(" ± 0.0000").count(), 3, "{linear}");
    assert_eq!(names_in(folder.path()), ["config.toml", "data.csv"]);
    let parse = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
    let json = parse(&train(&["--seeds", "3", "--json", "--seed", "5"]).0);
    for (index, seed) in ["5", "6", "7"].into_iter().enumerate() {
        let alone = parse(&train(&["--seed", seed, "--json", "--out", seed]).0);
        assert_eq!(json["seeds"][index]["parts"], alone["parts"], "{seed}");
    }
    for more in [
        &["--seeds", "1"][..],
        &["--seeds", "4", "--out", "run"],
        &["--seeds", "4", "--folds", "4"],
        &["--seeds", "4", "--trees"],
    ] {
        let (_, stderr, code) = train(more);
        assert!(code == 2 && stderr.contains("--seeds"), "{stderr}");
    }
}

/// The files of a search, in addition to its best run's files.
const SEARCH_FILES: [&str; 4] = ["best.toml", "search.csv", "search.jsonl", "search.svg"];

/// The runs of a search as CSV, without their times.
fn runs_without_times(folder: &Path) -> Vec<Vec<String>> {
    let mut table = csv::Reader::from_path(folder.join("search.csv")).unwrap();
    assert_eq!(table.headers().unwrap().get(9), Some("seconds"));
    let cells = |row: csv::StringRecord| {
        row.iter().enumerate().filter(|(column, _)| *column != 9).map(|(_, cell)| cell.to_owned()).collect()
    };
    table.records().map(|row| cells(row.unwrap())).collect()
}

#[test]
fn a_search_saves_all_runs_and_the_best_one_as_a_run() {
    let folder = folder(good_data());
    let train = |arguments: &str| output(program(folder.path()).arg("train").args(arguments.split(' ')));
    let (stdout, stderr, code) = train("config.toml --search 12 --out found");
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    for part in [
        "Run 12 of 12: hidden [",
        "the file's settings",
        "12 settings were tried. The best was chosen by its validation error, which is therefore a little too good. The \
         test part was not used for the choice.",
        "saved to found, with search.csv, search.svg and best.toml",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    // The test part is measured only once, with the best run.
    assert_eq!(stdout.lines().filter(|line| line.starts_with("test ")).count(), 3, "network, linear, mean: {stdout}");
    let found = folder.path().join("found");
    let mut files = [&RUN_FILES[..], &SEARCH_FILES].concat();
    files.sort_unstable();
    assert_eq!(names_in(&found), files);
    let runs = runs_without_times(&found);
    let error = |run: &Vec<String>| run[6].parse::<f64>().unwrap();
    assert!(runs.iter().map(|run| run[0].as_str()).eq((1..=12).map(|run| run.to_string()).collect::<Vec<_>>()));
    assert_eq!((runs[0][1].as_str(), runs[0][3].as_str()), ("6", "0"), "the first run has the file's settings");
    let best = runs.iter().min_by(|a, b| error(a).total_cmp(&error(b))).unwrap();
    let first = stdout.lines().skip_while(|line| !line.starts_with("rank ")).nth(1).unwrap();
    assert_eq!(first.split_whitespace().nth(1), Some(best[0].as_str()), "{first}");
    assert!(fs::read_to_string(found.join("search.svg")).unwrap().contains("Validation error by learning rate"));

    // A single run with the best settings gives the same bits.
    assert_eq!(train("found/best.toml --out alone").2, 0);
    let read = |name: &str| regression_studio::run_folder::open(&folder.path().join(name)).unwrap();
    let [of_search, alone] = [read("found"), read("alone")];
    assert_eq!((&of_search.model, &of_search.settings), (&alone.model, &alone.settings));
    let smallest = of_search.history.iter().map(|record| record.validation_rmse).fold(f64::INFINITY, f64::min);
    assert_eq!(smallest, error(best));
    let (printed, ..) = output(program(folder.path()).args(["predict", "found", "data.csv"]));
    assert_eq!(printed.lines().count(), 201);

    // A search is neither overwritten nor resumed with other settings. More runs continue it.
    for more in ["--search 12", "--epochs 3"] {
        let message =
            rejected(program(folder.path()).args(["train", "config.toml", "--out", "found"]).args(more.split(' ')));
        assert!(message.contains("found: the folder contains a search: resume it with --resume"), "{message}");
    }
    let message = rejected(program(folder.path()).args("train config.toml --search 12 --out alone".split(' ')));
    assert!(message.contains("alone: the folder contains a run: choose another folder"), "{message}");
    let other = "train config.toml --search 12 --out found --resume --epochs 4";
    let message = rejected(program(folder.path()).args(other.split(' ')));
    assert!(message.contains("found: its search has training.epochs = 3, not 4"), "{message}");
    let (json, stderr, code) = train("config.toml --search 14 --out found --resume --json");
    assert_eq!((code, stderr.as_str()), (0, ""), "{json}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((json["search"]["tried"].as_u64(), json["search"]["runs"].as_array().unwrap().len()), (Some(14), 14));
    assert_eq!((&json["search"]["best"], &json["parts"][2]["name"]), (&json["search"]["runs"][0], &"test".into()));
    let longer = runs_without_times(&found);
    assert_eq!((longer.len(), &longer[..12]), (14, &runs[..]));
}

#[test]
fn a_search_rejects_what_it_cannot_do() {
    let folder = folder(good_data());
    for more in [
        "--search 0",
        "--search 1",
        "--search 10001",
        "--search x",
        "--search 5 --folds 3",
        "--search 5 --seeds 3",
        "--search 5 --compare-kinds",
        "--search 5 --trees",
    ] {
        let (_, stderr, code) = output(program(folder.path()).args(["train", "config.toml"]).args(more.split(' ')));
        assert!(code == 2 && stderr.contains("--search"), "{more}: {stderr}");
    }
    for (set, expected) in [
        ("search.learning_rate=[0.1,0.01]", "config.toml: search.learning_rate: the minimum 0.1 is greater than"),
        ("search.widths=[]", "config.toml: search.widths: the list is empty"),
        ("search.width=[8]", "search.width=[8]: unknown name `width`"),
        ("network.kind=table", "config.toml: network.kind = \"table\" chooses its own layers and learning rate"),
    ] {
        let message = rejected(program(folder.path()).args(["train", "config.toml", "--search", "5", "--set", set]));
        assert!(message.contains(expected), "{set}: {message}");
    }
    let message = rejected(program(folder.path()).args(["train", "config.toml", "--search", "5", "--resume"]));
    assert!(message.contains("config-run: no search found"), "{message}");
    fs::write(folder.path().join("config.toml"), CONFIG.to_owned() + "[search]\nlayers = [2, 1]\n").unwrap();
    assert!(rejected(program(folder.path()).args(["train", "config.toml", "--search", "5"])).contains("search.layers"));
    assert_eq!(names_in(folder.path()), ["config.toml", "data.csv"]);
}

#[test]
fn runs_that_diverge_do_not_end_a_search() {
    let folder = folder(good_data());
    let wild = "train config.toml --search 6 --set training.momentum=0.99 --set training.optimizer=sgd --set search.learning_rate=[9,10]";
    let (stdout, _, code) = output(program(folder.path()).args(wild.split(' ')));
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.contains(": diverged.") && stdout.contains("   1    1  [6] "), "{stdout}");
    let runs = runs_without_times(&folder.path().join("config-run"));
    let states: Vec<&str> = runs.iter().map(|run| run[9].as_str()).collect();
    assert!(states[0] == "finished" && states.contains(&"diverged"), "{states:?}");
    let all = wild.replace("--search", "--out all --set training.learning_rate=10 --search");
    let (_, stderr, code) = output(program(folder.path()).args(all.split(' ')));
    assert!(code == 1 && stderr.contains("all 6 runs diverged: choose smaller learning rates"), "{stderr}");
}

/// Once killed, and once stopped by Ctrl-C.
#[cfg(unix)]
#[test]
fn an_interrupted_search_resumes_to_the_same_runs() {
    let folder = folder(good_data());
    let arguments = "train config.toml --epochs 40 --search 30 --out";
    let (stdout, stderr, code) = output(program(folder.path()).args(arguments.split(' ')).arg("whole"));
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    let whole = folder.path().join("whole");
    for signal in ["-KILL", "-INT"] {
        let name = format!("part{signal}");
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("regression-studio"));
        child.args(arguments.split(' ')).arg(&name).current_dir(folder.path());
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        wait_for_line(&mut child, |line| line.starts_with("Run "));
        assert!(std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let code = child.wait().unwrap().code();
        // The search may have ended before the signal.
        assert!(code == Some(0) || code == if signal == "-INT" { Some(130) } else { None }, "{code:?}");
        let (stdout, _, code) = output(program(folder.path()).args(arguments.split(' ')).args([&name, "--resume"]));
        assert!(code == 0 && stdout.contains(" of 30 runs done before"), "{stdout}");
        let part = folder.path().join(&name);
        assert_eq!(runs_without_times(&part), runs_without_times(&whole));
        assert_eq!(names_in(&part), names_in(&whole));
        assert_eq!(fs::read(part.join("best.toml")).unwrap(), fs::read(whole.join("best.toml")).unwrap());
        let model = |folder: &Path| Model::load(&folder.join("model.safetensors")).unwrap();
        assert_eq!(model(&part), model(&whole));
    }
}

#[test]
fn bad_files_are_reported_by_name_in_one_line() {
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
        ("missing column", format!("a,b,d\n{rows}").into_bytes(), "no column \"c\"; its columns are a, b, d"),
        ("text target", b"a,b,c\n1,2,x\n3,4,y\n5,6,z\n7,8,x\n".to_vec(), "\"c\" is a text column"),
        ("header only", b"a,b,c\n".to_vec(), ""),
    ];
    for (name, data, expected) in cases {
        let folder = folder(data);
        let message = rejected(program(folder.path()).args(["train", "config.toml"]));
        assert!(message.contains("data.csv") || message.contains("config.toml"), "{name}: {message}");
        assert!(message.contains(expected), "{name}: {message}");
        assert_eq!(names_in(folder.path()), ["config.toml", "data.csv"], "{name}");
    }
}

#[test]
fn a_bad_cell_is_reported_by_line_and_column_on_request() {
    let folder = folder(good_data().replacen("\n3, 3,", "\n3, oops,", 1));
    let (stdout, ..) = output(program(folder.path()).args(["train", "config.toml"]));
    assert!(stdout.contains("note: 1 of 200 rows was dropped: 1 has a value that cannot be read"), "{stdout}");
    let strict = CONFIG.replace("[network]", "bad_rows = \"error\"\n[network]");
    fs::write(folder.path().join("config.toml"), strict).unwrap();
    let message = rejected(program(folder.path()).args(["train", "config.toml", "--out", "other"]));
    assert!(message.contains("data.csv, line 5, column \"b\": \"oops\" is not a number"), "{message}");
}

#[test]
fn all_invalid_settings_are_reported_at_once() {
    let folder = folder(good_data());
    let wrong = CONFIG.replace("epochs = 3", "epochs = 0\nmomentum = 1.0\nlearning_rate = -1");
    fs::write(folder.path().join("config.toml"), wrong).unwrap();
    let message = rejected(program(folder.path()).args(["train", "config.toml"]));
    for part in ["Epochs: 0", "Momentum: 1", "Learning rate: -1"] {
        assert!(message.contains(part), "{message}");
    }
    fs::write(folder.path().join("config.toml"), CONFIG.replace("epochs", "epoch")).unwrap();
    let message = rejected(program(folder.path()).args(["train", "config.toml"]));
    assert!(message.contains("config.toml: line ") && message.contains("epoch"), "{message}");
    fs::write(folder.path().join("config.toml"), CONFIG.replace("data.csv", "none.csv")).unwrap();
    let message = rejected(program(folder.path()).args(["train", "config.toml"]));
    assert!(message.contains("none.csv"), "{message}");
    assert!(rejected(program(folder.path()).args(["train", "nothing.toml"])).contains("nothing.toml"));
    assert!(rejected(program(folder.path()).args(["train", "."])).contains(".: cannot read: "));
    assert!(rejected(program(folder.path()).args(["predict", "nothing", "data.csv"])).contains("nothing"));
    assert!(rejected(program(folder.path()).args(["predict", "data.csv", "data.csv"])).contains("data.csv"));
    assert_eq!(names_in(folder.path()), ["config.toml", "data.csv"]);
}

/// Runs the program in a process with a resource limit.
#[cfg(target_os = "linux")]
fn within(limit: &str, directory: &Path, arguments: &[&str]) -> Command {
    let mut shell = Command::new("sh");
    shell.current_dir(directory).args(["-c", &format!(r#"{limit}; exec "$0" "$@""#)]);
    shell.arg(assert_cmd::cargo::cargo_bin("regression-studio")).args(arguments);
    shell
}

/// Deep nesting must not overflow the stack: the parser's limits on brackets and on a key's parts
/// multiply.
#[cfg(target_os = "linux")]
#[test]
fn deeply_nested_or_long_settings_are_rejected_in_one_line() {
    let folder = folder(good_data());
    let key = vec!["a"; 79].join(".");
    let deep = format!("x = {}1{}", format!("{{{key} = ").repeat(78), "}".repeat(78));
    fs::write(folder.path().join("config.toml"), format!("{CONFIG}\n{deep}\n")).unwrap();
    // The default stack size of threads. The window reads settings on a thread.
    let message = rejected(&mut within("ulimit -s 2048", folder.path(), &["train", "config.toml"]));
    assert!(message.contains("config.toml: line ") && message.contains("nested more than 32 levels"), "{message}");
    fs::write(folder.path().join("config.toml"), "# long\n".repeat(1 << 20)).unwrap();
    let message = rejected(program(folder.path()).args(["train", "config.toml"]));
    assert!(message.contains("config.toml: longer than 4 MiB"), "{message}");
}

/// A gzip file of a few kilobytes expands to more rows than the process's memory can hold. This
/// must not abort the process.
#[cfg(target_os = "linux")]
#[test]
fn a_table_over_the_memory_limit_is_rejected_in_one_line() {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"a,b,c\n").unwrap();
    let rows = b"1,2,3\n".repeat(1 << 18);
    (0..100).for_each(|_| gzip.write_all(&rows).unwrap());
    let folder = folder(gzip.finish().unwrap());
    // 26 million rows of 24 bytes, with 500 MB of memory.
    let limited = || rejected(&mut within("ulimit -v 500000", folder.path(), &["train", "config.toml"]));
    let message = limited();
    assert!(message.contains("data.csv: the first ") && message.contains(" rows need more than the "), "{message}");
    fs::write(folder.path().join("config.toml"), CONFIG.replace("source.file = \"data.csv\"", MARKET)).unwrap();
    let message = limited();
    assert!(message.contains("a synthetic market of 90000000 rows needs"), "{message}");
    assert_eq!(names_in(folder.path()), ["config.toml", "data.csv"]);
}

/// A source that needs 9 GB.
#[cfg(target_os = "linux")]
const MARKET: &str = "source.synthetic.rows = 90000000";

/// Column names come from a file. Unescaped in an error, they could control the terminal.
#[test]
fn control_characters_of_column_names_are_escaped() {
    let folder = folder("a\u{9b}31m,\u{202e}b,d\n1,2,3\n4,5,7\n6,1,4\n2,2,2\n");
    let message = rejected(program(folder.path()).args(["train", "config.toml"]));
    assert!(
        !message.contains(['\u{9b}', '\u{202e}']) && message.contains("its columns are a\\u009b31m, \\u202eb, d"),
        "{message}"
    );
}

/// If a file cannot be opened, its cause is reported once.
#[cfg(unix)]
#[test]
fn a_socket_is_not_a_file() {
    let folder = folder("");
    for name in ["data.csv", "config.toml"] {
        fs::remove_file(folder.path().join(name)).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join(name)).unwrap();
        let message = rejected(program(folder.path()).args(["train", "config.toml"]));
        assert!(message.contains(name) && message.contains("cannot read"), "{message}");
        assert_eq!(message.matches("os error").count(), 1, "{message}");
    }
}

#[test]
fn the_example_trains_and_help_has_examples() {
    let folder = tempfile::tempdir().unwrap();
    let (config, ..) = output(program(folder.path()).arg("example-config"));
    fs::write(folder.path().join("example.toml"), config).unwrap();
    let (stdout, stderr, code) = output(program(folder.path()).args(["train", "example.toml", "--out", "run"]));
    assert_eq!(code, 0, "{stdout}{stderr}");
    let (help, _, code) = output(program(folder.path()).arg("--help"));
    assert!(code == 0 && help.contains("regression-studio train settings.toml --out run"), "{help}");
}

#[test]
fn the_demo_needs_no_settings_file_and_is_not_trivial() {
    let folder = tempfile::tempdir().unwrap();
    let (json, stderr, code) =
        output(program(folder.path()).args(["train", "--demo", "--set", "training.device=cpu", "--json"]));
    assert_eq!(code, 0, "{stderr}");
    let results: serde_json::Value = serde_json::from_str(&json).unwrap();
    let r2 = |model: &str| results["parts"][2][model]["r2"].as_f64().unwrap();
    let (network, linear) = (r2("network"), r2("linear"));
    assert!((0.7..0.9).contains(&network) && linear + 0.01 < network, "network {network}, linear {linear}");
    assert!(folder.path().join("demo-run/model.safetensors").is_file());
    assert!(output(program(folder.path()).args(["train", "--demo", "config.toml"])).1.contains("cannot be used with"));
    assert!(output(program(folder.path()).arg("train")).1.contains("CONFIG.toml"));
}

/// Starts an endless training run, with its output in pipes.
fn endless(folder: &Path, more: &[&str]) -> Child {
    fs::write(folder.join("config.toml"), CONFIG.replace("epochs = 3", "epochs = 1000000\npatience = 0")).unwrap();
    std::process::Command::new(assert_cmd::cargo::cargo_bin("regression-studio"))
        .args(["train", "config.toml"])
        .args(more)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads a program's output up to a wanted line, and closes the pipe.
#[track_caller]
fn wait_for_line(child: &mut Child, is_wanted: impl Fn(&str) -> bool) {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| is_wanted(&line)), "it ends without the line");
}

/// A run killed at the start of training has a checkpoint. The next start removes its temporary
/// files.
#[test]
fn a_killed_run_resumes_and_leaves_no_temporary_file() {
    let folder = folder(good_data());
    let run_folder = folder.path().join("config-run");
    let checkpoint = run_folder.join("checkpoint.safetensors");
    // A run must exist before it can be resumed.
    assert_eq!(output(program(folder.path()).args(["train", "config.toml"])).2, 0);
    for round in 0..10 {
        let written = fs::metadata(&checkpoint).unwrap().modified().unwrap();
        let mut child = endless(folder.path(), &["--resume"]);
        wait_for_line(&mut child, |line| line.ends_with(" inputs"));
        wait_until("a checkpoint", || fs::metadata(&checkpoint).unwrap().modified().unwrap() > written);
        // Kill the run at a different moment in each round. It can be resumed after any of them.
        std::thread::sleep(Duration::from_millis(round));
        child.kill().unwrap();
        child.wait().unwrap();
        // A temporary file, as left behind by a kill during a write.
        fs::write(run_folder.join(".model.safetensors.4000000.3.tmp"), "half").unwrap();
        let epochs = regression_studio::run_folder::open(&run_folder).unwrap().history.len();
        let config = CONFIG.replace("epochs = 3", &format!("epochs = {}\npatience = 0", epochs + 1));
        fs::write(folder.path().join("config.toml"), config).unwrap();
        let (stdout, stderr, code) = output(program(folder.path()).args(["train", "config.toml", "--resume"]));
        assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
        assert_eq!(names_in(&run_folder), RUN_FILES, "round {round}");
    }
}

#[test]
fn a_run_that_diverges_at_once_leaves_no_folder_behind() {
    let folder = folder(good_data());
    let wild = CONFIG
        .replace("hidden = [6]", "hidden = [6]\nactivation = \"relu\"")
        .replace("epochs = 3", "epochs = 3\nlearning_rate = 10.0\nmomentum = 0.99");
    fs::write(folder.path().join("config.toml"), wild).unwrap();
    for _ in 0..2 {
        let (stdout, stderr, code) = output(program(folder.path()).args(["train", "config.toml"]));
        assert!(code == 1 && stderr.contains("diverged in epoch 1"), "{code} {stdout}{stderr}");
        assert_eq!(names_in(folder.path()), ["config.toml", "data.csv"]);
    }
}

#[test]
fn a_folder_that_another_process_writes_to_is_rejected() {
    let folder = folder(good_data());
    let lock = DirectoryLock::acquire(&folder.path().join("config-run")).unwrap();
    let message = rejected(program(folder.path()).args(["train", "config.toml"]));
    assert!(
        message.starts_with(&format!("error: config-run: process {} writes there: ", std::process::id())),
        "{message}"
    );
    drop(lock);
    assert_eq!(output(program(folder.path()).args(["train", "config.toml"])).2, 0);
    // Predicting does not need the lock.
    let _lock = DirectoryLock::acquire(&folder.path().join("config-run")).unwrap();
    assert_eq!(output(program(folder.path()).args(["predict", "config-run", "data.csv"])).2, 0);
}

#[test]
fn the_other_kind_is_compared_on_request() {
    let folder = folder(good_data());
    let arguments = ["train", "config.toml", "--compare-kinds"];
    let (stdout, stderr, code) = output(program(folder.path()).args(arguments).arg("--trees"));
    assert_eq!(code, 0, "{stdout}{stderr}");
    for part in [
        "test              31  trees ",
        "The network made for tables is better on the validation part: its error there is 0.0",
        "To train it: --set network.kind=\"table\" --out FOLDER.",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert_eq!(names_in(folder.path()), ["config-run", "config.toml", "data.csv"]);
    let results = fs::read_to_string(folder.path().join("config-run/results.toml")).unwrap();
    assert_eq!(results.matches("[results.parts.trees]").count(), 3, "{results}");
    let other = ["--out", "table-run", "--set", "network.kind=\"table\"", "--json"];
    let (json, ..) = output(program(folder.path()).args(arguments.iter().chain(&other)));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let [error, of_other] = ["error", "of_other"].map(|key| json["comparison"][key].as_f64().unwrap());
    assert!(json["comparison"]["kind"] == "table" && error < of_other, "{json}");
    assert_eq!(json["parts"][2]["name"], "test");
}

/// Forty pairs of processes start simultaneously.
#[test]
fn of_two_simultaneous_runs_in_one_folder_one_succeeds() {
    let folder = folder(good_data());
    let mut rejections = 0;
    let mut models = vec![];
    for round in 0..40 {
        let out = format!("run-{round}");
        let start = || {
            let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("regression-studio"));
            command.args(["train", "config.toml", "--out", &out]).current_dir(folder.path());
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let both = [start(), start()];
        let ids = both.each_ref().map(Child::id);
        let outputs = both.map(|child| child.wait_with_output().unwrap());
        for (output, other) in outputs.iter().zip([ids[1], ids[0]]) {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let held = stderr.starts_with(&format!("error: {out}: process {other} writes there: "));
            // The first process may have ended before the second takes the lock.
            let ended = stderr.starts_with(&format!("error: {out}: the folder contains a run"));
            let expected = if output.status.success() { stderr.is_empty() } else { held || ended };
            assert!(expected, "round {round}: {stderr}");
            rejections += u32::from(held);
        }
        let succeeded = outputs.iter().filter(|output| output.status.success()).count();
        assert_eq!(succeeded, 1, "round {round}: {outputs:?}");
        models.push(regression_studio::run_folder::open(&folder.path().join(&out)).unwrap().model);
        assert_eq!(names_in(&folder.path().join(&out)), RUN_FILES, "round {round}");
    }
    assert!(models.iter().all(|model| *model == models[0]));
    println!("{rejections} of 40 pairs overlapped");
}

/// After a single Ctrl-C, the run is saved and can be resumed.
#[cfg(unix)]
#[test]
fn an_interrupted_run_is_saved_and_resumes() {
    let folder = folder(good_data());
    let mut child = endless(folder.path(), &[]);
    wait_for_line(&mut child, |line| line.starts_with("Epoch 1,"));
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
