//! A session's metrics on a page for Prometheus, while it writes.
//!
//! `cargo run --example prometheus --features testkit -- db.example.com:9042` watches a cluster of yours and goes on
//! until it is stopped; without an argument it watches one inside this process for a moment and prints one scrape.

use std::{io, net::SocketAddr, time::Duration};

use messina::{
    Session,
    testkit::{Answer, Cluster},
};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const QUERY: &str = "SELECT release_version FROM system.local";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Before the session: its counters belong to the recorder that is in force when it is built.
    let handle = PrometheusBuilder::new().install_recorder()?;
    let page = expose(handle).await?;
    println!("metrics are at http://{page}/metrics");

    let given = std::env::args().nth(1);
    let cluster = Cluster::builder().nodes(3).start().await?;
    cluster.prime(QUERY, Answer::void());
    let contact_point = given.clone().unwrap_or_else(|| cluster.node(0).addr().to_string());
    let session = Session::builder().contact_point(contact_point).build().await?;
    let writers: Vec<_> = (0..8)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move {
                while session.execute(QUERY, ()).await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            })
        })
        .collect();
    if given.is_some() {
        tokio::signal::ctrl_c().await?;
        return Ok(());
    }

    tokio::time::sleep(Duration::from_millis(300)).await;
    let text = scrape(page).await?;
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.contains("quantile")) {
        println!("{line}");
    }
    assert!(text.contains("messina_node_info{"), "the nodes are named: {text}");
    session.close().await;
    for writer in writers {
        writer.await?;
    }
    Ok(())
}

/// Serves what the recorder has counted, to whoever connects; ends with the program.
pub(crate) async fn expose(handle: PrometheusHandle) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let addr = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let body = handle.render();
            // A page of one kind needs no look at what was asked, only to the end of it.
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") && asked.len() < 8192 {
                match stream.read_buf(&mut asked).await {
                    Ok(n) if n > 0 => {}
                    _ => break,
                }
            }
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all((head + &body).as_bytes()).await;
        }
    });
    Ok(addr)
}

/// Asks for the page, as Prometheus does.
pub(crate) async fn scrape(addr: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(addr).await?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n").await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    match text.split_once("\r\n\r\n") {
        Some((_, body)) => Ok(body.to_owned()),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}
