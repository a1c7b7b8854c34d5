//! Two layers taken into a stack of one's own: a line protocol, no CQL anywhere.
//!
//! Of the three addresses behind the name one refuses, one hangs up, and one greets.

use std::{error::Error, time::Duration};

use messina::layers::{
    Address, FallbackLayer, FixedResolver, HandshakeLayer, Name, Order, PinLayer, Pinned, ResolveLayer,
    ShuffleCapLayer, TcpConnector, Transport,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufStream},
    net::{TcpListener, TcpStream},
};
use tower::{ServiceBuilder, ServiceExt, service_fn};

/// The handshake of our protocol: we say HELLO, the server says READY.
async fn hello<T>(transport: Transport<T, TcpStream>) -> Result<BufStream<TcpStream>, Box<dyn Error + Send + Sync>> {
    let mut io = BufStream::new(transport.io);
    io.write_all(b"HELLO\n").await?;
    io.flush().await?;
    let mut answer = String::new();
    io.read_line(&mut answer).await?;
    match answer.trim_end() {
        "READY" => Ok(io),
        "" => Err("the server hung up".into()),
        other => Err(format!("the server said {other:?}").into()),
    }
}

/// A server for the example: greets, or hangs up at once.
async fn serve(listener: TcpListener, greets: bool) -> std::io::Result<()> {
    loop {
        let mut stream = BufStream::new(listener.accept().await?.0);
        if greets {
            stream.read_line(&mut String::new()).await?;
            stream.write_all(b"READY\n").await?;
            stream.flush().await?;
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let good = TcpListener::bind("127.0.0.1:0").await?;
    let good_addr = good.local_addr()?;
    let closing = TcpListener::bind("127.0.0.1:0").await?;
    let closing_addr = closing.local_addr()?;
    // Bound and dropped: nobody listens there.
    let refusing_addr = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    tokio::spawn(serve(good, true));
    tokio::spawn(serve(closing, false));

    // Any `Service<Address>` is a resolver; this one answers from a table.
    let resolver = FixedResolver::new().with(Name::new("lines.test")?, [refusing_addr, closing_addr, good_addr]);

    let connect = ServiceBuilder::new()
        .layer(PinLayer::new())
        .layer(ResolveLayer::new(resolver))
        // As given, so that the example shows the failures; a real stack shuffles.
        .layer(ShuffleCapLayer::new().with_order(Order::AsGiven).with_cap(5))
        .layer(FallbackLayer::new())
        .layer(HandshakeLayer::new(service_fn(hello)).with_timeout(Duration::from_secs(1)))
        .service(TcpConnector::new().with_connect_timeout(Duration::from_secs(1)));

    let established = connect.oneshot(Pinned::new(Address::parse("lines.test:7", 7)?)).await?;
    for lost in &established.failed {
        println!("{lost}: {}", lost.error.cause());
    }
    println!("{} won and is pinned: {:?}", established.addr, established.target.pin());
    assert_eq!(established.addr, good_addr);
    assert_eq!(established.failed.len(), 2);
    Ok(())
}
