//! Requests that go on all the time; each must end with an answer or an error within its limit.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use messina::{Session, Statement};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    random::Random,
    world::{QUERY, World},
};

const CLIENTS: usize = 12;
/// The limit of a request.
const LIMIT: Duration = Duration::from_secs(2);
/// How much later than its limit the end of a request may be seen: nothing, in paused time, but the clock's grain.
const GRAIN: Duration = Duration::from_millis(2);

/// How requests ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) served: usize,
    pub(crate) failed: usize,
}

#[derive(Debug, Default)]
struct Seen {
    count: Count,
    slowest: Duration,
    late: Option<Duration>,
}

/// Clients that ask until they are stopped.
pub(crate) struct Load {
    seen: Arc<Mutex<Seen>>,
    clients: JoinSet<()>,
}

pub(crate) fn start(world: &World, random: &mut Random) -> Load {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(client(world.session.clone(), Arc::clone(&seen), Random::new(random.next())));
    }
    Load { seen, clients }
}

async fn client(session: Session, seen: Arc<Mutex<Seen>>, mut random: Random) {
    let statement = Statement::new(QUERY).with_idempotence(true).with_timeout(LIMIT);
    loop {
        let started = Instant::now();
        let result = session.execute(&statement, ()).await;
        let took = started.elapsed();
        {
            let mut seen = seen.lock().unwrap();
            match result {
                Ok(_) => seen.count.served += 1,
                Err(_) => seen.count.failed += 1,
            }
            seen.slowest = seen.slowest.max(took);
            if took > LIMIT + GRAIN {
                seen.late = Some(took);
            }
        }
        tokio::time::sleep(random.millis(20, 100)).await;
    }
}

impl Load {
    /// What was seen until now; counts from new on.
    pub(crate) fn restart(&self) -> Result<(Count, Duration), String> {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        match seen.late {
            None => Ok((seen.count, seen.slowest)),
            Some(took) => Err(format!("a request took {took:?}, past its limit of {LIMIT:?}")),
        }
    }

    /// Stops the clients between two requests, and says what was seen.
    pub(crate) async fn stop(mut self) -> Result<(Count, Duration), String> {
        let seen = self.restart();
        self.clients.shutdown().await;
        seen
    }
}
