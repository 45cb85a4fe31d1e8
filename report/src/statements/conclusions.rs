//! The abstract and what follows from it all.

use super::cores::{BEYOND, Need, share_of_ceiling};
use super::{Statement, Verdict, compare, comparison, gpu, on_all_cores, training};
use crate::figures::{Ceiling, Figures, OnThreads};
use crate::timed::{MATMUL_RAYON, MAX_RAYON, ONE_PASS, THREE_PASSES, Table, Timed, on_threads};
use crate::words::{counted, listed, percent, significant, threads};

/// The abstract.
pub(super) fn summary(figures: &Figures) -> Vec<Statement> {
    let Figures { machine, maximum, product, .. } = figures;
    let mut sentences =
        vec![format!("Measured on {} with {}.", article(&machine.processor), counted(machine.cores, "core")).into()];
    let cpu = Timed::new("max_cpu", maximum.cpu);
    if let Some(on) = on_all_cores(&maximum.rayon, machine.cores) {
        sentences.push(comparison(Table::Maximum, &on_threads(MAX_RAYON, on), [&cpu]));
    }
    let trivial = Timed::new("matmul_transpose_trivial", product.trivial);
    if let Some(on) = on_all_cores(&product.rayon, machine.cores) {
        sentences.push(comparison(Table::Product, &on_threads(MATMUL_RAYON, on), [&trivial]));
    }
    sentences.push(training::result(&figures.training));
    sentences.push(gpu::in_short(figures));
    sentences
}

/// The processor's name, or a word for it.
fn article(processor: &str) -> String {
    if processor.is_empty() { "a processor that does not tell its name".to_owned() } else { processor.to_owned() }
}

/// The last section: one item each.
pub(super) fn conclusions(figures: &Figures) -> Vec<Statement> {
    let cores = figures.machine.cores;
    let mut items = vec![threads_help(figures).into()];
    items.extend(roofs(figures).map(Statement::from));
    items.push(oversubscription(figures).into());
    if let (Some(fused), Some(passes)) =
        (on_all_cores(&figures.activation.fused, cores), on_all_cores(&figures.activation.three_passes, cores))
    {
        let mut item = comparison(Table::Activation, &on_threads(ONE_PASS, fused), [&on_threads(THREE_PASSES, passes)]);
        if let Verdict::Faster(_) = compare(&fused.times, &passes.times) {
            item.text.push_str(" What stays in registers need not go through memory.");
        }
        items.push(item);
    }
    items.push(training::result(&figures.training));
    items.push(gpu::in_short(figures));
    items
}

/// What a thread for each core brings to the maximum and the product.
fn threads_help(figures: &Figures) -> String {
    let cores = figures.machine.cores;
    let named = [("the maximum", &figures.maximum.rayon), ("X·Xᵀ", &figures.product.rayon)];
    let gains: Vec<String> = named
        .into_iter()
        .filter_map(|(name, ladder)| {
            let (on, gain) = gpu::best_speedup(ladder, cores)?;
            Some(match compare(&on_all_cores(ladder, cores)?.times, &ladder.first()?.times) {
                Verdict::Faster(_) => format!("{name} becomes {} times as fast on {}", significant(gain), threads(on)),
                Verdict::Slower(factor) => {
                    format!("{name} takes {} times as long on {}", significant(factor), threads(on))
                }
                Verdict::NoClearDifference => format!("{name} does not clearly change on {}", threads(on)),
            })
        })
        .collect();
    match gains.is_empty() {
        true => "With one core, no gain by threads could be measured.".to_owned(),
        false => format!("Beside one thread, {}.", listed(&gains)),
    }
}

/// How near each exercise is to what the machine does at most.
fn roofs(figures: &Figures) -> Option<String> {
    let cores = figures.machine.cores;
    let share = |ladder: &[OnThreads], need| {
        let on = on_all_cores(ladder, cores)?;
        let at: &Ceiling = figures.ceiling.iter().find(|ceiling| ceiling.threads == on.threads)?;
        let share = share_of_ceiling(on, at, need);
        (share <= BEYOND).then(|| (threads(on.threads), percent(share)))
    };
    let (n, memory) = share(&figures.maximum.rayon, Need::Memory(figures.maximum.operand_bytes()))?;
    let (_, arithmetic) = share(&figures.product.rayon, Need::Arithmetic(figures.product.operations()))?;
    Some(format!(
        "On {n} the maximum reaches {memory} of the roof of memory, and X·Xᵀ {arithmetic} of the roof of arithmetic: the rest is what is \
         left to gain on this processor."
    ))
}

/// What threads without a core of their own do, over both exercises.
fn oversubscription(figures: &Figures) -> String {
    let cores = figures.machine.cores;
    let verdict = |ladder: &[OnThreads]| {
        let most = ladder.iter().filter(|on| on.threads > cores).max_by_key(|on| on.threads)?;
        Some((most.threads, compare(&most.times, &on_all_cores(ladder, cores)?.times)))
    };
    let available = counted(cores, "core");
    match (verdict(&figures.maximum.rayon), verdict(&figures.product.rayon)) {
        (Some((n, a)), Some((_, b))) => {
            let words = |verdict| match verdict {
                Verdict::Faster(factor) => format!("{} times as fast", significant(factor)),
                Verdict::Slower(factor) => format!("{} times as long", significant(factor)),
                Verdict::NoClearDifference => "without a clear difference".to_owned(),
            };
            let more = threads(n);
            format!(
                "More threads than cores do no more work at once: beside one thread for each of {available}, {more} do the maximum {} \
                 and X·Xᵀ {}.",
                words(a),
                words(b)
            )
        }
        _ => format!("More threads than the {available} were not measured."),
    }
}
