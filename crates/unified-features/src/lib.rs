//! No code: the manifest names features of dependencies.
