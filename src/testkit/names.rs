//! Names whose addresses change while a session runs, without a socket.

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, pending, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use messina_layers::error::BoxError;
use messina_layers::{Address, Resolved};
use tower_service::Service;

/// What comes of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameAnswer {
    /// These addresses, in this order.
    Addresses(Vec<Resolved>),
    /// The same, this much later.
    Late(Duration, Vec<Resolved>),
    /// The lookup fails with this text.
    Error(String),
    /// It never ends.
    Silence,
    /// It panics before it gives a future.
    PanicAtOnce,
    /// Its future panics.
    Panic,
}

/// A resolver whose table changes while a session runs: for a paused clock, where [`DnsServer`](super::DnsServer)
/// needs sockets.
///
/// Socket addresses are answered with themselves unless they are in the table too. A clone is the same table.
///
/// ```
/// use messina::testkit::{NameAnswer, Names};
///
/// let names = Names::new();
/// names.set("db.test", [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::IpAddr::from));
/// names.answer("gone.test", NameAnswer::Error("no such name".into()));
/// // .. `Session::builder().resolver(names.clone())` ..
/// assert_eq!(names.asked("db.test"), 0);
/// ```
#[derive(Clone, Default)]
pub struct Names {
    table: Arc<Mutex<Table>>,
}

#[derive(Default)]
struct Table {
    answers: HashMap<String, NameAnswer>,
    asked: HashMap<String, usize>,
    total: usize,
}

impl Names {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a name, or an address as text, these addresses.
    pub fn set(&self, name: &str, addresses: impl IntoIterator<Item: Into<Resolved>>) {
        self.answer(name, NameAnswer::Addresses(addresses.into_iter().map(Into::into).collect()));
    }

    /// Says what comes of looking up a name, or an address as text, from now on.
    pub fn answer(&self, name: &str, answer: NameAnswer) {
        self.table().answers.insert(key(name), answer);
    }

    /// Takes a name out of the table.
    pub fn remove(&self, name: &str) {
        self.table().answers.remove(&key(name));
    }

    /// How often a name, or an address as text, was looked up.
    pub fn asked(&self, name: &str) -> usize {
        self.table().asked.get(&key(name)).copied().unwrap_or(0)
    }

    /// How many lookups there were, of names and addresses together.
    pub fn total(&self) -> usize {
        self.table().total
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(name: &str) -> String {
    name.to_lowercase()
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.table().answers).finish()
    }
}

type Lookup = Pin<Box<dyn Future<Output = Result<Vec<Resolved>, BoxError>> + Send>>;

impl Service<Address> for Names {
    type Response = Vec<Resolved>;
    type Error = BoxError;
    type Future = Lookup;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Address) -> Lookup {
        let host = key(&address.host());
        let answer = {
            let mut table = self.table();
            table.total += 1;
            // Addresses are many, and whoever counts them has set them.
            let known = table.answers.get(&host).cloned();
            if known.is_some() || address.name().is_some() {
                *table.asked.entry(host.clone()).or_default() += 1;
            }
            known
        };
        match (answer, address) {
            (None, Address::Socket(addr)) => Box::pin(ready(Ok(vec![addr.into()]))),
            (None, Address::Name(..)) => Box::pin(ready(Err(format!("there is no name {host}").into()))),
            (Some(NameAnswer::Addresses(addresses)), _) => Box::pin(ready(Ok(addresses))),
            (Some(NameAnswer::Late(delay, addresses)), _) => Box::pin(async move {
                tokio::time::sleep(delay).await;
                Ok(addresses)
            }),
            (Some(NameAnswer::Error(text)), _) => Box::pin(ready(Err(text.into()))),
            (Some(NameAnswer::Silence), _) => Box::pin(pending()),
            (Some(NameAnswer::PanicAtOnce), _) => panic!("the lookup of {host} panics, as told"),
            (Some(NameAnswer::Panic), _) => Box::pin(async move { panic!("the lookup of {host} panics, as told") }),
        }
    }
}
