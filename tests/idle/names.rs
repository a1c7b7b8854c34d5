//! Memory does not grow with the names that were seen.

use std::{net::SocketAddr, sync::Arc};

use messina::{
    Session,
    endpoint::ContactPoint,
    establish::{self, BoxConnector, BoxResolver, Leaf, Open, Seams},
    layers::{Address, Candidate, Resolved, error::BoxError},
};
use tower::{ServiceExt, service_fn, util::BoxCloneSyncService};

use crate::block_on;

/// How many names warm it up, and how many must then cost nothing.
const WARM: usize = 2_000;

/// 100,000 of them, unless the build is unoptimised and nobody asks for all.
fn names() -> usize {
    let all = cfg!(not(debug_assertions)) || std::env::var_os("CI").is_some();
    if all { 100_000 } else { 20_000 }
}

/// connect 27: nothing is kept by the name.
/// scenario S37: names that differ only in case share what there is, and distinct names do not add up.
/// reviewer 17: routes may hand out new names for ever.
#[test]
fn do_not_add_up() {
    let resolver = service_fn(|address: Address| async move {
        Ok::<_, BoxError>(vec![Resolved::from(SocketAddr::from(([10, 0, 0, 1], address.port())))])
    });
    let refused = service_fn(|_: Candidate<Open>| async move {
        Err(BoxError::from(std::io::Error::from(std::io::ErrorKind::ConnectionRefused)))
    });
    let mut seams = Seams::new(BoxResolver::new(BoxCloneSyncService::new(resolver)));
    seams.leaf = Leaf::Custom(BoxConnector::new(BoxCloneSyncService::new(refused)));
    let config = Arc::new(Session::builder().contact_point("db.test").check().unwrap());
    let stack = establish::connect(&config, seams);
    let connect = |n: usize| {
        let name = if n.is_multiple_of(2) { format!("route-{n}.test") } else { format!("ROUTE-{}.Test", n - 1) };
        let endpoint = ContactPoint::parse(&name).unwrap().endpoint().clone();
        let target = Open::new(endpoint, Arc::clone(&config));
        let stack = stack.clone();
        async move { stack.oneshot(target).await.unwrap_err() }
    };
    let kept = allocation_counter::measure(|| {
        block_on(async {
            for n in 0..WARM {
                connect(n).await;
            }
        });
    });
    let names = names();
    let more = allocation_counter::measure(|| {
        block_on(async {
            for n in WARM..WARM + names {
                connect(n).await;
            }
        });
    });
    println!("{} bytes after {WARM} names, {} more after {names} more", kept.bytes_current, more.bytes_current);
    assert!(more.bytes_current < 16 * 1024, "{} bytes are left of {names} names", more.bytes_current);
}
