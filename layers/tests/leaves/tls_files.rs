//! Settings that follow their files.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use messina_layers::{
    TlsConfig, TlsFileError, TlsFiles,
    rustls::{self, ClientConnection, ServerConfig, ServerConnection, pki_types::ServerName},
};

use crate::support::{
    capture::Log,
    certs::{Authority, Identity, server},
};

const INTERVAL: Duration = Duration::from_secs(10);

/// A directory with the files; removed at the end.
struct Dir(PathBuf);

impl Dir {
    fn new(test: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("messina-{test}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn load(ca: &Path, client: Option<(PathBuf, PathBuf)>, interval: Duration) -> Result<TlsFiles, TlsFileError> {
    TlsFiles::load(TlsConfig::builder(), Some(ca.to_owned()), client, interval)
}

fn key_pem(identity: &Identity) -> String {
    identity.key.serialize_pem()
}

/// Whether a new connection with the settings in force gets through to this server.
fn trusts(files: &TlsFiles, server: &Arc<ServerConfig>) -> bool {
    let config = files.current();
    let mut client = ClientConnection::new(config.client_config(), ServerName::try_from("db.test").unwrap()).unwrap();
    let mut server = ServerConnection::new(Arc::clone(server)).unwrap();
    for _ in 0..10 {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        let mut bytes = &bytes[..];
        while !bytes.is_empty() {
            server.read_tls(&mut bytes).unwrap();
        }
        if server.process_new_packets().is_err() {
            return false;
        }
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        let mut bytes = &bytes[..];
        while !bytes.is_empty() {
            client.read_tls(&mut bytes).unwrap();
        }
        if client.process_new_packets().is_err() {
            return false;
        }
    }
    !client.is_handshaking() && !server.is_handshaking()
}

/// report 41: certificates rotate under a running session: new connects use the new roots.
#[tokio::test(start_paused = true)]
async fn new_files_are_used_after_the_interval() {
    let dir = Dir::new("rotation");
    let (before, after) = (Authority::new(), Authority::new());
    let old = server(&before.issue(&["db.test"]), rustls::ALL_VERSIONS, None);
    let new = server(&after.issue(&["db.test"]), rustls::ALL_VERSIONS, None);
    let ca = dir.write("ca.pem", &before.pem());
    let files = load(&ca, None, INTERVAL).unwrap();
    let log = Log::default();
    let _guard = log.install();
    files.refresh().await;
    assert!(trusts(&files, &old) && !trusts(&files, &new));

    dir.write("ca.pem", &after.pem());
    files.refresh().await;
    assert!(trusts(&files, &old), "not looked at before the interval has passed");
    tokio::time::advance(INTERVAL).await;
    assert!(trusts(&files, &old), "nothing runs in the background");
    files.refresh().await;
    assert!(trusts(&files, &new) && !trusts(&files, &old));
    assert_eq!(log.text().matches("TLS files changed").count(), 1, "{}", log.text());

    tokio::time::advance(INTERVAL).await;
    files.refresh().await;
    assert_eq!(log.text().lines().count(), 1, "unchanged files are no news: {}", log.text());
    dir.write("ca.pem", &before.pem());
    files.reload().await;
    assert!(trusts(&files, &old), "a reload does not wait for the interval");
}

/// Files that cannot be used keep the old settings, with one warning; whole ones are used as soon as they are seen.
#[tokio::test(start_paused = true)]
async fn bad_files_keep_the_old_settings() {
    let dir = Dir::new("bad");
    let authority = Authority::new();
    let clients = Authority::new();
    let demanding = server(&authority.issue(&["db.test"]), rustls::ALL_VERSIONS, Some(&clients));
    let (first, second) = (clients.issue(&["one"]), clients.issue(&["two"]));
    let ca = dir.write("ca.pem", &authority.pem());
    let chain = dir.write("cert.pem", &first.chain_pem);
    let key = dir.write("key.pem", &key_pem(&first));
    let files = load(&ca, Some((chain.clone(), key.clone())), INTERVAL).unwrap();
    let log = Log::default();
    let _guard = log.install();
    let shown = |files: &TlsFiles| trusts(files, &demanding);
    assert!(shown(&files));

    // The new certificate is there before its key.
    dir.write("cert.pem", &second.chain_pem);
    for _ in 0..3 {
        tokio::time::advance(INTERVAL).await;
        files.refresh().await;
        assert!(shown(&files));
    }
    assert_eq!(log.text().matches("WARN").count(), 1, "{}", log.text());
    assert!(log.text().contains("key.pem cannot be used: the key file does not fit"), "{}", log.text());

    // A file is gone for a while.
    fs::remove_file(&key).unwrap();
    for _ in 0..3 {
        tokio::time::advance(INTERVAL).await;
        files.refresh().await;
        assert!(shown(&files));
    }
    assert_eq!(log.text().matches("WARN").count(), 2, "{}", log.text());

    dir.write("key.pem", &key_pem(&second));
    tokio::time::advance(INTERVAL).await;
    files.refresh().await;
    assert!(shown(&files));
    assert_eq!(log.text().matches("TLS files changed").count(), 1, "{}", log.text());
}

/// An interval of zero turns it off; a file that cannot be used at the start is an error that names it.
#[tokio::test(start_paused = true)]
async fn limits_and_errors() {
    let dir = Dir::new("never");
    let (before, after) = (Authority::new(), Authority::new());
    let old = server(&before.issue(&["db.test"]), rustls::ALL_VERSIONS, None);
    let ca = dir.write("ca.pem", &before.pem());
    let files = load(&ca, None, Duration::ZERO).unwrap();
    dir.write("ca.pem", &after.pem());
    tokio::time::advance(INTERVAL * 100).await;
    files.refresh().await;
    assert!(trusts(&files, &old));

    let missing = load(&dir.0.join("none.pem"), None, INTERVAL).unwrap_err();
    assert_eq!((missing.input(), missing.path()), ("CA file", dir.0.join("none.pem").as_path()));
    let empty = dir.write("empty.pem", "");
    let error = load(&ca, Some((empty.clone(), empty.clone())), INTERVAL).unwrap_err();
    assert_eq!((error.input(), error.path()), ("certificate file", empty.as_path()));
    assert!(!format!("{files:?}{error:?}").contains("-----"), "no contents are printed");
}
