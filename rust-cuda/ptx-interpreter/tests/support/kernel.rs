//! Kernels of a few instructions: text, launch and results.

use cuda_launch::{Dim3, LaunchConfig, Search};
use ptx_interpreter::{
    Executor, FaultKind, LaunchError, LaunchReport, LoadError, Machine, Observer, Options, Snapshot, Uninitialised,
};

/// Runs the blocks of a launch in parallel on its own threads. Blocks of a cooperative launch wait
/// for each other.
struct OwnThreads;

impl Executor for OwnThreads {
    fn workers(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    fn run(&self, workers: usize, work: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| (0..workers).for_each(|number| drop(scope.spawn(move || work(number)))));
    }
}

/// Prologue of every kernel. `index` is the thread's index in the one-dimensional grid. `cell` and
/// `cell8` are the addresses of its 4 and 8 bytes of the output.
const PROLOGUE: &str = "
    .reg .pred p<10>; .reg .b16 h<20>; .reg .b32 r<60>; .reg .b64 d<40>;
    .reg .b32 tid, index; .reg .b64 input, output, cell, cell8;
    ld.param.u64 input, [kernel_input]; ld.param.u64 output, [kernel_output];
    mov.u32 tid, %tid.x; mov.u32 index, %ntid.x; mov.u32 r59, %ctaid.x; mad.lo.u32 index, r59, index, tid;
    mad.wide.u32 cell, index, 4, output; mad.wide.u32 cell8, index, 8, output;
";

/// The module around a kernel's body.
pub fn module(declarations: &str, directives: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n{declarations}\n.visible .entry kernel(\n    .param .u64 \
         kernel_input,\n    .param .u64 kernel_output\n)\n{directives}\n{{{PROLOGUE}\n{body}\n}}\n"
    )
}

/// A kernel and its launch configuration.
#[derive(Clone, Debug)]
pub struct Kernel {
    declarations: String,
    directives: String,
    body: String,
    input: Vec<u8>,
    output_bytes: usize,
    config: LaunchConfig,
    options: Options,
}

impl Kernel {
    /// A kernel with this body, for one block of 32 threads.
    pub fn new(body: impl Into<String>) -> Self {
        Self {
            declarations: String::new(),
            directives: String::new(),
            body: body.into(),
            input: vec![0; 256],
            output_bytes: 0,
            config: LaunchConfig::new(1, 32),
            options: Options { block_instructions: 10_000_000, ..Options::default() },
        }
    }

    /// Adds variables and functions before the kernel.
    pub fn declare(mut self, declarations: &str) -> Self {
        self.declarations.push_str(declarations);
        self
    }

    /// Adds performance directives such as `.maxntid`.
    pub fn directive(mut self, directives: &str) -> Self {
        self.directives.push_str(directives);
        self
    }

    pub fn input(mut self, words: &[u32]) -> Self {
        self.input = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self
    }

    pub fn input8(mut self, words: &[u64]) -> Self {
        self.input = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self
    }

    /// Sets the output's size in bytes (default: 16 per thread).
    pub fn output_bytes(mut self, bytes: usize) -> Self {
        self.output_bytes = bytes;
        self
    }

    pub fn shape(mut self, grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        self.config =
            LaunchConfig { dynamic_shared_bytes: self.config.dynamic_shared_bytes, ..LaunchConfig::new(grid, block) };
        self
    }

    pub fn dynamic_shared(mut self, bytes: u32) -> Self {
        self.config.dynamic_shared_bytes = bytes;
        self
    }

    pub fn cooperative(mut self) -> Self {
        self.config.cooperative = true;
        self
    }

    pub fn clusters_of(mut self, blocks: u32) -> Self {
        self.config = self.config.clusters_of(blocks);
        self
    }

    pub fn without_race_checks(mut self) -> Self {
        self.options.check_races = false;
        self
    }

    pub fn with_same_value_faults(mut self) -> Self {
        self.options.same_value_races_are_faults = true;
        self
    }

    /// Uses `kernel-check`'s options, which are not strict.
    pub fn by_gpu_rules(mut self) -> Self {
        self.options.strict = false;
        self.with_uninitialised(Uninitialised::Note)
    }

    pub fn with_uninitialised(mut self, uninitialised: Uninitialised) -> Self {
        self.options.uninitialised = uninitialised;
        self
    }

    pub fn with_plain_volatile(mut self) -> Self {
        self.options.volatile_is_plain = true;
        self
    }

    pub fn at_most(mut self, block_instructions: u64) -> Self {
        self.options.block_instructions = block_instructions;
        self
    }

    pub fn at_most_without_progress(mut self, instructions: u64) -> Self {
        self.options.instructions_without_progress = instructions;
        self
    }

    /// Also looks for faults under other schedules.
    pub fn in_orders(mut self, search: Search) -> Self {
        self.options.search = search;
        self
    }

    /// Runs under a schedule.
    #[track_caller]
    pub fn in_order(mut self, schedule: &str) -> Self {
        self.options.schedule = schedule.parse().unwrap();
        self
    }

    pub fn text(&self) -> String {
        module(&self.declarations, &self.directives, &self.body)
    }

    /// A machine with the kernel loaded.
    #[track_caller]
    pub fn machine(&self) -> Machine {
        let text = self.text();
        let machine = Machine::new(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(machine.refused().next(), None, "{text}");
        machine
    }

    /// The report or the error.
    pub fn launched(&self) -> Result<LaunchReport, LaunchError> {
        self.launch().0
    }

    fn launch(&self) -> (Result<LaunchReport, LaunchError>, Vec<u8>) {
        self.run(|machine, parameters| {
            machine.launch_on(&OwnThreads, self.options.clone(), "kernel", self.config, parameters)
        })
    }

    /// Whether a launch under an observer ran to its end, or its error, and the output.
    pub fn observe(&self, observer: &mut dyn Observer) -> (Result<bool, LaunchError>, Vec<u8>) {
        self.run(|machine, parameters| {
            machine.observe(self.options.clone(), "kernel", self.config, parameters, observer)
        })
    }

    /// Like `observe`, from a snapshot of the launch.
    pub fn resume(&self, snapshot: &Snapshot, observer: &mut dyn Observer) -> (Result<bool, LaunchError>, Vec<u8>) {
        self.run(|machine, parameters| {
            machine.resume(self.options.clone(), "kernel", self.config, parameters, snapshot, observer)
        })
    }

    /// The result of `launch`, which receives a machine and the parameters, and the output.
    fn run<R>(&self, launch: impl FnOnce(&Machine, &[&[u8]]) -> R) -> (R, Vec<u8>) {
        let mut machine = self.machine();
        let threads = (self.config.grid.count() * self.config.block.count()) as usize;
        let mut output = vec![0; if self.output_bytes == 0 { threads * 16 } else { self.output_bytes }];
        let input = machine.allocate(self.input.len() as u64).unwrap();
        machine.memory().write(input, &self.input).unwrap();
        let address = machine.allocate(output.len() as u64).unwrap();
        machine.memory().write(address, &output).unwrap();
        let parameters = [input.to_le_bytes(), address.to_le_bytes()];
        let result = launch(&machine, &parameters.each_ref().map(|parameter| &parameter[..]));
        machine.memory().read(address, &mut output).unwrap();
        (result, output)
    }

    /// The output of a launch that must succeed.
    #[track_caller]
    pub fn bytes(&self) -> Vec<u8> {
        let (result, output) = self.launch();
        result.unwrap_or_else(|error| panic!("{error}\n{}", self.text()));
        output
    }

    /// The first `count` words of the output.
    #[track_caller]
    pub fn words(&self, count: usize) -> Vec<u32> {
        self.bytes().as_chunks().0[..count].iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
    }

    /// The first `count` 8-byte words of the output.
    #[track_caller]
    pub fn words8(&self, count: usize) -> Vec<u64> {
        self.bytes().as_chunks().0[..count].iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
    }

    #[track_caller]
    pub fn report(&self) -> LaunchReport {
        self.launch().0.unwrap_or_else(|error| panic!("{error}\n{}", self.text()))
    }

    /// The fault of a launch. It must be at the only line of the body that contains `text`, in this thread of this
    /// block.
    #[track_caller]
    pub fn fault(&self, text: &str, block: u32, thread: u32) -> FaultKind {
        let (result, _) = self.launch();
        let error = match result {
            Ok(_) => panic!("no fault\n{}", self.text()),
            Err(error) => error,
        };
        let Some(fault) = error.fault() else { panic!("the error is not a thread's fault: {error}") };
        let module = self.text();
        let lines: Vec<usize> =
            module.lines().enumerate().filter(|(_, line)| line.contains(text)).map(|(index, _)| index + 1).collect();
        assert_eq!(lines, [fault.place.line as usize], "lines with {text}; {fault}");
        assert!(text.contains(&*fault.place.text) || fault.place.text.contains(text.trim_end_matches(';')), "{fault}");
        assert_eq!(
            (&*fault.kernel, fault.block, fault.thread),
            ("kernel", Dim3::new(block, 0, 0), Dim3::new(thread, 0, 0))
        );
        let message = fault.to_string();
        assert!(message.starts_with("kernel kernel, block "), "{message}");
        fault.kind.clone()
    }

    #[track_caller]
    pub fn launch_error(&self) -> LaunchError {
        self.launch().0.expect_err("the launch must fail")
    }

    /// Lists the faults of this many lines.
    pub fn with_max_faults(mut self, faults: usize) -> Self {
        self.options.max_faults = faults;
        self
    }

    /// Continues after any fault.
    pub fn keep_going(mut self) -> Self {
        self.options.keep_going = true;
        self
    }

    /// The error of a launch, if any, and the output.
    pub fn error_and_output(&self) -> (Option<LaunchError>, Vec<u8>) {
        let (result, output) = self.launch();
        (result.err(), output)
    }

    /// The error of a launch, if any.
    pub fn error(&self) -> Option<LaunchError> {
        self.launch().0.err()
    }

    #[track_caller]
    pub fn load_error(&self) -> LoadError {
        match Machine::new(&self.text()) {
            Ok(machine) => {
                let refused = machine.refused().next().map(|(_, error)| error.clone());
                refused.unwrap_or_else(|| panic!("the module loads\n{}", self.text()))
            }
            Err(error) => error,
        }
    }
}

/// The expected values of `count` threads.
pub fn each<T>(count: u32, value: impl FnMut(u32) -> T) -> Vec<T> {
    (0..count).map(value).collect()
}
