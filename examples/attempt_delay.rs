//! What a mute address costs: a full limit one after the other, a quarter of a second with the attempt delay.

use std::{error::Error, time::Duration};

use messina::{
    Session,
    layers::{FixedResolver, Name, Order},
    testkit::{BareAddress, Cluster},
};
use tokio::time::Instant;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let cluster = Cluster::builder().nodes(1).own_addresses().start().await?;
    let live = cluster.node(0).addr();
    // Accepts, and never answers.
    let mute = BareAddress::mute()?.on_port(live.port())?;
    let resolver = FixedResolver::new().with(Name::new("db.test")?, [mute.addr(), live]);

    let builder = Session::builder()
        .contact_point(format!("db.test:{}", live.port()))
        .resolver(resolver)
        .candidate_order(Order::AsGiven)
        .init_timeout(Duration::from_secs(2));

    let started = Instant::now();
    builder.clone().sequential().build().await?;
    let sequential = started.elapsed();

    let started = Instant::now();
    // The default: 250 ms. Transports may overlap, logins never do.
    builder.build().await?;
    let delayed = started.elapsed();

    println!("sequential: the mute address costs its whole limit; with the delay, a part of it");
    assert!(sequential > Duration::from_secs(2), "{sequential:?}");
    assert!(delayed < sequential, "{delayed:?} against {sequential:?}");
    Ok(())
}
