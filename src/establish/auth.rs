//! The login on one connection.

use messina_layers::{Scope, error::AttemptError};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{error::LoginRefused, handshake::is_bad_credentials, steps::Steps};
use crate::{
    config::{AuthContext, AuthError},
    error::stage,
    protocol::{request::AuthResponse, response::Response},
};

/// How many challenges a login may have; real mechanisms need a handful.
const MAX_CHALLENGES: usize = 16;

/// Logs in; a refusal is suspect rather than final: the login comes before the cluster's name is known, so a stale
/// address that fronts a foreign cluster looks just like a wrong password.
pub(super) async fn log_in<IO>(steps: &mut Steps<IO>, authenticator: &str) -> Result<(), AttemptError>
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let refuse = |reason| AttemptError::new(stage::AUTH, reason).with_scope(Scope::Suspect);
    let give_up = |error: AuthError| refuse(LoginRefused::Authenticator(error));
    let Some(configured) = steps.target().config().authenticator.clone() else {
        return Err(refuse(LoginRefused::NoCredentials { authenticator: authenticator.to_owned() }));
    };
    let host = messina_layers::Dial::address(steps.target().endpoint().target()).host();
    let mut session = configured.start(&AuthContext::new(&host, steps.peer(), authenticator)).map_err(give_up)?;
    let mut token = session.initial().map_err(give_up)?;
    for _ in 0..MAX_CHALLENGES {
        match steps.ask(&AuthResponse { token: Some(&token) }, stage::AUTH).await? {
            Response::AuthSuccess { token } => {
                return session.success(&token.unwrap_or_default()).map_err(give_up);
            }
            Response::AuthChallenge { token: challenge } => {
                token = session.challenge(&challenge.unwrap_or_default()).map_err(give_up)?;
            }
            Response::Error(error) if is_bad_credentials(&error) => {
                return Err(refuse(LoginRefused::ByServer(error.message)));
            }
            other => return Err(steps.unexpected(stage::AUTH, "AUTH_RESPONSE", other)),
        }
    }
    Err(refuse(LoginRefused::Endless(MAX_CHALLENGES)))
}
