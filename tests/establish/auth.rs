//! Logging in: what an authenticator is told, what a refusal means, how often it may happen.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use messina::{
    config::{AuthContext, AuthError, Authenticator, AuthenticatorSession},
    establish::LoginRefused,
    layers::{Class, ConnectError, Scope},
    testkit::{Cluster, Fault, Network, Stage, Wrong},
};

use crate::support::{Events, Mode, SOON, TestStack, all_closed, attempts, named, stages, timed};

/// An authenticator that writes down what it is told.
#[derive(Clone, Debug, Default)]
struct Own {
    told: Arc<Mutex<Vec<(String, SocketAddr, String)>>>,
    challenges: Arc<Mutex<Vec<Vec<u8>>>>,
    ends: bool,
    refuses_class: bool,
    distrusts: bool,
}

impl Authenticator for Own {
    fn start(&self, context: &AuthContext<'_>) -> Result<Box<dyn AuthenticatorSession>, AuthError> {
        let told = (context.host.to_owned(), context.peer, context.authenticator.to_owned());
        self.told.lock().unwrap().push(told);
        if self.refuses_class {
            return Err(AuthError::new("no mechanism for this class"));
        }
        Ok(Box::new(self.clone()))
    }
}

impl AuthenticatorSession for Own {
    fn initial(&mut self) -> Result<Vec<u8>, AuthError> {
        Ok(if self.ends { b"\0ada\0pass".to_vec() } else { b"hello".to_vec() })
    }

    fn challenge(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
        self.challenges.lock().unwrap().push(token.to_vec());
        Ok(b"\0ada\0pass".to_vec())
    }

    fn success(&mut self, _token: &[u8]) -> Result<(), AuthError> {
        if self.distrusts { Err(AuthError::new("the server is not the right one")) } else { Ok(()) }
    }
}

async fn with_login(network: &Network, nodes: usize) -> Cluster {
    let builder = Cluster::builder().network(network).nodes(nodes).user("ada", "pass");
    builder.authenticator("com.example.Gate").start().await.unwrap()
}

fn login_refused(error: &ConnectError) -> &LoginRefused {
    error.failed()[0].error.find().unwrap()
}

/// connect D31: an authenticator is told the configured host text, the peer's address and the server's class.
#[tokio::test(start_paused = true)]
async fn what_an_authenticator_is_told() {
    let network = Network::new();
    let cluster = with_login(&network, 2).await;
    let own = Own { ends: true, ..Own::default() };
    let session = named(&network, [cluster.node(1).addr()]).authenticator(own.clone()).build().await.unwrap();
    cluster.wait_for(SOON, |seen| seen.logins() == 3).await.unwrap();
    let mut told = own.told.lock().unwrap().clone();
    let class = "com.example.Gate".to_owned();
    assert_eq!(told.remove(0), ("db.test".to_owned(), cluster.node(1).addr(), class.clone()));
    // Nodes are known by their addresses: nothing is looked up to make names of them.
    told.sort();
    let nodes = cluster.addrs().into_iter().map(|addr| (addr.ip().to_string(), addr, class.clone()));
    assert_eq!(told, nodes.collect::<Vec<_>>());
    drop(session);
}

/// connect D31: challenges are answered until the server is content.
#[tokio::test(start_paused = true)]
async fn challenges_are_answered() {
    let network = Network::new();
    let cluster = with_login(&network, 1).await;
    cluster.node(0).fault(Stage::Auth, Fault::Wrong(Wrong::Challenge).times(2));
    let own = Own::default();
    let stack = TestStack::new(&network, cluster.addrs(), |builder| builder.authenticator(own.clone()));
    stack.connect(stack.open()).await.unwrap();
    assert_eq!(*own.challenges.lock().unwrap(), [b"more", b"more"]);
    assert_eq!(cluster.node(0).count(Stage::Auth), 3);
}

/// connect D31: an authenticator may refuse the class, or the server; each fails that address at the login.
#[tokio::test(start_paused = true)]
async fn an_authenticator_gives_up() {
    let network = Network::new();
    let cluster = with_login(&network, 1).await;
    for (own, text) in [
        (Own { refuses_class: true, ..Own::default() }, "no mechanism for this class"),
        (Own { ends: true, distrusts: true, ..Own::default() }, "the server is not the right one"),
    ] {
        let stack = TestStack::new(&network, cluster.addrs(), |builder| builder.authenticator(own));
        let error = stack.connect(stack.open()).await.unwrap_err();
        let failed = &error.failed()[0].error;
        assert_eq!((failed.stage().as_str(), failed.scope()), ("auth", Scope::Suspect));
        let report = error.report().to_string();
        assert!(report.contains("the authenticator gave up") && report.contains(text), "{report}");
    }
    all_closed(cluster.log()).await;
}

/// connect 16: a login that never ends is cut.
/// connect 49: and is a refused login like others.
#[tokio::test(start_paused = true)]
async fn an_endless_login() {
    let network = Network::new();
    let cluster = with_login(&network, 1).await;
    cluster.node(0).fault(Stage::Auth, Fault::Wrong(Wrong::Challenge));
    let stack = TestStack::new(&network, cluster.addrs(), |builder| builder.authenticator(Own::default()));
    let error = stack.connect(stack.open()).await.unwrap_err();
    assert!(matches!(login_refused(&error), LoginRefused::Endless(16)), "{error}");
    assert_eq!(cluster.node(0).count(Stage::Auth), 16);
}

/// report 27: a missing password is told as such, with the server's class.
#[tokio::test(start_paused = true)]
async fn no_credentials() {
    let network = Network::new();
    let cluster = with_login(&network, 1).await;
    let error = named(&network, cluster.addrs()).build().await.unwrap_err();
    assert!(error.is_auth());
    let line = error.to_string();
    assert!(line.contains("asks for a login (com.example.Gate), but no credentials are configured"), "{line}");
    assert_eq!(cluster.node(0).count(Stage::Auth), 0);
}

/// connect 59: a server that asks for no login gets none, whatever is configured.
#[tokio::test(start_paused = true)]
async fn no_login_wanted() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let session = named(&network, cluster.addrs()).credentials("ada", "pass").build().await.unwrap();
    assert_eq!(cluster.log().now().count(Stage::Auth), 0);
    drop(session);
}

/// report 27: wrong credentials at every address: the kind says so, and the server's words are kept.
/// connect 58: one warning about checking the credentials.
/// connect D14: never terminal by itself: every address is asked.
/// scenario H15: refused everywhere: as many logins as addresses, classed as authentication.
#[tokio::test(start_paused = true)]
async fn refused_everywhere() {
    for mode in Mode::BOTH {
        let events = Events::watch();
        let network = Network::new();
        let cluster = with_login(&network, 5).await;
        let builder = named(&network, cluster.addrs()).credentials("ada", "sesame");
        let error = mode.of(builder).build().await.unwrap_err();
        assert_eq!(stages(&error), ["auth"; 5]);
        assert!(error.is_auth());
        let line = error.to_string();
        assert!(line.contains("Provided username ada and/or password are incorrect"), "{line}");
        assert!(!line.contains("sesame"), "{line}");
        assert_eq!(cluster.log().now().rejected_logins(), 5);
        assert_eq!(events.warned("check the credentials"), 1);
        assert!(matches!(login_refused(&error.contact_points()[0].error), LoginRefused::ByServer(_)));
    }
}

/// connect 58: the warning comes as well when a refused login is one of several causes, and only if every contact
/// point has one.
#[tokio::test(start_paused = true)]
async fn the_warning_about_credentials() {
    let network = Network::new();
    let cluster = with_login(&network, 1).await;
    let (dead, gate) = (network.refused(), cluster.node(0).addr());
    let events = Events::watch();
    named(&network, [dead, gate]).credentials("ada", "sesame").build().await.unwrap_err();
    assert_eq!(events.warned("check the credentials"), 1);

    let events = Events::watch();
    let builder = named(&network, [dead, gate]).credentials("ada", "sesame");
    builder.contact_point(dead.to_string()).build().await.unwrap_err();
    assert_eq!(events.warned("check the credentials"), 0);
}

/// connect 28: a wrong password and twelve addresses: the cap bounds the refused logins.
#[tokio::test(start_paused = true)]
async fn the_cap_bounds_refused_logins() {
    for mode in Mode::BOTH {
        let network = Network::new();
        let cluster = with_login(&network, 12).await;
        let builder = named(&network, cluster.addrs()).candidate_order(messina::layers::Order::Shuffle);
        mode.of(builder).credentials("ada", "sesame").build().await.unwrap_err();
        assert_eq!(cluster.log().now().rejected_logins(), 5);
    }
}

/// connect D14: a limit on refused logins of one connect.
/// scenario H15: logins stay within the limit.
/// reviewer 31: a small limit of their own.
#[tokio::test(start_paused = true)]
async fn max_auth_failures() {
    for mode in Mode::BOTH {
        let network = Network::new();
        let cluster = with_login(&network, 5).await;
        // What is no login does not count.
        let mut addrs = cluster.addrs();
        addrs.insert(1, network.refused());
        let builder = named(&network, addrs).max_candidate_addresses(9).max_auth_failures(2);
        let error = mode.of(builder).credentials("ada", "sesame").build().await.unwrap_err();
        assert_eq!(stages(&error), ["auth", "tcp", "auth"]);
        assert_eq!(cluster.log().now().rejected_logins(), 2);
        let connect = &error.contact_points()[0].error;
        assert_eq!((connect.class(), connect.untried()), (Class::Auth, 3));
        assert!(error.to_string().contains("3 more not tried"), "{error}");
    }
}

/// connect 49: a refused login ends no connect, identified or not.
/// connect 50: because the login comes before the cluster's name, so a stale record into a foreign cluster looks so.
/// scenario H15: [foreign cluster refusing the login, good]: connects.
#[tokio::test(start_paused = true)]
async fn a_foreign_gate_is_passed_over() {
    for mode in Mode::BOTH {
        let network = Network::new();
        let foreign = Cluster::builder().network(&network).name("theirs").user("eve", "else").start().await.unwrap();
        let ours = with_login(&network, 1).await;
        let addrs = [foreign.node(0).addr(), ours.node(0).addr()];
        let (result, _) = timed(mode.of(named(&network, addrs).credentials("ada", "pass"))).await;
        result.unwrap();
        let asked = foreign.node(0).connections()[0].stages();
        assert_eq!(asked, [Stage::Options, Stage::Startup, Stage::Auth]);

        let stack = TestStack::new(&network, addrs, |builder| mode.of(builder).credentials("ada", "pass"));
        let host_id = ours.node(0).host_id().unwrap();
        let established = stack.connect(stack.open().expecting_host(host_id)).await.unwrap();
        assert_eq!((established.addr, established.failed[0].error.scope()), (addrs[1], Scope::Suspect));
    }
}

/// connect 84: each refusal stands under its own address.
#[tokio::test(start_paused = true)]
async fn refusals_name_their_address() {
    let network = Network::new();
    let cluster = with_login(&network, 2).await;
    let error = named(&network, cluster.addrs()).credentials("eve", "x").build().await.unwrap_err();
    let addrs: Vec<_> = attempts(&error).iter().map(|attempt| attempt.addr).collect();
    assert_eq!(addrs, cluster.addrs());
}
