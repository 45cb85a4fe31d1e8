//! Times a session's steps: `time_steps LAUNCH_FILE [SOURCE LINE CONDITION]`. Runs the launch to
//! the breakpoint, or to the end of the kernel if there is none. Then measures steps in both
//! directions from there.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use kernel_debugger::{Breakpoints, Front, Resume, Session, Stopped};
use kernel_launch::LaunchFile;

/// The steps in order: name, command, and number of repetitions.
const STEPS: [(&str, Resume, usize); 8] = [
    ("step back", Resume::StepBack, 5),
    ("step", Resume::StepLine, 3),
    ("step back", Resume::StepBack, 2),
    ("instruction", Resume::StepInstruction, 3),
    ("to the barrier", Resume::ToBarrier, 1),
    ("step back", Resume::StepBack, 3),
    ("continue", Resume::Continue, 1),
    ("continue back", Resume::ContinueBack, 2),
];

struct Timer {
    since: Instant,
    steps: Vec<(&'static str, Resume)>,
    /// Name of the step that is being timed.
    step: &'static str,
    has_started: bool,
}

impl Timer {
    fn next(&mut self, place: &str) -> Resume {
        println!("{:>9.1} ms  {:<15} {place}", self.since.elapsed().as_secs_f64() * 1e3, self.step);
        let Some((step, resume)) = self.steps.pop() else { return Resume::Quit };
        self.step = step;
        self.since = Instant::now();
        resume
    }
}

impl Front for Timer {
    fn stopped(&mut self, stopped: &Stopped<'_>, _: &mut Breakpoints) -> Resume {
        let stop = stopped.stop;
        let place = format!("time {}, block {}, warp {}", stop.time, stop.step.block, stop.step.warp);
        if !std::mem::replace(&mut self.has_started, true) {
            self.since = Instant::now();
            return Resume::Continue;
        }
        self.next(&place)
    }

    fn completed(&mut self) -> Resume {
        self.next("the end")
    }

    fn is_interrupted(&mut self) -> bool {
        false
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (file, breakpoint) = arguments.split_first().ok_or("usage: time_steps LAUNCH_FILE [SOURCE LINE CONDITION]")?;
    let launch = LaunchFile::open(Path::new(file))?;
    let mut session = Session::new(&launch);
    if let [source, line, condition] = breakpoint {
        let lines = session.lines().clone();
        let condition = Some(condition.parse()?);
        let set = session.breakpoints().set_lines((&launch, &lines), source, [(line.parse()?, condition)]);
        println!("breakpoint at line {set:?}");
    }
    let steps = STEPS.iter().flat_map(|(name, resume, count)| std::iter::repeat_n((*name, *resume), *count));
    let steps = steps.rev().collect();
    let mut timer = Timer { since: Instant::now(), steps, step: "run", has_started: false };
    let end = session.run(&mut timer)?;
    println!("{end:?}; peak memory {}", peak_memory());
    Ok(())
}

/// Peak resident memory of the process, as Linux reports it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown".to_owned(), |line| line.trim().to_owned())
}
