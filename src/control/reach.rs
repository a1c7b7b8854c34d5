//! Topology monitors for the ways in which nodes are reached.

use std::sync::Arc;

use super::routes::RoutesMonitor;
use crate::{
    config::{Config, Reach},
    endpoint::{AddressTranslator, Advertised, Endpoint, SniProxy},
    topology::{BoxNodes, NodeInfo, SystemTables, TopologyMonitor},
};

/// The monitor that these settings ask for.
pub(crate) fn monitor(config: &Config) -> Arc<dyn TopologyMonitor> {
    let tables = SystemTables::new();
    match &config.reach {
        Reach::Direct => Arc::new(tables),
        Reach::Translated(translator) => Arc::new(Translated { tables, translator: Arc::clone(translator) }),
        Reach::Sni(proxies) => Arc::new(BehindProxies { tables, proxies: proxies.clone() }),
        Reach::ClientRoutes(routes) => Arc::new(RoutesMonitor::new(tables, routes.clone(), config.tls.is_some())),
    }
}

/// Nodes are dialled at what their addresses are translated into.
#[derive(Debug)]
struct Translated {
    tables: SystemTables,
    translator: Arc<dyn AddressTranslator>,
}

impl TopologyMonitor for Translated {
    fn nodes(&self) -> BoxNodes {
        self.tables.nodes()
    }

    fn endpoint(&self, node: &NodeInfo) -> Option<Endpoint> {
        let advertised = Advertised::new(node.host_id, node.address?);
        let advertised = advertised.placed(node.datacenter.as_deref(), node.rack.as_deref());
        Some(self.translator.translate(&advertised).into())
    }
}

/// Nodes are found by proxies, under names made of their host ids.
#[derive(Debug)]
struct BehindProxies {
    tables: SystemTables,
    proxies: Vec<SniProxy>,
}

impl TopologyMonitor for BehindProxies {
    fn nodes(&self) -> BoxNodes {
        self.tables.nodes()
    }

    /// By the proxy of the node's data centre; else by one for all; else by the first, which may know it still.
    fn endpoint(&self, node: &NodeInfo) -> Option<Endpoint> {
        let mut proxies = self.proxies.iter();
        let own = proxies
            .clone()
            .find(|proxy| proxy.datacenter().is_some() && proxy.datacenter() == node.datacenter.as_deref());
        let all = || self.proxies.iter().find(|proxy| proxy.datacenter().is_none());
        own.or_else(all).or_else(|| proxies.next()).map(|proxy| proxy.node(node.host_id))
    }
}
