//! Which addresses become candidates.

use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};

use messina_layers::{Candidate, Candidates, FixedResolver, Turn, connect_stack};
use proptest::prelude::*;
use tower::ServiceExt;

use crate::support::{Servers, Step, addr, as_given, ip, name, number, stack, target};

fn v6(flow: u32, zone: u32, port: u16) -> SocketAddr {
    SocketAddrV6::new(Ipv6Addr::LOCALHOST, port, flow, zone).into()
}

/// connect D2: an address is the same if IP, port and zone are; the first occurrence wins.
/// reviewer 15: collapsed by address, port and zone.
#[test]
fn flow_information_does_not_count_zone_and_port_do() {
    let kept = Candidates::new((), [v6(1, 0, 1), v6(2, 0, 1), v6(0, 7, 1), v6(0, 8, 1), v6(3, 7, 1), v6(0, 0, 2)]);
    let kept = kept.unwrap();
    assert_eq!(kept.addrs(), [v6(0, 0, 1), v6(0, 7, 1), v6(0, 8, 1), v6(0, 0, 2)]);
    assert_eq!(kept.len(), 4);
    assert_eq!(kept.into_parts().1.len(), 4);
}

/// connect D2: an IPv4 address written as IPv6 is the same address, dialled as IPv4.
#[test]
fn a_mapped_address_is_the_address() {
    let [plain, mapped]: [SocketAddr; 2] =
        ["10.0.0.1:9042", "[::ffff:10.0.0.1]:9042"].map(|text| text.parse().unwrap());
    for both in [[plain, mapped], [mapped, plain]] {
        assert_eq!(Candidates::new((), both).unwrap().addrs(), [plain]);
    }
}

/// reviewer 16: no address gives the target back, not an empty list.
#[test]
fn there_is_no_empty_list_of_candidates() {
    assert_eq!(Candidates::new("target", []).unwrap_err(), "target");
}

proptest! {
    /// connect D2: none twice, in the order of first occurrences, for short and long answers.
    #[test]
    fn none_is_twice(numbers in proptest::collection::vec(any::<u8>(), 1..200)) {
        let kept = Candidates::new((), numbers.iter().copied().map(addr)).unwrap();
        let mut expected = Vec::new();
        for n in numbers {
            if !expected.contains(&n) {
                expected.push(n);
            }
        }
        prop_assert_eq!(kept.addrs().iter().copied().map(number).collect::<Vec<_>>(), expected);
    }
}

/// scenario S3: duplicate records: each address dialled once.
/// report 3: [x, x, y] with x dead costs one dial of x.
/// connect D2: never two dials of one address in one connect.
/// connect 150: duplicate records are collapsed.
/// connect D3: the cap counts what is left after duplicates are gone.
#[tokio::test(start_paused = true)]
async fn duplicates_cost_nothing_and_take_no_place_under_the_cap() {
    let servers = Servers::new([(2, Step::Accept)]);
    let mut options = as_given();
    options.cap = 2;
    let established = stack(&servers, [1, 1, 1, 2], options).oneshot(target()).await.unwrap();
    assert_eq!((established.addr, servers.dialled()), (addr(2), vec![1, 2]));
}

/// connect D2: an answer with ports of its own is told apart by them.
#[tokio::test(start_paused = true)]
async fn the_same_host_at_two_ports_is_two_candidates() {
    let servers = Servers::default();
    let answer = [SocketAddr::new(ip(1), 1), SocketAddr::new(ip(1), 2), SocketAddr::new(ip(1), 1)];
    let stack = connect_stack(servers.clone(), FixedResolver::new().with(name(), answer), as_given());
    let error = stack.oneshot(target()).await.unwrap_err();
    assert_eq!(error.failed().iter().map(|attempt| attempt.addr).collect::<Vec<_>>(), answer[..2]);
}

#[test]
fn a_candidate_gives_its_parts() {
    let mut candidate = Candidate::new("target", addr(1)).with_turn(Turn::shared());
    assert_eq!((*candidate.target(), candidate.addr()), ("target", addr(1)));
    assert_eq!(format!("{:?}", candidate.turn()), "Turn(shared)");
    *candidate.target_mut() = "changed";
    assert_eq!(candidate.into_parts().0, "changed");
}
