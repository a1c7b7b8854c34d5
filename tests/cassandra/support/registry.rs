//! The clusters of the run: started when first asked for, shared, and ended when their room is needed.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::cluster::{self, Cluster};
use super::jars;
use super::pki::Pki;
use super::spec::{Spec, VERSIONS};
use super::tools::{self, Tools};

/// Nodes at once, of about 0.85 GB each.
const NODES: usize = 5;

/// How long a test waits for others to give room.
const PATIENCE: Duration = Duration::from_secs(300);

/// Starts clusters and keeps count of them.
#[derive(Debug)]
pub(crate) struct Registry {
    tools: Tools,
    run: PathBuf,
    pub(crate) pki: Arc<Pki>,
    slots: Mutex<Vec<Slot>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Slot {
    spec: Spec,
    cluster: Started,
    users: usize,
    /// Its user does things to it that others must not meet.
    alone: bool,
}

#[derive(Clone, Debug)]
enum Started {
    Not,
    Yes(Arc<Cluster>),
    Failed(String),
}

/// The use of a cluster by one test.
#[derive(Debug)]
pub(crate) struct Lease {
    cluster: Option<Arc<Cluster>>,
    registry: Arc<Registry>,
    /// Whether the next user may have it.
    whole: bool,
}

impl Registry {
    /// A registry with a data directory of its own, and all jars fetched.
    pub(crate) fn create() -> Result<Self, String> {
        let tools = tools::find()?;
        VERSIONS.iter().try_for_each(|version| jars::fetch(version))?;
        let run = jars::home().join(format!("run-{}", std::process::id()));
        cluster::remove(&run).map_err(|error| format!("{}: {error}", run.display()))?;
        let pki = Arc::new(Pki::create(&run.join("pki"))?);
        Ok(Self { tools, run, pki, slots: Mutex::default(), changed: Condvar::new() })
    }

    fn slots(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clusters of all these specs, taken together, so that two tests never wait for each other.
    ///
    /// A test may want them for itself. What it does not call whole afterwards is ended.
    pub(crate) fn lease(self: &Arc<Self>, specs: &[Spec], alone: bool) -> Result<Vec<Lease>, String> {
        let mut slots = self.slots();
        loop {
            let taken = |slot: &Slot| specs.contains(&slot.spec) && (slot.alone || (alone && slot.users > 0));
            let room = if slots.iter().any(taken) { None } else { make_room(&mut slots, specs) };
            let Some(ended) = room else {
                let (guard, waited) =
                    self.changed.wait_timeout(slots, PATIENCE).unwrap_or_else(PoisonError::into_inner);
                if waited.timed_out() {
                    return Err(format!("no room for {specs:?} within {PATIENCE:?}"));
                }
                slots = guard;
                continue;
            };
            let mut absent = Vec::new();
            for spec in specs {
                match slots.iter_mut().find(|slot| slot.spec == *spec) {
                    Some(slot) => {
                        slot.users += 1;
                        slot.alone = alone;
                    }
                    None => {
                        slots.push(Slot { spec: spec.clone(), cluster: Started::Not, users: 1, alone });
                        absent.push(spec);
                    }
                }
            }
            drop(slots);
            drop(ended);
            thread::scope(|scope| {
                for spec in absent {
                    scope.spawn(|| self.start(spec));
                }
            });
            return self.started(specs, alone);
        }
    }

    fn start(&self, spec: &Spec) {
        let cluster = match Cluster::start(spec, &self.tools, &self.run, Arc::clone(&self.pki)) {
            Ok(cluster) => Started::Yes(Arc::new(cluster)),
            Err(why) => Started::Failed(format!("the cluster `{}` did not start: {why}", spec.name)),
        };
        if let Some(slot) = self.slots().iter_mut().find(|slot| slot.spec == *spec) {
            slot.cluster = cluster;
        }
        self.changed.notify_all();
    }

    fn started(self: &Arc<Self>, specs: &[Spec], alone: bool) -> Result<Vec<Lease>, String> {
        let starting = |slots: &mut Vec<Slot>| {
            slots.iter().any(|slot| specs.contains(&slot.spec) && matches!(slot.cluster, Started::Not))
        };
        let slots = self.changed.wait_while(self.slots(), starting).unwrap_or_else(PoisonError::into_inner);
        let mut leases = Vec::new();
        let mut failed = None;
        for spec in specs {
            let slot = slots.iter().find(|slot| slot.spec == *spec).map(|slot| slot.cluster.clone());
            match slot {
                Some(Started::Yes(cluster)) => {
                    let registry = Arc::clone(self);
                    leases.push(Lease { cluster: Some(cluster), registry, whole: !alone });
                }
                Some(Started::Failed(why)) => failed = Some(why),
                Some(Started::Not) | None => failed = Some(format!("`{}` was never started", spec.name)),
            }
        }
        // A lease that is dropped takes the lock.
        drop(slots);
        failed.map_or(Ok(leases), Err)
    }

    /// Ends every cluster and removes the data of the run.
    pub(crate) fn end(&self) {
        let slots = std::mem::take(&mut *self.slots());
        drop(slots);
        if let Err(error) = cluster::remove(&self.run) {
            eprintln!("{}: {error}", self.run.display());
        }
    }
}

/// Takes out unused clusters until the absent ones have room; nothing when others must end their use first.
fn make_room(slots: &mut Vec<Slot>, specs: &[Spec]) -> Option<Vec<Slot>> {
    let size = |spec: &Spec| spec.nodes.len();
    let runs = |slot: &&Slot| !matches!(slot.cluster, Started::Failed(_));
    let running: usize = slots.iter().filter(runs).map(|slot| size(&slot.spec)).sum();
    let absent = specs.iter().filter(|spec| slots.iter().all(|slot| slot.spec != **spec));
    let mut excess = (running + absent.map(size).sum::<usize>()).saturating_sub(NODES);
    let spare = |slot: &Slot| slot.users == 0 && runs(&slot) && !specs.contains(&slot.spec);
    let free: usize = slots.iter().filter(|slot| spare(slot)).map(|slot| size(&slot.spec)).sum();
    if free < excess {
        return None;
    }
    let mut ended = Vec::new();
    while excess > 0 {
        // The oldest first.
        let slot = slots.remove(slots.iter().position(spare)?);
        excess = excess.saturating_sub(size(&slot.spec));
        ended.push(slot);
    }
    Some(ended)
}

impl Lease {
    /// The next user may have it.
    pub(crate) fn whole(&mut self) {
        self.whole = true;
    }

    /// Runs what takes time beside the test, which goes on meanwhile.
    pub(crate) async fn beside<R: Send + 'static>(&self, work: impl FnOnce(&Cluster) -> R + Send + 'static) -> R {
        let cluster = Arc::clone(self);
        tokio::task::spawn_blocking(move || work(&cluster)).await.unwrap()
    }
}

impl Deref for Lease {
    type Target = Arc<Cluster>;

    fn deref(&self) -> &Arc<Cluster> {
        match &self.cluster {
            Some(cluster) => cluster,
            None => unreachable!("a lease holds its cluster until it is dropped"),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(cluster) = self.cluster.take() else {
            return;
        };
        let mut slots = self.registry.slots();
        let place = slots.iter().position(|slot| slot.spec == cluster.spec);
        let ended = match place {
            Some(place) if !self.whole => Some(slots.remove(place)),
            Some(place) => {
                slots[place].users = slots[place].users.saturating_sub(1);
                slots[place].alone = false;
                None
            }
            None => None,
        };
        drop(slots);
        // Outside the lock, since it waits for processes to end.
        drop((cluster, ended));
        self.registry.changed.notify_all();
    }
}
