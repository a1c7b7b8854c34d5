//! Spans and warnings of this crate on the thread of a test.

use std::{cell::RefCell, fmt, sync::Once};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt},
    util::SubscriberInitExt,
};

thread_local! {
    static SPANS: RefCell<Vec<(Id, Span)>> = const { RefCell::new(Vec::new()) };
    static WARNINGS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

#[derive(Default)]
struct Span {
    name: &'static str,
    fields: Vec<(&'static str, String)>,
}

impl Visit for Span {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let value = format!("{value:?}");
        match self.fields.iter_mut().find(|(name, _)| *name == field.name()) {
            Some((_, before)) => *before = value,
            None => self.fields.push((field.name(), value)),
        }
    }
}

/// Looks at what the tasks of this thread do.
pub(crate) struct Log(());

impl Log {
    /// Forgets what was until now.
    pub(crate) fn watch() -> Self {
        static INSTALL: Once = Once::new();
        INSTALL.call_once(|| tracing_subscriber::registry().with(Collect).init());
        SPANS.with_borrow_mut(Vec::clear);
        WARNINGS.with_borrow_mut(Vec::clear);
        Self(())
    }

    /// Every span with its fields, as `name{field=value}`.
    pub(crate) fn spans(&self) -> Vec<String> {
        let show = |(_, span): &(Id, Span)| {
            let fields: Vec<_> = span.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("{}{{{}}}", span.name, fields.join(","))
        };
        SPANS.with_borrow(|spans| spans.iter().map(show).collect())
    }

    /// How many warnings contain this text.
    pub(crate) fn warned(&self, text: &str) -> usize {
        WARNINGS.with_borrow(|warnings| warnings.iter().filter(|warning| warning.contains(text)).count())
    }
}

struct Collect;

impl<S: Subscriber> Layer<S> for Collect {
    fn enabled(&self, metadata: &Metadata<'_>, _context: Context<'_, S>) -> bool {
        metadata.target().starts_with("messina")
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _context: Context<'_, S>) {
        let mut span = Span { name: attributes.metadata().name(), ..Span::default() };
        attributes.record(&mut span);
        SPANS.with_borrow_mut(|spans| spans.push((id.clone(), span)));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _context: Context<'_, S>) {
        SPANS.with_borrow_mut(|spans| {
            // The id of a closed span may be given again.
            if let Some((_, span)) = spans.iter_mut().rev().find(|(known, _)| known == id) {
                values.record(span);
            }
        });
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        if *event.metadata().level() == Level::WARN {
            let mut fields = Span::default();
            event.record(&mut fields);
            let text = fields.fields.into_iter().map(|(_, value)| value).collect::<Vec<_>>().join(" ");
            WARNINGS.with_borrow_mut(|warnings| warnings.push(text));
        }
    }
}
