//! The pieces of a number's piecewise-linear embedding.

/// The ends of a number's pieces: ascending, distinct, and at least two unless there are no pieces.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bins {
    pub(crate) edges: Vec<f32>,
}

impl Bins {
    /// At most `count` pieces with about the same number of values in each, as far as equal values
    /// allow. The values must be finite and ascending. If at most `count` + 1 of them are distinct,
    /// each is an edge.
    pub(crate) fn of_quantiles(ascending: &[f32], count: usize) -> Self {
        let mut distinct: Vec<f32> = Vec::new();
        for &value in ascending {
            if distinct.last() != Some(&value) {
                distinct.push(value);
                if distinct.len() > count + 1 {
                    break;
                }
            }
        }
        let mut edges = distinct;
        if edges.len() > count + 1 {
            let at = |edge: usize| crate::scale::quantile(ascending, edge as f64 / count as f64) as f32;
            edges = (0..=count).map(at).collect();
            edges.dedup();
        }
        if edges.len() < 2 {
            edges.clear();
        }
        Self { edges }
    }

    /// Number of pieces.
    pub(crate) fn count(&self) -> usize {
        self.edges.len().saturating_sub(1)
    }

    /// The piece that contains a value, and the fraction of it below the value, from 0 to 1. Before
    /// the first edge it is 0 in the first piece, after the last edge 1 in the last. Without pieces
    /// or for NaN, it is 0 in piece 0.
    pub(crate) fn place(&self, x: f32) -> (u16, f32) {
        let inner = match self.edges.len() {
            0..=2 => &[],
            count => &self.edges[1..count - 1],
        };
        let piece = inner.partition_point(|&edge| edge <= x);
        match self.edges.get(piece..piece + 2) {
            Some(&[low, high]) if x > low => (piece as u16, ((x - low) / (high - low)).min(1.0)),
            _ => (piece as u16, 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_equal_counts() {
        let values: Vec<f32> = (0..=1000).map(|value| (value * value) as f32).collect();
        let bins = Bins::of_quantiles(&values, 4);
        assert_eq!(bins.edges, [0.0, 62_500.0, 250_000.0, 562_500.0, 1_000_000.0]);
    }

    #[test]
    fn few_distinct_values_give_few_pieces() {
        assert_eq!(Bins::of_quantiles(&[1.0, 1.0, 2.0, 5.0, 5.0], 8).edges, [1.0, 2.0, 5.0]);
        assert_eq!(Bins::of_quantiles(&[3.0; 9], 8).count(), 0);
        assert_eq!(Bins::of_quantiles(&[3.0], 8).count(), 0);
        let mut skewed = vec![0.0; 1000];
        skewed.extend((1..=20).map(|value| value as f32));
        let edges = Bins::of_quantiles(&skewed, 4).edges;
        assert_eq!(edges, [0.0, 20.0]);
    }

    #[test]
    fn a_place_is_within_its_piece() {
        let bins = Bins { edges: vec![-1.0, 0.0, 2.0] };
        let places = [-9.0, -1.0, -0.5, 0.0, 1.0, 2.0, 9.0].map(|x| bins.place(x));
        assert_eq!(places, [(0, 0.0), (0, 0.0), (0, 0.5), (1, 0.0), (1, 0.5), (1, 1.0), (1, 1.0)]);
        assert_eq!(Bins::default().place(1.0), (0, 0.0));
        assert_eq!(bins.place(f32::NAN).1, 0.0);
    }
}
