//! What a signed GetItem costs the client, and how long the head of its request is.

use std::time::Duration;

use crate::{
    clients::{self, KINDS},
    measure::{quiet, run},
    server::Server,
    table::Table,
};

const ROUNDS: usize = 32;

pub async fn measure(table: &mut Table) {
    let mut server = Server::start();
    let mut calls = Vec::new();
    for kind in KINDS {
        let call = clients::make(kind, &server, &[0, 1, 2]);
        server.tell("forget");
        call().await.expect("an answer");
        let head = server.tell("head");
        table.set("bytes of the request's head", "470 (slim, without SDK)", kind, head);
        calls.push(call);
    }
    for workers in [1, 64] {
        for call in &calls {
            run(call, workers, Duration::from_millis(300)).await;
        }
        // Side by side, so that what else the machine does meets all of them alike.
        let mut rounds = vec![Vec::new(); calls.len()];
        for _ in 0..ROUNDS {
            for (call, times) in calls.iter().zip(&mut rounds) {
                times.push(run(call, workers, Duration::from_millis(250)).await.processor);
            }
        }
        let floor = quiet(rounds[0].clone());
        let sdk = quiet(rounds[1].clone());
        for (kind, times) in KINDS.into_iter().zip(rounds) {
            let time = quiet(times);
            let cell = format!("{:.2} / {:.2} ({time:.0} us)", time / floor, time / sdk);
            let what = format!("client CPU of a request, {workers} at a time: floor = 1 / plain SDK = 1");
            table.set(&what, "/ 1 all headers; / 0.8 slim; 1.2 / without SDK", kind, cell);
        }
    }
}
