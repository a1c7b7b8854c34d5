//! Statements as they are written.

use std::sync::Arc;

use super::options::{Options, option_setters, paging_setters};

/// The text of a statement, with how it is to be run.
///
/// ```
/// use std::time::Duration;
/// use messina::{Consistency, Statement};
///
/// let statement = Statement::new("SELECT id FROM ks.users")
///     .with_consistency(Consistency::One)
///     .with_timeout(Duration::from_secs(2))
///     .with_idempotence(true);
/// assert_eq!(statement.text(), "SELECT id FROM ks.users");
/// ```
#[derive(Clone, Debug)]
pub struct Statement {
    pub(super) text: Arc<str>,
    pub(super) keyspace: Option<Arc<str>>,
    pub(super) options: Options,
}

impl Statement {
    /// A statement to be run as the session's settings say.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), keyspace: None, options: Options::default() }
    }

    /// Sets the keyspace of names that have none; needs protocol v5, and fails where an older one is spoken.
    #[must_use]
    pub fn with_keyspace(mut self, keyspace: impl Into<Arc<str>>) -> Self {
        self.keyspace = Some(keyspace.into());
        self
    }

    option_setters!();
    paging_setters!();

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The keyspace of names that have none, if one was set.
    #[must_use]
    pub fn keyspace(&self) -> Option<&str> {
        self.keyspace.as_deref()
    }

    pub(super) fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }
}

impl From<&str> for Statement {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Statement {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&Statement> for Statement {
    fn from(statement: &Statement) -> Self {
        statement.clone()
    }
}

/// Whether this is `USE`, which would change the keyspace of one connection only.
pub(super) fn is_use(text: &str) -> bool {
    let text = after_comments(text);
    let Some((word, rest)) = text.split_at_checked(3) else {
        return false;
    };
    word.eq_ignore_ascii_case("use") && !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_')
}

/// What follows white space and comments.
fn after_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        if text.starts_with("--") || text.starts_with("//") {
            text = text.split_once(['\n', '\r']).map_or("", |(_, rest)| rest);
        } else if let Some(comment) = text.strip_prefix("/*") {
            text = comment.split_once("*/").map_or("", |(_, rest)| rest);
        } else {
            return text;
        }
    }
}
