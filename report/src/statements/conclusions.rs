//! The abstract and the conclusions.

use super::cores::{Demand, MAX_SHARE, share_of_roof};
use super::{Statement, Verdict, compare, comparison, gpu, noise, on_all_cores, training};
use crate::figures::{Exercise, Figures, OnThreads, Roofs};
use crate::timed::{self, MATMUL_RAYON, MAX_RAYON, ONE_PASS, THREE_PASSES, Table, Timed, on_threads};
use crate::words::{counted, percent, significant, threads};

/// The abstract.
pub(super) fn summary(figures: &Figures) -> Vec<Statement> {
    let Figures { machine, maximum, product, .. } = figures;
    let mut sentences = vec![
        format!("Measured on {} with {}.", processor_name(&machine.processor), counted(machine.cores, "core")).into(),
    ];
    let cpu = Timed::new("max_cpu", maximum.cpu);
    if let Some(on) = on_all_cores(&maximum.rayon, machine.cores) {
        sentences.push(comparison(Table::Maximum, &on_threads(MAX_RAYON, on, machine.cores), [&cpu]));
    }
    let trivial = Timed::new("matmul_transpose_trivial", product.trivial);
    if let Some(on) = on_all_cores(&product.rayon, machine.cores) {
        sentences.push(comparison(Table::Product, &on_threads(MATMUL_RAYON, on, machine.cores), [&trivial]));
    }
    sentences.push(training::result(&figures.training));
    sentences.push(gpu::in_short(figures));
    sentences.extend(noise(figures).map(Statement::from));
    sentences
}

/// The processor's name, or a description if it has none.
fn processor_name(processor: &str) -> String {
    if processor.is_empty() { "a processor of unknown name".to_owned() } else { processor.to_owned() }
}

/// The conclusions, one item per statement.
pub(super) fn conclusions(figures: &Figures) -> Vec<Statement> {
    let Figures { maximum, product, activation, .. } = figures;
    let cores = figures.machine.cores;
    let gains = [
        code_and_threads(MAX_RAYON, &maximum.rayon, &Timed::new("max_cpu", maximum.cpu), cores),
        code_and_threads(MATMUL_RAYON, &product.rayon, &Timed::new("matmul_transpose_trivial", product.trivial), cores),
        code_and_threads(
            "the activation in one pass",
            &activation.fused,
            &Timed::new("one loop per step", activation.cpu),
            cores,
        ),
    ];
    let mut items: Vec<Statement> = gains.into_iter().flatten().map(Statement::from).collect();
    items.extend(roofs(figures).map(Statement::from));
    items.extend(fastest_peers(figures));
    items.push(oversubscription(figures).into());
    if let (Some(fused), Some(passes)) =
        (on_all_cores(&activation.fused, cores), on_all_cores(&activation.three_passes, cores))
    {
        let [fused, passes] = [(ONE_PASS, fused), (THREE_PASSES, passes)].map(|(name, on)| on_threads(name, on, cores));
        let mut item = comparison(Table::Activation, &fused, [&passes]);
        item.text.push_str(" One pass moves 3 floats per value, three passes move 7.");
        items.push(item);
    }
    items.push(training::conclusion(&figures.training).into());
    items.extend(gpu::conclusions(figures));
    items
}

/// The gain over the loops from the code on one thread, and from threads. `None` if nothing was measured.
fn code_and_threads(name: &str, ladder: &[OnThreads], loops: &Timed, cores: usize) -> Option<String> {
    let (one, all) = (ladder.first()?, on_all_cores(ladder, cores)?);
    let code = match compare(&one.times, &loops.times) {
        Verdict::Faster(factor) => format!("gains a factor of {} over {}", significant(factor), loops.label),
        Verdict::Slower(factor) => format!("takes {} times the time of {}", significant(factor), loops.label),
        Verdict::NoClearDifference => format!("does not clearly differ from {}", loops.label),
    };
    let mut text = format!("On one thread {name} {code}");
    if all.threads > one.threads {
        let n = threads(all.threads);
        text.push_str(&match compare(&all.times, &one.times) {
            Verdict::Faster(factor) => format!("; {n} gain a further factor of {}", significant(factor)),
            Verdict::Slower(factor) => format!("; {n} take {} times as long as one", significant(factor)),
            Verdict::NoClearDifference => format!("; {n} do not clearly differ from one"),
        });
    }
    Some(text + ".")
}

/// The parallel maximum and product on all cores, each compared with the fastest peer.
fn fastest_peers(figures: &Figures) -> Vec<Statement> {
    let cores = figures.machine.cores;
    let versions = [
        (Table::Maximum, MAX_RAYON, &figures.maximum.rayon, Exercise::Maximum),
        (Table::Product, MATMUL_RAYON, &figures.product.rayon, Exercise::Product),
    ];
    let compared = versions.into_iter().filter_map(|(table, name, ladder, exercise)| {
        let fastest = figures.peers.of(exercise).min_by(|a, b| a.times.median.total_cmp(&b.times.median))?;
        Some(comparison(table, &on_threads(name, on_all_cores(ladder, cores)?, cores), [&timed::peer(fastest)]))
    });
    compared.collect()
}

/// The fractions of the roofs that the maximum and the product reach.
fn roofs(figures: &Figures) -> Option<String> {
    let cores = figures.machine.cores;
    let share = |ladder: &[OnThreads], demand| {
        let on = on_all_cores(ladder, cores)?;
        let at: &Roofs = figures.roofs.iter().find(|roofs| roofs.threads == on.threads)?;
        let share = share_of_roof(on, at, demand);
        (share <= MAX_SHARE).then(|| (threads(on.threads), share))
    };
    let (n, memory) = share(&figures.maximum.rayon, Demand::Memory(figures.maximum.operand_bytes()))?;
    let (_, arithmetic) = share(&figures.product.rayon, Demand::Arithmetic(figures.product.operations()))?;
    Some(format!(
        "On {n} the maximum reaches {} of the memory roof and X·Xᵀ {} of the compute roof: at the roofs they would be {} and {} times \
         as fast.",
        percent(memory),
        percent(arithmetic),
        significant(1.0 / memory.min(1.0)),
        significant(1.0 / arithmetic.min(1.0))
    ))
}

/// The effect on both exercises of using more threads than cores.
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
                "Over-subscribed, with {more} on {available}, the maximum {} and X·Xᵀ {}, compared with one thread per core.",
                words(a),
                words(b)
            )
        }
        _ => format!("The effect of more threads than the {available} was not measured."),
    }
}
