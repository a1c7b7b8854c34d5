//! A connection before it is accepted, which is asked one thing after another, each within its limit.

use std::time::Duration;

use messina_layers::{Scope, Stage, error::AttemptError, metrics};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};

use super::{
    Open,
    error::{UnexpectedAnswer, VersionRefused},
    notes::Noted,
};
use crate::{
    connection::{Opening, OpeningError},
    protocol::{
        Dialect, Envelope, ProtocolVersion,
        request::Request,
        response::{self, Response},
        version::versions_in_error,
    },
};

/// What a step gives.
pub(super) type Step<T> = Result<T, AttemptError>;

/// A connection that is asked one thing after another.
pub(super) struct Steps<IO> {
    pub(super) opening: Opening<IO>,
    pub(super) dialect: Dialect,
    pub(super) target: Open,
    /// Of each step.
    pub(super) limit: Duration,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Steps<IO> {
    pub(super) fn target(&self) -> &Open {
        &self.target
    }

    pub(super) fn peer(&self) -> std::net::SocketAddr {
        self.opening.handle().peer()
    }

    /// Sends one request and reads its answer; an ERROR comes back as one unless it is about the version.
    pub(super) async fn ask<R: Request + ?Sized>(&mut self, request: &R, stage: Stage) -> Step<Response> {
        let since = Instant::now();
        let envelope = self.opening.request(request, self.limit).await;
        let response =
            envelope.map_err(|error| step_error(stage, error)).and_then(|envelope| read(envelope, self.dialect, stage));
        let answered = response.as_ref().is_ok_and(|response| !matches!(response, Response::Error(_)));
        metrics::stage_ended(stage, answered, since.elapsed());
        let response = response?;
        if let (Some(notes), true) = (self.target.notes(), answered) {
            notes.lap(stage);
        }
        if let Response::Error(error) = &response
            && error.is_version_error()
        {
            return Err(self.version_refused(stage, error.message.clone(), versions_in_error(&error.message)));
        }
        Ok(response)
    }

    /// Writes down what was learned, where somebody looks on.
    pub(super) fn note(&self, learn: impl FnOnce(&mut Noted)) {
        if let Some(notes) = self.target.notes() {
            notes.learn(learn);
        }
    }

    /// What the server said instead of the answer to `asked`.
    pub(super) fn unexpected(&self, stage: Stage, asked: &'static str, got: Response) -> AttemptError {
        match got {
            Response::Error(error) => AttemptError::new(stage, error),
            other => AttemptError::new(stage, UnexpectedAnswer::new(asked, &other)),
        }
    }

    /// A refusal by an identified node holds for all of its addresses; a name may front other nodes.
    pub(super) fn version_refused(
        &self,
        stage: Stage,
        message: String,
        server: Option<Vec<ProtocolVersion>>,
    ) -> AttemptError {
        let scope = if self.target.expected_host().is_some() { Scope::Endpoint } else { Scope::Candidate };
        let asked = self.dialect.version;
        let refused = VersionRefused { asked, tried: vec![asked], server, message };
        AttemptError::new(stage, refused).with_scope(scope).forcing_down()
    }
}

pub(super) fn read(envelope: Envelope, dialect: Dialect, stage: Stage) -> Step<Response> {
    match response::parse(envelope, dialect, None) {
        Ok(answer) => Ok(answer.response),
        Err(error) => Err(AttemptError::new(stage, error)),
    }
}

pub(super) fn step_error(stage: Stage, error: OpeningError) -> AttemptError {
    match error {
        OpeningError::TimedOut(limit) => AttemptError::new(stage, messina_layers::TimedOut::new(limit)),
        // The sentence about the connection says it all; "the request failed" around it adds nothing.
        OpeningError::Request(error) => match error.connection() {
            Some(connection) => AttemptError::new(stage, connection.clone()),
            None => AttemptError::new(stage, error),
        },
    }
}
