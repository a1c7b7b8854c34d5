//! The affinity of a request, and the lookups of partition keys' names that it takes.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Limited};
use messina_layers::BoxError;
use tokio::time::Instant;
use tower::ServiceExt;
use tower_service::Service;

use super::{RequestOptions, prepare};
use crate::alternator::{
    affinity::{KeyName, LookupError, Wanted, hash_of, key_name, wanted},
    balance::{Affinity, Operation, operation},
    client::Inner,
    http::Payload,
    keys::Keys,
    sign::SignError,
};

/// The longest answer to `DescribeTable`.
const LONGEST: usize = 1 << 20;

/// Puts its affinity into the extensions of a request, unless it has one. Where a table's partition key is not known, the
/// request has none, and its name is found out beside it.
pub(super) fn affinity<S, B>(
    inner: &Arc<Inner>,
    service: &S,
    options: &Arc<RequestOptions>,
    request: &mut Request<Payload>,
) where
    S: Service<Request<Payload>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: From<SignError> + Send,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let Some(keys) = &inner.keys else { return };
    if request.extensions().get::<Affinity>().is_some() {
        return;
    }
    let Some(wanted) = wanted(keys.mode, Operation::of(request).name(), request.body().bytes()) else { return };
    let known = |table: &str| match keys.look_up(table) {
        KeyName::Known(name) => Some(name),
        KeyName::Unknown => None,
        KeyName::Ask(table) => {
            let lookup = look_up(Arc::clone(inner), service.clone(), Arc::clone(options), Arc::clone(&table));
            keys.spawn(lookup);
            None
        }
    };
    let affinity = match &wanted {
        Wanted::One(table, item) => known(table).and_then(|name| hash_of(item, &name)).map(Affinity::Key),
        Wanted::Batch(writes) => {
            let hash = |(table, item): &(String, _)| known(table).and_then(|name| hash_of(item, &name));
            let hashes: Vec<i64> = writes.iter().filter_map(hash).collect();
            (!hashes.is_empty()).then(|| Affinity::Batch(hashes.into()))
        }
    };
    if let Some(affinity) = affinity {
        request.extensions_mut().insert(affinity);
    }
}

/// Asks until the name is known, or there is no point in asking.
async fn look_up<S, B>(inner: Arc<Inner>, service: S, options: Arc<RequestOptions>, table: Arc<str>)
where
    S: Service<Request<Payload>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: From<SignError> + Send,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let Some(keys) = &inner.keys else { return };
    loop {
        let error = match ask(service.clone(), &options, &table).await {
            Ok(name) => return keys.with(|names| names.found(&table, &name)),
            Err(error) => error,
        };
        match next_try(keys, &table, error) {
            Some(delay) => tokio::time::sleep(delay).await,
            None => return,
        }
    }
}

fn next_try(keys: &Keys, table: &str, error: LookupError) -> Option<std::time::Duration> {
    let delay = keys.with(|names| names.failed(table, error, Instant::now()));
    if delay.is_none() {
        tracing::warn!(table, ?error, "the partition key of a table is not known; its writes have no affinity");
    }
    delay
}

async fn ask<S, B>(service: S, options: &RequestOptions, table: &str) -> Result<String, LookupError>
where
    S: Service<Request<Payload>, Response = Response<B>>,
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let transient = |()| LookupError::Transient;
    let json = serde_json::json!({ "TableName": table }).to_string();
    let mut request = operation("DescribeTable", json).map_err(|_| LookupError::Permanent)?;
    let mut options = options.clone();
    options.wire.compression = None;
    options.wire.compressed_answers = false;
    prepare(&options, &mut request).map_err(|_| LookupError::Permanent)?;
    let answer = service.oneshot(request).await.map_err(|_| transient(()))?;
    let status = answer.status().as_u16();
    let body = std::pin::pin!(Limited::new(answer.into_body(), LONGEST));
    let body = body.collect().await.map_err(|_| transient(()))?.to_bytes();
    if status != 200 {
        return Err(LookupError::of_status(status));
    }
    key_name(&body).ok_or(LookupError::Permanent)
}
