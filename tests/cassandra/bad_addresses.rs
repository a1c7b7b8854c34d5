//! The bad addresses are as bad as they say: without that the cases that rest on them prove nothing.

use std::io::ErrorKind;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::bad::Bad;
use crate::support::case::{Case, Clusters, case};
use crate::support::spec::Spec;

pub(crate) fn cases() -> Vec<Case> {
    vec![case("bad_addresses::fail_as_they_say", [Spec::single()], fail_as_they_say)]
}

/// cassandra: a refused, a silent, a mute and a closing address beside a living one, on its port.
async fn fail_as_they_say(clusters: Clusters) {
    let cluster = &clusters[0];
    let briefly = Duration::from_millis(300);

    let refused = Bad::refused(cluster.spare()).await;
    let error = TcpStream::connect(refused.address).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);

    let hole = Bad::black_hole(cluster.spare()).await;
    timeout(briefly, TcpStream::connect(hole.address)).await.expect_err("nothing answers a connect");

    let mute = Bad::mute(cluster.spare()).await;
    let mut stream = TcpStream::connect(mute.address).await.unwrap();
    stream.write_all(&[4, 0, 0, 1, 5, 0, 0, 0, 0]).await.unwrap();
    timeout(briefly, stream.read_u8()).await.expect_err("nothing answers a request");

    let closing = Bad::closing(cluster.spare()).await;
    let mut stream = TcpStream::connect(closing.address).await.unwrap();
    let error = timeout(briefly, stream.read_u8()).await.expect("the end comes at once").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset), "{error}");
}
