//! Synthetic figures for the tests. None of them was measured.

use report::Times;
use report::figures::*;

/// Times with a narrow spread.
pub(crate) fn around(median: f64) -> Times {
    Times { min: 0.98 * median, median, quartiles: Some([0.99 * median, 1.01 * median]), repeats: 100 }
}

/// Recorded times, without quartiles.
pub(crate) fn recorded(median: f64) -> Times {
    Times { min: 0.97 * median, median, quartiles: None, repeats: 20 }
}

/// Times on 1, 2, 4 and 8 threads.
pub(crate) fn ladder(medians: [f64; 4]) -> Vec<OnThreads> {
    let on = |(threads, median)| OnThreads { threads, times: around(median) };
    [1, 2, 4, 8].into_iter().zip(medians).map(on).collect()
}

/// Figures of a machine with two cores and no GPU.
pub(crate) fn without_gpu() -> Figures {
    let roofs = |threads: usize| {
        let share = threads.min(2) as f64;
        let (reading, arithmetic) = (around(250e-6 / share), around(1e-3 * threads as f64 / share));
        Roofs { threads, reading, bytes: 8e6, arithmetic, operations: 160e6 * threads as f64 }
    };
    let point = |epochs: f64, accuracy| Point { epochs, seconds: 0.2 * epochs, accuracy };
    let run = |seed: u64| {
        let gain = 1e-3 * seed as f64;
        let curve =
            vec![point(0.0, 0.1), point(0.25, 0.85), point(1.0, 0.92), point(2.0, 0.95), point(5.0, 0.968 + gain)];
        Run { seed, curve, test_accuracy: 0.965 + gain }
    };
    let step = |threads, [first_layer, other_layers, update, meetings]: [f64; 4]| StepTimes {
        threads,
        first_layer,
        other_layers,
        update,
        meetings,
    };
    let rung = |name: &str, thread_instructions: u64, loaded_sectors| RungCounts {
        name: name.to_owned(),
        thread_instructions,
        warp_instructions: thread_instructions / 31,
        loaded_sectors,
    };
    let peer = |exercise, label: &str, threads, median| PeerTime {
        exercise,
        label: label.to_owned(),
        threads,
        times: recorded(median),
    };
    Figures {
        made: MeasurementInfo {
            date: "2026-11-21".to_owned(),
            seconds: 93.5,
            quick: false,
            rounds: 5,
            checked_on: "simulator".to_owned(),
        },
        machine: Machine {
            processor: "Test Processor 9000".to_owned(),
            instruction_set: "avx2".to_owned(),
            cores: 2,
            caches: vec![
                Cache { level: 1, bytes: 48 << 10, shared_by: 1 },
                Cache { level: 3, bytes: 32 << 20, shared_by: 2 },
            ],
            memory: Some(16 << 30),
            system: "Test System 1".to_owned(),
            compiler: "rustc 1.95.0".to_owned(),
            gpu: "no CUDA driver (libcuda.so.1) on this machine".to_owned(),
        },
        roofs: [1, 2, 4, 8].map(roofs).to_vec(),
        maximum: Maximum { size: [1000, 1000], cpu: around(4e-3), rayon: ladder([330e-6, 170e-6, 172e-6, 210e-6]) },
        product: Product { size: [784, 128], trivial: around(0.32), rayon: ladder([620e-6, 400e-6, 401e-6, 402e-6]) },
        activation: Activation {
            values: 1_000_000,
            cpu: around(6e-3),
            three_passes: ladder([900e-6, 500e-6, 505e-6, 510e-6]),
            fused: ladder([390e-6, 200e-6, 201e-6, 205e-6]),
        },
        training: Training {
            data: "MNIST".to_owned(),
            is_mnist: true,
            sizes: vec![784, 128, 64, 10],
            batch: 16,
            learning_rate: 0.1,
            images: [50_000, 10_000, 10_000],
            epochs: 5,
            device: "CPU, 2 threads".to_owned(),
            target: 0.95,
            runs: (0..5).map(run).collect(),
            steps: vec![step(1, [8.9e-6, 8.1e-6, 6.0e-6, 0.0]), step(2, [6.7e-6, 4.4e-6, 3.2e-6, 1.1e-6])],
        },
        gpu: Gpu::Missing(
            "no CUDA driver (libcuda.so.1) on this machine, and docs/results has no recorded times".to_owned(),
        ),
        counts: Counts::Counted(KernelCounts {
            architecture: "sm_90".to_owned(),
            size: [784, 128],
            rungs: vec![
                rung("1 naive", 1_500_000_000, 81_000_000),
                rung("2 symmetry", 750_000_000, 40_000_000),
                rung("3 shared tiles", 250_000_000, 300_000),
                rung("4 register tiles", 130_000_000, 100_000),
                rung("5 wide, buffered", 100_000_000, 100_000),
            ],
        }),
        peers: Peers {
            names: vec!["Python 3.11".to_owned(), "NumPy 2.4.6".to_owned(), "Numba 0.68.1".to_owned()],
            times: vec![
                peer(Exercise::Maximum, "Python loops over NumPy arrays", 1, 0.35),
                peer(Exercise::Maximum, "NumPy", 1, 400e-6),
                peer(Exercise::Maximum, "Numba parallel", 2, 210e-6),
                peer(Exercise::Product, "NumPy", 2, 700e-6),
                peer(Exercise::Activation, "NumPy tanh", 1, 900e-6),
            ],
            missing: vec!["Numba was not measured: it is missing in this test".to_owned()],
        },
    }
}

/// A GPU's figures, with the figures of its machine's processor.
pub(crate) fn gpu_run() -> GpuRun {
    let rung = |(name, median): (&str, f64)| RungTimes { name: name.to_owned(), times: recorded(median) };
    let rungs = [
        ("1 naive", 9e-3),
        ("2 symmetry", 5e-3),
        ("3 shared tiles", 1.5e-3),
        ("4 register tiles", 0.8e-3),
        ("5 wide, buffered", 0.5e-3),
    ];
    let point = |epochs: f64, accuracy| Point { epochs, seconds: 0.05 * epochs, accuracy };
    GpuRun {
        gpu: GpuFacts {
            name: "Test GPU 1".to_owned(),
            driver: Some("570.1".to_owned()),
            compute_capability: Some("9.0".to_owned()),
            memory: Some(80 << 30),
            clock: Some(1.98e9),
        },
        maximum: Some(GpuMaximum {
            kernel: recorded(5e-6),
            with_copies: recorded(2.5e-3),
            cpu: recorded(4.2e-3),
            rayon: OnThreads { threads: 16, times: recorded(60e-6) },
        }),
        product: Some(GpuProduct {
            rungs: rungs.map(rung).to_vec(),
            with_copies: recorded(1.2e-3),
            trivial: recorded(0.3),
            rayon: OnThreads { threads: 16, times: recorded(0.2e-3) },
        }),
        activation: Some(GpuActivation {
            three_kernels: recorded(14e-6),
            fused_kernel: recorded(6e-6),
            fused_with_copies: recorded(1.5e-3),
            copied_after_every_step: recorded(4e-3),
            rayon_fused: OnThreads { threads: 16, times: recorded(50e-6) },
        }),
        training: Some(GpuTraining {
            data: "MNIST".to_owned(),
            curve: vec![point(1.0, 0.92), point(3.0, 0.955), point(5.0, 0.966)],
            test_accuracy: 0.964,
        }),
        failed: Vec::new(),
    }
}

/// Figures with a GPU recorded on another machine.
pub(crate) fn with_recorded_gpu() -> Figures {
    let gpu = Gpu::Recorded { file: "test.json".to_owned(), date: "2026-10-01".to_owned(), run: gpu_run() };
    Figures { gpu, ..without_gpu() }
}

/// Figures with a GPU measured on this machine.
pub(crate) fn with_measured_gpu() -> Figures {
    Figures { gpu: Gpu::Measured(gpu_run()), ..without_gpu() }
}
