//! A load of queries on a session, and what its user sees of a fault.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use messina::error::Kind;
use messina::session::{Prepared, ServedBy};
use messina::{Error, Session};
use scylla_cql_core::frame::types::Consistency;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::cluster::Cluster;
use super::raw::{RESULT, Raw};

/// The kinds of requests, which take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A read that may be sent twice.
    Read,
    /// A write that may not.
    Write,
}

/// One request and its end.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// Since the load began.
    pub(crate) at: Duration,
    pub(crate) took: Duration,
    pub(crate) what: What,
    pub(crate) result: Result<ServedBy, Error>,
}

/// Requests at a steady pace, whatever becomes of those before.
#[derive(Debug)]
pub(crate) struct Load {
    begun: Instant,
    record: Record,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

/// What is known of the requests that have ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Arc<Mutex<Vec<Sent>>>);

/// Makes the table of the load, with a replica on every node, and waits until each node knows it.
pub(crate) fn table(cluster: &Cluster) -> Result<(), String> {
    let ask = |node: usize, text: &str| -> std::io::Result<bool> {
        let mut raw = Raw::connect(cluster.nodes[node].native(), 4)?;
        raw.startup(&[])?;
        raw.register(&["SCHEMA_CHANGE"])?;
        for _ in 0..100 {
            raw.patience(Duration::from_secs(20))?;
            if raw.query(text)?.opcode == RESULT {
                return Ok(true);
            }
            // The schema comes to a node with an event.
            raw.patience(Duration::from_millis(200))?;
            let _ = raw.receive();
        }
        Ok(false)
    };
    let mut replicas = BTreeMap::new();
    cluster.spec.nodes.iter().for_each(|(datacenter, _)| *replicas.entry(*datacenter).or_insert(0) += 1);
    let replicas: Vec<String> = replicas.iter().map(|(datacenter, count)| format!("'{datacenter}': {count}")).collect();
    let keyspace = format!(
        "CREATE KEYSPACE IF NOT EXISTS load WITH replication = {{'class': 'NetworkTopologyStrategy', {}}}",
        replicas.join(", ")
    );
    let mut orders = vec![(0, &*keyspace), (0, "CREATE TABLE IF NOT EXISTS load.kv (k int PRIMARY KEY, v int)")];
    orders.push((0, "INSERT INTO load.kv (k, v) VALUES (-1, 1)"));
    orders.extend((0..cluster.nodes.len()).map(|node| (node, "SELECT v FROM load.kv WHERE k = -1")));
    for (node, text) in orders {
        match ask(node, text) {
            Ok(true) => {}
            Ok(false) => return Err(format!("node {node} does not take: {text}")),
            Err(error) => return Err(format!("node {node}: {error}")),
        }
    }
    Ok(())
}

impl Load {
    /// Begins; every second request is a write. One replica is enough, so that only the way to it counts.
    pub(crate) async fn start(session: &Session, per_second: u32) -> Self {
        let prepare = |text| session.prepare(text);
        let read = prepare("SELECT v FROM load.kv WHERE k = ?").await.unwrap().with_idempotence(true);
        let write = prepare("INSERT INTO load.kv (k, v) VALUES (?, ?)").await.unwrap().with_idempotence(false);
        let ready = |prepared: Prepared| prepared.with_consistency(Consistency::One);
        Self::of(session, per_second, ready(read), Some(ready(write)))
    }

    /// Begins with these statements; without writes every request is a read.
    pub(crate) fn of(session: &Session, per_second: u32, read: Prepared, write: Option<Prepared>) -> Self {
        let (record, session, begun) = (Record::default(), session.clone(), Instant::now());
        let (stop, mut stopped) = oneshot::channel();
        let sent = record.clone();
        let task = tokio::spawn(async move {
            let mut pace = interval(Duration::from_secs(1) / per_second);
            pace.set_missed_tick_behavior(MissedTickBehavior::Burst);
            let mut requests = JoinSet::new();
            for key in 0_i32.. {
                tokio::select! {
                    _ = &mut stopped => break,
                    _ = pace.tick() => {}
                }
                while requests.try_join_next().is_some() {}
                let write = write.clone().filter(|_| key % 2 == 1);
                requests.spawn(one(session.clone(), read.clone(), write, key, begun, sent.clone()));
            }
            while requests.join_next().await.is_some() {}
        });
        Self { begun, record, stop: Some(stop), task }
    }

    /// Since the load began.
    pub(crate) fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// What has ended so far.
    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    /// Goes on for this long; answers when that began.
    pub(crate) async fn run(&self, time: Duration) -> Duration {
        let now = self.now();
        sleep(time).await;
        now
    }

    /// Goes on until each of these has answered a request that was sent later than `since`; answers how long after.
    pub(crate) async fn until_served_by(&self, nodes: &[SocketAddr], since: Duration, limit: Duration) -> Duration {
        loop {
            let by = |node: &SocketAddr| {
                self.record.all().iter().find(|sent| sent.at >= since && sent.by() == Some(*node)).map(Sent::end)
            };
            let ends: Option<Vec<Duration>> = nodes.iter().map(by).collect();
            if let Some(last) = ends.and_then(|ends| ends.into_iter().max()) {
                return last.saturating_sub(since);
            }
            let waited = self.now().saturating_sub(since);
            assert!(waited < limit, "not each of {nodes:?} serves {waited:?} later\n{}", self.record.summary());
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Ends, and waits for what was sent.
    pub(crate) async fn stop(mut self) -> Record {
        drop(self.stop.take());
        (&mut self.task).await.unwrap();
        std::mem::take(&mut self.record)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn one(session: Session, read: Prepared, write: Option<Prepared>, key: i32, begun: Instant, record: Record) {
    let (at, since) = (begun.elapsed(), Instant::now());
    let what = if write.is_some() { What::Write } else { What::Read };
    let result = match write {
        Some(write) => session.execute(&write, (key, key)).await,
        None => session.execute(&read, (-1,)).await,
    };
    let result = result.map(|answer| answer.served_by());
    record.lock().push(Sent { at, took: since.elapsed(), what, result });
}

impl Sent {
    pub(crate) fn end(&self) -> Duration {
        self.at + self.took
    }

    /// The address of the connection that answered.
    pub(crate) fn by(&self) -> Option<SocketAddr> {
        self.result.as_ref().ok().map(|by| by.addr)
    }
}

impl Record {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Sent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In the order of their ends.
    pub(crate) fn all(&self) -> Vec<Sent> {
        self.lock().clone()
    }

    /// Those sent in this time.
    pub(crate) fn sent_in(&self, time: Range<Duration>) -> Vec<Sent> {
        self.lock().iter().filter(|sent| time.contains(&sent.at)).cloned().collect()
    }

    /// Those that failed, with their errors.
    pub(crate) fn failed(&self) -> Vec<(Sent, Error)> {
        self.lock().iter().filter_map(|sent| Some((sent.clone(), sent.result.clone().err()?))).collect()
    }

    /// The slowest one.
    pub(crate) fn slowest(&self) -> Duration {
        self.lock().iter().map(|sent| sent.took).max().unwrap_or_default()
    }

    /// What the user saw: one line of numbers, and a line for each kind of error.
    pub(crate) fn summary(&self) -> String {
        let all = self.all();
        let failed = self.failed();
        let slow = all.iter().filter(|sent| sent.took > Duration::from_secs(1)).count();
        let mut text = format!("{} requests, slowest {:?}, {slow} over 1 s", all.len(), self.slowest());
        let mut kinds: Vec<(What, Kind)> = Vec::new();
        for (sent, error) in &failed {
            if !kinds.contains(&(sent.what, error.kind())) {
                kinds.push((sent.what, error.kind()));
            }
        }
        for (what, kind) in kinds {
            let these: Vec<_> = failed.iter().filter(|(sent, e)| (sent.what, e.kind()) == (what, kind)).collect();
            let first = these.iter().map(|(sent, _)| sent.end()).min().unwrap_or_default();
            let last = these.iter().map(|(sent, _)| sent.end()).max().unwrap_or_default();
            let _ =
                write!(text, "\n  {what:?} {kind:?}: {} from {first:.1?} to {last:.1?}: {}", these.len(), these[0].1);
        }
        text
    }

    /// The same for people who asked for it with `MESSINA_TELL=1`.
    pub(crate) fn tell(&self, name: &str) {
        if std::env::var_os("MESSINA_TELL").is_some() {
            eprintln!("{name}: {}", self.summary());
        }
    }
}
