//! Recordings: replaying the page's frames yields the memory that a session and the kernel's
//! definition show.

use std::collections::HashMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use kernel_debugger::Resume;
use kernel_debugger::record::{Options, Page, RecordError, parse_shape, record};
use kernel_launch::{Argument, Launch};
use ptx_interpreter::{Fault, LaunchError, MemoryRange, ObservedAccess, Observer, Step, StoppedBlock};
use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::{Need, skip};

use crate::session::{is_race_of_two_threads, line_with};
use crate::support::{self, Case, TILE_ROWS, block_bugs, grid_bugs, matmul, max, run, seeded_bug, x};

/// The repository, which contains the sources.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn options() -> Options {
    Options { ptx: "kernels.ptx".to_owned(), source_root: root(), ..Options::default() }
}

fn page(launch: &Launch, options: &Options) -> Page {
    record(launch, options).unwrap_or_else(|error| panic!("{error}"))
}

const BEGINNING: &str = "<script id=\"recording\" type=\"text/plain\">";

/// The page without its recording, and the recording.
fn split(html: &str) -> (String, Value) {
    let (before, rest) = html.split_once(BEGINNING).unwrap();
    let (text, after) = rest.split_once('<').unwrap();
    let compressed = STANDARD.decode(text).unwrap();
    let recording = serde_json::from_reader(ZlibDecoder::new(&compressed[..])).unwrap();
    (format!("{before}{BEGINNING}<{after}"), recording)
}

fn numbers(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect()
}

/// The running sums of differences.
fn summed(value: &Value) -> Vec<i64> {
    let mut sum = 0;
    numbers(value).into_iter().map(|difference| (sum += difference, sum).1).collect()
}

/// The recorded memories after some of the frames, replayed like the page does. All memories are
/// shown whole.
struct Replay {
    recording: Value,
    /// The bytes of each memory. `None` for bytes that were never written.
    memories: HashMap<String, Vec<Option<u8>>>,
    names: Vec<String>,
    /// Number of replayed frames, and number of bytes written by other blocks.
    frames: usize,
    foreign: usize,
}

impl Replay {
    fn new(recording: Value) -> Self {
        let images = recording["memories"].as_array().unwrap();
        let name = |image: &Value| image["name"].as_str().unwrap().to_owned();
        let memory = |image: &Value| {
            let mut content = bytes(image["image"].as_str().unwrap());
            content.truncate(image["bytes"].as_u64().unwrap() as usize);
            (name(image), content)
        };
        let (memories, names) = (images.iter().map(memory).collect(), images.iter().map(name).collect());
        Self { recording, memories, names, frames: 0, foreign: 0 }
    }

    fn write(&mut self, memory: i64, offset: i64, written: &[Option<u8>]) {
        let memory = self.memories.get_mut(&self.names[memory as usize]).unwrap();
        memory[offset as usize..][..written.len()].copy_from_slice(written);
    }

    /// Replays up to the state before a frame. The frame after the last one stands for the end.
    fn lead_to(&mut self, frame: usize) {
        assert!(frame >= self.frames, "a replay goes forwards");
        for before in self.frames..=frame {
            while let Some(write) = self.recording["foreign"].get(self.foreign).filter(|write| write[0] == before) {
                let (memory, offset) = (write[1].as_i64().unwrap(), write[2].as_i64().unwrap());
                let written = bytes(write[3].as_str().unwrap());
                self.write(memory, offset, &written);
                self.foreign += 1;
            }
            if before < frame {
                self.apply(before);
            }
        }
        self.frames = frame;
    }

    /// Applies a frame's writes.
    fn apply(&mut self, frame: usize) {
        let groups = self.recording["frames"]["accesses"][frame].clone();
        for group in groups.as_array().unwrap() {
            let [memory, _, size, lanes] = [0, 1, 2, 3].map(|index| group[index].as_i64().unwrap());
            let offsets = numbers(&group[4]);
            let written = bytes(group[5].as_str().unwrap());
            let mut offset = offsets[0];
            for (index, written) in written.chunks(size as usize).enumerate() {
                if index > 0 {
                    offset += if offsets.len() > 2 { offsets[index] } else { offsets[1] };
                }
                self.write(memory, offset, written);
            }
            assert!(written.is_empty() || written.len() as u32 == size as u32 * (lanes as u32).count_ones());
        }
    }
}

/// Bytes in hexadecimal, with dashes for bytes that were never written.
fn bytes(text: &str) -> Vec<Option<u8>> {
    let pairs = (0..text.len() / 2).map(|index| &text[index * 2..][..2]);
    pairs.map(|pair| (pair != "--").then(|| u8::from_str_radix(pair, 16).unwrap())).collect()
}

/// The bytes of a memory of a stopped block. `None` for bytes that were never written.
fn content(range: &MemoryRange<'_>) -> Vec<Option<u8>> {
    let mut content = vec![0; range.extent.bytes as usize];
    range.read(0, &mut content).unwrap();
    content.into_iter().enumerate().map(|(index, byte)| range.is_written(index, 1).then_some(byte)).collect()
}

/// The homework's product. At each instruction of warp 0 the replayed memory matches a session's,
/// and at the end it matches the definition.
#[test]
fn frames_lead_to_what_a_session_shows() {
    if support::is_stale() {
        return;
    }
    let launch = matmul();
    let page = page(launch.launch(), &options());
    assert!(page.html.len() < 400_000, "{} bytes", page.html.len());
    let (_, recording) = split(&page.html);
    let [times, warps, pcs] = ["time", "warp", "pc"].map(|column| summed(&recording["frames"][column]));
    let lanes = numbers(&recording["frames"]["lanes"]);
    assert_eq!((page.recorded, page.issued, lanes.len()), (times.len(), times.len() as u64, times.len()));
    let mut replay = Replay::new(recording);
    let mut compared = 0;
    run(
        &launch,
        |_, _| {},
        |number, seen, stopped, _| {
            // A prime step, to compare all instructions of the loops.
            if number % 13 != 0 {
                return Resume::StepInstruction;
            }
            let frame = times.binary_search(&(seen.time as i64)).unwrap();
            let step = stopped.stop.step;
            assert_eq!((warps[frame], pcs[frame]), (i64::from(step.warp), step.pc as i64));
            assert_eq!(lanes[frame], i64::from(step.lanes));
            replay.lead_to(frame);
            for (name, range) in stopped.shared() {
                assert_eq!(replay.memories[name], content(&range), "{name} at time {}", seen.time);
            }
            let out = stopped.block.global().find(|range| range.extent.start == launch.address("out")).unwrap();
            assert_eq!(replay.memories["out"], content(&out), "out at time {}", seen.time);
            compared += 1;
            Resume::StepInstruction
        },
        Resume::Quit,
    );
    assert!(compared > 50, "{compared}");
    replay.lead_to(times.len());
    let expected = (0..TILE_ROWS * TILE_ROWS).flat_map(|index| {
        let (row, column) = (index / TILE_ROWS, index % TILE_ROWS);
        let sum: f32 = (0..40).map(|p| x(row, p) * x(column, p)).sum();
        sum.to_le_bytes().map(Some)
    });
    assert_eq!(replay.memories["out"], expected.collect::<Vec<_>>());
    let a_tile: Vec<f32> = replay.memories["a_tile"].chunks(4).map_while(float).collect();
    let last_rows: Vec<f32> = (0..32).map(|column| if column < 8 { x(32, 32 + column) } else { 0.0 }).collect();
    assert_eq!(a_tile, last_rows);
}

fn float(bytes: &[Option<u8>]) -> Option<f32> {
    let bytes: Option<Vec<u8>> = bytes.iter().copied().collect();
    Some(f32::from_le_bytes(bytes?.try_into().unwrap()))
}

#[test]
fn the_same_launch_gives_the_same_bytes() {
    if support::is_stale() {
        return;
    }
    let pages = [matmul(), matmul()].map(|launch| page(launch.launch(), &options()).html);
    assert!(pages[0] == pages[1]);
    assert!(!pages[0].contains(env!("CARGO_MANIFEST_DIR")));
}

/// Each seeded bug gives a page with its fault and line. For a race, the page shows both threads.
#[test]
fn every_seeded_bug_gives_a_page_with_its_fault() {
    if support::is_stale() {
        return;
    }
    let mut races = 0;
    let bugs: Vec<(&str, Case)> = block_bugs().chain(grid_bugs()).map(|(kernel, launch, _)| (kernel, launch)).collect();
    assert_eq!(bugs.len(), 25);
    for (kernel, launch) in bugs {
        let Err(LaunchError::Fault(fault)) = launch.launch().run(&mut Nothing) else { panic!("{kernel} has no fault") };
        let page = page(launch.launch(), &options());
        assert_eq!(page.fault.as_deref(), Some(&*fault.to_string()), "{kernel}");
        let (_, recording) = split(&page.html);
        let note = &recording["fault"];
        let name = |block, thread| format!("block {block}, thread {thread}");
        assert_eq!(note["text"], fault.to_string(), "{kernel}");
        assert_eq!(note["thread"]["name"], name(fault.block, fault.thread), "{kernel}");
        let line = fault.place.source.as_ref().map_or(0, |source| source.line);
        assert_eq!(note["thread"]["source"][1], line, "{kernel}");
        // The last frame is the one at fault.
        let [warps, pcs] = ["warp", "pc"].map(|column| summed(&recording["frames"][column]));
        assert_eq!(warps.last(), Some(&note["thread"]["warp"].as_i64().unwrap()), "{kernel}");
        assert_eq!(pcs.last(), Some(&(fault.pc as i64)), "{kernel}");
        assert_eq!(pcs.len(), page.recorded + usize::from(note["issued"] == false), "{kernel}");
        if is_race_of_two_threads(&fault) {
            races += 1;
            assert_ne!(note["other"]["name"], note["thread"]["name"], "{kernel}");
            assert!(note["other"]["name"].as_str().unwrap().starts_with("block ("), "{kernel}");
            assert!(note["cell"].is_array() && fault.to_string().contains(note["other"]["name"].as_str().unwrap()));
        } else {
            assert!(note["other"].is_null(), "{kernel}");
        }
    }
    assert_eq!(races, 6);
}

struct Nothing;

impl Observer for Nothing {
    fn stops_before(&mut self, _: Step) -> bool {
        false
    }

    fn stop(&mut self, _: Step, _: &StoppedBlock<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn fault(&mut self, _: &Fault, _: &StoppedBlock<'_>) {}

    fn access(&mut self, _: ObservedAccess) {}
}

/// In a cooperative launch, other blocks write between a block's frames. The session's memory
/// includes their writes.
#[test]
fn frames_include_what_other_blocks_write() {
    if support::is_stale() {
        return;
    }
    let (mut compared, mut foreign) = (0, 0);
    for (kernel, launch, _) in grid_bugs() {
        for block in 0..2 {
            let page = match record(launch.launch(), &Options { block: Some(block), instructions: 2000, ..options() }) {
                Err(RecordError::NeverRuns { .. }) => continue,
                page => page.unwrap(),
            };
            let (_, recording) = split(&page.html);
            let times = summed(&recording["frames"]["time"]);
            let buffers = launch.launch().arguments().iter().filter_map(|argument| match argument {
                Argument::Buffer { name, address, .. } => Some((name.clone(), *address)),
                Argument::Value { .. } | Argument::Structure { .. } => None,
            });
            let buffers = buffers.collect();
            let mut comparison =
                Comparison { kernel, block, times, buffers, time: 0, compared: 0, replay: Replay::new(recording) };
            let _ = launch.launch().run(&mut comparison);
            (compared, foreign) = (compared + comparison.compared, foreign + comparison.replay.foreign);
        }
    }
    assert!(compared > 1000 && foreign > 20, "{compared} {foreign}");
}

/// Compares a block's buffers before each of its instructions with the replayed ones.
struct Comparison {
    kernel: &'static str,
    block: u32,
    times: Vec<i64>,
    buffers: Vec<(String, u64)>,
    time: i64,
    compared: usize,
    replay: Replay,
}

impl Observer for Comparison {
    fn stops_before(&mut self, step: Step) -> bool {
        self.time += 1;
        step.block == self.block
    }

    fn stop(&mut self, _: Step, block: &StoppedBlock<'_>) -> ControlFlow<()> {
        let Ok(frame) = self.times.binary_search(&(self.time - 1)) else { return ControlFlow::Continue(()) };
        self.replay.lead_to(frame);
        for (name, address) in &self.buffers {
            let range = block.global().find(|range| range.extent.start == *address).unwrap();
            if let Some(replayed) = self.replay.memories.get(name) {
                assert_eq!(*replayed, content(&range), "{}: {name} at time {}", self.kernel, self.time - 1);
                self.compared += 1;
            }
        }
        ControlFlow::Continue(())
    }

    fn fault(&mut self, _: &Fault, _: &StoppedBlock<'_>) {}

    fn access(&mut self, _: ObservedAccess) {}
}

/// Records one block of many, and a part of its instructions; with a fault, the last ones.
#[test]
fn a_part_of_a_block_is_recorded() {
    if support::is_stale() {
        return;
    }
    let launch = max();
    let part = page(launch.launch(), &Options { block: Some(3), instructions: 100, ..options() });
    let (_, recording) = split(&part.html);
    assert_eq!((part.recorded, &*part.block, &recording["index"][0]), (100, "(3, 0, 0)", &Value::from(3)));
    assert!(part.issued > 100 && recording["fault"].is_null(), "{}", part.issued);
    // Each buffer's window shows what the block touches: elements 750 to 999 of 1000 rows of 100.
    for memory in recording["memories"].as_array().unwrap() {
        let window = numbers(&memory["window"]);
        assert!(window[0] <= 7 && window[0] + window[2] >= 8 && window[2] < 20, "{memory}");
    }
    let described = part.describe(Path::new("max\u{1b}.html"), "max_kernel");
    let expected = format!(
        "max\\u{{1b}}.html: block (3, 0, 0) of max_kernel, the first 100 of {} instructions; --instructions changes that",
        part.issued
    );
    assert!(described.starts_with(&expected), "{described}");
    let (_, launch, _) = block_bugs().find(|(kernel, ..)| *kernel == "missing_second_barrier").unwrap();
    let last = page(launch.launch(), &Options { instructions: 10, ..options() });
    let (_, recording) = split(&last.html);
    assert_eq!((last.recorded as u64, recording["first"].as_u64()), (10, Some(last.issued - 10)));
    // The memory before the first frame holds what was written before it.
    assert!(!recording["memories"][0]["image"].as_str().unwrap().starts_with('-'));
    assert!(last.describe(Path::new("race.html"), "k").contains("the last 10 of "));
}

#[test]
fn what_cannot_be_recorded_is_an_error() {
    if support::is_stale() {
        return;
    }
    let launch = matmul();
    let with = |options: Options| record(launch.launch(), &options).map(drop).unwrap_err().to_string();
    assert_eq!(with(Options { block: Some(1), ..options() }), "block 1 is not in the grid, which has 1 blocks");
    let shape = |text: &str| Options { shapes: vec![parse_shape(text).unwrap()], ..options() };
    assert!(with(shape("shared7=2x2")).starts_with("nothing is called `shared7`; there are a_tile, b_tile, x, out"));
    assert!(with(shape("shared0=64x33")).starts_with("2112 elements of f32 need more than the 4224 bytes of a_tile"));
    for wrong in ["shared0", "shared0=", "shared0=2x2[0]", "shared0=2xx2", "=2x2"] {
        assert!(parse_shape(wrong).is_err(), "{wrong}");
    }
    let page = page(launch.launch(), &shape("shared0=i32 32x33"));
    let (_, recording) = split(&page.html);
    let memory = &recording["memories"][0];
    assert_eq!((&memory["element"], &memory["columns"], &memory["rows"]), (&"i32".into(), &33.into(), &32.into()));
    let (_, launch, _) = block_bugs().find(|(kernel, ..)| *kernel == "one_cell_for_all_blocks").unwrap();
    let error = record(launch.launch(), &Options { block: Some(3), ..options() }).unwrap_err();
    assert!(matches!(error, RecordError::NeverRuns { block: 3, .. }), "{error}");
}

const MARKUP: &str =
    "</script><script>document.title = 'broken'</script><img src=x onerror=alert(1)><!-- {{recording}} ";

/// A race in a kernel with markup in its file name and its lines.
fn markup_launch(directory: &Path) -> (Case, Options) {
    // Windows does not allow such a file name.
    let name = if cfg!(windows) { "a'&/script x.rs" } else { "a<b>'\"&/<script>x.rs" };
    let ptx = seeded_bugs::PTX[0].text().replace(seeded_bugs_file(), &name.replace('"', ""));
    let name = name.replace('"', "");
    let (parent, _) = name.rsplit_once('/').unwrap();
    fs::create_dir_all(directory.join(parent)).unwrap();
    fs::write(directory.join(&name), format!("{MARKUP}\n").repeat(120)).unwrap();
    let out = r#"{"name": "out", "type": "u32", "shape": [64], "values": "unwritten"}"#;
    let text = support::seeded_bug_file("missing_second_barrier", 1, [64, 1], out);
    let options = Options { ptx: MARKUP.to_owned(), source_root: directory.to_owned(), ..Options::default() };
    (Case::open(&ptx, &text), options)
}

fn seeded_bugs_file() -> &'static str {
    "seeded_bugs/src/lib.rs"
}

#[test]
fn text_from_outside_is_no_markup() {
    if support::is_stale() {
        return;
    }
    let directory = TempDir::new().unwrap();
    let (launch, options) = markup_launch(directory.path());
    let (markup, recording) = split(&page(launch.launch(), &options).html);
    let harmless = Options { ptx: "kernels.ptx".to_owned(), ..options.clone() };
    let (plain, _) = split(&page(launch.launch(), &harmless).html);
    // Only the title differs, and its text has no markup.
    let title = |html: &str| {
        let (before, rest) = html.split_once("<title>").unwrap();
        let (title, after) = rest.split_once("</title>").unwrap();
        (title.to_owned(), format!("{before}{after}"))
    };
    let ((title_with, markup), (_, plain)) = (title(&markup), title(&plain));
    assert_eq!(markup, plain);
    assert!(title_with.contains("&lt;/script&gt;") && !title_with.contains('<'), "{title_with}");
    // The recording contains it as text.
    assert!(recording["files"][0]["text"].as_str().unwrap().starts_with(MARKUP));
    assert!(recording["fault"]["text"].as_str().unwrap().contains(if cfg!(windows) {
        "script x.rs"
    } else {
        "<script>x.rs"
    }));
}

/// A PTX file cannot make the page include files outside the source root.
#[test]
fn only_sources_in_the_root_are_included() {
    if support::is_stale() {
        return;
    }
    let directory = TempDir::new().unwrap();
    let secret = directory.path().join("secret.rs");
    fs::write(&secret, "a secret\n").unwrap();
    let inside = directory.path().join("root");
    fs::create_dir(&inside).unwrap();
    let out = r#"{"name": "out", "type": "u32", "shape": [64], "values": "unwritten"}"#;
    let text = support::seeded_bug_file("missing_second_barrier", 1, [64, 1], out);
    let options = Options { source_root: inside.clone(), ..options() };
    // Escaped as in PTX.
    let in_ptx = |path: &Path| path.display().to_string().replace('\\', "\\\\");
    for name in ["../secret.rs".to_owned(), in_ptx(&secret), "missing.rs".to_owned()] {
        let ptx = seeded_bugs::PTX[0].text().replace(seeded_bugs_file(), &name);
        let page = page(Case::open(&ptx, &text).launch(), &options);
        let (_, recording) = split(&page.html);
        assert!(recording["files"][0]["text"].is_null(), "{name}");
        let all = recording.to_string();
        assert!(!all.contains(&*directory.path().to_string_lossy()), "{name} has no path of this machine");
    }
    fs::write(inside.join("lib.rs"), "a source\n").unwrap();
    let ptx = seeded_bugs::PTX[0].text().replace(seeded_bugs_file(), &in_ptx(&inside.join("lib.rs")));
    let (_, recording) = split(&page(Case::open(&ptx, &text).launch(), &options).html);
    assert_eq!(
        (&recording["files"][0]["text"], &recording["files"][0]["name"]),
        (&"a source\n".into(), &"root/lib.rs".into())
    );
}

fn program(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kernel-debugger"));
    command.arg("record").args(arguments).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn the_program_writes_a_page_or_says_why_not() {
    if support::is_stale() {
        return;
    }
    let directory = TempDir::new().unwrap();
    let (ptx, text) = support::matmul_files();
    let launch = support::write(directory.path(), ptx, &text).display().to_string();
    let output = directory.path().join("page.html");
    let [path, root] = [&output, &root()].map(|path| path.display().to_string());
    let written = program(&[&launch, "--output", &path, "--source-root", &root, "--shape", "shared0=32x33"]);
    let stdout = String::from_utf8(written.stdout).unwrap();
    assert!(written.status.success() && written.stderr.is_empty(), "{stdout}");
    assert!(stdout.starts_with(&format!("{path}: block (0, 0, 0) of matmul_tiles_f32, all ")), "{stdout}");
    let (html, recording) = split(&fs::read_to_string(&output).unwrap());
    assert_eq!(recording["memories"][0]["columns"], 33);
    assert!(html.contains("<title>matmul_tiles_f32, grid 1 × 1 × 1, block 1024 × 1 × 1, kernels.ptx</title>"));
    let second = directory.path().join("second.html").display().to_string();
    for (arguments, expected) in [
        ([&*launch, "--output", &second, "--block", "5"], "Error: block 5 is not in the grid, which has 1 blocks\n"),
        ([&*launch, "--output", "/missing/page.html", "--block", "0"], "Error: /missing/page.html: "),
        (["missing.json", "--output", &second, "--block", "0"], "Error: missing.json: "),
        (
            [&*launch, "--output", &launch, "--block", "0"],
            &format!("Error: --output {launch} would overwrite {launch}, which is read"),
        ),
    ] {
        let refused = program(&arguments);
        let stderr = String::from_utf8(refused.stderr).unwrap();
        assert!(stderr.starts_with(expected) && stderr.lines().count() == 1, "{stderr}");
        assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{stderr}");
    }
    assert_eq!(program(&[&launch, "--output", &second, "--instructions", "0"]).status.code(), Some(2));
    assert!(!Path::new(&second).exists());
}

/// Opens pages in headless Chromium, one after the other, and returns the script's report for each.
#[track_caller]
fn in_browser(pages: &[&Path]) -> Option<Vec<Value>> {
    let chromium = std::env::var_os("CHROMIUM").map_or_else(|| PathBuf::from("chromium"), PathBuf::from);
    let works = |program: &Path| {
        let status = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    if !works(&chromium) {
        skip(Need::Chromium, &format!("there is no program {}: install Chromium", chromium.display()));
        return None;
    }
    if !works(Path::new("node")) {
        skip(Need::Node, "there is no program node: install Node.js");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/debugger/record.mjs");
    let output = Command::new("node").arg(script).arg(chromium).args(pages).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn the_page_plays_in_a_browser() {
    if support::is_stale() {
        return;
    }
    let directory = TempDir::new().unwrap();
    let write = |name: &str, page: &Page| {
        let path = directory.path().join(name);
        fs::write(&path, &page.html).unwrap();
        path
    };
    let out = r#"{"name": "out", "type": "u32", "shape": [64], "values": "unwritten"}"#;
    let race = page(seeded_bug("missing_second_barrier", 1, [64, 1], out).launch(), &options());
    let (markup, markup_options) = markup_launch(directory.path());
    let markup = page(markup.launch(), &markup_options);
    let tiles = page(matmul().launch(), &options());
    let paths =
        [("race.html", &race), ("markup.html", &markup), ("tiles.html", &tiles)].map(|(name, page)| write(name, page));
    let Some(reports) = in_browser(&paths.each_ref().map(|path| &**path)) else { return };
    for (report, path) in reports.iter().zip(&paths) {
        assert_eq!(report["errors"], Value::Array(Vec::new()), "{}", path.display());
        assert_eq!(report["loaded"].as_array().unwrap().len(), 1, "{report}");
        assert_eq!((&report["scripts"], &report["images"]), (&2.into(), &0.into()), "{report}");
    }
    let source = "rust-cuda/seeded_bugs/src/lib.rs";
    let text_of = |number: u32| {
        let source = fs::read_to_string(root().join(source)).unwrap();
        source.lines().nth(number as usize - 1).unwrap().trim().to_owned()
    };
    let [reads, writes] = ["missing_second_barrier", "overwrote"].map(|mark| seeded_bugs::marked_line(mark).unwrap());
    let [at_race, at_markup, at_tiles] = &reports[..] else { panic!("{reports:?}") };
    let end = &at_race["end"];
    assert_eq!((&end["line"], &end["position"]), (&text_of(reads).into(), &"Instruction 45 of 45".into()));
    assert_eq!(end["fault"], race.fault.clone().unwrap());
    assert_eq!(end["isFaultShown"], true);
    let threads = end["threads"].as_str().unwrap();
    assert!(threads.contains("thread (32, 0, 0) (warp 1, lane 0) reads values[31]"), "{threads}");
    assert!(threads.contains("thread (31, 0, 0) (warp 0, lane 31) writes values[31]"), "{threads}");
    // Go back to the write with the button beside the other thread.
    assert_eq!(at_race["other"]["line"], text_of(writes));
    assert_eq!(
        (&at_race["other"]["isFaultShown"], &at_race["other"]["who"]),
        (&false.into(), &"warp 0: 32 of 32 lanes at work".into())
    );
    assert!(
        at_race["cell"]
            .as_str()
            .unwrap()
            .starts_with("values[31] = 1 (0x47c, bank 31): written by warp 0 lane 31 at lib.rs:")
    );
    assert_eq!(at_race["home"]["position"], "Instruction 1 of 45");
    assert_eq!(at_race["right"]["position"], "Instruction 2 of 45");
    assert_eq!(at_race["barrier"]["line"], "thread::sync_threads();");
    assert_eq!(at_race["title"], "missing_second_barrier, grid 1 × 1 × 1, block 64 × 1 × 1, kernels.ptx");
    assert_eq!(at_markup["end"]["line"], MARKUP.trim());
    assert!(at_markup["title"].as_str().unwrap().ends_with(MARKUP.trim_end()), "{}", at_markup["title"]);
    // The middle and the end of the tile kernel, according to the recording.
    let (_, recording) = split(&tiles.html);
    let pcs = summed(&recording["frames"]["pc"]);
    let file = fs::read_to_string(root().join("rust-cuda/test_kernels/src/stepping.rs")).unwrap();
    for (shown, frame) in [("middle", (pcs.len() - 1) / 2), ("end", pcs.len() - 1)] {
        let source = &recording["code"][pcs[frame] as usize][2];
        let name = recording["files"][source[0].as_u64().unwrap() as usize]["name"].as_str().unwrap();
        let line = source[1].as_u64().unwrap();
        assert!(at_tiles[shown]["place"].as_str().unwrap().starts_with(&format!("{name}:{line}")), "{at_tiles}");
        if name.ends_with("stepping.rs") {
            assert_eq!(at_tiles[shown]["line"], file.lines().nth(line as usize - 1).unwrap().trim());
        }
    }
    let barrier = line_with("test_kernels/src/stepping.rs", "thread::sync_threads()", 0);
    assert_eq!(at_tiles["barrier"]["place"].as_str().unwrap().rsplit(':').nth(1), Some(&*barrier.to_string()));
    check_breakpoint(at_tiles, &recording, barrier);
    // The page's own replay ends with the result.
    let sums: Vec<f32> = (0..4).map(|column| (0..40).map(|p| x(47, p) * x(44 + column, p)).sum()).collect();
    let shown = at_tiles["lastValues"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap() as f32);
    assert_eq!(shown.collect::<Vec<_>>(), sums);
}

/// A breakpoint at a line stops when a warp arrives there from another line. The keyboard also sets
/// and removes it.
fn check_breakpoint(report: &Value, recording: &Value, line: u32) {
    let [warps, pcs] = ["warp", "pc"].map(|column| summed(&recording["frames"][column]));
    let line_at = |frame: usize| recording["code"][pcs[frame] as usize][2].clone();
    let arrives = |frame: &usize| {
        let before = (0..*frame).rev().find(|before| warps[*before] == warps[*frame]);
        line_at(*frame)[1] == line && before.is_none_or(|before| line_at(before)[1] != line)
    };
    let breakpoint = &report["breakpoint"];
    let stops = (1..pcs.len()).filter(arrives).take(3).map(|frame| json!([line.to_string(), frame]));
    assert_eq!(breakpoint["stops"], stops.collect::<Value>(), "{breakpoint}");
    assert_eq!(
        (&breakpoint["line"], &breakpoint["pressed"]),
        (&line.to_string().into(), &"true".into()),
        "{breakpoint}"
    );
    assert_eq!(breakpoint["name"], format!("Breakpoint at line {line}: thread::sync_threads();"));
    assert!(breakpoint["below"].as_u64().unwrap() > line.into() && breakpoint["left"] == 0, "{breakpoint}");
}
