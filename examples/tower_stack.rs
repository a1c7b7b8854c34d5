//! A session as a tower service: tower's own middleware around it, and a layer of one's own that traces.
//!
//! `cargo run --example tower_stack --features testkit`; a cluster inside this process answers.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use messina::{
    Request, ResultSet, Session,
    testkit::{Answer, Cluster, Prime, rows},
};
use tokio::time::Instant;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, load_shed::error::Overloaded};
use tracing::Instrument;

const SELECT: &str = "SELECT name FROM ks.users WHERE id = ?";
const AT_A_TIME: usize = 4;

#[tokio::main]
async fn main() -> Result<(), tower::BoxError> {
    tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).without_time().init();
    let cluster = Cluster::builder().start().await?;
    let slow = Answer::from(rows!["name text"; ("Ada",)]).delayed(Duration::from_millis(50));
    cluster.prime(Prime::new(SELECT).of("ks", "users").params("id int").partition_key([0]), slow);
    let session = Session::builder().contact_addr(cluster.node(0).addr()).build().await?;

    let service = ServiceBuilder::new()
        .layer(TraceLayer) // sees what is shed too
        .load_shed() // says no at once, where the limit below would have it wait
        .concurrency_limit(AT_A_TIME)
        .service(session.clone());

    // Bound once: values are serialized, the token is known.
    let request = session.prepare(SELECT).await?.bind((7,))?;
    let calls = (0..10).map(|_| tokio::spawn(service.clone().oneshot(request.clone())));
    let (mut answered, mut shed) = (0, 0);
    for call in calls.collect::<Vec<_>>() {
        match call.await? {
            Ok(result) => {
                assert_eq!(result.one::<(String,)>().await?.0, "Ada");
                answered += 1;
            }
            Err(error) if error.is::<Overloaded>() => shed += 1,
            Err(error) => return Err(error),
        }
    }
    println!("{answered} answered, {shed} shed");

    assert_eq!((answered, shed), (AT_A_TIME, 10 - AT_A_TIME));
    session.close().await;
    Ok(())
}

/// Puts [`Trace`] around a service of requests.
#[derive(Clone, Debug)]
struct TraceLayer;

/// A span around each request, and an event at its end.
#[derive(Clone, Debug)]
struct Trace<S> {
    inner: S,
}

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Trace<S> {
        Trace { inner }
    }
}

impl<S> Service<Request> for Trace<S>
where
    S: Service<Request, Response = ResultSet>,
    S::Error: std::fmt::Display,
    S::Future: Send + 'static,
{
    type Response = ResultSet;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<ResultSet, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let span = tracing::info_span!("query", token = request.token().map(|token| token.0));
        let (since, inner) = (Instant::now(), self.inner.call(request));
        let traced = async move {
            let result = inner.await;
            let elapsed = since.elapsed();
            match &result {
                Ok(result) => tracing::info!(node = %result.served_by(), ?elapsed, "answered"),
                Err(error) => tracing::info!(%error, ?elapsed, "failed"),
            }
            result
        };
        Box::pin(traced.instrument(span))
    }
}
