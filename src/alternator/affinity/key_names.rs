//! The partition key's name of each table: given by the user, or found out once and remembered.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use messina_layers::Backoff;
use tokio::time::Instant;

use crate::alternator::pace::after;

/// How many tables are remembered besides those the user named.
const REMEMBERED: usize = 10_000;

/// How names are found out.
#[derive(Clone, Debug)]
pub struct LookupOptions {
    tries: u32,
    delay: Duration,
    max_delay: Duration,
    cooldown: Duration,
    seed: Option<u64>,
}

impl Default for LookupOptions {
    /// Four tries, 100 milliseconds doubling to 2 seconds between them, varied by 20 %; 5 minutes of rest after a failure
    /// that another try would not change.
    fn default() -> Self {
        Self {
            tries: 4,
            delay: Duration::from_millis(100),
            max_delay: Duration::from_secs(2),
            cooldown: Duration::from_secs(300),
            seed: None,
        }
    }
}

impl LookupOptions {
    /// How many tries a lookup has; 0 counts as 1.
    #[must_use]
    pub const fn with_tries(mut self, tries: u32) -> Self {
        self.tries = if tries == 0 { 1 } else { tries };
        self
    }

    /// How long a table rests after a failure that another try would not change.
    #[must_use]
    pub const fn with_cooldown(mut self, cooldown: Duration) -> Self {
        self.cooldown = cooldown;
        self
    }

    /// The same delays every time, for tests.
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }
}

/// Why a name was not found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupError {
    /// Another try would not change it: no such table, no permission, a refused request, no partition key.
    Permanent,
    /// It may pass: too many requests, the server's fault, no answer.
    Transient,
}

impl LookupError {
    /// What an answer that is no success means: 429 and 5xx may pass, the rest will not.
    #[must_use]
    pub const fn of_status(status: u16) -> Self {
        match status {
            400..=428 | 430..=499 => Self::Permanent,
            _ => Self::Transient,
        }
    }
}

/// What is known of a table's partition key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyName {
    /// Its name.
    Known(Arc<str>),
    /// Nothing: find it out now, with `DescribeTable` of this table, and tell [`KeyNames::found`] or
    /// [`KeyNames::failed`]. The request itself goes on without affinity, with all its attempts.
    Ask(Arc<str>),
    /// Nothing yet, and nothing is to be done: it is being found out, or rests after a failure.
    Unknown,
}

#[derive(Clone, Debug)]
enum Entry {
    Known(Arc<str>),
    /// A lookup is under way.
    Asking(Backoff, u32),
    /// Not before then.
    Resting(Instant),
}

/// The names by table. A table is the same under its name and under its ARN.
#[derive(Clone, Debug)]
pub struct KeyNames {
    given: HashMap<Arc<str>, Arc<str>>,
    entries: HashMap<Arc<str>, Entry>,
    options: LookupOptions,
}

impl KeyNames {
    /// Nothing known.
    #[must_use]
    pub fn new(options: LookupOptions) -> Self {
        Self { given: HashMap::new(), entries: HashMap::new(), options }
    }

    /// A name that the user gives: it is never asked for and never forgotten.
    ///
    /// # Errors
    /// A sentence, if the table's name or the attribute's is empty.
    pub fn with_given(mut self, table: &str, attribute: &str) -> Result<Self, EmptyName> {
        let name = table_of(table);
        if name.is_empty() || attribute.is_empty() {
            return Err(EmptyName { table: table.to_owned(), attribute: attribute.to_owned() });
        }
        self.given.insert(name.into(), attribute.into());
        Ok(self)
    }

    /// What is known now, and whether to find it out: at most one lookup per table is under way.
    pub fn look_up(&mut self, table: &str, now: Instant) -> KeyName {
        let table = table_of(table);
        if let Some(name) = self.given.get(table) {
            return KeyName::Known(Arc::clone(name));
        }
        match self.entries.get(table) {
            Some(Entry::Known(name)) => return KeyName::Known(Arc::clone(name)),
            Some(Entry::Asking(..)) => return KeyName::Unknown,
            Some(Entry::Resting(until)) if now < *until => return KeyName::Unknown,
            Some(Entry::Resting(_)) | None => {}
        }
        if table.is_empty() || !self.has_room(now) {
            return KeyName::Unknown;
        }
        let backoff = Backoff::new(self.options.delay, self.options.max_delay).with_jitter_percent(20);
        let backoff = match self.options.seed {
            Some(seed) => backoff.with_seed(seed),
            None => backoff,
        };
        let table: Arc<str> = table.into();
        self.entries.insert(Arc::clone(&table), Entry::Asking(backoff, 1));
        KeyName::Ask(table)
    }

    fn has_room(&mut self, now: Instant) -> bool {
        if self.entries.len() >= REMEMBERED {
            self.entries.retain(|_, entry| !matches!(entry, Entry::Resting(until) if *until <= now));
        }
        self.entries.len() < REMEMBERED
    }

    /// A lookup has found the name. One that was [forgotten](Self::forget) meanwhile is dropped.
    pub fn found(&mut self, table: &str, attribute: &str) {
        if let Some(entry @ Entry::Asking(..)) = self.entries.get_mut(table_of(table)) {
            *entry = Entry::Known(attribute.into());
        }
    }

    /// A try of a lookup has failed; gives the delay before the next try, or `None` if the lookup has ended.
    pub fn failed(&mut self, table: &str, error: LookupError, now: Instant) -> Option<Duration> {
        let table = table_of(table);
        let Some(Entry::Asking(backoff, tries)) = self.entries.get_mut(table) else { return None };
        if error == LookupError::Permanent {
            let until = after(now, self.options.cooldown);
            self.entries.insert(table.into(), Entry::Resting(until));
            return None;
        }
        if *tries >= self.options.tries {
            self.entries.remove(table);
            return None;
        }
        *tries += 1;
        Some(backoff.next_delay())
    }

    /// Forgets a table: it is created anew and its key may be another, or a lookup was given up half-way.
    pub fn forget(&mut self, table: &str) {
        self.entries.remove(table_of(table));
    }
}

/// The table's name in `arn:...:table/NAME`, or else the text itself.
fn table_of(text: &str) -> &str {
    match text.strip_prefix("arn:").and_then(|arn| arn.split_once(":table/")) {
        Some((_, resource)) => resource.split('/').next().unwrap_or(resource),
        None => text,
    }
}

/// A table or an attribute without a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmptyName {
    table: String,
    attribute: String,
}

impl fmt::Display for EmptyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, attribute } = self;
        write!(f, "the partition key {attribute:?} of the table {table:?}: neither name may be empty")
    }
}

impl std::error::Error for EmptyName {}
