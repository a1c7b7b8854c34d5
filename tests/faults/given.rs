//! What both sides are set to, and answers that do not fit it.

use messina::{
    connection::Compression,
    session::SessionBuilder,
    testkit::{Answer, ClusterBuilder, Fault, Push},
};

/// What both sides are set to, beside what a case does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// A login on both sides.
    Login,
    /// None: servers ask for none, and the session has no credentials.
    NoLogin,
    /// A login, and a session that wants to compress.
    Compression,
    /// A login, and a session that would follow client routes.
    Routes,
}

impl Given {
    pub(crate) fn cluster(self, builder: ClusterBuilder) -> ClusterBuilder {
        match self {
            Self::NoLogin => builder,
            Self::Login | Self::Compression => builder.user("cassandra", "secret"),
            Self::Routes => builder.user("cassandra", "secret").client_routes(),
        }
    }

    pub(crate) fn session(self, builder: SessionBuilder) -> SessionBuilder {
        match self {
            Self::Login => builder.credentials("cassandra", "secret"),
            Self::NoLogin => builder,
            Self::Compression => builder.credentials("cassandra", "secret").compression(Compression::Lz4),
            Self::Routes => builder.credentials("cassandra", "secret").client_routes("vpc-1"),
        }
    }
}

fn strings<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let of = |text: &str| [&u16::try_from(text.len()).unwrap().to_be_bytes(), text.as_bytes()].concat();
    texts.into_iter().flat_map(of).collect()
}

/// AUTHENTICATE.
pub(crate) fn asks_for_a_login() -> Answer {
    Answer::raw(0x03, strings(["Some.Authenticator"]))
}

/// READY, without a word of a login.
pub(crate) fn asks_for_no_login() -> Answer {
    Answer::raw(0x02, [])
}

/// SUPPORTED without the compression that every other server has.
pub(crate) fn does_not_compress() -> Answer {
    let of = |key, values: &[&str]| {
        [strings([key]), vec![0, u8::try_from(values.len()).unwrap()], strings(values.iter().copied())].concat()
    };
    let keys = [of("COMPRESSION", &["snappy"]), of("PROTOCOL_VERSIONS", &["3/v3", "4/v4", "5/v5"])];
    Answer::raw(0x06, [vec![0, 2], keys.concat()].concat())
}

/// REGISTER is refused as by a server that is too old for client routes.
pub(crate) fn no_routes() -> Fault {
    Fault::error(0x000A, "Invalid value 'CLIENT_ROUTES_CHANGE' for Type")
}

/// An event that nobody registered for yet.
pub(crate) fn event() -> Fault {
    Fault::EventFirst(Push::schema(["UPDATED", "KEYSPACE", "ks"]))
}
