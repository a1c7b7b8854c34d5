//! Many rows, and requests that nobody waits for.

use std::time::Duration;

use futures_util::future::{join_all, poll_immediate};
use messina::Session;

use crate::support::case::{Case, Clusters, case};
use crate::support::spec::Spec;
use crate::support::way::{Mode, Way};

const PARTITIONS: i32 = 100;
const ROWS: i32 = 1_000;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("paging::a_hundred_thousand_rows", [Spec::single()], a_hundred_thousand_rows)
            .limit(Duration::from_secs(120)),
        case("paging::dropped_in_the_middle", [Spec::single()], dropped_in_the_middle),
    ]
}

async fn session(clusters: &Clusters) -> Session {
    let way = Way::through(Mode::Delay, &[clusters[0].native()]).await;
    let session = way.builder().build().await.unwrap();
    let create =
        "CREATE KEYSPACE IF NOT EXISTS paging WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
    session.execute(create, ()).await.unwrap();
    session
}

/// cassandra: 100,000 rows come through the stream, page after page, each once.
async fn a_hundred_thousand_rows(clusters: Clusters) {
    let session = session(&clusters).await;
    session
        .execute("CREATE TABLE paging.many (part int, row int, word text, PRIMARY KEY (part, row))", ())
        .await
        .unwrap();
    for part in 0..PARTITIONS {
        let batch = |rows: std::ops::Range<i32>| {
            let inserts = rows
                .map(|row| format!("INSERT INTO paging.many (part, row, word) VALUES ({part}, {row}, 'word {row}');"));
            format!("BEGIN UNLOGGED BATCH {} APPLY BATCH", inserts.collect::<String>())
        };
        let halves = [batch(0..ROWS / 2), batch(ROWS / 2..ROWS)];
        for done in join_all(halves.map(|batch| session.execute(batch, ()))).await {
            done.unwrap();
        }
    }
    let mut rows =
        session.execute("SELECT part, row, word FROM paging.many", ()).await.unwrap().stream::<(i32, i32, String)>();
    let mut seen = vec![false; usize::try_from(PARTITIONS * ROWS).unwrap()];
    while let Some((part, row, word)) = rows.try_next().await.unwrap() {
        assert_eq!(word, format!("word {row}"));
        let index = usize::try_from(part * ROWS + row).unwrap();
        assert!(!std::mem::replace(&mut seen[index], true), "row ({part}, {row}) came twice");
    }
    assert!(seen.iter().all(|seen| *seen), "{} rows are missing", seen.iter().filter(|seen| !**seen).count());
}

/// cassandra: requests and streams dropped in the middle leave a connection that answers the right thing.
async fn dropped_in_the_middle(clusters: Clusters) {
    let session = session(&clusters).await;
    session.execute("CREATE TABLE paging.dropped (id int PRIMARY KEY, word text)", ()).await.unwrap();
    let insert = session.prepare("INSERT INTO paging.dropped (id, word) VALUES (?, ?)").await.unwrap();
    let inserts = (0..500).map(|id| session.execute(&insert, (id, format!("word {id}"))));
    for done in join_all(inserts).await {
        done.unwrap();
    }
    let select = session.prepare("SELECT word FROM paging.dropped WHERE id = ?").await.unwrap();
    for id in 0..500 {
        // Sent, and given up before the answer.
        let mut given_up = Box::pin(session.execute(&select, (499 - id,)));
        assert!(poll_immediate(&mut given_up).await.is_none(), "nothing was sent");
        drop(given_up);
        let (word,) = session.execute(&select, (id,)).await.unwrap().one::<(String,)>().await.unwrap();
        assert_eq!(word, format!("word {id}"));
    }
    for rows in 0..20 {
        let statement = messina::Statement::new("SELECT id, word FROM paging.dropped").with_page_size(10);
        let mut stream = session.execute(statement, ()).await.unwrap().stream::<(i32, String)>();
        for _ in 0..rows {
            let (id, word) = stream.try_next().await.unwrap().unwrap();
            assert_eq!(word, format!("word {id}"));
        }
    }
    let all = session.execute("SELECT id FROM paging.dropped", ()).await.unwrap().all::<(i32,)>().await.unwrap();
    assert_eq!(all.len(), 500);
}
