//! The choice of sentences by the figures.

use report::figures::{Counts, FailedProgram, Gpu, OnThreads};
use report::statements::{self, Section};
use report::{Figures, Times};

use super::figures::{around, ladder, with_measured_gpu, with_recorded_gpu, without_gpu};

/// A section's sentences as one text.
fn text(figures: &Figures, section: Section) -> String {
    let (_, sentences) = statements::all(figures).into_iter().find(|(found, _)| *found == section).unwrap();
    sentences.into_iter().map(|sentence| sentence.text).collect::<Vec<_>>().join(" ")
}

fn assert_says(text: &str, words: &[&str]) {
    for words in words {
        assert!(text.contains(words), "\"{words}\" is missing in: {text}");
    }
}

#[test]
fn faster_slower_and_no_clear_difference_are_distinguished() {
    let mut figures = without_gpu();
    let said = text(&figures, Section::Maximum);
    assert_says(&said, &["max_rayon (2 threads) takes 170.0 µs: 23.5 times as fast as max_cpu at 4.000 ms"]);
    assert_says(&said, &["1.24 times as fast as Numba parallel (2 threads) at 210.0 µs"]);

    figures.maximum.rayon = ladder([330e-6, 300e-6, 300e-6, 300e-6]);
    let said = text(&figures, Section::Maximum);
    assert_says(&said, &["1.43 times as long as Numba parallel (2 threads) at 210.0 µs"]);

    figures.maximum.rayon = ladder([330e-6, 208e-6, 300e-6, 300e-6]);
    let said = text(&figures, Section::Maximum);
    assert_says(
        &said,
        &["no clear difference, by overlapping interquartile ranges, from Numba parallel (2 threads) at 210.0 µs"],
    );
}

#[test]
fn the_bound_follows_from_the_share_of_the_roof() {
    let mut figures = without_gpu();
    // 8 MB in 98 % of 170 µs; the roof is 8 MB in 98 % of 125 µs.
    let said = text(&figures, Section::MaximumCores);
    assert_says(
        &said,
        &["its fastest call reads the operands at 48.0 GB/s, 74 % of the roof of 65.3 GB/s: it is memory-bound."],
    );
    assert_says(
        &said,
        &["The roof itself scales with the threads: when only reading, 2 threads reach 2.00 times the rate of one."],
    );

    figures.roofs[1].reading = around(60e-6);
    assert_says(
        &text(&figures, Section::MaximumCores),
        &["35 % of the roof of 136 GB/s: reading the operands takes a large part of the time"],
    );
    figures.roofs[1].reading = around(20e-6);
    assert_says(
        &text(&figures, Section::MaximumCores),
        &["12 % of the roof of 408 GB/s: writing the result", "take more time than reading the operands"],
    );

    // A roof that is lower than the measured bandwidth is invalid.
    figures.roofs[1].reading = around(500e-6);
    let said = text(&figures, Section::MaximumCores);
    assert_says(&said, &["no bound is stated"]);
    assert!(!said.contains("memory-bound"), "{said}");
    assert!(!text(&figures, Section::Conclusions).contains("of the memory roof"));

    figures.roofs.clear();
    assert_says(&text(&figures, Section::MaximumCores), &["The roofs of the machine were not measured"]);
}

#[test]
fn two_threads_on_the_units_of_one_core_are_recognised() {
    let mut figures = without_gpu();
    figures.roofs[1].arithmetic = around(2e-3);
    figures.product.rayon = ladder([620e-6, 625e-6, 625e-6, 625e-6]);
    let said = text(&figures, Section::ProductCores);
    assert_says(
        &said,
        &["The roof itself hardly scales: with only", "as if the threads shared the arithmetic units of one core"],
    );
}

#[test]
fn varying_wake_up_latency_is_recognised() {
    let mut figures = without_gpu();
    assert!(!text(&figures, Section::ProductCores).contains("Between the fastest calls"));
    figures.product.rayon[1].times =
        Times { min: 300e-6, median: 610e-6, quartiles: Some([600e-6, 620e-6]), repeats: 100 };
    assert_says(
        &text(&figures, Section::ProductCores),
        &["Between the fastest calls it is 2.03: idle worker threads sleep"],
    );
}

#[test]
fn oversubscription_is_explained_by_its_times() {
    let mut figures = without_gpu();
    let said = text(&figures, Section::MaximumCores);
    assert_says(
        &said,
        &[
            "max_rayon (8 threads) takes 210.0 µs: 1.24 times as long as max_rayon (2 threads)",
            "the threads are time-sliced: tasks wait",
        ],
    );
    assert_says(&text(&figures, Section::ProductCores), &["work stealing avoids a clear cost"]);
    assert_says(
        &text(&figures, Section::Conclusions),
        &[
            "compared with one thread per core (2 cores), on 8 threads the maximum takes 1.24 times as long and X·Xᵀ shows no clear difference",
        ],
    );

    figures.maximum.rayon = ladder([330e-6, 170e-6, 120e-6, 100e-6]);
    assert_says(
        &text(&figures, Section::MaximumCores),
        &["1.70 times as fast as max_rayon (2 threads)", "is already awake"],
    );

    figures.machine.cores = 8;
    let said = text(&figures, Section::MaximumCores);
    assert_says(&said, &["The machine has 8 cores, at least one per thread: there was no oversubscription."]);
    assert_says(&text(&figures, Section::Conclusions), &["Oversubscription of the 8 cores was not measured."]);
}

#[test]
fn a_larger_spread_by_oversubscription_is_stated() {
    let mut figures = without_gpu();
    figures.maximum.rayon[3].times.quartiles = Some([209e-6, 260e-6]);
    let said = text(&figures, Section::MaximumCores);
    assert_says(&said, &["the interquartile range is 24 % of the median instead of 2 %"]);
}

#[test]
fn the_target_is_stated_as_reached_only_if_it_is() {
    let mut figures = without_gpu();
    assert_says(&text(&figures, Section::Training), &["The homework's target of 95.00 % is reached from every seed."]);
    figures.training.runs[0].test_accuracy = 0.949;
    assert_says(
        &text(&figures, Section::Training),
        &["reached from 4 of 5 seeds", "94.90 % to 96.90 % of the 10,000 test images of MNIST"],
    );
    for run in &mut figures.training.runs {
        run.test_accuracy = 0.5;
    }
    assert_says(&text(&figures, Section::Training), &["The homework's target of 95.00 % is not reached."]);
    figures.training.is_mnist = false;
    let said = text(&figures, Section::Training);
    assert_says(&said, &["MNIST was not found, and these are other images"]);
    assert!(!said.contains("is reached"), "{said}");
    figures.training.runs.clear();
    assert_says(&text(&figures, Section::Training), &["No network was trained."]);
}

#[test]
fn a_gpus_speed_ups_are_stated_only_if_measured() {
    let figures = without_gpu();
    assert_says(&text(&figures, Section::MaximumGpu), &["No GPU times are stated", "are therefore not stated"]);
    assert_says(&text(&figures, Section::Abstract), &["No GPU was available"]);

    let figures = with_recorded_gpu();
    let said = text(&figures, Section::MaximumGpu);
    assert_says(
        &said,
        &[
            "recorded on another machine with the GPU Test GPU 1",
            "max_gpu/max_numba is not stated: Numba was not measured on the GPU's machine",
        ],
    );

    let mut figures = with_recorded_gpu();
    if let Gpu::Recorded { run, .. } = &mut figures.gpu {
        run.product = None;
        let reason = "killed at its time limit, after 60 s".to_owned();
        run.failed.push(FailedProgram { program: "matmul_functions".to_owned(), reason });
    }
    assert_says(
        &text(&figures, Section::MaximumGpu),
        &["Not shown, because they failed there: matmul_functions (killed at its time limit, after 60 s)."],
    );

    let mut figures = with_measured_gpu();
    assert_says(
        &text(&figures, Section::MaximumGpu),
        &["The speed-up max_gpu/interpreted Python by the medians is 70,000"],
    );
    figures.peers.times.clear();
    let said = text(&figures, Section::MaximumGpu);
    assert_says(
        &said,
        &["max_gpu/max_numba is not stated: Numba was not measured; the speed-up over max_rayon replaces it"],
    );
    assert!(!said.contains("interpreted Python"), "{said}");

    let Gpu::Measured(run) = &mut figures.gpu else { panic!() };
    (run.maximum, run.product, run.activation) = (None, None, None);
    assert_says(&text(&figures, Section::MaximumGpu), &["The maximum was not measured there."]);
    assert_says(&text(&figures, Section::ProductGpu), &["No rung was timed there."]);
    assert_says(&text(&figures, Section::ActivationGpu), &["The activation was not timed there."]);
}

#[test]
fn counts_are_called_counts() {
    let mut figures = without_gpu();
    let said = text(&figures, Section::ProductGpu);
    assert_says(&said, &["100,000,000 for rung 5 (wide, buffered), 15.0 times fewer; these are counts, not times"]);
    // 784 · 785 / 2 · 128 / 32 of 48.4 and of 3.23 million.
    assert_says(&said, &["3 % are multiply-adds that the result needs in rung 1 (naive), and 38 % in rung 5"]);
    figures.counts = Counts::Missing("the PTX is not understood".to_owned());
    assert_says(&text(&figures, Section::ProductGpu), &["instructions were not counted: the PTX is not understood."]);
}

#[test]
fn missing_measurements_are_stated() {
    let mut figures = without_gpu();
    figures.maximum.rayon.clear();
    figures.product.rayon = vec![OnThreads { threads: 1, times: around(600e-6) }];
    figures.activation.fused.clear();
    figures.peers = Default::default();
    assert_says(&text(&figures, Section::Maximum), &["max_rayon was not measured."]);
    assert_says(&text(&figures, Section::MaximumCores), &["Scaling with threads was not measured."]);
    assert_says(&text(&figures, Section::Activation), &["one pass was not measured."]);
    assert!(text(&figures, Section::Product).contains("matmul_transpose_rayon (1 thread)"));
}
