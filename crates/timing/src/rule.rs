use crate::measurement::four_digits;

/// A rule of the homework: a version must be at least `factor` times as fast as `baseline`, by the
/// medians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The required speed-up.
    pub factor: u32,
    /// What the baseline is, in words.
    pub baseline: &'static str,
}

/// Whether a version meets a [`Rule`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    rule: Rule,
    /// Speed-up of the version over the baseline.
    pub ratio: f64,
}

impl Rule {
    /// Judges a version by its median time and the baseline's, in seconds.
    ///
    /// ```
    /// let rule = timing::Rule { factor: 40, baseline: "two plain loops" };
    /// let judgement = rule.judge(2e-3, 1e-3);
    /// assert_eq!(judgement.sentence("max_gpu"), "max_gpu must be at least 40 times as fast as two plain loops: not met, 2.000 times");
    /// ```
    pub fn judge(self, baseline: f64, version: f64) -> Judgement {
        Judgement { rule: self, ratio: baseline / version }
    }
}

impl Judgement {
    /// Whether the version meets the rule.
    pub fn is_met(self) -> bool {
        self.ratio >= f64::from(self.rule.factor)
    }

    /// The rule, whether the version called `name` meets it, and the ratio, without a final period.
    pub fn sentence(self, name: &str) -> String {
        let Rule { factor, baseline } = self.rule;
        let verdict = if self.is_met() { "met" } else { "not met" };
        format!(
            "{name} must be at least {factor} times as fast as {baseline}: {verdict}, {} times",
            four_digits(self.ratio)
        )
    }

    pub(crate) fn to_json(self) -> serde_json::Value {
        let Rule { factor, baseline } = self.rule;
        serde_json::json!({ "at_least": factor, "baseline": baseline, "ratio": self.ratio, "met": self.is_met() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_factor_meets_the_rule() {
        let rule = Rule { factor: 40, baseline: "loops" };
        assert!(rule.judge(40.0, 1.0).is_met());
        let less = rule.judge(39.99, 1.0);
        assert!(!less.is_met());
        assert_eq!(less.sentence("x"), "x must be at least 40 times as fast as loops: not met, 39.99 times");
        assert!(!rule.judge(1.0, 40.0).is_met(), "the version is slower");
        assert!(!rule.judge(0.0, 0.0).is_met(), "there is no ratio");
    }
}
