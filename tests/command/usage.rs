//! What cannot be carried out: exit code 2, a sentence on stderr, nothing dialled.

use messina::testkit::{Cluster, Log};

use crate::support::{cluster, messina, probe};

/// driver 7.9: every wrong use is exit code 2 and says what is wrong, before anything is dialled.
#[tokio::test]
async fn exit_code_2() {
    let log = Log::new();
    let nodes = cluster(Cluster::builder(), &log).await;
    let addr = nodes.node(0).addr().to_string();
    let cases: [(&[&str], &str); 20] = [
        (&[], "CONTACT_POINT"),
        (&[&addr, "--no-such-flag"], "--no-such-flag"),
        (&["db.test:notaport"], "db.test:notaport"),
        (&[&addr, "--protocol", "6"], "--protocol"),
        (&[&addr, "--timeout", "0"], "--timeout"),
        (&[&addr, "--timeout", "soon"], "--timeout"),
        (&[&addr, "--timeout", "1e300"], "from 0.001 to 86400"),
        (&[&addr, "--timeout", "inf"], "from 0.001 to 86400"),
        (&[&addr, "--query", " "], "--query"),
        (&["foo", &addr, "--sni-proxy", "foo"], "a host id or a DNS name"),
        (&["ada:secret@127.0.0.1:1"], "--user"),
        (&["http://ada:secret@127.0.0.1:1", "--alternator"], "http://ada:***@127.0.0.1:1"),
        (&[&addr, "--concurrency", "0"], "--concurrency"),
        (&[&addr, "--dns", "localhost"], "--dns"),
        (&[&addr, "--dns", "127.0.0.1:53", "--resolver", "system"], "--resolver system"),
        (&[&addr, "--password-env", "NO_SUCH_VARIABLE"], "--user"),
        (&[&addr, "--user", "ada", "--password-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE"),
        (&[&addr, "--user", "ada"], "--password-env"),
        (&[&addr, "--tls-ca", "/no/such/file"], "/no/such/file"),
        (&[&addr, "--tls-cert", "cert.pem"], "--tls-key"),
    ];
    for (args, said) in cases {
        let ran = probe(args).await;
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.err.contains(said) && ran.out.is_empty(), "{args:?}: {ran:?}");
        assert!(!ran.err.contains("secret"), "{args:?}: {ran:?}");
    }
    assert_eq!(log.now().opened(), 0, "nothing was dialled");
}

/// driver 7.9: a password cannot be an argument; help and version are no errors.
#[tokio::test]
async fn help_names_every_flag_and_no_password() {
    let ran = messina(["probe", "--help"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    for flag in [
        "--json",
        "--dns",
        "--resolver",
        "--user",
        "--password-env",
        "--tls",
        "--tls-ca",
        "--tls-cert",
        "--tls-key",
        "--tls-name",
        "--sni-proxy",
        "--expect-cluster",
        "--protocol",
        "--timeout",
        "--concurrency",
        "--query",
        "--alternator",
    ] {
        assert!(ran.out.contains(&format!("{flag} ")) || ran.out.contains(&format!("{flag}\n")), "{flag}: {}", ran.out);
    }
    assert!(!ran.out.contains("--password "), "{}", ran.out);
    assert_eq!(messina(["--version"]).await.code, 0);
}
