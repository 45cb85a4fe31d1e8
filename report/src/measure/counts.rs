//! Instruction counts of the rungs of X·Xᵀ, from the PTX interpreter.

use gpu::{Device, InterpreterOptions, PtxVariant};
use matmul_functions::{MatmulGpu, Reference, Rung};
use ptx_interpreter::{Access, AccessedSpace};
use rayon::prelude::*;

use super::product::{Input, SIZE};
use super::{MeasureError, Plan};
use crate::figures::{KernelCounts, RungCounts};

/// Runs every single-block rung on the interpreter and verifies its result.
pub(super) fn count(plan: &Plan) -> Result<KernelCounts, MeasureError> {
    let Some(variant) = PtxVariant::newest(&kernels_gpu::PTX) else {
        return Err(MeasureError::Device("there is no PTX".to_owned()));
    };
    let size = [plan.counted_rows(), SIZE[1]];
    let input = Input::of_size(size, plan.seed);
    let reference = Reference::of(&input.0);
    let count = |rung: Rung| {
        let options = InterpreterOptions { check_races: false, ..Default::default() };
        let device = Device::interpreter(variant, options).map_err(MeasureError::device)?;
        let mut work = MatmulGpu::new(&device, &input.0).map_err(MeasureError::device)?;
        device.take_ptx_reports();
        work.launch(rung).map_err(MeasureError::device)?;
        let report = device.take_ptx_reports().pop();
        let result = work.result().map_err(MeasureError::device)?;
        let wrong = |difference| MeasureError::Wrong { version: "matmul_transpose_gpu", difference };
        reference.verify(&result).map_err(wrong)?;
        let report = report.ok_or_else(|| MeasureError::Device("the interpreter has no launch report".to_owned()))?;
        Ok(RungCounts {
            name: rung.name().to_owned(),
            thread_instructions: report.thread_instructions(),
            warp_instructions: report.warp_instructions(),
            loaded_sectors: report.accesses(AccessedSpace::Global, Access::Read).transactions,
        })
    };
    let rungs = Rung::ONE_BLOCK.into_par_iter().with_max_len(1).map(count).collect::<Result<_, MeasureError>>()?;
    let (major, minor) = variant.compute_capability();
    Ok(KernelCounts { architecture: format!("sm_{major}{minor}"), size, rungs })
}
