//! A resolver replaced by a `tower_test` mock: the test decides what a name leads to, and when.

use std::{error::Error, net::IpAddr, time::Duration};

use messina::{
    Session,
    layers::{Address, Order},
    testkit::Cluster,
};
use tower_test::mock;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let cluster = Cluster::builder().nodes(1).own_addresses().start().await?;
    let live = cluster.node(0).addr();

    let (resolver, mut asked) = mock::pair::<Address, Vec<IpAddr>>();
    let build = Session::builder()
        .contact_point(format!("db.example.com:{}", live.port()))
        .resolver(resolver)
        .candidate_order(Order::AsGiven)
        // Nobody listens at the first address; a refusal comes at once.
        .connect_timeout(Duration::from_secs(1))
        .build();
    let build = tokio::spawn(build);

    let (address, answer) = asked.next_request().await.ok_or("the resolver was not asked")?;
    println!("the session asked for {address}");
    assert_eq!(address.to_string(), format!("db.example.com:{}", live.port()));
    answer.send_response(vec!["127.254.254.254".parse()?, live.ip()]);

    // The connection to the node itself: its address is asked for too, since a resolver may redirect literals.
    let (address, answer) = asked.next_request().await.ok_or("the resolver was not asked")?;
    println!("the session asked for {address}");
    answer.send_response(vec![live.ip()]);

    let session = build.await??;
    println!("connected: {session:?}");
    Ok(())
}
