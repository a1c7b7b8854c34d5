//! Of which keyspaces the schema is read.

use crate::error::ConfigError;

const OPTION: &str = "advanced.metadata.schema.refreshed-keyspaces";

/// Which keyspaces' schema is read: those that are named, or all but those that are left out.
///
/// A rule is a name, or a pattern in which `*` stands for anything; with `!` before it, what it matches is left out. A
/// name counts more than a pattern. Where no rule takes anything in, everything is that is not left out. Names are
/// compared as the server has them, case and all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyspaceRules {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    leaves_out: bool,
    pattern: String,
}

impl Default for KeyspaceRules {
    /// All but `system` and `system_*`.
    fn default() -> Self {
        let rules = ["system", "system_*"].map(|pattern| Rule { leaves_out: true, pattern: pattern.to_owned() });
        Self { rules: rules.to_vec() }
    }
}

impl KeyspaceRules {
    /// # Errors
    /// If a rule is empty, or names what no keyspace can be called.
    pub fn new<R: AsRef<str>>(rules: impl IntoIterator<Item = R>) -> Result<Self, ConfigError> {
        let rule = |text: R| {
            let text = text.as_ref();
            let (leaves_out, pattern) = text.strip_prefix('!').map_or((false, text), |pattern| (true, pattern));
            let possible = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '*';
            if pattern.is_empty() || !pattern.chars().all(possible) {
                let allowed =
                    "names of letters, digits and `_`, with `*` for anything, and `!` before what is left out";
                return Err(ConfigError::new(OPTION, text, allowed));
            }
            Ok(Rule { leaves_out, pattern: pattern.to_owned() })
        };
        Ok(Self { rules: rules.into_iter().map(rule).collect::<Result<_, _>>()? })
    }

    /// Whether this keyspace's schema is read.
    #[must_use]
    pub fn wants(&self, keyspace: &str) -> bool {
        let says = |exact: bool, leaves_out: bool| {
            let mut rules = self.rules.iter().filter(|rule| rule.leaves_out == leaves_out);
            rules.any(|rule| if exact { rule.pattern == keyspace } else { matches(&rule.pattern, keyspace) })
        };
        if says(true, true) || says(true, false) {
            return !says(true, true);
        }
        let takes_in = self.rules.iter().all(|rule| rule.leaves_out) || says(false, false);
        takes_in && !says(false, true)
    }
}

/// Whether a text is that of a pattern in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        // The earliest place leaves the most for what follows.
        let Some(place) = text.find(part) else { return false };
        text = &text[place + part.len()..];
    }
    text.ends_with(end)
}
