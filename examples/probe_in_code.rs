//! Why does a name not work? Every address through every step, in code; `messina probe` does the same with flags.
//!
//! `cargo run --all-features --example probe_in_code -- db.example.com:9042` probes a cluster of yours; without an
//! argument one inside this process, behind a name with addresses that are dead in several ways.

use std::{error::Error, time::Duration};

use messina::{
    Session,
    layers::{FixedResolver, Name},
    probe::{Probe, READY},
    session::SessionBuilder,
    testkit::{BareAddress, Cluster},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if let Some(contact_point) = std::env::args().nth(1) {
        let report = Probe::new(Session::builder().contact_point(contact_point)).run().await?;
        println!("{report}");
        return Ok(());
    }

    let cluster = Cluster::builder().nodes(2).own_addresses().start().await?;
    let port = cluster.node(0).addr().port();
    let refused = BareAddress::refused()?.on_port(port)?;
    let mute = BareAddress::mute()?.on_port(port)?;
    let addrs = [refused.addr(), mute.addr(), cluster.node(0).addr(), cluster.node(1).addr()];

    // The settings of the session that does not work: the same resolver, TLS, credentials and limits.
    let settings: SessionBuilder = Session::builder()
        .contact_point(format!("db.test:{port}"))
        .resolver(FixedResolver::new().with(Name::new("db.test")?, addrs))
        .init_timeout(Duration::from_millis(500));
    let report = Probe::new(settings).run().await?;

    println!("{report}\n");
    let name = &report.contact_points[0];
    for address in &name.addresses {
        let slowest = address.times.iter().max_by_key(|(_, took)| *took);
        println!("{}: {}, slowest step {:?}", address.addr, address.stage, slowest);
    }
    assert!(report.works());
    assert_eq!(name.addresses.iter().filter(|address| address.stage == READY).count(), 2);
    Ok(())
}
