//! Values of `chrono`, `time`, `num-bigint`, `bigdecimal` and `secrecy`, there and back.

use std::str::FromStr;

use bigdecimal_04::BigDecimal;
use chrono_04::{DateTime, NaiveDate, NaiveTime, Utc};
use messina::Session;
use messina::session::OwnedRow;
use messina::value::CqlVarint;
use num_bigint_03::BigInt as BigInt03;
use num_bigint_04::BigInt as BigInt04;
use secrecy_08::{ExposeSecret as _, Secret};
use secrecy_10::{ExposeSecret as _, SecretString};
use time_03::{Date, OffsetDateTime, Time};

use crate::support::case::{Case, Clusters, case};
use crate::support::spec::Spec;
use crate::support::way::{Mode, Way};

pub(crate) fn cases() -> Vec<Case> {
    vec![case("other_crates::there_and_back", [Spec::single()], there_and_back)]
}

const COLUMNS: &str = "d, t, ts, v, dec, s";

async fn read<R: OwnedRow>(session: &Session, columns: &str) -> R {
    let select = format!("SELECT {columns} FROM other_crates.t WHERE id = 1");
    session.execute(select, ()).await.unwrap().one().await.unwrap()
}

/// cassandra: what one crate's value was written from another crate's reads: dates, times, large numbers, secrets.
async fn there_and_back(clusters: Clusters) {
    let way = Way::through(Mode::Delay, &[clusters[0].native()]).await;
    let session = way.builder().build().await.unwrap();
    for statement in [
        "CREATE KEYSPACE other_crates WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE other_crates.t (id int PRIMARY KEY, d date, t time, ts timestamp, v varint, dec decimal, s text)",
    ] {
        session.execute(statement, ()).await.unwrap();
    }
    let insert = format!("INSERT INTO other_crates.t (id, {COLUMNS}) VALUES (1, ?, ?, ?, ?, ?, ?)");

    let date = NaiveDate::from_ymd_opt(1968, 2, 29).unwrap();
    let time = NaiveTime::from_hms_nano_opt(23, 59, 59, 123_456_789).unwrap();
    let moment: DateTime<Utc> = DateTime::from_timestamp_millis(-12_345_678_901).unwrap();
    let large = BigInt04::from_str("-123456789012345678901234567890").unwrap();
    let decimal = BigDecimal::from_str("-0.000000000000000000000000012345").unwrap();
    let secret = Secret::new("hidden".to_owned());
    session.execute(&insert, (date, time, moment, &large, &decimal, &secret)).await.unwrap();
    let (d, t, ts) = read::<(Date, Time, OffsetDateTime)>(&session, "d, t, ts").await;
    assert_eq!((d.to_string(), t.to_string()), ("1968-02-29".to_owned(), "23:59:59.123456789".to_owned()));
    assert_eq!(ts.unix_timestamp_nanos() / 1_000_000, -12_345_678_901);
    let (v, dec, s) = read::<(BigInt03, BigDecimal, SecretString)>(&session, "v, dec, s").await;
    assert_eq!((v.to_string(), dec, s.expose_secret()), (large.to_string(), decimal, "hidden"));
    assert_eq!(format!("{s:?}{secret:?}").matches("hidden").count(), 0);

    let other = BigInt03::from_str("170141183460469231731687303715884105728").unwrap();
    let numbers = BigDecimal::from_str("12345678901234567890.5").unwrap();
    session.execute(&insert, (d, t, ts, &other, &numbers, SecretString::from("told"))).await.unwrap();
    let (d, t, ts) = read::<(NaiveDate, NaiveTime, DateTime<Utc>)>(&session, "d, t, ts").await;
    assert_eq!((d, t, ts), (date, time, moment));
    let (v, dec, s) = read::<(BigInt04, BigDecimal, Secret<String>)>(&session, "v, dec, s").await;
    assert_eq!((v.to_string(), dec, s.expose_secret().as_str()), (other.to_string(), numbers, "told"));
    let (v,) = read::<(CqlVarint,)>(&session, "v").await;
    assert_eq!(v, CqlVarint::from(other));
}
