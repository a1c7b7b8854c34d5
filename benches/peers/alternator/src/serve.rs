//! The nodes: as little work as possible, so that the clients are what is measured.

use std::{
    cell::{Cell, RefCell},
    net::SocketAddr,
    rc::Rc,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, LocalSet},
};

static HEAD: AtomicUsize = AtomicUsize::new(0);

const ITEM: &str = r#"{"Item":{"id":{"N":"7"},"n":{"S":"abcdef"}}}"#;

/// The answer to polls.
type List = Rc<RefCell<Rc<str>>>;

#[derive(Clone, Copy, Default, PartialEq)]
enum Fault {
    #[default]
    None,
    Hang,
    Unavailable,
}

struct Node {
    addr: SocketAddr,
    fault: Rc<RefCell<Fault>>,
    /// How many requests it received, polls left out.
    seen: Rc<Cell<u64>>,
    listed: bool,
    task: Option<JoinHandle<()>>,
}

pub async fn serve() {
    LocalSet::new().run_until(local()).await;
}

async fn local() {
    let base = std::process::id() % 250;
    let ip = |node: u32| std::net::IpAddr::from([127, 77, base as u8, 1 + node as u8]);
    let first = TcpListener::bind((ip(0), 0)).await.expect("a port");
    let port = first.local_addr().expect("bound").port();
    drop(first);
    let list: List = Rc::default();
    let mut nodes: Vec<Node> = Vec::new();
    for node in 0..3 {
        let addr = (ip(node), port).into();
        let mut node = Node { addr, fault: Rc::default(), seen: Rc::default(), listed: true, task: None };
        listen(&mut node, &list).await;
        nodes.push(node);
    }
    *list.borrow_mut() = list_of(&nodes);
    println!("{port} {} {} {}", ip(0), ip(1), ip(2));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let mut words = line.split_whitespace();
        let command = words.next().unwrap_or_default();
        let place = words.next().and_then(|place| place.parse::<usize>().ok()).unwrap_or(0);
        match command {
            "head" => {
                println!("{}", HEAD.load(Relaxed));
                continue;
            }
            "seen" => {
                println!("{}", nodes[place].seen.get());
                continue;
            }
            "list" | "unlist" => {
                nodes[place].listed = command == "list";
                *list.borrow_mut() = list_of(&nodes);
            }
            "forget" => HEAD.store(0, Relaxed),
            "hang" => *nodes[place].fault.borrow_mut() = Fault::Hang,
            "503" => *nodes[place].fault.borrow_mut() = Fault::Unavailable,
            "refuse" => {
                if let Some(task) = nodes[place].task.take() {
                    // The connections are its children and end with it.
                    task.abort();
                }
            }
            _ => {
                for node in &mut nodes {
                    *node.fault.borrow_mut() = Fault::None;
                    if node.task.is_none() {
                        listen(node, &list).await;
                    }
                }
            }
        }
        tokio::task::yield_now().await;
        println!("done");
    }
}

fn list_of(nodes: &[Node]) -> Rc<str> {
    let listed = nodes.iter().filter(|node| node.listed).map(|node| format!("\"{}\"", node.addr.ip()));
    answer(200, &format!("[{}]", listed.collect::<Vec<_>>().join(","))).into()
}

async fn listen(node: &mut Node, list: &List) {
    let listener = TcpListener::bind(node.addr).await.expect("the port is free");
    let (fault, seen, list) = (Rc::clone(&node.fault), Rc::clone(&node.seen), Rc::clone(list));
    node.task = Some(tokio::task::spawn_local(async move {
        let mut connections = tokio::task::JoinSet::new();
        let item: Rc<str> = answer(200, ITEM).into();
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let _ = stream.set_nodelay(true);
            connections.spawn_local(connection(
                stream,
                Rc::clone(&fault),
                Rc::clone(&seen),
                Rc::clone(&list),
                Rc::clone(&item),
            ));
            while connections.try_join_next().is_some() {}
        }
    }));
}

fn answer(status: u16, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

async fn connection(mut stream: TcpStream, fault: Rc<RefCell<Fault>>, seen: Rc<Cell<u64>>, list: List, item: Rc<str>) {
    let mut buffer = Vec::with_capacity(8192);
    loop {
        let (head, whole) = loop {
            if let Some(length) = length(&buffer) {
                break length;
            }
            match stream.read_buf(&mut buffer).await {
                Ok(1..) => {}
                _ => return,
            }
        };
        let is_list = buffer.starts_with(b"GET /local");
        if !is_list {
            HEAD.fetch_max(head, Relaxed);
            seen.set(seen.get() + 1);
        }
        buffer.drain(..whole);
        let now = *fault.borrow();
        let list = Rc::clone(&list.borrow());
        let text: &str = match now {
            Fault::Hang => {
                std::future::pending::<()>().await;
                return;
            }
            Fault::Unavailable if !is_list => &answer(503, "{}"),
            _ if is_list => &list,
            _ => &item,
        };
        if stream.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The length of the head and of the whole first request, once all of it is there.
fn length(buffer: &[u8]) -> Option<(usize, usize)> {
    let head = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let name = b"content-length:";
    let at = buffer[..head].windows(name.len()).position(|window| window.eq_ignore_ascii_case(name));
    let body = at.map_or(0, |at| {
        let digits = buffer[at + name.len()..head].iter().skip_while(|byte| **byte == b' ');
        digits.take_while(|byte| byte.is_ascii_digit()).fold(0, |sum, byte| sum * 10 + usize::from(byte - b'0'))
    });
    (buffer.len() >= head + body).then_some((head, head + body))
}
