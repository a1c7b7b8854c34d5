//! Every fault at every stage does what it says, and nothing else.

use std::io::ErrorKind;
use std::time::Duration;

use messina::testkit::{Answer, Cluster, Fault, Network, Push, Script, Stage, Wrong, rows};
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use crate::client::{Client, QUIET, error, string};
use crate::stage::{STAGES, advance, answer, ask, before, cluster, request, right, struck};

/// testkit: without a fault every stage is answered rightly, and stands in the log.
#[tokio::test]
async fn no_fault() {
    for stage in STAGES {
        let cluster = cluster().await;
        let mut client = before(cluster.node(0), stage).await;
        ask(&mut client, stage).await;
        let frame = answer(&mut client).await;
        assert_eq!((frame.opcode, frame.stream), (right(stage), 21), "{stage:?}: {frame:?}");
        assert_eq!(cluster.node(0).connections()[0].stages().last(), Some(&stage));
    }
}

/// testkit: reset, and refuse after the dial, at every stage.
#[tokio::test]
async fn reset() {
    for stage in STAGES {
        for fault in [Fault::Reset, Fault::Refuse] {
            let cluster = cluster().await;
            let mut client = struck(cluster.node(0), stage, fault).await;
            assert_eq!(client.end().await, ErrorKind::ConnectionReset, "{stage:?}");
        }
    }
}

/// testkit: close at every stage.
#[tokio::test]
async fn close() {
    for stage in STAGES {
        let cluster = cluster().await;
        let mut client = struck(cluster.node(0), stage, Fault::Close).await;
        assert_eq!(client.end().await, ErrorKind::UnexpectedEof, "{stage:?}");
    }
}

/// testkit: the right answer and then the end, and an event before the right answer, at every stage.
#[tokio::test]
async fn before_and_after_the_right_answer() {
    for stage in STAGES {
        let cluster = cluster().await;
        let mut client = struck(cluster.node(0), stage, Fault::ThenClose).await;
        assert_eq!(answer(&mut client).await.opcode, right(stage), "{stage:?}");
        assert_eq!(client.end().await, ErrorKind::UnexpectedEof, "{stage:?}");

        let event = Push::status("UP", ([10, 0, 0, 9], 9042));
        let mut client = struck(cluster.node(0), stage, Fault::EventFirst(event)).await;
        let frame = answer(&mut client).await;
        assert_eq!((frame.opcode, frame.stream), (0x0C, -1), "{stage:?}");
        assert_eq!(answer(&mut client).await.opcode, right(stage), "{stage:?}");
    }
}

/// testkit: a dial that the client's own system lets fail; over a socket, where that is not ours to say, it is refused.
#[tokio::test]
async fn a_dial_that_fails() {
    let fault = Fault::Fail(ErrorKind::AddrNotAvailable);
    let network = Network::new();
    let pipes = Cluster::builder().network(&network).fault(0, Stage::Tcp, fault.clone()).start().await.unwrap();
    let error = network.dial(pipes.node(0).addr()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
    let sockets = Cluster::builder().fault(0, Stage::Tcp, fault).start().await.unwrap();
    let error = tokio::net::TcpStream::connect(sockets.node(0).addr()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

/// testkit: silence at every stage; the connection stays open.
#[tokio::test]
async fn silence() {
    let mut quiet = tokio::task::JoinSet::new();
    for stage in STAGES {
        quiet.spawn(async move {
            let cluster = cluster().await;
            struck(cluster.node(0), stage, Fault::Silence).await.hears_nothing().await;
            assert_eq!(cluster.log().now().open(), 1);
        });
    }
    quiet.join_all().await;
}

/// testkit: half an answer at every stage, then nothing more, whatever is asked.
#[tokio::test]
async fn half_an_answer() {
    let mut quiet = tokio::task::JoinSet::new();
    for stage in STAGES {
        quiet.spawn(async move {
            let whole = {
                let cluster = cluster().await;
                let mut client = before(cluster.node(0), stage).await;
                ask(&mut client, stage).await;
                9 + answer(&mut client).await.body.len()
            };
            let cluster = cluster().await;
            let mut client = struck(cluster.node(0), stage, Fault::Half.times(1)).await;
            ask(&mut client, Stage::Options).await;
            let mut bytes = vec![0; whole / 2 + 1];
            client.stream.read_exact(&mut bytes[..whole / 2]).await.unwrap();
            let more = tokio::time::timeout(QUIET, client.stream.read(&mut bytes)).await;
            assert!(more.is_err(), "{stage:?}: {more:?}");
        });
    }
    quiet.join_all().await;
}

/// testkit: a cut answer at every stage: so many bytes, then the end.
#[tokio::test]
async fn cut() {
    for stage in STAGES {
        let cluster = cluster().await;
        let mut client = struck(cluster.node(0), stage, Fault::Cut(5)).await;
        let mut bytes = Vec::new();
        client.stream.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(bytes.len(), 5, "{stage:?}");
        assert_eq!(bytes[..4], [0x84, 0, 0, 21], "{stage:?}");
    }
}

/// testkit: a delay at every stage, to the millisecond; another request is answered meanwhile.
#[tokio::test(start_paused = true)]
async fn delay() {
    for stage in STAGES {
        let network = Network::new();
        let cluster = Cluster::builder().user("ada", "secret").network(&network);
        let cluster = cluster.start().await.unwrap();
        cluster.prime("SELECT 1", rows!["one int"; (1,)]);
        let node = cluster.node(0);
        let mut client = Client::over(network.dial(node.addr()).await.unwrap());
        advance(&mut client, stage).await;
        let delay = Duration::from_millis(1234);
        node.fault(stage, Fault::Delay(delay).times(1));
        let start = Instant::now();
        ask(&mut client, stage).await;
        ask(&mut client, Stage::Options).await;
        let meanwhile = answer(&mut client).await;
        assert_eq!((meanwhile.opcode, start.elapsed()), (0x06, Duration::ZERO), "{stage:?}");
        let frame = answer(&mut client).await;
        assert_eq!((frame.opcode, frame.stream), (right(stage), 21), "{stage:?}");
        assert_eq!(start.elapsed(), delay);
    }
}

/// testkit: an error of the server at every stage, with its code and text.
#[tokio::test]
async fn server_error() {
    for stage in STAGES {
        let cluster = cluster().await;
        let fault = Fault::error(0x1002, "bootstrapping");
        let mut client = struck(cluster.node(0), stage, fault).await;
        let frame = answer(&mut client).await;
        assert_eq!(error(&frame), (0x1002, "bootstrapping".to_owned()), "{stage:?}");
        assert_eq!(frame.stream, 21);
        assert_eq!(cluster.log().now().logins(), usize::from(stage > Stage::Auth));
    }
}

/// testkit: every wrong answer at every stage.
#[tokio::test]
async fn wrong_answers() {
    for stage in STAGES {
        let cluster = cluster().await;
        let node = cluster.node(0);
        let mut client = struck(node, stage, Fault::Wrong(Wrong::Opcode)).await;
        let frame = answer(&mut client).await;
        assert_ne!(frame.opcode, right(stage), "{stage:?}");
        assert_eq!(frame.stream, 21);

        node.clear_faults();
        let mut client = struck(node, stage, Fault::Wrong(Wrong::Stream)).await;
        let frame = answer(&mut client).await;
        assert_eq!(frame.opcode, right(stage), "{stage:?}");
        assert_ne!(frame.stream, 21);

        node.clear_faults();
        let mut client = struck(node, stage, Fault::Wrong(Wrong::Garbage)).await;
        let mut bytes = [0; 8];
        client.stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"HTTP/1.1", "{stage:?}");

        node.clear_faults();
        let mut client = struck(node, stage, Fault::Wrong(Wrong::Version(5))).await;
        let frame = answer(&mut client).await;
        assert_eq!((frame.version, frame.stream), (0x85, 0), "{stage:?}");
        let (code, text) = error(&frame);
        assert_eq!(code, 0x000A);
        assert!(text.starts_with("Invalid or unsupported protocol version (4)"), "{text}");

        node.clear_faults();
        let mut client = struck(node, stage, Fault::Wrong(Wrong::Length(u32::MAX))).await;
        let mut bytes = [0; 9];
        client.stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(bytes[5..], [0xFF; 4], "{stage:?}");

        node.clear_faults();
        let mut client = struck(node, stage, Fault::Wrong(Wrong::Challenge)).await;
        assert_eq!(answer(&mut client).await.opcode, 0x0E, "{stage:?}");

        node.clear_faults();
        let mut client = struck(node, stage, Fault::Wrong(Wrong::Framing)).await;
        let mut bytes = [0; 7];
        client.stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(bytes[6], 0x84, "{stage:?}: the envelope begins after a segment's header");
    }
}

/// testkit: any answer in place of the right one: an id that is null, an AUTHENTICATE undue.
#[tokio::test]
async fn another_answer() {
    let cluster = Cluster::builder().start().await.unwrap();
    let node = cluster.node(0);
    node.fault(Stage::Startup, Fault::Answer(Answer::raw(0x03, string("Other"))));
    let mut client = Client::dial(node.addr()).await.unwrap();
    let frame = client.startup(&[]).await;
    assert_eq!((frame.opcode, frame.body), (0x03, string("Other")));
    let (opcode, body) = request(Stage::Auth);
    assert_eq!(error(&client.ask(opcode, &body).await).0, 0x0100, "it knows no user");
}

/// testkit: an AUTH_CHALLENGE never ends.
#[tokio::test]
async fn endless_challenges() {
    let cluster = cluster().await;
    cluster.node(0).fault(Stage::Auth, Fault::Wrong(Wrong::Challenge));
    let mut client = before(cluster.node(0), Stage::Auth).await;
    let (opcode, body) = request(Stage::Auth);
    for _ in 0..20 {
        assert_eq!(client.ask(opcode, &body).await.opcode, 0x0E);
    }
    assert_eq!(cluster.log().now().logins(), 0);
}

/// testkit: rules pass, strike and end by their numbers, one after the other.
#[tokio::test]
async fn rules_count() {
    let cluster = cluster().await;
    let mut client = before(cluster.node(0), Stage::Query).await;
    cluster.node(0).script(
        Script::new()
            .at(Stage::Query, Fault::error(1, "one").after(1).times(2))
            .at(Stage::Query, Fault::error(2, "two").times(1)),
    );
    let mut seen = Vec::new();
    for _ in 0..5 {
        let frame = client.query("SELECT 1").await;
        seen.push(if frame.opcode == 0 { error(&frame).0 } else { 0 });
    }
    assert_eq!(seen, [0, 1, 1, 2, 0]);
}

/// testkit: a fault that was cleared strikes no more, and other nodes never had it.
#[tokio::test]
async fn faults_come_and_go() {
    let cluster =
        Cluster::builder().nodes(2).fault(1, Stage::Startup, Fault::error(0x1001, "busy")).start().await.unwrap();
    let code = async |node: usize| {
        let mut client = Client::dial(cluster.node(node).addr()).await.unwrap();
        client.startup(&[]).await.opcode
    };
    assert_eq!((code(0).await, code(1).await), (0x02, 0x00));
    cluster.node(1).clear_fault(Stage::Startup);
    assert_eq!((code(0).await, code(1).await), (0x02, 0x02));
}
