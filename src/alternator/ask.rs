//! One question to one host: `GET /localnodes`.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use messina_layers::BoxError;
use tokio::time::{Instant, timeout, timeout_at};
use tower::{ServiceExt, util::BoxCloneSyncService};

use super::{
    discovery::Candidate,
    http::{Payload, authority_of, host_of},
    localnodes::{BodyError, Limits, Listed, Parser},
};

/// How much of an answer that says nothing is read, so that its connection can be used again.
const DRAINED: usize = 64 << 10;
const DRAIN_TIME: Duration = Duration::from_millis(500);

/// The body of an answer, whatever client it came through.
pub type AnswerBody = UnsyncBoxBody<Bytes, BoxError>;

/// Any HTTP client, behind one type.
pub type Exchange = BoxCloneSyncService<Request<Payload>, Response<AnswerBody>, BoxError>;

/// Why a host said nothing of use.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AskError {
    /// No answer: it could not be connected to, or the connection broke.
    NoAnswer(Arc<dyn Error + Send + Sync>),
    /// No whole answer in time.
    OutOfTime,
    /// Another status than 200.
    Status(u16),
    /// A body that is no list of nodes.
    Body(BodyError),
    /// It does not know the filters of data centres and racks, so its list is not of the scope.
    FiltersIgnored,
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer(cause) => {
                f.write_str("no answer: ")?;
                let mut next: Option<&(dyn Error + 'static)> = Some(&**cause);
                let mut first = true;
                while let Some(error) = next {
                    write!(f, "{}{error}", if first { "" } else { ": " })?;
                    (first, next) = (false, error.source());
                }
                Ok(())
            }
            Self::OutOfTime => f.write_str("no answer in time"),
            Self::Status(status) => write!(f, "it answered status {status}"),
            Self::Body(error) => error.fmt(f),
            Self::FiltersIgnored => f.write_str("it does not know the filters of data centres and racks"),
        }
    }
}

impl Error for AskError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // The chain is part of the text.
            Self::NoAnswer(_) | Self::OutOfTime | Self::Status(_) | Self::FiltersIgnored => None,
            Self::Body(error) => Some(error),
        }
    }
}

/// Asks hosts, all with the same client and the same name.
#[derive(Clone, Debug)]
pub(super) struct Asker {
    pub(super) exchange: Exchange,
    pub(super) user_agent: Option<HeaderValue>,
    pub(super) limits: Limits,
}

impl Asker {
    /// The list of a host. Every wait ends at the deadline.
    pub(super) async fn list(&self, candidate: &Candidate, path: &str, by: Instant) -> Result<Listed, AskError> {
        let answer = self.get(candidate, path, by).await?;
        let mut parser = Parser::new(candidate.node.scheme(), candidate.node.address().port()).with_limits(self.limits);
        let status = answer.status();
        let mut body = answer.into_body();
        if status != http::StatusCode::OK {
            drain(body, by).await;
            return Err(AskError::Status(status.as_u16()));
        }
        while let Some(frame) = timeout_at(by, body.frame()).await.map_err(|_| AskError::OutOfTime)? {
            let frame = frame.map_err(|error| AskError::NoAnswer(error.into()))?;
            if let Some(bytes) = frame.data_ref() {
                parser.push(bytes).map_err(AskError::Body)?;
            }
        }
        parser.finish().map_err(AskError::Body)
    }

    /// The status of the answer to `GET` of a path; the body is read to its end, within limits.
    pub(super) async fn status(&self, candidate: &Candidate, path: &str, by: Instant) -> Result<u16, AskError> {
        let answer = self.get(candidate, path, by).await?;
        let status = answer.status().as_u16();
        drain(answer.into_body(), by).await;
        Ok(status)
    }

    pub(super) async fn get(
        &self,
        candidate: &Candidate,
        path: &str,
        by: Instant,
    ) -> Result<Response<AnswerBody>, AskError> {
        let broken = |error: BoxError| AskError::NoAnswer(error.into());
        let uri = format!("{}://{}{path}", candidate.node.scheme(), authority_of(candidate));
        let mut request = Request::get(uri)
            .header(header::HOST, host_of(&candidate.node))
            .header(header::CONNECTION, "keep-alive")
            .header(header::ACCEPT, "application/json");
        if let Some(user_agent) = &self.user_agent {
            request = request.header(header::USER_AGENT, user_agent);
        }
        let request = request.body(Payload::default()).map_err(|error| broken(error.into()))?;
        let answer = timeout_at(by, self.exchange.clone().oneshot(request)).await;
        answer.map_err(|_| AskError::OutOfTime)?.map_err(broken)
    }
}

/// Reads what is left of a body, so that its connection returns to the pool; what is too long, or too slow, is cut off
/// together with its connection.
pub(super) async fn drain<B: http_body::Body<Data = Bytes> + Unpin>(mut body: B, by: Instant) {
    let until = by.min(Instant::now() + DRAIN_TIME);
    let mut read = 0;
    let rest = async {
        while let Some(Ok(frame)) = body.frame().await {
            read += frame.data_ref().map_or(0, Bytes::len);
            if read > DRAINED {
                break;
            }
        }
    };
    let _ = timeout(until.duration_since(Instant::now()), rest).await;
}
