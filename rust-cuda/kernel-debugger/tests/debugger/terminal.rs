//! The terminal view: the screen after some keys.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use kernel_debugger::terminal::{self, BINDINGS, Events};
use kernel_debugger::{End, Resume};
use kernel_launch::Launch;
use ptx_interpreter::memory::shared_pattern;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Modifier};

use crate::session;
use crate::support::{self, Case, TILE_ROWS, matmul, x};

const NORMAL: (u16, u16) = (140, 40);
const SMALLEST: (u16, u16) = (80, 24);

const TILES: &str = "test_kernels/src/stepping.rs";

/// Keys from a script, followed by Ctrl-C.
struct Script {
    keys: VecDeque<KeyCode>,
    /// Whether a key is pressed while the launch runs.
    interrupts: bool,
}

impl Events for Script {
    fn next(&mut self) -> io::Result<Event> {
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        Ok(Event::Key(self.keys.pop_front().map_or(interrupt, KeyEvent::from)))
    }

    fn poll(&mut self) -> io::Result<Option<Event>> {
        Ok(self.interrupts.then(|| Event::Key(KeyCode::Char('x').into())))
    }
}

/// The repository's root, where the kernels' names start.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The screen after all keys have been pressed.
fn screen_in(
    launch: &Launch,
    (width, height): (u16, u16),
    keys: impl IntoIterator<Item = KeyCode>,
    source_root: &Path,
    is_coloured: bool,
) -> Buffer {
    run(launch, (width, height), keys, source_root, (is_coloured, false))
}

/// Like [`screen_in`]; `interrupts` tells whether a key is pressed while the launch runs.
fn run(
    launch: &Launch,
    (width, height): (u16, u16),
    keys: impl IntoIterator<Item = KeyCode>,
    source_root: &Path,
    (is_coloured, interrupts): (bool, bool),
) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut script = Script { keys: keys.into_iter().collect(), interrupts };
    terminal::run_on(&mut terminal, &mut script, launch, source_root, is_coloured).unwrap();
    terminal.backend().buffer().clone()
}

fn keys(text: &str) -> impl Iterator<Item = KeyCode> {
    text.chars().map(|character| if character == '\n' { KeyCode::Enter } else { KeyCode::Char(character) })
}

fn screen(case: &Case, size: (u16, u16), text: &str) -> Buffer {
    screen_in(case.launch(), size, keys(text), root(), true)
}

fn rows(screen: &Buffer) -> Vec<String> {
    let row = |y| (0..screen.area.width).map(|x| screen[(x, y)].symbol()).collect::<String>();
    (0..screen.area.height).map(row).collect()
}

fn text(screen: &Buffer) -> String {
    rows(screen).join("\n")
}

/// The screen's text without spaces and frames, to find wrapped text.
fn unwrapped(text: &str) -> String {
    text.chars().filter(|character| !character.is_whitespace()).collect()
}

#[track_caller]
fn assert_shows(screen: &Buffer, wanted: &str) {
    let shown = text(screen);
    assert!(shown.contains(wanted), "no {wanted:?} in\n{shown}");
}

/// Position of a text on the screen.
fn find(screen: &Buffer, wanted: &str) -> Option<(u16, u16)> {
    let rows = rows(screen);
    rows.iter().enumerate().find_map(|(y, row)| {
        let before = &row[..row.find(wanted)?];
        Some((before.chars().count() as u16, y as u16))
    })
}

fn race() -> Case {
    let out = r#"{"name": "out", "type": "u32", "shape": [64], "values": "unwritten"}"#;
    support::seeded_bug("missing_second_barrier", 1, [64, 1], out)
}

/// Keys that lead to the race's first write.
fn to_write() -> String {
    format!(":break {}\nc", seeded_bugs::marked_line("overwrote").unwrap())
}

/// All warps are at the first barrier. Their lanes wait, and the tile has X's values.
#[test]
fn the_tile_is_shown_at_the_barrier() {
    if support::is_stale() {
        return;
    }
    let launch = matmul();
    let line = session::barrier_line(0);
    let to_barrier = format!(":break {line}\n{}:shared0 as f32 32x33\n", "c".repeat(32));
    let shown = screen(&launch, NORMAL, &to_barrier);
    assert_shows(&shown, "test_kernels/src/stepping.rs: shared_tiles<f32> < matmul_tiles_f32");
    assert_shows(&shown, &format!("●{line:>3} 32w                 thread::sync_threads();"));
    assert_shows(&shown, &format!("30 {}{line:>5} barrier", "b".repeat(32)));
    assert_shows(&shown, &format!("31*{}{line:>5}", "■".repeat(32)));
    assert_shows(&shown, ": bar.sync 0");
    assert_shows(&shown, "at a breakpoint: block (0, 0, 0), warp 31, lane 0, thread (992, 0, 0)");
    for row in 0..8 {
        let cells: Vec<String> = (0..12).map(|column| format!("{:>2}", x(row, column))).collect();
        assert_shows(&shown, &format!(" {row} {}", cells.join(" ")));
    }
    // The current line is also marked without color.
    let (x, y) = find(&shown, "thread::sync_threads();").unwrap();
    assert!(shown[(x, y)].modifier.contains(Modifier::REVERSED));
    // Scrolls to the padding, which is never written: columns 31 and 32.
    let shown = screen(&launch, NORMAL, &format!("{to_barrier}{}", ")".repeat(31)));
    assert_shows(&shown, " 31 32");
    assert_shows(&shown, &format!(" 0 {:>2}  –", x_text(0, 31)));
    // A buffer has the launch file's shape.
    let shown = screen(&launch, NORMAL, &format!("{to_barrier}mmm"));
    assert_shows(&shown, &format!("out: {TILE_ROWS} × {TILE_ROWS} f32"));
    assert_shows(&shown, " 0  –  –  –  –");
}

fn x_text(row: usize, column: usize) -> String {
    x(row, column).to_string()
}

/// The pane's row of a variable, without the other column.
fn variable(screen: &Buffer, name: &str) -> Option<String> {
    let (x, y) = find(screen, &format!("│{name} "))?;
    let row: String = (x + 1..x + 32).map(|x| screen[(x, y)].symbol()).collect();
    Some(row.split_whitespace().skip(1).collect::<Vec<_>>().join(" "))
}

/// Before the second tiles are multiplied, a sum consists of 32 products.
#[test]
fn the_variables_of_the_selected_lane_are_shown() {
    if support::is_stale() {
        return;
    }
    let launch = matmul();
    let line = session::line_with(TILES, "sum = math::fma", 0);
    for (warp, lane) in [(0, 0), (2, 3), (17, 31)] {
        let lanes = "l".repeat(lane);
        let pressed = format!(":break {line} if warp == {warp} && first_p == 32\nc{lanes}");
        let shown = screen(&launch, NORMAL, &pressed);
        let place = format!("at a breakpoint: block (0, 0, 0), warp {warp}, lane {lane}, ");
        assert_shows(&shown, &place);
        assert_shows(&shown, &format!("variables and registers of lane {lane}, from 0 of "));
        let sum: f32 = (0..32).map(|p| x(warp, p) * x(lane, p)).sum();
        assert_eq!(variable(&shown, "sum"), Some(sum.to_string()), "{}", text(&shown));
        assert_eq!(variable(&shown, "tx"), Some(lane.to_string()), "{}", text(&shown));
        assert_eq!(variable(&shown, "ty"), Some(warp.to_string()), "{}", text(&shown));
        // The caller's variables come after its name, and the registers last.
        let (_, own) = find(&shown, "│sum ").unwrap();
        let scrolled = screen(&launch, NORMAL, &format!("{pressed}]"));
        assert!(find(&scrolled, "│sum ").unwrap().1 < own);
        let (_, caller) = find(&scrolled, "│matmul_tiles_f32 ").unwrap();
        assert_eq!(variable(&scrolled, "columns"), Some("40".to_owned()), "{}", text(&scrolled));
        assert!(find(&scrolled, "│columns ").unwrap().1 > caller, "{}", text(&scrolled));
        assert_shows(&scrolled, "registers  ");
    }
    // Without debug information, only registers are shown.
    let shown = screen(&strided(1, 4), NORMAL, "");
    assert_shows(&shown, "─ registers of lane 0, from 0 of ");
    assert!(find(&shown, "variables").is_none());
}

/// Steps move the selected warp, not the one that stopped.
#[test]
fn steps_move_the_selected_warp() {
    if support::is_stale() {
        return;
    }
    let launch = support::matmul_by_warps();
    let line = session::line_with(TILES, "a_tile.set(", 0);
    let product = session::line_with(TILES, "sum = math::fma", 0);
    let tiles = "stepping.rs: shared_tiles<f32> < matmul_tiles_f32";
    let after = |pressed: &str| screen(&launch, NORMAL, &format!(":break {line} if warp == 3\ncp{pressed}"));
    let selected = after("1");
    assert_shows(&selected, "at a breakpoint: block (0, 0, 0), warp 1, lane 0, thread (32, 0, 0)");
    assert_shows(&selected, "; warp 3 has stopped");
    // Warp 1 has been at the barrier; the others follow it there first.
    for key in ["n", "s"] {
        let stepped = after(&format!("1{key}"));
        assert_shows(&stepped, "after a step: block (0, 0, 0), warp 1, lane 0");
        assert_shows(&stepped, &format!(" 1*{}{product:>5}", "■".repeat(32)));
        assert_shows(&stepped, tiles);
    }
    assert_shows(&after("1i"), "after a step: block (0, 0, 0), warp 1, lane 0");
    // Steps go into, out of and over the function of `x.get_or_zero`.
    let into = after("s");
    assert_shows(&into, "get_or_zero<f32> < shared_tiles<f32> < matmul_tiles_f32");
    assert_shows(&into, "after a step: block (0, 0, 0), warp 3");
    let out = after("so");
    assert_shows(&out, tiles);
    assert_shows(&out, "after a step: block (0, 0, 0), warp 3");
    let over = after("n");
    assert_shows(&over, tiles);
    assert_shows(&over, &format!(" 3*{}{:>5}", "■".repeat(32), line + 1));
}

/// At each seeded bug's fault, the view shows its full text: the thread, the line and, for a race,
/// the other thread.
#[test]
fn every_seeded_bug_is_named_with_its_threads_and_line() {
    if support::is_stale() {
        return;
    }
    let bugs: Vec<_> = support::block_bugs().chain(support::grid_bugs()).collect();
    assert_eq!(bugs.len(), 25);
    for (kernel, launch, line) in bugs {
        let (end, _) = support::run(&launch, |_, _| {}, |_, _, _, _| Resume::Continue, Resume::Quit);
        let End::Fault(fault) = end else { panic!("{kernel}: {end:?}") };
        for size in [SMALLEST, NORMAL] {
            let shown = screen(&launch, size, "c");
            let rows = rows(&shown);
            let all = unwrapped(&text(&shown));
            assert!(all.contains(&unwrapped(&fault.to_string())), "{kernel}: {fault}\n{}", text(&shown));
            let is_current = |row: &&String| row.trim_start().starts_with(&format!("{line} "));
            let row = rows.iter().position(|row| is_current(&row)).unwrap_or_else(|| panic!("{kernel}: {rows:#?}"));
            assert!(shown[(10, row as u16)].modifier.contains(Modifier::REVERSED), "{kernel}: {rows:#?}");
            let place = format!("at a fault: block {}, warp {}, lane", fault.block, fault.thread.x / 32);
            assert_shows(&shown, &place);
        }
    }
}

#[test]
fn a_race_names_both_threads_and_shows_what_they_share() {
    if support::is_stale() {
        return;
    }
    let shown = screen(&race(), (120, 36), "c");
    assert_shows(&shown, "thread (32, 0, 0), PTX line ");
    assert!(unwrapped(&text(&shown)).contains("thread(31,0,0)writes"), "{}", text(&shown));
    // By the name and type in the source. All elements have been written since the beginning.
    assert_shows(&shown, "values: 1 × 64 u32");
    assert!(unwrapped(&text(&shown)).contains("race:reads`values[31]`,whichblock"), "{}", text(&shown));
    assert_shows(&shown, " 0  1* 1* 1*");
    assert_shows(&shown, "32  0* 0* 0*");
    let line = seeded_bugs::marked_line("overwrote").unwrap() + 1;
    assert_shows(&shown, &format!(" 0 {}   {line} barrier", "b".repeat(32)));
    // Only going back is possible. Afterwards, warp 1 has not left the barrier.
    assert_shows(&screen(&race(), (120, 36), "cs"), "the fault has ended the launch: S, C and r lead back");
    let back = screen(&race(), (120, 36), "cSS");
    assert_shows(&back, "after a step: block (0, 0, 0), warp 1");
    assert_shows(&back, "32  0  0  0  0");
}

/// A kernel with lanes that store 1, 2 or 4 words each to shared memory, at a stride in bytes.
fn strided(words: u32, stride: u32) -> Case {
    let store = match words {
        1 => "st.shared.u32 [%r1], %r2;",
        2 => "st.shared.v2.u32 [%r1], {%r2, %r2};",
        _ => "st.shared.v4.u32 [%r1], {%r2, %r2, %r2, %r2};",
    };
    let ptx = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry strided(.param .u32 stride) {{
        .reg .b32 %r<4>;\n.shared .align 128 .b8 words[32768];
        ld.param.u32 %r1, [stride];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, words;\nmad.lo.u32 %r1, %r1, %r2, %r3;
        {store}\nret;\n}}\n"
    );
    let text = format!(
        r#"{{"ptx": "kernels.ptx", "kernel": "strided", "block": [32, 1, 1], "arguments": [
            {{"name": "stride", "type": "u32", "value": {stride}}}]}}"#
    );
    support::Case::open(&ptx, &text)
}

/// The bank with the most distinct words among lanes that are served together, computed from the
/// definition: words and lanes.
fn busiest(words: u64, stride: u64) -> (u64, usize, Vec<u64>) {
    let mut busiest = (0, 0, Vec::new());
    let lanes_together = 32 / words;
    for first in (0..32).step_by(lanes_together as usize) {
        for bank in 0..32 {
            let of_lane = |lane: u64| (lane * stride / 4..lane * stride / 4 + words).filter(|word| word % 32 == bank);
            let lanes: Vec<u64> =
                (first..first + lanes_together).filter(|lane| of_lane(*lane).next().is_some()).collect();
            let accessed: HashSet<u64> = lanes.iter().flat_map(|lane| of_lane(*lane)).collect();
            if accessed.len() > busiest.1 {
                busiest = (bank, accessed.len(), lanes);
            }
        }
    }
    busiest
}

/// The wavefronts match the interpreter's. The bank, its words and its lanes match the definition.
#[test]
fn bank_conflicts_are_counted_and_marked() {
    let factors = (1..=9).chain([12, 16, 17, 24, 31, 32, 33, 64]);
    for (words, factor) in [1, 2, 4].into_iter().flat_map(|words| factors.clone().map(move |factor| (words, factor))) {
        let stride = 4 * words * factor;
        let shown = screen(&strided(words, stride), NORMAL, "iiiii:shared0 as u32 256x32\n");
        let all = text(&shown);
        // The variable begins at a multiple of 128 bytes.
        let addresses = std::array::from_fn(|lane| u64::from(stride) * lane as u64);
        let pattern = shared_pattern(&addresses, u32::MAX, 4 * words as usize);
        if pattern.wavefronts == pattern.min_wavefronts {
            let plural = if pattern.wavefronts == 1 { "" } else { "s" };
            assert_shows(&shown, &format!("u32 words: {} wavefront{plural}, no bank conflict", pattern.wavefronts));
            assert!(find(&shown, "!").is_none(), "{all}");
            continue;
        }
        let (bank, accessed, lanes) = busiest(words.into(), stride.into());
        let lanes = match lanes.len() as u64 {
            all if all > 2 && lanes[all as usize - 1] - lanes[0] == all - 1 => {
                format!("{}–{}", lanes[0], lanes[0] + all - 1)
            }
            _ => lanes.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        };
        let expected = format!(
            "u32 words: {} wavefronts, {} is the least: bank {bank} is accessed at {accessed} words by lanes {lanes}",
            pattern.wavefronts, pattern.min_wavefronts
        );
        let right: String = rows(&shown).iter().filter_map(|row| Some(row.split_once('│')?.1)).collect();
        assert!(unwrapped(&right).contains(&unwrapped(&expected)), "{expected}\n{all}");
        // Marks the touched cells in bank 0. Lane 0's cell is the first, and it is selected.
        assert_eq!(bank, 0);
        let (x, y) = find(&shown, "  0!").unwrap();
        assert!(shown[(x + 2, y)].modifier.contains(Modifier::REVERSED | Modifier::UNDERLINED), "{all}");
    }
}

/// `a` shows the memory that the selected lane accessed, starting at that element.
#[test]
fn the_last_access_of_a_lane_is_scrolled_to() {
    let launch = strided(1, 256);
    let after = |keys: &str| screen(&launch, NORMAL, keys);
    assert_shows(&after("iiiiia"), "  0  0! –");
    // Lane 3 writes element 192. The memory is shown as a single row, broken after 16 elements, and
    // as a matrix.
    let first_row = |shown: &Buffer| {
        let (_, y) = find(shown, "words: 1 ×").or_else(|| find(shown, "shared0 as")).unwrap();
        rows(shown)[y as usize + 2].split_once('│').unwrap().1.trim().to_owned()
    };
    assert!(first_row(&after("iiiiillla")).starts_with("192  3!"), "{}", text(&after("iiiiillla")));
    assert!(first_row(&after("iiiiilll:shared0 as u32 256x32\na")).starts_with("6  3!"));
    assert_shows(&after("iiiiilll:shared0 as u32 [..100]\na"), "the last access is not in the shown part");
    assert_shows(&after("a"), "the warp's last access to shared memory is none of lane 0");
}

/// Without a source line or a source file, the pane lists the instructions.
#[test]
fn instructions_are_listed_without_the_source() {
    let shown = screen(&strided(1, 4), NORMAL, "ii");
    assert_shows(&shown, "the PTX names no source lines");
    assert_shows(&shown, "  3 1w  mov.u32 %r3, words");
    assert_shows(&screen(&strided(1, 4), NORMAL, "p"), "the PTX names no source lines");
    if support::is_stale() {
        return;
    }
    let elsewhere = tempfile::TempDir::new().unwrap();
    let shown = screen_in(race().launch(), NORMAL, keys("c"), elsewhere.path(), true);
    assert_shows(&shown, "seeded_bugs/src/lib.rs is not found in");
    assert_shows(&shown, "1w  ld.shared.b32 %r");
    let shown = screen_in(race().launch(), NORMAL, keys(&to_write()), elsewhere.path(), true);
    assert_shows(&shown, "at a breakpoint");
}

/// The PTX may name something that is not a source: a folder, an endless file, or one too large to
/// read.
#[test]
fn the_reason_is_shown_why_a_source_is_not() {
    let root = tempfile::TempDir::new().unwrap();
    std::fs::create_dir(root.path().join("folder")).unwrap();
    std::fs::File::create(root.path().join("large")).unwrap().set_len((16 << 20) + 1).unwrap();
    std::fs::write(root.path().join("latin"), b"caf\xe9\nsecond").unwrap();
    let shown = |file: &str| {
        let ptx = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry named() {{\n.loc 1 1 1\nret;\n}}\n.file 1 \"{file}\"\n"
        );
        let case =
            Case::open(&ptx, r#"{"ptx": "kernels.ptx", "kernel": "named", "block": [1, 1, 1], "arguments": []}"#);
        screen_in(case.launch(), NORMAL, keys("i"), root.path(), true)
    };
    assert_shows(&shown("none"), "none is not found in");
    assert_shows(&shown("folder"), "folder is not shown: it is not a regular file");
    assert_shows(&shown("large"), "large is not shown: it has more than 16777216 bytes");
    assert_shows(&shown("latin"), "caf\u{fffd}");
    if cfg!(unix) {
        assert_shows(&shown("/dev/zero"), "/dev/zero is not shown: it is not a regular file");
    }
}

/// After some keys, each key of the help changes the screen.
#[test]
fn every_key_of_the_help_does_something() {
    if support::is_stale() {
        return;
    }
    let launch = matmul();
    let line = session::barrier_line(0) - 1;
    let before = &format!(":break {line}\nc:shared0 as f32 32x33\n}}}})))]]wwlljj");
    let help = text(&screen(&launch, NORMAL, &format!("{before}?")));
    let base = screen(&launch, NORMAL, before);
    let wide_base = screen_in(launch.launch(), NORMAL, keys(before).chain([KeyCode::PageDown; 2]), root(), true);
    for binding in &BINDINGS {
        assert!(help.contains(binding.meaning) && help.contains(binding.names), "{binding:?}\n{help}");
        for key in binding.keys {
            // Selecting the selected warp has no effect.
            if *key == KeyCode::Char('2') {
                continue;
            }
            let before_key = match key {
                KeyCode::PageUp => (&wide_base, vec![KeyCode::PageDown; 2]),
                _ => (&base, vec![]),
            };
            let pressed = keys(before).chain(before_key.1).chain([*key]);
            let after = screen_in(launch.launch(), NORMAL, pressed, root(), true);
            assert_ne!(&after, before_key.0, "{binding:?} {key:?}\n{}", text(&after));
        }
    }
    // The help closes on any key, and quitting leaves the screen as it was.
    assert_eq!(screen(&launch, NORMAL, &format!("{before}?x")), base);
    assert_eq!(screen(&launch, NORMAL, &format!("{before}qs")), base);
}

#[test]
fn expressions_and_breakpoints_are_entered() {
    if support::is_stale() {
        return;
    }
    let launch = matmul();
    let after = |keys: &str| screen(&launch, NORMAL, keys);
    assert_shows(&after(":rows\n"), "rows = 48");
    assert_shows(&after(":x[1][2]\n"), &format!("x[1][2] = {}", x(1, 2)));
    assert_shows(&after(":out[0][0]\n"), "out[0][0] = –");
    assert_shows(&after(":%r0\n"), "%r0 = ");
    assert_shows(&after(":x[2..4][38..40]\n"), "x[2..4][38..40]: 2 × 2 f32");
    assert_shows(&after(":y\n"), "nothing is called `y`; there are x, rows, columns, out, a_tile, b_tile");
    assert_shows(&after(":x as 100x100\n"), "10000 elements of f32 need more than the 7680 bytes of x");
    assert_shows(&after(":x +\n"), "write a name, as in `x`");
    for wrong in ["break", "break 0", "break -1", "break x", "break 65 if", "break lib.rs", "break 65 lane == 5"] {
        assert_shows(&after(&format!(":{wrong}\n")), &format!("`{wrong}`: write `break 65`, `break lib.rs:65` or "));
    }
    assert_shows(
        &after(":break 9999\n"),
        &format!("no instructions at line 9999 of {TILES} or after it: its last line"),
    );
    assert_shows(&after(":lane + 1\n"), "lane + 1 = 1 in lane 0; in all: 1, 2, 3");
    let line = session::barrier_line(0);
    assert_shows(&after(&format!(":break {line} if lane = 5\n")), "write a condition as in Rust");
    assert_shows(&after(&format!(":break {line} if lane == 5\n")), &format!("breakpoint at line {line} if lane == 5"));
    let stopped = after(&format!(":break {line} if lane == 5 && warp == 2\nc"));
    assert_shows(&stopped, &format!("◆{line:>3}"));
    assert_shows(&stopped, "at a breakpoint: block (0, 0, 0), warp 2, lane 5, thread (69, 0, 0)");
    let refused = after(&format!(":break {line} if nothing == 5\n"));
    assert_shows(&refused, "nothing is called `nothing`; there are x, rows, columns, out");
    assert!(find(&refused, &format!("◆{line:>3}")).is_none());
    assert_shows(
        &after(&format!(":break {line} if out[lane + 48][0] == 5\nc")),
        "the condition has no value: out has no [48]: this dimension is 0..48",
    );
    let twice = after(&format!(":break {line}\n:break {line}\n"));
    assert_shows(&twice, &format!("no breakpoint at line {line}"));
    assert!(find(&twice, &format!("● {line}")).is_none());
    assert_shows(&after(&format!(":break {line}\ncp")), &format!("no breakpoint at line {line}"));
    let typed =
        screen_in(launch.launch(), NORMAL, keys(":rowss").chain([KeyCode::Backspace, KeyCode::Enter]), root(), true);
    assert_shows(&typed, "rows = 48");
    let cancelled = screen_in(launch.launch(), NORMAL, keys(":q").chain([KeyCode::Esc]), root(), true);
    assert_eq!(cancelled, after(""));
}

/// Commands of other debuggers, unknown files and unknown numbers: each gets one line with an
/// alternative.
#[test]
fn unknown_names_and_numbers_are_refused_with_the_way_out() {
    if support::is_stale() {
        return;
    }
    let launch = matmul();
    let after = |keys: &str| screen(&launch, (400, 40), keys);
    let line = session::barrier_line(0);
    for (entered, expected) in [
        ("break other.rs:65", "the kernel has no instructions from other.rs: its files are "),
        ("break /nowhere/lib.rs:65", "the kernel has no instructions from /nowhere/lib.rs: its files are "),
        (&format!("break stepping.rs:{line}"), &format!("breakpoint at line {line}")),
        (&format!("break {line} if lane == 32"), "the condition never holds: lane is 0 to 31 in this launch"),
        (
            &format!("break {line} if thread.x == 1024"),
            "the condition never holds: thread.x is 0 to 1023 in this launch",
        ),
        (&format!("break {line} if x[48][0] == 1"), "x has no [48]: this dimension is 0..48"),
        (&format!("break {line} if x == 1"), "`x` is not one number: compare an element"),
        (&format!("break {line} if %r9999 == 1"), "nothing is called `%r9999`; there are x, rows, columns, out"),
        ("%r9999", "%r0 to %r"),
        ("rows[3]", "`rows` is not in memory: ask for it without a type, a shape and indices"),
        ("out[48]", "out has no [48]: this dimension is 0..48"),
        ("lane + nothing", "nothing is called `nothing`; there are x, "),
        ("print x", "there is no command `print`: enter the expression alone"),
        ("watch out", "there is no command `watch`: enter the name of a memory"),
        ("delete 7", "there is no command `delete`: enter `break 65` again"),
        ("until 70", "there is no command `until`: enter `break 65`, then press c"),
        ("next 3", "there is no command `next`: press n"),
        ("thread 99", "there is no command `thread`: press w or a digit"),
        ("list foo.rs", "there is no command `list`: press j and k"),
        ("b 65", "there is no command `b`: enter `break 65`"),
    ] {
        assert_shows(&after(&format!(":{entered}\n")), expected);
    }
    let first = session::line_with(TILES, "a_tile.set(", 0);
    let moved = after(&format!(":break {}\n", first - 1));
    if find(&moved, &format!("breakpoint at line {}", first - 1)).is_none() {
        assert_shows(&moved, &format!(", the first from {} on with instructions", first - 1));
    }
    // Without source lines, breakpoints at lines are impossible.
    assert_shows(
        &screen(&strided(1, 4), (400, 40), ":break 5\n"),
        "the PTX names no source lines: step by instructions",
    );
}

/// A warp that has ended cannot be stepped.
#[test]
fn a_warp_that_has_ended_is_not_stepped() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry two() {\n.reg .b32 %r<3>;\n\
               mov.u32 %r1, 1;\nmov.u32 %r2, 2;\nret;\n}\n";
    let text = r#"{"ptx": "kernels.ptx", "kernel": "two", "order": "warps", "block": [64, 1, 1], "arguments": []}"#;
    let case = support::Case::open(ptx, text);
    // Warp 0 has run to its end when warp 1 begins.
    for key in ["s", "n", "o", "i", "b"] {
        let shown = screen(&case, (200, 40), &format!("1i0{key}"));
        assert_shows(&shown, "warp 0 of block (0, 0, 0) has ended: step another warp, continue, or step back");
    }
}

#[test]
fn a_running_launch_is_interrupted_and_the_end_leads_back() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry spin() {\n.reg .b32 r;\nL: add.u32 r, r, 1;\nbra L;\n}\n";
    let spin =
        support::Case::open(ptx, r#"{"ptx": "kernels.ptx", "kernel": "spin", "block": [32, 1, 1], "arguments": []}"#);
    let interrupted = run(spin.launch(), NORMAL, keys("c"), root(), (true, true));
    assert_shows(&interrupted, "interrupted: block (0, 0, 0), warp 0");
    assert_shows(&screen(&strided(1, 4), NORMAL, "c"), "the kernel has ended; shown is the last stop");
    assert_shows(&screen(&strided(1, 4), NORMAL, "cx"), "the kernel has ended; shown is the last stop");
    assert_shows(&screen(&strided(1, 4), NORMAL, "cC"), "at the beginning: block (0, 0, 0), warp 0");
    assert_shows(&screen(&strided(1, 4), SMALLEST, "cr"), "at the beginning: block (0, 0, 0), warp 0");
}

#[test]
fn small_screens_ask_for_larger_ones() {
    let launch = strided(1, 4);
    for (width, height) in [(79, 24), (80, 23), (20, 10)] {
        let shown = screen(&launch, (width, height), "");
        let wanted = format!("{width} × {height} is too small: enlarge the terminal to 80 × 24");
        assert!(unwrapped(&text(&shown)).contains(&unwrapped(&wanted)), "{}", text(&shown));
    }
    assert_shows(&screen(&launch, (99, 40), ""), "block (0, 0, 0)");
    // The registers disappear first.
    assert!(find(&screen(&launch, (99, 40), ""), "registers").is_none());
    assert_shows(&screen(&launch, (100, 40), ""), "registers");
}

#[test]
fn without_colours_the_screen_has_none() {
    if support::is_stale() {
        return;
    }
    let launch = race();
    let pressed = format!("{}cc?", to_write());
    let shown = screen_in(launch.launch(), NORMAL, keys(&pressed), root(), false);
    assert!(shown.content.iter().all(|cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset)));
    let coloured = screen(&launch, NORMAL, &pressed);
    assert_eq!(text(&shown), text(&coloured));
    assert!(coloured.content.iter().any(|cell| cell.fg != Color::Reset));
}

/// Linear congruential generator; Knuth's MMIX constants.
fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

#[test]
fn random_keys_at_random_sizes_never_panic() {
    let other = [KeyCode::Esc, KeyCode::Enter, KeyCode::Backspace, KeyCode::Home, KeyCode::Null, KeyCode::F(1)];
    let typed = [
        "x as 7x5",
        "shared0 as u8",
        "out[3][5]",
        "break 65",
        "%r1",
        "shared0 as f64 3x3x3 [..2]",
        "x[3..3]",
        "x as 0x5",
        "x as 5x0",
        "日本 é",
    ];
    let mut launches = vec![strided(4, 64)];
    if !support::is_stale() {
        launches.extend([race(), matmul()]);
        launches.extend(support::block_bugs().map(|(_, launch, _)| launch));
    }
    for seed in 0..200 {
        let mut state = seed;
        let launch = &launches[random(&mut state, launches.len() as u64) as usize];
        let (width, height) = (1 + random(&mut state, 200) as u16, 1 + random(&mut state, 60) as u16);
        let mut pressed = Vec::new();
        for _ in 0..20 {
            match random(&mut state, 10) {
                0 => {
                    let text = typed[random(&mut state, typed.len() as u64) as usize];
                    pressed.extend(keys(&format!(":{text}\n")));
                }
                1 => pressed.push(other[random(&mut state, other.len() as u64) as usize]),
                _ => {
                    let binding = &BINDINGS[random(&mut state, BINDINGS.len() as u64) as usize];
                    pressed.push(binding.keys[random(&mut state, binding.keys.len() as u64) as usize]);
                }
            }
        }
        run(launch.launch(), (width, height), pressed, root(), (seed % 2 == 0, true));
    }
}

/// Without a terminal or with an unusable launch file, the program ends with one line.
#[test]
fn the_program_rejects_in_one_line() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = support::write(
        directory.path(),
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry empty() {\nret;\n}\n",
        r#"{"ptx": "kernels.ptx", "kernel": "empty", "block": [32, 1, 1], "arguments": []}"#,
    );
    let missing = directory.path().join("missing.json");
    let nowhere = directory.path().join("nowhere");
    let output = Command::new(env!("CARGO_BIN_EXE_kernel-debugger"))
        .args(["terminal".as_ref(), path.as_os_str(), "--source-root".as_ref(), nowhere.as_os_str()])
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("nowhere is no directory: name the one at which the sources' names"), "{error}");
    for (path, expected) in [(&path, "Error: the view needs a terminal"), (&missing, "missing.json: ")] {
        let output = Command::new(env!("CARGO_BIN_EXE_kernel-debugger"))
            .arg("terminal")
            .arg(path)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len(), error.lines().count()), (Some(2), 0, 1), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}
