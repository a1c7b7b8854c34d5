//! What becomes of rows: how many, and of which type.

use messina::error::Kind;
use messina::session::RowsError;
use messina::testkit::{Answer, Prime, Rows, Stage, rows};
use messina::{DeserializeRow, Session};

use crate::support::{Nodes, error, start};

const ALL: &str = "SELECT id, name FROM ks.users";

/// A node that knows [`ALL`] with this answer, and a session.
async fn users(answer: impl Into<Answer>) -> (Nodes, Session) {
    let (cluster, session) = start(1).await;
    cluster.prime(ALL, answer);
    (cluster, session)
}

/// surface 1: text without values, text with values, and a prepared statement give typed rows; text with values is
/// prepared once.
#[tokio::test(start_paused = true)]
async fn typed_rows() {
    let (cluster, session) = users(rows!["id int, name text"; (1, "Ada"), (2, "Grace")]).await;
    let by_id = Prime::new("SELECT id, name FROM ks.users WHERE id = ?").params("id int").partition_key([0]);
    cluster.prime(by_id, rows!["id int, name text"; (7, "Ada")]);

    let all: Vec<(i32, String)> = session.execute(ALL, ()).await.unwrap().all().await.unwrap();
    assert_eq!(all, [(1, "Ada".into()), (2, "Grace".into())]);
    assert_eq!(cluster.node(0).count(Stage::Prepare), 0);

    let text = "SELECT id, name FROM ks.users WHERE id = ?";
    for _ in 0..2 {
        let one: (i32, String) = session.execute(text, (7,)).await.unwrap().one().await.unwrap();
        assert_eq!(one, (7, "Ada".into()));
    }
    let prepared = session.prepare(text).await.unwrap();
    let one: (i32, String) = session.execute(&prepared, (7,)).await.unwrap().one().await.unwrap();
    assert_eq!(one, (7, "Ada".into()));
    assert_eq!(cluster.node(0).count(Stage::Prepare), 1);
}

/// surface 1: one row is exactly one; none and several are errors that name the count.
#[tokio::test(start_paused = true)]
async fn one_is_exactly_one() {
    let (cluster, session) = users(rows!["id int, name text"]).await;
    let none = error(session.execute(ALL, ()).await.unwrap().one::<(i32, String)>().await);
    assert_eq!(none.kind(), Kind::Rows);
    assert!(matches!(none.rows_error(), Some(RowsError::NoRow)));
    assert_eq!(none.to_string(), "exactly one row was asked for: there is no row");

    cluster.prime(ALL, rows!["id int, name text"; (1, "a"), (2, "b"), (3, "c")]);
    let many = error(session.execute(ALL, ()).await.unwrap().one::<(i32, String)>().await);
    assert!(matches!(many.rows_error(), Some(RowsError::TooManyRows { seen: 3, more: false })));
    assert_eq!(many.to_string(), "exactly one row was asked for: there are 3 rows");
}

/// surface 1: the one row may stand on any page, and empty pages may stand before and after it.
#[tokio::test(start_paused = true)]
async fn one_looks_at_every_page() {
    let one = || rows!["id int, name text"; (1, "a")];
    for lengths in [vec![1, 0], vec![0, 1], vec![0, 0, 1, 0]] {
        let (_cluster, session) = users(one().pages(lengths.clone())).await;
        let row: (i32, String) = session.execute(ALL, ()).await.unwrap().one().await.unwrap();
        assert_eq!(row, (1, "a".into()), "{lengths:?}");
    }
    let (cluster, session) = users(rows!["id int, name text"].pages([0, 0])).await;
    let none = error(session.execute(ALL, ()).await.unwrap().one::<(i32, String)>().await);
    assert!(matches!(none.rows_error(), Some(RowsError::NoRow)));

    cluster.prime(ALL, rows!["id int, name text"; (1, "a"), (2, "b"), (3, "c")].pages([1, 1, 1]));
    let many = error(session.execute(ALL, ()).await.unwrap().one::<(i32, String)>().await);
    assert!(matches!(many.rows_error(), Some(RowsError::TooManyRows { seen: 2, more: true })));
    assert_eq!(many.to_string(), "exactly one row was asked for: there are at least 2 rows");
}

/// surface 1: the first row may stand on a later page, and none is no error.
#[tokio::test(start_paused = true)]
async fn first_looks_past_empty_pages() {
    let (cluster, session) = users(rows!["id int, name text"; (1, "a"), (2, "b")].pages([0, 1, 1])).await;
    let first = session.execute(ALL, ()).await.unwrap().first::<(i32, String)>().await.unwrap();
    assert_eq!(first, Some((1, "a".into())));
    assert_eq!(cluster.node(0).count(Stage::Query), 2);

    cluster.prime(ALL, rows!["id int, name text"]);
    let none = session.execute(ALL, ()).await.unwrap().first::<(i32, String)>().await.unwrap();
    assert_eq!(none, None);
}

/// surface 1: asking a statement that gives no rows for rows is an error, not an empty result.
#[tokio::test(start_paused = true)]
async fn a_statement_without_rows() {
    let (cluster, session) = users(Answer::void()).await;
    for result in [
        error(session.execute(ALL, ()).await.unwrap().one::<(i32,)>().await),
        error(session.execute(ALL, ()).await.unwrap().first::<(i32,)>().await),
        error(session.execute(ALL, ()).await.unwrap().all::<(i32,)>().await),
        error(session.execute(ALL, ()).await.unwrap().stream::<(i32,)>().try_next().await),
    ] {
        assert!(matches!(result.rows_error(), Some(RowsError::NotRows)), "{result}");
    }
    cluster.prime("CREATE TABLE ks.t", Answer::schema_change(["CREATED", "TABLE", "ks", "t"]));
    let result = session.execute("CREATE TABLE ks.t", ()).await.unwrap();
    assert!(result.schema_change().is_some());
}

/// surface 1: a type that does not fit is told by column, CQL type and Rust type.
#[tokio::test(start_paused = true)]
async fn a_type_that_does_not_fit() {
    let (_cluster, session) = users(rows!["id int, tags map<text, list<int>>"]).await;
    let result = session.execute(ALL, ()).await.unwrap();
    let wrong = error(result.all::<(i32, String)>().await);
    assert_eq!(wrong.kind(), Kind::Rows);
    assert_eq!(
        wrong.rows_error().unwrap().to_string(),
        "column `tags` has the CQL type map<text, list<int>>, which the Rust type alloc::string::String cannot hold"
    );
    let result = session.execute(ALL, ()).await.unwrap();
    let wrong = error(result.one::<(i32,)>().await);
    assert_eq!(
        wrong.rows_error().unwrap().to_string(),
        "the Rust type (i32,) does not fit the columns (id int, tags map<text, list<int>>)"
    );
}

/// surface 1: a null where the Rust type has none is told with its row, and ends the stream.
#[tokio::test(start_paused = true)]
async fn a_null_where_none_can_be() {
    let table = rows!["id int, name text"; (1, "a"), (2, None::<String>), (3, "c")];
    let (_cluster, session) = users(table).await;
    let mut stream = session.execute(ALL, ()).await.unwrap().stream::<(i32, String)>();
    assert_eq!(stream.try_next().await.unwrap(), Some((1, "a".into())));
    let wrong = error(stream.try_next().await);
    assert!(matches!(wrong.rows_error(), Some(RowsError::Row { row: 1, .. })), "{wrong}");
    assert!(wrong.to_string().contains("name"), "{wrong}");
    assert_eq!(stream.try_next().await.unwrap(), None);

    let rows = session.execute(ALL, ()).await.unwrap().all::<(i32, Option<String>)>().await.unwrap();
    assert_eq!(rows[1], (2, None));
}

/// surface 1: the rows of a page may borrow from it.
#[tokio::test(start_paused = true)]
async fn rows_of_a_page_may_borrow() {
    #[derive(DeserializeRow, Debug, PartialEq)]
    #[scylla(crate = messina)]
    struct User<'a> {
        id: i32,
        name: &'a str,
    }
    let (_cluster, session) = users(rows!["id int, name text"; (1, "a"), (2, "b"), (3, "c")].pages([2, 1])).await;
    let result = session.execute(ALL, ()).await.unwrap();
    let page = result.page();
    let rows = page.rows::<User<'_>>().unwrap();
    assert_eq!(rows.len(), 2);
    let users: Vec<_> = rows.map(Result::unwrap).collect();
    assert_eq!(users, [User { id: 1, name: "a" }, User { id: 2, name: "b" }]);
    assert!(page.paging_state().is_some());
}

/// surface 1: a conditional write tells whether it was applied; another statement has nothing to tell.
#[tokio::test(start_paused = true)]
async fn applied() {
    let (cluster, session) = users(rows!["\"[applied]\" boolean"]).await;
    let columns = || Rows::typed([("[applied]", boolean())]);
    for applied in [true, false] {
        cluster.prime("INSERT IF NOT EXISTS", columns().row((applied,)));
        assert_eq!(session.execute("INSERT IF NOT EXISTS", ()).await.unwrap().applied().unwrap(), applied);
    }
    cluster.prime("INSERT", Answer::void());
    let wrong = error(session.execute("INSERT", ()).await.unwrap().applied());
    assert!(matches!(wrong.rows_error(), Some(RowsError::NotConditional)));
    cluster.prime(ALL, rows!["applied boolean"; (true,)]);
    let wrong = error(session.execute(ALL, ()).await.unwrap().applied());
    assert!(matches!(wrong.rows_error(), Some(RowsError::NotConditional)));
}

fn boolean() -> scylla_cql_core::frame::response::result::ColumnType<'static> {
    scylla_cql_core::frame::response::result::ColumnType::Native(
        scylla_cql_core::frame::response::result::NativeType::Boolean,
    )
}

/// surface 1: warnings, payload and who answered are told with the result.
#[tokio::test(start_paused = true)]
async fn what_comes_with_a_result() {
    let answer = Answer::from(rows!["id int"; (1,)]).with_warning("too wide").with_payload("key", *b"value");
    let (cluster, session) = users(answer).await;
    let result = session.execute(ALL, ()).await.unwrap();
    assert_eq!(result.warnings(), ["too wide"]);
    assert_eq!(result.payload().unwrap().get("key").unwrap(), "value");
    assert_eq!(result.served_by().addr, cluster.node(0).addr());
    assert_eq!(Some(result.served_by().host_id), cluster.node(0).host_id());
    assert_eq!(result.tracing_id(), None);
    assert_eq!(result.columns().len(), 1);
}
