//! Fields of a file, by name, each missing or wrong one an error that says so.

use serde_json::Value;

use super::BundleError;

/// A part of a file, and the path that leads to it.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    file: &'a str,
    path: &'a str,
    value: &'a Value,
}

impl<'a> Fields<'a> {
    pub(super) fn new(file: &'a str, value: &'a Value) -> Self {
        Self { file, path: "", value }
    }

    /// The part that stands under `path` of this file.
    pub(super) fn at(self, path: &'a str, value: &'a Value) -> Self {
        Self { path, value, ..self }
    }

    pub(super) fn error(self, field: &str, problem: impl Into<String>) -> BundleError {
        let name = match (self.path, field) {
            ("", field) => field.to_owned(),
            (path, "") => path.to_owned(),
            (path, field) => format!("{path}.{field}"),
        };
        BundleError::of_field(self.file, name, problem)
    }

    /// The value; `None` if it is missing or null.
    pub(super) fn get(self, field: &str) -> Option<&'a Value> {
        self.value.get(field).filter(|value| !value.is_null())
    }

    /// A text that is not empty; `None` if it is missing.
    pub(super) fn text(self, field: &str) -> Result<Option<&'a str>, BundleError> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.error(field, "is not text")),
        }
    }

    /// A text that has to be there.
    pub(super) fn required(self, field: &str) -> Result<&'a str, BundleError> {
        self.text(field)?.ok_or_else(|| self.error(field, "is missing"))
    }

    pub(super) fn flag(self, field: &str) -> Result<bool, BundleError> {
        match self.get(field) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.error(field, "is neither true nor false")),
        }
    }

    pub(super) fn port(self, field: &str) -> Result<u16, BundleError> {
        let value = self.get(field).ok_or_else(|| self.error(field, "is missing"))?;
        let port = value.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
        port.ok_or_else(|| self.error(field, format!("is {value}, and not a port from 1 to 65535")))
    }
}
