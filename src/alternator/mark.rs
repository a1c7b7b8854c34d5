//! What is known of a node, as requests read it without a lock.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use http::uri::Authority;

use super::{discovery::Candidate, health::State, http::host_of, node::Node, plan::Standing};

/// What is known of a node, as requests read it. Written under the lock of the book only.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) node: Node,
    pub(super) authority: Authority,
    pub(super) host: http::HeaderValue,
    /// Where nearly all requests go.
    pub(super) root: http::Uri,
    state: AtomicU8,
    /// Nanoseconds since the start of the client; 0 is never.
    avoid_until: AtomicU64,
    generation: AtomicU64,
    /// Active and without a failure: then another answer changes nothing.
    clean: AtomicBool,
    /// When it last answered a request, as `avoid_until`.
    answered: AtomicU64,
    /// When silence last counted against it, as `avoid_until`.
    blamed: AtomicU64,
    /// Attempts that are out.
    pub(super) out: AtomicU32,
    pub(super) requests: AtomicU64,
    pub(super) failures: AtomicU64,
}

impl Mark {
    pub(super) fn new(node: Node) -> Option<Self> {
        let host = host_of(&node);
        let authority = super::http::authority_of(&Candidate { node: node.clone(), dial: None });
        let authority: Authority = authority.parse().ok()?;
        let root = http::Uri::builder().scheme(node.scheme().as_str()).authority(authority.clone()).path_and_query("/");
        Some(Self {
            authority,
            host: host.parse().ok()?,
            root: root.build().ok()?,
            node,
            state: AtomicU8::new(1),
            avoid_until: AtomicU64::new(0),
            generation: AtomicU64::new(0),
            clean: AtomicBool::new(false),
            answered: AtomicU64::new(0),
            blamed: AtomicU64::new(0),
            out: AtomicU32::new(0),
            requests: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        })
    }

    /// How the node ranks, `now` nanoseconds after the start.
    pub(super) fn standing(&self, now: u64) -> Standing {
        match self.state.load(Relaxed) {
            2 => Standing::Down,
            _ if now < self.avoid_until.load(Relaxed) => Standing::Avoided,
            0 => Standing::Active,
            _ => Standing::Quarantined,
        }
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Relaxed)
    }

    /// It answered a request, `now` nanoseconds after the start.
    pub(super) fn answers(&self, now: u64) {
        self.answered.store(now, Relaxed);
    }

    /// Whether it answered a request after a moment.
    pub(super) fn answered_since(&self, moment: u64) -> bool {
        self.answered.load(Relaxed) > moment
    }

    /// Silence counts against it, `now` nanoseconds after the start.
    pub(super) fn blame(&self, now: u64) {
        self.blamed.store(now, Relaxed);
    }

    /// Whether silence counted against it after a moment.
    pub(super) fn blamed_since(&self, moment: u64) -> bool {
        self.blamed.load(Relaxed) > moment
    }

    /// Takes over what the book says; `avoid_until` in nanoseconds after the start, 0 for never.
    pub(super) fn set(&self, state: State, avoid_until: u64, generation: u64, failures: bool) {
        self.state.store(state as u8, Relaxed);
        self.avoid_until.store(avoid_until, Relaxed);
        self.generation.store(generation, Relaxed);
        self.clean.store(state == State::Active && !failures && avoid_until == 0, Relaxed);
    }

    /// Whether another answer would change nothing.
    pub(super) fn is_clean(&self) -> bool {
        self.clean.load(Relaxed)
    }

    pub(super) fn is_down(&self) -> bool {
        self.state.load(Relaxed) == State::Down as u8
    }
}
