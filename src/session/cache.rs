//! Statements that were prepared because they came as text with values.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::OnceCell;

use super::Prepared;

/// How many statements are kept.
const CAPACITY: usize = 1000;

/// Prepared statements by text and keyspace; the least recently used one makes room.
#[derive(Debug)]
pub(super) struct Cache {
    /// Nearly always there is one entry per text.
    by_text: RwLock<HashMap<Arc<str>, Vec<Entry>>>,
    clock: AtomicU64,
    capacity: usize,
}

#[derive(Debug)]
struct Entry {
    keyspace: Option<Arc<str>>,
    slot: Arc<Slot>,
}

/// Where one statement is kept; whoever comes first prepares it, the others wait.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) prepared: OnceCell<Prepared>,
    used: AtomicU64,
}

impl Default for Cache {
    fn default() -> Self {
        Self { by_text: RwLock::default(), clock: AtomicU64::new(0), capacity: CAPACITY }
    }
}

impl Cache {
    /// The statement, if it is prepared.
    pub(super) fn get(&self, text: &str, keyspace: Option<&str>) -> Option<Prepared> {
        let by_text = self.by_text.read().unwrap_or_else(PoisonError::into_inner);
        let slot = find(by_text.get(text)?, keyspace)?;
        self.touch(slot);
        slot.prepared.get().cloned()
    }

    /// The slot of a statement, be it prepared or not.
    pub(super) fn slot(&self, text: &Arc<str>, keyspace: Option<&Arc<str>>) -> Arc<Slot> {
        let mut by_text = self.by_text.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = by_text.get(text).and_then(|entries| find(entries, keyspace.map(|name| &**name))) {
            self.touch(slot);
            return Arc::clone(slot);
        }
        if by_text.values().map(Vec::len).sum::<usize>() >= self.capacity {
            evict(&mut by_text);
        }
        let slot = Arc::new(Slot::default());
        self.touch(&slot);
        let entry = Entry { keyspace: keyspace.cloned(), slot: Arc::clone(&slot) };
        by_text.entry(Arc::clone(text)).or_default().push(entry);
        slot
    }

    /// Forgets everything; what is being prepared just now is nobody's afterwards.
    pub(super) fn clear(&self) {
        self.by_text.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Those that are prepared, the last used first; so many at most, or all for 0.
    pub(super) fn newest(&self, most: usize) -> Vec<Prepared> {
        let by_text = self.by_text.read().unwrap_or_else(PoisonError::into_inner);
        let slots = by_text.values().flatten().map(|entry| &entry.slot);
        let mut kept: Vec<_> = slots
            .filter_map(|slot| Some((Reverse(slot.used.load(Ordering::Relaxed)), slot.prepared.get()?.clone())))
            .collect();
        drop(by_text);
        kept.sort_by_key(|(used, _)| *used);
        kept.truncate(if most == 0 { usize::MAX } else { most });
        kept.into_iter().map(|(_, prepared)| prepared).collect()
    }

    /// How many are kept.
    pub(super) fn len(&self) -> usize {
        let by_text = self.by_text.read().unwrap_or_else(PoisonError::into_inner);
        by_text.values().map(Vec::len).sum()
    }

    /// Forgets a slot whose statement could not be prepared, unless somebody else prepared it meanwhile.
    pub(super) fn forget(&self, text: &str, slot: &Arc<Slot>) {
        let mut by_text = self.by_text.write().unwrap_or_else(PoisonError::into_inner);
        if slot.prepared.initialized() {
            return;
        }
        if let Some(entries) = by_text.get_mut(text) {
            entries.retain(|entry| !Arc::ptr_eq(&entry.slot, slot));
            if entries.is_empty() {
                by_text.remove(text);
            }
        }
    }

    fn touch(&self, slot: &Slot) {
        slot.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }
}

fn find<'a>(entries: &'a [Entry], keyspace: Option<&str>) -> Option<&'a Arc<Slot>> {
    entries.iter().find(|entry| entry.keyspace.as_deref() == keyspace).map(|entry| &entry.slot)
}

/// Takes out what was not used for the longest time.
fn evict(by_text: &mut HashMap<Arc<str>, Vec<Entry>>) {
    let all = by_text.iter().flat_map(|(text, entries)| entries.iter().map(move |entry| (text, entry)));
    let oldest = all.min_by_key(|(_, entry)| entry.slot.used.load(Ordering::Relaxed));
    let Some((text, slot)) = oldest.map(|(text, entry)| (Arc::clone(text), Arc::clone(&entry.slot))) else {
        return;
    };
    tracing::debug!(%text, "prepared statement dropped from the cache");
    if let Some(entries) = by_text.get_mut(&text) {
        entries.retain(|entry| !Arc::ptr_eq(&entry.slot, &slot));
        if entries.is_empty() {
            by_text.remove(&text);
        }
    }
}
