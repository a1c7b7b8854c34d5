//! `messina demo`: every step is checked, and the exit code is 0 only if every step held.

use std::{
    error::Error,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use messina::{
    Session, Statement,
    layers::{Address, HickoryResolver, Order},
    session::SessionState,
};
use tokio::time::{Instant, sleep, timeout};
use tower::service_fn;

use crate::{
    attempts::Attempts,
    stage_set::{INSERT, NAME, SELECT, StageSet},
};

/// The demo ends by itself within this.
const LIMIT: Duration = Duration::from_secs(30);
/// How soon queries must be answered again after the name has moved.
const RECOVERY: Duration = Duration::from_secs(10);

/// How soon every node of the cluster must be connected.
const ALL_NODES: Duration = Duration::from_secs(10);

type Step<T> = Result<T, Box<dyn Error>>;

pub(crate) async fn run() -> ExitCode {
    match timeout(LIMIT, demo()).await {
        Ok(Ok(())) => {
            say!(stdout, "\nEvery step held.");
            ExitCode::SUCCESS
        }
        Ok(Err(error)) => {
            say!(stderr, "\nA step did not hold: {error}");
            ExitCode::FAILURE
        }
        Err(_) => {
            say!(stderr, "\nThe demo did not end within {LIMIT:?}.");
            ExitCode::FAILURE
        }
    }
}

async fn demo() -> Step<()> {
    say!(stdout, "1. A cluster of three nodes and a DNS server in this process; the name {NAME} leads to");
    let mut set = StageSet::start().await?;
    for (what, bare) in &set.bad {
        say!(stdout, "     {:<21} {what}", bare.addr());
    }
    for node in set.cluster.nodes() {
        say!(stdout, "     {:<21} a live node", node.addr());
    }

    say!(stdout, "\n2. Connecting by the name, in this order (an application would leave it shuffled):");
    let attempts = Attempts::default();
    let session = connect(&set, &attempts).await?;
    // The session is there as soon as one node is connected; the others go on in the background.
    let addrs = set.cluster.addrs();
    timeout(ALL_NODES, attempts.connected_nodes(&addrs))
        .await
        .map_err(|_| format!("not every node was connected within {ALL_NODES:?}"))?;
    say!(stdout, "{}", attempts.table());
    let events = Told::start(&session);
    check(attempts.failed() >= set.bad.len(), "every bad address was tried and passed over")?;

    say!(stdout, "\n3. Writing and reading:");
    for (id, name) in [(1, "Scylla"), (2, "Charybdis"), (3, "Messina")] {
        session.execute(INSERT, (id, name)).await?;
    }
    let users: Vec<(i32, String)> = session.execute(SELECT, ()).await?.all().await?;
    for (id, name) in &users {
        say!(stdout, "     {id}  {name}");
    }
    check(users.len() == 3, "three rows came back")?;

    let load = Load::start(session.clone());
    say!(stdout, "\n4. Killing a node while queries go on:");
    let before = load.answered();
    set.cluster.node(0).kill().await;
    load.wait_for_more(before, 50, RECOVERY).await?;
    wait_for(&session, "the killed node is seen as such", |state| connected(state).len() == 2).await?;
    events.catch_up().await;
    say!(stdout, "     {} more queries answered, {} failed", load.answered() - before, load.failed());

    say!(stdout, "\n5. Killing every node, starting others at other addresses, moving the name:");
    let failed_before = load.failed();
    set.move_everything().await?;
    let moved = Instant::now();
    let at_move = load.answered();
    load.wait_for_more(at_move, 1, RECOVERY).await?;
    let first = moved.elapsed();
    let failed = load.failed() - failed_before;
    // The session is whole again: each node is connected at its new address.
    let mut addrs: Vec<_> = set.cluster.addrs().iter().map(ToString::to_string).collect();
    addrs.sort();
    wait_for(&session, "every node is connected at its new address", |state| connected(state) == addrs).await?;
    let whole = moved.elapsed();
    load.wait_for_more(at_move, 50, RECOVERY).await?;
    events.catch_up().await;
    say!(
        stdout,
        "     queries are answered again, the first within {first:.1?} of the move; {failed} failed meanwhile"
    );
    say!(stdout, "     every node is connected again within {whole:.1?}; what the session believes now:\n");
    say!(stdout, "{}", session.state());

    let users: Vec<(i32, String)> = session.execute(SELECT, ()).await?.all().await?;
    check(users.len() == 3, "the rows are still there")?;
    load.stop();
    session.close().await;
    let closed = session.state();
    check(closed.closed && connected(&closed).is_empty(), "nothing is open after the session was closed")
}

/// The endpoints that have a connection, sorted.
fn connected(state: &SessionState) -> Vec<String> {
    let connected = state.nodes.iter().filter(|node| !node.connections.is_empty());
    let mut connected: Vec<_> = connected.map(|node| node.endpoint.to_string()).collect();
    connected.sort();
    connected
}

/// Waits until the session believes something.
async fn wait_for(session: &Session, what: &str, holds: impl Fn(&SessionState) -> bool) -> Step<()> {
    let seen = async {
        while !holds(&session.state()) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let seen = timeout(RECOVERY, seen).await;
    seen.map_err(|_| format!("expected within {RECOVERY:?}: {what}; the session believes\n{}", session.state()).into())
}

/// Prints what happens to the session, as it happens.
struct Told {
    task: tokio::task::JoinHandle<()>,
}

impl Told {
    fn start(session: &Session) -> Self {
        let mut events = session.events();
        let started = Instant::now();
        let task = tokio::spawn(async move {
            while let Some(event) = events.next().await {
                say!(stdout, "     {:>7.3} s  {event}", started.elapsed().as_secs_f64());
            }
        });
        Self { task }
    }

    /// Lets it print what has happened until now.
    async fn catch_up(&self) {
        sleep(Duration::from_millis(20)).await;
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn check(held: bool, what: &str) -> Step<()> {
    if held { Ok(()) } else { Err(format!("expected: {what}").into()) }
}

async fn connect(set: &StageSet, attempts: &Attempts) -> Step<Session> {
    let builder = Session::builder()
        .contact_point(format!("{NAME}:{}", set.port()))
        .candidate_order(Order::AsGiven)
        .max_candidate_addresses(6)
        .init_timeout(Duration::from_secs(2))
        .candidate_layer(attempts.clone());
    let builder = match set.dns_server() {
        Some(server) => builder.resolver(HickoryResolver::with_server(server)),
        None => {
            let table = set.table();
            builder.resolver(service_fn(move |address: Address| {
                let answer = table(address);
                async move { Ok::<_, std::io::Error>(answer) }
            }))
        }
    };
    Ok(builder.build().await?)
}

/// Queries that go on beside the steps.
struct Load {
    counters: Arc<Counters>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct Counters {
    answered: AtomicUsize,
    failed: AtomicUsize,
}

impl Load {
    fn start(session: Session) -> Self {
        let counters = Arc::new(Counters::default());
        let shared = Arc::clone(&counters);
        let task = tokio::spawn(async move {
            let select = Statement::new(SELECT).with_idempotence(true).with_timeout(Duration::from_secs(1));
            loop {
                match session.execute(&select, ()).await {
                    Ok(_rows) => {
                        shared.answered.fetch_add(1, Ordering::AcqRel);
                    }
                    Err(_) => {
                        shared.failed.fetch_add(1, Ordering::AcqRel);
                    }
                }
                sleep(Duration::from_millis(5)).await;
            }
        });
        Self { counters, task }
    }

    fn answered(&self) -> usize {
        self.counters.answered.load(Ordering::Acquire)
    }

    fn failed(&self) -> usize {
        self.counters.failed.load(Ordering::Acquire)
    }

    async fn wait_for_more(&self, before: usize, more: usize, limit: Duration) -> Step<()> {
        let answered = async {
            while self.answered() < before + more {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(limit, answered).await.map_err(|_| {
            format!("only {} of {more} queries were answered within {limit:?}", self.answered() - before)
        })?;
        Ok(())
    }

    fn stop(self) {
        self.task.abort();
    }
}
