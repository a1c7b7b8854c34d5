//! Requests that fail: what is tried again, where, and what an error tells.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use messina::error::Kind;
use messina::testkit::{Answer, Fault, Stage, rows};
use messina::{Error, Session, Statement};

use crate::support::{Nodes, SECOND, error, settle, start, start_with};

const INSERT: &str = "INSERT INTO ks.t (id) VALUES (1)";

/// A cluster whose first answers, whoever gives them, are these; later ones are rows. Also who was asked.
async fn answering(nodes: usize, answers: impl IntoIterator<Item = Answer>) -> (Nodes, Session, Asked) {
    let (cluster, session) = start(nodes).await;
    let mut answers: Vec<_> = answers.into_iter().collect();
    answers.reverse();
    let answers = Mutex::new(answers);
    let asked = Asked::default();
    let note = asked.clone();
    cluster.prime_with(INSERT, move |request| {
        note.0.lock().unwrap().push(request.node);
        answers.lock().unwrap().pop().unwrap_or_else(|| rows!["id int"; (1,)].into())
    });
    (cluster, session, asked)
}

/// The nodes that were asked, in order.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<usize>>>);

impl Asked {
    fn nodes(&self) -> Vec<usize> {
        self.0.lock().unwrap().clone()
    }
}

fn statement(idempotent: bool) -> Statement {
    Statement::new(INSERT).with_idempotence(idempotent)
}

async fn run(session: &Session, idempotent: bool) -> Result<(), Error> {
    session.execute(statement(idempotent), ()).await.map(drop)
}

/// driver 2.1: an error of the server is told with code, text, node, address and time, and is not tried again.
#[tokio::test(start_paused = true)]
async fn an_error_of_the_server() {
    let (cluster, session, asked) = answering(2, [Answer::error(0x2200, "unconfigured table t")]).await;
    let wrong = error(run(&session, true).await);
    assert_eq!(wrong.kind(), Kind::Server);
    let [tried] = wrong.tries() else { panic!("{wrong}") };
    let [node] = asked.nodes()[..] else { panic!("{:?}", asked.nodes()) };
    assert_eq!(tried.addr, cluster.node(node).addr());
    assert_eq!(Some(tried.host_id), cluster.node(node).host_id());
    assert_eq!(wrong.server_error().unwrap().code, 0x2200);
    assert!(std::error::Error::source(&wrong).unwrap().to_string().contains("unconfigured table t"));
    let line = wrong.to_string();
    assert!(line.contains("unconfigured table t") && line.contains(&tried.addr.to_string()), "{line}");
    assert!(!line.contains('\n'), "{line}");
}

/// driver 2.1: too few live replicas: once more on another node.
#[tokio::test(start_paused = true)]
async fn unavailable_is_tried_once_elsewhere() {
    let unavailable = || Answer::unavailable(6, 2, 1);
    let (_cluster, session, asked) = answering(3, [unavailable()]).await;
    run(&session, false).await.unwrap();
    let nodes = asked.nodes();
    assert!(nodes.len() == 2 && nodes[0] != nodes[1], "{nodes:?}");

    let (_cluster, session, asked) = answering(3, [unavailable(), unavailable()]).await;
    let wrong = error(run(&session, true).await);
    assert_eq!((wrong.kind(), wrong.tries().len(), asked.nodes().len()), (Kind::Server, 2, 2));
}

/// driver 2.1: enough replicas answered a read and only the data is missing: once more on the same node.
#[tokio::test(start_paused = true)]
async fn a_read_timeout_without_data_is_tried_once_more() {
    let timeout = |received, data| Answer::read_timeout(6, received, 2, data);
    let (_cluster, session, asked) = answering(3, [timeout(2, false)]).await;
    run(&session, false).await.unwrap();
    let nodes = asked.nodes();
    assert!(nodes.len() == 2 && nodes[0] == nodes[1], "{nodes:?}");

    for (answers, tries) in
        [(vec![timeout(2, false), timeout(2, false)], 2), (vec![timeout(1, false)], 1), (vec![timeout(2, true)], 1)]
    {
        let (_cluster, session, asked) = answering(3, answers).await;
        let wrong = error(run(&session, true).await);
        assert_eq!((wrong.kind(), wrong.tries().len(), asked.nodes().len()), (Kind::Server, tries, tries));
    }
}

/// driver 2.1: a batch's log that could not be written is tried once more if that is safe; other writes are not.
#[tokio::test(start_paused = true)]
async fn a_write_timeout_of_the_batch_log() {
    let timeout = |kind| Answer::write_timeout(6, 0, 1, kind);
    let (_cluster, session, asked) = answering(2, [timeout("BATCH_LOG")]).await;
    run(&session, true).await.unwrap();
    let nodes = asked.nodes();
    assert!(nodes.len() == 2 && nodes[0] == nodes[1], "{nodes:?}");

    for (kind, idempotent) in [("BATCH_LOG", false), ("SIMPLE", true), ("CAS", true), ("NEW_KIND", true)] {
        let (_cluster, session, asked) = answering(2, [timeout(kind)]).await;
        let wrong = error(run(&session, idempotent).await);
        assert_eq!((wrong.kind(), asked.nodes().len()), (Kind::Server, 1), "{kind}");
    }
}

/// driver 2.1: a node that is still joining refuses before it does anything, so another is asked in any case; one that
/// has too much to do is left only if that is safe.
#[tokio::test(start_paused = true)]
async fn bootstrapping_and_overloaded() {
    for (code, idempotent, tries) in [(0x1002, false, 2), (0x1002, true, 2), (0x1001, true, 2), (0x1001, false, 1)] {
        let (_cluster, session, asked) = answering(2, [Answer::error(code, "not now")]).await;
        let result = run(&session, idempotent).await;
        let nodes = asked.nodes();
        assert_eq!((result.is_ok(), nodes.len()), (tries == 2, tries), "{code:#x} {idempotent}");
        assert!(tries == 1 || nodes[0] != nodes[1]);
    }
    let (_cluster, session, _) = answering(2, vec![Answer::error(0x1002, "not now"); 2]).await;
    let wrong = error(run(&session, false).await);
    assert_eq!((wrong.kind(), wrong.tries().len()), (Kind::Server, 2), "every node refused");
}

/// driver 2.1: a server that is about to close the connection refuses with the code of overload, before it does anything.
#[tokio::test(start_paused = true)]
async fn shutting_down() {
    let (_cluster, session, asked) = answering(2, [Answer::error(0x1001, "Server is shutting down")]).await;
    run(&session, false).await.unwrap();
    let nodes = asked.nodes();
    assert!(nodes.len() == 2 && nodes[0] != nodes[1], "{nodes:?}");
}

/// driver 2.1: a connection that ends with an idempotent request on it costs a try, not the request.
#[tokio::test(start_paused = true)]
async fn lost_and_idempotent() {
    let (cluster, session, _) = answering(2, []).await;
    cluster.node(0).fault(Stage::Query, Fault::Reset);
    for _ in 0..4 {
        run(&session, true).await.unwrap();
    }
    assert_eq!(cluster.node(0).count(Stage::Query), 1);
}

/// driver 2.1: a connection that ends with another request on it ends the request: it may have been executed.
#[tokio::test(start_paused = true)]
async fn lost_and_not_idempotent() {
    let (cluster, session, asked) = answering(2, []).await;
    cluster.node(0).fault(Stage::Query, Fault::Close);
    let mut results = Vec::new();
    for _ in 0..4 {
        results.push(run(&session, false).await);
    }
    let wrong: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    let [wrong] = &wrong[..] else { panic!("{wrong:?}") };
    assert_eq!((wrong.kind(), wrong.tries().len()), (Kind::Connection, 1));
    let line = wrong.to_string();
    assert!(line.contains("idempotent") && line.contains(&cluster.node(0).addr().to_string()), "{line}");
    assert_eq!(asked.nodes().len(), 4, "it was not sent elsewhere");
}

/// driver 2.1: the session may say that its statements are idempotent.
#[tokio::test(start_paused = true)]
async fn idempotence_of_the_session() {
    let (cluster, session) = start_with(|cluster| cluster.nodes(2), |session| session.default_idempotence(true)).await;
    cluster.prime(INSERT, Answer::void());
    cluster.node(0).fault(Stage::Query, Fault::Reset);
    for _ in 0..4 {
        session.execute(INSERT, ()).await.unwrap();
    }
}

/// design 4.1: a request that was provably never sent goes to another node, idempotent or not.
#[tokio::test(start_paused = true)]
async fn never_sent_is_tried_elsewhere() {
    let (cluster, session) = start(2).await;
    let long = format!("INSERT INTO ks.t (id) VALUES (1) -- {}", "x".repeat(200_000));
    cluster.prime(&long, Answer::void());
    // Nothing is read from here on, so a request longer than the pipe cannot be written whole.
    cluster.node(0).freeze();
    let both = [(); 2].map(|()| {
        let (session, long) = (session.clone(), long.clone());
        tokio::spawn(async move { session.execute(long, ()).await.map(|result| result.served_by().addr) })
    });
    settle().await;
    cluster.node(0).kill().await;
    for task in both {
        assert_eq!(task.await.unwrap().unwrap(), cluster.node(1).addr());
    }
}

/// driver 2.1: with no node connected a request fails at once, and names the nodes and why.
#[tokio::test(start_paused = true)]
async fn no_node_is_connected() {
    let (cluster, session, _) = answering(2, []).await;
    for node in cluster.nodes() {
        node.kill().await;
    }
    settle().await;
    let lost = error(run(&session, true).await);
    assert_eq!(lost.kind(), Kind::NoConnection);
    let line = lost.to_string();
    // After a reconnect that failed the reason is known.
    tokio::time::sleep(SECOND * 3).await;
    let refused = error(run(&session, true).await);
    let later = refused.to_string();
    for node in cluster.nodes() {
        let (addr, host_id) = (node.addr().to_string(), node.host_id().unwrap().to_string());
        assert!(line.contains(&addr) && line.contains(&host_id), "{line}");
        assert!(later.contains(&addr) && later.contains("refused"), "{later}");
    }
    assert_eq!(refused.contact_points().len(), 2);
}

/// driver 2.1: bytes that are no answer end the request with an error that names the address.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_none() {
    let (cluster, session, _) = answering(1, [Answer::raw(8, *b"\0\0\0\x09")]).await;
    let wrong = error(run(&session, true).await);
    assert_eq!(wrong.kind(), Kind::Protocol);
    assert!(wrong.to_string().contains(&cluster.node(0).addr().to_string()), "{wrong}");
    // SUPPORTED is an answer, but not to this.
    let (_cluster, session, _) = answering(1, [Answer::raw(6, *b"\0\0")]).await;
    let wrong = error(run(&session, true).await);
    assert_eq!(wrong.kind(), Kind::Protocol);
}

/// driver 2.1: every try stands in the error, in order, each with its node and its own time.
#[tokio::test(start_paused = true)]
async fn every_try_is_told() {
    let slow = |answer: Answer| answer.delayed(Duration::from_millis(20));
    let (_cluster, session, asked) =
        answering(3, [slow(Answer::unavailable(6, 2, 1)), slow(Answer::error(0x1002, "joining"))]).await;
    cluster_of_three_refuses(&session, &asked).await;
}

async fn cluster_of_three_refuses(session: &Session, asked: &Asked) {
    let start = tokio::time::Instant::now();
    session.execute(statement(false), ()).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(40));
    assert_eq!(asked.nodes().len(), 3);
    let mut nodes = asked.nodes();
    nodes.sort_unstable();
    assert_eq!(nodes, [0, 1, 2]);
}
