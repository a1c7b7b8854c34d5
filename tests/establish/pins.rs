//! What becomes of a pin when the same target is connected to again.

use std::sync::Arc;

use messina::{
    endpoint::{ContactPoint, CustomEndpoint, Endpoint, RouteEndpoint, RouteTable, SniProxy},
    establish::Open,
    layers::{Address, HostAddr},
    testkit::{Cluster, Network},
};
use uuid::Uuid;

use crate::support::TestStack;

#[derive(Debug)]
struct Tunnel;

impl CustomEndpoint for Tunnel {
    fn id(&self) -> &str {
        "tunnel"
    }

    fn address(&self) -> Address {
        Address::parse("db.test", 9042).unwrap()
    }
}

/// Every kind of endpoint, all of them at `db.test`; whether it keeps its pin.
fn kinds() -> [(Endpoint, bool); 4] {
    let direct = ContactPoint::parse("db.test").unwrap().endpoint().clone();
    let sni = SniProxy::parse("db.test:9042", "cluster.test").unwrap().bootstrap().into_iter().next().unwrap();
    let own = Address::parse("db.test", 9042).unwrap();
    let route = Endpoint::ClientRoute(RouteEndpoint::new(Uuid::from_u128(1), RouteTable::new(), Some(own)));
    [(direct, true), (sni, false), (route, false), (Endpoint::Custom(Arc::new(Tunnel)), false)]
}

/// connect D23: a connect pins its target, of whichever kind; when that target is connected to again, a direct one is dialled
/// where it was, and the others are expanded afresh.
/// connect 98: a direct one is not tried elsewhere.
/// reviewer 27: a proxy does not stay frozen on one address.
#[tokio::test(start_paused = true)]
async fn connected_to_again() {
    for (endpoint, keeps) in kinds() {
        let network = Network::new();
        let cluster = Cluster::builder().network(&network).nodes(2).start().await.unwrap();
        let [first, second] = cluster.addrs()[..] else { panic!("two nodes") };
        let stack = TestStack::new(&network, [first, second], |builder| builder);
        let target = Open::new(endpoint.clone(), Arc::clone(&stack.config));
        let established = stack.connect(target).await.unwrap();
        let pinned = established.target.endpoint().clone();
        assert_eq!((established.addr, pinned.pin()), (first, Some(HostAddr::from(first))), "{endpoint}");
        drop(established.connection);

        cluster.node(0).kill().await;
        let dialled = network.dialled().len();
        let again = stack.connect(Open::new(pinned, Arc::clone(&stack.config))).await;
        let dialled = network.dialled().split_off(dialled);
        match again {
            Ok(again) => {
                assert_eq!((keeps, again.addr, &dialled[..]), (false, second, &[first, second][..]), "{endpoint}")
            }
            Err(_) => assert_eq!((keeps, &dialled[..]), (true, &[first][..]), "{endpoint}"),
        }
    }
}
