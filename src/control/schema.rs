//! The schema: read on a control connection, and again where it changes.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use messina_layers::{
    TimedOut,
    error::{BoxError, chain},
};
use tokio::{
    sync::{Notify, oneshot},
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::{
    config::{Config, KeyspaceRules},
    connection::{Connection, Paging},
    establish::Opener,
    protocol::response::Rows,
    topology::{
        Topology,
        schema::{Schema, SchemaRows},
    },
};

/// When the schema could not be read, it is asked for again after this time.
const AGAIN: Duration = Duration::from_secs(10);
/// How what is said of a schema that cannot be read begins.
const UNREAD: &str = "schema unread: ";
/// With more keyspaces than these changed at once, everything is read.
const FEW: usize = 16;

/// Follows the schema on one control connection; dropping it ends that.
#[derive(Debug)]
pub(super) struct SchemaFollower {
    task: JoinHandle<()>,
}

/// What changed in the schema since it was read last; it grows no further than to everything. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct SchemaChanges {
    shared: Arc<Changed>,
}

#[derive(Debug, Default)]
struct Changed {
    what: Mutex<What>,
    told: Notify,
}

#[derive(Debug, Default)]
struct What {
    everything: bool,
    keyspaces: BTreeSet<String>,
    events: usize,
    /// Whoever waits for the next read.
    waiting: Vec<oneshot::Sender<()>>,
}

impl Drop for SchemaFollower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl SchemaFollower {
    /// Reads everything, then what changes.
    pub(super) fn start(connection: Connection, topology: Topology, opener: Opener, changes: SchemaChanges) -> Self {
        changes.note(None);
        Self { task: tokio::spawn(follow(connection, topology, opener, changes)) }
    }
}

impl SchemaChanges {
    /// Something in this keyspace changed; without one, nobody knows where.
    pub(super) fn note(&self, keyspace: Option<String>) {
        self.add(keyspace, None);
    }

    /// Waits until this keyspace was read again, which begins at once. Wants a limit around it.
    pub(super) async fn read_now(&self, keyspace: String) {
        let (sender, read) = oneshot::channel();
        self.add(Some(keyspace), Some(sender));
        // A read that failed is begun again later; nobody waits for that.
        let _ = read.await;
    }

    fn add(&self, keyspace: Option<String>, waiting: Option<oneshot::Sender<()>>) {
        let mut what = self.lock();
        what.events += 1;
        what.waiting.extend(waiting);
        match keyspace {
            Some(keyspace) if !what.everything => {
                what.keyspaces.insert(keyspace);
                what.everything = what.keyspaces.len() > FEW;
            }
            Some(_) => {}
            None => what.everything = true,
        }
        if what.everything {
            what.keyspaces.clear();
        }
        drop(what);
        self.shared.told.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, What> {
        self.shared.what.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until so many events have come, or somebody waits for what they changed.
    async fn events(&self, most: usize) {
        let come = |what: &What| what.events >= most || !what.waiting.is_empty();
        while !come(&self.lock()) {
            self.shared.told.notified().await;
        }
    }

    fn take(&self) -> What {
        std::mem::take(&mut *self.lock())
    }
}

async fn follow(connection: Connection, topology: Topology, opener: Opener, changes: SchemaChanges) {
    loop {
        let what = changes.take();
        match read(&connection, &topology.schema(), &what, &opener.config()).await {
            Ok(schema) => {
                opener.config().said.forget_all(UNREAD);
                for skipped in schema.skipped().iter().filter(|one| !topology.schema().skipped().contains(one)) {
                    tracing::warn!("a row of the schema is skipped: {skipped}");
                }
                topology.publish_schema(Arc::new(schema));
                for waiting in what.waiting {
                    let _ = waiting.send(());
                }
            }
            Err(error) => {
                let why = chain(&*error).to_string();
                if opener.config().said.first(format!("{UNREAD}{why}")) {
                    tracing::warn!(error = why, "the schema could not be read; it is tried again");
                } else {
                    tracing::debug!(error = why, "the schema could not be read; it is tried again");
                }
                drop(what);
                changes.note(None);
                sleep(AGAIN).await;
                continue;
            }
        }
        changes.events(1).await;
        // Changes come in swarms: what comes shortly after one another is answered by one look.
        let debounce = opener.config().debounce;
        let _ = timeout(debounce.window, changes.events(debounce.max_events)).await;
    }
}

/// The schema as it is now, of which this changed.
async fn read(connection: &Connection, known: &Schema, what: &What, config: &Config) -> Result<Schema, BoxError> {
    let rules = &config.schema_keyspaces;
    let read = |keyspace| read_schema(connection, rules, keyspace, config.control_timeout);
    if what.everything {
        return read(None).await;
    }
    let mut schema = known.clone();
    for keyspace in what.keyspaces.iter().filter(|keyspace| rules.wants(keyspace)) {
        schema = schema.with_keyspace_of(keyspace, &read(Some(keyspace)).await?);
    }
    Ok(schema)
}

/// Rows of a schema table that are read at a time.
const PAGE: i32 = 5000;
/// Pages of one table after which a server that never ends is not believed.
const MOST_PAGES: usize = 10_000;
/// Code of a server's error about a table that it does not have.
const INVALID: i32 = 0x2200;

/// So many keyspaces are named in a query at most.
const MOST_NAMED: usize = 100;

/// Reads the schema of the keyspaces that are wanted, or of one; each page has its own limit.
///
/// # Errors
/// If a query fails or is not answered in time. A table that the server lacks is empty.
async fn read_schema(
    connection: &Connection,
    rules: &KeyspaceRules,
    keyspace: Option<&str>,
    limit: Duration,
) -> Result<Schema, BoxError> {
    let mut whose = keyspace.map_or_else(String::new, |name| format!(" WHERE keyspace_name = {}", quoted(name)));
    let keyspaces = pages(connection, "keyspaces", &whose, limit).await?;
    let all = Schema::new(&SchemaRows { keyspaces: keyspaces.clone(), ..SchemaRows::default() });
    let wanted: Vec<&str> = all.keyspaces().map(|keyspace| &*keyspace.name).filter(|name| rules.wants(name)).collect();
    if wanted.is_empty() {
        return Ok(all.only(|name| rules.wants(name)));
    }
    if keyspace.is_none() && wanted.len() < all.keyspaces().count() && wanted.len() <= MOST_NAMED {
        let names: Vec<String> = wanted.into_iter().map(quoted).collect();
        whose = format!(" WHERE keyspace_name IN ({})", names.join(", "));
    }
    let read = |table: &'static str| pages(connection, table, &whose, limit);
    let (tables, columns) = tokio::try_join!(read("tables"), read("columns"))?;
    let (indexes, views, types) = tokio::try_join!(read("indexes"), read("views"), read("types"))?;
    let (functions, aggregates) = tokio::try_join!(read("functions"), read("aggregates"))?;
    let (scylla_keyspaces, scylla_tables) = tokio::try_join!(read("scylla_keyspaces"), read("scylla_tables"))?;
    let schema = Schema::new(&SchemaRows {
        keyspaces,
        scylla_keyspaces,
        tables,
        scylla_tables,
        columns,
        indexes,
        views,
        types,
        functions,
        aggregates,
    });
    Ok(schema.only(|name| rules.wants(name)))
}

fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
}

async fn pages(connection: &Connection, table: &str, whose: &str, limit: Duration) -> Result<Vec<Rows>, BoxError> {
    let text = format!("SELECT * FROM system_schema.{table}{whose}");
    let (mut pages, mut state) = (Vec::new(), None);
    while pages.len() < MOST_PAGES {
        let page = timeout(limit, page(connection, &text, state.as_deref())).await;
        let Some(rows) = page.map_err(|_elapsed| TimedOut::new(limit))?? else { return Ok(pages) };
        state = rows.paging_state().map(|state| state.to_vec());
        pages.push(rows);
        if state.is_none() {
            return Ok(pages);
        }
    }
    Err(format!("system_schema.{table} does not end").into())
}

/// One page; `None` if the server has no such table.
async fn page(connection: &Connection, text: &str, state: Option<&[u8]>) -> Result<Option<Rows>, BoxError> {
    match connection.ask_rows(text, Paging { size: Some(PAGE), state }).await? {
        Ok(rows) => Ok(Some(rows)),
        Err(error) if error.code == INVALID => Ok(None),
        Err(error) => Err(error.into()),
    }
}
