//! Files that go with the test.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

/// A directory of its own for one test.
pub(crate) struct Files {
    dir: PathBuf,
}

impl Files {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let own = format!("messina-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(own);
        std::fs::create_dir_all(&dir).unwrap();
        Self { dir }
    }

    /// Writes a file and says where it is.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // Left behind it does no harm.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
