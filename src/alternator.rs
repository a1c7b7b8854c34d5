//! The Alternator client: live nodes of ScyllaDB's DynamoDB API, chosen anew for every request.
//!
//! [`Alternator`] is the way in: it follows the nodes of a cluster in the background, and gives the tower layers that
//! send requests to them. What these do, from above to below:
//!
//! | layer | takes | does |
//! | --- | --- | --- |
//! | [`Prepare`](prepare::Prepare) | a request of [`operation`](fn@operation) | affinity, compression, headers, signature; takes the compression off answers |
//! | [`AlternatorBalance`] | a request, signed or not | chooses the node, moves on to the next, tells health how it went |
//! | [`HttpClient`](http::HttpClient), or any other | a request whose URI names the node | sends it over connections of the connect layers |
//!
//! The modules below decide and never do IO: time, randomness and answers are passed in, and what to do next comes out.
//!
//! | module | takes | gives |
//! | --- | --- | --- |
//! | [`node`] | an URL, or a host of a list | [`Node`](node::Node): compared by its canonical endpoint |
//! | [`affinity`] | a write and its partition key | the seed of its plan, or the nodes that the writes of a batch vote for |
//! | [`scope`] | names of data centres and racks | [`ScopeChain`](scope::ScopeChain): where requests may go |
//! | [`discovery`] | everybody known, their replies | [`Cycle`](discovery::Cycle): whom to ask next, and the verdict |
//! | [`live_nodes`] | a verdict | [`LiveNodes`](live_nodes::LiveNodes): the next snapshot, and what changed |
//! | [`pace`] | when requests were made | [`Pace`](pace::Pace): when to poll |
//! | [`localnodes`] | the body of an answer, in pieces | [`Listed`](localnodes::Listed), or why it says nothing |
//! | [`nodes`] | nodes in any order | [`NodeList`](nodes::NodeList): each once, in canonical order |
//! | [`plan`] | a list, a seed or none, what is known of each node | [`QueryPlan`](plan::QueryPlan): the node of each attempt |
//! | [`health`] | how attempts and probes ended | [`Book`](health::Book): who answers; [`Probes`](health::Probes): whom to probe |

pub mod node;
pub mod nodes;
pub mod plan;
pub mod health;
pub mod localnodes;
pub mod affinity;
pub mod scope;
pub mod live_nodes;
pub mod discovery;
pub mod pace;
pub mod http;
mod ask;
pub mod events;
mod keys;
mod mark;
mod routes;
mod poller;
pub mod balance;
pub mod headers;
pub mod encoding;
pub mod sign;
mod wire;
pub mod prepare;
pub mod client;
pub mod probe;
#[cfg(feature = "aws-sdk")]
pub mod aws_sdk;

pub use self::{
    ask::{AnswerBody, AskError, Exchange},
    balance::{Affinity, AlternatorBalance, AlternatorLayer, BalanceOptions, RequestError, operation},
    client::Alternator,
    prepare::RequestOptions,
    probe::probe,
    sign::Signer,
};
