//! What of the SDK's headers and bodies is changed, before they are signed.

use aws_runtime::{
    invocation_id::InvocationIdInterceptor, request_info::RequestInfoInterceptor, user_agent::UserAgentInterceptor,
};
use aws_sdk_dynamodb::{
    config::{ConfigBag, Intercept, RuntimeComponents},
    error::BoxError,
};
use aws_smithy_runtime_api::client::interceptors::{
    context::{BeforeSerializationInterceptorContextMut, BeforeTransmitInterceptorContextMut},
    disable_interceptor, dyn_dispatch_hint,
};
use aws_smithy_types::body::SdkBody;
use http::HeaderValue;

use crate::alternator::{
    balance::Affinity,
    client::USER_AGENT,
    encoding::ACCEPTED,
    headers::{UserAgent, is_needed},
    wire::Wire,
};

/// The affinity of a request on its way from its input to its sending.
#[derive(Clone, Debug)]
pub(super) struct Chosen(pub(super) Affinity);

impl aws_smithy_types::config_bag::Storable for Chosen {
    type Storer = aws_smithy_types::config_bag::StoreReplace<Self>;
}

#[derive(Debug)]
pub(super) struct HeaderInterceptor(Wire);

impl HeaderInterceptor {
    pub(super) const fn new(wire: Wire) -> Self {
        Self(wire)
    }
}

#[dyn_dispatch_hint]
impl Intercept for HeaderInterceptor {
    fn name(&self) -> &'static str {
        "messina::HeaderInterceptor"
    }

    fn modify_before_serialization(
        &self,
        _context: &mut BeforeSerializationInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if self.0.slim {
            let state = cfg.interceptor_state();
            state.store_put(disable_interceptor::<RequestInfoInterceptor>("slim headers"));
            state.store_put(disable_interceptor::<InvocationIdInterceptor>("slim headers"));
            state.store_put(disable_interceptor::<UserAgentInterceptor>("slim headers"));
        }
        Ok(())
    }

    // Once for all attempts of the SDK.
    fn modify_before_retry_loop(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        if let Some(Chosen(affinity)) = cfg.load::<Chosen>() {
            request.add_extension(affinity.clone());
        }
        if let Some(compression) = &self.0.compression
            && request.headers().get("content-encoding").is_none()
            && let Some(small) = request.body().bytes().and_then(|bytes| compression.compressed(bytes))
        {
            request.headers_mut().insert("content-encoding", "gzip");
            request.headers_mut().insert("content-length", small.len().to_string());
            *request.body_mut() = SdkBody::from(small);
        }
        if self.0.compressed_answers {
            request.headers_mut().insert("accept-encoding", ACCEPTED);
        }
        if self.0.slim {
            match &self.0.user_agent {
                UserAgent::Default => {
                    request.headers_mut().insert("user-agent", USER_AGENT);
                }
                UserAgent::Fixed(text) => {
                    request.headers_mut().try_insert("user-agent", text_of(text))?;
                }
                UserAgent::None => {}
            }
        }
        Ok(())
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        _cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if !self.0.slim {
            return Ok(());
        }
        let headers = context.request_mut().headers_mut();
        let kept = |name: &str| is_needed(name) || self.0.kept.iter().any(|kept| kept == name);
        let needless: Vec<String> =
            headers.iter().map(|(name, _)| name).filter(|name| !kept(name)).map(str::to_owned).collect();
        for name in needless {
            headers.remove(name);
        }
        Ok(())
    }
}

fn text_of(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}
