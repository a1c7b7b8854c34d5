//! A setting that cannot be used.

use std::{error, fmt};

/// Names the option, the value that was refused, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    option: String,
    value: String,
    allowed: String,
}

impl ConfigError {
    /// `value` is not what `option` allows.
    pub fn new(option: impl Into<String>, value: impl fmt::Display, allowed: impl Into<String>) -> Self {
        Self { option: option.into(), value: value.to_string(), allowed: allowed.into() }
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

    /// What is allowed.
    #[must_use]
    pub fn allowed(&self) -> &str {
        &self.allowed
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "option `{}` has the value {:?}; allowed is {}", self.option, self.value, self.allowed)
    }
}

impl error::Error for ConfigError {}
