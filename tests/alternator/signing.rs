//! Signatures, headers, and what of both a node that checks them says.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, Request, header};
use http_body_util::BodyExt;
use messina::{
    alternator::{
        Affinity, BalanceOptions, RequestOptions, Signer,
        encoding::{Compress, Compression},
        headers::{UserAgent, slim},
        http::Payload,
        operation,
        sign::SignLayer,
    },
    testkit::http::{HttpCluster, HttpFault, On},
};
use tower::{Layer, ServiceExt};

use crate::http_support::{builder, ready};

async fn checking(nodes: usize) -> HttpCluster {
    HttpCluster::builder().nodes(nodes).credentials("cassandra", "secret").start().await.unwrap()
}

fn signer() -> Signer {
    Signer::new("cassandra", "secret")
}

/// alternator 7.2: signed once with a fixed host, a request is right at every node, also at the second one it is sent to.
/// alternator A15a: only the node that is dialled changes.
#[tokio::test]
async fn signed_once() {
    let cluster = checking(3).await;
    let alternator = ready(builder(&cluster, &[0])).await;
    cluster.node(1).fault(On::Requests, HttpFault::Status(503));
    let client = alternator.client(RequestOptions::default().signed(signer()));
    for _ in 0..30 {
        let answer = client.clone().oneshot(operation("GetItem", "{\"TableName\":\"t\"}").unwrap()).await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    let hosts: std::collections::HashSet<_> =
        cluster.nodes().iter().filter_map(|node| node.last()?.header("host").map(str::to_owned)).collect();
    assert_eq!(hosts.len(), 1, "{hosts:?}");
}

/// alternator A15a: signed below the balancing, each attempt names its own node.
#[tokio::test]
async fn signed_each() {
    let cluster = checking(3).await;
    let options = BalanceOptions::default().with_host_per_node(true);
    let alternator = ready(builder(&cluster, &[0]).balance(options)).await;
    cluster.node(1).fault(On::Requests, HttpFault::Status(503));
    let client = alternator.layer().layer(SignLayer::new(signer()).layer(alternator.http()));
    for _ in 0..30 {
        let answer = client.clone().oneshot(operation("GetItem", "{}").unwrap()).await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    for node in cluster.nodes() {
        assert_eq!(node.last().unwrap().header("host").unwrap(), node.addr().to_string());
    }
}

/// alternator 10.1: the node refuses a wrong secret, and what was changed after it was signed.
#[tokio::test]
async fn the_check_can_fail() {
    let cluster = checking(1).await;
    let alternator = ready(builder(&cluster, &[0])).await;
    let text = |signer: Option<Signer>| async {
        let options = RequestOptions::default();
        let options = match signer {
            Some(signer) => options.signed(signer),
            None => options,
        };
        let answer = alternator.client(options).oneshot(operation("GetItem", "{}").unwrap()).await.unwrap();
        let status = answer.status();
        (status, String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap())
    };
    let (status, body) = text(Some(Signer::new("cassandra", "guess"))).await;
    assert!(status == 400 && body.contains("UnrecognizedClientException"), "{body}");
    let (status, body) = text(None).await;
    assert!(status == 400 && body.contains("MissingAuthentication"), "{body}");
    let mut request = operation("GetItem", "{}").unwrap();
    signer().sign(&mut request, SystemTime::now()).unwrap();
    *request.body_mut() = "{ }".into();
    assert_eq!(alternator.service().oneshot(request).await.unwrap().status(), 400);
}

/// alternator A12: what the server does not need is left out before signing, and the signature is right.
/// alternator 8: a session's token is kept (JS 33, 36), the content type too (G); an own user agent (J 138, JS 41).
#[tokio::test]
async fn slim_and_signed() {
    let cluster = checking(1).await;
    let alternator = ready(builder(&cluster, &[0])).await;
    let signer = Signer::with_token("cassandra", "secret", Some("of-a-session")).region("nowhere-1");
    let client = alternator.client(RequestOptions::default().signed(signer));
    let mut request = operation("PutItem", "{}").unwrap();
    for name in ["amz-sdk-invocation-id", "amz-sdk-request", "x-amz-user-agent", "x-amzn-trace-id"] {
        request.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static("much"));
    }
    request.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    request.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("keep-alive"));
    assert_eq!(client.oneshot(request).await.unwrap().status(), 200);
    let received = cluster.node(0).last().unwrap();
    let mut names: Vec<_> = received.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    names.sort_unstable();
    let all = [
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "user-agent",
        "x-amz-date",
        "x-amz-security-token",
        "x-amz-target",
    ];
    assert_eq!(names, all);
    assert!(
        received.head_bytes <= 470 + "X-Amz-Security-Token: of-a-session\r\n".len() + ";x-amz-security-token".len()
    );
    assert_eq!(received.header("x-amz-security-token"), Some("of-a-session"));
    assert!(received.header("user-agent").unwrap().starts_with("messina/"));
    let poll = cluster.node(0).received().into_iter().find(|request| request.path() == "/localnodes").unwrap();
    assert!(poll.header("user-agent").unwrap().starts_with("messina/"));
    assert_eq!(poll.header("authorization"), None);
    assert_eq!(poll.header("connection"), Some("keep-alive"));
}

/// alternator 7.1: every header that a signature names is kept, all values of a header, and an inbound `Connection`.
#[test]
fn slim_after_signing() {
    let mut headers = HeaderMap::new();
    let signature = "AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=amz-sdk-request;host, Signature=0";
    headers.insert(header::AUTHORIZATION, HeaderValue::from_static(signature));
    headers.insert("amz-sdk-request", HeaderValue::from_static("attempt=1"));
    headers.insert("amz-sdk-invocation-id", HeaderValue::from_static("1"));
    headers.append(header::CONNECTION, HeaderValue::from_static("keep-alive"));
    headers.append(header::CONNECTION, HeaderValue::from_static("x"));
    headers.insert("x-mine", HeaderValue::from_static("1"));
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    slim(&mut headers, &[HeaderName::from_static("x-mine")]);
    assert!(headers.contains_key("amz-sdk-request") && headers.contains_key("x-mine"));
    assert!(!headers.contains_key("amz-sdk-invocation-id"));
    assert_eq!(headers.get_all(header::CONNECTION).iter().count(), 2);
    assert!(headers.contains_key(header::ACCEPT_ENCODING));
}

/// alternator 8: unsigned requests need no credentials (R 65) and have no trace of them; the user agent is ours, another, or
/// none (JS 41).
#[tokio::test]
async fn unsigned() {
    let cluster = HttpCluster::start(1).await.unwrap();
    let alternator = ready(builder(&cluster, &[0])).await;
    let other = HeaderValue::from_static("other/1");
    let agents = [
        (UserAgent::Default, Some(concat!("messina/", env!("CARGO_PKG_VERSION")))),
        (UserAgent::Fixed(other), Some("other/1")),
        (UserAgent::None, None),
    ];
    for (agent, sent) in agents {
        let client = alternator.client(RequestOptions::default().with_user_agent(agent));
        assert_eq!(client.oneshot(operation("GetItem", "{}").unwrap()).await.unwrap().status(), 200);
        let received = cluster.node(0).last().unwrap();
        assert_eq!(received.header("user-agent"), sent);
        assert!(received.headers.iter().all(|(name, _)| !name.to_ascii_lowercase().starts_with("x-amz-date")));
        assert_eq!(received.header("authorization"), None);
    }
}

/// alternator 7.3: compressed before it is signed: the signature covers the bytes that are sent.
/// alternator 8: a request can say otherwise for itself (R 103, 108); there are none but asynchronous ones (J 120, 127); a
/// signature without a region names one that does no harm (J 137).
#[tokio::test]
async fn compressed_then_signed() {
    let cluster = checking(1).await;
    let alternator = ready(builder(&cluster, &[0])).await;
    let options = RequestOptions::default().signed(signer()).compressed(Compression::default());
    let client = alternator.client(options);
    let json = format!("{{\"x\":\"{}\"}}", "y".repeat(5000));
    assert_eq!(client.clone().oneshot(operation("PutItem", json.clone()).unwrap()).await.unwrap().status(), 200);
    let received = cluster.node(0).last().unwrap();
    assert_eq!(received.header("content-encoding"), Some("gzip"));
    assert!(received.body.len() < 200);
    assert!(received.header("authorization").unwrap().contains("/us-east-1/dynamodb/aws4_request"));
    assert_eq!(received.header("content-length"), Some(received.body.len().to_string().as_str()));
    let mut request = operation("PutItem", json.clone()).unwrap();
    request.extensions_mut().insert(Compress(None));
    assert_eq!(client.oneshot(request).await.unwrap().status(), 200);
    let received = cluster.node(0).last().unwrap();
    assert_eq!((received.header("content-encoding"), received.body.len()), (None, json.len()));
}

/// alternator 7.4: answers are asked for compressed only if that is switched on.
#[tokio::test]
async fn answers_on_request() {
    let cluster = HttpCluster::start(1).await.unwrap();
    let alternator = ready(builder(&cluster, &[0])).await;
    for on in [false, true] {
        let options = RequestOptions::default();
        let options = if on { options.with_compressed_answers() } else { options };
        alternator.client(options).oneshot(operation("GetItem", "{}").unwrap()).await.unwrap();
        let received = cluster.node(0).last().unwrap();
        assert_eq!(received.header("accept-encoding"), on.then_some("gzip, deflate"));
    }
}

/// alternator 8: a clock that is off at one node is one refused request, not a dead node (S 6345).
#[tokio::test]
async fn refusals_are_answers() {
    let cluster = HttpCluster::start(2).await.unwrap();
    let alternator = ready(builder(&cluster, &[0, 1])).await;
    cluster.node(0).fault(On::Requests, HttpFault::Status(400));
    let mut statuses = std::collections::HashSet::new();
    for _ in 0..60 {
        let request: Request<Payload> = operation("GetItem", "{}").unwrap();
        statuses.insert(alternator.service().oneshot(request).await.unwrap().status().as_u16());
    }
    assert_eq!(statuses, [200, 400].into());
    assert!(alternator.status().nodes.iter().all(|node| node.failures == 0));
}

/// alternator 6.1: requests that name their key's hash go where it leads.
#[tokio::test]
async fn hash_in_extensions() {
    let cluster = HttpCluster::start(3).await.unwrap();
    let alternator = ready(builder(&cluster, &[0])).await;
    tokio::time::timeout(Duration::from_secs(5), async {
        while alternator.status().nodes.iter().any(|node| node.state != messina::alternator::health::State::Active) {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    for hash in [1, 2, 3, 42] {
        let before = crate::http_support::requests(&cluster);
        for _ in 0..5 {
            let mut request = operation("PutItem", "{}").unwrap();
            request.extensions_mut().insert(Affinity::Key(hash));
            alternator.service().oneshot(request).await.unwrap();
        }
        let after = crate::http_support::requests(&cluster);
        let mut counts: Vec<_> = before.iter().zip(after).map(|(before, after)| after - before).collect();
        counts.sort_unstable();
        assert_eq!(counts, [0, 0, 5]);
    }
}

/// alternator 8: runs of spaces within a header do not break the signature (S 27775, 28102).
#[tokio::test]
async fn repeated_spaces() {
    let cluster = checking(1).await;
    let alternator = ready(builder(&cluster, &[0])).await;
    let client = alternator.client(RequestOptions::default().signed(signer()).with_all_headers());
    let mut request = operation("GetItem", "{}").unwrap();
    request.headers_mut().insert("x-mine", HeaderValue::from_static("one  two   three"));
    assert_eq!(client.oneshot(request).await.unwrap().status(), 200);
    assert_eq!(cluster.node(0).last().unwrap().header("x-mine"), Some("one  two   three"));
}
