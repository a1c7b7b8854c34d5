//! A resolver of one's own: any `Service<Address>` whose answer iterates addresses, with tower's layers around it.

use std::{
    error::Error,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use messina::{Session, layers::Address, testkit::Cluster};
use tower::{ServiceBuilder, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let cluster = Cluster::builder().nodes(1).own_addresses().start().await?;
    let live = cluster.node(0).addr();

    // Asks, say, a service registry. Literals come here too, so that a resolver may redirect them.
    let lookups = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&lookups);
    let registry = service_fn(move |address: Address| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            Ok::<Vec<IpAddr>, std::io::Error>(match address {
                Address::Name(..) => vec![live.ip()],
                Address::Socket(addr) => vec![addr.ip()],
            })
        }
    });
    // Ordinary tower layers limit it.
    let resolver = ServiceBuilder::new().concurrency_limit(8).timeout(Duration::from_secs(2)).service(registry);

    let session =
        Session::builder().contact_point(format!("db.internal:{}", live.port())).resolver(resolver).build().await?;
    println!("connected with {} lookups: {session:?}", lookups.load(Ordering::Relaxed));
    assert!(lookups.load(Ordering::Relaxed) >= 1);
    Ok(())
}
