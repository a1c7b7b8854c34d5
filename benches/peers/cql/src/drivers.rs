//! The same small program for each driver, with defaults otherwise.

use std::{hint::black_box, net::SocketAddr, num::NonZeroUsize, sync::Arc};

use cdrs_tokio::{
    cluster::{
        NodeTcpConfigBuilder, TcpConnectionManager,
        connection_pool::ConnectionPoolConfigBuilder,
        session::{Session as CdrsSession, SessionBuilder as _, TcpSessionBuilder},
    },
    load_balancing::TopologyAwareLoadBalancingStrategy,
    query::PreparedQuery,
    query_values,
    transport::TransportTcp,
    types::{IntoRustByIndex, prelude::Row},
};
use futures_util::TryStreamExt;
use messina::{Prepared, Session as MessinaSession};
use scylla::{
    client::{PoolSize, session::Session as ScyllaSession, session_builder::SessionBuilder},
    response::PagingState,
    statement::prepared::PreparedStatement,
};

use crate::table::{INSERT, PAGE, POINT, SCAN, VALUE};

/// A session with its prepared statements.
pub trait Driver: Send + Sync + Sized + 'static {
    /// Connects, with so many connections to the node.
    fn open(at: SocketAddr, connections: usize) -> impl Future<Output = Self> + Send;
    fn point(&self, key: i32) -> impl Future<Output = ()> + Send;
    fn insert(&self, key: i32) -> impl Future<Output = ()> + Send;
    /// Reads every row into an `i32` and a `String`; gives how many there were.
    fn scan(&self) -> impl Future<Output = usize> + Send;
    /// Reads every row into an `i32` and a `&str`, if rows can borrow.
    fn scan_borrowed(&self) -> impl Future<Output = usize> + Send;
}

pub struct Messina {
    session: MessinaSession,
    point: Prepared,
    insert: Prepared,
    scan: Prepared,
}

impl Driver for Messina {
    async fn open(at: SocketAddr, connections: usize) -> Self {
        // Counted as a service counts that is scraped.
        metrics_exporter_prometheus::PrometheusBuilder::new().install_recorder().expect("the only recorder");
        let builder = MessinaSession::builder().contact_addr(at);
        let session = builder.connections_per_node(connections, connections).build().await.expect("a session");
        let prepare = async |text| session.prepare(text).await.expect("prepared");
        let (point, insert, scan) = (prepare(POINT).await, prepare(INSERT).await, prepare(SCAN).await);
        Self { session, point, insert, scan }
    }

    async fn point(&self, key: i32) {
        let result = self.session.execute(&self.point, (key,)).await.expect("an answer");
        let mut rows = result.page().rows::<(&str,)>().expect("text");
        assert_eq!(rows.next().expect("a row").expect("text").0, VALUE);
    }

    async fn insert(&self, key: i32) {
        self.session.execute(&self.insert, (key, VALUE)).await.expect("an answer");
    }

    async fn scan(&self) -> usize {
        let mut rows = self.session.execute(&self.scan, ()).await.expect("an answer").stream::<(i32, String)>();
        let mut count = 0;
        while let Some(row) = rows.try_next().await.expect("a row") {
            black_box(row);
            count += 1;
        }
        count
    }

    async fn scan_borrowed(&self) -> usize {
        let mut count = 0;
        let mut next = Some(self.session.execute(&self.scan, ()).await.expect("an answer"));
        while let Some(result) = next {
            for row in result.page().rows::<(i32, &str)>().expect("an int and a text") {
                black_box(row.expect("a row"));
                count += 1;
            }
            next = result.next_page().await.expect("a page");
        }
        count
    }
}

pub struct Scylla {
    session: ScyllaSession,
    point: PreparedStatement,
    insert: PreparedStatement,
    scan: PreparedStatement,
}

impl Driver for Scylla {
    async fn open(at: SocketAddr, connections: usize) -> Self {
        let connections = NonZeroUsize::new(connections).expect("one at least");
        let builder = SessionBuilder::new().known_node_addr(at).pool_size(PoolSize::PerHost(connections));
        let session = builder.build().await.expect("a session");
        let prepare = async |text| session.prepare(text).await.expect("prepared");
        let (point, insert, scan) = (prepare(POINT).await, prepare(INSERT).await, prepare(SCAN).await);
        Self { session, point, insert, scan }
    }

    async fn point(&self, key: i32) {
        let result = self.session.execute_unpaged(&self.point, (key,)).await.expect("an answer");
        let result = result.into_rows_result().expect("rows");
        let mut rows = result.rows::<(&str,)>().expect("text");
        assert_eq!(rows.next().expect("a row").expect("text").0, VALUE);
    }

    async fn insert(&self, key: i32) {
        self.session.execute_unpaged(&self.insert, (key, VALUE)).await.expect("an answer");
    }

    async fn scan(&self) -> usize {
        let pager = self.session.execute_iter(self.scan.clone(), ()).await.expect("an answer");
        let mut rows = pager.rows_stream::<(i32, String)>().expect("an int and a text");
        let mut count = 0;
        while let Some(row) = rows.try_next().await.expect("a row") {
            black_box(row);
            count += 1;
        }
        count
    }

    async fn scan_borrowed(&self) -> usize {
        let (mut count, mut state) = (0, PagingState::start());
        loop {
            let (page, next) = self.session.execute_single_page(&self.scan, (), state).await.expect("an answer");
            let page = page.into_rows_result().expect("rows");
            for row in page.rows::<(i32, &str)>().expect("an int and a text") {
                black_box(row.expect("a row"));
                count += 1;
            }
            match next.into_paging_control_flow() {
                std::ops::ControlFlow::Continue(next) => state = next,
                std::ops::ControlFlow::Break(()) => return count,
            }
        }
    }
}

type Balancing = TopologyAwareLoadBalancingStrategy<TransportTcp, TcpConnectionManager>;

pub struct Cdrs {
    session: CdrsSession<TransportTcp, TcpConnectionManager, Balancing>,
    point: PreparedQuery,
    insert: PreparedQuery,
    scan: PreparedQuery,
}

impl Driver for Cdrs {
    async fn open(at: SocketAddr, connections: usize) -> Self {
        let config = NodeTcpConfigBuilder::new().with_contact_point(at.into()).build().await.expect("an address");
        let pool = ConnectionPoolConfigBuilder::new().with_local_size(connections).with_remote_size(connections);
        let builder = TcpSessionBuilder::new(Balancing::new(None, false), config);
        let session = builder.with_connection_pool_config(pool.build()).build().await.expect("a session");
        let prepare = async |text| session.prepare(text).await.expect("prepared");
        let (point, insert, scan) = (prepare(POINT).await, prepare(INSERT).await, prepare(SCAN).await);
        Self { session, point, insert, scan }
    }

    async fn point(&self, key: i32) {
        let answer = self.session.exec_with_values(&self.point, query_values!(key)).await.expect("an answer");
        let rows = answer.response_body().expect("a body").into_rows().expect("rows");
        let value: String = rows[0].get_r_by_index(0).expect("text");
        assert_eq!(value, VALUE);
    }

    async fn insert(&self, key: i32) {
        self.session.exec_with_values(&self.insert, query_values!(key, VALUE)).await.expect("an answer");
    }

    async fn scan(&self) -> usize {
        let mut pager = self.session.paged(PAGE);
        let mut pages = pager.exec(&self.scan);
        let mut count = 0;
        loop {
            for row in pages.next().await.expect("a page") {
                black_box(read(&row));
                count += 1;
            }
            if !pages.has_more() {
                return count;
            }
        }
    }

    /// Rows cannot borrow.
    async fn scan_borrowed(&self) -> usize {
        self.scan().await
    }
}

fn read(row: &Row) -> (i32, String) {
    (row.get_r_by_index(0).expect("an int"), row.get_r_by_index(1).expect("a text"))
}

/// Shared by the tasks of a run.
pub async fn open<D: Driver>(at: SocketAddr, connections: usize) -> Arc<D> {
    Arc::new(D::open(at, connections).await)
}
