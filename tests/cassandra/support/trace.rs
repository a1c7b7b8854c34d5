//! What the driver tells while a test runs. Each test has a thread of its own, so events are kept by thread.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Write as _};
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

thread_local! {
    static TOLD: RefCell<Vec<Told>> = const { RefCell::new(Vec::new()) };
    static BEGUN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// One event of the driver.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// Since [`clear`].
    at: Duration,
    pub(crate) target: &'static str,
    pub(crate) level: Level,
    pub(crate) message: String,
    pub(crate) fields: Vec<(&'static str, String)>,
}

impl Told {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| *field == name).map(|(_, value)| value.as_str())
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.level, self.target, self.message)?;
        self.fields.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

/// Everything told on this thread since [`clear`].
pub(crate) fn told() -> Vec<Told> {
    TOLD.with_borrow(Clone::clone)
}

/// Begins anew.
pub(crate) fn clear() {
    BEGUN.set(Some(Instant::now()));
    TOLD.with_borrow_mut(Vec::clear);
}

/// The causes told for passing over an address, in order.
pub(crate) fn passed_over(address: SocketAddr) -> Vec<String> {
    let address = address.to_string();
    let next = |told: &Told| {
        told.message == "trying next address"
            && told.target.starts_with("messina_layers")
            && told.level == Level::DEBUG
            && told.field("failed") == Some(&address)
    };
    let causes = told().into_iter().filter(next);
    causes.map(|told| told.field("cause").unwrap_or_default().to_owned()).collect()
}

/// Keeps the driver's events of every thread. Installed once, for the whole process: no subscriber comes or
/// goes while tests run, so no callsite is ever off.
pub(crate) fn install() {
    let subscriber = tracing_subscriber::registry().with(Keep);
    tracing::subscriber::set_global_default(subscriber).unwrap();
}

struct Keep;

impl<S: Subscriber> Layer<S> for Keep {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let metadata = event.metadata();
        if !metadata.target().starts_with("messina") || *metadata.level() > Level::DEBUG {
            return;
        }
        let at = BEGUN.get().map(|begun| begun.elapsed()).unwrap_or_default();
        let (target, level) = (metadata.target(), *metadata.level());
        let mut told = Told { at, target, level, message: String::new(), fields: Vec::new() };
        event.record(&mut told);
        TOLD.with_borrow_mut(|all| all.push(told));
    }
}

impl Visit for Told {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.message, "{value:?}");
        } else {
            self.fields.push((field.name(), format!("{value:?}")));
        }
    }
}

/// Prints what the driver told if the test that holds it fails.
#[derive(Debug)]
pub(crate) struct OnFailure;

impl Drop for OnFailure {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let line = |told: &Told| format!("{:>7.2}s {told}", told.at.as_secs_f64());
            let lines: Vec<String> = told().iter().map(line).collect();
            eprintln!("the driver told:\n{}", lines.join("\n"));
        }
    }
}
