//! The pages of `docs/learn` quote what the simulator says and what the interpreter counts.

use std::path::Path;

use gpu::{Device, InterpreterOptions, PtxVariant};
use learn::host::{STEPS, Step, Version};
use ptx_interpreter::semantics::Class;
use ptx_interpreter::{Access, AccessedSpace, LaunchReport};
use timing::grouped;

fn page(step: &Step) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/learn").join(format!("{}.md", step.page));
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[test]
fn every_page_quotes_the_simulators_message() {
    for step in &STEPS {
        let message = (step.wrong.check)(&Device::simulator(), step.wrong_size).expect_err(step.wrong.name);
        assert!(page(step).contains(&message), "docs/learn/{}.md does not quote:\n{message}", step.page);
    }
}

/// Every page shows the kernel's documentation and signature, as the student finds them.
#[test]
fn every_page_shows_the_skeleton() {
    for step in &STEPS {
        let module = format!("step{}.rs", step.page.replacen('-', "_", 1).replace('-', "_"));
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(module);
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let kernel = format!("pub fn {}(", step.after.name);
        let signature = text.lines().find(|line| line.starts_with(&kernel)).expect(step.after.name);
        assert!(page(step).contains(&format!("#[kernel]\n{signature}\n")), "docs/learn/{}.md: {signature}", step.page);
    }
}

fn counted(version: Version, size: usize) -> LaunchReport {
    let variant = PtxVariant::newest(&learn::PTX).expect("there is PTX");
    let device = Device::interpreter(variant, InterpreterOptions { check_races: false, ..Default::default() });
    let device = device.unwrap_or_else(|error| panic!("{error}"));
    device.take_ptx_reports();
    (version.check)(&device, size).unwrap_or_else(|error| panic!("{}: {error}", version.name));
    device.take_ptx_reports().remove(0)
}

/// The table of a page: the rows in which something is counted.
fn table(step: &Step) -> String {
    let reports = [step.before, step.after].map(|version| counted(version, step.size));
    let sum = |space, accesses: &[Access], of: fn(&ptx_interpreter::SpaceTotals) -> u64| {
        reports.each_ref().map(|report| accesses.iter().map(|&access| of(&report.accesses(space, access))).sum::<u64>())
    };
    let plain = [Access::Read, Access::Write];
    let (global, shared) = (AccessedSpace::Global, AccessedSpace::Shared);
    let branches = reports.each_ref().map(|report| report.branches().1);
    let barriers = reports.each_ref().map(|report| {
        let barriers = report.instructions.iter().filter(|instruction| instruction.class == Class::Barrier);
        barriers.map(|instruction| instruction.counts.issued).sum()
    });
    let rows = [
        ("instructions of warps", reports.each_ref().map(LaunchReport::warp_instructions)),
        ("divergent branches", branches),
        ("barriers, for each warp", barriers),
        ("sectors of global memory", sum(global, &plain, |counts| counts.transactions)),
        ("atomic operations on global memory", sum(global, &[Access::Atomic], |counts| counts.lanes)),
        ("wavefronts of shared memory", sum(shared, &plain, |counts| counts.transactions)),
    ];
    let mut text = format!("| counted | `{}` | `{}` |\n|---|---|---|\n", step.before.name, step.after.name);
    let lanes =
        reports.each_ref().map(|report| report.thread_instructions() as f64 / report.warp_instructions() as f64);
    text.push_str(&format!("| lanes at work, of 32 | {:.1} | {:.1} |\n", lanes[0], lanes[1]));
    for (name, [before, after]) in rows.into_iter().filter(|(_, counts)| *counts != [0, 0]) {
        text.push_str(&format!("| {name} | {} | {} |\n", grouped(before), grouped(after)));
    }
    text
}

#[test]
fn every_page_has_the_counted_figures() {
    if !gpu_testing::require_ptx(&learn::PTX) {
        return;
    }
    let wrong = STEPS.iter().filter(|step| !page(step).contains(&table(step)));
    let wrong: Vec<String> = wrong.map(|step| format!("docs/learn/{}.md:\n{}", step.page, table(step))).collect();
    assert!(wrong.is_empty(), "these tables are missing or other ones:\n{}", wrong.join("\n"));
}

/// The two figures of a page's row whose name begins with these letters.
fn figures_of(page: &str, name: &str) -> Option<[f64; 2]> {
    let row = page.lines().find(|line| line.starts_with(&format!("| {name}")))?;
    let mut figures = row.split('|').skip(2).map(|figure| figure.trim().replace(',', "").parse().ok());
    Some([figures.next()??, figures.next()??])
}

/// The index has for each step the quotient, before ÷ after, of a row of its page: "sectors ÷ 5.0".
#[test]
fn the_index_has_the_pages_quotients() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/learn/README.md");
    let index = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    for step in &STEPS[1..] {
        let row = index.lines().find(|line| line.contains(&format!("({}.md)", step.page))).expect(step.page);
        let counted = row.trim_end_matches('|').rsplit('|').next().expect("a row has cells").trim();
        let (name, quotient) = counted.split_once(" ÷ ").expect(counted);
        let [before, after] = figures_of(&page(step), name).unwrap_or_else(|| panic!("{}: no row {name}", step.page));
        let digits = quotient.split_once('.').map_or(0, |(_, digits)| digits.len());
        assert_eq!(quotient, format!("{:.digits$}", before / after), "{}: {name}", step.page);
    }
}
