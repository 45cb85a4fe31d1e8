//! Models the time of a ring all-reduce as a function of the buffer's length (R. W. Hockney, "The
//! communication challenge for MPP", Parallel Computing 20, 1994).

/// Time of a message of m bytes: latency + m / bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Seconds of an empty message.
    pub latency: f64,
    /// Bytes per second, including the time to combine what has arrived.
    pub bandwidth: f64,
}

impl Model {
    /// Fits the times of a ring all-reduce, given as (bytes of a buffer, seconds). A rank sends 2
    /// (n − 1) messages, each with 1/n of the buffer. Uses least squares of the relative errors.
    /// `None` for fewer than two ranks or lengths, or if the times do not grow with the lengths.
    pub fn of_ring(ranks: usize, times: &[(f64, f64)]) -> Option<Self> {
        // Weighted by 1/t: minimizes Σ ((a + b x − t) / t)², where x is the number of bytes in a message.
        let (mut s, mut sx, mut sxx, mut st, mut sxt) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let messages = 2.0 * (ranks.checked_sub(1)? as f64);
        for &(bytes, seconds) in times {
            let (x, t) = (bytes / ranks as f64, seconds / messages);
            let weight = 1.0 / (t * t);
            s += weight;
            sx += weight * x;
            sxx += weight * x * x;
            st += weight * t;
            sxt += weight * x * t;
        }
        let determinant = s * sxx - sx * sx;
        let slope = (s * sxt - sx * st) / determinant;
        let latency = (sxx * st - sx * sxt) / determinant;
        let is_fit = messages > 0.0 && determinant > 0.0 && slope > 0.0 && latency >= 0.0;
        is_fit.then_some(Self { latency, bandwidth: 1.0 / slope })
    }

    /// Seconds of a ring all-reduce of `bytes` bytes.
    pub fn of_length(self, ranks: usize, bytes: f64) -> f64 {
        2.0 * (ranks - 1) as f64 * (self.latency + bytes / ranks as f64 / self.bandwidth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_found_in_times_that_follow_it() {
        let model = Model { latency: 2e-6, bandwidth: 5e9 };
        for ranks in [2, 3, 16] {
            let times = [4096.0, 262_144.0, 16_777_216.0].map(|bytes| (bytes, model.of_length(ranks, bytes)));
            let found = Model::of_ring(ranks, &times).unwrap();
            assert!((found.latency / model.latency - 1.0).abs() < 1e-6, "{found:?}");
            assert!((found.bandwidth / model.bandwidth - 1.0).abs() < 1e-6, "{found:?}");
        }
        assert_eq!(Model::of_ring(1, &[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(Model::of_ring(2, &[(1.0, 1.0)]), None);
        assert_eq!(Model::of_ring(2, &[(1.0, 2.0), (2.0, 1.0)]), None);
    }
}
