//! The adapter for `aws-sdk-dynamodb`: the SDK's own client over the balancing and the built-in HTTP client.
//!
//! The SDK serializes, signs and retries as ever. Below it each attempt of the SDK is one request to the cluster, which
//! moves on from node to node by itself: it is signed once, with a fixed `Host`, which is right at every node, so the
//! SDK's back-off and its quota of retries are left for throttling and for errors of the service.
//!
//! ```no_run
//! use std::time::Duration;
//! use messina::alternator::{Alternator, aws_sdk::{self, SdkOptions}};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let alternator = Alternator::builder().seed("http://db.example.com:8000").build()?;
//! alternator.ready(Duration::from_secs(5)).await?;
//! let client = aws_sdk::client(&alternator, SdkOptions::default(), |config| config.allow_no_auth());
//! println!("{:?}", client.list_tables().send().await?.table_names());
//! # Ok(())
//! # }
//! ```

mod affinity;
mod connector;
mod headers;

use aws_sdk_dynamodb::{
    Client,
    config::{Builder, Config, Region, StalledStreamProtectionConfig},
};

use self::{affinity::AffinityInterceptor, connector::Balanced, headers::HeaderInterceptor};
use super::{
    client::Alternator,
    wire::{Wire, wire_options},
};

/// What the adapter changes of requests and answers.
///
/// By default: slim headers with the user agent `messina/VERSION`; nothing is compressed. With all headers the user agent
/// is the SDK's.
#[derive(Clone, Debug, Default)]
pub struct SdkOptions {
    pub(super) wire: Wire,
}

wire_options!(SdkOptions);

/// The SDK's client over the live nodes.
///
/// `configure` is given a configuration that has everything but credentials: the latest behaviour version, a region (the
/// server takes any), the first seed as endpoint (which no request is sent to because of that). It adds credentials, or
/// `allow_no_auth()`, and whatever else there is to say; HTTP client and endpoint are set after it.
#[must_use]
pub fn client(alternator: &Alternator, options: SdkOptions, configure: impl FnOnce(Builder) -> Builder) -> Client {
    let config = Config::builder()
        .behavior_version_latest()
        .region(Region::from_static("us-east-1"))
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    let config = configure(config)
        .endpoint_url(alternator.endpoint())
        .http_client(Balanced::new(alternator.service(), options.wire.longest_answer))
        .interceptor(HeaderInterceptor::new(options.wire));
    if alternator.inner().keys.is_none() {
        return Client::from_conf(config.build());
    }
    // Lookups of keys have no affinity themselves, which would look their own keys up.
    let lookups = Client::from_conf(config.clone().build());
    let affinity = AffinityInterceptor::new(alternator.inner(), lookups);
    Client::from_conf(config.interceptor(affinity).build())
}
