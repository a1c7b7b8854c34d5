//! Rows beyond one page: as a stream, all at once, and page by page with the state kept in between, as a web page does.
//!
//! `cargo run --example paging --features testkit`; a cluster inside this process answers.

use messina::{
    Session, Statement,
    session::PagingState,
    testkit::{Cluster, Rows},
};

const SELECT: &str = "SELECT id, name FROM ks.users";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = Cluster::builder().start().await?;
    let users = (0..25).fold(Rows::new("id int, name text"), |rows, id| rows.row((id, format!("user {id}"))));
    cluster.prime(SELECT, users);
    let session = Session::builder().contact_addr(cluster.node(0).addr()).build().await?;
    let select = Statement::new(SELECT).with_page_size(10);

    // One row after the other; the next page is fetched while this one is read.
    let mut stream = session.execute(&select, ()).await?.stream::<(i32, String)>();
    let mut count = 0;
    while let Some((id, name)) = stream.try_next().await? {
        assert_eq!(name, format!("user {id}"));
        count += 1;
    }
    println!("{count} rows from a stream");

    // Every page, as one vector.
    let all = session.execute(&select, ()).await?.all::<(i32, String)>().await?;
    println!("{} rows at once", all.len());

    // Page by page: the state may be kept, in a link for instance, and used by another process.
    let mut link: Option<Vec<u8>> = None;
    let mut pages = 0;
    loop {
        let mut select = select.clone();
        if let Some(bytes) = &link {
            select = select.with_paging_state(PagingState::from_bytes(bytes.clone()));
        }
        let result = session.execute(&select, ()).await?;
        // Rows of a page may borrow from it.
        for row in result.page().rows::<(i32, &str)>()? {
            let (id, name) = row?;
            println!("page {pages}: {id} {name}");
        }
        pages += 1;
        match result.page().paging_state() {
            Some(state) => link = Some(state.as_bytes().to_vec()),
            None => break,
        }
    }

    assert_eq!((count, all.len(), pages), (25, 25, 3));
    session.close().await;
    Ok(())
}
