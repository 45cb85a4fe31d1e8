//! The abstract and the conclusions.

use super::cores::{Demand, MAX_SHARE, share_of_roof};
use super::{Statement, Verdict, compare, comparison, gpu, on_all_cores, training};
use crate::figures::{Figures, OnThreads, Roofs};
use crate::timed::{MATMUL_RAYON, MAX_RAYON, ONE_PASS, THREE_PASSES, Table, Timed, on_threads};
use crate::words::{counted, listed, percent, significant, threads};

/// The abstract.
pub(super) fn summary(figures: &Figures) -> Vec<Statement> {
    let Figures { machine, maximum, product, .. } = figures;
    let mut sentences = vec![
        format!("Measured on {} with {}.", processor_name(&machine.processor), counted(machine.cores, "core")).into(),
    ];
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

/// The processor's name, or a description without one.
fn processor_name(processor: &str) -> String {
    if processor.is_empty() { "a processor of unknown name".to_owned() } else { processor.to_owned() }
}

/// The last section, one item per statement.
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
            item.text.push_str(" Fusion keeps intermediates in registers instead of memory.");
        }
        items.push(item);
    }
    items.push(training::result(&figures.training));
    items.push(gpu::in_short(figures));
    items
}

/// The speed-up of the maximum and the product with one thread per core.
fn threads_help(figures: &Figures) -> String {
    let cores = figures.machine.cores;
    let named = [("the maximum", &figures.maximum.rayon), ("X·Xᵀ", &figures.product.rayon)];
    let gains: Vec<String> = named
        .into_iter()
        .filter_map(|(name, ladder)| {
            let (on, gain) = gpu::best_speedup(ladder, cores)?;
            Some(match compare(&on_all_cores(ladder, cores)?.times, &ladder.first()?.times) {
                Verdict::Faster(_) => format!("{name} is {} times as fast on {}", significant(gain), threads(on)),
                Verdict::Slower(factor) => {
                    format!("{name} takes {} times as long on {}", significant(factor), threads(on))
                }
                Verdict::NoClearDifference => format!("{name} does not clearly change on {}", threads(on)),
            })
        })
        .collect();
    match gains.is_empty() {
        true => "With one core, no gain by threads could be measured.".to_owned(),
        false => format!("Compared with one thread, {}.", listed(&gains)),
    }
}

/// The shares of the roofs that the maximum and the product reach.
fn roofs(figures: &Figures) -> Option<String> {
    let cores = figures.machine.cores;
    let share = |ladder: &[OnThreads], demand| {
        let on = on_all_cores(ladder, cores)?;
        let at: &Roofs = figures.roofs.iter().find(|roofs| roofs.threads == on.threads)?;
        let share = share_of_roof(on, at, demand);
        (share <= MAX_SHARE).then(|| (threads(on.threads), percent(share)))
    };
    let (n, memory) = share(&figures.maximum.rayon, Demand::Memory(figures.maximum.operand_bytes()))?;
    let (_, arithmetic) = share(&figures.product.rayon, Demand::Arithmetic(figures.product.operations()))?;
    Some(format!(
        "On {n} the maximum reaches {memory} of the memory roof and X·Xᵀ {arithmetic} of the compute roof; the rest is the headroom \
         on this processor."
    ))
}

/// The effect of more threads than cores on both exercises.
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
                Verdict::Faster(factor) => format!("is {} times as fast", significant(factor)),
                Verdict::Slower(factor) => format!("takes {} times as long", significant(factor)),
                Verdict::NoClearDifference => "shows no clear difference".to_owned(),
            };
            let more = threads(n);
            format!(
                "More threads than cores add no parallelism: compared with one thread per core ({available}), on {more} the maximum {} \
                 and X·Xᵀ {}.",
                words(a),
                words(b)
            )
        }
        _ => format!("Oversubscription of the {available} was not measured."),
    }
}
