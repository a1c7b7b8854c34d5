//! QUERY, PREPARE, EXECUTE, BATCH.

use bytes::Bytes;

use super::reply::Reply;
use super::{Connection, system};
use crate::protocol::Dialect;
use crate::testkit::Answer;
use crate::testkit::answer::Body;
use crate::testkit::prime::{Maker, Prime, Primed, Request};
use crate::testkit::rows::Page;
use crate::testkit::wire::Params;
use crate::testkit::wire::request::{BatchStatement, TextOrId};
use crate::testkit::wire::response::{Written, digest};

const INVALID: i32 = 0x2200;

impl Connection {
    pub(super) fn query(&self, text: &str, params: Params, dialect: Dialect, metadata_id: Option<Bytes>) -> Reply {
        let answer = self.answer(text, &params);
        let bad_state = params.paging_state.as_ref().is_some_and(|state| Page::from_state(state).is_none());
        if bad_state && matches!(answer.body, Body::Rows(_)) {
            return Reply::protocol_error("Invalid value for the paging state");
        }
        let mut reply = Reply::from(Written::answer(&answer, dialect, &params, metadata_id.as_deref()));
        reply.delay = answer.delay;
        reply
    }

    pub(super) fn prepare(&self, text: &str, dialect: Dialect) -> Reply {
        let prime = match self.prime_of(text) {
            Ok(prime) => prime,
            Err(answer) => {
                return Written::answer(&answer, dialect, &Params::default(), None).into();
            }
        };
        let id = digest(text.as_bytes());
        self.node.prepared().insert(id.to_vec(), text.to_owned());
        Written::prepared(&id, &prime, dialect).into()
    }

    pub(super) fn execute(&self, id: &[u8], params: Params, dialect: Dialect, metadata_id: Option<Bytes>) -> Reply {
        let text = self.node.prepared().get(id).cloned();
        let Some(text) = text else {
            return Written::answer(&Answer::unprepared(id), dialect, &params, None).into();
        };
        self.query(&text, params, dialect, metadata_id)
    }

    /// The first answer that is more than "done", or "done".
    pub(super) fn batch(&self, statements: Vec<BatchStatement>, params: &Params, dialect: Dialect) -> Reply {
        let mut answer = Answer::void();
        for statement in statements {
            let text = match statement.what {
                TextOrId::Text(text) => Ok(text),
                TextOrId::Id(id) => {
                    let text = self.node.prepared().get(id.as_ref()).cloned();
                    text.ok_or_else(|| Answer::unprepared(&id))
                }
            };
            let single = Params {
                consistency: params.consistency,
                values: statement.values,
                timestamp: params.timestamp,
                now_in_seconds: params.now_in_seconds,
                payload: params.payload.clone(),
                ..Params::default()
            };
            answer = match text {
                Ok(text) => self.answer(&text, &single),
                Err(unprepared) => unprepared,
            };
            if answer.body != Body::Void {
                break;
            }
        }
        let mut reply = Reply::from(Written::answer(&answer, dialect, params, None));
        reply.delay = answer.delay;
        reply
    }

    /// What the node answers to a statement.
    fn answer(&self, text: &str, params: &Params) -> Answer {
        if let Some(Primed { prime, maker }) = self.node.cluster.primes.find(text) {
            return match maker {
                Maker::Fixed(answer) => (*answer).clone(),
                Maker::Closure(closure) => closure(&Request {
                    node: self.node.index,
                    text: text.to_owned(),
                    values: params.values.clone(),
                    consistency: params.consistency,
                    page_size: params.page_size,
                    paging_state: params.paging_state.clone(),
                    timestamp: params.timestamp,
                    now_in_seconds: params.now_in_seconds,
                    payload: params.payload.clone(),
                    params: prime.params,
                }),
            };
        }
        system::answer(&self.node, text).unwrap_or_else(|| unknown(text))
    }

    /// What PREPARE says about a statement.
    fn prime_of(&self, text: &str) -> Result<Prime, Answer> {
        if let Some(Primed { prime, .. }) = self.node.cluster.primes.find(text) {
            let markers = text.matches('?').count();
            if prime.params.is_empty() && markers > 0 {
                let text = format!("the statement has {markers} markers: prime it with their types (Prime::params)");
                return Err(Answer::error(INVALID, text));
            }
            return Ok(prime);
        }
        match system::answer(&self.node, text) {
            Some(answer) => match answer.body {
                Body::Error { .. } => Err(answer),
                Body::Rows(rows) => Ok(Prime { columns: rows.columns.clone(), ..Prime::new(text) }),
                _ => Ok(Prime::new(text)),
            },
            None => Err(unknown(text)),
        }
    }
}

fn unknown(text: &str) -> Answer {
    Answer::error(INVALID, format!("no answer is primed for: {text}"))
}
