//! A Rust program on cust alone. It runs in a process of its own, whose driver is the emulator.

use std::process::Command;

use cuda_driver as _;
use cust::memory::CopyDestination;
use cust::prelude::*;

use crate::text;

/// The variable that is set in the process that runs a test's body.
const IN_CHILD: &str = "CUDA_EMULATOR_TEST_IN_CHILD";

const PTX: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 values, .param .u64 length, .param .f32 factor)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [values];
    ld.param.u64 %rd2, [length];
    ld.param.f32 %f1, [factor];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    cvt.u64.u32 %rd3, %r1;
    setp.ge.u64 %p1, %rd3, %rd2;
    @%p1 ret;
    cvta.to.global.u64 %rd1, %rd1;
    shl.b64 %rd4, %rd3, 2;
    add.u64 %rd5, %rd1, %rd4;
    ld.global.f32 %f2, [%rd5];
    mul.f32 %f3, %f2, %f1;
    st.global.f32 [%rd5], %f3;
    ret;
}
";

#[test]
#[allow(unsafe_code)]
fn a_program_on_cust_runs() {
    if std::env::var_os(IN_CHILD).is_none() {
        let mut runner = Command::new(env!("CARGO_BIN_EXE_cuda-emulate"));
        runner.arg("run").arg(std::env::current_exe().unwrap()).env(IN_CHILD, "1");
        let output = runner.args(["--exact", "rust::a_program_on_cust_runs", "--nocapture"]).output().unwrap();
        let said = text(&output);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        assert!(said.contains("CUDA emulator: 1 kernel, 3 launches, "), "{said}");
        return;
    }
    let _context = cust::quick_init().unwrap();
    let device = Device::get_device(0).unwrap();
    assert!(device.name().unwrap().starts_with("CUDA emulator (sm_90"));
    let module = Module::from_ptx(PTX, &[]).unwrap();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let scale = module.get_function("scale").unwrap();
    let values: Vec<f32> = (0..1000).map(|value| value as f32).collect();
    let buffer = DeviceBuffer::from_slice(&values).unwrap();
    let (blocks, threads) = scale.suggested_launch_configuration(0, 0.into()).unwrap();
    assert!(blocks > 0 && threads == 1024);
    for _ in 0..2 {
        // SAFETY: these are the kernel's parameters, and it checks its index against the length.
        unsafe { launch!(scale<<<8, 128, 0, stream>>>(buffer.as_device_ptr(), buffer.len(), 3.0_f32)) }.unwrap();
    }
    stream.synchronize().unwrap();
    let mut result = vec![0.0; values.len()];
    buffer.copy_to(&mut result).unwrap();
    assert!(result.iter().zip(&values).all(|(result, value)| *result == 9.0 * value));
    let mut unified = UnifiedBuffer::new(&1.5_f32, 10).unwrap();
    // SAFETY: as above; host and kernel access the buffer one after the other.
    unsafe { launch!(scale<<<1, 32, 0, stream>>>(unified.as_unified_ptr(), unified.len(), 2.0_f32)) }.unwrap();
    stream.synchronize().unwrap();
    assert_eq!(unified[..], [3.0; 10]);
}
