//! The numerical code, compiled once for each element type.
//!
//! Generic code is compiled in every program and every test that instantiates it. The engine's and the predictor's is
//! large, because it contains each kernel for several instruction sets. Code called through this trait is compiled in
//! this crate only.

use std::ops::ControlFlow;

use ndarray::{Array2, ArrayView2};

use crate::engine::{EngineError, Evaluation, Parameters};
use crate::{CpuEngine, Hyperparameters, Predictor, Samples};

/// Non-generic entry points for [`f32`] and [`f64`]; each function calls the method of the same name, or creates an
/// engine.
pub trait CompiledOnce: Sized {
    #[doc(hidden)]
    fn engine<'a>(
        samples: &'a Samples<Self>,
        parameters: &Parameters<Self>,
        hyperparameters: &Hyperparameters,
    ) -> CpuEngine<'a, Self>;
    #[doc(hidden)]
    fn train(
        engine: &mut CpuEngine<'_, Self>,
        order: &[u32],
        first_step: usize,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<(), EngineError>;
    #[doc(hidden)]
    fn evaluate(engine: &CpuEngine<'_, Self>, samples: &Samples<Self>) -> Evaluation;
    #[doc(hidden)]
    fn predict<'a>(predictor: &'a mut Predictor<Self>, inputs: &[Self]) -> &'a [Self];
    #[doc(hidden)]
    fn predict_all(predictor: &Predictor<Self>, inputs: ArrayView2<Self>) -> Array2<Self>;
}

macro_rules! compile_for {
    ($real:ty) => {
        impl CompiledOnce for $real {
            #[inline(never)]
            fn engine<'a>(
                samples: &'a Samples<Self>,
                parameters: &Parameters<Self>,
                hyperparameters: &Hyperparameters,
            ) -> CpuEngine<'a, Self> {
                CpuEngine::prepared(samples, parameters, hyperparameters)
            }

            #[inline(never)]
            fn train(
                engine: &mut CpuEngine<'_, Self>,
                order: &[u32],
                first_step: usize,
                observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
            ) -> Result<(), EngineError> {
                engine.train_in_order(order, first_step, observe)
            }

            #[inline(never)]
            fn evaluate(engine: &CpuEngine<'_, Self>, samples: &Samples<Self>) -> Evaluation {
                engine.evaluate_all(samples)
            }

            #[inline(never)]
            fn predict<'a>(predictor: &'a mut Predictor<Self>, inputs: &[Self]) -> &'a [Self] {
                predictor.predict_one(inputs)
            }

            #[inline(never)]
            fn predict_all(predictor: &Predictor<Self>, inputs: ArrayView2<Self>) -> Array2<Self> {
                predictor.predict_rows(inputs)
            }
        }
    };
}

compile_for!(f32);
compile_for!(f64);
