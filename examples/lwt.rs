//! A write with a condition: whether it was applied, and what stands there if not.
//!
//! `cargo run --example lwt --features testkit`; a cluster inside this process answers.

use std::sync::OnceLock;

use messina::{
    DeserializeRow, SerialConsistency, Session, Statement,
    testkit::{Cluster, Prime, rows},
};

const CLAIM: &str = "INSERT INTO ks.names (name, owner) VALUES (?, ?) IF NOT EXISTS";

/// The row that an `IF` answers when it does not hold: its verdict first, then what is there.
#[derive(DeserializeRow)]
#[scylla(crate = messina)]
struct There {
    #[scylla(rename = "[applied]")]
    applied: bool,
    name: String,
    owner: i32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = Cluster::builder().start().await?;
    prime(&cluster);
    let session = Session::builder().contact_addr(cluster.node(0).addr()).build().await?;
    // Agreed on in the local data centre is the default; here by all of them.
    let claim = session.prepare(Statement::new(CLAIM).with_serial_consistency(SerialConsistency::Serial)).await?;

    let mut applied = Vec::new();
    for owner in [1, 2] {
        let result = session.execute(&claim, ("ada", owner)).await?;
        applied.push(result.applied()?);
        if result.applied()? {
            println!("owner {owner} has the name now");
        } else {
            let there = result.one::<There>().await?;
            println!("owner {owner} comes too late: {} belongs to {}", there.name, there.owner);
            assert!(!there.applied && there.owner == 1);
        }
    }

    assert_eq!(applied, [true, false]);
    session.close().await;
    Ok(())
}

/// The first owner gets the name.
fn prime(cluster: &Cluster) {
    let first = OnceLock::new();
    let claim = Prime::new(CLAIM).of("ks", "names").params("name text, owner int").partition_key([0]).conditional();
    cluster.prime_with(claim, move |request| {
        let (name, owner) = (request.value::<String>(0), request.value::<i32>(1));
        let mut applied = false;
        let there = first.get_or_init(|| {
            applied = true;
            (name, owner)
        });
        if applied {
            rows!["[applied] boolean"; (true,)].into()
        } else {
            rows!["[applied] boolean, name text, owner int"; (false, &there.0, &there.1)].into()
        }
    });
}
