//! PTX of others in headless Chromium: it runs without an error, its names are readable, its directives fill in
//! the form, and nothing from outside is markup.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::node::chromium;
use crate::requests::{Argument, Foreign, foreign};
use crate::tree::Tree;
use crate::{page, run_in_node};

/// PTX of another compiler, and what the page shows.
#[derive(Debug, Deserialize)]
struct Shown {
    /// The kernel in the list, and its title.
    name: String,
    title: String,
    /// What the kernel requires of a launch.
    needs: String,
    /// The first parameter.
    parameter: String,
    verdict: String,
    faults: String,
}

#[derive(Deserialize)]
struct Markup {
    /// Number of elements that the page has got.
    added: i32,
    ran: bool,
    faults: String,
    /// Scripts and images of the page that plays the run.
    played: (u32, u32),
}

/// Number of listed kernels, whether Run is disabled, and the verdict.
type State = (u32, bool, String);

/// What the script prints.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// Whether "Where do I get PTX?" is open at first, and its text.
    folded: bool,
    sources: String,
    /// Widths that the page needs in a window of 360 pixels.
    narrow: Vec<u32>,
    foreign: Vec<Shown>,
    tree: Tree,
    /// At once after a text is typed over another one.
    pasted: State,
    /// The block and the requirements of each kernel of [`BLOCKS`].
    blocks: Vec<(String, String)>,
    /// The kernel, the block and the first field after an edit of the text.
    kept: (String, String, String),
    /// The verdict, the rejected kernels, and whether Run is disabled.
    unknown: (String, String, bool),
    /// A large text: at once, and the number of kernels once it is read.
    large: (State, u32),
    /// A large text that is replaced while it is read: the verdicts then and later, and the number of kernels.
    overtaken: (String, String, u32),
    markup: Markup,
    /// The verdict of a run that was stopped, and the seconds beside the button.
    stopped: (String, String),
    /// The verdict of a run that an edit of the text has stopped.
    edited: String,
    /// Presses of Tab from the title to Run.
    tabs: u32,
    example: String,
    by_key_in_text: String,
    loaded: Vec<String>,
    errors: Vec<String>,
}

/// A kernel that writes outside of its buffer, at a line of a file whose name is markup.
const MARKUP: &str = r#".version 8.0
.target sm_80
.address_size 64
.visible .entry outside(.param .u64 outside_out)
{
    .reg .b64 %rd<2>;
    .loc 1 3 5
    ld.param.u64 %rd1, [outside_out];
    st.global.u32 [%rd1+65536], 1;
    ret;
}
.file 1 "<script>window.ran=1</script><img src=x onerror=window.ran=1>.cu"
"#;

/// A kernel whose loop ends after 2³² rounds, in which it stores.
const ENDLESS: &str = r#".version 8.0
.target sm_80
.address_size 64
.visible .entry endless(.param .u64 .ptr endless_out)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [endless_out];
    mov.u32 %r1, 0;
$again:
    add.u32 %r1, %r1, 1;
    atom.global.add.u32 %r1, [%rd1], 1;
    setp.ne.u32 %p1, %r1, 4294967295;
    @%p1 bra $again;
    ret;
}
"#;

/// Kernels with a required and a maximum block.
const BLOCKS: &str = ".version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 any_size[];
.visible .entry required(.param .u32 n)
.reqntid 128
{
    .shared .align 4 .b8 tile[96];
    .reg .b32 %r<2>;
    mov.u32 %r1, 0;
    st.shared.u32 [tile], %r1;
    st.shared.u32 [any_size], %r1;
    ret;
}
.visible .entry limited(.param .u32 n)
.maxntid 16, 16
{
    ret;
}
.visible .entry small(.param .u32 n)
.maxntid 8
{
    ret;
}
";

/// A kernel that runs, and one with an instruction that PTX lacks, with a special register as its second operand.
const UNKNOWN: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry _Z6squarePfi()
{
    .reg .b32 %r<2>;
    foo.u32 %r1, %tid.x;
    ret;
}
";

/// A module of 2 MB.
fn large() -> String {
    let mut text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry large()\n{\n    .reg .b32 %r<4>;\n".to_owned();
    text.push_str("    mov.u32 %r1, 0;\n");
    for number in 0..70_000 {
        writeln!(text, "    add.u32 %r1, %r1, {number};").expect("a string takes any text");
    }
    text + "    ret;\n}\n"
}

fn input_of(of: &Foreign) -> Value {
    let arguments: Vec<Value> = of
        .arguments
        .iter()
        .map(|argument| match argument {
            Argument::Buffer(of, count, values) => json!({"type": of, "count": count, "values": values}),
            Argument::Value(of, value) => json!({"type": of, "values": value.to_string()}),
        })
        .collect();
    json!({
        "name": of.kernel(), "ptx": of.ptx, "grid": of.grid, "block": of.block, "cooperative": of.is_cooperative,
        "shared": of.shared_bytes, "arguments": arguments,
    })
}

#[test]
fn ptx_of_others_runs_and_stays_text() {
    let Some(chromium) = chromium() else { return };
    let (foreign, large) = (foreign(), large());
    assert!(large.len() > 2_000_000, "{} bytes", large.len());
    let input = json!({
        "foreign": foreign.iter().map(input_of).collect::<Vec<_>>(), "markup": MARKUP, "endless": ENDLESS, "blocks": BLOCKS,
        "unknown": UNKNOWN, "large": large,
    });
    let Some(output) = run_in_node("own.mjs", &[&chromium, page()], input.to_string().as_bytes()) else { return };
    let report: Report = serde_json::from_str(&output).expect("the script prints its report");
    assert_eq!(report.errors, Vec::<String>::new());

    assert!(!report.folded);
    for command in [
        "nvcc -ptx -lineinfo kernel.cu",
        "nvrtcGetPTX(",
        ".asm[\"ptx\"]",
        "cuda.compile_ptx(",
        "PTX_UPDATE=1 cargo build",
    ] {
        assert!(report.sources.contains(command), "no {command}: {}", report.sources);
    }
    assert_eq!(report.narrow, vec![360; 1 + foreign.len()]);
    report.tree.check(&["banner: ", "navigation: Puzzles", "main: Your own PTX", "region: Outcome"]);

    check_foreign(&foreign, &report.foreign);
    check_form(&report);

    let Markup { added, ran, faults, played } = &report.markup;
    assert!(faults.contains("<script>window.ran=1</script>"), "{faults}");
    assert_eq!((*added, *ran, *played), (0, false, (2, 0)));

    let (verdict, elapsed) = &report.stopped;
    assert!(verdict.starts_with("Stopped after ") && elapsed.is_empty(), "{verdict} {elapsed}");
    assert_eq!(report.edited, "1 kernel found. Set the parameters, then select Run.");
    assert!(report.tabs <= 6, "{} presses of Tab", report.tabs);
    assert!(report.example.contains("race"), "{}", report.example);
    assert_eq!(report.by_key_in_text, "No error with these inputs (2 schedules).");

    let is_own =
        |url: &&String| url.ends_with("/docs/lab/index.html") || url.starts_with("blob:") || url.starts_with("data:");
    let others: Vec<&String> = report.loaded.iter().filter(|url| !is_own(url) && *url != "about:srcdoc").collect();
    assert!(others.is_empty(), "the page loads {others:?}");
}

/// Foreign PTX has no error, and its kernels and parameters have names that fit.
fn check_foreign(foreign: &[Foreign], all: &[Shown]) {
    assert_eq!(all.len(), foreign.len());
    for (of, shown) in foreign.iter().zip(all) {
        assert_eq!(shown.verdict, "No error with these inputs (2 schedules).", "{shown:?}");
        assert_eq!(shown.faults, "", "{shown:?}");
        assert_eq!(shown.title, of.kernel());
        assert!(shown.name.contains(of.name) && shown.name.chars().count() <= 90, "{shown:?}");
        assert!(shown.parameter.ends_with(" bytes") && shown.parameter.chars().count() <= 50, "{shown:?}");
        assert_eq!(shown.needs.contains("Dynamic shared memory"), of.shared_bytes > 0, "{shown:?}");
    }
    let numba = all.iter().find(|shown| shown.title.contains("largest")).expect("a kernel of Numba");
    assert_eq!(numba.name, "kernels_numba.largest(array(int32, 1d, C), array(int32, 1d, C), int32)");
    assert_eq!(numba.parameter, "param_0, 8 bytes");
}

/// The form follows the text: no kernel of an earlier text is listed, and directives fill in the block.
fn check_form(report: &Report) {
    for (kernels, is_disabled, verdict) in [&report.pasted, &report.large.0] {
        assert_eq!((*kernels, *is_disabled, &verdict[..]), (0, true, "Reading…"));
    }
    assert_eq!(report.large.1, 1);
    let (while_read, later, kernels) = &report.overtaken;
    assert_eq!((&while_read[..], &later[..], *kernels), ("Reading…", "No PTX yet.", 0));

    let [required, limited, small] = &report.blocks[..] else { panic!("{:?}", report.blocks) };
    assert_eq!(required.0, "128, 1, 1");
    for need in
        ["Required block: 128, 1, 1 (.reqntid).", "Static shared memory: 96 bytes", "Dynamic shared memory: set "]
    {
        assert!(required.1.contains(need), "no {need}: {}", required.1);
    }
    assert_eq!(*limited, ("32, 1, 1".to_owned(), "Maximum block: 256 threads (.maxntid).".to_owned()));
    assert_eq!(*small, ("8, 1, 1".to_owned(), "Maximum block: 8 threads (.maxntid).".to_owned()));
    assert_eq!(report.kept, ("small".to_owned(), "3".to_owned(), "7".to_owned()));

    let (verdict, refused, is_disabled) = &report.unknown;
    assert_eq!((&verdict[..], *is_disabled), ("No kernel here can run.", true));
    let reason = "square(float*, int) cannot run: PTX line 7: foo is not a known instruction: `foo.u32 %r1, %tid.x`";
    assert_eq!(refused, reason);
}
