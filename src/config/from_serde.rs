//! Settings from a file of any format that serde reads.
//!
//! Sections may be nested or written with dots, and both may be mixed. Numbers, truth values, texts and lists of these
//! are values; a null leaves an option out. Each value is taken as text and goes the way of [`Draft::set`], so that a
//! file and a program know the same options and are told the same mistakes.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};

use super::{Config, Draft};
use crate::error::ConfigError;

/// How deep sections may be nested; no option is deeper than five.
const DEPTH: usize = 16;

/// What a file says, without any meaning.
enum Value {
    Nothing,
    Text(String),
    List(Vec<Value>),
    Section(Vec<(String, Value)>),
}

impl<'de> Deserialize<'de> for Draft {
    /// Every option starts from its default. A secret in the file is refused by [`check`](Draft::check).
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        // Only now: a mistake is told in our words, and no reader adds the line, which might hold a secret.
        from_value(value).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Config {
    /// A [`Draft`] that passed its check. Inside a structure of the application's prefer the draft: a reader adds the
    /// line of a mistake to its error, whatever stands on it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Draft::deserialize(deserializer)?.check().map_err(D::Error::custom)
    }
}

fn from_value(value: Value) -> Result<Draft, ConfigError> {
    let mut options = BTreeMap::new();
    flatten(String::new(), value, 0, &mut options)?;
    let mut draft = Draft::default();
    for (option, value) in options {
        match draft.set(&option, &value) {
            // Told by the check: the error of a reader may hold the line, and so the secret.
            Err(error) if error.is_hidden() => draft.refused = draft.refused.or(Some(error)),
            result => result?,
        }
    }
    Ok(draft)
}

fn flatten(at: String, value: Value, depth: usize, into: &mut BTreeMap<String, String>) -> Result<(), ConfigError> {
    let text = match value {
        Value::Nothing => return Ok(()),
        Value::Section(entries) if depth < DEPTH => {
            for (key, value) in entries {
                let at = if at.is_empty() { key } else { format!("{at}.{key}") };
                flatten(at, value, depth + 1, into)?;
            }
            return Ok(());
        }
        Value::Section(_) => return Err(ConfigError::new(at, "a section", "a value at this depth")),
        Value::Text(text) => text,
        Value::List(items) => {
            let mut texts = Vec::with_capacity(items.len());
            for item in items {
                match item {
                    Value::Text(text) if !text.contains(',') => texts.push(text),
                    Value::Text(text) => return Err(ConfigError::new(at, text, "one item per entry of the list")),
                    _ => return Err(ConfigError::new(at, "a list of something else", "a list of texts or numbers")),
                }
            }
            texts.join(", ")
        }
    };
    if at.is_empty() {
        return Err(ConfigError::new("settings", text, "sections `basic` and `advanced`"));
    }
    match into.insert(at.clone(), text.clone()) {
        None => Ok(()),
        Some(_) => Err(ConfigError::new(at, text, "one value; it is written twice, nested and with dots")),
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a section, a text, a number, true or false, or a list")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut section = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            section.push(entry);
        }
        Ok(Value::Section(section))
    }
}
