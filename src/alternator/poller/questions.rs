//! The questions of one cycle that are out.

use std::{
    collections::HashSet,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use messina_layers::BoxError;

use crate::alternator::{
    ask::{AskError, Asker},
    discovery::{Question, Ticket},
    localnodes::{BodyError, Listed},
    node::Node,
    scope::{Filters, Scope, impossible_rack},
};

/// The hosts that are known to filter by data centre and rack.
#[derive(Clone, Debug, Default)]
pub(in crate::alternator) struct FilterBook(Arc<Mutex<HashSet<Node>>>);

impl FilterBook {
    fn knows(&self, host: &Node) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(host)
    }

    fn add(&self, host: &Node) {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() > 10_000 {
            hosts.clear();
        }
        hosts.insert(host.clone());
    }
}

/// What became of a question.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) ticket: Ticket,
    pub(super) host: Node,
    pub(super) result: Result<Listed, AskError>,
}

/// Dropping it drops the questions.
#[derive(Debug)]
pub(super) struct Questions(FuturesUnordered<BoxFuture<'static, Answered>>);

impl Questions {
    pub(super) fn new() -> Self {
        Self(FuturesUnordered::new())
    }

    pub(super) fn ask(&mut self, asker: &Asker, filters: &FilterBook, question: Question) {
        let (asker, filters) = (asker.clone(), filters.clone());
        self.0.push(Box::pin(async move {
            let host = question.candidate.host();
            let asked = AssertUnwindSafe(ask(&asker, &filters, &question)).catch_unwind().await;
            let panicked = |_| Err(AskError::NoAnswer(BoxError::from("the HTTP client panicked").into()));
            Answered { ticket: question.ticket, host, result: asked.unwrap_or_else(panicked) }
        }));
    }

    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Answered> {
        match self.0.poll_next_unpin(cx) {
            Poll::Ready(Some(answered)) => Poll::Ready(answered),
            _ => Poll::Pending,
        }
    }
}

async fn ask(asker: &Asker, filters: &FilterBook, question: &Question) -> Result<Listed, AskError> {
    let Question { candidate, scope, deadline, .. } = question;
    let host = candidate.host();
    if !scope.is_cluster() && !filters.knows(&host) {
        // An older node answers as if there were no filter, which would pass for the scope.
        let plain = asker.list(candidate, &Scope::cluster().path(), *deadline).await?;
        let impossible = match asker.list(candidate, impossible_rack(), *deadline).await {
            Ok(listed) => listed.nodes.len(),
            Err(AskError::Body(BodyError::NoneValid)) => 0,
            Err(error) => return Err(error),
        };
        match Filters::of(plain.nodes.len(), impossible) {
            Filters::Known => filters.add(&host),
            Filters::Ignored => return Err(AskError::FiltersIgnored),
            Filters::Unclear => {}
        }
    }
    asker.list(candidate, &scope.path(), *deadline).await
}
