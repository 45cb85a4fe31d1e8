//! The page for a screen reader.

use serde::Deserialize;

/// What `tree()` of `drive.mjs` returns, from Chromium's accessibility tree.
#[derive(Debug, Deserialize)]
pub(crate) struct Tree {
    /// Role and name.
    landmarks: Vec<String>,
    /// Roles of what the keyboard reaches and has no name.
    nameless: Vec<String>,
    /// Roles of what is read when it changes.
    live: Vec<String>,
}

impl Tree {
    /// Asserts that keys and screen readers reach everything on the page, which has these landmarks.
    #[track_caller]
    pub(crate) fn check(&self, landmarks: &[&str]) {
        assert_eq!(self.nameless, Vec::<String>::new());
        for landmark in landmarks {
            assert!(self.landmarks.iter().any(|found| found == landmark), "no {landmark}: {:?}", self.landmarks);
        }
        assert!(self.live.iter().any(|role| role == "status"), "{:?}", self.live);
    }
}
