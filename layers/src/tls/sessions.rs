//! Sessions that may be resumed: each server's apart, and never so many that memory grows.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use tokio_rustls::rustls::{ClientConfig, pki_types::ServerName};

/// How many servers are remembered at least; twice as many at most.
const REMEMBERED: usize = 1024;

/// Whose sessions: the target's scope, the name asked for, and the names accepted.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Whose {
    pub(super) scope: Option<Arc<str>>,
    pub(super) asked: ServerName<'static>,
    pub(super) accepted: Vec<ServerName<'static>>,
}

/// Settings by server. A session is resumed without looking at a certificate, so settings that verify other names,
/// or stand for another server, must not find it; and rustls resumes only under the very verifier that made it.
// Two generations: what was not asked for while the younger one filled up is forgotten.
#[derive(Default)]
pub(super) struct Sessions {
    generations: Mutex<[HashMap<Whose, Arc<ClientConfig>>; 2]>,
}

impl Sessions {
    /// The settings for this server, made now if it is not remembered.
    pub(super) fn of(&self, whose: Whose, make: impl FnOnce() -> ClientConfig) -> Arc<ClientConfig> {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        let [young, old] = &mut *generations;
        if let Some(config) = young.get(&whose) {
            return Arc::clone(config);
        }
        let config = old.remove(&whose).unwrap_or_else(|| Arc::new(make()));
        if young.len() >= REMEMBERED {
            *old = mem::take(young);
        }
        young.insert(whose, Arc::clone(&config));
        config
    }
}
