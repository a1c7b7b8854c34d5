//! What was logged on the thread of a test.

use std::{cell::RefCell, fmt, sync::Once};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt},
    util::SubscriberInitExt,
};

thread_local! {
    static SEEN: RefCell<Vec<Seen>> = const { RefCell::new(Vec::new()) };
}

/// One event.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) level: Level,
    pub(crate) message: String,
    fields: Vec<(&'static str, String)>,
}

impl Seen {
    /// The value of a field, as it prints.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.fields.push((name, format!("{value:?}"))),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.push((field.name(), value.to_owned()));
    }
}

/// Collects the events of this crate on this thread: tests run on runtimes of one thread.
pub(crate) struct Events(());

impl Events {
    /// Forgets what was logged until now.
    pub(crate) fn watch() -> Self {
        static INSTALL: Once = Once::new();
        INSTALL.call_once(|| tracing_subscriber::registry().with(Collect).init());
        SEEN.with_borrow_mut(Vec::clear);
        Self(())
    }

    /// The events whose message contains this text.
    pub(crate) fn with(&self, text: &str) -> Vec<Seen> {
        SEEN.with_borrow(|seen| seen.iter().filter(|event| event.message.contains(text)).cloned().collect())
    }

    /// How many warnings have a message that contains this text.
    pub(crate) fn warned(&self, text: &str) -> usize {
        self.warnings().iter().filter(|event| event.message.contains(text)).count()
    }

    /// The warnings.
    pub(crate) fn warnings(&self) -> Vec<Seen> {
        SEEN.with_borrow(|seen| seen.iter().filter(|event| event.level == Level::WARN).cloned().collect())
    }
}

struct Collect;

impl<S: Subscriber> Layer<S> for Collect {
    fn enabled(&self, metadata: &Metadata<'_>, _context: Context<'_, S>) -> bool {
        metadata.target().starts_with("messina")
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut seen = Seen { level: *event.metadata().level(), message: String::new(), fields: Vec::new() };
        event.record(&mut seen);
        SEEN.with_borrow_mut(|all| all.push(seen));
    }
}
