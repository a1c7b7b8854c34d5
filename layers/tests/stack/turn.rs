//! The turn: attempts overlap, logins do not.

use std::time::Duration;

use messina_layers::{AttemptError, ConnectOptions, Scope, Stage, Turn};
use tokio::time::{Instant, timeout};
use tower::ServiceExt;

use crate::support::{Event::*, Servers, Step, addr, as_given, millis, secs, stack, target};

fn with(delay: Option<Duration>) -> ConnectOptions {
    let mut options = as_given();
    options.attempt_delay = delay;
    options
}

fn bad_credentials() -> AttemptError {
    AttemptError::new(Stage::new("auth"), "bad credentials").with_scope(Scope::Suspect)
}

/// connect D33: overlap of logins is 0 in both modes, overlap of connections is 0 in the sequential one.
#[tokio::test(start_paused = true)]
async fn logins_never_overlap() {
    for (delay, most_open) in [(None, 1), (Some(millis(250)), 4)] {
        let refuse = || Step::RefuseLogin(millis(50), secs(2), bad_credentials());
        let servers =
            Servers::new([(1, refuse()), (2, refuse()), (3, refuse()), (4, Step::Login(millis(50), secs(2)))]);
        let established = stack(&servers, 1..=4, with(delay)).oneshot(target()).await.unwrap();
        assert_eq!((established.addr, established.failed.len()), (addr(4), 3));
        assert_eq!((servers.most_logins(), servers.most_open()), (1, most_open), "{delay:?}");
    }
}

/// The turn passes when its holder fails, at once and in dial order.
#[tokio::test(start_paused = true)]
async fn the_turn_passes_when_the_holder_fails() {
    let servers = Servers::new([
        (1, Step::RefuseLogin(Duration::ZERO, secs(5), bad_credentials())),
        (2, Step::Login(Duration::ZERO, millis(100))),
        (3, Step::Login(Duration::ZERO, millis(100))),
    ]);
    let started = Instant::now();
    let established = stack(&servers, 1..=3, with(Some(millis(250)))).oneshot(target()).await.unwrap();
    assert_eq!((established.addr, started.elapsed()), (addr(2), millis(5100)));
    assert_eq!(servers.log()[..3], [Dialled(1), LoggedIn(1), Dialled(2)]);
    assert!(!servers.log().contains(&LoggedIn(3)), "the winner ends the connect before the third logs in");
}

/// A black hole or a mute port costs the delay: it holds no turn.
#[tokio::test(start_paused = true)]
async fn a_mute_server_holds_no_turn() {
    let servers = Servers::new([(1, Step::Silence), (2, Step::Login(millis(10), millis(10)))]);
    let started = Instant::now();
    stack(&servers, 1..=2, with(Some(millis(250)))).oneshot(target()).await.unwrap();
    assert_eq!(started.elapsed(), millis(270));
}

/// connect D14: the limit on refused logins holds for overlapping attempts as well.
/// connect 28: at most that many reach the login.
#[tokio::test(start_paused = true)]
async fn the_limit_on_refused_logins_holds_when_attempts_overlap() {
    let refuse = || Step::RefuseLogin(millis(10), secs(1), bad_credentials());
    let servers = Servers::new((1..=5).map(|n| (n, refuse())));
    let mut options = with(Some(millis(250)));
    options.max_auth_failures = Some(2);
    stack(&servers, 1..=5, options).oneshot(target()).await.unwrap_err();
    let logins = servers.log().iter().filter(|event| matches!(event, LoggedIn(_))).count();
    assert_eq!((logins, servers.open()), (2, 0));
}

/// One holder at a time; a wait that is dropped gives up its place; a free turn never waits.
#[tokio::test(start_paused = true)]
async fn one_holder_at_a_time() {
    let (one, two) = (Turn::shared(), Turn::shared());
    let sibling = one.sibling();
    let guard = one.take().await;
    assert_eq!((format!("{one:?}"), format!("{two:?}")), ("Turn(taken)".into(), "Turn(shared)".into()));
    assert!(timeout(secs(1), sibling.take()).await.is_err());
    assert_eq!((sibling.waited(), one.waited()), (secs(1), Duration::ZERO));
    let _other = timeout(secs(1), two.take()).await.unwrap();

    drop(guard);
    let _guard = timeout(secs(1), sibling.take()).await.unwrap();
    assert_eq!(sibling.waited(), secs(1), "the second take did not wait");

    let free = Turn::free();
    let _one = free.take().await;
    let _two = free.sibling().take().await;
    assert_eq!((format!("{free:?}"), free.waited()), ("Turn(free)".into(), Duration::ZERO));
}

/// Clones of a turn belong to one attempt and share its wait.
#[tokio::test(start_paused = true)]
async fn the_wait_can_be_read_while_it_lasts() {
    let turn = Turn::shared();
    let (sibling, _guard) = (turn.sibling(), turn.take().await);
    let clone = sibling.clone();
    let waiting = tokio::spawn(async move { drop(sibling.take().await) });
    tokio::time::advance(millis(1)).await;
    tokio::time::sleep(secs(3)).await;
    assert!(clone.waited() >= secs(3) && clone.waited() <= millis(3001), "{:?}", clone.waited());
    waiting.abort();
}
