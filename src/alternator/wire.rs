//! What requests and answers look like on the wire, the same with an SDK and without.

use http::HeaderName;

use super::{
    encoding::{Compression, DECODED},
    headers::UserAgent,
};

#[derive(Clone, Debug)]
pub(super) struct Wire {
    pub(super) compression: Option<Compression>,
    pub(super) compressed_answers: bool,
    pub(super) longest_answer: usize,
    pub(super) slim: bool,
    pub(super) user_agent: UserAgent,
    pub(super) kept: Vec<HeaderName>,
}

impl Default for Wire {
    fn default() -> Self {
        Self {
            compression: None,
            compressed_answers: false,
            longest_answer: DECODED,
            slim: true,
            user_agent: UserAgent::Default,
            kept: Vec::new(),
        }
    }
}

/// Gives options with a field `wire` the methods that set it.
macro_rules! wire_options {
    ($options:ident) => {
        impl $options {
            /// Compresses requests, before they are signed; servers before 2026.1 refuse them.
            #[must_use]
            pub const fn compressed(mut self, compression: $crate::alternator::encoding::Compression) -> Self {
                self.wire.compression = Some(compression);
                self
            }

            /// Asks for compressed answers.
            #[must_use]
            pub const fn with_compressed_answers(mut self) -> Self {
                self.wire.compressed_answers = true;
                self
            }

            /// The longest answer after decompression, in bytes (64 MiB).
            #[must_use]
            pub const fn with_longest_answer(mut self, bytes: usize) -> Self {
                self.wire.longest_answer = bytes;
                self
            }

            /// Sends every header that a request has, those of an SDK too.
            #[must_use]
            pub const fn with_all_headers(mut self) -> Self {
                self.wire.slim = false;
                self
            }

            /// A header that is kept among the slim ones, such as one of your own; several may be given.
            #[must_use]
            pub fn with_kept_header(mut self, name: http::HeaderName) -> Self {
                self.wire.kept.push(name);
                self
            }

            /// The user agent.
            #[must_use]
            pub fn with_user_agent(mut self, user_agent: $crate::alternator::headers::UserAgent) -> Self {
                self.wire.user_agent = user_agent;
                self
            }
        }
    };
}

pub(super) use wire_options;
