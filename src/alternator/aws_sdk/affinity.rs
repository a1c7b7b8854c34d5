//! Affinity of the SDK's requests, by their typed input.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Weak},
};

use aws_sdk_dynamodb::{
    Client,
    config::{ConfigBag, Intercept, RuntimeComponents, interceptors::BeforeSerializationInterceptorContextMut},
    error::{BoxError, SdkError},
    operation::{
        batch_write_item::BatchWriteItemInput, delete_item::DeleteItemInput, describe_table::DescribeTableError,
        put_item::PutItemInput, update_item::UpdateItemInput,
    },
    types::{AttributeAction, AttributeValue, KeyType, ReturnValue},
};
use aws_smithy_runtime_api::client::interceptors::dyn_dispatch_hint;
use tokio::time::Instant;

use super::headers::Chosen;
use crate::alternator::{
    affinity::{KeyName, KeyValue, LookupError, ReturnValues, Write, WriteFacts},
    balance::Affinity,
    client::Inner,
    keys::Keys,
};

type Item = HashMap<String, AttributeValue>;

pub(super) struct AffinityInterceptor {
    /// The client of the lookups holds this one's services already.
    inner: Weak<Inner>,
    lookups: Client,
}

impl AffinityInterceptor {
    pub(super) fn new(inner: &Arc<Inner>, lookups: Client) -> Self {
        Self { inner: Arc::downgrade(inner), lookups }
    }

    fn chosen(&self, input: &aws_smithy_runtime_api::client::interceptors::context::Input) -> Option<Affinity> {
        let inner = self.inner.upgrade()?;
        let keys = inner.keys.as_ref()?;
        let one = |write, facts: &WriteFacts<'_>, table: Option<&str>, item: Option<&Item>| {
            let item = item.filter(|_| keys.mode.applies(write, facts))?;
            self.hash(keys, &inner, table?, item).map(Affinity::Key)
        };
        if let Some(put) = input.downcast_ref::<PutItemInput>() {
            let facts = WriteFacts {
                condition_expression: put.condition_expression(),
                expected: put.expected().map_or(0, HashMap::len),
                return_values: returned(put.return_values()),
                ..WriteFacts::default()
            };
            return one(Write::Put, &facts, put.table_name(), put.item());
        }
        if let Some(delete) = input.downcast_ref::<DeleteItemInput>() {
            let facts = WriteFacts {
                condition_expression: delete.condition_expression(),
                expected: delete.expected().map_or(0, HashMap::len),
                return_values: returned(delete.return_values()),
                ..WriteFacts::default()
            };
            return one(Write::Delete, &facts, delete.table_name(), delete.key());
        }
        if let Some(update) = input.downcast_ref::<UpdateItemInput>() {
            let by_value = |update: &aws_sdk_dynamodb::types::AttributeValueUpdate| match update.action() {
                Some(AttributeAction::Add) => true,
                Some(AttributeAction::Delete) => update.value().is_some(),
                _ => false,
            };
            let facts = WriteFacts {
                condition_expression: update.condition_expression(),
                update_expression: update.update_expression(),
                expected: update.expected().map_or(0, HashMap::len),
                return_values: returned(update.return_values()),
                updates_by_value: update.attribute_updates().is_some_and(|all| all.values().any(by_value)),
            };
            return one(Write::Update, &facts, update.table_name(), update.key());
        }
        let batch = input.downcast_ref::<BatchWriteItemInput>().filter(|_| keys.mode.applies_to_batch())?;
        let mut hashes = Vec::new();
        for (table, writes) in batch.request_items()? {
            for write in writes {
                let item = match (write.put_request(), write.delete_request()) {
                    (Some(put), None) => put.item(),
                    (None, Some(delete)) => delete.key(),
                    _ => continue,
                };
                hashes.extend(self.hash(keys, &inner, table, item));
            }
        }
        (!hashes.is_empty()).then(|| Affinity::Batch(hashes.into()))
    }

    fn hash(&self, keys: &Keys, inner: &Arc<Inner>, table: &str, item: &Item) -> Option<i64> {
        let name = match keys.look_up(table) {
            KeyName::Known(name) => name,
            KeyName::Unknown => return None,
            KeyName::Ask(table) => {
                keys.spawn(look_up(Arc::clone(inner), self.lookups.clone(), table));
                return None;
            }
        };
        match item.get(&*name)? {
            AttributeValue::S(text) => Some(KeyValue::S(text).hash()),
            AttributeValue::N(number) => Some(KeyValue::N(number).hash()),
            AttributeValue::B(bytes) => Some(KeyValue::B(bytes.as_ref()).hash()),
            _ => None,
        }
    }
}

impl fmt::Debug for AffinityInterceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AffinityInterceptor")
    }
}

#[dyn_dispatch_hint]
impl Intercept for AffinityInterceptor {
    fn name(&self) -> &'static str {
        "messina::AffinityInterceptor"
    }

    fn modify_before_serialization(
        &self,
        context: &mut BeforeSerializationInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(affinity) = self.chosen(context.input()) {
            cfg.interceptor_state().store_put(Chosen(affinity));
        }
        Ok(())
    }
}

fn returned(values: Option<&ReturnValue>) -> ReturnValues {
    match values {
        Some(ReturnValue::AllOld) => ReturnValues::AllOld,
        Some(ReturnValue::AllNew) => ReturnValues::AllNew,
        Some(ReturnValue::UpdatedOld) => ReturnValues::UpdatedOld,
        Some(ReturnValue::UpdatedNew) => ReturnValues::UpdatedNew,
        _ => ReturnValues::None,
    }
}

async fn look_up(inner: Arc<Inner>, lookups: Client, table: Arc<str>) {
    let Some(keys) = &inner.keys else { return };
    loop {
        let error = match ask(&lookups, &table).await {
            Ok(name) => return keys.with(|names| names.found(&table, &name)),
            Err(error) => error,
        };
        match keys.with(|names| names.failed(&table, error, Instant::now())) {
            Some(delay) => tokio::time::sleep(delay).await,
            None => {
                tracing::warn!(%table, ?error, "the partition key of a table is not known");
                return;
            }
        }
    }
}

async fn ask(lookups: &Client, table: &str) -> Result<String, LookupError> {
    let answer = lookups.describe_table().table_name(table).send().await;
    let answer = answer.map_err(|error: SdkError<DescribeTableError, _>| match error.raw_response() {
        Some(answer) => LookupError::of_status(answer.status().as_u16()),
        None => LookupError::Transient,
    })?;
    let schema = answer.table().map(|table| table.key_schema()).unwrap_or_default();
    let hash = schema.iter().find(|key| *key.key_type() == KeyType::Hash).ok_or(LookupError::Permanent)?;
    Ok(hash.attribute_name().to_owned())
}
