//! A balancing policy of one's own: nodes under maintenance get no requests, and one profile asks one node alone.
//!
//! `cargo run --example balancing_policy --features testkit`; a cluster inside this process answers.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, PoisonError, RwLock},
};

use messina::{
    Profile, Session, Statement,
    policy::{BalancingPolicy, NodeChoice},
    testkit::{Cluster, rows},
    topology::NodeIndex,
};
use uuid::Uuid;

const SELECT: &str = "SELECT name FROM ks.users";

/// Passes over nodes that are being worked on, as long as there are others.
#[derive(Clone, Debug, Default)]
struct Maintenance {
    nodes: Arc<RwLock<HashSet<Uuid>>>,
}

impl Maintenance {
    fn begin(&self, host_id: Uuid) {
        self.nodes.write().unwrap_or_else(PoisonError::into_inner).insert(host_id);
    }

    fn end(&self, host_id: Uuid) {
        self.nodes.write().unwrap_or_else(PoisonError::into_inner).remove(&host_id);
    }
}

impl BalancingPolicy for Maintenance {
    fn pick(&self, choice: &NodeChoice<'_>) -> Option<NodeIndex> {
        let busy = self.nodes.read().unwrap_or_else(PoisonError::into_inner);
        let wanted = |node: &NodeIndex| choice.node(*node).is_some_and(|info| !busy.contains(&info.host_id));
        choice
            .best_of(choice.replicas().filter(wanted)) // those that hold the data
            .or_else(|| choice.best_of(choice.nodes().filter(wanted)))
            .or_else(|| choice.built_in()) // rather one under maintenance than none
    }
}

/// Asks one node and no other: for statements about the node itself.
#[derive(Debug)]
struct Only(Uuid);

impl BalancingPolicy for Only {
    fn pick(&self, choice: &NodeChoice<'_>) -> Option<NodeIndex> {
        choice.snapshot().index(self.0)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = Cluster::builder().nodes(3).start().await?;
    cluster.prime(SELECT, rows!["name text"; ("Ada",)]);
    let maintenance = Maintenance::default();
    let session =
        Session::builder().contact_addr(cluster.node(0).addr()).balancing_policy(maintenance.clone()).build().await?;
    let [first, second, third] = [0, 1, 2].map(|index| cluster.node(index).host_id().unwrap_or_default());

    println!("all nodes: {:?}", served_by(&session, SELECT).await?);

    maintenance.begin(second);
    let without = served_by(&session, SELECT).await?;
    println!("one under maintenance: {without:?}");
    assert!(!without.contains_key(&second));

    maintenance.begin(first);
    maintenance.begin(third);
    let all = served_by(&session, SELECT).await?;
    assert_eq!(all.values().sum::<usize>(), 30, "all under maintenance is better than no answer");
    maintenance.end(first);
    assert_eq!(served_by(&session, SELECT).await?, HashMap::from([(first, 30)]));

    let only = Profile::new("the third").with_balancing_policy(Only(third));
    let asked = served_by(&session, Statement::new(SELECT).with_profile(&only)).await?;
    println!("by the profile: {asked:?}");
    assert_eq!(asked, HashMap::from([(third, 30)]));

    session.close().await;
    Ok(())
}

/// How many of thirty requests each node answers.
async fn served_by(session: &Session, statement: impl Into<Statement>) -> Result<HashMap<Uuid, usize>, messina::Error> {
    let statement = statement.into();
    let mut served = HashMap::new();
    for _ in 0..30 {
        let result = session.execute(&statement, ()).await?;
        *served.entry(result.served_by().host_id).or_default() += 1;
    }
    Ok(served)
}
