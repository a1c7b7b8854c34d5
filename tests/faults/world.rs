//! What must be as before when it is over: the client's connections, its dials, and every task.

use std::time::Duration;

use messina::testkit::Network;
use tokio::{runtime::Handle, time::sleep};

/// How many tasks there were before the session. Timers live in tasks and in futures that the test has dropped, so
/// where no task is left no timer is.
pub(crate) struct Before {
    tasks: usize,
}

impl Before {
    /// Taken when the servers run and nobody is connected.
    pub(crate) fn session() -> Self {
        Self { tasks: tasks() }
    }

    /// Says what is left of the session, a moment after it was dropped or closed.
    pub(crate) async fn check(&self, network: &Network) -> Result<(), String> {
        for _ in 0..20 {
            if network.held().is_empty() && network.dialling() == 0 && tasks() <= self.tasks {
                return Ok(());
            }
            // Only what is due already may still happen: no limit of the session is this short.
            sleep(Duration::from_millis(1)).await;
        }
        let more = tasks() - self.tasks.min(tasks());
        Err(format!("left open: {:?}, {} dials, {more} tasks", network.held(), network.dialling()))
    }
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

pub(crate) fn check<T: PartialEq + std::fmt::Debug>(what: &str, seen: &T, expected: &T) -> Result<(), String> {
    if seen == expected { Ok(()) } else { Err(format!("{what} is {seen:?}, expected {expected:?}")) }
}
