//! A value computed in the background for the latest of several requests.

use eframe::egui::Context;

use crate::window::task::{Panicked, Task};

/// A value of type V for a key of type K. If several requests arrive while a value is being
/// computed, only the last is computed next.
pub(super) struct Latest<K, V> {
    computing: Option<(K, Task<V>)>,
    computed: Option<(K, V)>,
}

impl<K, V> Default for Latest<K, V> {
    fn default() -> Self {
        Self { computing: None, computed: None }
    }
}

impl<K: Clone + PartialEq, V: Send + 'static> Latest<K, V> {
    /// The last computed value, its key, and whether that equals `key`. If not, a thread computes
    /// the value for `key`, and requests a repaint at its end.
    pub(super) fn get(
        &mut self,
        key: &K,
        context: &Context,
        compute: impl FnOnce() -> V + Send + 'static,
    ) -> Option<(&K, &V, bool)> {
        if let Some((of, task)) = self.computing.take() {
            match task.poll() {
                Some(Ok(value)) => self.computed = Some((of, value)),
                None => self.computing = Some((of, task)),
                // Keep the last value.
                Some(Err(Panicked)) => {}
            }
        }
        let is_current = self.computed.as_ref().is_some_and(|(of, _)| of == key);
        if !is_current && self.computing.is_none() {
            self.computing = Some((key.clone(), Task::start(context, compute)));
        }
        self.computed.as_ref().map(|(of, value)| (of, value, is_current))
    }
}
