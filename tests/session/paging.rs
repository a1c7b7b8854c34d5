//! Pages: read one after the other, fetched ahead, on the node that began.

use std::time::Duration;

use futures_util::TryStreamExt;
use messina::error::Kind;
use messina::session::{PagingState, RowsError};
use messina::testkit::{Answer, Fault, Rows, Stage, rows};
use messina::{Session, Statement};

use crate::support::{Nodes, error, settle, start, start_with};

const ALL: &str = "SELECT id FROM ks.t";

/// Six rows in three pages, of which the first is empty.
fn six() -> Rows {
    rows!["id int"; (0,), (1,), (2,), (3,), (4,), (5,)].pages([0, 4, 2])
}

async fn paged(nodes: usize) -> (Nodes, Session) {
    let (cluster, session) = start(nodes).await;
    cluster.prime(ALL, six());
    (cluster, session)
}

/// surface 1: a stream goes through every page, the first of which may be empty.
#[tokio::test(start_paused = true)]
async fn every_page() {
    let (cluster, session) = paged(1).await;
    let mut stream = session.execute(ALL, ()).await.unwrap().stream::<(i32,)>();
    for id in 0..6 {
        assert_eq!(stream.try_next().await.unwrap(), Some((id,)));
    }
    assert_eq!(stream.try_next().await.unwrap(), None);
    assert_eq!(stream.try_next().await.unwrap(), None);
    assert_eq!(cluster.node(0).count(Stage::Query), 3);

    let all = session.execute(ALL, ()).await.unwrap().all::<(i32,)>().await.unwrap();
    assert_eq!(all.len(), 6);
    let stream = session.execute(ALL, ()).await.unwrap().stream::<(i32,)>();
    let all: Vec<(i32,)> = stream.try_collect().await.unwrap();
    assert_eq!(all.len(), 6);
}

/// surface 1: the next page is asked for before the page at hand is read, and no further one.
#[tokio::test(start_paused = true)]
async fn the_next_page_is_fetched_ahead() {
    let (cluster, session) = start(1).await;
    cluster.prime(ALL, six().pages([2, 2, 2]));
    let result = session.execute(ALL, ()).await.unwrap();
    settle().await;
    assert_eq!(cluster.node(0).count(Stage::Query), 1, "not before a stream is wanted");
    let mut stream = result.stream::<(i32,)>();
    settle().await;
    assert_eq!(cluster.node(0).count(Stage::Query), 2);
    for _ in 0..2 {
        stream.try_next().await.unwrap();
    }
    settle().await;
    assert_eq!(cluster.node(0).count(Stage::Query), 2);
    stream.try_next().await.unwrap();
    settle().await;
    assert_eq!(cluster.node(0).count(Stage::Query), 3);
}

/// surface 1: reading slowly costs a stream nothing: each fetch has its own time.
#[tokio::test(start_paused = true)]
async fn a_slow_reader_has_time() {
    let (_cluster, session) = paged(1).await;
    let statement = Statement::new(ALL).with_timeout(Duration::from_millis(50));
    let mut stream = session.execute(statement, ()).await.unwrap().stream::<(i32,)>();
    for id in 0..6 {
        assert_eq!(stream.try_next().await.unwrap(), Some((id,)));
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
}

/// surface 1: the fetch of a page has the request's timeout, and a dropped stream gives it up.
#[tokio::test(start_paused = true)]
async fn a_page_that_does_not_come() {
    let (cluster, session) = paged(1).await;
    let statement = Statement::new(ALL).with_timeout(Duration::from_millis(50));
    let first = session.execute(&statement, ()).await.unwrap();
    cluster.fault(Stage::Query, Fault::Silence);
    let late = error(first.all::<(i32,)>().await);
    assert_eq!(late.kind(), Kind::Timeout);
    assert_eq!(late.tries().len(), 1);
}

/// surface 1: a stream that is dropped gives up the page on its way.
#[tokio::test(start_paused = true)]
async fn a_dropped_stream() {
    // One request that was given up is one too many, so that its connection is seen to close.
    let (cluster, session) = start_with(|cluster| cluster, |session| session.requests_per_connection(1, 0)).await;
    cluster.prime(ALL, six());
    cluster.fault(Stage::Query, Fault::Silence.after(1));
    let open = cluster.log().now().open();
    let stream = session.execute(ALL, ()).await.unwrap().stream::<(i32,)>();
    settle().await;
    assert_eq!((cluster.node(0).count(Stage::Query), cluster.log().now().open()), (2, open));
    drop(stream);
    settle().await;
    assert_eq!(cluster.log().now().open(), open - 1);
}

/// driver 2.1: pages come from the node that gave the first one, and from another when that is gone.
#[tokio::test(start_paused = true)]
async fn pages_stay_on_their_node() {
    let (cluster, session) = paged(3).await;
    let result = session.execute(ALL, ()).await.unwrap();
    let first = result.served_by();
    let second = result.next_page().await.unwrap().unwrap();
    assert_eq!(second.served_by(), first);
    let node = cluster.nodes().iter().find(|node| node.addr() == first.addr).unwrap();
    node.kill().await;
    settle().await;
    let third = second.next_page().await.unwrap().unwrap();
    assert_ne!(third.served_by(), first);
    assert_eq!(third.page().rows::<(i32,)>().unwrap().len(), 2);
    assert!(third.next_page().await.unwrap().is_none());
}

/// driver 2.1: a page that is lost on its way is asked for on another node, since pages are only read.
#[tokio::test(start_paused = true)]
async fn a_lost_page_is_asked_for_elsewhere() {
    let (cluster, session) = paged(2).await;
    let result = session.execute(ALL, ()).await.unwrap();
    let first = result.served_by();
    let node = cluster.nodes().iter().find(|node| node.addr() == first.addr).unwrap();
    node.fault(Stage::Query, Fault::Reset);
    let second = result.next_page().await.unwrap().unwrap();
    assert_ne!(second.served_by(), first);
}

/// surface 1: those who page by hand keep the paging state, and may begin anywhere with it.
#[tokio::test(start_paused = true)]
async fn paging_by_hand() {
    let (cluster, session) = start(1).await;
    cluster.prime(ALL, rows!["id int"; (0,), (1,), (2,)]);
    let mut statement = Statement::new(ALL).with_page_size(2);
    let page = session.execute(&statement, ()).await.unwrap().into_page();
    assert_eq!(page.len(), 2);
    let kept = page.paging_state().unwrap().as_bytes().to_vec();

    statement = statement.with_paging_state(PagingState::from_bytes(kept));
    let page = session.execute(&statement, ()).await.unwrap().into_page();
    assert_eq!(page.rows::<(i32,)>().unwrap().map(Result::unwrap).collect::<Vec<_>>(), [(2,)]);
    assert_eq!(page.paging_state(), None);
}

/// cql 3: a paging state is not valid across versions of the protocol, so it is not sent in another one.
#[tokio::test(start_paused = true)]
async fn a_paging_state_of_another_version() {
    let versions = async |version| start_with(|cluster| cluster.versions([version]), |session| session).await;
    let ((v4, old), (v5, new)) = (versions(4).await, versions(5).await);
    v4.prime(ALL, six());
    v5.prime(ALL, six());
    let page = old.execute(ALL, ()).await.unwrap().into_page();
    let statement = Statement::new(ALL).with_paging_state(page.paging_state());
    old.execute(&statement, ()).await.unwrap();
    let wrong = error(new.execute(&statement, ()).await);
    assert_eq!(wrong.kind(), Kind::Statement);
    assert!(wrong.to_string().contains("another protocol version"), "{wrong}");
    assert_eq!(v5.node(0).count(Stage::Query), 0);
}

/// driver 2.1: a server that repeats an empty page is an error, not an endless loop.
#[tokio::test(start_paused = true)]
async fn endless_pages() {
    let (cluster, session) = start(1).await;
    cluster.prime_with(ALL, |_| {
        // Rows: more pages, one column of a common table, its state, no row.
        let mut body = Vec::new();
        for number in [2_u32, 3, 1, 1] {
            body.extend_from_slice(&number.to_be_bytes());
        }
        body.extend_from_slice(b"s\0\x02ks\0\x01t\0\x02id\0\x09\0\0\0\0");
        Answer::raw(8, body)
    });
    for wrong in [
        error(session.execute(ALL, ()).await.unwrap().all::<(i32,)>().await),
        error(session.execute(ALL, ()).await.unwrap().one::<(i32,)>().await),
        error(session.execute(ALL, ()).await.unwrap().first::<(i32,)>().await),
    ] {
        assert_eq!(wrong.kind(), Kind::Protocol);
        assert!(matches!(wrong.rows_error(), Some(RowsError::EndlessPages)), "{wrong}");
    }
}

/// driver 2.1: the page size of session and statement is what the server is asked for.
#[tokio::test(start_paused = true)]
async fn page_sizes() {
    let (cluster, session) = start_with(|cluster| cluster, |session| session.page_size(7)).await;
    cluster.prime_with(ALL, |request| rows!["id int"; (request.page_size.unwrap() as i32,)].into());
    let size = async |statement: Statement| session.execute(statement, ()).await.unwrap().one::<(i32,)>().await;
    assert_eq!(size(Statement::new(ALL)).await.unwrap(), (7,));
    assert_eq!(size(Statement::new(ALL).with_page_size(3)).await.unwrap(), (3,));
    let wrong = error(session.execute(Statement::new(ALL).with_page_size(0), ()).await);
    assert_eq!(wrong.kind(), Kind::Statement);
    assert!(wrong.to_string().contains("page size must be at least 1"), "{wrong}");
}
