//! A node dies with many requests on it: what was done, and what the client was told.

use std::sync::{Arc, Mutex};

use messina::error::Kind;
use messina::testkit::{Answer, Prime, Stage};

use crate::support::{SECOND, start};

const INSERT: &str = "INSERT INTO ks.t (id) VALUES (?)";
const REQUESTS: usize = 512;

/// driver 2.1: a node is killed while 512 requests are in flight. Writes that are not idempotent are not repeated,
/// idempotent ones succeed, and what the servers counted agrees with what the client was told.
#[tokio::test(start_paused = true)]
async fn with_many_requests_in_flight() {
    let (cluster, session) = start(3).await;
    // Of each write, the nodes that executed it.
    let done = Arc::new(Mutex::new(vec![Vec::new(); REQUESTS]));
    let counted = Arc::clone(&done);
    cluster.prime_with(Prime::new(INSERT).params("id int"), move |request| {
        let id = usize::try_from(request.value::<i32>(0).unwrap()).unwrap();
        counted.lock().unwrap()[id].push(request.node);
        // The first node executes, and is killed before it has answered.
        if request.node == 0 { Answer::void().delayed(SECOND) } else { Answer::void() }
    });
    let insert = session.prepare(INSERT).await.unwrap();
    let idempotent = |id: usize| id.is_multiple_of(2);
    let requests: Vec<_> = (0..REQUESTS)
        .map(|id| {
            let request = insert.bind((id as i32,)).unwrap().with_idempotence(idempotent(id));
            let session = session.clone();
            tokio::spawn(async move { session.execute_request(&request).await.map(drop) })
        })
        .collect();
    let killed = cluster.node(0);
    let asked = |log: &[&messina::testkit::ConnectionLog]| log.iter().map(|one| one.count(Stage::Query)).sum::<usize>();
    killed.wait_for(SECOND, |log| asked(log) > 100).await.unwrap();
    killed.kill().await;

    let (mut lost, mut twice) = (0, 0);
    for (id, request) in requests.into_iter().enumerate() {
        let told = request.await.unwrap();
        let done = std::mem::take(&mut done.lock().unwrap()[id]);
        let on_the_killed = done.contains(&0);
        match told {
            Ok(()) if on_the_killed => {
                assert!(idempotent(id) && done.len() == 2, "{id}: a write was repeated: {done:?}");
                twice += 1;
            }
            Ok(()) => assert_eq!(done.len(), 1, "{id}: told done, and done by {done:?}"),
            Err(error) => {
                assert!(!idempotent(id), "{id}: {error}");
                assert_eq!((error.kind(), error.tries().len()), (Kind::Connection, 1), "{error}");
                assert!(done.is_empty() || done == [0], "{id}: told lost, and done by {done:?}");
                lost += 1;
            }
        }
    }
    assert!(lost > 20 && twice > 20, "{lost} lost, {twice} repeated: the node was not busy");
}
