//! A setting that cannot be used.

use std::{error, fmt};

/// Names the option, the value that was refused, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    option: String,
    value: String,
    allowed: String,
    known: bool,
}

/// In place of a value that must not be printed.
const HIDDEN: &str = "(hidden)";

impl ConfigError {
    /// `value` is not what `option` allows.
    pub fn new(option: impl Into<String>, value: impl fmt::Display, allowed: impl Into<String>) -> Self {
        Self { option: option.into(), value: value.to_string(), allowed: allowed.into(), known: true }
    }

    /// There is no option of this name; `instead` says what to do.
    pub(crate) fn unknown(option: &str, value: &str, instead: impl Into<String>) -> Self {
        Self { known: false, ..Self::new(option, value, instead) }
    }

    /// There is no option of this name, and its value may be a secret.
    pub(crate) fn hidden(option: &str, instead: impl Into<String>) -> Self {
        Self::unknown(option, HIDDEN, instead)
    }

    /// Whether the value may be a secret.
    #[cfg(feature = "serde")]
    pub(crate) fn is_hidden(&self) -> bool {
        self.value == HIDDEN
    }

    /// The option, under the name of the settings file.
    #[must_use]
    pub fn option(&self) -> &str {
        &self.option
    }

    /// The value that was refused.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// What is allowed; for an option that does not exist, what to do instead.
    #[must_use]
    pub fn allowed(&self) -> &str {
        &self.allowed
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.known {
            return write!(f, "there is no option `{}`; {}", self.option, self.allowed);
        }
        write!(f, "option `{}` has the value {:?}; allowed is {}", self.option, self.value, self.allowed)
    }
}

impl error::Error for ConfigError {}
