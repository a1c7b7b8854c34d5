//! Settings read from files, and read again when the files change.

use std::{
    error::Error,
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{task::spawn_blocking, time::Instant};

use super::{TlsConfig, TlsConfigBuilder, TlsConfigError};
use crate::error::{BoxError, chain};

/// Settings from PEM files that follow the files: certificates rotate without a restart.
///
/// Nothing runs in the background. Whoever connects awaits [`refresh`](Self::refresh) before, which looks at the
/// files at most once per interval, off the I/O threads; a connection made after that uses what they hold. Files
/// that cannot be used leave the settings as they were, with one warning. A clone shares the settings.
#[derive(Clone)]
pub struct TlsFiles {
    shared: Arc<Shared>,
}

struct Shared {
    paths: Paths,
    interval: Duration,
    now: Mutex<Now>,
    /// What was read last, whether it could be used or not; held by the one who reads.
    read: tokio::sync::Mutex<Read>,
}

struct Now {
    config: TlsConfig,
    looked: Instant,
}

struct Read {
    contents: Result<Contents, String>,
}

#[derive(Clone)]
struct Paths {
    base: TlsConfigBuilder,
    ca: Option<PathBuf>,
    client: Option<(PathBuf, PathBuf)>,
}

#[derive(PartialEq, Eq)]
struct Contents {
    ca: Option<Vec<u8>>,
    client: Option<(Vec<u8>, Vec<u8>)>,
}

impl TlsFiles {
    /// Adds to `base` what the files hold: roots, and a certificate chain with its key where one is to be shown. They
    /// are looked at again after `interval`; zero means never.
    ///
    /// # Errors
    /// If a file cannot be read or used; the error names it.
    pub fn load(
        base: TlsConfigBuilder,
        ca: Option<PathBuf>,
        client: Option<(PathBuf, PathBuf)>,
        interval: Duration,
    ) -> Result<Self, TlsFileError> {
        let paths = Paths { base, ca, client };
        let contents = paths.read()?;
        let config = paths.config(&contents)?;
        let now = Mutex::new(Now { config, looked: Instant::now() });
        let read = tokio::sync::Mutex::new(Read { contents: Ok(contents) });
        Ok(Self { shared: Arc::new(Shared { paths, interval, now, read }) })
    }

    /// The settings as they were last read.
    #[must_use]
    pub fn current(&self) -> TlsConfig {
        self.now().config.clone()
    }

    /// Looks at the files if the interval has passed since the last look.
    ///
    /// While another caller is looking, this returns at once: the settings in force still serve.
    pub async fn refresh(&self) {
        let interval = self.shared.interval;
        if interval.is_zero() || self.now().looked.elapsed() < interval {
            return;
        }
        if let Ok(read) = self.shared.read.try_lock() {
            self.look(read).await;
        }
    }

    /// Looks at the files now.
    pub async fn reload(&self) {
        self.look(self.shared.read.lock().await).await;
    }

    async fn look(&self, mut read: tokio::sync::MutexGuard<'_, Read>) {
        let paths = self.shared.paths.clone();
        let found = spawn_blocking(move || paths.read()).await;
        self.now().looked = Instant::now();
        let Ok(found) = found else { return };
        let used = match found {
            Ok(contents) if read.contents.as_ref() == Ok(&contents) => return,
            Ok(contents) => {
                let config = self.shared.paths.config(&contents);
                read.contents = Ok(contents);
                config
            }
            Err(error) => {
                let text = chain(&error).to_string();
                if read.contents.as_ref() == Err(&text) {
                    return;
                }
                read.contents = Err(text);
                Err(error)
            }
        };
        match used {
            Ok(config) => {
                self.now().config = config;
                let first = self.shared.paths.first().display();
                tracing::info!(file = %first, "TLS files changed; new connections use them");
            }
            Err(error) => {
                let why = chain(&error);
                tracing::warn!("changed TLS files cannot be used; connections go on with the earlier ones: {why}");
            }
        }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.shared.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Paths {
    fn read(&self) -> Result<Contents, TlsFileError> {
        let read = |input, path: &Path| {
            fs::read(path).map_err(|error| TlsFileError { input, path: path.to_owned(), source: error.into() })
        };
        let ca = self.ca.as_deref().map(|ca| read("CA file", ca)).transpose()?;
        let client = match &self.client {
            None => None,
            Some((chain, key)) => Some((read("certificate file", chain)?, read("key file", key)?)),
        };
        Ok(Contents { ca, client })
    }

    fn config(&self, contents: &Contents) -> Result<TlsConfig, TlsFileError> {
        let built = || {
            let mut builder = self.base.clone();
            if let Some(ca) = &contents.ca {
                builder = builder.ca_pem(ca)?;
            }
            if let Some((chain, key)) = &contents.client {
                builder = builder.client_pem(chain, key)?;
            }
            builder.build()
        };
        built().map_err(|error: TlsConfigError| {
            let path = match (error.input(), &self.client) {
                ("certificate file", Some((chain, _))) => chain.as_path(),
                ("key file", Some((_, key))) => key.as_path(),
                _ => self.first(),
            };
            TlsFileError { input: error.input(), path: path.to_owned(), source: error.into() }
        })
    }

    fn first(&self) -> &Path {
        let chain = self.client.as_ref().map(|(chain, _)| chain.as_path());
        self.ca.as_deref().or(chain).unwrap_or(Path::new(""))
    }
}

impl fmt::Debug for TlsFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Paths { ca, client, .. } = &self.shared.paths;
        f.debug_struct("TlsFiles").field("ca", ca).field("client", client).finish_non_exhaustive()
    }
}

/// A file with TLS settings that cannot be used: which one, and why.
#[derive(Debug)]
pub struct TlsFileError {
    input: &'static str,
    path: PathBuf,
    source: BoxError,
}

impl TlsFileError {
    /// Which input was wrong: `CA file`, `certificate file`, `key file` or `TLS provider`.
    #[must_use]
    pub fn input(&self) -> &'static str {
        self.input
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for TlsFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} {} cannot be used", self.input, self.path.display())
    }
}

impl Error for TlsFileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}
