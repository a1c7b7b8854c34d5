//! The guide: one page per topic. Its code runs as tests.
//!
//! Where to begin: [Coming from other drivers](coming_from_other_drivers) says what is different here,
//! [Address resolution](address_resolution) what happens between a name and a connection,
//! [Staying connected](staying_connected) what happens afterwards, [Where requests go](where_requests_go) which node is asked, and
//! [Diagnosing with probe](diagnosing_with_probe) what to do when nothing happens at all. [TLS](tls) and
//! [Proxies and routes](proxies_and_routes) are for clusters that are not simply there. [Settings](settings) lists every
//! option, [Metrics and spans](metrics) everything that is counted.
//! [Features](features) is a table of what there is, here and elsewhere, each with its test;
//! [Migrating from `scylla`](migrating_from_scylla) has the calls of that crate side by side with ours.
//! [Alternator](alternator) is about the DynamoDB API, with the AWS SDK and without.

#[doc = include_str!("guide/address_resolution.md")]
pub mod address_resolution {}

#[doc = include_str!("guide/coming_from_other_drivers.md")]
pub mod coming_from_other_drivers {}

#[doc = include_str!("guide/staying_connected.md")]
pub mod staying_connected {}

#[doc = include_str!("guide/where_requests_go.md")]
pub mod where_requests_go {}

#[doc = include_str!("guide/diagnosing_with_probe.md")]
pub mod diagnosing_with_probe {}

#[doc = include_str!("guide/tls.md")]
pub mod tls {}

#[doc = include_str!("guide/proxies_and_routes.md")]
pub mod proxies_and_routes {}

#[doc = include_str!("guide/alternator.md")]
pub mod alternator {}

#[doc = include_str!("guide/settings.md")]
pub mod settings {}

#[doc = include_str!("guide/metrics.md")]
pub mod metrics {}

#[doc = include_str!("guide/features.md")]
pub mod features {}

#[doc = include_str!("guide/migrating_from_scylla.md")]
pub mod migrating_from_scylla {}
