//! Sentences derived from the figures. Every statement about two times uses one function, [`compare`].

mod activation;
mod conclusions;
pub(crate) mod cores;
mod gpu;
mod maximum;
mod noise;
mod product;
mod training;

pub(crate) use self::gpu::needed_share;
pub use self::noise::noise;
pub(crate) use self::noise::noise_of;
pub(crate) use self::training::seeds;
use crate::figures::{Exercise, Figures, OnThreads};
use crate::timed::{self, Table, Timed, on_threads};
use crate::{Times, words};

/// The result of comparing a subject's times with an object's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// The subject is faster, by this ratio of the medians (greater than 1).
    Faster(f64),
    /// The subject takes longer, by this ratio of the medians (greater than 1).
    Slower(f64),
    /// The intervals overlap, or the medians differ by less than [`MIN_DIFFERENCE`].
    NoClearDifference,
}

/// Minimum relative difference between two medians that counts as a difference, whatever the spread.
pub const MIN_DIFFERENCE: f64 = 0.02;

/// Compares `subject` with `object`. It is faster or slower only if their intervals ([`Times::interval`]) are disjoint.
pub fn compare(subject: &Times, object: &Times) -> Verdict {
    let ([lower, upper], [other_lower, other_upper]) = (subject.interval(), object.interval());
    let factor = object.median / subject.median;
    if upper < other_lower && factor > 1.0 + MIN_DIFFERENCE {
        Verdict::Faster(factor)
    } else if other_upper < lower && 1.0 / factor > 1.0 + MIN_DIFFERENCE {
        Verdict::Slower(1.0 / factor)
    } else {
        Verdict::NoClearDifference
    }
}

/// A sentence, with the comparisons that it states.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The sentence.
    pub text: String,
    /// The comparisons that it states.
    pub comparisons: Vec<Comparison>,
}

/// A comparison of two rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The table.
    pub table: Table,
    /// Label of the row that the sentence is about.
    pub subject: String,
    /// Label of the row that it is compared with.
    pub object: String,
    /// The result.
    pub verdict: Verdict,
}

impl From<String> for Statement {
    fn from(text: String) -> Self {
        Self { text, comparisons: Vec::new() }
    }
}

impl From<&str> for Statement {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// The sentence that compares a row of a table with other rows.
fn comparison<'a>(table: Table, subject: &Timed, objects: impl IntoIterator<Item = &'a Timed>) -> Statement {
    let (mut results, mut comparisons) = (Vec::new(), Vec::new());
    for object in objects {
        let verdict = compare(&subject.times, &object.times);
        results.push(format!(
            "{} {} at {}",
            result(verdict, &subject.times, &object.times),
            object.label,
            words::seconds(object.times.median)
        ));
        let (subject, object) = (subject.label.clone(), object.label.clone());
        comparisons.push(Comparison { table, subject, object, verdict });
    }
    let takes = format!("{} takes {}", words::capitalised(&subject.label), words::seconds(subject.times.median));
    let text = if results.is_empty() { format!("{takes}.") } else { format!("{takes}: {}.", words::listed(&results)) };
    Statement { text, comparisons }
}

/// The verdict in words, without the object's name.
pub(crate) fn result(verdict: Verdict, subject: &Times, object: &Times) -> String {
    match verdict {
        Verdict::Faster(factor) => format!("{} times as fast as", words::significant(factor)),
        Verdict::Slower(factor) => format!("{} times as long as", words::significant(factor)),
        Verdict::NoClearDifference if overlap(subject, object) => {
            "no clear difference, by overlapping interquartile ranges, from".to_owned()
        }
        Verdict::NoClearDifference => {
            format!("no clear difference, less than {}, from", words::percent(MIN_DIFFERENCE))
        }
    }
}

/// Compares our version on one thread and on all cores with `others` and with the peers on the same
/// number of threads.
fn compared_with_peers(
    figures: &Figures,
    (table, name, ladder): (Table, &str, &[OnThreads]),
    others: &[Timed],
    exercise: Exercise,
) -> Vec<Statement> {
    let (Some(one), Some(all)) = (ladder.first(), on_all_cores(ladder, figures.machine.cores)) else {
        return vec![format!("{name} was not measured.").into()];
    };
    let mut chosen = vec![one];
    chosen.extend((all.threads != one.threads).then_some(all));
    let sentence = |on: &OnThreads| {
        let peers = figures.peers.of(exercise).filter(|peer| peer.threads == on.threads);
        let mut objects = others.to_vec();
        objects.extend(peers.map(timed::peer));
        comparison(table, &on_threads(name, on, figures.machine.cores), &objects)
    };
    chosen.into_iter().map(sentence).collect()
}

/// Attributes the gain over loops either to the code on one thread, which has the `ideas`, or to
/// parallelism. `None` without a gain or with only one core.
fn single_thread_gain(figures: &Figures, ladder: &[OnThreads], loops: &Timed, ideas: &str) -> Option<Statement> {
    let (one, all) = (ladder.first()?, on_all_cores(ladder, figures.machine.cores)?);
    let gains = |on: &OnThreads| matches!(compare(&on.times, &loops.times), Verdict::Faster(_));
    if one.threads == all.threads || !gains(all) {
        return None;
    }
    let text = match gains(one) {
        true => format!(
            "The gain of one thread over {} is that of the code, not of parallelism: the code has {ideas}, whose shares of the gain \
             were not measured.",
            loops.label
        ),
        false => format!("One thread gains nothing over {}: the gain is due to parallelism.", loops.label),
    };
    Some(text.into())
}

fn overlap(a: &Times, b: &Times) -> bool {
    let ([a_lower, a_upper], [b_lower, b_upper]) = (a.interval(), b.interval());
    a_lower <= b_upper && b_lower <= a_upper
}

/// The section of a paragraph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// The abstract.
    Abstract,
    /// The maximum's times.
    Maximum,
    /// The maximum by number of threads.
    MaximumCores,
    /// The maximum on the GPU.
    MaximumGpu,
    /// X·Xᵀ's times.
    Product,
    /// X·Xᵀ by number of threads.
    ProductCores,
    /// X·Xᵀ on the GPU.
    ProductGpu,
    /// The activation.
    Activation,
    /// The activation on the GPU.
    ActivationGpu,
    /// The network.
    Training,
    /// The network's steps by number of threads.
    TrainingCores,
    /// The conclusions.
    Conclusions,
}

impl Section {
    /// The section's key in the template.
    pub fn key(self) -> &'static str {
        match self {
            Self::Abstract => "abstract",
            Self::Maximum => "maximum",
            Self::MaximumCores => "maximum_cores",
            Self::MaximumGpu => "maximum_gpu",
            Self::Product => "product",
            Self::ProductCores => "product_cores",
            Self::ProductGpu => "product_gpu",
            Self::Activation => "activation",
            Self::ActivationGpu => "activation_gpu",
            Self::Training => "training",
            Self::TrainingCores => "training_cores",
            Self::Conclusions => "conclusions",
        }
    }
}

/// All sentences by section, as shown in the template.
pub fn all(figures: &Figures) -> Vec<(Section, Vec<Statement>)> {
    vec![
        (Section::Abstract, conclusions::summary(figures)),
        (Section::Maximum, maximum::times(figures)),
        (Section::MaximumCores, maximum::cores(figures)),
        (Section::MaximumGpu, gpu::maximum(figures)),
        (Section::Product, product::times(figures)),
        (Section::ProductCores, product::cores(figures)),
        (Section::ProductGpu, gpu::product(figures)),
        (Section::Activation, activation::times(figures)),
        (Section::ActivationGpu, gpu::activation(figures)),
        (Section::Training, training::sentences(figures)),
        (Section::TrainingCores, training::cores(figures)),
        (Section::Conclusions, conclusions::conclusions(figures)),
    ]
}

/// The entry with the largest number of threads that does not exceed the cores, or else the first entry.
fn on_all_cores(ladder: &[OnThreads], cores: usize) -> Option<&OnThreads> {
    ladder.iter().filter(|on| on.threads <= cores).max_by_key(|on| on.threads).or(ladder.first())
}
