//! Checks that docs/debug.md quotes the debugger's output.

use std::path::PathBuf;

use kernel_debugger::record::{Options, Page, record};
use kernel_launch::LaunchFile;

fn root() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../..").into()
}

fn recorded(launch: &str) -> Page {
    let file = root().join("rust-cuda/kernel-debugger/launches").join(launch);
    let options = Options { source_root: root(), ..Options::default() };
    record(&LaunchFile::open(&file).unwrap(), &options).unwrap()
}

/// The figures and the error in docs/debug.md come from the launch files.
#[test]
fn the_page_on_the_debugger_quotes_it() {
    if !gpu_testing::require_ptx(&seeded_bugs::PTX) {
        return;
    }
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let document = words(&std::fs::read_to_string(root().join("docs/debug.md")).unwrap());
    let Page { recorded: count, html, .. } = recorded("matmul_tiles_f32.json");
    let size = (html.len() + 5000) / 10_000 * 10;
    let figures = format!("all {} instructions of its 32 warps, is a page of {size} kB", timing::grouped(count as u64));
    assert!(document.contains(&figures), "docs/debug.md does not say: {figures}");

    let fault = recorded("missing_second_barrier.json").fault.unwrap();
    let mut parts = fault.split("PTX line ");
    let mut quoted = parts.next().unwrap().replace("kernel missing_second_barrier, ", "");
    for part in parts {
        quoted.push_str(&format!("…{}", part.splitn(3, '`').nth(2).unwrap()));
    }
    assert!(document.contains(&words(&quoted)), "docs/debug.md does not quote: {quoted}");
}
