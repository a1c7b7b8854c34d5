//! Affinity of requests that are JSON, for those who have no SDK.

use serde_json::{Map, Value};

use super::{KeyValue, Mode, ReturnValues, Write, WriteFacts};

/// A write as its JSON tells it: where its key is to be looked for.
pub(in crate::alternator) enum Wanted {
    /// One item of one table.
    One(String, Map<String, Value>),
    /// Several items, each of a table.
    Batch(Vec<(String, Map<String, Value>)>),
}

/// What of a request has a key that decides where it goes, if its operation has affinity in this mode.
pub(in crate::alternator) fn wanted(mode: Mode, operation: &str, body: &[u8]) -> Option<Wanted> {
    let write = match operation {
        "PutItem" => Some(Write::Put),
        "DeleteItem" => Some(Write::Delete),
        "UpdateItem" => Some(Write::Update),
        "BatchWriteItem" if mode.applies_to_batch() => None,
        _ => return None,
    };
    if mode == Mode::None {
        return None;
    }
    let Ok(Value::Object(mut body)) = serde_json::from_slice(body) else { return None };
    let Some(write) = write else { return batch(&body).map(Wanted::Batch) };
    if !mode.applies(write, &facts(&body)) {
        return None;
    }
    let table = body.get("TableName")?.as_str()?.to_owned();
    let item = if write == Write::Put { "Item" } else { "Key" };
    match body.remove(item)? {
        Value::Object(item) => Some(Wanted::One(table, item)),
        _ => None,
    }
}

fn facts(body: &Map<String, Value>) -> WriteFacts<'_> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let updates = body.get("AttributeUpdates").and_then(Value::as_object);
    let by_value = |update: &Value| match update.get("Action").and_then(Value::as_str) {
        Some("ADD") => true,
        Some("DELETE") => update.get("Value").is_some(),
        _ => false,
    };
    WriteFacts {
        condition_expression: text("ConditionExpression"),
        update_expression: text("UpdateExpression"),
        expected: body.get("Expected").and_then(Value::as_object).map_or(0, Map::len),
        return_values: match text("ReturnValues") {
            Some("ALL_OLD") => ReturnValues::AllOld,
            Some("UPDATED_OLD") => ReturnValues::UpdatedOld,
            Some("ALL_NEW") => ReturnValues::AllNew,
            Some("UPDATED_NEW") => ReturnValues::UpdatedNew,
            _ => ReturnValues::None,
        },
        updates_by_value: updates.is_some_and(|updates| updates.values().any(by_value)),
    }
}

/// The items that are put and the keys that are deleted; a request that is both, or neither, has no vote.
fn batch(body: &Map<String, Value>) -> Option<Vec<(String, Map<String, Value>)>> {
    let tables = body.get("RequestItems")?.as_object()?;
    let mut writes = Vec::new();
    for (table, requests) in tables {
        for request in requests.as_array().into_iter().flatten() {
            let part = |kind: &str, item: &str| request.get(kind)?.get(item)?.as_object();
            let item = match (request.get("PutRequest"), request.get("DeleteRequest")) {
                (Some(_), None) => part("PutRequest", "Item"),
                (None, Some(_)) => part("DeleteRequest", "Key"),
                _ => None,
            };
            writes.extend(item.map(|item| (table.clone(), item.clone())));
        }
    }
    Some(writes)
}

/// The hash of an attribute, if it is of a type that a key may have.
pub(in crate::alternator) fn hash_of(item: &Map<String, Value>, attribute: &str) -> Option<i64> {
    let value = item.get(attribute)?.as_object()?;
    let text = |kind: &str| value.get(kind).and_then(Value::as_str);
    if let Some(text) = text("S") {
        return Some(KeyValue::S(text).hash());
    }
    if let Some(number) = text("N") {
        return Some(KeyValue::N(number).hash());
    }
    text("B").and_then(base64).map(|bytes| KeyValue::B(&bytes).hash())
}

/// The partition key's name in the answer to `DescribeTable`.
pub(in crate::alternator) fn key_name(answer: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let schema = answer.get("Table")?.get("KeySchema")?.as_array()?;
    let hash = schema.iter().find(|key| key.get("KeyType").and_then(Value::as_str) == Some("HASH"))?;
    hash.get("AttributeName")?.as_str().map(str::to_owned)
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let text = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for group in text.chunks(4) {
        let mut bits: u32 = 0;
        for byte in group {
            bits = bits << 6 | u32::from(digit(*byte)?);
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}
