//! Requests and their tries, as they are counted.

use std::time::Duration;

use messina::{Statement, metrics, testkit::Answer};
use tokio::time::sleep;

use crate::{
    example,
    scene::{Load, Scene, WRITE},
    scraped::{Scraped, recorder},
};

const READ: &str = "SELECT a FROM ks.t";

/// Errors are counted by kind, and failed tries by class at their node, with what was done about them.
#[tokio::test(start_paused = true)]
async fn errors_and_retries() {
    let (recorder, handle) = recorder();
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    let scene = Scene::start().await;
    let session = scene.session().build().await.unwrap();
    sleep(Duration::from_secs(1)).await;

    // Nobody knows this statement, and every node says so in its own way.
    assert!(session.execute("SELECT nothing", ()).await.is_err());
    // Answered too late: the time runs out.
    scene.cluster.prime(READ, Answer::void().delayed(Duration::from_secs(60)));
    let slow = Statement::new(READ).with_timeout(Duration::from_millis(100));
    assert!(session.execute(slow, ()).await.unwrap_err().is_timeout());
    session.execute(WRITE, ()).await.unwrap();

    let scraped = Scraped::now(&handle);
    assert_eq!(scraped.get(metrics::REQUESTS), 3.0);
    assert_eq!(scraped.get(&format!("{}_count", metrics::REQUEST_DURATION)), 3.0);
    assert_eq!(scraped.get(metrics::CLIENT_TIMEOUTS), 1.0);
    let kind = |kind: &str| scraped.get(&format!("{}{{kind=\"{kind}\"}}", metrics::REQUEST_ERRORS));
    assert_eq!((kind("server"), kind("timeout")), (1.0, 1.0));
    let tries = |class: &str| -> f64 {
        let name = metrics::NODE_REQUEST_ERRORS;
        let series = (0..3).map(|node| format!("{name}{{host_id=\"{}\",class=\"{class}\"}}", scene.host_id(node)));
        series.filter_map(|series| scraped.find(&series)).sum()
    };
    assert_eq!((tries("aborted"), tries("other")), (1.0, 1.0));
    let orphans: f64 = (0..3).map(|node| scraped.of(metrics::NODE_ORPHANS, scene.host_id(node))).sum();
    assert_eq!(orphans, 1.0, "its answer is still due");
}

/// Every statement that is kept prepared is counted, until the session ends.
#[tokio::test(start_paused = true)]
async fn prepared_statements() {
    let (recorder, handle) = recorder();
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    let scene = Scene::start().await;
    let session = scene.session().build().await.unwrap();
    session.prepare(WRITE).await.unwrap();
    assert_eq!(Scraped::now(&handle).get(metrics::PREPARED_STATEMENTS), 1.0);
    session.prepare(WRITE).await.unwrap();
    assert_eq!(Scraped::now(&handle).get(metrics::PREPARED_STATEMENTS), 1.0);
    session.close().await;
    drop(session);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(Scraped::now(&handle).get(metrics::PREPARED_STATEMENTS), 0.0);
}

/// The page of the example serves the same numbers.
#[tokio::test]
async fn over_http() {
    let (recorder, handle) = recorder();
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    let scene = Scene::start().await;
    let session = scene.session().build().await.unwrap();
    let load = Load::on(&session);
    let page = example::expose(handle).await.unwrap();
    let mut before = Scraped::read(&example::scrape(page).await.unwrap());
    for _ in 0..10 {
        session.execute(WRITE, ()).await.unwrap();
        let now = Scraped::read(&example::scrape(page).await.unwrap());
        now.continues(&before);
        assert!(now.get(metrics::REQUESTS) > before.get(metrics::REQUESTS));
        before = now;
    }
    drop(load);
}
