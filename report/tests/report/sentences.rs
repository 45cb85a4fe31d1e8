//! The figures determine which sentences appear.

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
    // 8 MB in 98 % of 170 µs. The roof is 8 MB in 98 % of 125 µs.
    let said = text(&figures, Section::MaximumCores);
    assert_says(
        &said,
        &[
            "its fastest call reads the operands at 48.0 GB/s, 74 % of the roof of 65.3 GB/s: it is memory-bound; at the \
           roof it would be 1.36 times as fast.",
        ],
    );
    assert_says(
        &said,
        &["The roof itself scales with the threads: when only reading, 2 threads reach 2.00 times the rate of one."],
    );

    figures.roofs[1].reading = around(60e-6);
    assert_says(
        &text(&figures, Section::MaximumCores),
        &["35 % of the roof of 136 GB/s: it is not memory-bound; at the roof it would be 2.83 times as fast."],
    );
    figures.roofs[1].reading = around(20e-6);
    assert_says(
        &text(&figures, Section::MaximumCores),
        &["12 % of the roof of 408 GB/s: it is not memory-bound; at the roof it would be 8.50 times as fast."],
    );

    // A roof below the measured bandwidth is invalid.
    figures.roofs[1].reading = around(500e-6);
    let said = text(&figures, Section::MaximumCores);
    assert_says(&said, &["294 % of the roof of 16.3 GB/s: the roof was measured too low, and no bound is stated."]);
    assert!(!said.contains("memory-bound"), "{said}");
    assert!(!text(&figures, Section::Conclusions).contains("of the memory roof"));

    figures.roofs.clear();
    assert_says(&text(&figures, Section::MaximumCores), &["The roofs of the machine were not measured"]);
}

#[test]
fn a_roof_that_does_not_scale_is_recognised() {
    let mut figures = without_gpu();
    figures.roofs[1].arithmetic = around(2e-3);
    figures.product.rayon = ladder([620e-6, 625e-6, 625e-6, 625e-6]);
    let said = text(&figures, Section::ProductCores);
    assert_says(
        &said,
        &[
            "The roof itself hardly scales: with only multiply-adds, 2 threads reach 1.00 times the rate of one, and no version",
        ],
    );
}

#[test]
fn a_median_far_from_the_fastest_call_is_recognised() {
    let mut figures = without_gpu();
    assert!(!text(&figures, Section::ProductCores).contains("Between the fastest calls"));
    figures.product.rayon[1].times =
        Times { min: 300e-6, median: 610e-6, quartiles: Some([600e-6, 620e-6]), repeats: 100 };
    assert_says(
        &text(&figures, Section::ProductCores),
        &[
            "Between the fastest calls it is 2.03: on 2 threads the median call takes 2.03 times as long as the fastest.",
        ],
    );
}

#[test]
fn oversubscription_is_explained_by_its_times() {
    let mut figures = without_gpu();
    let said = text(&figures, Section::MaximumCores);
    assert_says(
        &said,
        &[
            "max_rayon (8 threads on 2 cores) takes 210.0 µs: 1.24 times as long as max_rayon (2 threads)",
            "With 8 threads the 2 cores are over-subscribed: the threads share them.",
        ],
    );
    assert_says(
        &text(&figures, Section::ProductCores),
        &["no clear difference, by overlapping interquartile ranges, from"],
    );
    assert_says(
        &text(&figures, Section::Conclusions),
        &[
            "Over-subscribed, with 8 threads on 2 cores, the maximum takes 1.24 times as long and X·Xᵀ shows no clear difference, \
             compared with one thread per core.",
        ],
    );

    figures.maximum.rayon = ladder([330e-6, 170e-6, 120e-6, 100e-6]);
    assert_says(
        &text(&figures, Section::MaximumCores),
        &["max_rayon (8 threads on 2 cores) takes 100.0 µs: 1.70 times as fast as max_rayon (2 threads)"],
    );

    figures.machine.cores = 8;
    let said = text(&figures, Section::MaximumCores);
    assert_says(&said, &["The machine has 8 cores, at least one per thread: it was not over-subscribed."]);
    assert_says(
        &text(&figures, Section::Conclusions),
        &["The effect of more threads than the 8 cores was not measured."],
    );
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
    assert_says(&said, &["These images are not MNIST's"]);
    assert!(!said.contains("is reached"), "{said}");
    figures.training.runs.clear();
    assert_says(&text(&figures, Section::Training), &["No network was trained."]);
}

#[test]
fn a_gpus_speed_ups_are_stated_only_if_measured() {
    let figures = without_gpu();
    assert_says(&text(&figures, Section::MaximumGpu), &["No GPU times are stated", "are therefore not stated"]);
    assert!(!text(&figures, Section::MaximumGpu).contains("rule"), "nothing is judged");
    assert_says(&text(&figures, Section::Abstract), &["No GPU was available"]);

    let figures = with_recorded_gpu();
    let said = text(&figures, Section::MaximumGpu);
    assert_says(
        &said,
        &[
            "recorded on another machine with the GPU Test GPU 1",
            "max_gpu/max_numba is not stated: Numba was not measured on the GPU's machine",
            "The homework's rule: max_gpu (kernel alone) must be at least 40 times as fast as two plain loops on one core of the CPU: \
             met, 840.0 times.",
            "The homework's rule: max_gpu (with copies) must be at least 40 times as fast as two plain loops on one core of the CPU: \
             not met, 1.680 times.",
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
    // 784 · 785 / 2 · 128 / 32, relative to 48.4 million and to 3.23 million.
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

#[test]
fn a_serial_fraction_is_stated_only_between_0_and_1() {
    let mut figures = without_gpu();
    assert_says(
        &text(&figures, Section::ProductCores),
        &["is 77 % of the ideal 2; the Karp-Flatt serial fraction is 0.290."],
    );
    figures.product.rayon = ladder([620e-6, 700e-6, 700e-6, 700e-6]);
    let said = text(&figures, Section::ProductCores);
    assert_says(&said, &["is 44 % of the ideal 2: more threads were slower, and there is no serial fraction."]);
    figures.product.rayon = ladder([620e-6, 300e-6, 700e-6, 700e-6]);
    assert_says(&text(&figures, Section::ProductCores), &["The speed-up of 2.07 is 103 % of the ideal 2. "]);
}

#[test]
fn more_threads_than_cores_are_marked_and_have_no_serial_fraction() {
    let document = report::document::document(&without_gpu(), None, &[]).unwrap();
    let column = |table: &str, index: usize| -> Vec<String> {
        let rows = document.value["tables"][table]["rows"].as_array().unwrap();
        rows.iter().map(|row| row[index].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(column("threads", 0), ["1", "2", "4 (over-subscribed)", "8 (over-subscribed)"]);
    assert_eq!(column("threads", 2), ["–", "0.030", "–", "–"]);
    let rows = ["1 thread", "2 threads", "4 threads on 2 cores", "8 threads on 2 cores"];
    assert_eq!(column("roofs", 0), rows);
    assert_eq!(column("maximum", 0)[1..5], rows.map(|threads| format!("max_rayon ({threads})")));
}

#[test]
fn a_noisy_machine_is_stated_in_one_sentence() {
    let mut figures = without_gpu();
    assert_eq!(statements::noise(&figures), None);
    // More threads than cores disturb each other, so their spread says nothing about the machine.
    let wide = |times: Times| Times {
        quartiles: Some([0.9 * times.median, 1.3 * times.median]),
        min: 0.5 * times.median,
        ..times
    };
    for on in figures.maximum.rayon.iter_mut().chain(&mut figures.product.rayon).filter(|on| on.threads > 2) {
        on.times = wide(on.times);
    }
    assert_eq!(statements::noise(&figures), None);
    for times in [&mut figures.maximum.cpu, &mut figures.product.trivial, &mut figures.product.rayon[1].times] {
        *times = wide(*times);
    }
    let noise = "The machine was noisy: in 3 of 11 measurements on at most one thread per core the interquartile range exceeds 15 % of the \
                 median, and in one it is 40 %.";
    assert_eq!(statements::noise(&figures).as_deref(), Some(noise));
    assert!(text(&figures, Section::Abstract).ends_with(noise));
}

#[test]
fn conclusions_follow_from_the_figures() {
    let mut figures = with_recorded_gpu();
    let said = text(&figures, Section::Conclusions);
    let expected = [
        "On one thread max_rayon gains a factor of 12.1 over max_cpu; 2 threads gain a further factor of 1.94.",
        "On one thread matmul_transpose_rayon gains a factor of 516 over matmul_transpose_trivial; 2 threads gain a further factor of 1.55.",
        "On 2 threads the maximum reaches 74 % of the memory roof and X·Xᵀ 62 % of the compute roof: at the roofs they would be 1.36 and \
         1.62 times as fast.",
        "max_rayon (2 threads) takes 170.0 µs: 1.24 times as fast as Numba parallel (2 threads) at 210.0 µs.",
        "One pass moves 3 floats per value, three passes move 7.",
        "The homework's target of 95.00 % is reached from every seed.",
        "A step on 2 threads has a speed-up of 1.49, and waits 7 % of its time at the barrier.",
        "On the Test GPU 1, recorded on 2026-10-01: max_gpu (kernel alone) takes 5.000 µs: 12.0 times as fast as max_rayon (16 threads)",
        "max_gpu (with copies) takes 2.500 ms: 41.7 times as long as max_rayon (16 threads)",
    ];
    assert_says(&said, &expected);
    figures.maximum.rayon = ladder([8e-3, 8e-3, 8e-3, 8e-3]);
    figures.gpu = without_gpu().gpu;
    let said = text(&figures, Section::Conclusions);
    assert_says(
        &said,
        &[
            "On one thread max_rayon takes 2.00 times the time of max_cpu; 2 threads do not clearly differ from one.",
            "the result needs 3 % in rung 1 (naive) and 38 % in rung 5 (wide, buffered).",
        ],
    );
}
