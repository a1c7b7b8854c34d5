//! Reads what is logged, on this thread, while it lives.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, OnceLock},
};

use tracing::{
    Dispatch, Event, Level, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::{DefaultGuard, NoSubscriber},
};
use tracing_subscriber::{Layer, layer::Context, layer::SubscriberExt};

/// One event or span.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) level: Level,
    pub(crate) text: String,
    pub(crate) fields: BTreeMap<&'static str, String>,
}

type Lines = Arc<Mutex<Vec<Line>>>;

/// Keeps events and the spans that were opened.
pub(crate) struct Capture {
    events: Lines,
    spans: Lines,
    _guard: DefaultGuard,
}

impl Capture {
    pub(crate) fn start() -> Self {
        be_one_of_several();
        let (events, spans) = (Lines::default(), Lines::default());
        let sink = Sink { events: Arc::clone(&events), spans: Arc::clone(&spans) };
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(sink));
        Self { events, spans, _guard: guard }
    }

    /// Events of this crate with this text.
    pub(crate) fn events(&self, text: &str) -> Vec<Line> {
        self.events.lock().unwrap().iter().filter(|line| line.text == text).cloned().collect()
    }

    /// Events of this level.
    pub(crate) fn at(&self, level: Level) -> Vec<Line> {
        self.events.lock().unwrap().iter().filter(|line| line.level == level).cloned().collect()
    }

    pub(crate) fn spans(&self) -> Vec<Line> {
        self.spans.lock().unwrap().clone()
    }
}

/// While there is but one subscriber, each place that logs asks the thread that passes it first whether anyone
/// listens, and remembers the answer for all threads. With more than one, all subscribers are asked.
fn be_one_of_several() {
    static OTHERS: OnceLock<[Dispatch; 2]> = OnceLock::new();
    OTHERS.get_or_init(|| [(); 2].map(|()| Dispatch::new(NoSubscriber::new())));
}

struct Sink {
    events: Lines,
    spans: Lines,
}

impl<S: Subscriber> Layer<S> for Sink {
    fn on_event(&self, event: &Event<'_>, _ctx: Context<'_, S>) {
        if event.metadata().target().starts_with("messina_layers") {
            let mut fields = Fields::default();
            event.record(&mut fields);
            self.events.lock().unwrap().push(fields.line(*event.metadata().level()));
        }
    }

    fn on_new_span(&self, attrs: &span::Attributes<'_>, _id: &span::Id, _ctx: Context<'_, S>) {
        if attrs.metadata().target().starts_with("messina_layers") {
            let mut fields = Fields::default();
            attrs.record(&mut fields);
            fields.text = attrs.metadata().name().to_owned();
            self.spans.lock().unwrap().push(fields.line(*attrs.metadata().level()));
        }
    }
}

#[derive(Default)]
struct Fields {
    text: String,
    fields: BTreeMap<&'static str, String>,
}

impl Fields {
    fn line(self, level: Level) -> Line {
        Line { level, text: self.text, fields: self.fields }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.text = format!("{value:?}");
        } else {
            self.fields.insert(field.name(), format!("{value:?}"));
        }
    }
}
