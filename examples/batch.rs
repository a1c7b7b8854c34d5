//! Several writes as one request: text and prepared statements mixed, logged and counter.
//!
//! `cargo run --example batch --features testkit`; a cluster inside this process answers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use messina::{
    Batch, Consistency, Session,
    testkit::{Answer, Cluster, Prime},
};

const USER: &str = "INSERT INTO ks.users (id, name) VALUES (?, ?)";
const BY_NAME: &str = "INSERT INTO ks.ids (name, id) VALUES (?, ?)";
const COUNT: &str = "UPDATE ks.visits SET times = times + ? WHERE id = ?";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = Cluster::builder().start().await?;
    let written = Arc::new(AtomicUsize::new(0));
    let primes = [
        Prime::new(USER).of("ks", "users").params("id int, name text").partition_key([0]),
        Prime::new(BY_NAME).of("ks", "ids").params("name text, id int").partition_key([0]),
        Prime::new(COUNT).of("ks", "visits").params("times counter, id int").partition_key([1]),
    ];
    for prime in primes {
        let written = Arc::clone(&written);
        cluster.prime_with(prime, move |_| {
            written.fetch_add(1, Ordering::Relaxed);
            Answer::void()
        });
    }
    let session = Session::builder().contact_addr(cluster.node(0).addr()).build().await?;

    // All or nothing, by way of the batch log; text with values is prepared once for the session.
    let user = session.prepare(USER).await?;
    let both = Batch::logged()
        .with(&user, (7, "Ada"))
        .with(BY_NAME, ("Ada", 7))
        .with_consistency(Consistency::Quorum)
        .with_idempotence(true);
    session.execute(&both, ()).await?;

    // Bound once, sent again and again; by a tower service as well.
    let again = session.bind_batch(&both).await?;
    session.execute_request(&again).await?;

    // Counters have a kind of batch of their own.
    let visits =
        Batch::counter().with(COUNT, (messina::value::Counter(1), 7)).with(COUNT, (messina::value::Counter(2), 8));
    session.execute(&visits, ()).await?;

    // What cannot be sent is refused by name, before anything is sent.
    let wrong = Batch::logged().with(&user, (7, "Ada")).with(&user, (7, true));
    if let Err(refused) = session.execute(&wrong, ()).await {
        println!("{refused}");
    }

    println!("{} statements were executed", written.load(Ordering::Relaxed));
    assert_eq!(written.load(Ordering::Relaxed), 6);
    session.close().await;
    Ok(())
}
