//! Parts 3 and 4: correlations and filters.

use crate::assignment2::filtered::Filtered;
use crate::assignment2::{Figures, KernelTimes};
use crate::questions::{CaptionedListing, CaptionedPictures, CaptionedTable, Question, text};
use crate::tables::FormattedTable;
use crate::timed::Timed;
use crate::words::{grouped, listed, percent, seconds, significant, threads, threads_on};

use super::{cells, compared};

fn listing(name: &'static str, caption: &str) -> CaptionedListing {
    CaptionedListing { name, caption: caption.to_owned() }
}

pub(super) fn on_the_processor() -> Question {
    let question = text(
        "How does the correlation on the processor work?",
        [
            "correlation_trivial is the definition as four loops: for every pixel of the result and every coefficient of the kernel, the coefficient \
             times the pixel below it, 0 outside the image. correlation_rayon is in the place of correlation_numba. Bands of rows are distributed to \
             threads. A tile of four rows and a few vectors of sums stays in registers: a row of the image that is read serves all sums that it \
             belongs to, and a vector instruction multiplies and adds up to 16 neighbours."
                .to_owned(),
            "Borders are apart: columns whose window reaches over an edge are computed from copies between zeros, so the interior has no check for a \
             pixel. A kernel that is a column times a row, as Sobel’s and Scharr’s, is applied in two passes: R + C multiply-adds for a pixel \
             instead of R · C."
                .to_owned(),
        ],
    );
    Question {
        listings: vec![
            listing("correlation_trivial", "The definition."),
            listing("correlation_rayon", "The bands of rows; correlate computes one of them."),
        ],
        ..question
    }
}

pub(super) fn on_the_gpu(figures: &Figures) -> Question {
    let checked = &figures.made.checked_on;
    let question = text(
        "How does the correlation on the GPU work?",
        [
            "A block of 256 threads takes a tile of the image. Its threads copy the tile, with a halo as wide as the kernel reaches, and the coefficients \
             to shared memory, with zeros outside the image, and meet at a barrier. Then a thread computes eight pixels below each other: a window of \
             pixels in registers moves down a column of coefficients, so two values that are read from shared memory serve eight \
             multiply-adds. Kernels larger than 16 × 16 are taken in slabs."
                .to_owned(),
            format!("Every result was checked against the sums in double precision; the GPU version's result on: {checked}."),
        ],
    );
    Question {
        listings: vec![listing(
            "correlation_naive",
            "The naive kernel, rung 1 of the ladder: a thread computes a pixel.",
        )],
        ..question
    }
}

/// "3 × 3".
fn square(size: usize) -> String {
    format!("{size} × {size}")
}

/// The versions with a kernel, starting with the trivial one.
fn versions(figures: &Figures, kernel: &KernelTimes) -> Vec<Timed> {
    let cores = figures.machine.cores;
    let mut rows = vec![Timed::new("correlation_trivial", kernel.trivial)];
    let rayon = |on: &crate::figures::OnThreads| {
        Timed::new(format!("correlation_rayon ({})", threads_on(on.threads, cores)), on.times)
    };
    rows.extend(kernel.rayon.iter().map(rayon));
    if let Some([alone, copies]) = kernel.gpu {
        rows.push(Timed::new("correlation_gpu (kernel alone)", alone));
        rows.push(Timed::new("correlation_gpu (with copies)", copies));
    }
    rows.extend(peers_of(figures, kernel.size));
    rows
}

/// The peers with a kernel.
fn peers_of(figures: &Figures, size: usize) -> impl Iterator<Item = Timed> {
    let end = format!(", {}", square(size));
    figures.peers.times.iter().filter_map(move |peer| {
        let label = peer.label.strip_suffix(&end)?;
        Some(Timed::new(format!("{label} ({})", threads(peer.threads)), peer.times))
    })
}

pub(super) fn speedups(figures: &Figures) -> Question {
    let mut table =
        FormattedTable::new(["kernel", "version", "fastest", "median", "interquartile range", "n", "speed-up"]);
    let mut sentences = Vec::new();
    for kernel in figures.correlation.kernels.iter().filter(|kernel| kernel.size <= 7) {
        let rows = versions(figures, kernel);
        for (index, row) in rows.iter().enumerate() {
            let [fastest, median, range, n] = cells(&row.times);
            let name = if index == 0 { square(kernel.size) } else { String::new() };
            let speedup = significant(kernel.trivial.median / row.times.median);
            table.push([name, row.label.clone(), fastest, median, range, n, speedup]);
        }
        let Some(one) = kernel.rayon.first() else { continue };
        let mut objects = vec![format!("{} correlation_trivial", compared(&one.times, &kernel.trivial))];
        objects.extend(
            peers_of(figures, kernel.size).map(|peer| format!("{} {}", compared(&one.times, &peer.times), peer.label)),
        );
        sentences.push(format!(
            "With {} correlation_rayon on {} takes {}: {}.",
            square(kernel.size),
            threads(one.threads),
            seconds(one.times.median),
            listed(&objects)
        ));
        if let Some(most) = kernel.rayon.last().filter(|most| most.threads > one.threads) {
            sentences.push(format!("On {} it is {} on one.", threads(most.threads), compared(&most.times, &one.times)));
        }
        if let Some([alone, copies]) = &kernel.gpu {
            sentences.push(format!(
                "The GPU’s kernel alone takes {}, {} correlation_trivial; with copies {}, {} it.",
                seconds(alone.median),
                compared(alone, &kernel.trivial),
                seconds(copies.median),
                compared(copies, &kernel.trivial),
            ));
        }
    }
    let mut paragraphs = vec![sentences.join(" ")];
    if figures.correlation.kernels.iter().all(|kernel| kernel.gpu.is_none()) {
        paragraphs.push(format!("No GPU times are stated, since none were measured: {}.", figures.machine.gpu));
    }
    if !figures.peers.missing.is_empty() {
        paragraphs.push(format!("{}.", figures.peers.missing.join(". ")));
    }
    let [rows, columns] = figures.correlation.size;
    Question {
        table: Some(CaptionedTable {
            name: "speedups",
            caption: format!(
                "Correlation of {rows} × {columns} values in single precision with kernels of random coefficients; the speed-up is over \
                 correlation_trivial by the medians. Our versions took turns, {} rounds.",
                figures.made.rounds
            ),
            table,
        }),
        ..text("What are the speed-ups?", paragraphs)
    }
}

pub(super) fn larger_kernels(figures: &Figures) -> Question {
    let mut table = FormattedTable::new([
        "kernel",
        "coefficients",
        "trivial",
        "for each coefficient",
        "rayon, one thread",
        "for each coefficient",
        "speed-up",
    ]);
    let kernels = &figures.correlation.kernels;
    let of = |kernel: &KernelTimes| kernel.rayon.first().map(|on| on.times.median);
    for kernel in kernels {
        let Some(rayon) = of(kernel) else { continue };
        let count = (kernel.size.max(1) as f64).powi(2);
        table.push([
            square(kernel.size),
            grouped(count),
            seconds(kernel.trivial.median),
            seconds(kernel.trivial.median / count),
            seconds(rayon),
            seconds(rayon / count),
            significant(kernel.trivial.median / rayon),
        ]);
    }
    let mut paragraphs = vec![
        "The work is R · C multiply-adds for a pixel, while the image that is read and the result that is written stay the same: the time of the loops \
         grows with the number of coefficients, and more is computed for each byte."
            .to_owned(),
    ];
    if let Some((small, large)) = kernels.first().zip(kernels.last()).filter(|(small, large)| small.size < large.size)
        && let Some((small_rayon, large_rayon)) = of(small).zip(of(large))
    {
        let coefficients = (large.size as f64 / small.size as f64).powi(2);
        paragraphs.push(format!(
            "From {} to {} there are {} times as many coefficients; correlation_trivial takes {} times as long, correlation_rayon on one thread {} \
             times, and its speed-up goes from {} to {}.",
            square(small.size),
            square(large.size),
            significant(coefficients),
            significant(large.trivial.median / small.trivial.median),
            significant(large_rayon / small_rayon),
            significant(small.trivial.median / small_rayon),
            significant(large.trivial.median / large_rayon),
        ));
    }
    if let Some(five) = kernels.iter().find(|kernel| kernel.size == 5)
        && let Some(one) = five.rayon.first()
    {
        let separable = &figures.correlation.separable;
        paragraphs.push(format!(
            "A separable kernel of 5 × 5 has 10 multiply-adds instead of 25: correlation_rayon takes {} for it, {} one of 5 × 5 random coefficients at {}.",
            seconds(separable.median),
            compared(separable, &one.times),
            seconds(one.times.median),
        ));
    }
    Question {
        table: Some(CaptionedTable {
            name: "sizes",
            caption: "Times by size of the kernel, medians.".to_owned(),
            table,
        }),
        ..text("What happens with a larger kernel?", paragraphs)
    }
}

pub(super) fn pictures(filtered: &[Filtered]) -> Question {
    let mut table =
        FormattedTable::new(["filter", "size", "positive coefficients", "mean", "largest", "above half of it"]);
    for result in filtered {
        let (mean, largest) = result.mean_and_largest();
        let size = result.filter.map_or("–".to_owned(), |filter| {
            let (rows, columns) = filter.kernel().dim();
            format!("{rows} × {columns}")
        });
        table.push([
            result.name().to_owned(),
            size,
            if result.filter.is_some() { format!("sum {}", result.gain()) } else { "–".to_owned() },
            significant(mean.into()),
            significant(largest.into()),
            percent(result.share_of_bright()),
        ]);
    }
    let names = filtered.iter().map(Filtered::name).collect();
    Question {
        table: Some(CaptionedTable {
            name: "filters",
            caption: "The filters’ results on the drawing, with gray values from 0 to 255.".to_owned(),
            table,
        }),
        listings: vec![listing("sobel_operator", "The strength of edges.")],
        pictures: Some(CaptionedPictures {
            names,
            caption: "The drawing, the strength of its edges by each filter, and the sums of the eight neighbours. White is the largest value of each \
                      picture."
                .to_owned(),
        }),
        ..text(
            "What do the filters make of the image?",
            ["sobel_operator is the root of Gx² + Gy², where Gx is the correlation with the filter and Gy with its transpose. The image is a drawing that \
              the program makes; filters --image FILE takes any other."
                .to_owned()],
        )
    }
}

pub(super) fn why_they_differ(filtered: &[Filtered]) -> Question {
    let bright =
        |name: &str| filtered.iter().find(|result| result.name() == name).map_or(0.0, Filtered::share_of_bright);
    let edges = filtered.iter().filter(|result| result.filter.is_some() && result.name() != "neighbours");
    let gains: Vec<String> = edges.map(|result| format!("{} by {}", result.gain(), result.name())).collect();
    text(
        "Why do their images differ?",
        [
            "The coefficients of the four edge filters have the sum 0: where the brightness is constant the result is 0, black. They subtract the columns \
             on the right from those on the left, and add up along the other direction, which averages noise."
                .to_owned(),
            format!(
                "They differ by the weights. An edge from 0 to 1 gives the sum of the positive coefficients: {}; the pictures, scaled to their largest \
                 values, hide that. Scharr’s weights 3, 10, 3 rely more on the middle row than Sobel’s 1, 2, 1, so a slanted edge has nearly the \
                 strength of an upright one. Five rows average over more pixels along the edge: less noise, rounded corners.",
                listed(&gains)
            ),
            format!(
                "The 5 × 5 filter compares columns that are four apart, with zeros between: an edge answers in four columns instead of two, and lines \
                 become pairs of broad ones. {} of its pixels are above half of the largest value, {} of Sobel’s.",
                percent(bright("sobel_5x5")),
                percent(bright("sobel")),
            ),
            "The matrix of ones with 0 in the middle has no negative coefficient: it adds up the neighbours. The result is 8 times as bright as the image \
             and blurred; it shows no edges, and its border is darker, since the neighbours outside are 0."
                .to_owned(),
        ],
    )
}
