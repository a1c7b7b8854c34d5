//! What befalls the cluster, and how it heals.

use std::time::Duration;

use messina::testkit::{Fault, Node, Push, Stage};
use tokio::time::{Instant, sleep_until};

use crate::{random::Random, world::World};

/// What is wrong with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// Down; it comes back where it was.
    Killed,
    /// Down; it comes back elsewhere.
    Moves,
    /// It does nothing, and its connections stay open.
    Frozen,
    /// Its connections are reset, and new ones are refused.
    Refuses,
    /// Its connections are reset, and dials to it never end.
    BlackHole,
    /// Its connections are reset, and STARTUP is not answered.
    Mute,
    /// It answers late.
    Slow,
    /// Its connections are reset, once.
    Blip,
}

const TROUBLES: [Trouble; 8] = [
    Trouble::Killed,
    Trouble::Moves,
    Trouble::Frozen,
    Trouble::Refuses,
    Trouble::BlackHole,
    Trouble::Mute,
    Trouble::Slow,
    Trouble::Blip,
];

/// Something that is due later.
#[derive(Clone, Copy, Debug)]
enum Later {
    /// The node is well again.
    Heals(usize, Trouble),
    /// The others tell that it is.
    Told(usize),
    /// The others tell that it is down.
    ToldDown(usize),
}

impl World {
    /// Faults and changes of the name, one after the other, for so long.
    pub(crate) async fn torment(&self, long: Duration, random: &mut Random) -> Result<(), String> {
        let end = Instant::now() + long;
        let mut due: Vec<(Instant, Later)> = Vec::new();
        let mut ill = vec![false; self.cluster.nodes().len()];
        loop {
            self.check()?;
            let now = Instant::now();
            due.sort_by_key(|(at, _)| *at);
            while due.first().is_some_and(|(at, _)| *at <= now) {
                let (_, later) = due.remove(0);
                match later {
                    Later::Heals(index, trouble) => {
                        self.well_again(self.cluster.node(index), trouble);
                        ill[index] = false;
                        due.push((now + random.millis(100, 500), Later::Told(index)));
                    }
                    Later::Told(index) if !ill[index] => self.tell("UP", self.cluster.node(index)),
                    Later::ToldDown(index) if ill[index] => self.tell("DOWN", self.cluster.node(index)),
                    Later::Told(_) | Later::ToldDown(_) => {}
                }
            }
            if now >= end {
                // What is ill stays so until it is healed.
                return Ok(());
            }
            if random.once_in(8) {
                self.rename(random, &ill);
            }
            let index = self.victim(random);
            // Half of the cluster always works.
            let well = ill.iter().filter(|ill| !**ill).count();
            if !ill[index] && 2 * well > ill.len() {
                ill[index] = true;
                let trouble = TROUBLES[random.below(TROUBLES.len())];
                self.befall(self.cluster.node(index), trouble).await;
                due.push((now + random.millis(500, 10_000), Later::Heals(index, trouble)));
                if random.once_in(2) {
                    due.push((now + random.millis(500, 2_000), Later::ToldDown(index)));
                }
            }
            let mut next = now + random.millis(20, 600);
            if let Some((at, _)) = due.iter().min_by_key(|(at, _)| *at) {
                next = next.min(*at);
            }
            sleep_until(next.max(now + Duration::from_millis(1))).await;
        }
    }

    /// Any node, and often the one that has the control connection.
    fn victim(&self, random: &mut Random) -> usize {
        let any = random.below(self.cluster.nodes().len());
        if !random.once_in(5) {
            return any;
        }
        let control = self.controls().first().copied();
        self.cluster.nodes().iter().position(|node| Some(node.addr()) == control).unwrap_or(any)
    }

    /// The name leads to other nodes, some of them ill, and one address where nobody is.
    fn rename(&self, random: &mut Random, ill: &[bool]) {
        let well: Vec<_> = ill.iter().enumerate().filter(|(_, ill)| !**ill).map(|(index, _)| index).collect();
        let mut addrs = vec![self.network.nobody()];
        addrs.extend((0..2).map(|_| self.cluster.node(random.below(ill.len())).addr()));
        addrs.extend((0..2).map(|_| self.cluster.node(well[random.below(well.len())]).addr()));
        self.note(format_args!("db.test is {addrs:?}"));
        self.names.set("db.test", addrs);
    }

    async fn befall(&self, node: &Node, trouble: Trouble) {
        self.note(format_args!("{} {trouble:?}", node.addr()));
        match trouble {
            Trouble::Killed | Trouble::Moves => node.kill().await,
            Trouble::Frozen => node.freeze(),
            Trouble::Refuses => node.fault(Stage::Tcp, Fault::Refuse),
            Trouble::BlackHole => node.fault(Stage::Tcp, Fault::Silence),
            Trouble::Mute => node.fault(Stage::Startup, Fault::Silence),
            Trouble::Slow => node.fault(Stage::Query, Fault::Delay(Duration::from_millis(400))),
            Trouble::Blip => {}
        }
        if matches!(trouble, Trouble::Refuses | Trouble::BlackHole | Trouble::Mute | Trouble::Blip) {
            node.reset_connections();
        }
    }

    fn well_again(&self, node: &Node, trouble: Trouble) {
        node.clear_faults();
        match trouble {
            Trouble::Moves => {
                let to = self.network.nobody();
                self.note(format_args!("{} is now {to}", node.addr()));
                self.network.move_node(node, to).unwrap();
                node.start();
            }
            Trouble::Killed | Trouble::Frozen => node.start(),
            _ => {}
        }
        self.note(format_args!("{} is well again", node.addr()));
    }

    fn tell(&self, change: &str, node: &Node) {
        self.note(format_args!("told {change} {}", node.addr()));
        self.cluster.push(&Push::status(change, node.addr()));
    }

    /// The last fault is over: every node is well, the name leads to some, and the others tell of each.
    pub(crate) async fn heal(&self) {
        for node in self.cluster.nodes() {
            node.clear_faults();
            node.start();
        }
        self.names.set("db.test", self.cluster.addrs().into_iter().take(3));
        self.note("all is well");
        // Gossip takes its time, and a control connection that was just found is told as well.
        for _ in 0..2 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            for node in self.cluster.nodes() {
                self.cluster.push(&Push::status("UP", node.addr()));
            }
        }
        self.note("all are told");
    }
}
