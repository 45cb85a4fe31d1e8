use std::process::ExitCode;

use serde_json::{Map, Value, json};

use command_line::{CHECK_FAILED, say};

use crate::measurement::{Measurement, format_seconds, four_digits};
use crate::rule::Rule;

/// Results of a homework program: its checks, then its times and speed-ups.
///
/// As text, it is printed line by line in the homework's words while the program runs. As JSON, it
/// is one object at the end.
#[derive(Debug)]
pub struct Report {
    as_json: bool,
    facts: Map<String, Value>,
    checks: Map<String, Value>,
    seconds: Map<String, Value>,
    speedups: Map<String, Value>,
    rules: Map<String, Value>,
    measured: Vec<(String, Measurement)>,
    failed: bool,
}

impl Report {
    /// An empty report of the named program.
    pub fn new(program: &str, as_json: bool) -> Self {
        let mut report = Self {
            as_json,
            facts: Map::new(),
            checks: Map::new(),
            seconds: Map::new(),
            speedups: Map::new(),
            rules: Map::new(),
            measured: Vec::new(),
            failed: false,
        };
        report.fact("program", program);
        report
    }

    /// Adds a fact about the run, such as its size or seed, to the JSON object.
    pub fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.facts.insert(name.to_owned(), value.into());
    }

    /// Adds facts about the GPU that was timed to the JSON object: the bytes of its L2 cache, and a
    /// multiprocessor's cycles per second during the measurement.
    pub fn gpu_facts(&mut self, l2_bytes: Option<usize>, clock_hz: Option<f64>) {
        self.fact("l2_bytes", l2_bytes);
        self.fact("clock_hz", clock_hz);
    }

    /// Records whether the function `name` gave the right result; `Err` says where it did not.
    pub fn check(&mut self, name: &str, outcome: Result<(), String>) {
        self.check_on(name, "", outcome);
    }

    /// Records a check like [`check`](Self::check). `place` says where the function ran, for
    /// example " (simulator)".
    pub fn check_on(&mut self, name: &str, place: &str, outcome: Result<(), String>) {
        self.checks.insert(name.to_owned(), outcome.is_ok().into());
        match outcome {
            Ok(()) => self.line(format_args!("[+] {name} passed{place}")),
            Err(difference) => {
                self.failed = true;
                self.line(format_args!("[-] {name} failed{place}: {difference}"));
            }
        }
    }

    /// Prints a remark, and keeps it as a fact of the JSON object under `name`.
    pub fn remark(&mut self, name: &str, text: &str) {
        self.line(format_args!("[*] {text}"));
        self.fact(name, text);
    }

    /// Ends the checks: prints the homework's line and returns whether all of them passed.
    pub fn all_passed(&self) -> bool {
        let last = if self.failed { "[-] Some tests failed" } else { "[+] All tests passed" };
        self.line(format_args!("{last}"));
        !self.failed
    }

    /// Records a time under a label; `note` adds a condition, for example the number of threads.
    pub fn time(&mut self, label: &str, note: &str, measurement: Measurement) {
        let Measurement { min, median, repeats } = measurement;
        let (shown_min, shown_median) = (format_seconds(min), format_seconds(median));
        self.line(format_args!("[*] {label}: {shown_min} (median {shown_median}, n = {repeats}{note})"));
        self.seconds.insert(key(label), json!({ "min": min, "median": median, "repeats": repeats }));
        self.measured.push((label.to_owned(), measurement));
    }

    /// Records the speed-up of `label` over `baseline` from their minima and medians. Both must
    /// have been timed before.
    pub fn speedup(&mut self, label: &str, baseline: &str) {
        let (Some(new), Some(old)) = (self.measurement(label), self.measurement(baseline)) else { return };
        let (min, median) = (old.min / new.min, old.median / new.median);
        let (shown_min, shown_median) = (four_digits(min), four_digits(median));
        self.line(format_args!("[*] Speed-up {label} over {baseline}: {shown_min} (by medians {shown_median})"));
        let name = format!("{}_over_{}", key(label), key(baseline));
        self.speedups.insert(name, json!({ "min": min, "median": median }));
    }

    /// Judges `label` against `baseline` by a rule. Does nothing if one of them was not timed.
    pub fn judge(&mut self, rule: Rule, label: &str, baseline: &str) {
        let (Some(new), Some(old)) = (self.measurement(label), self.measurement(baseline)) else { return };
        let judgement = rule.judge(old.median, new.median);
        self.line(format_args!("[*] Rule: {}", judgement.sentence(label)));
        self.rules.insert(key(label), judgement.to_json());
    }

    fn measurement(&self, label: &str) -> Option<Measurement> {
        self.measured.iter().find(|(name, _)| name == label).map(|(_, found)| *found)
    }

    /// Ends the report: prints the JSON object if the report is JSON, and returns the program's exit code.
    pub fn finish(self) -> ExitCode {
        if self.as_json {
            say!("{}", self.to_json());
        }
        if self.failed { ExitCode::from(CHECK_FAILED) } else { ExitCode::SUCCESS }
    }

    fn to_json(&self) -> Value {
        let mut object = self.facts.clone();
        object.insert("checks".to_owned(), self.checks.clone().into());
        object.insert("seconds".to_owned(), self.seconds.clone().into());
        object.insert("speedup".to_owned(), self.speedups.clone().into());
        if !self.rules.is_empty() {
            object.insert("rules".to_owned(), self.rules.clone().into());
        }
        object.into()
    }

    fn line(&self, text: std::fmt::Arguments) {
        if !self.as_json {
            say!("{text}");
        }
    }
}

/// The JSON key of a time's label: lower case, with blanks and commas replaced by underscores, and × by x.
///
/// ```
/// assert_eq!(timing::key("CUDA kernel 5 wide, buffered"), "cuda_kernel_5_wide__buffered");
/// assert_eq!(timing::key("Rayon 3×3"), "rayon_3x3");
/// ```
pub fn key(label: &str) -> String {
    label.to_lowercase().replace([' ', ','], "_").replace('×', "x")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(min: f64) -> Measurement {
        Measurement { min, median: 2.0 * min, repeats: 3 }
    }

    #[test]
    fn a_failed_check_fails_the_report() {
        let mut report = Report::new("demo", true);
        report.check("good", Ok(()));
        assert!(report.all_passed());
        report.check("bad", Err("row 1: 2 instead of 3".to_owned()));
        assert!(!report.all_passed());
        assert_eq!(report.to_json()["checks"], json!({ "good": true, "bad": false }));
        assert_eq!(report.finish(), ExitCode::from(1));
    }

    #[test]
    fn a_speedup_is_the_baseline_over_the_new_time() {
        let mut report = Report::new("demo", true);
        report.time("CPU", "", fixed(6.0));
        report.time("Rayon", ", 2 threads", fixed(2.0));
        report.speedup("Rayon", "CPU");
        report.speedup("Rayon", "never timed");
        let json = report.to_json();
        assert_eq!(json["speedup"], json!({ "rayon_over_cpu": { "min": 3.0, "median": 3.0 } }));
        assert_eq!(json["seconds"]["rayon"], json!({ "min": 2.0, "median": 4.0, "repeats": 3 }));
        assert_eq!(json["program"], "demo");
        assert_eq!(json.get("rules"), None);
    }

    #[test]
    fn a_rule_is_judged_by_the_medians_of_what_was_timed() {
        let rule = Rule { factor: 40, baseline: "two plain loops" };
        let mut report = Report::new("demo", true);
        report.time("CPU", "", Measurement { min: 1.0, median: 80.0, repeats: 3 });
        report.time("CUDA kernel", "", Measurement { min: 0.5, median: 2.0, repeats: 3 });
        report.time("CUDA", "", Measurement { min: 0.001, median: 160.0, repeats: 3 });
        for label in ["CUDA kernel", "CUDA", "never timed"] {
            report.judge(rule, label, "CPU");
        }
        report.judge(rule, "CUDA", "never timed");
        let judged = |ratio: f64, met: bool| json!({ "at_least": 40, "baseline": "two plain loops", "ratio": ratio, "met": met });
        assert_eq!(report.to_json()["rules"], json!({ "cuda_kernel": judged(40.0, true), "cuda": judged(0.5, false) }));
    }
}
