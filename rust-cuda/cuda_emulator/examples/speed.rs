//! Compares the speed of launches through the driver API with direct calls to the interpreter,
//! alternating between the two.
//!
//! `cargo run --release -p cuda_emulator --example speed`

#![allow(unsafe_code, reason = "calls of the library's functions, as a C program makes them")]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::time::Instant;

use cuda_emulator::address_of;
use cuda_launch::LaunchConfig;
use ptx_interpreter::{Machine, Options};

const PTX: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry double(.param .u64 values)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [values];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r4, [%rd3];
    add.u32 %r4, %r4, %r4;
    st.global.u32 [%rd3], %r4;
    ret;
}
";

/// Instructions per thread.
const INSTRUCTIONS: u64 = 12;

/// Looks up the function of this name, which must have the type `F`.
macro_rules! function {
    ($name:literal: fn($($argument:ty),*)) => {{
        let address = address_of($name).expect("the library exports it");
        // SAFETY: this is the function's type in cuda.h; an enumeration is passed as an int.
        unsafe { std::mem::transmute::<*const c_void, unsafe extern "C" fn($($argument),*) -> c_int>(address) }
    }};
}

fn main() {
    for (blocks, launches) in [(1, 5000), (1000, 5)] {
        let config = LaunchConfig::new(blocks, 256);
        let (mut driver, mut direct) = (f64::INFINITY, f64::INFINITY);
        let (mut of_driver, of_direct) = (Driver::new(config), Direct::new(config));
        for _ in 0..5 {
            driver = driver.min(seconds(launches, || of_driver.launch(config)));
            direct = direct.min(seconds(launches, || of_direct.launch(config)));
        }
        let instructions = config.grid.count() * config.block.count() * INSTRUCTIONS;
        for (name, seconds) in [("driver", driver), ("interpreter", direct)] {
            println!(
                "{name}, {blocks} blocks: {:.0} launches/s, {:.1} million instructions/s",
                1.0 / seconds,
                instructions as f64 / seconds / 1e6
            );
        }
        println!("driver / interpreter: {:.3}", driver / direct);
    }
}

/// Seconds per launch.
fn seconds(launches: u32, mut launch: impl FnMut()) -> f64 {
    let begun = Instant::now();
    (0..launches).for_each(|_| launch());
    begun.elapsed().as_secs_f64() / f64::from(launches)
}

struct Direct {
    machine: Machine,
    values: u64,
}

impl Direct {
    fn new(config: LaunchConfig) -> Self {
        let mut machine = Machine::new(PTX).expect("the PTX is valid");
        let bytes = config.grid.count() * config.block.count() * 4;
        let values = machine.allocate(bytes).expect("there is memory");
        machine.memory().fill_zero(values, bytes as usize).expect("it was allocated");
        Self { machine, values }
    }

    fn launch(&self, config: LaunchConfig) {
        let launched = self.machine.launch(Options::default(), "double", config, &[&self.values.to_le_bytes()]);
        launched.expect("the kernel has no fault");
    }
}

struct Driver {
    function: usize,
    values: u64,
}

impl Driver {
    fn new(config: LaunchConfig) -> Self {
        let (mut context, mut module, mut function, mut values) = (0_usize, 0_usize, 0_usize, 0_u64);
        let bytes = (config.grid.count() * config.block.count() * 4) as usize;
        let text = format!("{PTX}\0");
        let init = function!("cuInit": fn(c_uint));
        let create = function!("cuCtxCreate_v2": fn(*mut usize, c_uint, c_int));
        let load = function!("cuModuleLoadData": fn(*mut usize, *const c_char));
        let get = function!("cuModuleGetFunction": fn(*mut usize, usize, *const c_char));
        let allocate = function!("cuMemAlloc_v2": fn(*mut u64, usize));
        let fill = function!("cuMemsetD8_v2": fn(u64, u8, usize));
        // SAFETY: each pointer points to a value that outlives the call, and both texts end with a
        // zero.
        let results = unsafe {
            [
                init(0),
                create(&raw mut context, 0, 0),
                load(&raw mut module, text.as_ptr().cast()),
                get(&raw mut function, module, c"double".as_ptr()),
                allocate(&raw mut values, bytes),
                fill(values, 0, bytes),
            ]
        };
        assert_eq!(results, [0; 6]);
        Self { function, values }
    }

    fn launch(&mut self, config: LaunchConfig) {
        type Parameters = *mut *mut c_void;
        let launch = function!(
            "cuLaunchKernel": fn(usize, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, usize, Parameters, Parameters)
        );
        let mut parameters: [*mut c_void; 1] = [(&raw mut self.values).cast()];
        let (grid, block, none) = (config.grid, config.block, std::ptr::null_mut());
        // SAFETY: the function has one parameter of 8 bytes, which is read before the call returns.
        let result = unsafe {
            let parameters = parameters.as_mut_ptr();
            launch(self.function, grid.x, grid.y, grid.z, block.x, block.y, block.z, 0, 0, parameters, none)
        };
        assert_eq!(result, 0);
    }
}
